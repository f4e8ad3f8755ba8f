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

/** A word that goes on where this one ends, but for one letter, is as near as one with so many changes. */
const changesOfBeginning = 2;
const leastBeginning = 3;

/** What a word begins with, without its last letter; null where that says little of its last part. */
function beginningOf(word: string): string | null {
  const part = word.slice(word.lastIndexOf('.') + 1);
  return part.length > leastBeginning ? word.slice(0, -1).toLowerCase() : null;
}

/** The first of the nearest known words; null where none is within two changes or a third of the word's length. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  const beginning = beginningOf(word);
  for (const candidate of known) {
    if (least > changesOfBeginning && beginning !== null && candidate.toLowerCase().startsWith(beginning)) {
      least = changesOfBeginning;
      nearest = candidate;
    }
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

/** The word in a to z without accents, digits and hyphens, a letter first; empty where nothing of it is left. */
export function plainWord(word: string, maxLength: number): string {
  const letters = word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const joined = letters.replaceAll(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+/, '');
  return joined.slice(0, maxLength).replace(/-$/, '');
}
