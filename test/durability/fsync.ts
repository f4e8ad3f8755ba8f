/**
 * `node test/durability/fsync.ts`: shows that each 2xx of the daemon was written after the sync of its own commit. Needs
 * strace. Exits 1 when one was not.
 */
import { proveFsync } from './prove-fsync.ts';

const load = { oneByOne: 60, rounds: 10, atOnce: 8 };
const { proofs, calls, syncs } = await proveFsync(load);
const failed = proofs.filter((proof) => proof.kind === 'not-proven');
for (const { requestId, text } of failed) console.log(`${requestId}: ${text}`);
console.log(`${calls} calls traced, ${syncs} syncs of the write-ahead log`);
console.log(`${load.oneByOne} webhooks one after another, ${load.rounds * load.atOnce} in groups of ${load.atOnce}`);
console.log(`${proofs.length - failed.length} of ${proofs.length} answers of 2xx follow the sync of their commit`);
process.exitCode = failed.length === 0 && proofs.length > 0 ? 0 : 1;
