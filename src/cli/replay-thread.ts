/** The thread that replays the candidate of an impact while the main one has the current set. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Model } from '../config.ts';
import type { RecordedCase } from '../impact/recorded-cases.ts';
import { replaySets } from '../impact/replay-sets.ts';
import { policyOf } from '../policy.ts';
import type { RuleFile } from '../rules/rule-set.ts';

export type ReplayTask = { model: Model; files: readonly RuleFile[]; ordered: readonly RecordedCase[] };

const { model, files, ordered } = workerData as ReplayTask;
const set = { policy: policyOf(model, files), shares: false };
const [replayed] = await replaySets(ordered, [set], model.bidding, () => undefined);
parentPort!.postMessage(replayed);
