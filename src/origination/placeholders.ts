/** What an example leaves to be filled in, such as `<account>`: code, key or payee that nobody but the asker knows. Pure. */
import type { FlowBreach } from '../domain/flow-records.ts';
import { type JsonValue, scalarsIn } from '../wire/json.ts';

const placeholder = /^<[a-z][a-z ]*>$/;
export const leftOpenProblem = 'this is what the example left open: send the real value';
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

export function isPlaceholder(value: unknown): value is string {
  return typeof value === 'string' && placeholder.test(value);
}

/**
 * An example in which nothing is invented: each text and number becomes a placeholder of the name of its field, such as
 * `<agent cpf>`. `isKnown`: by the dotted place. What is true or false is a choice, and stays.
 */
export function openedExample(
  example: JsonValue,
  isKnown: (place: string) => boolean,
  place = '',
  name = '',
): JsonValue {
  if (example === null || typeof example === 'boolean') return example;
  if (typeof example === 'object') {
    const inner = (key: string) => (place === '' ? key : `${place}.${key}`);
    if (Array.isArray(example))
      return example.map((each, index) => openedExample(each as JsonValue, isKnown, inner(String(index)), name));
    return Object.fromEntries(
      Object.entries(example).map(([key, each]) => [key, openedExample(each as JsonValue, isKnown, inner(key), key)]),
    );
  }
  if (isKnown(place) || isOpen(place, String(example))) return example;
  return `<${name
    .replace(/[^A-Za-z]+|(?=[A-Z])/g, ' ')
    .trim()
    .toLowerCase()}>`;
}

/** The same of what the front was asked, under the names that the fields have for whoever asks. */
export function leftOpen(asked: object): readonly FlowBreach[] {
  return placeholdersIn(asked).map((path) => ({
    rule: 'filled-in',
    field: fieldAsked(path, 'step' in asked),
    problem: leftOpenProblem,
  }));
}

function fieldAsked(path: string, isStep: boolean): string {
  if (!isStep) return path.replace(/^(?:contract|renegotiation)\./, '');
  return path.replace(/^request\.extra\./, 'fields.').replace(/^request\./, '');
}
