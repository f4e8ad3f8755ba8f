/** Books made with known parameters: the intervals hold them, and few loans say what the whole book says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { defaultRulesDir } from '../../src/config.ts';
import { bookEconomics, type EstimateName, type Lesson } from '../../src/impact/book-economics.ts';
import { chanceOf } from '../../src/impact/chance.ts';
import { economicsRules } from '../../src/impact/economics-rules.ts';
import { judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';

const believed = {
  separationMonthly: 0.03,
  earlySettlementMonthly: 0,
  neverStartedShare: 0.02,
  lossGivenSeparation: 0.24,
};
const names = Object.keys(believed) as EstimateName[];

type Truth = Record<EstimateName, number>;

function normal(chance: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

/** A segment's own parameters, some way off the book's. */
function truthOf(chance: () => number, spread: number): Truth {
  const off = () => Math.exp(spread * normal(chance));
  return {
    separationMonthly: 0.035 * off(),
    earlySettlementMonthly: 0.02 * off(),
    neverStartedShare: 0.03 * off(),
    lossGivenSeparation: Math.min(0.9, Math.max(0.05, 0.35 + 0.2 * spread * normal(chance))),
  };
}

/** Lives one loan month by month by the model of its value, up to so many months, as the import would tell of it. */
function lessonOf(segment: string | null, truth: Truth, months: number, chance: () => number): Lesson {
  const none = () => ({ events: 0, exposure: 0 });
  const counts = { separationMonthly: none(), earlySettlementMonthly: none(), neverStartedShare: none() };
  const lesson: Lesson = { segment, ...counts, lossShare: null, believed };
  const loses = () => Math.min(1, Math.max(0, truth.lossGivenSeparation + 0.15 * normal(chance)));
  if (chance() < truth.neverStartedShare) {
    return { ...lesson, neverStartedShare: { events: 1, exposure: 0.5 }, lossShare: loses() };
  }
  lesson.neverStartedShare.exposure = 1;
  for (let month = 0; month < months; month += 1) {
    if (chance() < truth.separationMonthly) {
      lesson.separationMonthly.events = 1;
      lesson.separationMonthly.exposure += 0.5;
      lesson.earlySettlementMonthly.exposure += 0.5;
      return { ...lesson, lossShare: loses() };
    }
    lesson.separationMonthly.exposure += 1;
    if (chance() < truth.earlySettlementMonthly) {
      lesson.earlySettlementMonthly.events = 1;
      lesson.earlySettlementMonthly.exposure += 0.5;
      return lesson;
    }
    lesson.earlySettlementMonthly.exposure += 1;
  }
  return lesson;
}

test('90 % intervals hold the parameters that the book was made with', (context) => {
  const held = Object.fromEntries(names.map((name) => [name, { held: 0, all: 0 }])) as Record<
    EstimateName,
    { held: number; all: number }
  >;
  for (let seed = 1; seed <= 24; seed += 1) {
    const chance = chanceOf(seed);
    const spread = [0.1, 0.3, 0.6][seed % 3]!;
    const truths = new Map<string, Truth>();
    const lessons: Lesson[] = [];
    for (let place = 0; place < 12; place += 1) {
      const key = `all|a=${place}`;
      const truth = truthOf(chance, spread);
      truths.set(key, truth);
      const loans = Math.ceil(10 * 2 ** (5 * chance()));
      for (let loan = 0; loan < loans; loan += 1)
        lessons.push(lessonOf(key, truth, 6 + Math.floor(18 * chance()), chance));
    }
    for (const row of bookEconomics(lessons).segments) {
      for (const name of names) {
        const { low, high, mean } = row[name];
        assert.ok(low <= mean && mean <= high, `${name} ${low} ${mean} ${high}`);
        held[name].all += 1;
        if (low <= truths.get(row.key)![name] && truths.get(row.key)![name] <= high) held[name].held += 1;
      }
    }
  }
  for (const name of names) {
    const share = held[name].held / held[name].all;
    context.diagnostic(`${name}: ${(100 * share).toFixed(1)} % of ${held[name].all} intervals`);
    // Segments of one book share its mean, so the share scatters more than independent draws do.
    assert.ok(share > 0.84 && share < 0.97, `${name} ${share}`);
  }
});

test('a segment with few loans says what the whole book says; one with many says its own', () => {
  const chance = chanceOf(7);
  const usual = { ...truthOf(chance, 0), separationMonthly: 0.03 };
  const lessons: Lesson[] = [];
  for (let place = 0; place < 8; place += 1) {
    for (let loan = 0; loan < 300; loan += 1) lessons.push(lessonOf(`all|a=${place}`, usual, 18, chance));
  }
  const high = { ...usual, separationMonthly: 0.12 };
  for (let loan = 0; loan < 300; loan += 1) lessons.push(lessonOf('all|a=many', high, 18, chance));
  const ended = { events: 1, exposure: 0.5 };
  for (let loan = 0; loan < 2; loan += 1) {
    lessons.push({ ...lessonOf('all|a=few', usual, 18, chance), separationMonthly: ended, lossShare: 0.9 });
  }
  const { book, segments } = bookEconomics(lessons);
  const of = (key: string) => segments.find((row) => row.key === key)!;
  const { few, many } = { few: of('all|a=few').separationMonthly, many: of('all|a=many').separationMonthly };
  // Alone, two ends in one month of exposure would be a hazard of 86 %.
  assert.ok(few.mean < 0.15 && few.low < book.separationMonthly.mean, `${few.mean}`);
  assert.ok(few.high - few.low > many.high - many.low);
  assert.ok(Math.abs(many.mean - 0.12) < 0.015, `${many.mean}`);
  assert.ok(of('all|a=few').lossGivenSeparation.mean < 0.6);
});

test('without an event the book says what its decisions believed, less what was seen; the same book gives the same figures', () => {
  const none = { events: 0, exposure: 0 };
  const quiet: Lesson = {
    ...{ segment: 'all|a=1', separationMonthly: none, earlySettlementMonthly: none, neverStartedShare: none },
    ...{ lossShare: null, believed },
  };
  const { book, segments } = bookEconomics([quiet]);
  assert.ok(Math.abs(book.separationMonthly.mean - 0.03) < 0.003, `${book.separationMonthly.mean}`);
  assert.ok(Math.abs(book.lossGivenSeparation.mean - 0.24) < 0.04);
  assert.ok(book.separationMonthly.high > 0.06 && book.separationMonthly.low < 0.006);
  assert.deepEqual(bookEconomics([quiet]), { book, segments });
  const lived = { ...quiet, separationMonthly: { events: 0, exposure: 300 } };
  assert.ok(bookEconomics([lived]).book.separationMonthly.mean < 0.005);
  assert.equal(bookEconomics([]).segments.length, 0);
});

test('rules made from a book compile beside the shipped ones, and their tests show all of each', () => {
  const chance = chanceOf(3);
  const truth = truthOf(chance, 0);
  const keys = [
    'all|guarantee.present=true|employer.sector=commerce|worker.tenureMonths=<12',
    'all|guarantee.present=true|employer.sector=commerce|worker.tenureMonths=12-36',
    'all|guarantee.present=false|employer.sector=public|worker.tenureMonths=36+',
  ];
  const lessons = keys.flatMap((key) => Array.from({ length: 40 }, () => lessonOf(key, truth, 12, chance)));
  const economics = bookEconomics(lessons);
  const shipped = readRuleFiles(defaultRulesDir);
  for (const count of [1, 3]) {
    const words = { name: (key: string) => key, description: () => 'Estimated.', highestPriority: 20 };
    const own = { ...economics, segments: economics.segments.slice(0, count) };
    const proposal = economicsRules(own, { ...words, cautionDeviations: 0 });
    const files = [
      { path: 'economics-book.json', text: JSON.stringify(proposal.rules) },
      { path: 'economics-book.test.json', text: JSON.stringify(proposal.tests) },
    ];
    const alone = judgeRules([...shipped.filter(({ path }) => path === 'codes.json'), ...files], 100);
    assert.equal(alone.kind, 'good', reasonsAgainst(alone).join('\n'));
    const beside = judgeRules([...shipped, ...files], 100);
    assert.notEqual(beside.kind, 'refused', reasonsAgainst(beside).join('\n'));
    const cautious = economicsRules(own, { ...words, cautionDeviations: 2 });
    const paramsOf = ({ rules }: { rules: object }) =>
      (rules as { rules: { event: { params: Record<string, number> } }[] }).rules[0]!.event.params;
    for (const [name, value] of Object.entries(paramsOf(proposal))) assert.ok(paramsOf(cautious)[name]! > value, name);
  }
});
