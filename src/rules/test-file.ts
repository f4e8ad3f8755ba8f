/**
 * Tests beside rules: files `NAME.test.json` of a rule set, facts in and what the rules make of them out. They are part of
 * the set and of its hash. `base` holds the facts of an ordinary request; each test changes some, `null` takes one away.
 */

import { dayOf } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { queueShape } from '../domain/offer.ts';
import type { Economics, Limits } from '../domain/policy.ts';
import type { ReviewWanted } from './evaluate.ts';
import { economicsParameters, limitParameters, type Parameter, reviewAnswers, reviewMinutes } from './events.ts';
import { catalogue, extraPrefix, type FactDefinition, type Facts, type FactValue, type Stage } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import {
  decimalsOf,
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
import type { Rule } from './rule.ts';
import { ownCodes } from './rule-file.ts';
import type { BinTest } from './scorecards.ts';
import type { CellTest } from './table-tests.ts';
import { valuesPrefix } from './value-tables.ts';
import { definitionOf, type Vocabulary } from './vocabulary.ts';

type Expectation = {
  /** Code of the first pass, null: no pass; undefined: not said. */
  pass?: string | null;
  /** In the units of the domain; null: not limited. Fields that are not named are not looked at. */
  limits?: Partial<Limits>;
  economics?: Partial<Record<keyof Economics, number | null>>;
  /** Rules that have an effect, and rules that have none. */
  fired?: readonly string[];
  /** How a person is asked before a bid; what is left out is not looked at. Null: nobody is. */
  review?: Partial<Omit<ReviewWanted, 'rule'>> | null;
  silent?: readonly string[];
  /** Of facts that the set makes of others; null: unknown. */
  facts?: Readonly<Record<string, FactValue | null>>;
};

export type RuleTest = {
  name: string;
  file: string;
  pointer: string;
  /** `offer`: the rules after pricing are run too. */
  stage: Stage;
  at: EpochMs;
  facts: Facts;
  offerFacts: Facts;
  expect: Expectation;
  /** Facts that the test itself takes away; left out: none. */
  removed?: readonly string[];
  /** Not written by a person: shows the rule at its own place alone. */
  isGenerated?: boolean;
};

type Bases = ReadonlyMap<string, Draft>;
type Named = { vocabulary: Vocabulary; rules: readonly Rule[]; codes: ReadonlySet<string>; bases: Bases };

const maxTests = 2_000;
/** 20 November 2026, 09:00 in São Paulo: when a test does not say. */
const defaultAt = Date.parse('2026-11-20T12:00:00Z');

function typeRemedy(definition: FactDefinition): string {
  if (definition.type === 'string-list') return 'a list of texts';
  return definition.type === 'boolean' ? 'true or false' : definition.type === 'number' ? 'a number' : 'a text';
}

function readFactValue(
  place: Place,
  name: string,
  value: Json,
  definition: FactDefinition | null,
  stored: boolean,
): FactValue | null {
  if (definition === null) {
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
    return refuse(place, `"${name}" is ${shown(value)}; write a number, a text, true, false, or null to take it away.`);
  }
  const list = Array.isArray(value) && value.every((member) => typeof member === 'string') ? (value as string[]) : null;
  const type = list === null ? typeof value : 'string-list';
  if (type !== definition.type) {
    return refuse(place, `"${name}" is ${shown(value)}; write ${typeRemedy(definition)}, or null to take it away.`);
  }
  if (list !== null) return list;
  if (typeof value === 'number') {
    const { unit, whole } = definition;
    const measure = { unit: unit ?? 'number', decimals: whole ? 0 : decimalsOf(unit, stored) };
    return definition.range === null ? value : readNumber(place, value, name, { ...measure, ...definition.range });
  }
  if (
    typeof value === 'string' &&
    definition.digits !== undefined &&
    !(value.length === definition.digits && /^\d+$/.test(value))
  ) {
    return refuse(place, `"${name}" is ${shown(value)}; write its ${definition.digits} digits in quotes.`);
  }
  if (typeof value === 'string' && definition.isDay && !/^\d{4}-\d{2}-\d{2}$/.test(value)) {
    return refuse(place, `"${name}" is ${shown(value)}; write a day like "2026-12-31".`);
  }
  if (typeof value === 'string' && definition.values !== null && !definition.values.includes(value)) {
    return refuse(place, `"${name}" is never ${shown(value)}. ${suggestion(value, definition.values)}`);
  }
  return value as FactValue;
}

type Draft = Map<string, FactValue | null>;

/** Facts by name; null: taken away. Shared with `lance rules explain`. */
export function readFacts(
  place: Place,
  value: Json,
  { derived, stored = false }: Pick<Vocabulary, 'derived'> & { stored?: boolean },
): Draft {
  const facts: Draft = new Map();
  if (!isObject(value)) {
    refuse(place, `The facts are ${shown(value)}; write an object {"worker.ageYears": 30}.`);
    return facts;
  }
  for (const [name, given] of Object.entries(value)) {
    const at = within(place, name);
    const isExtra = name.startsWith(extraPrefix) && name.length > extraPrefix.length;
    const definition = isExtra ? null : definitionOf(name, { derived });
    if (!isExtra && definition === null) {
      refuse(
        at,
        `There is no fact ${shown(name)}. ${suggestion(
          name,
          catalogue.map((fact) => fact.name),
        )}`,
      );
    } else if (derived.has(name) && derived.get(name)!.isSettable !== true) {
      const made = derived.get(name)!.uses.slice(0, 10).join(', ');
      refuse(at, `"${name}" is made by the desk, of ${made}; write those facts instead.`);
    } else if (given === null) facts.set(name, null);
    else {
      const read = readFactValue(at, name, given, definition, stored);
      if (read !== null) facts.set(name, read);
    }
  }
  return facts;
}

/** The two maps that rules are evaluated with. What every request has is there unless it is taken away. */
export function factMaps(...drafts: readonly Draft[]): { facts: Facts; offerFacts: Facts } {
  const merged = new Map<string, FactValue | null>([['desk.always', true]]);
  for (const draft of drafts) for (const [name, value] of draft) merged.set(name, value);
  const facts: Record<string, FactValue | undefined> = {};
  const offerFacts: Record<string, FactValue> = {};
  for (const [name, value] of merged) {
    if (value !== null) (name.startsWith('offer.') ? offerFacts : facts)[name] = value;
    // Its table is not asked.
    else if (name.startsWith(valuesPrefix)) facts[name] = undefined;
  }
  return { facts, offerFacts };
}

function readCode(place: Place, value: Json, codes: ReadonlySet<string>): string | null | undefined {
  if (value === null) return null;
  const code = readText(place, value, 'The code', 120);
  if (code === null) return undefined;
  if (codes.has(code) || ownCodes.includes(code) || code.startsWith('fact-missing:')) return code;
  refuse(place, `The code ${shown(code)} is not declared in codes.json. ${suggestion(code, [...codes])}`);
  return undefined;
}

function readFields<Field extends string>(
  place: Place,
  value: Json,
  what: string,
  known: Readonly<Record<string, Parameter<Field>>>,
): Partial<Record<Field, number | null>> {
  const read: Partial<Record<Field, number | null>> = {};
  const object = readObject(place, value, what, { required: [], optional: Object.keys(known) });
  for (const [key, given] of Object.entries(object ?? {})) {
    const { field, scale, measure } = known[key]!;
    const number = given === null ? null : readNumber(within(place, key), given, key, measure);
    read[field] = number === null ? null : scale === 1 ? number : Math.round(number * scale);
  }
  return read;
}

/** Whether the tests of a file name a rule that there is not. */
export function namesUnknownRule(faults: readonly RuleFault[]): boolean {
  return faults.some(({ text }) => text.startsWith('There is no rule '));
}

function readRuleNames(place: Place, value: Json, names: ReadonlySet<string>): readonly string[] {
  if (!Array.isArray(value)) {
    refuse(place, `This is ${shown(value)}; write a list of names of rules.`);
    return [];
  }
  return value.flatMap((name, index) => {
    if (typeof name === 'string' && names.has(name)) return [name];
    refuse(within(place, index), `There is no rule ${shown(name)}. ${suggestion(String(name), [...names])}`);
    return [];
  });
}

const expectations = ['pass', 'limits', 'economics', 'fired', 'silent', 'facts', 'review'];

function readExpectation(place: Place, value: Json, named: Named, names: ReadonlySet<string>): Expectation | null {
  const object = readObject(place, value, 'What is expected', { required: [], optional: expectations });
  if (object === null) return null;
  if (Object.keys(object).length === 0) {
    return refuse(place, `Nothing is expected, so nothing is tested; write one of ${expectations.join(', ')}.`);
  }
  const expect: Expectation = {};
  if ('pass' in object) {
    const code = readCode(within(place, 'pass'), object.pass!, named.codes);
    if (code !== undefined) expect.pass = code;
  }
  if ('limits' in object)
    expect.limits = readFields(within(place, 'limits'), object.limits!, 'The limits', limitParameters);
  if ('economics' in object) {
    expect.economics = readFields(within(place, 'economics'), object.economics!, 'The economics', economicsParameters);
  }
  if ('fired' in object) expect.fired = readRuleNames(within(place, 'fired'), object.fired!, names);
  if ('silent' in object) expect.silent = readRuleNames(within(place, 'silent'), object.silent!, names);
  if ('review' in object) {
    const review = readReviewExpected(within(place, 'review'), object.review!);
    if (review !== undefined) expect.review = review;
  }
  if ('facts' in object) expect.facts = readMadeFacts(within(place, 'facts'), object.facts!, named.vocabulary);
  return expect;
}

/** A text is the queue alone. Undefined: it was refused. */
function readReviewExpected(place: Place, value: Json): Expectation['review'] {
  if (value === null) return null;
  const given: Json = typeof value === 'string' ? Object.assign(Object.create(null), { queue: value }) : value;
  const before = place.faults.length;
  const object = readObject(place, given, 'A review', { required: [], optional: ['queue', 'minutes', 'otherwise'] });
  if (object === null) return undefined;
  const { queue, minutes, otherwise } = object;
  const review: Expectation['review'] = {};
  if (queue !== undefined) {
    if (typeof queue === 'string' && queueShape.test(queue)) review.queue = queue;
    else refuse(within(place, 'queue'), `The queue is ${shown(queue)}; write the name that a rule gives it.`);
  }
  if (minutes !== undefined) {
    review.minutes = readNumber(within(place, 'minutes'), minutes, 'minutes', reviewMinutes) ?? 0;
  }
  if (otherwise !== undefined) {
    const answer = reviewAnswers.find((each) => each === otherwise);
    if (answer !== undefined) review.otherwise = answer;
    else refuse(within(place, 'otherwise'), `"otherwise" is ${shown(otherwise)}; write "pass" or "bid".`);
  }
  return place.faults.length > before ? undefined : review;
}

function readMadeFacts(place: Place, value: Json, { derived, stored }: Vocabulary): Record<string, FactValue | null> {
  const read: Record<string, FactValue | null> = {};
  if (!isObject(value)) refuse(place, `This is ${shown(value)}; write an object {"computed.debtRatio": 0.3}.`);
  for (const [name, given] of Object.entries(isObject(value) ? value : {})) {
    const at = within(place, name);
    const source = derived.get(name);
    if (source === undefined) {
      const hint = suggestion(name, [...derived.keys()]);
      refuse(at, `${shown(name)} is no fact that this set makes; what a request says is not expected. ${hint}`);
    } else if (given === null) read[name] = null;
    else {
      const made = readFactValue(at, name, given, source.definition, stored);
      if (made !== null) read[name] = made;
    }
  }
  return read;
}

/** A test that a scorecard makes for each of its bins. */
export function testOfBin({ name, place, facts, score }: BinTest, fact: string): RuleTest {
  const known = { 'desk.always': true, ...facts };
  const at = { name, file: place.file, pointer: place.pointer, stage: 'request' as const, at: defaultAt };
  return { ...at, facts: known, offerFacts: {}, expect: { facts: { [fact]: score } }, isGenerated: true };
}

/** A day of the rule's validity, at noon; the usual one where that is in it. */
function timeWithin({ validity: { from, until } }: Rule): EpochMs {
  const usual = dayOf(defaultAt);
  if ((from === null || from <= usual) && (until === null || usual <= until)) return defaultAt;
  return Date.parse(`${from ?? until}T15:00:00Z`);
}

/** A test that a decision table makes of its cells. */
export function testOfCell({ name, rule, facts, fired, silent }: CellTest): RuleTest {
  const { file, pointer } = rule.place;
  const isOffer = ([fact]: [string, unknown]) => fact.startsWith('offer.');
  const entries = Object.entries(facts);
  const [offerFacts, own] = [entries.filter(isOffer), entries.filter((entry) => !isOffer(entry))];
  return {
    ...{ name, file, pointer, stage: rule.stage, at: timeWithin(rule) },
    facts: { 'desk.always': true, ...Object.fromEntries(own) },
    offerFacts: Object.fromEntries(offerFacts),
    expect: { fired, silent },
    isGenerated: true,
  };
}

/** The time that the facts were seen at. Shared with `lance rules explain`, where it is now unless said. */
export function readAt(place: Place, object: JsonObject, unsaid: EpochMs): EpochMs {
  if (!('at' in object)) return unsaid;
  const value = object.at!;
  const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/;
  const at = typeof value === 'string' && shape.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  refuse(within(place, 'at'), `"at" is ${shown(value)}; write a time like "2026-11-20T09:00:00-03:00".`);
  return unsaid;
}

const testKeys = { required: ['name', 'expect'], optional: ['base', 'facts', 'at', 'stage'] };

function readTest(place: Place, value: Json, base: Draft, named: Named, names: ReadonlySet<string>): RuleTest | null {
  const object = readObject(place, value, 'A test', testKeys);
  if (object === null) return null;
  const before = place.faults.length;
  const name = readText(within(place, 'name'), object.name!, 'The name', 160);
  const change = 'facts' in object ? readFacts(within(place, 'facts'), object.facts!, named.vocabulary) : new Map();
  const expect = readExpectation(within(place, 'expect'), object.expect!, named, names);
  const at = readAt(place, object, defaultAt);
  const own = 'base' in object ? baseNamed(within(place, 'base'), object.base!, named.bases) : base;
  const maps = factMaps(own, change);
  if ('stage' in object && object.stage !== 'request' && object.stage !== 'offer') {
    refuse(within(place, 'stage'), `The stage is ${shown(object.stage!)}; write "request" or "offer".`);
  }
  const priced = object.stage === 'offer' || (!('stage' in object) && Object.keys(maps.offerFacts).length > 0);
  if (name === null || expect === null || place.faults.length > before) return null;
  const stage = priced ? 'offer' : 'request';
  const removed = [...change].flatMap(([fact, value]) => (value === null ? [fact] : []));
  const told = removed.length === 0 ? {} : { removed };
  return { name, file: place.file, pointer: place.pointer, stage, at, ...maps, expect, ...told };
}

function baseNamed(place: Place, value: Json, bases: Bases): Draft {
  const base = typeof value === 'string' ? bases.get(value) : undefined;
  if (base !== undefined) return base;
  const hint = suggestion(String(value), [...bases.keys()]) || 'Declare it there.';
  refuse(place, `The base ${shown(value)} is not declared in bases.json. ${hint}`);
  return new Map();
}

/** Facts, or the name of a base. */
function readBase(place: Place, value: Json, { bases, vocabulary }: Named): Draft {
  return typeof value === 'string' ? baseNamed(place, value, bases) : readFacts(place, value, vocabulary);
}

const maxBases = 200;

/** `bases.json`: `{"bases": {"ordinary": { facts }, "linked": {"like": "ordinary", facts}}}`; one is like others that stand above it. */
export function readBases(place: Place, value: Json, vocabulary: Vocabulary): Bases {
  const bases = new Map<string, Draft>();
  const object = readObject(place, value, 'bases.json', { required: ['bases'], optional: ['$schema'] });
  if (object === null) return bases;
  const at = within(place, 'bases');
  const declared = object.bases!;
  if (!isObject(declared) || Object.keys(declared).length > maxBases) {
    refuse(at, `"bases" is ${shown(declared)}; write an object {"ordinary": { facts }} of at most ${maxBases}.`);
    return bases;
  }
  for (const [name, content] of Object.entries(declared)) {
    const here = within(at, name);
    const { like, ...facts } = isObject(content) ? content : {};
    const before = like === undefined ? new Map() : baseNamed(within(here, 'like'), like, bases);
    const own = readFacts(here, isObject(content) ? facts : content, vocabulary);
    bases.set(name, new Map([...before, ...own]));
  }
  return bases;
}

export function readTests(place: Place, value: Json, named: Named): readonly RuleTest[] {
  const object = readObject(place, value, 'A test file', { required: ['tests'], optional: ['$schema', 'base'] });
  if (object === null) return [];
  const base = 'base' in object ? readBase(within(place, 'base'), object.base!, named) : new Map();
  const at = within(place, 'tests');
  const list = object.tests!;
  if (!Array.isArray(list) || list.length > maxTests) {
    refuse(at, `"tests" is ${shown(list)}; write a list of at most ${maxTests} tests.`);
    return [];
  }
  const names = new Set(named.rules.map((rule) => rule.name));
  return list.flatMap((test, index) => readTest(within(at, index), test, base, named, names) ?? []);
}
