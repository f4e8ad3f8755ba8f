/** Chance that a seed decides: the generator sfc32 (Doty-Humphrey, PractRand), and the draws that the world needs. */

export type SeededChance = {
  /** Uniform in [0, 1). */
  unit: () => number;
  /** Uniform integer, both ends included. */
  between: (least: number, most: number) => number;
  pick: <T>(list: readonly T[]) => T;
  happens: (probability: number) => boolean;
  /** A generator of its own, so that draws in one place do not shift those in another. */
  fork: (name: string) => SeededChance;
};

/** FNV-1a over UTF-16 units. */
export function mixText(text: string, start = 2_166_136_261): number {
  let mixed = start >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 16_777_619) >>> 0;
  }
  return mixed;
}

export function seededChance(seed: number, name = 'world'): SeededChance {
  let a = mixText(name) | 0;
  let b = seed | 0;
  let c = Math.floor(seed / 4_294_967_296) | 0;
  let counter = 1;
  const unit = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 12; round += 1) unit();
  const chance: SeededChance = {
    unit,
    between: (least, most) => least + Math.floor(unit() * (most - least + 1)),
    pick: (list) => list[Math.floor(unit() * list.length)]!,
    happens: (probability) => unit() < probability,
    fork: (inner) => seededChance(seed, `${name}/${inner}`),
  };
  return chance;
}
