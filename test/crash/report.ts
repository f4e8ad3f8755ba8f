/** The figures of a crash run, what they had to be, and the table that people read. */
import { availableParallelism, loadavg } from 'node:os';
import type { Phase } from '../../src/domain/states.ts';
import type { CrashRun, Kill } from './crash-run.ts';
import type { PlannedKill } from './plan.ts';

export type CrashFigures = {
  kills: number;
  atRandom: number;
  atSteps: number;
  withTwentyInFlight: number;
  inFlight: { least: number; median: number; most: number };
  /** Requests in each state, summed over what the desks found at their starts. */
  found: Readonly<Record<string, number>>;
  recoveryMs: { median: number; max: number; measured: number };
  requests: number;
  requestsPerSecond: number;
  bids: number;
  bidShare: number;
  repeatedBids: number;
  laterClaims: number;
  passed: Readonly<Record<string, number>>;
  faults: Readonly<Record<string, number>>;
  records: number;
  /** Processes that wanted to run, in the last minutes, and how many can: recovery takes longer on a busy machine. */
  machine: { load: number; cores: number };
  violations: number;
  missed: readonly string[];
};

const inFlightWanted = 20;

export function inFlightOf({ found }: Kill): number {
  return found.phases.claimed ?? 0;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function figuresOf(run: CrashRun): CrashFigures {
  const { kills, verdict, sandbox } = run;
  const found: Record<string, number> = {};
  for (const kill of kills) {
    for (const [phase, count] of Object.entries(kill.found.phases)) found[phase] = (found[phase] ?? 0) + count;
  }
  const recoveries = [...kills.map(({ readyMs }) => readyMs), run.lastReadyMs].filter((readyMs) => readyMs !== null);
  const inFlight = kills.map(inFlightOf);
  const atSteps = kills.filter(({ planned, missedStep }) => planned.kind === 'step' && !missedStep).length;
  const figures = {
    kills: kills.length,
    atRandom: kills.length - atSteps,
    atSteps,
    withTwentyInFlight: inFlight.filter((bids) => bids >= inFlightWanted).length,
    inFlight: { least: Math.min(...inFlight), median: median(inFlight), most: Math.max(...inFlight) },
    found,
    recoveryMs: { median: median(recoveries), max: Math.max(...recoveries), measured: recoveries.length },
    requests: verdict.requests,
    requestsPerSecond: Math.round(verdict.requests / (run.streamMs / 1_000)),
    bids: verdict.bids,
    bidShare: Math.round((1_000 * verdict.bids) / verdict.requests) / 1_000,
    repeatedBids: verdict.repeatedBids,
    laterClaims: verdict.laterClaims,
    passed: verdict.passed,
    faults: { ...sandbox.faults },
    records: verdict.records,
    machine: { load: Math.round(10 * (loadavg()[1] ?? 0)) / 10, cores: availableParallelism() },
    violations: verdict.violations.length,
  };
  return { ...figures, missed: missedBy(figures, verdict.chainBroken) };
}

function missedBy(figures: Omit<CrashFigures, 'missed'>, chainBroken: boolean): string[] {
  const missed: string[] = [];
  const demand = (kept: boolean, text: string) => {
    if (!kept) missed.push(text);
  };
  const { kills, withTwentyInFlight, recoveryMs, requestsPerSecond, bidShare, violations } = figures;
  demand(violations === 0, `${violations} violations`);
  demand(!chainBroken, 'the hash chain of the log is broken');
  demand(
    withTwentyInFlight >= 0.8 * kills,
    `only ${withTwentyInFlight} of ${kills} kills had ${inFlightWanted} or more bids in flight`,
  );
  demand(recoveryMs.max < 5_000, `a recovery took ${recoveryMs.max} ms`);
  demand(requestsPerSecond >= 200, `only ${requestsPerSecond} requests a second`);
  demand(bidShare >= 0.5, `only ${(100 * bidShare).toFixed(1)} % of the requests were bid for`);
  return missed;
}

/** Columns of the table; phases that are not named here are summed under `other`. */
const columns: readonly (readonly [title: string, phases: readonly Phase[]])[] = [
  ['undecided', ['requested']],
  ['in flight', ['claimed']],
  ['answered', ['accepted', 'accepted-presumed', 'accepted-outside']],
  ['unknown', ['unknown']],
  ['passed', ['passed']],
  ['lost', ['lost']],
  ['won', ['won', 'contemplated', 'proposed', 'winner-failed']],
];

export const tableHead = cellsOf([
  '  #',
  'killed at'.padEnd(32),
  ' alive ms',
  ' ready ms',
  ' records',
  'unfolded',
  ...columns.map(([title]) => title.padStart(9)),
  '    other',
]);

export function tableRow(kill: Kill, number: number): string {
  const { planned, missedStep, aliveMs, readyMs, found } = kill;
  const named = columns.map(([, phases]) => phases.reduce((sum, phase) => sum + (found.phases[phase] ?? 0), 0));
  const all = Object.values(found.phases).reduce((sum, count) => sum + count, 0);
  const other = all - named.reduce((sum, count) => sum + count, 0);
  return cellsOf([
    String(number).padStart(3),
    `${placeOf(planned)}${missedStep ? ', missed' : ''}`.padEnd(32),
    String(aliveMs).padStart(9),
    (readyMs === null ? '–' : String(readyMs)).padStart(9),
    String(found.records).padStart(8),
    String(found.unfolded).padStart(8),
    ...[...named, other].map((count) => String(count).padStart(9)),
  ]);
}

function cellsOf(cells: readonly string[]): string {
  return cells.join(' ');
}

export function placeOf(planned: PlannedKill): string {
  if (planned.kind === 'step') return `${planned.step}:${planned.times}`;
  return `${planned.delayMs} ms after ${planned.after === 'start' ? 'its start' : 'it was ready'}`;
}

const count = new Intl.NumberFormat('en');

/** One line. */
export function summaryText(figures: CrashFigures): string {
  const { kills, atRandom, atSteps, recoveryMs, missed } = figures;
  return [
    `${kills} kills (${atRandom} at random, ${atSteps} at named steps)`,
    `${figures.withTwentyInFlight} with ${inFlightWanted} or more bids in flight (median ${figures.inFlight.median})`,
    `recovery ${recoveryMs.median} ms in the median, ${recoveryMs.max} ms at most`,
    `${count.format(figures.requests)} requests at ${figures.requestsPerSecond}/s, ${(100 * figures.bidShare).toFixed(1)} % bid for`,
    `${figures.repeatedBids} bids sent more than once`,
    `machine load ${figures.machine.load} on ${figures.machine.cores} cores`,
    missed.length === 0 ? '0 violations' : `FAILED: ${missed.join(', ')}`,
  ].join('; ');
}
