/** The figures of a crash run on Kafka and Redis, what they had to be, and the table that people read. */
import { closingText, loadText, medianOf, type RunFigures, runFigures, shareText } from './figures.ts';
import { placeOf } from './report.ts';
import type { SharedFault, SharedRun } from './shared-run.ts';

type Spread = { least: number; median: number; most: number };

export type SharedFigures = RunFigures & {
  kills: number;
  atSteps: number;
  serverFaults: Readonly<Record<string, number>>;
  /** At every fault, and at the kills those of the desk that was killed. */
  inFlight: Spread;
  ownInFlight: Spread;
  killsWithOwnInFlight: number;
  recoveryMs: Spread;
  /** At most, by fault. */
  recoveries: Readonly<Record<string, number>>;
  longestOutageMs: number;
  missed: readonly string[];
};

const recoveryLimitMs = 30_000;

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { least: 0, median: 0, most: 0 };
  return { least: Math.min(...values), median: medianOf(values), most: Math.max(...values) };
}

function nameOf({ what }: SharedFault): string {
  return what.kind === 'kill' ? 'kill' : what.fault;
}

export function sharedFiguresOf(run: SharedRun): SharedFigures {
  const { faults } = run;
  const own = faults.map(({ ownInFlight }) => ownInFlight).filter((bids) => bids !== null);
  const byName = Map.groupBy(faults, nameOf);
  const figures = {
    kills: own.length,
    atSteps: faults.filter(({ what }) => what.kind === 'kill' && what.planned.kind === 'step' && !what.missedStep)
      .length,
    serverFaults: Object.fromEntries(
      [...byName].filter(([name]) => name !== 'kill').map(([name, all]) => [name, all.length]),
    ),
    inFlight: spreadOf(faults.map(({ inFlight }) => inFlight)),
    ownInFlight: spreadOf(own),
    killsWithOwnInFlight: own.filter((bids) => bids > 0).length,
    recoveryMs: spreadOf(faults.map(({ recoveryMs }) => recoveryMs)),
    recoveries: Object.fromEntries(
      [...byName].map(([name, all]) => [name, Math.max(...all.map(({ recoveryMs }) => recoveryMs))]),
    ),
    longestOutageMs: Math.max(...faults.map(({ outageMs }) => outageMs)),
    ...runFigures(run),
  };
  return { ...figures, missed: missedBy(figures) };
}

function missedBy(figures: Omit<SharedFigures, 'missed'>): string[] {
  const missed: string[] = [];
  const demand = (kept: boolean, text: string) => {
    if (!kept) missed.push(text);
  };
  const { kills, killsWithOwnInFlight, inFlight, recoveryMs, bidShareWithoutOrders, violations } = figures;
  demand(violations === 0, `${violations} violations`);
  demand(inFlight.least > 0, 'a fault came with no bid in flight');
  demand(
    killsWithOwnInFlight >= kills / 2,
    `only ${killsWithOwnInFlight} desks were killed with bids of their own in flight`,
  );
  demand(recoveryMs.most <= recoveryLimitMs, `a recovery took ${recoveryMs.most} ms`);
  demand(bidShareWithoutOrders >= 0.5, shareText(bidShareWithoutOrders));
  return missed;
}

export const sharedTableHead = `${'  #'} ${'fault'.padEnd(34)} in flight  of its own  outage ms  bidding again ms`;

export function sharedTableRow(fault: SharedFault, number: number): string {
  const { what, inFlight, ownInFlight, outageMs, recoveryMs } = fault;
  const name = what.kind === 'kill' ? `kill ${placeOf(what.planned)}${what.missedStep ? ', missed' : ''}` : what.fault;
  return [
    String(number).padStart(3),
    name.padEnd(34),
    String(inFlight).padStart(9),
    String(ownInFlight ?? '–').padStart(11),
    String(outageMs).padStart(10),
    String(recoveryMs).padStart(17),
  ].join(' ');
}

/** One line. */
export function sharedSummary(figures: SharedFigures): string {
  const { kills, atSteps, serverFaults, inFlight, ownInFlight, recoveryMs, recoveries, missed } = figures;
  const servers = Object.entries(serverFaults).map(([name, times]) => `${times} ${name}`);
  const slowest = Object.entries(recoveries).map(([name, ms]) => `${name} ${ms}`);
  return [
    `${kills} kills of one of two desks (${atSteps} at named steps), ${servers.join(', ')}`,
    `bids in flight at every fault: ${inFlight.least} at least, ${inFlight.median} in the median`,
    `${figures.killsWithOwnInFlight} kills with bids of the killed desk in flight (median ${ownInFlight.median})`,
    `bidding again after ${recoveryMs.median} ms in the median, ${recoveryMs.most} ms at most (${slowest.join(', ')})`,
    loadText(figures),
    `${figures.repeatedBids} bids sent more than once, ${figures.laterClaims} later claims`,
    closingText(figures, missed),
  ].join('; ');
}
