/** Texts compared without accents: services and people write them or leave them out. */

const mark = /\p{M}/gu;

/**
 * Letters without their accents. Marks that stand by themselves go first: putting a long run of them into canonical order,
 * as `normalize` does, takes the square of its length.
 */
export function withoutAccents(text: string): string {
  return text.replace(mark, '').normalize('NFD').replace(mark, '');
}
