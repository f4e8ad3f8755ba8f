/** The closed set of events, read strictly. Files speak reais and percent; from here on it is cents and hundredths. */
import { longestWindowHours } from '../domain/cap-book.ts';
import { plainWord } from '../domain/nearest-word.ts';
import { queueShape } from '../domain/offer.ts';
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import { refusedOperation } from './computed.ts';
import { catalogue, extraPrefix, type FactDefinition, factNamed, type Stage } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import {
  isObject,
  type Measure,
  type Place,
  readNumber,
  readObject,
  readText,
  refuse,
  shown,
  suggestion,
  within,
} from './place.ts';
import type { CapRule, Dimension, ExperimentRule, LimitByFact, RuleEvent } from './rule.ts';
import { isSameUnit, unitOf } from './units.ts';
import { valuesPrefix } from './value-tables.ts';

/** A number in a file and the field it becomes: `field = value · scale`. */
export type Parameter<Field> = { field: Field; scale: number; measure: Measure };

function parameter<Field>(
  field: Field,
  scale: number,
  unit: string,
  min: number,
  max: number,
  decimals: number | null,
) {
  const read: Parameter<Field> = { field, scale, measure: { unit, min, max, decimals } };
  return read;
}

const rate = (field: keyof Limits) => parameter(field, 100, '% a month', 0.02, 4.97, 2);
const amount = (field: keyof Limits) => parameter(field, 100, 'R$', 1, 10_000_000, 2);
const installments = (field: keyof Limits) => parameter(field, 1, 'months', 1, 480, 0);
const installment = (field: keyof Limits) => parameter(field, 100, 'R$ a month', 0.01, 1_000_000, 2);

export const limitParameters: Readonly<Record<string, Parameter<keyof Limits>>> = {
  minRatePercent: rate('minRateHundredths'),
  maxRatePercent: rate('maxRateHundredths'),
  minAmountReais: amount('minAmountCents'),
  maxAmountReais: amount('maxAmountCents'),
  minInstallments: installments('minInstallments'),
  maxInstallments: installments('maxInstallments'),
  minInstallmentReais: installment('minInstallmentCents'),
  maxInstallmentReais: installment('maxInstallmentCents'),
  maxCetAnnualPercent: parameter('maxCetAnnualHundredths', 100, '% a year', 0.01, 1000, 2),
  maxMarginShare: parameter('maxMarginShare', 1, 'share of the margin, 0.9 is 90 %', 0.01, 1, null),
  minSpreadPercent: parameter('minSpreadHundredths', 100, '% a month above break-even', 0, 4.97, 2),
  minProfitReais: parameter('minProfitCents', 100, 'R$', 0, 1_000_000, 2),
  maxTermChange: parameter('maxTermChange', 1, 'installments more or fewer than asked', 0, 96, 0),
};

const share = (field: keyof Economics) => parameter(field, 1, 'share, 0.6 is 60 %', 0, 1, null);
const cost = (field: keyof Economics) => parameter(field, 100, 'R$', 0, 10_000, 2);
const weight = (field: keyof Economics) => parameter(field, 1, 'weight', 0, 10, null);

export const economicsParameters: Readonly<Record<string, Parameter<keyof Economics>>> = {
  fundingAnnualPercent: parameter('fundingAnnualPercent', 1, '% a year', 0, 80, null),
  separationMonthlyShare: parameter('separationMonthly', 1, 'share of links a month, 0.02 is 2 %', 0, 0.5, null),
  neverStartedShare: share('neverStartedShare'),
  lossGivenSeparationShare: share('lossGivenSeparation'),
  guaranteeRecoveryShare: share('guaranteeRecovery'),
  commissionPercent: parameter('commissionPercent', 1, '% of the amount', 0, 50, null),
  contractCostReais: cost('contractCostCents'),
  bidCostReais: cost('bidCostCents'),
  acceptanceCeilingShare: share('acceptanceCeiling'),
  acceptanceMidpointPercent: parameter('acceptanceMidpointPercent', 1, '% a month', 0.01, 50, null),
  acceptanceSlope: weight('acceptanceSlope'),
  acceptanceAmountElasticity: weight('acceptanceAmountElasticity'),
  acceptanceTermElasticity: weight('acceptanceTermElasticity'),
  selectionWinWeight: weight('selectionWin'),
  selectionRateWeight: weight('selectionRate'),
  earlySettlementMonthlyShare: parameter(
    'earlySettlementMonthly',
    1,
    'share of running loans a month, 0.02 is 2 %',
    0,
    0.5,
    null,
  ),
  spreadTaxPercent: parameter('spreadTaxPercent', 1, '% of interest less funding', 0, 50, null),
  capitalChargeAnnualPercent: parameter(
    'capitalChargeAnnualPercent',
    1,
    '% a year of what is outstanding',
    0,
    30,
    null,
  ),
  recoveryDelayMonths: parameter('recoveryDelayMonths', 1, 'months', 0, 60, null),
};

/** At least one of the parameters, each in its range, in the units of the domain. */
function readParameters<Field extends string>(
  place: Place,
  value: Json,
  what: string,
  known: Readonly<Record<string, Parameter<Field>>>,
): Partial<Record<Field, number>> | null {
  const object = readObject(place, value, what, { required: [], optional: Object.keys(known) });
  if (object === null) return null;
  const read: Partial<Record<Field, number>> = {};
  const keys = Object.keys(object);
  if (keys.length === 0) return refuse(place, `${what} changes nothing. ${suggestion('', Object.keys(known))}`);
  let good = true;
  for (const key of keys) {
    const { field, scale, measure } = known[key]!;
    const number = readNumber(within(place, key), object[key]!, key, measure);
    if (number === null) good = false;
    else read[field] = scale === 1 ? number : Math.round(number * scale);
  }
  return good ? read : null;
}

const opposites = [
  ['minRatePercent', 'maxRatePercent'],
  ['minAmountReais', 'maxAmountReais'],
  ['minInstallments', 'maxInstallments'],
  ['minInstallmentReais', 'maxInstallmentReais'],
] as const;

/** Limits that only a number can say. */
const plainLimits = ['maxTermChange'];

/** How a fact comes to be of the unit. A column of a value table has the unit that its file gives it. */
function conversion(name: string, { type, unit }: FactDefinition, wanted: string): string {
  if (type !== 'number') return '';
  if (name.startsWith(valuesPrefix)) {
    const file = `${name.slice(valuesPrefix.length).split('.')[0]}.values.json`;
    return ` If the column is in ${wanted}, write "unit": "${wanted}" for it in ${file}.`;
  }
  if (unit === 'R$ a month' && wanted === 'R$')
    return ' In facts.json R$ a month times months is R$; a column of a value table is in the unit that its file gives it.';
  return ' Make one in facts.json, by "mul" or "div".';
}

/** `{"fact": …}` where a number could stand: the fact has to have its unit. */
function readFactValue(place: Place, value: JsonObject, what: string, unit: string, scope: FactScope): string | null {
  if (refusedOperation(place, value)) return null;
  const object = readObject(place, value, 'A fact as value', { required: ['fact'], optional: [] });
  if (object === null) return null;
  const at = within(place, 'fact');
  const name = object.fact!;
  const definition = typeof name === 'string' ? scope.definitionOf(name) : null;
  if (typeof name !== 'string' || definition === null) {
    if (String(name).startsWith(extraPrefix))
      return refuse(at, `${shown(name)} has no known unit; give it one in facts.json.`);
    return refuse(at, `There is no fact ${shown(name)} of a known unit. ${suggestion(String(name), scope.names())}`);
  }
  if (definition.stage === 'offer' && scope.stage === 'request')
    return refuse(at, `"${name}" exists only after pricing; a limit needs a fact of the request.`);
  const [own, wanted] = [definition.type === 'number' ? unitOf(definition.unit) : null, unitOf(unit)!];
  if (own !== null && isSameUnit(own, wanted)) return name;
  return refuse(
    at,
    `"${name}" is in ${definition.unit ?? definition.type}, ${what} in ${unit}; name a fact of that unit.${conversion(name, definition, unit)}`,
  );
}

/** What events need to know of facts. */
export type FactScope = {
  stage: Stage;
  definitionOf: (name: string) => FactDefinition | null;
  /** Of all facts that `definitionOf` knows, but for scores. */
  names: () => readonly string[];
};

function readLimit(place: Place, given: Json, scope: FactScope): RuleEvent | null {
  const params: JsonObject = Object.create(null);
  const byFact: LimitByFact[] = [];
  const before = place.faults.length;
  for (const [key, value] of Object.entries(isObject(given) ? given : {})) {
    const parameter = limitParameters[key];
    if (parameter === undefined || plainLimits.includes(key) || !isObject(value)) {
      params[key] = value;
      continue;
    }
    const { field, scale, measure } = parameter;
    const fact = readFactValue(within(place, key), value, key, measure.unit, scope);
    if (fact !== null) byFact.push({ param: key, field, fact, scale, least: measure.min, most: measure.max });
  }
  if (place.faults.length > before) return null;
  if (byFact.length > 0 && Object.keys(params).length === 0) return { type: 'limit', limits: {}, byFact };
  const limits = readParameters(place, isObject(given) ? params : given, 'A limit', limitParameters);
  if (limits === null) return null;
  for (const [min, max] of opposites) {
    const least = params[min];
    const most = params[max];
    if (typeof least === 'number' && typeof most === 'number' && least > most) {
      return refuse(within(place, min), `${min} ${least} is above ${max} ${most}; swap them.`);
    }
  }
  return { type: 'limit', limits, byFact };
}

function readPass(place: Place, params: Json, codes: ReadonlySet<string>): RuleEvent | null {
  const object = readObject(place, params, 'A pass', { required: ['code', 'reason'], optional: [] });
  if (object === null) return null;
  const code = readText(within(place, 'code'), object.code!, 'The code', 60);
  const reason = readText(within(place, 'reason'), object.reason!, 'The reason', 300);
  if (code === null || reason === null) return null;
  if (codes.has(code)) return { type: 'pass', code, reason };
  const hint = suggestion(code, [...codes]) || 'Declare it there.';
  return refuse(within(place, 'code'), `The code ${shown(code)} is not declared in codes.json. ${hint}`);
}

function readCuts(place: Place, value: Json): readonly number[] | null {
  const wanted = 'write 1 to 10 ascending numbers, like [12, 36]';
  if (!Array.isArray(value) || value.length === 0 || value.length > 10) {
    return refuse(place, `The cuts are ${shown(value)}; ${wanted}.`);
  }
  const cuts: number[] = [];
  for (const [index, cut] of value.entries()) {
    if (typeof cut !== 'number' || (index > 0 && cut <= cuts[index - 1]!)) {
      return refuse(within(place, index), `This cut is ${shown(cut)}; ${wanted}.`);
    }
    cuts.push(cut);
  }
  return cuts;
}

/** Only facts with few values, or numbers with cuts: statistics are kept per segment, and each needs enough auctions. */
function readDimension(place: Place, value: Json): Dimension | null {
  const object = isObject(value)
    ? readObject(place, value, 'A dimension', { required: ['fact', 'cuts'], optional: [] })
    : null;
  if (isObject(value) && object === null) return null;
  const name = object === null ? value : object.fact!;
  const at = object === null ? place : within(place, 'fact');
  if (typeof name !== 'string') return refuse(at, `A dimension is ${shown(name)}; write the name of a fact.`);
  const definition = factNamed(name);
  if (definition === null && !name.startsWith(extraPrefix)) {
    return refuse(at, `There is no fact ${shown(name)}. ${suggestion(name, requestFacts)}`);
  }
  if (definition?.stage === 'offer')
    return refuse(at, `"${name}" exists only after pricing; choose a fact of the request.`);
  const isNumber = definition === null || definition.type === 'number';
  if (object !== null) {
    if (!isNumber) return refuse(within(place, 'cuts'), `"${name}" is not a number; write only its name.`);
    const cuts = readCuts(within(place, 'cuts'), object.cuts!);
    return cuts === null ? null : { fact: name, cuts };
  }
  if (isNumber) return refuse(at, `"${name}" has too many values; write {"fact": "${name}", "cuts": [ … ]}.`);
  if (definition.type === 'boolean' || definition.values !== null) return { fact: name, cuts: null };
  return refuse(at, `"${name}" has too many values for a dimension; choose a fact with few.`);
}

const requestFacts = catalogue.filter((fact) => fact.stage === 'request').map((fact) => fact.name);

function readSegment(place: Place, params: Json): RuleEvent | null {
  const object = readObject(place, params, 'A segment', { required: ['dimensions'], optional: [] });
  if (object === null) return null;
  const at = within(place, 'dimensions');
  const list = object.dimensions!;
  if (!Array.isArray(list) || list.length === 0 || list.length > 4) {
    return refuse(at, `The dimensions are ${shown(list)}; write a list of 1 to 4, the most telling first.`);
  }
  const dimensions: Dimension[] = [];
  for (const [index, value] of list.entries()) {
    const dimension = readDimension(within(at, index), value);
    if (dimension === null) continue;
    if (dimensions.some((other) => other.fact === dimension.fact)) {
      refuse(within(at, index), `"${dimension.fact}" is named twice; remove one.`);
    } else dimensions.push(dimension);
  }
  return dimensions.length === list.length ? { type: 'segment', dimensions } : null;
}

export const strategyKeys = ['optimise', 'fixedRatePercent', 'undercutPercent'];

function readStrategy(place: Place, params: Json): RuleEvent | null {
  const object = readObject(place, params, 'A strategy', { required: [], optional: strategyKeys });
  if (object === null) return null;
  const keys = Object.keys(object);
  if (keys.length !== 1)
    return refuse(place, `A strategy has ${keys.length} keys; write exactly one of ${strategyKeys.join(', ')}.`);
  const key = keys[0]!;
  const value = object[key]!;
  if (key === 'optimise') {
    if (value !== true) return refuse(within(place, key), `"optimise" is ${shown(value)}; write true.`);
    return { type: 'strategy', strategy: { kind: 'optimise' } };
  }
  const lowest = key === 'fixedRatePercent' ? 0.02 : 0;
  const measure = { unit: '% a month', min: lowest, max: 4.97, decimals: 2 };
  const percent = readNumber(within(place, key), value, key, measure);
  if (percent === null) return null;
  const hundredths = Math.round(percent * 100);
  const strategy: Strategy =
    key === 'fixedRatePercent'
      ? { kind: 'fixed-rate', rateHundredths: hundredths }
      : { kind: 'undercut', byHundredths: hundredths };
  return { type: 'strategy', strategy };
}

/** What was meant by a name that has accents, capitals or blanks. */
function plainly(value: Json, maxLength: number): string {
  const plain = typeof value === 'string' ? plainWord(value, maxLength) : '';
  return plain === '' ? '' : ` Did you mean "${plain}"?`;
}

export const capName = /^[a-z][a-z0-9-]{0,59}$/;

function readWindow(place: Place, value: Json): { hours: number | null } | null {
  if (value === 'day') return { hours: null };
  if (!isObject(value)) return refuse(place, `The window is ${shown(value)}; write "day" or {"hours": 24}.`);
  const object = readObject(place, value, 'A window', { required: ['hours'], optional: [] });
  if (object === null) return null;
  const measure = { unit: 'hours', min: 1, max: longestWindowHours, decimals: 0 };
  const hours = readNumber(within(place, 'hours'), object.hours!, 'hours', measure);
  return hours === null ? null : { hours };
}

function readKeyFacts(place: Place, value: Json, stage: Stage): readonly string[] | null {
  if (!Array.isArray(value) || value.length > 4) {
    return refuse(place, `keyFacts is ${shown(value)}; write a list of up to 4 facts, [] for the whole desk.`);
  }
  const names: string[] = [];
  for (const [index, name] of value.entries()) {
    const at = within(place, index);
    const definition = typeof name === 'string' ? factNamed(name) : null;
    if (typeof name !== 'string') refuse(at, `This is ${shown(name)}; write the name of a fact.`);
    else if (definition === null && !name.startsWith(extraPrefix)) {
      refuse(at, `There is no fact ${shown(name)}. ${suggestion(name, requestFacts)}`);
    } else if (definition?.type === 'string-list')
      refuse(at, `"${name}" is a list; a key needs a fact with one value.`);
    else if (definition?.stage === 'offer' && stage === 'request') {
      refuse(at, `"${name}" exists only after pricing; give the rule "stage": "offer".`);
    } else names.push(name);
  }
  return names.length === value.length ? names : null;
}

function readOptional(place: Place, object: JsonObject, key: string, measure: Measure): number | null {
  return key in object ? readNumber(within(place, key), object[key]!, key, measure) : null;
}

/** A number, or the fact that tells it. */
function readBound(place: Place, object: JsonObject, key: string, measure: Measure, scope: FactScope) {
  const value = object[key];
  if (!isObject(value)) return { number: readOptional(place, object, key, measure), fact: null };
  return { number: null, fact: readFactValue(within(place, key), value, key, measure.unit, scope) };
}

function readCap(place: Place, params: Json, scope: FactScope): RuleEvent | null {
  const { stage } = scope;
  const keys = { required: ['name', 'keyFacts', 'window'], optional: ['maxAmountReais', 'maxCount', 'paced'] };
  const object = readObject(place, params, 'A cap', keys);
  if (object === null) return null;
  const name = object.name!;
  if (typeof name !== 'string' || !capName.test(name)) {
    return refuse(
      within(place, 'name'),
      `The cap's name is ${shown(name)}; write a to z without accents, digits and hyphens, a letter first, at most 60 characters, like "employer-day".${plainly(name, 60)}`,
    );
  }
  if (!('maxAmountReais' in object) && !('maxCount' in object)) {
    return refuse(place, 'A cap without maxAmountReais and maxCount limits nothing; add one.');
  }
  const before = place.faults.length;
  const window = readWindow(within(place, 'window'), object.window!);
  const keyFacts = readKeyFacts(within(place, 'keyFacts'), object.keyFacts!, stage);
  const money = { unit: 'R$', min: 0, max: 100_000_000_000, decimals: 2 };
  const amount = readBound(place, object, 'maxAmountReais', money, scope);
  const bids = { unit: 'bids', min: 0, max: 1_000_000_000, decimals: 0 };
  const count = readBound(place, object, 'maxCount', bids, scope);
  const maxReais = amount.number;
  const paced = object.paced ?? false;
  if (typeof paced !== 'boolean') refuse(within(place, 'paced'), `paced is ${shown(paced)}; write true or false.`);
  else if (paced && (window?.hours !== null || maxReais === null)) {
    const wanted = '"window": "day" and maxAmountReais';
    refuse(within(place, 'paced'), `Only a day's amount can be paced; write ${wanted}, or leave paced out.`);
  }
  if (window === null || keyFacts === null || place.faults.length > before) return null;
  const limitAmountCents = maxReais === null ? null : Math.round(maxReais * 100);
  const cap: CapRule = {
    name,
    keyFacts,
    windowHours: window.hours,
    limitAmountCents,
    limitCount: count.number,
    amountFact: amount.fact,
    countFact: count.fact,
    paced: paced === true,
  };
  return { type: 'cap', cap };
}

/** Never limits: an experiment may move a bid within them, not beyond. */
function readExperiment(place: Place, params: Json): RuleEvent | null {
  const changes = ['economics', 'strategy'];
  const keys = { required: ['name', 'layer', 'share'], optional: changes };
  const object = readObject(place, params, 'An experiment', keys);
  if (object === null) return null;
  for (const key of ['name', 'layer'] as const) {
    const value = object[key]!;
    if (typeof value === 'string' && capName.test(value)) continue;
    return refuse(
      within(place, key),
      `The ${key} is ${shown(value)}; write a to z without accents, digits and hyphens, a letter first, at most 60 characters, like "rate-up".${plainly(value, 60)}`,
    );
  }
  const measure = { unit: 'share of the workers, 0.1 is 10 %', min: 0.001, max: 0.999, decimals: null };
  const share = readNumber(within(place, 'share'), object.share!, 'share', measure);
  const given = changes.filter((key) => key in object);
  if (given.length !== 1) {
    return refuse(place, `An experiment with ${given.length} changes; write exactly one of ${changes.join(', ')}.`);
  }
  const { economics, strategy } = object;
  const changed =
    economics === undefined
      ? null
      : readParameters(within(place, 'economics'), economics, 'An economics change', economicsParameters);
  const chosen = strategy === undefined ? null : readStrategy(within(place, 'strategy'), strategy);
  if (share === null || (changed === null && chosen === null)) return null;
  const experiment: ExperimentRule = {
    name: object.name as string,
    layer: object.layer as string,
    share,
    economics: changed,
    strategy: chosen?.type === 'strategy' ? chosen.strategy : null,
  };
  return { type: 'experiment', experiment };
}

/** An auction lasts a day at most where its request names no end, and a bid is valid for 7 at most. */
export const reviewMinutes: Measure = { unit: 'minutes', min: 1, max: 10_080, decimals: 0 };
export const reviewAnswers = ['pass', 'bid'] as const;

function readReview(place: Place, params: Json): RuleEvent | null {
  const keys = { required: ['queue', 'minutes'], optional: ['otherwise'] };
  const object = readObject(place, params, 'A review', keys);
  if (object === null) return null;
  const queue = object.queue!;
  if (typeof queue !== 'string' || !queueShape.test(queue)) {
    return refuse(
      within(place, 'queue'),
      `The queue is ${shown(queue)}; write a to z without accents, digits and hyphens, a letter first, at most 40 characters, like "large-amounts".${plainly(queue, 40)}`,
    );
  }
  const minutes = readNumber(within(place, 'minutes'), object.minutes!, 'minutes', reviewMinutes);
  const written = 'otherwise' in object ? object.otherwise! : 'pass';
  const otherwise = reviewAnswers.find((answer) => answer === written);
  if (otherwise === undefined) {
    return refuse(
      within(place, 'otherwise'),
      `"otherwise" is ${shown(written)}; write "pass" or "bid": what holds where nobody answers in time.`,
    );
  }
  return minutes === null ? null : { type: 'review', queue, minutes, otherwise };
}

export const eventTypes = ['pass', 'limit', 'economics', 'segment', 'strategy', 'cap', 'experiment', 'review'] as const;

/** The event of a rule; null when something was refused. `codes`: the declared pass codes. */
export function readEvent(place: Place, value: Json, scope: FactScope, codes: ReadonlySet<string>): RuleEvent | null {
  const { stage } = scope;
  const object = readObject(place, value, 'The event', { required: ['type'], optional: ['params'] });
  if (object === null) return null;
  const given = object.params ?? Object.create(null);
  const type = eventTypes.find((known) => known === object.type);
  const typePlace = within(place, 'type');
  if (type === undefined) {
    const hint = suggestion(String(object.type), eventTypes);
    return refuse(
      typePlace,
      `There is no event ${shown(object.type!)}. ${hint} What other programs call otherwise is named in events.json.`,
    );
  }
  if (stage === 'offer' && type !== 'pass' && type !== 'cap') {
    return refuse(typePlace, `"${type}" comes too late after pricing; an offer rule is "pass" or "cap".`);
  }
  const params = within(place, 'params');
  switch (type) {
    case 'pass':
      return readPass(params, given, codes);
    case 'limit':
      return readLimit(params, given, scope);
    case 'economics': {
      const changes = readParameters(params, given, 'An economics event', economicsParameters);
      return changes === null ? null : { type, changes };
    }
    case 'segment':
      return readSegment(params, given);
    case 'strategy':
      return readStrategy(params, given);
    case 'cap':
      return readCap(params, given, scope);
    case 'experiment':
      return readExperiment(params, given);
    case 'review':
      return readReview(params, given);
    default:
      return type satisfies never;
  }
}
