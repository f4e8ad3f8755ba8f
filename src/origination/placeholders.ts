/** What an example leaves to be filled in, such as `<account>`: code, key or payee that nobody but the asker knows. Pure. */
import type { FlowBreach } from '../domain/flow-records.ts';
import { type JsonValue, scalarsIn } from '../wire/json.ts';

const placeholder = /^<[a-z][a-z ]*>$/;
const mayBePlaceholder = { longest: 60, most: 1_000 };

/** A field of digits alone has no room for words. */
function isOpen(path: string, text: string): boolean {
  return placeholder.test(text) || (path.endsWith('authorisationNumber') && text === '0');
}

/** The dotted places of what is left open in an order or the fields of a step. */
export function placeholdersIn(fields: unknown): readonly string[] {
  return scalarsIn(fields as JsonValue, mayBePlaceholder).flatMap(({ path, text }) =>
    isOpen(path, text) ? [path] : [],
  );
}

/** The same of what the front was asked, under the names that the fields have for whoever asks. */
export function leftOpen(asked: object): readonly FlowBreach[] {
  return placeholdersIn(asked).map((path) => ({
    rule: 'filled-in',
    field: fieldAsked(path, 'step' in asked),
    problem: 'this is what the example left open: send the real value',
  }));
}

function fieldAsked(path: string, isStep: boolean): string {
  if (!isStep) return path.replace(/^(?:contract|renegotiation)\./, '');
  return path.replace(/^request\.extra\./, 'fields.').replace(/^request\./, '');
}
