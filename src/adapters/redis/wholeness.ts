/** Finds out when views that lost something hold everything again: each partition as far as the log was after the loss. */
import type { Views } from '../../bidding/ports.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { keysOf, newName } from './view-text.ts';

export function createWholeness(connection: Connection, prefix: string): Views['areWhole'] {
  const { applied, generations } = keysOf(prefix);
  /** The last loss that was seen here, and how far each partition was after that. */
  let seen: { loss: string; ends: string[] } = { loss: '', ends: [] };

  const look = (): Promise<string[]> =>
    connection.run(scripts.lookWhole, [applied, generations], [prefix, newName(), seen.loss, ...seen.ends]);

  return async (readEnds) => {
    const [whole, loss, evicting] = await look();
    if (whole === '1') return true;
    // While keys may be taken away nothing that is folded now is sure to stay.
    if (evicting !== '') return false;
    if (loss !== seen.loss) {
      const ends = await readEnds();
      seen = {
        loss: loss!,
        ends: [...ends.keys()].toSorted((a, b) => a - b).map((partition) => String(ends.get(partition))),
      };
    }
    return (await look())[0] === '1';
  };
}
