/** What every crash run needs: the even stream of requests, an end to waiting, and the words of a run that broke off. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Phase } from '../../src/domain/states.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** The stream is ordered in parts of so many seconds; it ends with the end of one. */
const partSeconds = 2;
const outputTail = 4_000;

/** Requests until `end` is called; that resolves to how long they came when all is told and taken. */
export function startStream(
  sandbox: Sandbox,
  requestsPerSecond: number,
  expectedSeconds: number,
): { end: () => Promise<number> } {
  const startedAt = performance.now();
  const planned = requestsPerSecond * expectedSeconds;
  const parts: Promise<unknown>[] = [];
  let ending = false;
  const stream = (async () => {
    while (!ending) {
      await new Promise<void>((resolve) => {
        const onBatch = ({ emitted, of }: { emitted: number; of: number }) => {
          if (emitted === of) resolve();
        };
        parts.push(sandbox.run(requestsPerSecond * partSeconds, { planned, onBatch }));
      });
      await sleep(sandbox.settings.pace.batchIntervalMs);
    }
  })();
  return {
    end: async () => {
      ending = true;
      await stream;
      const streamMs = performance.now() - startedAt;
      await Promise.all(parts);
      return Math.round(streamMs);
    },
  };
}

/** Where a request is that would still end by itself. */
export const unsettled: readonly Phase[] = [
  'requested',
  'claimed',
  'accepted',
  'accepted-presumed',
  'unknown',
  'won',
  'contemplated',
];

/** Rejects with `text` when the work is not done in time. */
export async function withinTime<T>(work: Promise<T>, patienceMs: number, text: string): Promise<T> {
  const patience = new AbortController();
  try {
    return await Promise.race([
      work,
      sleep(patienceMs, undefined, { signal: patience.signal }).then((): never => {
        throw new Error(text);
      }),
    ]);
  } finally {
    patience.abort();
  }
}

/** The end of what a process wrote. */
export function tailOf(path: string): string {
  return readFileSync(path, 'utf8').slice(-outputTail);
}
