/** The figures of a crash run, what they had to be, and the table that people read. */
import type { Phase } from '../../src/domain/states.ts';
import type { CrashRun, Kill } from './crash-run.ts';
import { closingText, loadText, medianOf, type RunFigures, runFigures, shareText } from './figures.ts';
import type { PlannedKill } from './plan.ts';

export type CrashFigures = RunFigures & {
  kills: number;
  atRandom: number;
  atSteps: number;
  withTwentyInFlight: number;
  inFlight: { least: number; median: number; most: number };
  /** Requests in each state, summed over what the desks found at their starts. */
  found: Readonly<Record<string, number>>;
  recoveryMs: { median: number; max: number; measured: number };
  missed: readonly string[];
};

const inFlightWanted = 20;

export function inFlightOf({ found }: Kill): number {
  return found.phases.claimed ?? 0;
}

export function figuresOf(run: CrashRun): CrashFigures {
  const { kills, verdict } = run;
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
    inFlight: { least: Math.min(...inFlight), median: medianOf(inFlight), most: Math.max(...inFlight) },
    found,
    recoveryMs: { median: medianOf(recoveries), max: Math.max(...recoveries), measured: recoveries.length },
    ...runFigures(run),
  };
  return { ...figures, missed: missedBy(figures, verdict.chainBroken) };
}

/** With fewer kills the starts are most of the run: shares then say nothing. */
const fewestJudged = 10;

function missedBy(figures: Omit<CrashFigures, 'missed'>, chainBroken: boolean): string[] {
  const missed: string[] = [];
  const demand = (kept: boolean, text: string) => {
    if (!kept) missed.push(text);
  };
  const { kills, withTwentyInFlight, recoveryMs, requestsPerSecond, bidShareWithoutOrders, violations } = figures;
  demand(violations === 0, `${violations} violations`);
  demand(!chainBroken, 'the hash chain of the log is broken');
  const judgesShares = kills >= fewestJudged;
  demand(
    !judgesShares || withTwentyInFlight >= 0.8 * kills,
    `only ${withTwentyInFlight} of ${kills} kills had ${inFlightWanted} or more bids in flight`,
  );
  demand(recoveryMs.max < 5_000, `a recovery took ${recoveryMs.max} ms`);
  demand(requestsPerSecond >= 200, `only ${requestsPerSecond} requests a second`);
  demand(!judgesShares || bidShareWithoutOrders >= 0.5, shareText(bidShareWithoutOrders));
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

/** One line. */
export function summaryText(figures: CrashFigures): string {
  const { kills, atRandom, atSteps, recoveryMs, missed } = figures;
  return [
    `${kills} kills (${atRandom} at random, ${atSteps} at named steps)`,
    `${figures.withTwentyInFlight} with ${inFlightWanted} or more bids in flight (median ${figures.inFlight.median})`,
    `recovery ${recoveryMs.median} ms in the median, ${recoveryMs.max} ms at most`,
    loadText(figures),
    `${figures.repeatedBids} bids sent more than once`,
    closingText(figures, missed),
  ].join('; ');
}
