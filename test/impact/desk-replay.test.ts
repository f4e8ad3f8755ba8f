/** What a replayed decision knew at its time: the controls, the link and the acceptance of the record; and exposure that ends by itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFormat } from '../../src/cli/format.ts';
import { impactText } from '../../src/cli/rules-impact-text.ts';
import { measureImpact } from '../../src/impact/impact.ts';
import type { RecordedCase } from '../../src/impact/recorded-cases.ts';
import { type Replayed, replaySets } from '../../src/impact/replay-sets.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { casesOf, policyWith, ruleFile, settings } from './recorded.ts';

async function replay(cases: readonly RecordedCase[], policy = policyWith()): Promise<Replayed> {
  const [replayed] = await replaySets(cases, [{ policy, shares: false }], settings, () => undefined);
  return replayed!;
}

const bidsIn = ({ decisions }: Replayed) => decisions.filter(({ kind }) => kind === 'bid').length;
const codesIn = ({ decisions }: Replayed) =>
  new Set(decisions.map((decision) => (decision.kind === 'bid' ? 'bid' : decision.code)));

test('requests of one moment are decided together, but for those with other controls', async () => {
  const cases = casesOf(10).map((recorded, place) => {
    const caps: Record<string, number> = place < 4 ? { desk: 1 } : {};
    return { ...recorded, control: { paused: false, caps } };
  });
  const replayed = await replay(cases);
  assert.deepEqual(replayed.groups, [4, 6]);
  assert.equal(replayed.decisions.slice(0, 4).filter(({ kind }) => kind === 'bid').length, 0);
  assert.ok(bidsIn(replayed) > 0);
  assert.deepEqual((await replay(casesOf(20))).groups, [10, 10]);
});

test('what own wins had taught of acceptance by then counts', async () => {
  const taught = casesOf(60, (recorded) => ({
    ...recorded,
    acceptance: { midpointShiftPercent: 0, ceilingFactor: 0.5 },
  }));
  const [plain, shifted] = [await replay(casesOf(60)), await replay(taught)];
  const most = ({ decisions }: Replayed) =>
    Math.max(...decisions.map((decision) => (decision.kind === 'bid' ? decision.worth.acceptance : 0)));
  assert.ok(most(shifted) > 0 && most(shifted) < 0.6 * most(plain), `${most(shifted)} ${most(plain)}`);
});

test('the link counts as it was known then', async () => {
  const barred = casesOf(60, (recorded) => ({ ...recorded, link: { ...sampleLink, eligible: false } }));
  const replayed = await replay(barred);
  assert.equal(bidsIn(replayed), 0);
  assert.ok(codesIn(replayed).has('not-eligible'));
  assert.ok(bidsIn(await replay(casesOf(60))) > 20);
});

test('what is promised and never heard of again is free when the bid and its grace are over', async () => {
  const apartMs = settings.bidValidityMs + settings.graceMs;
  const open = casesOf(20).map((recorded, place) => {
    const receivedAt = recorded.request.receivedAt + (place < 10 ? 0 : apartMs);
    return { ...recorded, auction: null, decidedAt: receivedAt, request: { ...recorded.request, receivedAt } };
  });
  const { moves } = await replay(open);
  const sums = moves.map((own) => own.map(({ amountCents }) => amountCents));
  // Before each group is decided: what came under exposure since the one before, and what left it.
  const promised = [...sums[0]!, ...sums[1]!].filter((cents) => cents > 0).reduce((sum, cents) => sum + cents, 0);
  const freed = sums[1]!.filter((cents) => cents < 0).reduce((sum, cents) => sum + cents, 0);
  const first = sums[0]!.reduce((sum, cents) => sum + cents, 0);
  assert.ok(first > 0 && promised > first);
  assert.equal(freed, -first);
});

test('a cap on the number of bids holds', async () => {
  const few = ruleFile(
    'Three a day',
    { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    { type: 'cap', params: { name: 'three', keyFacts: [], window: 'day', maxCount: 3 } },
  );
  const open = casesOf(60, (recorded) => ({ ...recorded, auction: null }));
  const replayed = await replay(open, policyWith(few));
  assert.equal(bidsIn(replayed), 3);
  assert.ok(codesIn(replayed).has('cap'));
  const full = replayed.decisions.filter((decision) => decision.kind === 'pass' && decision.code === 'cap');
  assert.ok(full.length > 10);
  for (const decision of full) assert.deepEqual(decision.kind === 'pass' && decision.caps, ['three']);
  assert.equal(replayed.capPeaks.get('three')?.count, 3);
});

test('a source that nobody asked then is unknown, and no case is left without a decision', async () => {
  const source = {
    ...{ description: 'A score.', endpoint: 'bureau', send: ['request.amountReais'] },
    ...{ reply: { score: { type: 'number', unit: 'points' } }, timeoutMs: 500, maxAskedPerDay: 10 },
  };
  const declared = { path: 'bureau.source.json', text: JSON.stringify(source) };
  const weak = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };
  const limit = ruleFile('Weak', weak, { type: 'limit', params: { maxAmountReais: 15_000 } });
  const limited = await replay(casesOf(60), policyWith(declared, limit));
  assert.ok(bidsIn(limited) > 20);
  const pass = ruleFile('Weak', weak, { type: 'pass', params: { code: 'alerts', reason: 'of a test' } });
  assert.ok(codesIn(await replay(casesOf(60), policyWith(declared, pass))).has('fact-missing:source.bureau.score'));
});

const poorlyPaid = ruleFile(
  'Earnings',
  { all: [{ fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 100 }] },
  { type: 'pass', params: { code: 'alerts', reason: 'of a test' } },
);
const wellPaid = ruleFile(
  'Well paid',
  { all: [{ fact: 'worker.totalEarningsReais', operator: 'greaterThan', value: 100_000 }] },
  { type: 'limit', params: { minSpreadPercent: 0.1, maxInstallments: 24 } },
);

const numbered = (recorded: RecordedCase, authorisationNumber: string | null, workerKey?: string): RecordedCase => ({
  ...recorded,
  request: { ...recorded.request, authorisationNumber, ...(workerKey === undefined ? {} : { workerKey }) },
});

test('where the desk may not ask for the link it decides without, and so does the replay', async () => {
  const forbidden = casesOf(60, (recorded) => numbered(recorded, null));
  const replayed = await replay(forbidden, policyWith(poorlyPaid));
  assert.equal(replayed.linkUnknown.size, 0);
  assert.ok(codesIn(replayed).has('authorisation-missing'));
  assert.ok(!codesIn(replayed).has('fact-missing:worker.totalEarningsReais'));
  assert.equal(bidsIn(replayed), 0);
  const useful = await replay(forbidden, policyWith(wellPaid));
  assert.equal(useful.linkUnknown.size, 0);
  assert.ok(bidsIn(useful) > 20, 'a limit that the link may decide is left undecided');
  const allowed = await replay(
    casesOf(60, (recorded) => numbered(recorded, '1')),
    policyWith(poorlyPaid),
  );
  assert.ok(allowed.linkUnknown.size > 20);
  assert.ok(!codesIn(allowed).has('authorisation-missing'));
  const anyway = { ...settings, askWithoutAuthorisation: true };
  const sets = [{ policy: policyWith(poorlyPaid), shares: false }];
  const [always] = await replaySets(forbidden, sets, anyway, () => undefined);
  assert.deepEqual(always!.linkUnknown, allowed.linkUnknown);
});

test('the replay may ask without a number once a query with one was taken, from the next decision on', async () => {
  const [first, ...others] = casesOf(30);
  const known = { ...numbered(first!, '1', 'known'), link: sampleLink };
  const later = others.map((recorded) => numbered(recorded, null, 'known'));
  const told = await replay([known, ...later], policyWith(poorlyPaid));
  const asked = later.map(({ request }) => told.linkUnknown.has(request.requestId));
  assert.ok(!asked.slice(0, 9).includes(true), 'of the same moment');
  assert.ok(asked.slice(9).filter((one) => one).length > 10);
  // A query that the set would have sent counts as well.
  const sent = await replay([{ ...known, link: null }, ...later], policyWith(poorlyPaid));
  assert.equal(sent.linkUnknown.size, told.linkUnknown.size + 1);
  const vain = await replay([{ ...known, link: null, linkAskedInVain: true }, ...later], policyWith(poorlyPaid));
  assert.equal(vain.linkUnknown.size, 0, 'nothing tells that the service took it');
});

test('requests that are set apart take no room under a cap and make no peaks, whichever set would have asked', async () => {
  const few = ruleFile(
    'Three a day',
    { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    { type: 'cap', params: { name: 'three', keyFacts: [], window: 'day', maxCount: 3 } },
  );
  const cases = casesOf(60).map((recorded, place) => {
    const open = { ...numbered(recorded, '1'), auction: null };
    if (place < 30) return open;
    const { birthDate, admissionDate } = recorded.request;
    const link = { ...sampleLink, birthDate, admissionDate, totalEarningsCents: 300_000 };
    return { ...open, link };
  });
  const alone = await replay(cases, policyWith(few, poorlyPaid));
  assert.ok(alone.linkUnknown.size > 20);
  assert.equal(bidsIn(alone), 3);
  assert.equal(alone.capPeaks.get('three')?.count, 3);
  const bidsOn = alone.decisions.flatMap((decision, place) => (decision.kind === 'bid' ? [place] : []));
  assert.ok(bidsOn.every((place) => place >= 30));
  const options = { settings, warmUp: 0, seed: 1, draws: 10, elsewhere: null, onProgress: () => undefined };
  const plain = policyWith(few);
  for (const kind of ['impact', 'shadow'] as const) {
    for (const [current, candidate] of [
      [plain, policyWith(few, poorlyPaid)],
      [policyWith(few, poorlyPaid), plain],
    ] as const) {
      const report = await measureImpact(cases, { ...options, kind, current, candidate });
      const asks = current === plain ? 'candidate' : 'current';
      assert.equal(report.linkNotOnRecord[asks], alone.linkUnknown.size);
      assert.equal(report.linkNotOnRecord.requests, alone.linkUnknown.size);
      assert.equal(report.segments[0]!.current.bids, 3, `${kind} ${asks}`);
      assert.equal(report.caps.find(({ name }) => name === 'three')?.current?.count, 3);
      if (kind === 'impact') assert.equal(report.segments[0]!.candidate.bids, 3, asks);
    }
  }
});

test('a pass by a limit names the rules that set it', async () => {
  const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
  const short = ruleFile('Short loans', always, { type: 'limit', params: { maxInstallments: 2 } });
  const [first] = casesOf(10);
  const asked = { ...first!, request: { ...first!.request, requestedInstallments: 48 } };
  const by = async (...files: Parameters<typeof policyWith>) => {
    const [decision] = (await replay([asked], policyWith(...files))).decisions;
    return decision!.kind === 'pass' ? [decision!.code, decision!.limitRules] : decision;
  };
  assert.deepEqual(await by(short), ['installments-out-of-range', ['Short loans']]);
  const long = ruleFile('Long loans', always, { type: 'limit', params: { minInstallments: 12 } });
  assert.deepEqual(await by(short, long), ['limits-conflict', ['Long loans', 'Short loans']]);
});

test('how the desk fares in its segment is a fact from 20 auctions of ours on, and may close the segment', async () => {
  const known = { fact: 'market.auctions', operator: 'greaterThanInclusive', value: 20 };
  const old = { fact: 'market.ageMinutes', operator: 'lessThan', value: 600 };
  const closes = { type: 'pass', params: { code: 'alerts', reason: 'of a test' } };
  const decided = await replay(casesOf(600), policyWith({ ...ruleFile('Enough', { all: [known, old] }, closes) }));
  const bids = new Map<string, number>();
  let closed = 0;
  for (const decision of decided.decisions) {
    const segment = decision.segmentKeys.at(-1)!;
    if (decision.kind === 'bid') bids.set(segment, (bids.get(segment) ?? 0) + 1);
    else if (decision.code === 'alerts' && decision.reasons[0]?.rule === 'Enough') {
      closed += 1;
      assert.ok((bids.get(segment) ?? 0) >= 20, `${segment} after ${bids.get(segment)}`);
    }
  }
  assert.ok(closed > 20, `${closed} passes`);
});

test('a person\'s answer on record counts for the rule that it was given to; without one, "otherwise" does, and both are counted', async () => {
  const asks = (name: string, otherwise: string) =>
    ruleFile(
      name,
      { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
      { type: 'review', params: { queue: 'all', minutes: 20, otherwise } },
    );
  const answer = (place: number) => ({
    ...{ decision: place % 3 === 0 ? ('pass' as const) : ('bid' as const), by: 'ana', reason: 'seen', at: 1 },
  });
  const cases = casesOf(60).map((recorded, place) => {
    const review = { queue: 'all', rules: ['Asked'], askedAt: 0, until: 2, otherwise: 'pass' as const };
    return place % 2 === 0 ? { ...recorded, review: { ...review, answer: answer(place) } } : recorded;
  });
  const plain = await replay(casesOf(60, (recorded) => ({ ...recorded, auction: null })));
  const open = cases.map((recorded) => ({ ...recorded, auction: null }));
  const decided = await replay(open, policyWith(asks('Asked', 'pass')));
  const bids = plain.decisions.map(({ kind }) => kind === 'bid');
  for (const [place, isBid] of bids.entries()) {
    const decision = decided.decisions[place]!;
    if (!isBid) continue;
    const code = decision.kind === 'bid' ? 'bid' : decision.code;
    const refused = place % 3 === 0 ? 'review-refused' : 'bid';
    assert.equal(code, place % 2 === 0 ? refused : 'review-expired', String(place));
  }
  const of = (wanted: string) => [...decided.reviews.values()].filter((one) => one === wanted).length;
  assert.equal(of('answered'), bids.filter((isBid, place) => isBid && place % 2 === 0).length);
  assert.equal(of('unanswered'), bids.filter((isBid, place) => isBid && place % 2 === 1).length);
  // Another rule was not answered: what it says otherwise holds.
  const other = await replay(open, policyWith(asks('Another', 'bid')));
  assert.equal(bidsIn(other), bids.filter((isBid) => isBid).length);
  assert.ok([...other.reviews.values()].every((one) => one === 'unanswered'));
  const options = { kind: 'impact' as const, settings, warmUp: 0, seed: 1, draws: 1, elsewhere: null };
  const sets = { current: policyWith(), candidate: policyWith(asks('Asked', 'pass')) };
  const report = await measureImpact(open, { ...options, ...sets, onProgress: () => undefined });
  const candidate = { asked: of('answered') + of('unanswered'), answered: of('answered') };
  assert.deepEqual(report.reviews, { current: { asked: 0, answered: 0 }, candidate });
  const text = impactText(report, createFormat('en'));
  assert.match(text, /those of a replay, not what the desk realised/);
  assert.match(text, new RegExp(`${candidate.asked} of the candidate \\(${candidate.answered}\\)`));
});
