/** The files of a rule set: `codes.json`, and rules one or several to a file. Shapes only; meaning is checked further in. */
import type { Day } from '../domain/glossary.ts';
import { readConditions, readPriority } from './conditions.ts';
import { eventTypes, readEvent } from './events.ts';
import type { Stage } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type Place, readObject, readText, refuse, shown, suggestion, within } from './place.ts';
import type { Rule, Validity } from './rule.ts';
import { readShare, refuseShared, sharedConditions, sharedText } from './shares.ts';
import { readTable } from './tables.ts';
import { definitionOf, factNames, type Vocabulary } from './vocabulary.ts';

/** What a worker is told, in Portuguese and English. */
export type WorkerText = { pt: string; en: string };
/** `worker` null: nobody wrote what a worker is told. */
export type PassCode = { code: string; text: string; worker: WorkerText | null };

const maxCodes = 100;
const maxEventWords = 500;
export const codeShape = /^[a-z][a-z0-9-]{1,39}$/;
/** Codes that this room gives itself. */
export const ownCodes = ['limits-conflict', 'fact-missing'];

function readWorkerTexts(place: Place, value: Json, declared: JsonObject): ReadonlyMap<string, WorkerText> {
  const texts = new Map<string, WorkerText>();
  if (!isObject(value)) {
    refuse(place, `"worker" is ${shown(value)}; write an object {"code": {"pt": "…", "en": "…"}}.`);
    return texts;
  }
  for (const [code, given] of Object.entries(value)) {
    const here = within(place, code);
    if (!Object.hasOwn(declared, code)) {
      const hint = suggestion(code, Object.keys(declared)) || 'Declare it there.';
      refuse(here, `The code ${shown(code)} is not declared under "codes". ${hint}`);
      continue;
    }
    const object = readObject(here, given, 'What a worker is told', { required: ['pt', 'en'], optional: [] });
    if (object === null) continue;
    const [pt, en] = [
      readText(within(here, 'pt'), object.pt!, 'The text in Portuguese', 300),
      readText(within(here, 'en'), object.en!, 'The text in English', 300),
    ];
    if (pt !== null && en !== null) texts.set(code, { pt, en });
  }
  return texts;
}

/**
 * `{"codes": {"<code>": "<what it means>"}, "worker": {"<code>": {"pt": "…", "en": "…"}}}`. Few, because each becomes a label of a
 * metric.
 */
export function readCodes(place: Place, value: Json): readonly PassCode[] {
  const object = readObject(place, value, 'codes.json', { required: ['codes'], optional: ['$schema', 'worker'] });
  if (object === null) return [];
  const at = within(place, 'codes');
  const declared = object.codes!;
  if (!isObject(declared)) {
    refuse(at, `"codes" is ${shown(declared)}; write an object {"code": "what it means"}.`);
    return [];
  }
  const names = Object.keys(declared);
  if (names.length > maxCodes)
    refuse(at, `${names.length} codes are declared; keep to ${maxCodes}, reasons say the rest.`);
  const worker = 'worker' in object ? readWorkerTexts(within(place, 'worker'), object.worker!, declared) : new Map();
  const codes: PassCode[] = [];
  for (const code of names.slice(0, maxCodes)) {
    const here = within(at, code);
    if (!codeShape.test(code))
      refuse(here, `The code ${shown(code)} is not lower-case words; write it like "tenure-short".`);
    else if (ownCodes.includes(code)) refuse(here, `The code "${code}" is given by the desk itself; choose another.`);
    else {
      const text = readText(here, declared[code]!, 'The meaning', 300);
      if (text !== null) codes.push({ code, text, worker: worker.get(code) ?? null });
    }
  }
  return codes;
}

const ruleKeys = {
  required: ['conditions', 'event'],
  optional: ['name', 'description', 'owner', 'priority', 'stage', 'onMissing', 'validFrom', 'validUntil', 'share'],
};

function readStage(place: Place, object: JsonObject): Stage | null {
  if (!('stage' in object) || object.stage === 'request') return 'request';
  if (object.stage === 'offer') return 'offer';
  return refuse(within(place, 'stage'), `The stage is ${shown(object.stage!)}; write "request" or "offer".`);
}

function readOnMissing(place: Place, object: JsonObject): 'pass' | 'ignore' {
  if (!('onMissing' in object)) return 'pass';
  const at = within(place, 'onMissing');
  if (object.onMissing !== 'ignore')
    refuse(at, `"onMissing" is ${shown(object.onMissing!)}; write "ignore" or remove it.`);
  else if (isObject(object.event) && object.event.type !== 'pass') {
    refuse(
      at,
      '"onMissing" belongs to "pass" rules only: an undecidable limit or cap applies, others do not fire. Remove it.',
    );
  }
  return 'ignore';
}

function readDay(place: Place, object: JsonObject, key: string): Day | null {
  if (!(key in object)) return null;
  const day = object[key]!;
  const at = within(place, key);
  if (typeof day !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
    return refuse(at, `"${key}" is ${shown(day)}; write a day like "2026-12-31".`);
  }
  const time = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(day)) return day;
  return refuse(at, `"${key}" is ${shown(day)}, which no calendar has; write a day like "2026-12-31".`);
}

/** Both days are included. */
function readValidity(place: Place, object: JsonObject): Validity {
  const from = readDay(place, object, 'validFrom');
  const until = readDay(place, object, 'validUntil');
  if (from !== null && until !== null && from > until) {
    refuse(within(place, 'validUntil'), `The rule ends on ${until}, before it begins on ${from}; swap the days.`);
  }
  return { from, until };
}

/** What rules of one set may refer to. */
export type Known = { codes: ReadonlySet<string>; events: EventWords; vocabulary: Vocabulary };

/** What a set calls events otherwise: an event of this program, some of its params, and other names for others. */
type EventWord = { type: string; params: JsonObject; rename: ReadonlyMap<string, string> };
type EventWords = ReadonlyMap<string, EventWord>;

function readEventWord(place: Place, value: Json): EventWord | null {
  const object = readObject(place, value, 'An event', { required: ['type'], optional: ['params', 'rename'] });
  if (object === null) return null;
  const type = eventTypes.find((known) => known === object.type);
  if (type === undefined) {
    const hint = suggestion(String(object.type), eventTypes);
    return refuse(within(place, 'type'), `There is no event ${shown(object.type!)}. ${hint}`);
  }
  const rename = new Map<string, string>();
  for (const key of ['params', 'rename'] as const) {
    if (key in object && !isObject(object[key]))
      return refuse(within(place, key), `"${key}" is ${shown(object[key]!)}; write an object here.`);
  }
  for (const [given, own] of Object.entries((object.rename ?? {}) as JsonObject)) {
    if (typeof own !== 'string')
      return refuse(within(within(place, 'rename'), given), `This is ${shown(own)}; write the name of a param.`);
    rename.set(given, own);
  }
  return { type, params: (object.params ?? Object.create(null)) as JsonObject, rename };
}

/** `events.json`: `{"events": {"reject": {"type": "pass", "params": {"code": "too-young"}, "rename": {"message": "reason"}}}}`. */
export function readEventWords(place: Place, value: Json): EventWords {
  const words = new Map<string, EventWord>();
  const object = readObject(place, value, 'events.json', { required: ['events'], optional: ['$schema'] });
  if (object === null) return words;
  const at = within(place, 'events');
  const declared = object.events!;
  if (!isObject(declared)) {
    refuse(at, `"events" is ${shown(declared)}; write an object {"name": {"type": "pass"}}.`);
    return words;
  }
  for (const [name, content] of Object.entries(declared).slice(0, maxEventWords)) {
    const here = within(at, name);
    if (eventTypes.some((known) => known === name)) refuse(here, `"${name}" is an event already; choose another name.`);
    const word = readEventWord(here, content);
    if (word !== null) words.set(name, word);
  }
  return words;
}

/** The event in this program's words; what was put together from two files is refused where the rule says it. */
function inOwnWords(place: Place, value: Json, words: EventWords): { place: Place; value: Json } | null {
  const word = isObject(value) && typeof value.type === 'string' ? words.get(value.type) : undefined;
  if (word === undefined) return { place, value };
  const object = readObject(place, value, 'The event', { required: ['type'], optional: ['params'] });
  if (object === null) return null;
  const own = object.params ?? Object.create(null);
  if (!isObject(own)) return refuse(within(place, 'params'), `The params are ${shown(own)}; write an object here.`);
  const params: JsonObject = Object.assign(Object.create(null), word.params);
  for (const [name, given] of Object.entries(own)) params[word.rename.get(name) ?? name] = given;
  const event: JsonObject = Object.assign(Object.create(null), { type: word.type, params });
  return { place: { ...place, pinned: true }, value: event };
}

/** Where it stands, as people count: `limits #3`. */
function unsaidName({ file, pointer }: Place): string {
  const index = /\/(\d+)$/.exec(pointer)?.[1];
  const stem = file.replace(/(?:\.table)?\.json$/, '');
  return index === undefined ? stem : `${stem} #${Number(index) + 1}`;
}

/** `tableName`: of the table that the rule is a row of; its rows draw the same workers. */
function readRule(place: Place, value: Json, known: Known, tableName: string | null = null): Rule | null {
  const { codes, events, vocabulary } = known;
  const object = readObject(place, value, 'A rule', ruleKeys);
  if (object === null) return null;
  const before = place.faults.length;
  const name = 'name' in object ? readText(within(place, 'name'), object.name!, 'The name', 80) : unsaidName(place);
  const description =
    'description' in object ? readText(within(place, 'description'), object.description!, 'The description', 600) : '';
  const owner = 'owner' in object ? readText(within(place, 'owner'), object.owner!, 'The owner', 80) : null;
  const priority = 'priority' in object ? readPriority(within(place, 'priority'), object.priority!) : 1;
  const stage = readStage(place, object);
  const onMissing = readOnMissing(place, object);
  const validity = readValidity(place, object);
  const scope = { stage: stage ?? ('offer' as const), vocabulary };
  const conditions = readConditions(within(place, 'conditions'), object.conditions!, scope);
  const factScope = {
    stage: stage ?? ('request' as const),
    definitionOf: (fact: string) => definitionOf(fact, vocabulary),
    names: () => factNames(vocabulary),
  };
  const said = inOwnWords(within(place, 'event'), object.event!, events);
  const event = said === null ? null : readEvent(said.place, said.value, factScope, codes);
  const ownName = tableName ?? ('name' in object ? name : null);
  const share = 'share' in object ? readShare(place, object.share!, ownName) : null;
  if (share !== null && event !== null) refuseShared(place, event);
  if (event?.type === 'review' && ownName === null)
    refuse(place, 'A rule that asks a person needs a name: the answer is kept under it. Add "name" to the rule.');
  const written = share === null ? object.conditions! : sharedText(share, object.conditions!);
  if (name === null || description === null || priority === null || stage === null) return null;
  if (conditions === null || event === null || place.faults.length > before) return null;
  const own = share === null ? conditions : sharedConditions(share, conditions);
  return {
    name,
    description,
    owner,
    priority,
    stage,
    validity,
    onMissing,
    share,
    conditions: own,
    written,
    whole: value,
    event,
    place,
  };
}

/** One rule, a list of rules, or `{"rules": [ … ]}`; the objects may carry `$schema` for completion in editors. */
export function readRuleFile(place: Place, value: Json, known: Known): readonly Rule[] {
  let list: Json = value;
  let at = place;
  if (isObject(value) && 'rules' in value) {
    const object = readObject(place, value, 'A rule file', { required: ['rules'], optional: ['$schema'] });
    if (object === null) return [];
    list = object.rules!;
    at = within(place, 'rules');
    if (!Array.isArray(list)) {
      refuse(at, `"rules" is ${shown(list)}; write a list of rules.`);
      return [];
    }
  }
  if (!Array.isArray(list)) {
    const { $schema: _, ...bare } = isObject(list) ? list : {};
    const rule = readRule(at, isObject(list) ? Object.assign(Object.create(null), bare) : list, known);
    return rule === null ? [] : [rule];
  }
  const rules: Rule[] = [];
  for (const [index, member] of list.entries()) {
    const rule = readRule(within(at, index), member, known);
    if (rule !== null) rules.push(rule);
  }
  return rules;
}

/** `NAME.table.json`: one rule for each row, in order. */
export function readTableFile(place: Place, value: Json, known: Known): readonly Rule[] {
  return readTable(place, value, known.vocabulary).flatMap(
    ({ place: at, rule, tableName }) => readRule(at, rule, known, tableName) ?? [],
  );
}
