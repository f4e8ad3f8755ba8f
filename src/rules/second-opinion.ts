/**
 * The tests beside rules, asked of json-rules-engine as well: the conditions as the files write them, one run after the other. A
 * comparison that is unknown is left out, for the library knows no unknown and fails open there; and days, which it has none of.
 * What else comes out otherwise is a mistake in this program, or in how somebody reads the rules by the library: the set is refused.
 */
import { Engine, Rule, type RuleProperties, type TopLevelCondition } from 'json-rules-engine';
import { createFrame, isTrue } from './compile.ts';
import { comparisonsOf, factsIn } from './extents.ts';
import type { FactValue } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type RuleFault } from './place.ts';
import type { RuleSet, RuleSummary, WrittenConditions } from './rule-set.ts';

const maxFaults = 20;

/** Of each choice of `count` parts one list. */
function choicesOf<T>(parts: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  return [...choicesOf(rest, count - 1).map((chosen) => [first, ...chosen]), ...choicesOf(rest, count)];
}

/** In the words of the library: it counts no conditions, and its paths begin with `$`. */
export function libraryConditions(written: Json): Json {
  if (Array.isArray(written)) return written.map(libraryConditions);
  if (!isObject(written)) return written;
  if (typeof written.atLeast === 'number' && Array.isArray(written.of)) {
    const chosen = choicesOf(written.of.map(libraryConditions), written.atLeast);
    return { any: chosen.map((all): Json => ({ all })) };
  }
  const entries = Object.entries(written).map(([key, value]): [string, Json] => {
    if (key === 'path' && typeof value === 'string') return [key, `$.${value.replace(/^\$?\.?/, '')}`];
    return [key, key === 'value' && !isObject(value) ? value : libraryConditions(value)];
  });
  return Object.fromEntries(entries);
}

export function createLibrary(conditions: JsonObject): Engine {
  const engine = new Engine([], { allowUndefinedFacts: true });
  const begins = (value: unknown, text: unknown) => typeof value === 'string' && value.startsWith(String(text));
  engine.addOperator<string, string>('startsWith', begins);
  engine.addOperator<string, string>('doesNotStartWith', (value, text) => !begins(value, text));
  for (const [name, condition] of Object.entries(conditions))
    engine.setCondition(name, libraryConditions(condition) as unknown as TopLevelCondition);
  return engine;
}

/** Each fact by its name, and as a part of the object that paths look into. */
function libraryFacts(facts: Readonly<Record<string, FactValue | undefined>>): Record<string, unknown> {
  // Without prototypes: a fact may be called like what all objects inherit.
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    given[name] = value;
    const [head, ...path] = name.split('.');
    let holder = given[head!];
    if (typeof holder !== 'object') given[head!] = holder = Object.create(null);
    for (const [index, key] of path.entries()) {
      const object = holder as Record<string, unknown>;
      if (index === path.length - 1) object[key] = value;
      else object[key] = typeof object[key] === 'object' ? object[key] : Object.create(null);
      holder = object[key];
    }
  }
  return given;
}

type Asked = { rule: RuleSummary; holds: boolean };

function differenceOf({ rule, holds }: Asked, test: string): RuleFault {
  const [own, other] = holds ? ['true', 'false'] : ['false', 'true'];
  const text = `"${rule.name}" is ${own} in the test "${test}", and ${other} in json-rules-engine: write its conditions otherwise.`;
  return { file: rule.file, pointer: rule.pointer, line: null, text };
}

/**
 * What the library says otherwise, rule by rule; `asked`: how many questions were put to it. A rule is asked about once for each way
 * in which its comparisons come out, so that a table of 500 rows with as many tests is soon through.
 */
export async function differencesFromLibrary(
  ruleSet: RuleSet,
  written: WrittenConditions,
): Promise<{ faults: readonly RuleFault[]; asked: number }> {
  const faults: RuleFault[] = [];
  const engine = createLibrary(written.named);
  const rules = new Map<string, Rule>();
  const ruleOf = ({ name }: RuleSummary): Rule => {
    const known = rules.get(name);
    if (known !== undefined) return known;
    const conditions = libraryConditions(written.rules.get(name)!);
    const rule = new Rule({ name, conditions, event: { type: 'fired' } } as unknown as RuleProperties);
    rules.set(name, rule);
    return rule;
  };
  const frame = createFrame(
    ruleSet.derived,
    ruleSet.rules.map(({ conditions }) => conditions),
  );
  const leaves = new Map(
    ruleSet.rules.map((rule) => [rule, comparisonsOf(rule.conditions).map((leaf) => frame.condition(leaf))]),
  );
  const told = new Set<string>();
  let count = 0;
  for (const test of ruleSet.tests) {
    frame.load(test.facts, test.offerFacts);
    const asked: Asked[] = [];
    const facts: Record<string, FactValue | undefined> = { ...test.facts, ...test.offerFacts };
    for (const rule of ruleSet.rules) {
      if (rule.stage === 'offer' && test.stage !== 'offer') continue;
      const truths = leaves.get(rule)!.map((leaf) => leaf.test());
      if (truths.includes(1)) continue;
      const key = `${rule.name}|${truths.join('')}`;
      if (told.has(key)) continue;
      told.add(key);
      asked.push({ rule, holds: frame.condition(rule.conditions).test() === isTrue });
      for (const fact of factsIn(rule.conditions)) facts[fact] ??= frame.seen(fact) as FactValue | undefined;
    }
    if (asked.length === 0) continue;
    count += asked.length;
    const fired = await firedBy(
      engine,
      asked.map(({ rule }) => ruleOf(rule)),
      libraryFacts(facts),
    );
    for (const one of asked) {
      if (fired.has(one.rule.name) !== one.holds && faults.length < maxFaults)
        faults.push(differenceOf(one, test.name));
    }
  }
  return { faults, asked: count };
}

/** The engine holds no rule before, and none after. Its state is shared between runs, so they never meet. */
async function firedBy(engine: Engine, rules: readonly Rule[], facts: Record<string, unknown>): Promise<Set<string>> {
  for (const rule of rules) engine.addRule(rule);
  try {
    const { results } = await engine.run(facts);
    return new Set(results.map(({ name }) => name));
  } finally {
    for (const rule of rules) engine.removeRule(rule);
  }
}
