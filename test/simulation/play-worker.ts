/** One thread of the simulation: gets a seed, plays it, answers with the history. */
import { parentPort } from 'node:worker_threads';
import { playHistory } from './world.ts';

parentPort!.on('message', (seed: number) => {
  void playHistory(seed).then((history) => parentPort!.postMessage(history));
});
