/** The played world: seeded, valid, and its distributions what they are said to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cnpj, cpf } from 'cpf-cnpj-validator';
import { maxRateHundredths, noRivalCell } from '../../src/domain/glossary.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { dayNumber } from '../../src/sandbox/loan.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import {
  countBestRival,
  modelRivals,
  readRecordedRates,
  recordedRivals,
  winProbability,
} from '../../src/sandbox/rivals.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { chooseAsWorker, trueAcceptance, trueValue } from '../../src/sandbox/worker-choice.ts';
import { regimeAt, type Segment, defaultWorld as world } from '../../src/sandbox/world.ts';

const plain: Segment = { sector: 'services', tenure: 'middle', guaranteed: false };
const releasedOn = dayNumber(2026, 11, 21);

test('the same seed gives the same requests, in any order; another seed others', () => {
  const forward = [0, 1, 2, 3].map((index) => requestAt(world, '7', index, 100));
  const backward = [3, 2, 1, 0].map((index) => requestAt(world, '7', index, 100)).reverse();
  assert.deepEqual(forward, backward);
  assert.notDeepEqual(forward[0], requestAt(world, '8', 0, 100));
});

test('people and companies have valid numbers, letters included; ids are unique and some exceed a double', () => {
  const requests = Array.from({ length: 600 }, (_, index) => requestAt(world, '3', index, 600));
  for (const { worker } of requests) {
    assert.ok(cpf.isValid(worker.cpf, true), 'cpf');
    const { employer } = worker;
    assert.ok(employer.idType === 1 ? cnpj.isValid(employer.id) : cpf.isValid(employer.id, true), employer.id);
  }
  assert.ok(requests.some(({ worker }) => worker.employer.idType === 1 && /[A-Z]/.test(worker.employer.id)));
  assert.ok(requests.some(({ worker }) => worker.employer.idType === 2));
  assert.equal(new Set(requests.map(({ requestId }) => requestId)).size, 600);
  assert.ok(requests.some(({ requestId }) => requestId.length === 19 && String(Number(requestId)) !== requestId));
});

test('shares of the population are near their settings', () => {
  const requests = Array.from({ length: 4_000 }, (_, index) => requestAt(world, '5', index, 4_000));
  const share = (is: (request: (typeof requests)[number]) => boolean) => requests.filter(is).length / requests.length;
  const near = (actual: number, wanted: number) =>
    assert.ok(Math.abs(actual - wanted) < 0.025, `${actual} ~ ${wanted}`);
  near(
    share((request) => request.marginOmitted),
    world.marginOmittedShare,
  );
  near(
    share((request) => request.guarantee !== null),
    world.guaranteedShare,
  );
  near(
    share((request) => !request.worker.eligible),
    world.ineligibleShare,
  );
  near(
    share((request) => request.segment.tenure === 'long'),
    world.tenureShares.long,
  );
});

test('regimes change at equal distances', () => {
  const regimes = Array.from({ length: 9 }, (_, index) => regimeAt(world, index, 9));
  assert.deepEqual(regimes, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
});

test('the counted distribution of the best rival is that of the bids drawn', () => {
  const draws = 30_000;
  const rivals = modelRivals(world, 'sample');
  for (const segment of [plain, { ...plain, guaranteed: true }]) {
    const counted = countBestRival(world, segment, 1);
    const seen = new Float64Array(noRivalCell + 1);
    for (let index = 0; index < draws; index += 1) {
      const rates = rivals.bidsOn(index, segment, 1).map((bid) => bid.rateHundredths);
      seen[rates.length === 0 ? noRivalCell : Math.ceil(Math.min(...rates))]! += 1 / draws;
    }
    let gap = 0;
    let sum = 0;
    for (let cell = 0; cell <= noRivalCell; cell += 1) {
      sum += counted.best[cell]! - seen[cell]!;
      gap = Math.max(gap, Math.abs(sum));
      assert.ok(counted.exact[cell]! <= counted.best[cell]! + 1e-12);
    }
    assert.ok(gap < 0.012, `largest distance of the two sums is ${gap}`);
    assert.ok(Math.abs(counted.best.reduce((total, mass) => total + mass) - 1) < 1e-9);
  }
});

test('guaranteed requests stay under their ceiling, and round habits leave atoms', () => {
  const guaranteed = countBestRival(world, { ...plain, guaranteed: true }, 2);
  for (let cell = 200; cell <= maxRateHundredths; cell += 1) assert.equal(guaranteed.best[cell], 0);
  const best = countBestRival(world, plain, 0).best;
  assert.ok(best[249]! > 2 * best[248]! && best[249]! > 2 * best[247]!, 'atom at 2.49');
});

test('win probability falls with the rate and counts a tie by half', () => {
  const rival = countBestRival(world, plain, 0);
  let before = 1;
  for (let rate = 2; rate <= maxRateHundredths; rate += 1) {
    const win = winProbability(rival, rate);
    assert.ok(win <= before + 1e-12);
    before = win;
  }
  const tie = winProbability(rival, 249, 1) - winProbability(rival, 249, 0);
  assert.ok(Math.abs(tie - rival.exact[249]!) < 1e-12);
});

test('recorded rivals come in order or at random, and their distribution is the whole file', () => {
  const text = '{"id":"1","rates":[250,240.5]}\n{"id":"2","rates":[]}\n{"id":"3","rates":[260]}\n';
  const auctions = readRecordedRates(text, 'file');
  const inOrder = recordedRivals(world, '7', auctions, 'in-order');
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => inOrder.bidsOn(index, plain, 0).map((bid) => bid.rateHundredths)),
    [[250, 240.5], [], [260], [250, 240.5]],
  );
  const { best, exact } = inOrder.bestRival(plain, 0);
  assert.ok(Math.abs(best[241]! - 1 / 3) < 1e-12 && exact[241] === 0);
  assert.ok(Math.abs(exact[260]! - 1 / 3) < 1e-12 && Math.abs(best[noRivalCell]! - 1 / 3) < 1e-12);
  assert.throws(() => readRecordedRates('{"id":"1","rates":["x"]}', 'file'), /file, line 1: "rates" must be/);
  assert.throws(() => readRecordedRates('{', 'file'), /line 1: not JSON/);
});

const terms = {
  amountCents: 380_000,
  installments: 24,
  segment: plain,
  guarantee: null,
  requestedAmountCents: 380_000,
  requestedInstallments: 24,
  releasedOn,
  rival: countBestRival(world, plain, 0),
};

test('the truth: break-even inside the market, acceptance falls, selection costs', () => {
  const at = (rateHundredths: number) => trueValue(world, { ...terms, rateHundredths });
  let breakEven = 100;
  while (at(breakEven).valueCents < 0) breakEven += 1;
  assert.ok(breakEven > 200 && breakEven < 260, `break-even ${breakEven}`);
  assert.ok(at(400).acceptance < at(250).acceptance);
  assert.ok(at(400).lossMultiplier > at(250).lossMultiplier && at(250).lossMultiplier > 1);
  const blind = { ...world, selection: { win: 0, rate: 0 } };
  assert.ok(trueValue(blind, { ...terms, rateHundredths: 300 }).valueCents > at(300).valueCents);
  const half = trueAcceptance(world, { ...terms, rateHundredths: 250, amountCents: 190_000 });
  assert.ok(half < at(250).acceptance);
  assert.ok(trueAcceptance(world, { ...terms, rateHundredths: 250, installments: 30 }) < at(250).acceptance);
  const secured = (balance: number) =>
    trueValue(world, {
      ...terms,
      rateHundredths: 250,
      guarantee: { fgtsBalanceCents: balance, terminationFineCents: 0.4 * balance },
    }).valueCents;
  assert.ok(secured(200_000) > at(250).valueCents && secured(400_000) > secured(200_000));
});

test('what workers do happens as often as the truth says', () => {
  const offer = { ...terms, rateHundredths: 300 };
  const choices = Array.from({ length: 4_000 }, (_, index) => chooseAsWorker(world, '7', index, offer));
  const accepted = choices.filter((choice) => choice.accepted).length / choices.length;
  assert.ok(Math.abs(accepted - trueAcceptance(world, offer)) < 0.03);
  assert.ok(choices.every((choice) => choice.accepted || choice.defaultedInMonth === null));
  assert.deepEqual(chooseAsWorker(world, '7', 5, offer), choices[5]);
});

test('streams of chance by name', () => {
  const first = chanceOf('a', 1);
  const again = chanceOf('a', 1);
  const values = Array.from({ length: 2_000 }, () => first());
  assert.deepEqual(
    values.slice(0, 5),
    Array.from({ length: 5 }, () => again()),
  );
  const mean = values.reduce((sum, value) => sum + value) / values.length;
  assert.ok(Math.abs(mean - 0.5) < 0.03);
  assert.notEqual(chanceOf('a', 2)(), values[0]);
  // Names one digit apart must not give streams that move together.
  const firsts = Array.from({ length: 2_000 }, (_, index) => chanceOf('seed', 'request', index)());
  let product = 0;
  for (let index = 1; index < firsts.length; index += 1) product += (firsts[index]! - 0.5) * (firsts[index - 1]! - 0.5);
  assert.ok(Math.abs(product / firsts.length / (1 / 12)) < 0.08, `correlation ${product / firsts.length / (1 / 12)}`);
});

test('settings: unknown keys and wrong kinds are refused all at once', () => {
  assert.throws(
    () => sandboxSettings({ auction: { windowMS: 1 }, world: { alertShare: 2 }, pace: { overlapping: 'no' } }),
    (error: Error) =>
      /auction\.windowMS is not a setting/.test(error.message) &&
      /world\.alertShare is above 1/.test(error.message) &&
      /pace\.overlapping is string; write a boolean/.test(error.message),
  );
  const settings = sandboxSettings({
    tokens: { lifetimeMs: 500 },
    world: { regimes: [{ markupHundredths: -5, participation: 1 }] },
  });
  assert.equal(settings.tokens.lifetimeMs, 500);
  assert.equal(settings.world.regimes.length, 1);
  assert.equal(settings.world.lenders.length, world.lenders.length);
});
