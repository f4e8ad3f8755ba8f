/**
 * Rules: the compiled form on 30 rules and on 1 000 that share most of their conditions, and json-rules-engine on the
 * same 30 in the same run, in turns. Both are asked the same questions and have to give the same answers first.
 */
import { Engine, type RuleProperties } from 'json-rules-engine';
import { evaluateRequest } from '../src/rules/evaluate.ts';
import type { Facts } from '../src/rules/facts.ts';
import { compileRuleSet, type RuleSet } from '../src/rules/rule-set.ts';
import { chanceOf } from '../src/sandbox/chance.ts';
import { type Benchmark, median, quantile, rounded } from './figures.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const fewRules = 30;
const manyRules = 1_000;
const caseCount = 200;
const turns = 30;
const libraryRuns = 40;

type Json = Record<string, unknown>;

const sectors = ['agriculture', 'industry', 'construction', 'commerce', 'transport', 'services', 'public', 'domestic'];

/** Comparisons that a risk team would write; 1 000 rules draw theirs from `variety` of each kind. */
function comparisonsOf(chance: () => number, variety: number): (() => Json)[] {
  const step = (least: number, width: number) => least + Math.floor(chance() * variety) * width;
  return [
    () => ({ fact: 'worker.ageYears', operator: 'greaterThan', value: step(22, 3) }),
    () => ({ fact: 'worker.tenureMonths', operator: 'greaterThanInclusive', value: step(3, 6) }),
    () => ({ fact: 'request.amountReais', operator: 'lessThan', value: step(2_000, 1_500) }),
    () => ({ fact: 'request.installments', operator: 'lessThanInclusive', value: step(12, 6) }),
    () => ({ fact: 'margin.availableReais', operator: 'greaterThan', value: step(100, 90) }),
    () => ({
      fact: 'employer.sector',
      operator: 'in',
      value: [sectors[step(0, 1) % 8], sectors[(step(0, 1) + 3) % 8]],
    }),
    () => ({ fact: 'guarantee.present', operator: 'equal', value: chance() < 0.5 }),
    () => ({ fact: 'alerts.codes', operator: 'doesNotContain', value: String(step(1, 1)) }),
  ];
}

function ruleSetOf(count: number, variety: number): { rules: Json[]; ruleSet: RuleSet } {
  const chance = chanceOf('bench', `rules-${count}`);
  const kinds = comparisonsOf(chance, variety);
  const pick = () => kinds[Math.floor(chance() * kinds.length)]!();
  const rules: Json[] = [];
  while (rules.length < count) {
    const conditions = { all: [pick(), { any: [pick(), pick()] }, { not: { all: [pick(), pick()] } }] };
    const event = { type: 'limit', params: { maxInstallments: 12 + (rules.length % 80) } };
    const rule = { name: `rule ${rules.length}`, description: 'For the benchmark.', conditions, event };
    if (compileOf([rule]) !== null) rules.push(rule);
  }
  const ruleSet = compileOf(rules);
  if (ruleSet === null) throw new Error('the rules of the benchmark are refused');
  return { rules, ruleSet };
}

/** Null: chance wrote conditions that contradict each other. */
function compileOf(rules: readonly Json[]): RuleSet | null {
  const result = compileRuleSet([
    { path: 'codes.json', text: '{"codes": {}}' },
    { path: 'rules.json', text: JSON.stringify({ rules }) },
  ]);
  return result.kind === 'compiled' ? result.ruleSet : null;
}

function casesOf(): Facts[] {
  const chance = chanceOf('bench', 'rule-facts');
  const between = (least: number, most: number) => Math.floor(least + chance() * (most - least));
  return Array.from({ length: caseCount }, () => ({
    'desk.always': true,
    'worker.ageYears': between(18, 70),
    'worker.tenureMonths': between(0, 120),
    'request.amountReais': between(300, 20_000),
    'request.installments': between(6, 96),
    'margin.availableReais': between(30, 1_500),
    'employer.sector': sectors[between(0, 8)]!,
    'guarantee.present': chance() < 0.4,
    'alerts.codes': chance() < 0.1 ? [String(between(1, 5))] : [],
  }));
}

function engineOf(rules: readonly Json[]): Engine {
  const engine = new Engine();
  for (const { name, conditions } of rules) {
    engine.addRule({ name, conditions, event: { type: 'fired' } } as unknown as RuleProperties);
  }
  return engine;
}

async function refuseDifferences(ruleSet: RuleSet, engine: Engine, cases: readonly Facts[]): Promise<void> {
  for (const facts of cases.slice(0, 50)) {
    const ours = [...evaluateRequest(ruleSet, facts, at).fired].sort();
    const theirs = (await engine.run({ ...facts })).results.map((result) => result.name ?? '').sort();
    if (JSON.stringify(ours) !== JSON.stringify(theirs))
      throw new Error('the two forms disagree; no figure is worth anything');
  }
}

/** Microseconds of each evaluation. */
function timeOurs(ruleSet: RuleSet, cases: readonly Facts[]): number[] {
  return cases.map((facts) => {
    const startedAt = process.hrtime.bigint();
    evaluateRequest(ruleSet, facts, at);
    return Number(process.hrtime.bigint() - startedAt) / 1_000;
  });
}

async function timeLibrary(engine: Engine, cases: readonly Facts[]): Promise<number[]> {
  const taken: number[] = [];
  for (const facts of cases) {
    const startedAt = process.hrtime.bigint();
    await engine.run(facts as Record<string, unknown>);
    taken.push(Number(process.hrtime.bigint() - startedAt) / 1_000);
  }
  return taken;
}

export const rules: Benchmark = {
  run: async (say) => {
    const cases = casesOf();
    const few = ruleSetOf(fewRules, 6);
    const many = ruleSetOf(manyRules, 6);
    const engine = engineOf(few.rules);
    await refuseDifferences(few.ruleSet, engine, cases);
    const taken = { few: [] as number[], many: [] as number[], library: [] as number[] };
    for (let turn = -10; turn < turns; turn += 1) {
      const figures = {
        few: timeOurs(few.ruleSet, cases),
        many: timeOurs(many.ruleSet, cases),
        library: await timeLibrary(engine, cases.slice(0, libraryRuns)),
      };
      if (turn < 0) continue;
      for (const name of ['few', 'many', 'library'] as const) taken[name].push(...figures[name]);
    }
    const [ours, theirs, large] = [median(taken.few), median(taken.library), median(taken.many)];
    const report = {
      ratio: rounded(theirs / ours),
      baseline: 'json-rules-engine on the same rules, one run at a time',
      oursMedianUs: rounded(ours, 2),
      oursP90Us: rounded(quantile(taken.few, 0.9), 2),
      baselineMedianUs: rounded(theirs),
      targetUs: 20,
      targetRatio: 50,
      manyMedianUs: rounded(large),
      manyP90Us: rounded(quantile(taken.many, 0.9)),
      manyTargetUs: 150,
      rules: fewRules,
      manyRules,
    };
    say(`${fewRules} rules: median ${report.oursMedianUs} µs (target ≤ 20 µs), p90 ${report.oursP90Us} µs`);
    say(`${report.baseline}: median ${report.baselineMedianUs} µs, ${report.ratio} × ours (target ≥ 50 ×)`);
    say(`${manyRules} rules that share facts: median ${report.manyMedianUs} µs (target ≤ 150 µs)`);
    return report;
  },
};
