/** A raise of a cap that waits for another person, in words: for `lance controls show` and `lance status`. */
import type { WaitingRaise } from '../operating/controls.ts';
import type { Format } from './format.ts';

/** `by` null: who wants it, and what, is told only to those with a token. */
export function raiseText(
  { texts, money, minute }: Format,
  { name, limitCents, by, until }: Pick<WaitingRaise, 'name' | 'limitCents' | 'until'> & { by: string | null },
): string {
  const kind = limitCents !== null ? 'to' : by === null ? 'untold' : 'away';
  const [limit, reais] = limitCents === null ? ['', 0] : [money(limitCents), limitCents / 100];
  return texts.controlShow.raise(name, { kind, limit, reais }, by, minute(until));
}
