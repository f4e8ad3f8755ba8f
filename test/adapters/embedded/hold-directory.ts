/** Child process: takes a data directory, says so, appends one record after another until it is killed or the disk is full. */
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { Fault } from '../../../src/errors.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const [directory, mode] = process.argv.slice(2);
const store = await openEmbeddedStore({
  directory: directory!,
  onFault: (fault) => {
    process.stdout.write(`died ${fault.code}\n`);
  },
});
process.stdout.write('open\n');

if (mode === 'fill') {
  const note = 'x'.repeat(20_000);
  let appended = 0;
  let full: unknown = null;
  while (full === null) {
    await store.log.append([auctionEntry('a', note)]).then(
      () => {
        appended += 1;
      },
      (fault: unknown) => {
        full = fault;
      },
    );
  }
  const stored = (await store.log.ends('auctions')).get(0);
  const margin = await store.margins.read(['a'], 0);
  process.stdout.write(`${full instanceof Fault ? full.code : String(full)} ${appended} ${stored} ${margin.size}\n`);
  process.exit(0);
}
