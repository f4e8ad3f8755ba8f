/** Seeded chance: one stream per purpose, named by text, so that what arrives when never changes the world. */
import type { Chance } from '../domain/clock.ts';

/** Spreads a text over four 32-bit words (the mixing of MurmurHash3, one lane per word). */
function wordsOf(text: string): [number, number, number, number] {
  const words: [number, number, number, number] = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  for (let index = 0; index < text.length; index += 1) {
    for (let lane = 0; lane < 4; lane += 1) {
      const mixed = Math.imul(words[lane]! ^ (text.charCodeAt(index) + lane), 0xcc9e2d51);
      words[lane] = Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593) + index;
    }
  }
  return words;
}

/** A stream of uniform numbers in [0, 1): sfc32 by Chris Doty-Humphrey. The same name gives the same stream. */
export function chanceOf(...name: readonly (string | number)[]): Chance {
  let [a, b, c, counter] = wordsOf(name.join('\u0000'));
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

/** Integer in [low, high]. */
export function integerIn(chance: Chance, low: number, high: number): number {
  return low + Math.floor(chance() * (high - low + 1));
}

export function oneOf<T>(chance: Chance, items: readonly T[]): T {
  const item = items[Math.floor(chance() * items.length)];
  if (item === undefined) throw new RangeError('cannot choose from an empty list');
  return item;
}

/** Picks a key with probability in proportion to its weight. */
export function weighted<K extends string>(chance: Chance, weights: Readonly<Record<K, number>>): K {
  const entries = Object.entries(weights) as [K, number][];
  let left = chance() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [key, weight] of entries) {
    left -= weight;
    if (left < 0) return key;
  }
  return entries.at(-1)![0];
}

/** Standard normal from the sum of twelve uniforms: cut at ± 6, and the same digits on every machine. */
export function normal(chance: Chance): number {
  let sum = -6;
  for (let round = 0; round < 12; round += 1) sum += chance();
  return sum;
}

/** Random UUID (version 4) drawn from `chance`. */
export function uuidOf(chance: Chance): string {
  let text = '';
  for (let index = 0; index < 32; index += 1) {
    const digit = index === 12 ? 4 : index === 16 ? 8 + Math.floor(chance() * 4) : Math.floor(chance() * 16);
    text += digit.toString(16);
    if (index === 7 || index === 11 || index === 15 || index === 19) text += '-';
  }
  return text;
}
