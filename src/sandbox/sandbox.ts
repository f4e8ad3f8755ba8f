/** The sandbox, put together: world, auction, links, server, sender and record behind one face. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, Timer } from '../domain/clock.ts';
import { type Bureau, createBureau } from './bureau.ts';
import { chanceOf } from './chance.ts';
import type { Contracts } from './contracts.ts';
import { createDeliveries, type Deliveries, type Message } from './deliveries.ts';
import { type TestPerson, testPerson } from './people.ts';
import { createRecord, type EmittedRequest, type SandboxRecord } from './record.ts';
import { modelRivals, type Rivals } from './rivals.ts';
import { createSandboxServer } from './server.ts';
import type { PaceSettings, SandboxSettings } from './settings.ts';
import { createStage, type Stage } from './stage.ts';
import { type SandboxSummary, summaryOf } from './summary.ts';
import { type OfferTerms, offerOn } from './telling.ts';
import { createTokens } from './tokens.ts';
import type { Withdrawals } from './withdrawals.ts';
import { type TrueValue, trueValue } from './worker-choice.ts';
import { worldOn } from './world.ts';

type RunOptions = {
  /** Length of the whole stream, at whose parts the regimes change; as many requests as this run ends with if left out. */
  planned?: number;
  onBatch?: (progress: { emitted: number; of: number }) => void;
};

export type Sandbox = {
  /** Port 0 takes a free one. `url` is the service's base address. */
  listen: (port: number, host?: string) => Promise<{ port: number; url: string }>;
  /** Where webhooks go from now on: the whole address with its token. */
  connect: (target: string) => void;
  /** Puts so many further requests to auction; resolves when all auctions ended and every webhook was delivered or given up. */
  run: (requests: number, options?: RunOptions) => Promise<SandboxSummary>;
  record: SandboxRecord;
  rivals: Rivals;
  settings: SandboxSettings;
  /** What winning with these terms is worth, for a request of the record. */
  trueValue: (request: EmittedRequest, terms: OfferTerms) => TrueValue;
  /** The service's side of contracts and withdrawal-backed loans, for tests that change its truth. */
  contracts: Contracts;
  withdrawals: Withdrawals;
  bureau: Bureau;
  /** Of the first `count` requests of a stream of `planned`, whether they have been put to auction or not. */
  people: (count: number, planned: number) => readonly TestPerson[];
  /** Of the won bids whose worker has taken the proposal, the latest first. */
  takers: () => readonly TestPerson[];
  issueToken: () => string;
  revokeTokens: () => void;
  summary: () => SandboxSummary;
  /** Ends what is under way; a stream that has not ended by itself never will. */
  stop: () => Promise<void>;
};

export type SandboxOptions = {
  settings: SandboxSettings;
  seed: string | number;
  clock: Clock;
  /** Recorded ones; left out: behaviour models. */
  rivals?: Rivals;
  recordFile?: string;
};

export function createSandbox(options: SandboxOptions): Sandbox {
  const settings = { ...options.settings, world: worldOn(options.settings.world, options.clock.now()) };
  const { clock, end } = endingClock(options.clock);
  const seed = String(options.seed);
  const record = createRecord(options.recordFile ?? null);
  const rivals = options.rivals ?? modelRivals(settings.world, seed);
  const tokens = createTokens(settings.tokens, clock, chanceOf(seed, 'tokens'));
  let deliveries: Deliveries | null = null;
  const replaced: Promise<void>[] = [];
  const send = (message: Message) => deliveries?.send(message);
  const stage = createStage({ settings, seed, clock, rivals, record, send });
  const bureau = createBureau({
    ...{ settings: settings.bureau, faults: settings.faults.sources, seed, clock, record },
    chance: chanceOf(seed, 'source-faults'),
  });
  const server = createSandboxServer({
    house: stage.house,
    links: stage.links,
    contracts: stage.contracts,
    withdrawals: stage.withdrawals,
    withdrawalForm: settings.tokens.withdrawalForm,
    tokens,
    bureau,
    faults: settings.faults,
    clock,
    chance: chanceOf(seed, 'answer-faults'),
    record,
  });

  const summary = () => summaryOf(record, server.counts, bureau.counts(), deliveries?.counts() ?? null);
  const settled = async () => {
    await stage.ended();
    await deliveries?.idle();
  };

  const connect = (target: string) => {
    if (deliveries !== null) replaced.push(deliveries.stop());
    deliveries = createDeliveries({
      target,
      settings: settings.deliveries,
      faults: settings.faults.webhooks,
      clock,
      chance: chanceOf(seed, 'webhook-faults'),
      record,
    });
  };

  return {
    listen: (port, host = '127.0.0.1') => listenOn(server.http, port, host),
    connect,
    run: async (count, runOptions = {}) => {
      await playBatches(stage, settings.pace, clock, settled, count, runOptions);
      await settled();
      return summary();
    },
    record,
    rivals,
    settings,
    trueValue: (request, terms) =>
      trueValue(settings.world, offerOn(rivals, request, request.amountCents, request.releasedOn, terms)),
    contracts: stage.contracts,
    withdrawals: stage.withdrawals,
    bureau,
    people: (count, planned) =>
      Array.from({ length: Math.min(count, planned) }, (_, index) => testPerson(settings.world, seed, index, planned)),
    takers: () => {
      const indexOf = new Map(record.of('request').map(({ requestId, index }) => [requestId, index]));
      const taken = record
        .of('won')
        .filter(({ errors, choice }) => errors.length === 0 && (choice.accepted || settings.contracts.acceptAll));
      // Regimes change with the length of the stream; people do not.
      return taken
        .map(({ requestId }) => testPerson(settings.world, seed, indexOf.get(requestId)!, indexOf.size))
        .reverse();
    },
    issueToken: tokens.issue,
    revokeTokens: tokens.revokeAll,
    summary,
    stop: async () => {
      end();
      server.http.closeAllConnections();
      await Promise.all([...replaced, deliveries?.stop(), new Promise((resolve) => server.http.close(resolve))]);
      record.close();
    },
  };
}

/** Auctions and batches to come are timers, which would keep a process alive long after it was told to end. */
function endingClock(clock: Clock): { clock: Clock; end: () => void } {
  const timers = new Set<Timer>();
  let isOver = false;
  const kept = (begin: (run: () => void) => Timer, run: () => void): Timer => {
    if (isOver) return { cancel: () => undefined };
    const timer = begin(() => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
    return {
      cancel: () => {
        timers.delete(timer);
        timer.cancel();
      },
    };
  };
  return {
    clock: {
      ...clock,
      schedule: (at, run) => kept((due) => clock.schedule(at, due), run),
      after: (delayMs, run) => kept((due) => clock.after(delayMs, due), run),
    },
    end: () => {
      isOver = true;
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}

async function playBatches(
  stage: Stage,
  pace: PaceSettings,
  clock: Clock,
  settled: () => Promise<void>,
  count: number,
  { planned, onBatch }: RunOptions,
): Promise<void> {
  const last = stage.nextIndex() + count;
  let dueAt = clock.now();
  for (let left = count; left > 0; ) {
    stage.openBatch(Math.min(pace.batchRequests, left), planned ?? last);
    left = last - stage.nextIndex();
    onBatch?.({ emitted: count - left, of: count });
    if (!pace.overlapping) await settled();
    dueAt = (pace.overlapping ? dueAt : clock.now()) + pace.batchIntervalMs;
    if (left > 0) await new Promise<void>((resolve) => clock.schedule(dueAt, resolve));
  }
}

async function listenOn(http: Server, port: number, host: string) {
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  });
  const bound = (http.address() as AddressInfo).port;
  return { port: bound, url: `http://${host}:${bound}` };
}
