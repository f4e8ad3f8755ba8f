/** One thread of the simulation: gets a seed, plays it, answers with the history. */
import { parentPort } from 'node:worker_threads';
import { playHistory } from './world.ts';

/** A fault of the simulation itself is left unhandled: it ends the thread, and the run with it. */
async function play(seed: number): Promise<void> {
  parentPort!.postMessage(await playHistory(seed));
}

parentPort!.on('message', (seed: number) => void play(seed));
