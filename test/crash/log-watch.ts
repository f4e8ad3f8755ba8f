/** Reads the log of running desks along: what is in flight just now, and from when on every partition is bid for again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BiddingSettings } from '../../src/config/sections.ts';
import { Fault } from '../../src/errors.ts';
import type { SharedReader } from './store-reader.ts';
import { createTally, type Phases } from './tally.ts';

export type LogWatch = {
  phases: () => Phases;
  inFlight: () => number;
  /** Claims of one process that have no answer in the log. */
  inFlightOf: (instance: string) => number;
  /** Time of the latest claim of a process; 0 for none. */
  lastClaimOf: (instance: string) => number;
  /** Waits until what stands in the log now is read, as long as somebody may be asked for it. */
  catchUp: () => Promise<void>;
  /** Resolves to the time when the last partition had its first claim for a request that was received at or after `since`. */
  biddingAgain: (since: number) => Promise<number>;
  stop: () => Promise<void>;
};

type Waiting = { since: number; missing: Set<number>; done: (at: number) => void };

const maxEntries = 2_000;
const retryMs = 500;
const pollMs = 50;

export async function watchLog(reader: Pick<SharedReader, 'log'>, settings: BiddingSettings): Promise<LogWatch> {
  const { log } = reader;
  const tally = createTally(settings);
  const positions = new Map([...(await log.ends('auctions')).keys()].map((partition) => [partition, 0]));
  const waiting = new Set<Waiting>();
  const lastClaims = new Map<string, number>();
  let stopped = false;
  let stopConsumer = async () => {};

  const seeClaim = (partition: number, receivedAt: number) => {
    for (const each of waiting) {
      if (receivedAt < each.since) continue;
      each.missing.delete(partition);
      if (each.missing.size > 0) continue;
      waiting.delete(each);
      each.done(Date.now());
    }
  };

  /** A log that is gone for a while is followed on from where it was read to. */
  const follow = async (): Promise<void> => {
    while (!stopped) {
      try {
        const consumer = await log.consume({
          topic: 'auctions',
          scope: 'all',
          from: async (partition) => positions.get(partition) ?? 0,
          onLost: () => undefined,
          maxEntries,
          handler: async ({ partition, next, entries }) => {
            for (const { record } of entries) {
              const { request } = tally.fold(record);
              if (record.kind !== 'claimed') continue;
              lastClaims.set(record.instance, record.at);
              if (request !== null) seeClaim(partition, request.receivedAt);
            }
            positions.set(partition, next);
          },
          onFault: (fault) => {
            if (!(fault instanceof Fault) || !fault.retryable) throw fault;
            void follow();
          },
        });
        stopConsumer = consumer.stop;
        return;
      } catch (fault) {
        if (!(fault instanceof Fault) || !fault.retryable) throw fault;
        await sleep(retryMs);
      }
    }
  };
  await follow();

  return {
    phases: tally.phases,
    inFlight: () => tally.phases().claimed ?? 0,
    inFlightOf: tally.claimedBy,
    lastClaimOf: (instance) => lastClaims.get(instance) ?? 0,
    catchUp: async () => {
      const ends = await log.ends('auctions');
      const behind = () => [...ends].some(([partition, end]) => (positions.get(partition) ?? 0) < end);
      while (behind()) await sleep(pollMs);
    },
    biddingAgain: (since) =>
      new Promise((done) => {
        waiting.add({ since, missing: new Set(positions.keys()), done });
      }),
    stop: async () => {
      stopped = true;
      await stopConsumer();
    },
  };
}
