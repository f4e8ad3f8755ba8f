/**
 * Ids that rows are stored under, as a Bloom filter: what nobody has heard of is most often told to be new without a look at the
 * disk.
 */
export type StoredIds = {
  add: (id: string) => void;
  /** False: there is surely no row. */
  mayHave: (id: string) => boolean;
};

const filterHashes = 6;
const ascii = /^[\0-\x7f]*$/;

export function createStoredIds(ids: Iterable<string>, filterBits: number): StoredIds {
  const words = new Uint32Array(2 ** filterBits / 32);
  /**
   * Visits the bits of an id until `visit` says false. Two multiplicative hashes, combined by double hashing (Kirsch &
   * Mitzenmacher, "Less hashing, same performance", 2006).
   */
  const everyBit = (id: string, visit: (word: number, bit: number) => boolean): boolean => {
    let [place, step] = [0x811c9dc5, 0x050c5d1f];
    for (let index = 0; index < id.length; index += 1) {
      const code = id.charCodeAt(index);
      place = Math.imul(place ^ code, 0x01000193);
      step = Math.imul(step ^ code, 0x5bd1e995);
    }
    // The bit is taken from the upper end: mixed once more, so that the last characters reach it.
    place = Math.imul(place ^ (place >>> 15), 0x2c1b3c6d);
    step = Math.imul(step ^ (step >>> 13), 0x297a2d39) | 1;
    for (let hash = 0; hash < filterHashes; hash += 1) {
      const bit = place >>> (32 - filterBits);
      if (!visit(bit >>> 5, 1 << (bit & 31))) return false;
      place = (place + step) | 0;
    }
    return true;
  };
  const add = (id: string): void => {
    everyBit(id, (word, bit) => {
      words[word]! |= bit;
      return true;
    });
  };
  for (const id of ids) add(id);
  return {
    add,
    // The disk may give back other characters than were stored: those are always looked for.
    mayHave: (id) => !ascii.test(id) || everyBit(id, (word, bit) => (words[word]! & bit) !== 0),
  };
}
