/**
 * External sources: files `NAME.source.json` of a rule set. Each declares what is sent to an endpoint that the configuration names, and
 * what comes back: numbers, texts of a closed set and days, each the fact `source.NAME.FIELD`. Whatever else comes back is refused as
 * a whole, so that nothing is let through that nobody could read.
 */
import { createHash } from 'node:crypto';
import { isCpf } from '../domain/cpf.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import { maxReplyLength } from '../domain/offer.ts';
import type { DerivedFact } from './derived.ts';
import { type FactDefinition, type Facts, type FactValue, factNamed } from './facts.ts';
import { canonicalJson, type Json, type JsonObject, parseJson } from './json.ts';
import {
  isObject,
  type Place,
  type RuleFault,
  readNumber,
  readObject,
  readText,
  refuse,
  shown,
  suggestion,
  within,
} from './place.ts';
import { type Column, readCell, readColumn } from './value-tables.ts';

export const sourcePrefix = 'source.';

/** The worker's CPF: no fact of a rule, and sent only where the configuration allows it too. */
export const cpfField = 'worker.cpf';

export type Source = {
  name: string;
  /** SHA-256 of the declaration. */
  hash: string;
  /** Name of the address in the configuration. */
  endpoint: string;
  /** Facts that are sent, and the CPF. */
  send: readonly string[];
  /** Those of them without which it is asked all the same. */
  optional: readonly string[];
  fields: readonly Column[];
  timeoutMs: number;
  maxAskedPerDay: number;
  /** What holds where there is no answer, by field; what is not in it is unknown. */
  otherwise: Readonly<Record<string, number | string>>;
};

const sourcePath = /^([a-z][A-Za-z0-9]{0,39})\.source\.json$/;
const fieldShape = /^[a-z][A-Za-z0-9]{0,39}$/;
const maxFields = 20;
const sourceKeys = {
  required: ['description', 'endpoint', 'send', 'reply', 'timeoutMs', 'maxAskedPerDay'],
  optional: ['$schema', 'owner', 'optional', 'personal', 'otherwise'],
};
const fieldKeys = ['type', 'unit', 'values', 'min', 'max', 'description'];
/** Of one set: an answer of each is kept with a request. */
export const maxSources = 16;
export const timeouts = { unit: 'ms', min: 50, max: 10_000, decimals: 0 };
export const budgets = { unit: 'a day', min: 1, max: 1_000_000, decimals: 0 };

/** Whom a question is about: without them the answer would be about anybody. */
const subjects: readonly string[] = [cpfField, 'worker.key', 'employer.key', 'employer.rootKey'];

/** Facts that say something of the worker: whoever sends them has to say so. */
function isPersonal(fact: string): boolean {
  return /^(?:worker|link|score|alerts)\./.test(fact);
}

function readNames(place: Place, value: Json, what: string): string[] | null {
  if (Array.isArray(value) && value.length <= maxFields && value.every((one) => typeof one === 'string')) return value;
  return refuse(place, `"${what}" is ${shown(value)}; write a list of at most ${maxFields} names of facts.`);
}

function checkSent(place: Place, name: string, personal: readonly string[]): void {
  const definition = factNamed(name);
  if (name !== cpfField && (definition === null || definition.stage !== 'request'))
    refuse(place, `There is no fact ${shown(name)} of a request. ${suggestion(name, [cpfField, 'worker.key'])}`);
  else if (isPersonal(name) && !personal.includes(name))
    refuse(place, `"${name}" is personal; name it under "personal" as well, or do not send it.`);
}

function checkOptional(place: Place, name: string, send: readonly string[]): void {
  if (!send.includes(name)) refuse(place, `${shown(name)} is not sent; name it under "send" as well, or remove it.`);
  else if (subjects.includes(name))
    refuse(place, `"${name}" says whom the question is about, so it cannot be optional; remove it.`);
}

/** A number of a field may have a range of its own, within that of its unit. */
function readField(place: Place, content: Json, fact: string, present: string): FactDefinition | null {
  if (!isObject(content)) return readColumn(place, content, fact, present);
  const { min, max, ...column } = content;
  const unknown = Object.keys(column).find((key) => !fieldKeys.includes(key));
  if (unknown !== undefined)
    return refuse(
      within(place, unknown),
      `There is no ${shown(unknown)} in a field. ${suggestion(unknown, fieldKeys)}`,
    );
  const definition = readColumn(place, column, fact, present);
  if (definition === null || (min === undefined && max === undefined)) return definition;
  const { range, unit } = definition;
  if (range === null || unit === null)
    return refuse(within(place, min === undefined ? 'max' : 'min'), 'Only a number has a range; remove it.');
  const measure = { unit, ...range, decimals: definition.whole ? 0 : 6 };
  const [least, most] = (['min', 'max'] as const).map((name) =>
    content[name] === undefined ? range[name] : readNumber(within(place, name), content[name], name, measure),
  );
  if (least === null || most === null) return null;
  if (least! > most!) return refuse(within(place, 'min'), `min is ${least}, above max, ${most}; write a lower one.`);
  return { ...definition, range: { min: least!, max: most! } };
}

function readFields(place: Place, value: Json, source: string): Column[] | null {
  if (!isObject(value) || Object.keys(value).length === 0 || Object.keys(value).length > maxFields) {
    const example = '{"score": {"type": "number", "unit": "points"}}';
    return refuse(place, `"reply" is ${shown(value)}; write an object ${example} of 1 to ${maxFields} fields.`);
  }
  const before = place.faults.length;
  const fields: Column[] = [];
  for (const [name, content] of Object.entries(value)) {
    const at = within(place, name);
    if (!fieldShape.test(name)) {
      refuse(at, `${shown(name)} is no name of a field; write one like "latePayments".`);
      continue;
    }
    const present = `when the source ${source} answers with it`;
    const definition = readField(at, content, `${sourcePrefix}${source}.${name}`, present);
    if (definition === null) continue;
    // Any other text could be a name or a CPF, and would stand in the log.
    if (definition.type === 'string' && definition.values === null && !definition.isDay)
      refuse(at, 'A text of a source has a closed set of values; write them as "values": ["A", "B"].');
    else fields.push({ name, definition });
  }
  return place.faults.length > before ? null : fields.sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** A CPF that came as a number has lost its zeros in front: with more than two of them it is not told from other numbers. */
const fewestCpfDigits = 9;
const cpfDigits = 11;

/** It would stand in the log in clear. One number of a hundred with so many digits is one by chance, and no answer then. */
function isCpfNumber(value: number): boolean {
  const digits = String(value);
  return /^\d+$/.test(digits) && digits.length >= fewestCpfDigits && isCpf(digits.padStart(cpfDigits, '0'));
}

/** Values by field, as the declaration wants them; what is null or left out is unknown. Faults go to `place`. */
function readValues(place: Place, object: JsonObject, fields: readonly Column[]): Record<string, number | string> {
  const found: Record<string, number | string> = {};
  for (const column of fields) {
    const value = Object.hasOwn(object, column.name) ? object[column.name]! : null;
    if (value === null || readCell(within(place, column.name), value, column) === null) continue;
    if (typeof value === 'number' && isCpfNumber(value)) refuse(within(place, column.name), 'This number is a CPF.');
    else found[column.name] = value as number | string;
  }
  return found;
}

export function readSource(place: Place, value: Json): Source | null {
  const name = sourcePath.exec(place.file)?.[1];
  if (name === undefined)
    return refuse(place, 'A source is named like a fact; call the file like "bureau.source.json".');
  const object = readObject(place, value, 'A source', sourceKeys);
  if (object === null) return null;
  const before = place.faults.length;
  readText(within(place, 'description'), object.description!, 'The description', 600);
  if ('owner' in object) readText(within(place, 'owner'), object.owner!, 'The owner', 80);
  const endpoint = readText(within(place, 'endpoint'), object.endpoint!, 'The endpoint', 40);
  const send = readNames(within(place, 'send'), object.send!, 'send');
  const personal = readNames(within(place, 'personal'), object.personal ?? [], 'personal');
  for (const [index, fact] of (personal === null ? [] : (send ?? [])).entries())
    checkSent(within(within(place, 'send'), index), fact, personal!);
  const optional = readNames(within(place, 'optional'), object.optional ?? [], 'optional');
  for (const [index, fact] of (send === null ? [] : (optional ?? [])).entries())
    checkOptional(within(within(place, 'optional'), index), fact, send!);
  const fields = readFields(within(place, 'reply'), object.reply!, name);
  const timeoutMs = readNumber(within(place, 'timeoutMs'), object.timeoutMs!, 'timeoutMs', timeouts);
  const most = readNumber(within(place, 'maxAskedPerDay'), object.maxAskedPerDay!, 'maxAskedPerDay', budgets);
  let otherwise: Source['otherwise'] = {};
  if ('otherwise' in object && fields !== null) {
    const at = within(place, 'otherwise');
    const names = { required: [], optional: fields.map((field) => field.name) };
    const told = readObject(at, object.otherwise!, 'What holds otherwise', names);
    if (told !== null) otherwise = readValues(at, told, fields);
  }
  if (endpoint === null || send === null || optional === null || fields === null || timeoutMs === null || most === null)
    return null;
  if (place.faults.length > before) return null;
  const hash = createHash('sha256').update(canonicalJson(object)).digest('hex');
  return { name, hash, endpoint, send, optional, fields, timeoutMs, maxAskedPerDay: most, otherwise };
}

export function sourceAsFacts({ fields }: Source): readonly DerivedFact[] {
  return fields.map(({ definition }) => {
    const fact = definition.name;
    return {
      definition,
      value: (facts) => facts[fact],
      uses: [fact],
      needed: [fact],
      reads: [fact],
      lacking: () => [fact],
      isTotal: false,
      comesFirst: false,
      isSettable: true,
    };
  });
}

/** What is sent of these facts; null: something is not known without which it is not asked. `cpf` null where it is not known. */
export function questionOf({ send, optional }: Source, facts: Facts, cpf: string | null): string | null {
  const told: Record<string, FactValue> = {};
  for (const name of send) {
    const value = name === cpfField ? cpf : facts[name];
    if (value !== undefined && value !== null) told[name] = value;
    else if (!optional.includes(name)) return null;
  }
  return JSON.stringify(told);
}

/** What the answer says; null: it is not as declared, in whichever way. */
export function readReply(source: Source, text: string): Readonly<Record<string, number | string>> | null {
  if (text.length > maxReplyLength) return null;
  const parsed = parseJson(text);
  if (parsed.kind !== 'parsed' || !isObject(parsed.value)) return null;
  const faults: RuleFault[] = [];
  const known = source.fields.map(({ name }) => name);
  if (Object.keys(parsed.value).some((key) => !known.includes(key))) return null;
  const found = readValues({ file: '', pointer: '', faults }, parsed.value, source.fields);
  return faults.length > 0 ? null : found;
}

/** The facts with what sources said. */
export function withSources(
  facts: Facts,
  said: readonly { source: string; found: Readonly<Record<string, number | string>> }[],
): Facts {
  if (said.length === 0) return facts;
  const own: Record<string, FactValue | undefined> = { ...facts };
  for (const { source, found } of said)
    for (const field of Object.keys(found)) own[`${sourcePrefix}${source}.${field}`] = found[field];
  return own;
}

/** What the configuration has of an endpoint. */
export type ConfiguredEndpoints = Readonly<Record<string, { sendCpf: boolean }>>;

/** What the sources ask for and the configuration does not have. They are good: what they say for a failure holds meanwhile. */
export function notConfigured(sources: readonly Source[], endpoints: ConfiguredEndpoints): RuleFault[] {
  const faults: RuleFault[] = [];
  for (const { name, endpoint, send } of sources) {
    const place = { file: `${name}.source.json`, pointer: '', faults };
    const known = Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint]! : null;
    const setting = `"enrichment": {"${endpoint}": {"url": "https://…"}}`;
    if (known === null) {
      const meant = nearestWord(endpoint, Object.keys(endpoints));
      const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
      const text = `The configuration has no endpoint ${shown(endpoint)}: nobody asks the source, and "otherwise" holds. Set ${setting} in the file that LANCE_CONFIG names.${hint}`;
      refuse(within(place, 'endpoint'), text);
    } else if (send.includes(cpfField) && !known.sendCpf) {
      const key = `enrichment.${endpoint}.sendCpf`;
      refuse(
        within(place, 'send'),
        `"${cpfField}" is not sent, for "${key}" is not true; set it in the file that LANCE_CONFIG names, or do not send it.`,
      );
    }
  }
  return faults;
}

/** Sources among what the facts are made of. */
export function sourcesUsed(sources: readonly Source[], used: ReadonlySet<string>): readonly Source[] {
  return sources.filter(({ name }) => [...used].some((fact) => fact.startsWith(`${sourcePrefix}${name}.`)));
}
