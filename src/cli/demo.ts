/** The whole house in one command: the played service, the desk on its embedded store, a stream of requests, an audit. */

import type { Desk } from '../bidding/desk.ts';
import { callbackPartition, type EventLog, type Views } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Format } from './format.ts';
import { createProgress, type Terminal } from './terminal.ts';

export type DemoOptions = { requests: number; seed: string; exit: boolean; json: boolean };

/** A day of auctions in seconds. Desk and service have to agree on the window. */
const windowMs = 1_000;
export const demoAuction = { windowMs, expiryMs: 10 * windowMs };
export const demoPace = { batchRequests: 10, batchIntervalMs: 550 };

/** Settings of the desk that go with that pace; all others are those of `config/default.json`. */
const demoSettings = {
  windowMs,
  skewAllowanceMs: 200,
  resultTimeoutMs: 5_000,
  contemplationTimeoutMs: 20_000,
  marginWaitMs: 600,
  /** Some hundred auctions; by default it is as many as come in a fortnight. */
  halfLifeMs: 8_000,
};

/**
 * The configuration of the demo's desk. A lender knows its own commission and costs from its invoices, so they are those of the
 * played world; how workers default and choose is believed as shipped, and may be wrong.
 */
export function demoConfig(costs: { commissionPercent: number; contractCostCents: number; bidCostCents: number }) {
  const { commissionPercent, contractCostCents, bidCostCents } = costs;
  return { bidding: demoSettings, economics: { commissionPercent, contractCostCents, bidCostCents } };
}

const settlePollMs = 50;
const settleTimeoutMs = 15_000;

/** Runs the stream and waits until nothing is open that could still end by itself. */
export async function runStream(parts: {
  options: DemoOptions;
  sandbox: Sandbox;
  desk: Desk;
  store: { log: EventLog; views: Views };
  clock: Clock;
  terminal: Terminal;
  format: Format;
}): Promise<void> {
  const { options, sandbox, desk, clock, terminal, format } = parts;
  const progress = createProgress(terminal, 'lance demo');
  await sandbox.run(options.requests, {
    planned: options.requests,
    onBatch: ({ emitted, of }) => {
      const { open, queued, sending } = desk.status();
      progress.show(emitted, of, format.texts.demo.progress(open, queued, sending));
    },
  });
  progress.end();
  const untilMs = clock.monotonicMs() + settleTimeoutMs;
  while (clock.monotonicMs() < untilMs && !(await isQuiet(desk, parts.store))) {
    await new Promise<void>((resolve) => clock.after(settlePollMs, resolve));
  }
}

/** Everything told is folded, and nothing awaits an end that could still come. */
export async function isQuiet(desk: Desk, store: { log: EventLog; views: Views }): Promise<boolean> {
  const { queued, parked, sending, unsettled } = desk.status();
  if (queued + parked + sending + unsettled > 0) return false;
  for (const [partition, end] of await store.log.ends('callbacks')) {
    if ((await store.views.applied(callbackPartition(partition))) < end) return false;
  }
  for (const [partition, end] of await store.log.ends('auctions')) {
    if ((await store.views.applied(partition)) < end) return false;
  }
  return true;
}
