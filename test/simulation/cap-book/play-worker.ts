/** One thread of the model: leaves out the rule that it is told to, gets seeds, answers each with its history. */
import { parentPort, workerData } from 'node:worker_threads';
import { leaveOut, type SwitchName } from './switches.ts';

const { without } = workerData as { without: SwitchName | null };
if (without !== null) leaveOut(without);
const { playCapBook } = await import('./world.ts');

parentPort!.on('message', (seed: number) => parentPort!.postMessage(playCapBook(seed)));
