/** Plays seeds in worker threads, one history after the other in each. */
import { Worker } from 'node:worker_threads';
import type { History } from './world.ts';

/** `nextSeed` says null when there is nothing left to play. */
export async function playInParallel(
  nextSeed: () => number | null,
  jobs: number,
  onHistory: (history: History) => void,
): Promise<void> {
  const workers = Array.from({ length: jobs }, () => {
    const worker = new Worker(new URL('./play-worker.ts', import.meta.url));
    return new Promise<void>((resolve, reject) => {
      const deal = () => {
        const seed = nextSeed();
        if (seed === null) void worker.terminate().then(() => resolve());
        else worker.postMessage(seed);
      };
      worker.on('message', (history: History) => {
        onHistory(history);
        deal();
      });
      worker.on('error', reject);
      deal();
    });
  });
  await Promise.all(workers);
}
