/** Rows of the store that are the truth themselves: what cannot be read of them cannot be made again from the log. */
import { Fault } from '../errors.ts';

/** An object in JSON with its kind. Throws `store-damaged` with the remedy, and quotes nothing of the row. */
export function readStoredRow<T extends { kind: string }>(table: string, place: number | string, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the text.
  }
  if (typeof (value as { kind?: unknown } | null | undefined)?.kind === 'string') return value as T;
  throw new Fault(
    'store-damaged',
    `Record ${place} of the table ${table} cannot be read: it was edited or is damaged; see lance audit verify. Put back a backup of the whole store, and accept it with: lance audit accept-restore --by NAME --reason TEXT.`,
  );
}
