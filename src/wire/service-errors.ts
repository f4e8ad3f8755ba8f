/** How the service says no: the envelope's messages, and the error arrays of acknowledgements and callbacks (contract, Errors). */
import { fieldOf } from './casing.ts';
import { cutText } from './hidden-cpf.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue } from './json.ts';

/** `text` may name a person: it is for whoever may see the operation, never for a log. `whole` is the item as it came. */
export type ServiceError = { code: string | null; text: string | null; field: string | null; whole: JsonValue };

const codeKeys = ['Code', 'Codigo'];
const textKeys = ['Description', 'Descricao', 'Message', 'Mensagem'];
const fieldKeys = ['Field', 'Campo'];
const maxTextLength = 2_000;

/** All errors that an answer or a callback reports; empty where it reports none. */
export function errorsOf(value: JsonValue): readonly ServiceError[] {
  if (!isJsonObject(value)) return [];
  const payload = fieldOf(value, 'Payload');
  const listed = [...listsOf(value), ...(isJsonObject(payload) ? listsOf(payload) : [])].map(errorOf);
  if (!spellingsIn(value, ['HasError']).includes(true)) return listed;
  const messages = fieldOf(value, 'Messages');
  const told = Array.isArray(messages) ? messages.map(errorOf) : [];
  if (told.length > 0 || listed.length > 0) return [...told, ...listed];
  const general = textOf(fieldOf(value, 'Msg'));
  return [{ code: null, text: general, field: null, whole: general }];
}

/** Whether an answer reports errors (contract, Errors 1 and 3). Null: flag or list is of another kind, so it cannot be told. */
export function reportsError(value: JsonValue): boolean | null {
  if (!isJsonObject(value)) return false;
  const flags = spellingsIn(value, ['HasError']);
  const lists = spellingsIn(value, ['Erros', 'errors']);
  if (flags.includes(true) || lists.some((list) => Array.isArray(list) && list.length > 0)) return true;
  return flags.every((flag) => flag === false) && lists.every(Array.isArray) ? false : null;
}

/** The same of all objects within it, where none of them has errors that are not its own. */
export function reportsErrorWithin(value: JsonValue): boolean | null {
  const inner = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  let told = reportsError(value);
  for (const each of inner) {
    if (told === true) return true;
    const within = reportsErrorWithin(each);
    if (within !== false) told = within;
  }
  return told;
}

function listsOf(value: JsonObject): readonly JsonValue[] {
  return spellingsIn(value, ['Erros', 'errors']).flatMap((list) => (Array.isArray(list) ? list : []));
}

/** What stands under the names in any case, more than once too: an error under one spelling is one. Null says nothing. */
function spellingsIn(value: JsonObject, names: readonly string[]): readonly JsonValue[] {
  const known = names.map((name) => name.toLowerCase());
  const keys = Object.keys(value).filter((key) => known.includes(key.toLowerCase()));
  return keys.map((key) => value[key]!).filter((each) => each !== null);
}

function errorOf(item: JsonValue): ServiceError {
  if (!isJsonObject(item)) return { code: null, text: textOf(item), field: null, whole: item };
  const first = (keys: readonly string[]) => {
    for (const key of keys) {
      const found = textOf(fieldOf(item, key));
      if (found !== null) return found;
    }
    return null;
  };
  return { code: first(codeKeys), text: first(textKeys), field: first(fieldKeys), whole: item };
}

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value === '' ? null : cutText(value, maxTextLength);
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : null;
}
