/** The sandbox, put together: world, auction, links, server, sender and record behind one face. */
import type { AddressInfo } from 'node:net';
import type { Clock } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import { type AuctionBid, type AuctionEvent, createAuctionHouse } from './auction-house.ts';
import { chanceOf } from './chance.ts';
import { createDeliveries, type Deliveries, type Message } from './deliveries.ts';
import { createLinks } from './links.ts';
import { requestAt, type WorkerRequest } from './population.ts';
import { createRecord, type EmittedRequest, type SandboxRecord } from './record.ts';
import { modelRivals, type Rivals } from './rivals.ts';
import { createSandboxServer } from './server.ts';
import type { SandboxSettings } from './settings.ts';
import { type SandboxSummary, summaryOf } from './summary.ts';
import { type OfferTerms, offerOn, tellEvent } from './telling.ts';
import { createTokens } from './tokens.ts';
import { type TrueValue, trueValue } from './worker-choice.ts';

export type RunOptions = {
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
  issueToken: () => string;
  revokeTokens: () => void;
  summary: () => SandboxSummary;
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
  const { settings, clock } = options;
  const seed = String(options.seed);
  const record = createRecord(options.recordFile ?? null);
  const rivals = options.rivals ?? modelRivals(settings.world, seed);
  const tokens = createTokens(settings.tokens, clock, chanceOf(seed, 'tokens'));
  let deliveries: Deliveries | null = null;
  const replaced: Promise<void>[] = [];
  let nextIndex = 0;
  let unfinished = 0;
  let finished: (() => void) | null = null;

  const send = (message: Message) => deliveries?.send(message);
  const links = createLinks({
    settings: settings.links,
    clock,
    chance: chanceOf(seed, 'links'),
    tell: ({ kind, requestCode, body }) => send({ what: kind, requestIds: [], batchId: null, requestCode, body }),
  });
  const tell = (event: AuctionEvent) => {
    tellEvent(event, settings, seed, rivals, record, send);
    // A batch is finished with its end and with all that its winners are told.
    if (event.kind === 'opened') unfinished += 1;
    else if (event.kind === 'ended') unfinished += winsOf(event.ranked) - 1;
    else if (!event.outside && (event.kind === 'proposed' || event.errors.length > 0)) unfinished -= 1;
    if (unfinished === 0) finished?.();
  };
  const house = createAuctionHouse({ settings: settings.auction, clock, chance: chanceOf(seed, 'auction'), tell });
  const server = createSandboxServer({
    house,
    links,
    tokens,
    faults: settings.faults,
    clock,
    chance: chanceOf(seed, 'answer-faults'),
    record,
  });

  const summary = () => summaryOf(record, server.counts, deliveries?.counts() ?? null);
  const allEnded = () => (unfinished === 0 ? Promise.resolve() : new Promise<void>((resolve) => (finished = resolve)));

  const openBatch = (count: number, planned: number) => {
    const requests: WorkerRequest[] = [];
    for (let taken = 0; taken < count; taken += 1) {
      const request = requestAt(settings.world, seed, nextIndex, planned);
      links.learn({ worker: request.worker, marginCents: request.marginCents });
      requests.push(request);
      nextIndex += 1;
    }
    house.open(requests, (request) => rivals.bidsOn(request.index, request.segment, request.regime));
  };

  const run: Sandbox['run'] = async (count, { planned, onBatch } = {}) => {
    const { batchRequests, batchIntervalMs, overlapping } = settings.pace;
    const last = nextIndex + count;
    let dueAt = clock.now();
    while (nextIndex < last) {
      openBatch(Math.min(batchRequests, last - nextIndex), planned ?? last);
      onBatch?.({ emitted: count - (last - nextIndex), of: count });
      if (!overlapping) {
        await allEnded();
        await deliveries?.idle();
        dueAt = clock.now();
      }
      dueAt += batchIntervalMs;
      if (nextIndex < last) await new Promise<void>((resolve) => clock.schedule(dueAt, resolve));
    }
    await allEnded();
    await deliveries?.idle();
    return summary();
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
    run,
    record,
    rivals,
    settings,
    trueValue: (request, terms) =>
      trueValue(settings.world, offerOn(rivals, request, request.amountCents, request.releasedOn, terms)),
    issueToken: tokens.issue,
    revokeTokens: tokens.revokeAll,
    summary,
    stop: async () => {
      server.http.closeAllConnections();
      await Promise.all([...replaced, deliveries?.stop(), new Promise((resolve) => server.http.close(resolve))]);
      record.close();
    },
  };
}

async function listenOn(http: import('node:http').Server, port: number, host: string) {
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  });
  const bound = (http.address() as AddressInfo).port;
  return { port: bound, url: `http://${host}:${bound}` };
}

function winsOf(ranked: ReadonlyMap<RequestId, readonly AuctionBid[]>): number {
  let wins = 0;
  for (const bids of ranked.values()) if (bids[0]?.rival === null) wins += 1;
  return wins;
}
