/** What a whole rule set decides, from its files alone and as plainly as it can be written. No code of src/rules. */
import { plainVerdict, type Verdict } from './plain-evaluator.ts';

type Rule = {
  name: string;
  stage?: string;
  priority?: number;
  onMissing?: string;
  share?: number;
  validFrom?: string;
  validUntil?: string;
  conditions: unknown;
  event: { type: string; params: Record<string, number | string | boolean> };
};

export type PlainDecision = {
  /** Rules that pass, with their code; `?`: a fact is missing. */
  passes: string[];
  /** In the units of the files. */
  limits: Record<string, number>;
  economics: Record<string, number>;
  fired: string[];
};

function rulesOf(value: unknown): Rule[] {
  if (Array.isArray(value)) return value as Rule[];
  const object = value as { rules?: Rule[] };
  return object.rules ?? [value as Rule];
}

function rulesBeforePricing(files: readonly { path: string; text: string }[]): Rule[] {
  return files
    .filter(({ path }) => path !== 'codes.json' && path !== 'conditions.json' && !path.endsWith('.test.json'))
    .flatMap(({ text }) => rulesOf(JSON.parse(text)))
    .filter((rule) => (rule.stage ?? 'request') === 'request');
}

/** FNV-1a and the last steps of MurmurHash3, in whole numbers of 32 bits. */
export function plainDraw(salt: string, worker: string): number {
  const mask = 0xffff_ffffn;
  let hash = 0x811c_9dc5n;
  for (const character of `${salt}|${worker}`) hash = ((hash ^ BigInt(character.charCodeAt(0))) * 0x0100_0193n) & mask;
  hash = ((hash ^ (hash >> 16n)) * 0x85eb_ca6bn) & mask;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2_ae35n) & mask;
  return Number(hash ^ (hash >> 16n)) / 2 ** 32;
}

function plainShare(name: string, share: number, worker: unknown): Verdict {
  if (typeof worker !== 'string') return 'unknown';
  return plainDraw(`rule:${name}`, worker) < share ? 'true' : 'false';
}

function both(one: Verdict, other: Verdict): Verdict {
  if (one === 'false' || other === 'false') return 'false';
  return one === 'true' && other === 'true' ? 'true' : 'unknown';
}

/** Names of the rules that are asked before pricing. */
export function requestRulesOf(files: readonly { path: string; text: string }[]): Set<string> {
  return new Set(rulesBeforePricing(files).map(({ name }) => name));
}

/** `day`: in São Paulo. Only rules before pricing. */
export function plainDecision(
  files: readonly { path: string; text: string }[],
  facts: Readonly<Record<string, unknown>>,
  types: Readonly<Record<string, string>>,
  day: string,
): PlainDecision {
  const decision: PlainDecision = { passes: [], limits: {}, economics: {}, fired: [] };
  const rules = rulesBeforePricing(files).filter(
    (rule) => (rule.validFrom ?? day) <= day && day <= (rule.validUntil ?? day),
  );
  const conditions = files.find(({ path }) => path === 'conditions.json');
  const named = conditions === undefined ? {} : JSON.parse(conditions.text).conditions;
  rules.sort((left, right) => (right.priority ?? 1) - (left.priority ?? 1));
  const taken = new Set<string>();
  for (const rule of rules) {
    const own = plainVerdict(rule.conditions, { conditions: named, facts, types });
    const verdict = rule.share === undefined ? own : both(own, plainShare(rule.name, rule.share, facts['worker.key']));
    if (verdict === 'false') continue;
    const { type, params } = rule.event;
    const certain = verdict === 'true';
    if (type === 'pass') {
      if (!certain && rule.onMissing === 'ignore') continue;
      decision.passes.push(`${rule.name}: ${certain ? params.code : '?'}`);
    } else if (type === 'limit') {
      for (const [field, value] of Object.entries(params) as [string, number][]) {
        const other = decision.limits[field];
        const tightest = field.startsWith('min') ? Math.max : Math.min;
        decision.limits[field] = other === undefined ? value : tightest(value, other);
      }
    } else if (type === 'cap') {
      const keyFacts = params.keyFacts as unknown as readonly string[];
      if (keyFacts.some((fact) => facts[fact] === undefined)) decision.passes.push(`${rule.name}: ?`);
    } else {
      if (!certain || (type !== 'economics' && taken.has(type))) continue;
      taken.add(type);
      if (type === 'economics')
        for (const [field, value] of Object.entries(params)) decision.economics[field] ??= value as number;
    }
    decision.fired.push(rule.name);
  }
  decision.passes.sort();
  decision.fired.sort();
  return decision;
}
