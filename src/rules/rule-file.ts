/** The files of a rule set: `codes.json`, and rules one or several to a file. Shapes only; meaning is checked further in. */
import type { Day } from '../domain/glossary.ts';
import { readConditions } from './conditions.ts';
import { readEvent } from './events.ts';
import type { Stage } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type Place, readNumber, readObject, readText, refuse, shown, within } from './place.ts';
import type { Rule, Validity } from './rule.ts';
import { readTable } from './tables.ts';
import type { Vocabulary } from './vocabulary.ts';

export type PassCode = { code: string; text: string };

const maxCodes = 100;
export const codeShape = /^[a-z][a-z0-9-]{1,39}$/;
/** Codes that this room gives itself. */
export const ownCodes = ['limits-conflict', 'fact-missing'];

/** `{"codes": {"<code>": "<what it means>"}}`. Few, because each becomes a label of a metric. */
export function readCodes(place: Place, value: Json): readonly PassCode[] {
  const object = readObject(place, value, 'codes.json', { required: ['codes'], optional: ['$schema'] });
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
  const codes: PassCode[] = [];
  for (const code of names.slice(0, maxCodes)) {
    const here = within(at, code);
    if (!codeShape.test(code))
      refuse(here, `The code ${shown(code)} is not lower-case words; write it like "tenure-short".`);
    else if (ownCodes.includes(code)) refuse(here, `The code "${code}" is given by the desk itself; choose another.`);
    else {
      const text = readText(here, declared[code]!, 'The meaning', 300);
      if (text !== null) codes.push({ code, text });
    }
  }
  return codes;
}

const ruleKeys = {
  required: ['name', 'description', 'conditions', 'event'],
  optional: ['owner', 'priority', 'stage', 'onMissing', 'validFrom', 'validUntil'],
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
export type Known = { codes: ReadonlySet<string>; vocabulary: Vocabulary };

function readRule(place: Place, value: Json, { codes, vocabulary }: Known): Rule | null {
  const object = readObject(place, value, 'A rule', ruleKeys);
  if (object === null) return null;
  const before = place.faults.length;
  const name = readText(within(place, 'name'), object.name!, 'The name', 80);
  const description = readText(within(place, 'description'), object.description!, 'The description', 600);
  const owner = 'owner' in object ? readText(within(place, 'owner'), object.owner!, 'The owner', 80) : null;
  const measure = { unit: 'higher wins', min: 1, max: 1_000_000, decimals: 0 };
  const priority =
    'priority' in object ? readNumber(within(place, 'priority'), object.priority!, 'priority', measure) : 1;
  const stage = readStage(place, object);
  const onMissing = readOnMissing(place, object);
  const validity = readValidity(place, object);
  const scope = { stage: stage ?? ('offer' as const), vocabulary };
  const conditions = readConditions(within(place, 'conditions'), object.conditions!, scope);
  const event = readEvent(within(place, 'event'), object.event!, stage ?? 'request', codes);
  if (name === null || description === null || priority === null || stage === null) return null;
  if (conditions === null || event === null || place.faults.length > before) return null;
  return { name, description, owner, priority, stage, validity, onMissing, conditions, event, place };
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
  return readTable(place, value, known.vocabulary).flatMap((row) => readRule(row.place, row.rule, known) ?? []);
}
