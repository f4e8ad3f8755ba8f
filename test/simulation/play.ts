/** Plays seeds in worker threads, one history after the other in each. */
import { Worker } from 'node:worker_threads';
import type { History } from './world.ts';

export type Range = { from: number; count: number; jobs: number };

export async function playInParallel(
  { from, count, jobs }: Range,
  onHistory: (history: History) => void,
): Promise<void> {
  let next = from;
  const end = from + count;
  const workers = Array.from({ length: Math.min(jobs, count) }, () => {
    const worker = new Worker(new URL('./play-worker.ts', import.meta.url));
    return new Promise<void>((resolve, reject) => {
      const deal = () => {
        if (next >= end) return void worker.terminate().then(() => resolve());
        worker.postMessage(next);
        next += 1;
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
