/** Fills the log of an embedded desk that has stopped, through its own store; the next start folds what was appended. */

import { anchorFileOf } from '../src/adapters/embedded/anchor.ts';
import { openEmbeddedStore } from '../src/adapters/embedded/store.ts';
import { createAuditKey } from '../src/adapters/vault/audit-key.ts';
import { dataDirOf, type OursOptions, startOurs } from './loops.ts';
import { whenReady } from './ready.ts';
import { append, type RecordsOf } from './rebuild-fill.ts';
import { pseudonymKey } from './workload.ts';

/** Of a desk that begins here: it is started once, for its first start says whose data it is. Returns how many records were appended. */
export async function fillStore(places: OursOptions, recordsOf: RecordsOf, requests: number): Promise<number> {
  const directory = dataDirOf(places);
  const first = await startOurs(places);
  await whenReady(first.origins[0]!);
  await first.stop();
  const store = await openEmbeddedStore({
    directory,
    onFault: (fault) => {
      throw fault;
    },
    anchor: { file: anchorFileOf(directory, null).file, key: createAuditKey(pseudonymKey), everyMs: 1_000 },
  });
  const appended = await append(store.log, recordsOf, 0, requests);
  await store.close();
  return appended;
}
