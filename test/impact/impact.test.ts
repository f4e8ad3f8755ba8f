/** Impact: the figures against a second, plainly written count; equal sets; a blocked segment; the same bytes again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { createFormat } from '../../src/cli/format.ts';
import { createReplayApart } from '../../src/cli/replay-apart.ts';
import { impactPage } from '../../src/cli/rules-impact-page.ts';
import { impactText } from '../../src/cli/rules-impact-text.ts';
import type { Passed } from '../../src/domain/records.ts';
import { bootstrap } from '../../src/impact/bootstrap.ts';
import type { SetDecision } from '../../src/impact/desk-replay.ts';
import { type ImpactOptions, measureImpact } from '../../src/impact/impact.ts';
import { recordedCaseOf } from '../../src/impact/recorded-cases.ts';
import { replaySets } from '../../src/impact/replay-sets.ts';
import { encodeAuditLine, readAuditLine } from '../../src/wire/audit-line.ts';
import {
  casesOf,
  config,
  linesOf,
  mapping,
  policyWith,
  pseudonymKey,
  ruleFile,
  settings,
  shippedFiles,
  startsAt,
} from './recorded.ts';

const blocksCommerce = ruleFile(
  'No commerce',
  { all: [{ fact: 'employer.sector', operator: 'equal', value: 'commerce' }] },
  { type: 'pass', params: { code: 'alerts', reason: 'not now' } },
);

const poorlyPaid = ruleFile(
  'Earnings',
  { all: [{ fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 100 }] },
  { type: 'pass', params: { code: 'alerts', reason: 'of a test' } },
);

const cases = casesOf(300);
const base: Omit<ImpactOptions, 'current' | 'candidate'> = {
  kind: 'impact',
  settings,
  warmUp: 0,
  seed: 1,
  draws: 50,
  elsewhere: null,
  onProgress: () => undefined,
};

test('a set beside itself turns nothing and differs in nothing, in whatever order the lines stand', async () => {
  const report = await measureImpact(cases, { ...base, current: policyWith(), candidate: policyWith() });
  assert.deepEqual([report.requests, report.judged, report.batches, report.flips.length], [300, 300, 30, 0]);
  for (const { toPass, toBid, otherBid, difference, key } of report.segments) {
    assert.deepEqual([toPass, toBid, otherBid], [0, 0, 0]);
    for (const [name, { value, low, high }] of Object.entries(difference)) {
      assert.deepEqual([value ?? 0, low, high], [0, 0, 0], `${key} ${name}`);
    }
  }
  assert.ok(report.segments[0]!.current.bids > 100);
  const turned = [...cases.slice(150), ...cases.slice(0, 150)];
  const again = await measureImpact(turned, { ...base, current: policyWith(), candidate: policyWith() });
  assert.deepEqual(again, report);
});

test('a set that blocks a segment turns exactly the bids of that segment, and the same bytes come out again', async () => {
  const run = () => measureImpact(cases, { ...base, current: policyWith(), candidate: policyWith(blocksCommerce) });
  const report = await run();
  const [replayed] = await replaySets(cases, [{ policy: policyWith(), shares: false }], settings, () => undefined);
  const wanted = cases.flatMap(({ request }, place) => {
    const decision = replayed!.decisions[place]!;
    const isCommerce = decision.segmentKeys.includes('all|employer.sector=commerce');
    return decision.kind === 'bid' && isCommerce ? [request.requestId] : [];
  });
  // A set that bids less also learns less of which reading of the market serves: a bid on the edge may turn with that.
  const toPass = report.flips.filter(({ turn, rules }) => turn === 'to-pass' && rules.length > 0);
  assert.ok(report.flips.filter(({ rules }) => rules.length === 0).length <= 3);
  assert.ok(wanted.length > 20);
  assert.deepEqual(toPass.map(({ requestId }) => requestId).sort(), wanted.sort());
  for (const { to, rules } of toPass) assert.deepEqual([to, rules], ['alerts', ['No commerce']]);
  const commerce = report.segments.find(({ key }) => key === 'all|employer.sector=commerce')!;
  assert.equal(commerce.toPass, wanted.length);
  assert.equal(commerce.candidate.bids, 0);
  assert.equal(commerce.candidate.winRate, null);
  assert.equal(commerce.difference.bids.value, -wanted.length);
  assert.ok(commerce.difference.bids.low <= -wanted.length && commerce.difference.bids.high >= -wanted.length);
  assert.equal(JSON.stringify(await run()), JSON.stringify(report));
});

test('the candidate replayed in a thread of its own gives the same bytes', async () => {
  const options = { ...base, current: policyWith(), candidate: policyWith(blocksCommerce) };
  const here = await measureImpact(cases, options);
  const files = [...shippedFiles, blocksCommerce];
  const { pricing, bidding, economics } = config;
  const model = { pricing, bidding, economics, settings: config.settings };
  const thread = createReplayApart({ model, files, mapping, pseudonymKey });
  try {
    // The pieces need not come in order.
    thread.take(1, cases.slice(120));
    const text = linesOf(300).slice(0, 120).join('');
    const { cases: read, lines, bad } = await thread.read(0, text);
    assert.deepEqual(read, cases.slice(0, 120));
    assert.deepEqual([lines, bad, thread.waiting()], [121, [], 0]);
    const apart = await measureImpact(cases, { ...options, elsewhere: thread.replay });
    assert.equal(JSON.stringify(apart), JSON.stringify(here));
    // What only the current set would have asked for begins both again, the thread's set as well.
    const asking = { ...options, current: policyWith(poorlyPaid) };
    const [there, again] = [
      await measureImpact(cases, { ...asking, elsewhere: thread.replay }),
      await measureImpact(cases, asking),
    ];
    assert.ok(there.linkNotOnRecord.current > 100);
    assert.equal(JSON.stringify(there), JSON.stringify(again));
  } finally {
    await thread.close();
  }
});

/** The same figures, counted from the decisions in one plain pass. */
function plainCount(decisions: readonly SetDecision[]) {
  const count = { bids: 0, wins: 0, volumeCents: 0, expectedProfitCents: 0, profit: 0 };
  for (const [place, decision] of decisions.entries()) {
    if (decision.kind === 'pass') continue;
    const { rateHundredths, amountCents, expectedValueCents } = decision.offer;
    const rivals = cases[place]!.auction!.rivals;
    const below = rivals.some((bid) => (bid.offGrid ? bid.rateHundredths - 0.5 : bid.rateHundredths) < rateHundredths);
    const equal = rivals.some((bid) => !bid.offGrid && bid.rateHundredths === rateHundredths);
    const win = below ? 0 : equal ? 0.5 : 1;
    const { acceptance, valueIfReleasedCents, bidCostCents } = decision.worth;
    count.bids += 1;
    count.wins += win;
    count.volumeCents += amountCents;
    count.expectedProfitCents += expectedValueCents;
    count.profit += win * acceptance * valueIfReleasedCents - bidCostCents;
  }
  return count;
}

test('the figures are those of a plain count', async () => {
  const dearer = ruleFile(
    'Dearer',
    { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    { type: 'limit', params: { minSpreadPercent: 0.9 } },
  );
  const current = policyWith();
  const candidate = policyWith(dearer);
  const report = await measureImpact(cases, { ...base, current, candidate });
  for (const [side, policy] of [
    ['current', current],
    ['candidate', candidate],
  ] as const) {
    const [replayed] = await replaySets(cases, [{ policy, shares: false }], settings, () => undefined);
    const plain = plainCount(replayed!.decisions);
    const { bids, wins, volumeCents, expectedProfitCents, profitGivenBidsCents, winRate } = report.segments[0]![side];
    assert.deepEqual(
      { bids, wins, volumeCents, expectedProfitCents, profit: profitGivenBidsCents },
      {
        ...plain,
        profit: Math.round(plain.profit),
      },
    );
    assert.ok(Math.abs(winRate! - plain.wins / plain.bids) < 1e-9);
  }
  assert.ok(report.segments[0]!.otherBid > 0);
});

test('nothing is learnt of an auction before its end is known', async () => {
  const policy = policyWith();
  const told = await replaySets(cases, [{ policy, shares: false }], settings, () => undefined);
  const late = casesOf(300, (recorded) => ({
    ...recorded,
    // All ends known only after the last decision: other rivals then change nothing.
    auction: { ...recorded.auction!, knownAt: startsAt + 1e9, rivals: [] },
  }));
  const later = casesOf(300, (recorded) => ({
    ...recorded,
    auction: { ...recorded.auction!, knownAt: startsAt + 1e9 },
  }));
  const [one] = await replaySets(late, [{ policy, shares: false }], settings, () => undefined);
  const [other] = await replaySets(later, [{ policy, shares: false }], settings, () => undefined);
  assert.deepEqual(one!.decisions, other!.decisions);
  assert.notDeepEqual(told[0]!.decisions, other!.decisions);
});

test('pauses and caps by hand hold for both sets; losing a bid gives its room back', async () => {
  const paused = casesOf(100, (recorded) => ({ ...recorded, control: { paused: true, caps: {} } }));
  const policy = policyWith();
  const [stopped] = await replaySets(paused, [{ policy, shares: false }], settings, () => undefined);
  const codes = stopped!.decisions.map((decision) => (decision.kind === 'bid' ? 'bid' : decision.code));
  assert.ok(!codes.includes('bid') && codes.includes('paused'));
  const limitCents = 3_000_000;
  const capped = casesOf(300, (recorded) => ({ ...recorded, control: { paused: false, caps: { desk: limitCents } } }));
  const [held] = await replaySets(capped, [{ policy, shares: false }], settings, () => undefined);
  assert.ok(held!.decisions.some((decision) => decision.kind === 'pass' && decision.code === 'cap'));
  // By hand: what is promised at any time is what was bid, less what was lost.
  let promised = 0;
  let most = 0;
  for (const { amountCents } of held!.moves.flat()) {
    promised += amountCents;
    most = Math.max(most, promised);
  }
  assert.ok(most <= limitCents && most > limitCents / 2);
  assert.ok(
    held!.moves.flat().some(({ amountCents }) => amountCents < 0),
    'a lost bid releases',
  );
  assert.deepEqual(held!.capPeaks.get('operator:desk')!.amountCents, most, 'the fullest that it was');
  const bid = held!.decisions.reduce((sum, one) => sum + (one.kind === 'bid' ? one.offer.amountCents : 0), 0);
  assert.ok(bid > limitCents, 'what was released was bid again');
});

test('a shadow sees the exposure of the set that bids and adds nothing to it', async () => {
  const capped = casesOf(300, (recorded) => ({ ...recorded, control: { paused: false, caps: { desk: 3_000_000 } } }));
  const sets = [
    { policy: policyWith(), shares: false },
    { policy: policyWith(), shares: true },
  ];
  const [live, shadow] = await replaySets(capped, sets, settings, () => undefined);
  const [alone] = await replaySets(capped, [sets[0]!], settings, () => undefined);
  assert.deepEqual(live!.decisions, alone!.decisions);
  assert.equal(shadow!.moves.flat().length, 0);
  // The live bids of its own group are there already, so it finds no more room than they left.
  const bids = ({ decisions }: NonNullable<typeof live>) => decisions.filter(({ kind }) => kind === 'bid').length;
  assert.ok(bids(shadow!) > 0 && bids(shadow!) <= bids(live!));
});

test('what was only learnt from is not counted, and a repeated line counts once', async () => {
  const policies = { current: policyWith(), candidate: policyWith(blocksCommerce) };
  const report = await measureImpact([...cases, cases[5]!], { ...base, ...policies, warmUp: 200 });
  assert.deepEqual([report.requests, report.warmUp, report.repeated, report.batches], [100, 200, 1, 10]);
  const counted = new Set(cases.slice(200).map(({ request }) => request.requestId));
  assert.ok(report.flips.every(({ requestId }) => counted.has(requestId)));
});

test('what the report says of itself: ends that are not known, times, caps, exposure, and other economics', async () => {
  const some = casesOf(300).map((recorded, place) => (place % 10 === 3 ? { ...recorded, auction: null } : recorded));
  const from = 100;
  const current = policyWith();
  const candidate = policyWith(blocksCommerce);
  const report = await measureImpact(some, { ...base, current, candidate, warmUp: from });
  assert.equal(report.judged, some.slice(from).filter(({ auction }) => auction !== null).length);
  assert.equal(report.judged, 180);
  assert.deepEqual([report.from, report.to], [some[from]!.request.receivedAt, some.at(-1)!.request.receivedAt]);
  assert.equal(report.otherEconomics, false);
  const [all] = report.segments;
  assert.ok(all!.current.judgedBids < all!.current.bids);
  for (const [side, policy] of [current, candidate].entries()) {
    const [replayed] = await replaySets(some, [{ policy, shares: false }], settings, () => undefined);
    let [promised, peak, place] = [0, 0, 0];
    for (const [group, moves] of replayed!.moves.entries()) {
      for (const { amountCents } of moves) {
        promised += amountCents;
        if (place >= from) peak = Math.max(peak, promised);
      }
      place += replayed!.groups[group]!;
    }
    const told = side === 0 ? all!.current : all!.candidate;
    assert.ok(peak > 0);
    assert.equal(told.peakExposureCents, peak);
    assert.equal(report.series.exposureCents[side]!.at(-1), promised);
    const profitCents = report.series.profitCents[side]!.at(-1)!;
    assert.ok(Math.abs(profitCents - told.profitGivenBidsCents) <= 1);
    const day = report.caps.find(({ name }) => name === 'desk-day')!;
    assert.deepEqual(side === 0 ? day.current : day.candidate, replayed!.capPeaks.get('desk-day'));
  }
  const [day] = report.caps.filter(({ name }) => name === 'desk-day');
  assert.ok(day!.current!.amountCents > day!.candidate!.amountCents);
  const cheaper = ruleFile(
    'Cheaper money',
    { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    { type: 'economics', params: { fundingAnnualPercent: 9 } },
  );
  const other = await measureImpact(some.slice(0, 20), { ...base, current, candidate: policyWith(cheaper) });
  assert.equal(other.otherEconomics, true);
});

test('a request whose link the candidate would have asked for, and nobody has, is counted apart', async () => {
  const linked = {
    linkKey: 'link',
    workerKey: 'worker',
    receivedAt: startsAt,
    eligible: true,
    ineligibilityCode: null,
  };
  const nothing = { marginBaseCents: null, admissionDate: null, terminationDate: null, birthDate: null };
  const more = { workerCategoryCode: null, politicallyExposed: null, occupationCode: null, activityCode: null };
  const paid = { totalEarningsCents: 300_000, employerStartDate: null, activeLoans: null, alertCount: null };
  const link = { ...linked, ...nothing, ...more, ...paid, availableMarginCents: 50_000 };
  const mixed = cases.slice(0, 60).map((recorded, place): (typeof cases)[number] => {
    if (place < 20) return recorded;
    return place < 40 ? { ...recorded, link } : { ...recorded, linkAskedInVain: true };
  });
  const sides = { current: policyWith(), candidate: policyWith(poorlyPaid) };
  const report = await measureImpact(mixed, { ...base, ...sides });
  const [all] = report.segments;
  const { requests, candidate } = report.linkNotOnRecord;
  assert.ok(requests > 10 && requests <= 20, String(requests));
  assert.equal(candidate, requests);
  assert.equal(report.requests, 60);
  assert.equal(all!.requests, 60 - requests);
  assert.equal(report.judged, 60 - requests);
  const turned = report.flips.filter(({ to }) => to === 'fact-missing:worker.totalEarningsReais');
  // Where it was asked for in vain, it would be again.
  const codes = turned.map(({ requestId }) => mixed.findIndex(({ request }) => request.requestId === requestId));
  assert.ok(turned.length > 5);
  assert.ok(
    codes.every((place) => place >= 40),
    String(codes),
  );
  const without = await measureImpact(mixed.slice(0, 20), { ...base, current: policyWith(), candidate: policyWith() });
  const apart = await measureImpact(mixed.slice(0, 20), { ...base, ...sides });
  assert.equal(without.linkNotOnRecord.requests, 0);
  const format = createFormat('en');
  for (const text of [impactText(apart, format), impactPage(apart, format).lead]) {
    assert.match(text, new RegExp(`WARNING: ${apart.linkNotOnRecord.requests} requests are counted apart`));
  }
  assert.doesNotMatch(impactText(without, format), /WARNING/);
  const bids = without.segments[0]!.current.bids;
  assert.ok(bids > 5);
  assert.equal(apart.segments[0]!.current.bids, 0, 'every bid would have asked');
  assert.equal(apart.segments[0]!.difference.profitGivenBidsCents.value, 0);
});

test('a desk that asked for the link in vain is told from one that never asked, in the log and in a file', () => {
  const [{ request }] = casesOf(1) as [ReturnType<typeof casesOf>[number]];
  const { requestId } = request;
  const requested = { kind: 'requested' as const, requestId, at: 1, request, sealed: '', rawHash: '' };
  const passed = (code: string, more: Partial<Passed> = {}): Passed => {
    return { kind: 'passed', requestId, at: 2, code, claimId: null, reasons: [], trace: null, ...more };
  };
  const wait = { kind: 'wait' as const, cause: 'link', count: 1, from: 1, until: 2 };
  const told = [
    passed('alerts'),
    passed('fact-missing:alerts.codes'),
    passed('fact-missing:worker.totalEarningsReais'),
    passed('margin-missing'),
    passed('throttled', { hindrances: [wait] }),
  ].map((record) => recordedCaseOf([requested, record])!.linkAskedInVain ?? false);
  assert.deepEqual(told, [false, false, true, true, true]);
  const [line] = linesOf(1);
  const vault = createVault(pseudonymKey);
  for (const linkAskedInVain of [true, undefined]) {
    const { margin: _, ...bare } = JSON.parse(line!) as { margin: unknown };
    const read = readAuditLine(JSON.stringify({ ...bare, linkAskedInVain }), { mapping, vault });
    assert.ok(read.kind === 'line');
    assert.equal(read.line.linkAskedInVain, linkAskedInVain);
    const again = JSON.parse(encodeAuditLine(read.line, null, null)) as { linkAskedInVain?: boolean };
    assert.equal(again.linkAskedInVain, linkAskedInVain);
  }
});

test('the bootstrap draws whole batches: its interval is that of the mean of batch sums', () => {
  const sums = Array.from({ length: 200 }, (_, index) => ((index * 37) % 100) / 10);
  const rows = sums.flatMap((sum, batch) => [
    { batch, group: 0, values: Float64Array.of(sum / 2) },
    { batch, group: 0, values: Float64Array.of(sum / 2) },
  ]);
  const shape = { batches: 200, groups: 1, width: 1 };
  const [[interval]] = bootstrap(rows, shape, [(own) => own[0]!], { draws: 4_000, seed: 3 }) as [
    [{ low: number; high: number }],
  ];
  const mean = sums.reduce((sum, value) => sum + value, 0) / 200;
  const deviation = Math.sqrt(sums.reduce((sum, value) => sum + (value - mean) ** 2, 0));
  assert.ok(Math.abs(interval.low - (200 * mean - 1.645 * deviation)) < 0.12 * deviation);
  assert.ok(Math.abs(interval.high - (200 * mean + 1.645 * deviation)) < 0.12 * deviation);
});
