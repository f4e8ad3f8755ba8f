/** What somebody may have meant by a word that is not known. */

/** Levenshtein's distance. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const swap = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[right.length]!;
}

/** The first of the nearest known words; null where none is within two changes or a third of the word's length. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    // So many letters are too many or missing at the least: nothing is gained by comparing them all.
    if (Math.abs(word.length - candidate.length) >= least) continue;
    const far = distance(word.toLowerCase(), candidate.toLowerCase());
    if (far < least) {
      least = far;
      nearest = candidate;
    }
  }
  return nearest;
}
