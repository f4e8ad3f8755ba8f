/** Plays seeds in worker threads, one history after the other in each. */
import { Worker } from 'node:worker_threads';
import type { SwitchName } from './cap-book/switches.ts';
import type { CapHistory } from './cap-book/world.ts';
import type { History } from './world.ts';

/** `nextSeed` says null when there is nothing left to play. */
export function playInParallel(
  nextSeed: () => number | null,
  jobs: number,
  onHistory: (history: History) => void,
): Promise<void> {
  return playWith(() => new Worker(new URL('./play-worker.ts', import.meta.url)), nextSeed, jobs, onHistory);
}

/** The same for the model of the cap book; `without`: the rule that is left out. */
export function playCapBooks(
  without: SwitchName | null,
  nextSeed: () => number | null,
  jobs: number,
  onHistory: (history: CapHistory) => void,
): Promise<void> {
  const url = new URL('./cap-book/play-worker.ts', import.meta.url);
  return playWith(() => new Worker(url, { workerData: { without } }), nextSeed, jobs, onHistory);
}

async function playWith<H>(
  start: () => Worker,
  nextSeed: () => number | null,
  jobs: number,
  onHistory: (history: H) => void,
): Promise<void> {
  const workers = Array.from({ length: jobs }, () => {
    const worker = start();
    return new Promise<void>((resolve, reject) => {
      const deal = () => {
        const seed = nextSeed();
        if (seed === null) void worker.terminate().then(() => resolve());
        else worker.postMessage(seed);
      };
      worker.on('message', (history: H) => {
        onHistory(history);
        deal();
      });
      worker.on('error', reject);
      deal();
    });
  });
  await Promise.all(workers);
}
