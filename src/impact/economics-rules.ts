/** A rule file with its tests, made from what the lender's own loans teach. Nobody follows it until somebody puts it into the rules. */
import { catalogue, type FactDefinition } from '../rules/facts.ts';
import type { BookEconomics, BookRow, Estimate, EstimateName } from './book-economics.ts';

type Scalar = string | number | boolean;
type Comparison = { fact: string; operator: string; value: Scalar };
/** A part of a segment key: what holds in it, one request in it, and one outside. */
type Part = { fact: string; conditions: Comparison[]; inside: Scalar; outside: Scalar };

export type ProposalWords = {
  /** Name and description of a segment's rule. */
  name: (key: string) => string;
  description: (row: BookRow) => string;
  /** Standard deviations added to each estimate. */
  cautionDeviations: number;
  /** Highest of the rules that decide economics now; 0: none does. */
  highestPriority: number;
};

export type Proposal = { rules: object; tests: object; count: number };

const parameters: Record<EstimateName, { name: string; most: number }> = {
  separationMonthly: { name: 'separationMonthlyShare', most: 0.5 },
  neverStartedShare: { name: 'neverStartedShare', most: 1 },
  lossGivenSeparation: { name: 'lossGivenSeparationShare', most: 1 },
  earlySettlementMonthly: { name: 'earlySettlementMonthlyShare', most: 0.5 },
};

function outsideText(definition: FactDefinition | undefined, value: string): string {
  return definition?.values?.find((one) => one !== value) ?? `${value}-other`;
}

/** `fact=value`, `fact=<12`, `fact=12-36`, `fact=36+`, as the keys of segments are written. */
function partOf(text: string): Part {
  const place = text.indexOf('=');
  const [fact, label] = [text.slice(0, place), text.slice(place + 1)];
  const definition = catalogue.find(({ name }) => name === fact);
  const compare = (operator: string, value: Scalar): Comparison => ({ fact, operator, value });
  if (label === 'true' || label === 'false') {
    const value = label === 'true';
    return { fact, conditions: [compare('equal', value)], inside: value, outside: !value };
  }
  const range =
    definition?.type === 'number' ? /^(?:<(?<top>[\d.]+)|(?<from>[\d.]+)(?:-(?<below>[\d.]+)|\+))$/.exec(label) : null;
  if (range === null) {
    return { fact, conditions: [compare('equal', label)], inside: label, outside: outsideText(definition, label) };
  }
  const { top, from, below } = range.groups ?? {};
  const end = top ?? below;
  const least = definition?.range?.min ?? 0;
  const conditions: Comparison[] = [];
  if (from !== undefined) conditions.push(compare('greaterThanInclusive', Number(from)));
  if (end !== undefined) conditions.push(compare('lessThan', Number(end)));
  return {
    fact,
    conditions,
    inside: from === undefined ? least : Number(from),
    outside: end === undefined ? least : Number(end),
  };
}

function paramsOf(row: BookRow, cautionDeviations: number): Record<string, number> {
  const entries = Object.entries(parameters).map(([estimate, { name, most }]) => {
    const { mean, deviation }: Estimate = row[estimate as EstimateName];
    return [name, Math.min(most, Number((mean + cautionDeviations * deviation).toPrecision(3)))] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Segments exclude each other, so one priority serves them all; it is above the rules there are, which go on deciding what the
 * book has no loans for. The tests show each rule fire, each of its conditions fail and each unknown.
 */
export function economicsRules({ segments }: BookEconomics, words: ProposalWords): Proposal {
  const cells = segments.map((row) => ({
    row,
    parts: row.key.split('|').slice(1).map(partOf),
    name: words.name(row.key),
  }));
  const rules = cells.map(({ row, parts, name }) => ({
    name,
    description: words.description(row),
    owner: 'credit-risk',
    priority: words.highestPriority + 10,
    conditions: { all: parts.flatMap(({ conditions }) => conditions) },
    event: { type: 'economics', params: paramsOf(row, words.cautionDeviations) },
  }));
  const tests: object[] = [];
  for (const [place, { parts, name }] of cells.entries()) {
    const inside = Object.fromEntries(parts.map(({ fact, inside: value }) => [fact, value]));
    tests.push({
      name: `${name}: in it`,
      facts: inside,
      expect: { economics: rules[place]!.event.params, fired: [name] },
    });
    for (const { fact, conditions, outside } of parts) {
      tests.push({ name: `${name}: other ${fact}`, facts: { ...inside, [fact]: outside }, expect: { silent: [name] } });
      if (conditions.length < 2) continue;
      const below = catalogue.find((known) => known.name === fact)?.range?.min ?? 0;
      tests.push({ name: `${name}: below, ${fact}`, facts: { ...inside, [fact]: below }, expect: { silent: [name] } });
    }
  }
  const facts = [...new Set(cells.flatMap(({ parts }) => parts.map(({ fact }) => fact)))];
  const unknown = Object.fromEntries(facts.map((fact) => [fact, null]));
  tests.push({ name: 'facts that are not known', facts: unknown, expect: { silent: rules.map(({ name }) => name) } });
  return {
    rules: { $schema: './schema/rules.schema.json', rules },
    tests: { $schema: './schema/tests.schema.json', base: {}, tests },
    count: rules.length,
  };
}
