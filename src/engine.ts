/** The daemon, put together from parts that only the composition root knows: door, desk, server, metrics, journal. */

import type { Policy } from './bidding/decide.ts';
import { createDesk, type Desk } from './bidding/desk.ts';
import type { DeskObserver, Step } from './bidding/observer.ts';
import type { Control, EventLog, MarginCache, Service, Views } from './bidding/ports.ts';
import type { Config } from './config.ts';
import { type Chance, type Clock, dayOf } from './domain/clock.ts';
import type { Vault } from './domain/vault.ts';
import { createDoor, type Door } from './http/door.ts';
import type { Journal } from './http/journal.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { createServer, type ReadinessCheck } from './http/server.ts';
import { prepareCalendar } from './pricing/schedule.ts';
import { encodeBid } from './wire/bid.ts';
import type { RequestMapping } from './wire/mapping-table.ts';

export type EngineParts = {
  config: Config;
  instance: string;
  soleOwner: boolean;
  store: { log: EventLog; views: Views; margins: MarginCache; control: Control };
  service: Service;
  vault: Vault;
  clock: Clock;
  chance: Chance;
  mapping: RequestMapping;
  policy: Policy;
  /** False freezes the statistics. */
  learning: boolean;
  journal: Journal;
  /** Hears each durable step; a crash run ends the process here. */
  onStep: (step: Step) => void;
};

export type Engine = {
  /** Where webhooks are taken, without the token. */
  url: string;
  desk: Desk;
  /** No new webhooks, no new bids; what is under way is waited for. */
  stop: () => Promise<void>;
};

/** Longer than this without a step while the log has something new: the process is not alive. */
const stallMs = 15_000;

export async function startEngine(parts: EngineParts): Promise<Engine> {
  const { config, store, clock, journal } = parts;
  const metrics = createMetrics();
  const desk = createDesk({
    ...parts,
    ...store,
    settings: config.bidding,
    policy: () => parts.policy,
    encodeBid: (requestId, offer) => encodeBid({ requestId, offer, contacts: config.contacts }),
    observer: observerOf(metrics, journal, parts.onStep),
  });
  const door = createDoor({
    append: timedAppend(store.log, clock, metrics),
    vault: parts.vault,
    mapping: parts.mapping,
    clock,
    limits: config.http,
    observer: (report) => {
      metrics.observeDoor(report);
      const { status, event, requests, deadLetters, problem, durationMs } = report;
      if (problem !== null || deadLetters > 0) {
        journal.warn('webhook-problem', { status, kind: event, requests, deadLetters, problem, durationMs });
      }
    },
  });
  const server = createServer({
    door,
    webhookTokens: config.http.webhookTokens,
    bodyLimitBytes: config.http.bodyLimitBytes,
    progress: () => progressOf(desk, clock),
    checks: readinessChecks(desk),
    metricsText: () => metricsText(metrics, parts, desk, door),
    onFault: (text) => journal.error('http-fault', { text }),
  });
  const { pricing } = config;
  prepareCalendar(dayOf(clock.now()), pricing.maxInstallments, pricing.payrollCalendar);
  await desk.start();
  const port = await server.listen(config.http.host, config.http.port);
  journal.info('started', { instance: parts.instance, port, ruleSet: parts.policy.ruleSet.hash });
  return {
    url: `http://${config.http.host}:${port}`,
    desk,
    stop: async () => {
      await server.close();
      await desk.stop();
      journal.info('stopped', { instance: parts.instance });
    },
  };
}

function observerOf(metrics: Metrics, journal: Journal, onStep: (step: Step) => void): DeskObserver {
  return (event) => {
    metrics.observeDesk(event);
    if (event.kind === 'step') onStep(event.step);
    else if (event.kind === 'alarm') journal.error('alarm', { code: event.code, requestId: event.requestId });
    else if (event.kind === 'fault') journal.error('fault', { code: event.code, text: event.message });
    else if (event.kind === 'log-refused') journal.error('log-refused', { topic: event.topic });
  };
}

function timedAppend(log: EventLog, clock: Clock, metrics: Metrics): EventLog['append'] {
  return async (entries) => {
    const startedAt = clock.now();
    await log.append(entries);
    metrics.observeAppend(clock.now() - startedAt);
  };
}

function progressOf(desk: Desk, clock: Clock): { alive: boolean; detail: string } {
  const silentMs = clock.now() - desk.status().progressAt;
  return { alive: silentMs < stallMs, detail: `last progress ${Math.round(silentMs / 1_000)} s ago` };
}

function readinessChecks(desk: Desk): ReadinessCheck[] {
  return [
    {
      name: 'caught-up',
      missing: () =>
        desk.status().live ? null : 'the views are being caught up with the log; nothing is bid until then',
    },
    {
      name: 'gate',
      missing: () => {
        const { gate } = desk.status();
        return gate === null || gate === 'paused' ? null : `bidding is closed: ${gate}`;
      },
    },
  ];
}

async function metricsText(metrics: Metrics, parts: EngineParts, desk: Desk, door: Door): Promise<string> {
  const { store, clock } = parts;
  const status = desk.status();
  let behind = 0;
  for (const [partition, end] of await store.log.ends('auctions')) {
    behind += Math.max(0, end - (await store.views.applied(partition)));
  }
  metrics.setGauges({
    queueDepth: status.queued,
    queueOldestAgeMs: status.oldestQueuedAt === null ? 0 : clock.now() - status.oldestQueuedAt,
    bidsInFlight: status.sending,
    doorInFlight: door.inFlight(),
    exposureCents: status.exposure,
    consumerLag: { auctions: behind },
    paused: status.gate === 'paused',
  });
  return metrics.text();
}
