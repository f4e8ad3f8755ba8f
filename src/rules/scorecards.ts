/**
 * Scorecards: files `NAME.score.json` of a rule set. Each characteristic is a fact with bins, each bin has points, what is unknown has
 * points too or makes the score unknown. The sum is the fact `score.NAME`, the band that it falls into `score.NAME.band`.
 */
import { baseFact, basesOf, type DerivedFact, type DerivedFacts, type ScoredPart } from './derived.ts';
import type { FactDefinition, Facts, FactValue } from './facts.ts';
import type { Json } from './json.ts';
import { type Place, readNumber, readObject, readText, refuse, shown, suggestion, within } from './place.ts';
import type { Scalar } from './rule.ts';

type Bin = {
  /** As people read it. */
  text: string;
  /** Of a number: from here on, below that; null: open. */
  from: number | null;
  below: number | null;
  /** Of a text or a flag; null: every value that no other bin names. */
  values: readonly Scalar[] | null;
  place: Place;
};

type PointedBin = Bin & { points: number };

type Characteristic = {
  fact: string;
  definition: FactDefinition;
  bins: readonly PointedBin[];
  /** Null: the score is unknown then. */
  unknownPoints: number | null;
};

export type Scorecard = {
  name: string;
  description: string;
  start: number;
  characteristics: readonly Characteristic[];
  bands: readonly (Bin & { name: string })[] | null;
};

const scorePath = /^([a-z][A-Za-z0-9]{0,39})\.score\.json$/;
const maxCharacteristics = 50;
const maxBins = 100;
const pointsMeasure = { unit: 'points', min: -100_000, max: 100_000, decimals: 0 };

// --- Reading --------------------------------------------------------------------------------------------------------

type BinKeys = { own: 'points' | 'name'; readOwn: (place: Place, value: Json) => boolean };

/** Bins of a number: the first is open below, the last above, each begins where the one before ends. */
function readRanges(place: Place, list: readonly Json[], { own, readOwn }: BinKeys): Bin[] | null {
  const bins: Bin[] = [];
  let before = place.faults.length;
  /** Where the one before was refused, nothing can be said of what begins after it. */
  let isAfterFault = false;
  for (const [index, value] of list.entries()) {
    const at = within(place, index);
    const known = place.faults.length;
    const object = readObject(at, value, 'A bin', { required: [own], optional: ['from', 'below'] });
    if (object === null) {
      isAfterFault = true;
      continue;
    }
    const bound = (key: 'from' | 'below') => {
      const given = object[key];
      if (given === undefined || typeof given === 'number') return given ?? null;
      refuse(within(at, key), `"${key}" is ${shown(given)}; write a number.`);
      return null;
    };
    const [from, below] = [bound('from'), bound('below')];
    const [isFirst, isLast] = [index === 0, index === list.length - 1];
    const last = bins.at(-1)?.below ?? null;
    if (isFirst && from !== null) refuse(within(at, 'from'), 'The first bin is open below; remove "from".');
    else if (!isFirst && !isAfterFault && (from === null || from !== last)) {
      refuse(
        at,
        `This bin begins at ${from ?? 'nothing'}, the one before ends below ${last ?? 'nothing'}; write "from": ${last ?? 0}.`,
      );
    }
    if (isLast && below !== null) refuse(within(at, 'below'), 'The last bin is open above; remove "below".');
    else if (!isLast && (below === null || (from !== null && below <= from))) {
      refuse(at, `This bin has no end above its beginning; write "below" with the number that the next one begins at.`);
    }
    isAfterFault = place.faults.length > known;
    if (!readOwn(within(at, own), object[own]!)) before = -1;
    const text =
      from === null && below === null
        ? 'all'
        : from === null
          ? `< ${below}`
          : below === null
            ? `≥ ${from}`
            : `${from} … < ${below}`;
    bins.push({ text, from, below, values: null, place: at });
  }
  return place.faults.length > before ? null : bins;
}

/** Bins of a text or a flag: each names its values, the last may be `"else": true`; together they name all. */
function readChoices(
  place: Place,
  list: readonly Json[],
  definition: FactDefinition,
  { own, readOwn }: BinKeys,
): Bin[] | null {
  const before = place.faults.length;
  const seen = new Set<Scalar>();
  const bins: Bin[] = [];
  const all = definition.type === 'boolean' ? [true, false] : definition.values;
  for (const [index, value] of list.entries()) {
    const at = within(place, index);
    const object = readObject(at, value, 'A bin', { required: [own], optional: ['in', 'else'] });
    if (object === null) continue;
    readOwn(within(at, own), object[own]!);
    if (object.else === true && !('in' in object)) {
      if (index < list.length - 1)
        refuse(within(at, 'else'), 'The bin for all others is the last one; move it to the end.');
      bins.push({ text: 'else', from: null, below: null, values: null, place: at });
      continue;
    }
    const values = object.in;
    if (!Array.isArray(values) || values.length === 0 || 'else' in object) {
      refuse(at, `A bin of "${definition.name}" names its values; write "in": [ … ], or "else": true in the last one.`);
      continue;
    }
    for (const [position, member] of values.entries()) {
      const here = within(within(at, 'in'), position);
      if (typeof member !== definition.type) refuse(here, `This is ${shown(member)}; write a ${definition.type}.`);
      else if (all !== null && !all.includes(member as never))
        refuse(here, `"${definition.name}" is never ${shown(member)}. ${suggestion(String(member), all.map(String))}`);
      else if (seen.has(member as Scalar)) refuse(here, `${shown(member)} stands in two bins; remove one.`);
      else seen.add(member as Scalar);
    }
    bins.push({ text: values.map(String).join(', '), from: null, below: null, values: values as Scalar[], place: at });
  }
  const isWhole = bins.at(-1)?.text === 'else' || (all?.every((value) => seen.has(value)) ?? false);
  if (!isWhole && place.faults.length === before) {
    refuse(place, `These bins leave values of "${definition.name}" out; add a last one with "else": true.`);
  }
  return place.faults.length > before ? null : bins;
}

function readCharacteristic(
  place: Place,
  value: Json,
  definitionOf: (name: string) => FactDefinition | null,
): Characteristic | null {
  const object = readObject(place, value, 'A characteristic', { required: ['fact', 'bins', 'unknown'], optional: [] });
  if (object === null) return null;
  const name = object.fact!;
  const definition = typeof name === 'string' ? definitionOf(name) : null;
  if (typeof name !== 'string' || definition === null) {
    return refuse(within(place, 'fact'), `There is no fact ${shown(name)} of a known type. See rules/schema/facts.md.`);
  }
  if (definition.type === 'string-list')
    return refuse(within(place, 'fact'), `"${name}" is a list; count it in facts.json and score that.`);
  if (definition.stage === 'offer')
    return refuse(within(place, 'fact'), `"${name}" exists only after pricing; a scorecard sees facts of the request.`);
  const at = within(place, 'bins');
  const list = object.bins!;
  if (!Array.isArray(list) || list.length === 0 || list.length > maxBins)
    return refuse(at, `"bins" is ${shown(list)}; write a list of 1 to ${maxBins} bins.`);
  const points: number[] = [];
  const readOwn = (here: Place, given: Json) => points.push(readNumber(here, given, 'points', pointsMeasure) ?? 0) > 0;
  const keys: BinKeys = { own: 'points', readOwn };
  const bins = definition.type === 'number' ? readRanges(at, list, keys) : readChoices(at, list, definition, keys);
  const unknown = object.unknown!;
  const unknownPoints =
    unknown === 'unknown'
      ? null
      : readNumber(within(place, 'unknown'), unknown, 'unknown ("unknown" makes the score unknown)', pointsMeasure);
  if (bins === null || (unknown !== 'unknown' && unknownPoints === null)) return null;
  return {
    fact: name,
    definition,
    bins: bins.map((bin, index) => ({ ...bin, points: points[index]! })),
    unknownPoints,
  };
}

function readBands(place: Place, value: Json): (Bin & { name: string })[] | null {
  if (!Array.isArray(value) || value.length < 2 || value.length > maxBins)
    return refuse(place, `"bands" is ${shown(value)}; write a list of 2 bands or more.`);
  const names: string[] = [];
  const readOwn = (here: Place, given: Json): boolean => {
    const name = readText(here, given, 'The name of a band', 40);
    if (name !== null && names.includes(name))
      refuse(here, `The band ${shown(name)} is there already; choose another name.`);
    names.push(name ?? '');
    return name !== null;
  };
  const bands = readRanges(place, value, { own: 'name', readOwn });
  return bands === null ? null : bands.map((band, index) => ({ ...band, name: names[index]! }));
}

/** `definitionOf`: of facts that are no scores of this set. */
export function readScorecard(
  place: Place,
  value: Json,
  definitionOf: (name: string) => FactDefinition | null,
): Scorecard | null {
  const name = scorePath.exec(place.file)?.[1];
  if (name === undefined)
    return refuse(place, 'A scorecard is named like a fact; call the file like "risk.score.json".');
  const keys = { required: ['description', 'characteristics'], optional: ['$schema', 'owner', 'start', 'bands'] };
  const object = readObject(place, value, 'A scorecard', keys);
  if (object === null) return null;
  const before = place.faults.length;
  const description = readText(within(place, 'description'), object.description!, 'The description', 600);
  if ('owner' in object) readText(within(place, 'owner'), object.owner!, 'The owner', 80);
  const start = 'start' in object ? readNumber(within(place, 'start'), object.start!, 'start', pointsMeasure) : 0;
  const at = within(place, 'characteristics');
  const list = object.characteristics!;
  if (!Array.isArray(list) || list.length === 0 || list.length > maxCharacteristics)
    return refuse(at, `"characteristics" is ${shown(list)}; write a list of 1 to ${maxCharacteristics}.`);
  const characteristics: Characteristic[] = [];
  for (const [index, member] of list.entries()) {
    const read = readCharacteristic(within(at, index), member, definitionOf);
    if (read === null) continue;
    if (characteristics.some((other) => other.fact === read.fact))
      refuse(within(at, index), `"${read.fact}" is scored twice; remove one, or compute one fact of both.`);
    characteristics.push(read);
  }
  const bands = 'bands' in object ? readBands(within(place, 'bands'), object.bands!) : null;
  if (description === null || start === null || place.faults.length > before) return null;
  return { name, description, start, characteristics, bands };
}

// --- Values ---------------------------------------------------------------------------------------------------------

/** A value of another type than the fact is says nothing. */
function binOf<B extends Bin>(
  type: FactDefinition['type'],
  bins: readonly B[],
  value: FactValue | undefined,
): B | null {
  if (typeof value !== type || Number.isNaN(value)) return null;
  for (const bin of bins) {
    if (
      typeof value === 'number'
        ? bin.below === null || value < bin.below
        : (bin.values?.includes(value as Scalar) ?? true)
    )
      return bin;
  }
  return null;
}

/** The facts of a scorecard. `computed`: what the characteristics may be made of. */
export function scoreAsFacts(card: Scorecard, computed: DerivedFacts): readonly DerivedFact[] {
  const { name, start, characteristics, bands } = card;
  const seenOf = ({ fact }: Characteristic, facts: Facts, offerFacts: Facts) =>
    computed.get(fact)?.value(facts, offerFacts) ?? baseFact(facts, offerFacts, fact);
  const sum = (facts: Facts, offerFacts: Facts): number | undefined => {
    let points = start;
    for (const characteristic of characteristics) {
      const { definition, bins, unknownPoints } = characteristic;
      const own = binOf(definition.type, bins, seenOf(characteristic, facts, offerFacts))?.points ?? unknownPoints;
      if (own === null) return undefined;
      points += own;
    }
    return points;
  };
  const parts = (facts: Facts, offerFacts: Facts): ScoredPart[] =>
    characteristics.map((characteristic) => {
      const { fact, definition, bins, unknownPoints } = characteristic;
      const seen = seenOf(characteristic, facts, offerFacts);
      const bin = binOf(definition.type, bins, seen);
      return { fact, seen: seen ?? null, bin: bin?.text ?? null, points: bin?.points ?? unknownPoints };
    });
  const basesOfAll = (some: readonly Characteristic[]) => [
    ...new Set(some.flatMap(({ fact }) => basesOf(computed, fact))),
  ];
  const decisive = characteristics.filter(({ unknownPoints }) => unknownPoints === null);
  const lacking = (facts: Facts, offerFacts: Facts): readonly string[] => {
    const unknown = decisive.filter(
      (one) => binOf(one.definition.type, one.bins, seenOf(one, facts, offerFacts)) === null,
    );
    return [...new Set(unknown.flatMap(({ fact }) => computed.get(fact)?.lacking(facts, offerFacts) ?? [fact]))];
  };
  const extreme = (of: 'min' | 'max') =>
    characteristics.reduce((total, { bins, unknownPoints }) => {
      const all = [...bins.map(({ points }) => points), ...(unknownPoints === null ? [] : [unknownPoints])];
      return total + Math[of](...all);
    }, start);
  const shared = {
    uses: basesOfAll(characteristics),
    reads: [...new Set(characteristics.flatMap(({ fact }) => computed.get(fact)?.reads ?? []))],
    needed: basesOfAll(decisive),
    isTotal: decisive.every(({ fact }) => computed.get(fact)?.isTotal ?? true),
    lacking,
    comesFirst: true,
    parts,
  };
  const definition: FactDefinition = {
    ...{ name: `score.${name}`, type: 'number', unit: 'points', present: card.description, example: start },
    ...{ range: { min: extreme('min'), max: extreme('max') }, values: null, stage: 'request', whole: true },
  };
  const score: DerivedFact = { definition, value: sum, ...shared };
  if (bands === null) return [score];
  const names = bands.map((band) => band.name);
  const band: DerivedFact = {
    definition: {
      ...{ name: `score.${name}.band`, type: 'string', unit: null, present: card.description, example: names[0]! },
      ...{ range: null, values: names, stage: 'request', whole: false },
    },
    value: (facts, offerFacts) => binOf('number', bands, sum(facts, offerFacts))?.name,
    ...shared,
  };
  return [score, band];
}

// --- Tests ----------------------------------------------------------------------------------------------------------

export type BinTest = { name: string; place: Place; facts: Facts; score: number | null };

/** Values at both edges of a bin, or one that no other bin names. */
function valuesIn(
  { from, below, values }: Bin,
  { type, range, whole, values: all }: FactDefinition,
  others: readonly Bin[],
): FactValue[] {
  if (type === 'number') {
    const step = whole ? 1 : 0.01;
    const [least, most] = [
      from ?? range?.min ?? (below ?? 0) - step,
      below === null ? (range?.max ?? (from ?? 0) + step) : below - step,
    ];
    const edge = Number(most.toFixed(6));
    return edge > least ? [least, edge] : [least];
  }
  if (values !== null) return [...values];
  const named = new Set(others.flatMap((bin) => bin.values ?? []));
  const pool: readonly Scalar[] = type === 'boolean' ? [true, false] : (all ?? ['another value']);
  const free = pool.find((value) => !named.has(value));
  return free === undefined ? [] : [free];
}

/**
 * A test for both edges of each bin, and for each unknown, the other characteristics in their first bin: what the points have to
 * come to, added up from the file. What is computed cannot be set, and stays unknown.
 */
export function testsOfBins({ name, start, characteristics }: Scorecard, computed: DerivedFacts): readonly BinTest[] {
  const settable = characteristics.filter(({ fact }) => !computed.has(fact));
  const first = new Map(settable.map(({ fact, definition, bins }) => [fact, valuesIn(bins[0]!, definition, bins)[0]]));
  const test = (
    text: string,
    place: Place,
    changed: string,
    value: FactValue | undefined,
    own: number | null,
  ): BinTest => {
    const facts: Record<string, FactValue | undefined> = { ...Object.fromEntries(first), [changed]: value };
    let score: number | null = start;
    for (const { fact, bins, unknownPoints } of characteristics) {
      const points: number | null =
        fact === changed ? own : first.get(fact) === undefined ? unknownPoints : bins[0]!.points;
      score = score === null || points === null ? null : score + points;
    }
    return { name: `score.${name}: ${changed} ${text} (generated)`, place, facts, score };
  };
  return settable.flatMap(({ fact, definition, bins, unknownPoints }) => [
    ...bins.flatMap((bin) =>
      valuesIn(bin, definition, bins).map((value) => test(JSON.stringify(value), bin.place, fact, value, bin.points)),
    ),
    test('unknown', bins[0]!.place, fact, undefined, unknownPoints),
  ]);
}
