/** The decision against the shipped rules and settings: bids, passes, caps, and the same bytes again on replay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { type Assessment, assess, checkCaps, type Draft, draftOffer, linkNeed } from '../../src/bidding/decide.ts';
import { differencesOf, replayDecision } from '../../src/bidding/explain.ts';
import { snoozedIn } from '../../src/bidding/ports.ts';
import { fullCap } from '../../src/domain/cap-book.ts';
import type { Usage } from '../../src/domain/offer.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import type { Claimed, Passed } from '../../src/domain/records.ts';
import type { LinkDetail, LoanRequest } from '../../src/domain/request.ts';
import { policyOf } from '../../src/policy.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { buildWinCurve, encodeWinCurve } from '../../src/pricing/win-curve.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import type { Joining } from '../../src/rules/two-sources.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { at, sampleLink, sampleRequest } from '../rules/sample-request.ts';
import { configOf, shippedPolicy } from './house.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const policy = shippedPolicy(config);
const settings = config.bidding;
const { priorWeight, shrinkage, smoothing } = config.pricing.winCurve;
const { halfLifeMs } = settings;
const curve = buildWinCurve({
  segments: [],
  scores: [],
  prior: policy.prior,
  shrinkage,
  smoothing,
  priorWeight,
  at,
  halfLifeMs,
  breakEvens: null,
});

function assessed(change: Partial<LoanRequest> = {}, link: LinkDetail | null = sampleLink): Assessment {
  return assess({ ...sampleRequest, ...change }, { link, ledger: undefined }, policy, at);
}

const learnt = {
  shadowPricePerCent: 0.004,
  shadowPriceVersion: 'desk-day#7',
  acceptance: { midpointShiftPercent: -0.31, ceilingFactor: 0.94 },
};

function drafted(
  assessment: Assessment,
  operatorCaps: Record<string, number> = {},
  change: Partial<Parameters<typeof draftOffer>[0]> = {},
): Draft {
  return draftOffer({
    assessment,
    policy,
    settings,
    curve,
    trial: curve.trial,
    operatorCaps,
    shadowPricePerCent: 0,
    shadowPriceVersion: null,
    tailoring: null,
    acceptance: null,
    ...change,
  });
}

function offered(draft: Draft): Extract<Draft, { kind: 'offer' }> {
  assert.equal(draft.kind, 'offer', JSON.stringify(draft));
  return draft as Extract<Draft, { kind: 'offer' }>;
}

function encode(requestId: string, offer: Claimed['offer']): string {
  return encodeBid({ requestId, offer, contacts: config.contacts });
}

/** The claim of an offer, as it is read back from the log. */
function storedClaim(requestId: string, { offer, trace }: Pick<Claimed, 'offer' | 'trace'>): Claimed {
  const ids = { kind: 'claimed', requestId, at, claimId: 'a:1', instance: 'a' };
  return JSON.parse(JSON.stringify({ ...ids, body: encode(requestId, offer), offer, trace }));
}

function eligibilityRule(): string {
  const { passes } = assessed({ eligible: false }).verdict;
  return passes.find(({ code }) => code === 'not-eligible')!.rule!;
}

function codeOf(draft: Draft): string | null {
  return draft.kind === 'pass' ? draft.code : null;
}

test('a plain request gets a bid inside the margin, worth something, with every input in its trace', () => {
  const { offer, trace } = offered(drafted(assessed()));
  assert.ok(offer.installmentCents <= sampleRequest.availableMarginCents!);
  assert.ok(offer.expectedValueCents > 0);
  assert.equal(offer.validUntil, at + settings.bidValidityMs);
  assert.deepEqual(
    [trace.decidedAt, trace.ruleSetHash, trace.settingsHash, trace.curveHash, trace.link],
    [at, policy.ruleSet.hash, config.settings.hash, curve.hash, sampleLink],
  );
  assert.ok(trace.segmentKeys.length > 1 && trace.rulesFired.length > 0);
});

test('the smaller of two margins counts', () => {
  const wide = sampleRequest.availableMarginCents!;
  const narrow = 20_000;
  const byLink = assessed({}, { ...sampleLink, availableMarginCents: narrow });
  const byRequest = assessed({ availableMarginCents: narrow }, { ...sampleLink, availableMarginCents: wide });
  const onlyLink = assessed({ availableMarginCents: null }, { ...sampleLink, availableMarginCents: narrow });
  const onlyRequest = assessed({ availableMarginCents: narrow }, { ...sampleLink, availableMarginCents: null });
  for (const assessment of [byLink, byRequest, onlyLink, onlyRequest]) {
    assert.equal(assessment.marginCents, narrow);
    const draft = drafted(assessment);
    if (draft.kind === 'offer') assert.ok(draft.offer.installmentCents <= narrow);
  }
});

test('passes carry the code of what is missing or what a rule says, and every reason', () => {
  // The shipped rules look at the age at the last instalment and at the margin, so what is missing is theirs to name.
  assert.equal(codeOf(drafted(assessed({ requestedInstallments: null }))), 'fact-missing:worker.ageAtEndYears');
  const noMargin = { ...sampleLink, availableMarginCents: null };
  assert.equal(
    codeOf(drafted(assessed({ availableMarginCents: null }, noMargin))),
    'fact-missing:margin.availableReais',
  );
  assert.equal(codeOf(drafted(assessed({ eligible: false }))), 'not-eligible');
  const both = drafted(assessed({ eligible: false, politicallyExposed: true }));
  assert.ok(both.kind === 'pass' && both.reasons.length >= 2);
  assert.deepEqual(both.trace.reasons, both.reasons);
  // A margin that carries no loan worth its costs.
  const tiny = drafted(assessed({ availableMarginCents: 100 }));
  assert.ok(tiny.kind === 'pass' && tiny.code.length > 0);
});

test('without an amount nothing is bid, whatever the reason is called', () => {
  const draft = drafted(assessed({ requestedAmountCents: null }));
  assert.ok(
    draft.kind === 'pass' && ['amount-missing', 'fact-missing:request.amountReais'].includes(draft.code),
    JSON.stringify(codeOf(draft)),
  );
});

test('a link is wanted only while it could still turn the request into a bid', () => {
  const need = (change: Partial<LoanRequest>) => linkNeed(assessed(change, null), policy);
  assert.equal(need({ availableMarginCents: null }), 'needed');
  assert.equal(need({ eligible: false, availableMarginCents: null }), 'none');
  assert.equal(linkNeed(assessed({ availableMarginCents: null }), policy), 'none');
  // The age is no fact without the instalments, which no link tells.
  assert.equal(need({ availableMarginCents: null, requestedInstallments: null }), 'none');
});

/** The shipped set with the rule, which looks at facts that `sampleRequest` without a link does not have. */
function needWith(rules: readonly object[], change: Partial<LoanRequest> = {}) {
  const texts = rules.map((rule, index) => ({ name: `Own ${index}`, description: 'd', ...rule }));
  const compiled = compileRuleSet([
    { path: 'codes.json', text: '{"codes":{"own":"Own."}}' },
    { path: 'rules.json', text: JSON.stringify({ rules: texts }) },
  ]);
  assert(compiled.kind !== 'refused', JSON.stringify(compiled));
  const own = { ...policy, ruleSet: compiled.ruleSet };
  return linkNeed(assess({ ...sampleRequest, ...change }, { link: null, ledger: undefined }, own, at), own);
}
const earnings = { fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 2_000 };
const unknownExtra = { fact: 'extra.union', operator: 'equal', value: 'x' };
const always = { fact: 'desk.always', operator: 'equal', value: true };
const limit = (params: object, ...all: object[]) => ({ conditions: { all }, event: { type: 'limit', params } });
const pass = (...all: object[]) => ({
  conditions: { all },
  event: { type: 'pass', params: { code: 'own', reason: 'r' } },
});

test('a link is asked for whenever it may decide a rule that shapes the bid (issue 20, line 1)', () => {
  const event = (type: string, params: object, ...all: object[]) => ({ conditions: { all }, event: { type, params } });
  assert.equal(needWith([limit({ maxAmountReais: 500 }, earnings)]), 'useful');
  assert.equal(needWith([event('economics', { bidCostReais: 1 }, earnings)]), 'useful');
  assert.equal(needWith([event('segment', { dimensions: ['employer.sector'] }, earnings)]), 'useful');
  assert.equal(needWith([event('strategy', { fixedRatePercent: 2 }, earnings)]), 'useful');
  assert.equal(
    needWith([event('cap', { name: 'c', keyFacts: [], window: 'day', maxAmountReais: 9 }, earnings)]),
    'useful',
  );
  // A rule of the offer that looks at the link as well.
  const dear = { fact: 'offer.ratePercent', operator: 'greaterThan', value: 1 };
  assert.equal(needWith([{ ...pass(earnings, dear), stage: 'offer' }]), 'useful');
  assert.equal(needWith([pass(earnings)]), 'needed');
  // Undecided rows alone are against each other: either may turn out not to hold.
  const conflict = [limit({ minAmountReais: 900 }, always), limit({ maxAmountReais: 500 }, earnings)];
  assert.equal(needWith(conflict), 'needed');
});

test('a link is not asked for where it changes nothing (issue 20, line 1)', () => {
  const economics = (params: object, ...all: object[]) => ({
    conditions: { all },
    event: { type: 'economics', params },
  });
  assert.equal(needWith([limit({ maxAmountReais: 500 }, unknownExtra)]), 'none');
  // Stays undecided, so it is a pass whatever the link says of the others.
  assert.equal(needWith([pass(unknownExtra), pass(earnings)]), 'none');
  // Its false part decides it.
  assert.equal(needWith([pass(unknownExtra, earnings)]), 'needed');
  assert.equal(needWith([pass(always), limit({ maxAmountReais: 500 }, earnings)]), 'none');
  const certain = [limit({ minAmountReais: 900 }, always), limit({ maxAmountReais: 500 }, always)];
  assert.equal(needWith([...certain, limit({ maxAmountReais: 400 }, earnings)]), 'none');
  // Another limit is tighter, another rule has said it: the undecided one has no say.
  assert.equal(needWith([limit({ maxAmountReais: 500 }, always), limit({ maxAmountReais: 600 }, earnings)]), 'none');
  const first = { ...economics({ bidCostReais: 1 }, always), priority: 9 };
  assert.equal(needWith([first, economics({ bidCostReais: 2 }, earnings)]), 'none');
});

test('caps: full by amount or by count is a pass, with what was used in the trace', () => {
  const draft = offered(drafted(assessed()));
  const { caps } = draft.trace;
  assert.ok(caps.length > 0);
  assert.equal(checkCaps(draft, new Map()).kind, 'offer');
  for (const cap of caps) {
    const room: Usage = { amountCents: cap.limitAmountCents ?? 0, count: cap.limitCount ?? 0 };
    const key = cap.keys[0]!;
    const refused = checkCaps(draft, new Map([[key, room]]));
    assert.equal(codeOf(refused), 'cap');
    assert.deepEqual({ ...refused.trace.usage }, { [key]: room });
    assert.match(refused.trace.reasons[0]!.text, new RegExp(RegExp.escape(key)));
  }
});

test('an operator cap counts like a rule: up to the cent and no further, by the day of São Paulo', () => {
  const { offer, trace } = offered(drafted(assessed(), { desk: 5_000_000 }, learnt));
  const key = 'operator:desk|2026-11-20';
  assert.ok(trace.caps.some(({ keys }) => keys[0] === key));
  const draft = drafted(assessed(), { desk: 5_000_000 }, learnt);
  const used = (amountCents: number) => new Map([[key, { amountCents, count: 1 }]]);
  assert.equal(checkCaps(draft, used(5_000_000 - offer.amountCents)).kind, 'offer');
  assert.equal(checkCaps(draft, used(5_000_000 - offer.amountCents + 1)).kind, 'pass');
});

test('a key that stands twice in a cap counts once', () => {
  const draft = offered(drafted(assessed(), { desk: 5_000_000 }, learnt));
  const { amountCents } = draft.offer;
  const cap = {
    keys: ['window|hour-2', 'window|hour-1', 'window|hour-2'],
    limitAmountCents: 2 * amountCents,
    limitCount: 2,
  };
  const twice: Draft = { ...draft, trace: { ...draft.trace, caps: [cap] } };
  const used = (count: number) => new Map([['window|hour-2', { amountCents: count * amountCents, count }]]);
  assert.equal(checkCaps(twice, used(1)).kind, 'offer');
  assert.equal(checkCaps(twice, used(2)).kind, 'pass');
});

test('a claim that cannot be read counts under every cap, and under a cap of one worker where it may be theirs', () => {
  const draft = offered(drafted(assessed(), { desk: 5_000_000 }, learnt));
  const { amountCents } = draft.offer;
  const under = (keys: string[], ...used: [key: string, count: number][]) => {
    const cap = { keys, limitAmountCents: 3 * amountCents, limitCount: 3 };
    const usage = new Map(used.map(([key, count]) => [key, { amountCents: count * amountCents, count }]));
    const checked = checkCaps({ ...draft, trace: { ...draft.trace, caps: [cap] } }, usage);
    // A replay knows what the trace knows.
    const again = checkCaps(
      { ...draft, trace: { ...draft.trace, caps: [cap] } },
      new Map(Object.entries(checked.trace.usage)),
    );
    assert.deepEqual(again, checked);
    const fits = fullCap(checked.trace.caps, { amountCents, count: 1 }, (key) => usage.get(key)) === null;
    assert.equal(fits, checked.kind === 'offer', 'the reservation after the claim sees it too');
    return checked.kind;
  };
  const employer = 'employer|employer.id=12ABC34501DE35|2026-11-20';
  assert.equal(under([employer], [employer, 2]), 'offer');
  assert.equal(under([employer], [employer, 2], ['standing:unread', 1]), 'pass');
  assert.equal(under([employer], [employer, 1], ['standing:unread', 1]), 'offer');
  assert.equal(under([employer, 'earlier'], [employer, 1], ['earlier', 1], ['standing:unread', 1]), 'pass');
  const worker = 'worker|worker.key=w1|2026-11-20';
  const others: [string, number][] = [
    [worker, 2],
    ['standing:unread', 1],
  ];
  assert.equal(under([worker], ...others), 'offer');
  assert.equal(under([worker], ...others, ['standing:unread|worker.key=w2', 1]), 'offer');
  assert.equal(under([worker], ...others, ['standing:unread|worker.key=w1', 1]), 'pass');
  assert.equal(under([worker], ...others, ['standing:unread|worker.key=?', 1]), 'pass');
  const nobody = 'worker|worker.key=?|2026-11-20';
  assert.equal(under([nobody], [nobody, 2], ['standing:unread', 1]), 'pass');
});

test('replayed from its stored inputs the decision gives the same bytes', () => {
  const draft = offered(checkCaps(drafted(assessed(), { desk: 5_000_000 }, learnt), new Map()) as Draft);
  const plain = offered(drafted(assessed()));
  assert.ok(draft.offer.expectedValueCents < plain.offer.expectedValueCents && !('acceptance' in plain.trace));
  const { requestId } = sampleRequest;
  const body = encode(requestId, draft.offer);
  const record: Claimed = JSON.parse(
    JSON.stringify({
      kind: 'claimed',
      requestId,
      at,
      claimId: 'a:1',
      instance: 'a',
      body,
      offer: draft.offer,
      trace: draft.trace,
    }),
  );
  const contents = {
    ruleSet: policy.ruleSet.source,
    settings: config.settings.content,
    curve: encodeWinCurve(curve),
    shapes: null,
  };
  const replay = replayDecision({ request: sampleRequest, trace: record.trace, contents, encodeBid: encode });
  assert.equal(replay.body, body);
  assert.deepEqual(differencesOf(replay, record), []);
  // Earlier versions read the key of the day alone, and noted no eve of the next one.
  const { capKeys, ...unmarked } = record.trace;
  assert.equal(capKeys, 'known');
  const before = { ...unmarked, caps: record.trace.caps.map((cap) => ({ ...cap, keys: cap.keys.slice(0, 1) })) };
  const older = { ...record, trace: before };
  const again = replayDecision({ request: sampleRequest, trace: before, contents, encodeBid: encode });
  assert.deepEqual([again.body, differencesOf(again, older)], [body, []]);
  const [first, ...others] = before.caps;
  const without = { ...before, caps: others };
  const lessened = replayDecision({ request: sampleRequest, trace: without, contents, encodeBid: encode });
  assert.ok(first !== undefined && differencesOf(lessened, { ...record, trace: without }).includes('trace'));
  const forged = { ...record, offer: { ...record.offer, rateHundredths: record.offer.rateHundredths + 1 } };
  assert.deepEqual(differencesOf(replay, forged), ['offer']);
});

test('a rule that is asleep has no say, stands in the trace, and is asleep in the replay too', () => {
  const name = eligibilityRule();
  const snoozed = [{ rule: name, digest: policy.ruleSet.digestOf(name)! }];
  const request = { ...sampleRequest, eligible: false };
  const awake = drafted(assess(request, { link: sampleLink, ledger: undefined }, policy, at));
  assert.deepEqual([codeOf(awake), awake.trace.snoozed], ['not-eligible', undefined]);
  const asleep = offered(
    checkCaps(
      drafted(assess(request, { link: sampleLink, ledger: undefined, snoozed }, policy, at)),
      new Map(),
    ) as Draft,
  );
  assert.deepEqual(asleep.trace.snoozed, snoozed);
  assert.ok(!asleep.trace.rulesFired.includes(name));
  const { requestId } = request;
  const record = storedClaim(requestId, asleep);
  assert.equal(readRecord('auctions', { partition: 0, offset: 0, key: requestId }, record).kind, 'claimed');
  const contents = {
    ruleSet: policy.ruleSet.source,
    settings: config.settings.content,
    curve: encodeWinCurve(curve),
    shapes: null,
  };
  const replay = replayDecision({ request, trace: record.trace, contents, encodeBid: encode });
  assert.deepEqual(differencesOf(replay, record), []);
  const { snoozed: _, ...without } = record.trace;
  const other = replayDecision({ request, trace: without, contents, encodeBid: encode });
  assert.equal(other.draft.kind, 'pass');
});

test('what a value table said stands in the record, and the replay is the same to the byte from it alone', () => {
  const files = [
    ...readRuleFiles(new URL('../../rules/', import.meta.url).pathname),
    {
      path: 'bureau.values.json',
      text: JSON.stringify({
        ...{ description: 'd', key: 'employer.key', columns: { most: { type: 'number', unit: 'R$' } } },
        rows: [{ key: sampleRequest.employerId, most: 3_210.57 }],
      }),
    },
    {
      path: 'bureau.json',
      text: JSON.stringify({
        ...{ name: 'Bureau', conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] } },
        event: { type: 'limit', params: { maxAmountReais: { fact: 'values.bureau.most' } } },
      }),
    },
  ];
  const own = policyOf(config, files);
  const decided = (surroundings: Parameters<typeof assess>[1]) => {
    const assessment = assess(sampleRequest, surroundings, own, at);
    return checkCaps(drafted(assessment, {}, { policy: own }), new Map());
  };
  const draft = offered(decided({ link: sampleLink, ledger: undefined }) as Draft);
  assert.ok(draft.offer.amountCents <= 321_057 && draft.offer.amountCents > 300_000, `${draft.offer.amountCents}`);
  const { requestId } = sampleRequest;
  const record = storedClaim(requestId, draft);
  assert.deepEqual(record.trace.tables![0]!.found, { most: 3_210.57 });
  const place = { partition: 0, offset: 0, key: requestId };
  assert.equal(readRecord('auctions', place, record).kind, 'claimed');
  const spoilt = {
    ...record,
    trace: { ...record.trace, tables: [{ ...record.trace.tables![0]!, found: { most: {} } }] },
  };
  assert.equal(readRecord('auctions', place, spoilt).kind, 'unreadable');
  const contents = {
    ...{ ruleSet: own.ruleSet.source, settings: config.settings.content, curve: encodeWinCurve(curve), shapes: null },
  };
  const replay = (trace: Claimed['trace']) =>
    replayDecision({ request: sampleRequest, trace, contents, encodeBid: encode });
  assert.deepEqual(differencesOf(replay(record.trace), record), []);
  // The record counts, not what a table would say now.
  const other = { ...record.trace, tables: [{ ...record.trace.tables![0]!, found: {} }] };
  const { draft: passed } = replay(other);
  assert.ok(passed.kind === 'pass' && passed.code === 'fact-missing:values.bureau.most');
});

test('how the desk fared in the segment stands in the record, and the replay is the same to the byte from it alone', () => {
  const few = { fact: 'market.hourAuctions', operator: 'lessThan', value: 20 };
  const rare = { fact: 'market.winRate', operator: 'lessThan', value: 0.2 };
  const text = JSON.stringify({
    ...{ name: 'Rarely won', conditions: { all: [{ not: few }, rare] } },
    event: { type: 'limit', params: { maxAmountReais: 3_000 } },
  });
  const files = readRuleFiles(new URL('../../rules/', import.meta.url).pathname);
  const own = policyOf(config, [...files, { path: 'rare.json', text }]);
  assert.deepEqual(own.ruleSet.ledgerFacts.slice(-2), ['market.winRate', 'market.hourAuctions']);
  const ledger = { 'market.auctions': 60, 'market.winRate': 0.1, 'market.hourAuctions': 24 };
  const assessment = assess(sampleRequest, { link: sampleLink, ledger }, own, at);
  const draft = offered(checkCaps(drafted(assessment, {}, { policy: own }), new Map()) as Draft);
  assert.ok(draft.offer.amountCents <= 300_000);
  const { requestId } = sampleRequest;
  const record = storedClaim(requestId, draft);
  assert.deepEqual(record.trace.ledger, ledger);
  const contents = {
    ...{ ruleSet: own.ruleSet.source, settings: config.settings.content, curve: encodeWinCurve(curve), shapes: null },
  };
  const replay = (trace: Claimed['trace']) =>
    replayDecision({ request: sampleRequest, trace, contents, encodeBid: encode });
  assert.deepEqual(differencesOf(replay(record.trace), record), []);
  assert.deepEqual(replay(record.trace).body, record.body);
  const other = replay({ ...record.trace, ledger: { ...ledger, 'market.winRate': 0.3 } });
  assert.ok(other.draft.kind === 'offer' && other.draft.offer.amountCents > 300_000);
});

test('a snooze holds until its time, for the rule as it was and no other', () => {
  const digest = policy.ruleSet.digestOf(eligibilityRule())!;
  const snooze = { rule: eligibilityRule(), digest, until: at + 1_000, by: 'ana', reason: 'r', at };
  const asleep = (snoozes: readonly (typeof snooze)[], now: number) => snoozedIn(snoozes, policy.ruleSet, now).length;
  assert.deepEqual([asleep([snooze], at), asleep([snooze], at + 999), asleep([snooze], at + 1_000)], [1, 1, 0]);
  assert.equal(asleep([{ ...snooze, digest: 'of another rule' }], at), 0);
  assert.equal(asleep([{ ...snooze, rule: 'toString' }], at), 0);
});

test('a decision of a version that rounded by row is made again to the same bytes', () => {
  const earlier = {
    ...policy,
    settingsHash: 'hash-of-earlier-settings',
    tables: createRateTables({ ...config.pricing, rounding: 'by-row' }, 64),
  };
  const state = { link: sampleLink, ledger: undefined };
  const draft = offered(
    checkCaps(drafted(assess(sampleRequest, state, earlier, at), {}, { policy: earlier }), new Map()) as Draft,
  );
  assert.notEqual(
    draft.offer.iofCents,
    offered(drafted(assessed())).offer.iofCents,
    'the rounding shows in this offer',
  );
  const { requestId } = sampleRequest;
  const record = storedClaim(requestId, draft);
  const stored = JSON.parse(config.settings.content);
  delete stored.pricing.rounding;
  const contents = {
    ruleSet: policy.ruleSet.source,
    settings: JSON.stringify(stored),
    curve: encodeWinCurve(curve),
    shapes: null,
  };
  const replay = replayDecision({ request: sampleRequest, trace: record.trace, contents, encodeBid: encode });
  assert.deepEqual(differencesOf(replay, record), []);
});

const onlyRule = {
  name: 'Terms',
  description: 'At most 96 instalments.',
  owner: 'credit-risk',
  conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
  event: { type: 'limit', params: { maxInstallments: 96 } },
};

test('a decision that does not say how its amount was chosen is made again with the largest that fits', () => {
  // The guarantee covers so little that losses beyond it make the largest amount worth less.
  const economics = {
    ...config.economics,
    separationMonthly: 0.09,
    guaranteeRecovery: 0.16,
    acceptanceMidpointPercent: 4,
  };
  const bare = compileRuleSet([
    { path: 'codes.json', text: '{"codes":{}}' },
    { path: 'rules.json', text: JSON.stringify({ rules: [onlyRule] }) },
  ]);
  assert(bare.kind !== 'refused');
  const own = { ...policy, economics, ruleSet: bare.ruleSet };
  const pledged = { ...sampleRequest.guarantee, present: true, fgtsBalanceCents: 0, terminationFineCents: 200_000 };
  const request = { ...sampleRequest, guarantee: pledged };
  const decided = (amounts: 'joint' | 'largest') =>
    offered(
      checkCaps(
        drafted(assess(request, { link: sampleLink, ledger: undefined }, own, at), {}, { policy: own, amounts }),
        new Map(),
      ),
    );
  const stored = JSON.stringify({ ...JSON.parse(config.settings.content), economics });
  const contents = { ruleSet: own.ruleSet.source, settings: stored, curve: encodeWinCurve(curve), shapes: null };
  const [joint, largest] = [decided('joint'), decided('largest')];
  assert.equal(joint.trace.amounts, 'joint');
  assert(!('amounts' in largest.trace));
  assert(joint.offer.amountCents < largest.offer.amountCents);
  for (const draft of [joint, largest]) {
    const record: Claimed = JSON.parse(
      JSON.stringify({
        ...{ kind: 'claimed', requestId: request.requestId, at, claimId: 'a:1', instance: 'a' },
        ...{ body: encode(request.requestId, draft.offer), offer: draft.offer, trace: draft.trace },
      }),
    );
    const key = `settings of ${draft.offer.amountCents}`;
    const trace = { ...record.trace, settingsHash: key };
    const replay = replayDecision({ request, trace, contents, encodeBid: encode });
    assert.deepEqual(differencesOf(replay, { ...record, trace }), []);
  }
});

test('a worker whom the link detail tells otherwise than the request is no bid, and old bids replay (integrator, session 48)', () => {
  const request = { ...sampleRequest, availableMarginCents: null, employerStartDate: '2010-01-01' };
  const contents = {
    ...{
      ruleSet: policy.ruleSet.source,
      settings: config.settings.content,
      curve: encodeWinCurve(curve),
      shapes: null,
    },
  };
  const decided = (change: Partial<LinkDetail>, earlier: { joining?: Joining } = {}) => {
    const link = { ...sampleLink, ...change };
    const draft = checkCaps(drafted(assess(request, { link, ledger: undefined, ...earlier }, policy, at)), new Map());
    const { requestId } = request;
    const common = { requestId, at, trace: draft.trace };
    const record =
      draft.kind === 'pass'
        ? { ...common, kind: 'passed', code: draft.code, claimId: null, reasons: draft.reasons }
        : {
            ...common,
            kind: 'claimed',
            claimId: 'a:1',
            instance: 'a',
            body: encode(requestId, draft.offer),
            offer: draft.offer,
          };
    const stored = JSON.parse(JSON.stringify(record)) as Claimed | Passed;
    const place = { partition: 0, offset: 0, key: requestId };
    assert.notEqual(readRecord('auctions', place, stored).kind, 'unreadable');
    const replay = replayDecision({ request, trace: draft.trace, contents, encodeBid: encode });
    assert.deepEqual(differencesOf(replay, stored), []);
    // That it waited for the link before changes nothing of the decision.
    const waited = {
      ...stored,
      trace: { ...stored.trace, linkAsked: { from: at - 2_000, until: at } },
    } as typeof stored;
    assert.notEqual(readRecord('auctions', place, waited).kind, 'unreadable');
    assert.deepEqual(differencesOf(replay, waited), []);
    return draft;
  };
  assert.equal(decided({}).kind, 'offer');
  assert(!('contradicted' in decided({}).trace));
  const different: [Partial<LinkDetail>, string][] = [
    [{ politicallyExposed: true }, 'worker.politicallyExposed'],
    [{ alertCount: 2 }, 'alerts.count'],
    [{ admissionDate: '2026-11-01' }, 'worker.tenureMonths'],
    [{ employerStartDate: '2026-11-01' }, 'employer.ageMonths'],
    [{ birthDate: '1930-03-05' }, 'worker.ageYears'],
  ];
  for (const [change, fact] of different) {
    const draft = decided(change);
    assert.equal(draft.kind, 'pass', fact);
    assert(draft.trace.contradicted?.includes(fact), fact);
    // As programs before decided it: their bid is made again from their record.
    const earlier = decided(change, { joining: 'request-first' });
    assert.equal(earlier.kind, 'offer', fact);
    assert(!('contradicted' in earlier.trace), fact);
  }
  // Of the decisions between, the request.s word on this one fact is kept.
  const eligible = decided({ eligible: false });
  assert(eligible.kind === 'pass' && eligible.trace.contradicted?.includes('request.eligible'));
  const between = decided({ eligible: false, alertCount: 2 }, { joining: 'worse-but-eligible' });
  assert.deepEqual([between.kind, between.trace.contradicted], ['pass', ['alerts.count', 'alerts.codes']]);
  const born = decided({ birthDate: '1930-03-05' });
  assert(born.kind === 'pass' && born.code === 'fact-missing:worker.ageYears');
  assert.match(
    born.reasons[0]!.text,
    /worker\.ageYears missing\. Request and link detail contradict each other on worker\.ageYears\.$/,
  );
});

test('a fact that request and link contradict makes the economics no better than either word does (attacker, session 49)', () => {
  const codes = { construction: 4_120_400, agriculture: 111_301, commerce: 4_711_302 };
  const hired = { admissionDate: '2026-03-01' };
  const decided = (requestCode: number, linkCode: number, own = policy, joining: Joining = 'worse') => {
    const request = { ...sampleRequest, ...hired, activityCode: requestCode };
    const link = { ...sampleLink, ...hired, activityCode: linkCode };
    const assessment = assess(request, { link, ledger: undefined, joining }, own, at);
    return { request, assessment, draft: checkCaps(drafted(assessment, {}, { policy: own }), new Map()) };
  };
  const hazardOf = ({ assessment }: ReturnType<typeof decided>) => assessment.verdict.economics.separationMonthly!;
  const pairs = [
    ['construction', 'agriculture'],
    ['agriculture', 'construction'],
    ['commerce', 'construction'],
    ['agriculture', 'commerce'],
  ] as const;
  for (const [one, other] of pairs) {
    const [told, asked] = [codes[one], codes[other]];
    const both = decided(told, asked);
    const worst = Math.max(hazardOf(decided(told, told)), hazardOf(decided(asked, asked)));
    assert.equal(hazardOf(both), worst, `${one}, ${other}`);
    const worse = both.draft.trace.worseEconomics;
    assert.equal(worse?.length, 1);
    const { field, value, word, rule } = worse[0]!;
    const worseSector = hazardOf(decided(told, told)) === worst ? one : other;
    assert.deepEqual([field, value, word], ['separationMonthly', worst, worseSector === one ? 'request' : 'link']);
    assert.equal(rule, `Hazard: ${worseSector}, up to 12 months`);
    assert(both.draft.trace.rulesFired.includes(rule));
    // As an earlier program decided it, by the facts alone, its record is made again.
    const earlier = decided(told, asked, policy, 'worse-facts');
    assert(hazardOf(earlier) < worst && !('worseEconomics' in earlier.draft.trace));
    for (const { request, draft } of [both, earlier]) {
      const { requestId } = request;
      const record = { requestId, at, trace: draft.trace };
      const stored = JSON.parse(
        JSON.stringify(
          draft.kind === 'pass'
            ? { ...record, kind: 'passed', code: draft.code, claimId: null, reasons: draft.reasons }
            : {
                ...{ ...record, kind: 'claimed', claimId: 'a:1', instance: 'a', offer: draft.offer },
                body: encode(requestId, draft.offer),
              },
        ),
      ) as Claimed | Passed;
      assert.notEqual(readRecord('auctions', { partition: 0, offset: 0, key: requestId }, stored).kind, 'unreadable');
      const contents = {
        ...{ ruleSet: policy.ruleSet.source, settings: config.settings.content, shapes: null },
        curve: encodeWinCurve(curve),
      };
      const { trace } = draft;
      assert.deepEqual(differencesOf(replayDecision({ request, trace, contents, encodeBid: encode }), stored), []);
    }
  }
  assert.deepEqual(decided(codes.commerce, codes.commerce).assessment.words, null);
});

test('of contradicted facts rules of both words count, also by value tables, and what has no worse side is no bid', () => {
  const sector = (value: string) => ({ all: [{ fact: 'employer.sector', operator: 'equal', value }] });
  const rule = (name: string, conditions: object, event: object, more: object = {}) => ({
    ...{ name, description: 'd', owner: 'o', priority: 1, conditions, event, ...more },
  });
  const economics = (params: object) => ({ type: 'economics', params });
  const decided = (rules: object[], files: { path: string; text: string }[] = [], change: Partial<LinkDetail> = {}) => {
    const declared = { path: 'codes.json', text: JSON.stringify({ codes: { 'no-builders': 'none' } }) };
    const own = [declared, { path: 'own.json', text: JSON.stringify({ rules }) }, ...files];
    const compiled = compileRuleSet(own);
    assert(compiled.kind === 'compiled', JSON.stringify(compiled));
    const request = { ...sampleRequest, activityCode: 4_120_400 };
    const link = { ...sampleLink, activityCode: 4_711_302, ...change };
    const ownPolicy = { ...policy, ruleSet: compiled.ruleSet };
    const assessment = assess(request, { link, ledger: undefined }, ownPolicy, at);
    const again = assess(request, { link, ledger: undefined, tables: assessment.tables }, ownPolicy, at);
    assert.deepEqual(again.verdict, assessment.verdict);
    return { assessment, draft: drafted(assessment, {}, { policy: ownPolicy }) };
  };
  const slower = rule('Slower', sector('construction'), economics({ earlySettlementMonthlyShare: 0.02 }));
  const unclear = decided([slower]).draft;
  assert(unclear.kind === 'pass' && unclear.code === 'fact-missing:employer.sector', JSON.stringify(unclear.kind));
  assert.match(
    unclear.reasons[0]!.text,
    /contradict each other on .*employer\.sector.* earlySettlementMonthly would differ/,
  );
  assert.equal(decided([slower], [], { activityCode: 4_120_400 }).draft.kind, 'offer');
  const pass = { type: 'pass', params: { code: 'no-builders', reason: 'none' } };
  const refused = decided([rule('No builders', sector('construction'), pass, { onMissing: 'ignore' })]).draft;
  assert(refused.kind === 'pass' && refused.code === 'no-builders');
  const recovery = decided([
    rule('Recovered', sector('commerce'), economics({ guaranteeRecoveryShare: 0.05 })),
    rule('Lost', sector('construction'), economics({ lossGivenSeparationShare: 0.99 })),
  ]).assessment;
  assert.deepEqual(recovery.verdict.economics, { guaranteeRecovery: 0.05, lossGivenSeparation: 0.99 });
  const table = {
    path: 'risk.values.json',
    text: JSON.stringify({
      ...{ description: 'd', key: 'employer.activityCode', columns: { grade: { type: 'number', unit: 'points' } } },
      rows: [
        { key: '41204', grade: 9 },
        { key: '47113', grade: 1 },
      ],
    }),
  };
  const graded = { all: [{ fact: 'values.risk.grade', operator: 'greaterThan', value: 5 }] };
  const looked = decided([rule('Graded', graded, economics({ separationMonthlyShare: 0.2 }))], [table]).assessment;
  assert.equal(looked.verdict.economics.separationMonthly, 0.2);
});

test('what the link detail tells in a form that cannot be read is missing, whatever the request says of it', () => {
  const request = { ...sampleRequest, employerStartDate: '2010-01-01' };
  const decided = (change: Partial<LinkDetail>) => {
    const { kind, trace, ...rest } = checkCaps(
      drafted(assess(request, { link: { ...sampleLink, ...change }, ledger: undefined }, policy, at)),
      new Map(),
    );
    const code = 'code' in rest ? rest.code : null;
    const text = 'reasons' in rest ? rest.reasons[0]!.text : '';
    return { kind, code, text, trace };
  };
  assert.equal(decided({}).kind, 'offer');
  const unread: [Partial<LinkDetail>, string][] = [
    [{ availableMarginCents: null, unread: ['availableMarginCents'] }, 'fact-missing:margin.availableReais'],
    [{ birthDate: null, unread: ['birthDate'] }, 'fact-missing:worker.ageYears'],
    [{ admissionDate: null, unread: ['admissionDate'] }, 'fact-missing:worker.tenureMonths'],
    [{ terminationDate: null, unread: ['terminationDate'] }, 'fact-missing:worker.terminated'],
    [{ alertCount: null, unread: ['alertCount'] }, 'fact-missing:alerts.count'],
    [{ politicallyExposed: null, unread: ['politicallyExposed'] }, 'fact-missing:worker.politicallyExposed'],
    [{ eligible: null, unread: ['eligible'] }, 'fact-missing:link.eligible'],
  ];
  for (const [change, code] of unread) {
    const draft = decided(change);
    assert.deepEqual([draft.kind, draft.code], ['pass', code]);
    assert.match(draft.text, /cannot be read/, code);
  }
});

test('what the request tells in a form that cannot be read is missing, whatever the link detail says of it', () => {
  const decided = (change: Partial<LoanRequest>) =>
    checkCaps(
      drafted(assess({ ...sampleRequest, ...change }, { link: sampleLink, ledger: undefined }, policy, at)),
      new Map(),
    );
  assert.equal(decided({ birthDate: null, admissionDate: null, availableMarginCents: null }).kind, 'offer');
  const unread: [Partial<LoanRequest>, string][] = [
    [{ requestedAmountCents: null, unread: ['requestedAmountCents'] }, 'fact-missing:request.amountReais'],
    [{ requestedInstallments: null, unread: ['requestedInstallments'] }, 'fact-missing:worker.ageAtEndYears'],
    [{ availableMarginCents: null, unread: ['availableMarginCents'] }, 'fact-missing:margin.availableReais'],
    [{ eligible: null, unread: ['eligible'] }, 'fact-missing:request.eligible'],
    [{ birthDate: null, unread: ['birthDate'] }, 'fact-missing:worker.ageYears'],
    [{ admissionDate: null, unread: ['admissionDate'] }, 'fact-missing:worker.tenureMonths'],
    [{ politicallyExposed: null, unread: ['politicallyExposed'] }, 'fact-missing:worker.politicallyExposed'],
    [{ employerStartDate: null, unread: ['employerStartDate'] }, 'fact-missing:employer.ageMonths'],
    [{ alertCodes: null, unread: ['alertCodes'] }, 'fact-missing:alerts.count'],
  ];
  for (const [change, code] of unread) {
    const draft = decided(change);
    assert(draft.kind === 'pass', code);
    assert.equal(draft.code, code);
    assert.match(draft.reasons[0]!.text, new RegExp(`A value came for .*${code.slice(13)}.* that cannot be read`));
  }
  // Nobody asks for a link that cannot make up for it.
  for (const [change, code] of unread) assert.equal(linkNeed(assessed(change, null), policy), 'none', code);
});

test('a link that is called eligible, with a reason why it is not, is no bid', () => {
  const link = { ...sampleLink, eligible: null, ineligibilityCode: 3, contradicted: ['eligible'] } as const;
  const draft = checkCaps(drafted(assess(sampleRequest, { link, ledger: undefined }, policy, at)), new Map());
  assert(draft.kind === 'pass');
  assert.equal(draft.code, 'fact-missing:link.eligible');
  assert.match(draft.reasons[0]!.text, /contradicts itself on link\.eligible/);
});

test('a request whose company is in doubt is no bid under a cap by company, and was one in decisions of earlier versions', () => {
  const rule = {
    ...{ name: 'One company a week', description: 'By company.', owner: 'credit-risk' },
    conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    event: {
      type: 'cap',
      params: { name: 'company', keyFacts: ['employer.rootKey'], window: { hours: 168 }, maxAmountReais: 900_000 },
    },
  };
  const files = readRuleFiles(new URL('../../rules', import.meta.url).pathname);
  const byCompany = policyOf(config, [...files, { path: 'company.json', text: JSON.stringify({ rules: [rule] }) }]);
  const draftOf = (change: Partial<LoanRequest>, unknownKeys?: 'shared') => {
    const known = { link: sampleLink, ledger: undefined, ...(unknownKeys && { unknownKeys }) };
    const assessment = assess({ ...sampleRequest, ...change }, known, byCompany, at);
    return drafted(assessment, {}, { policy: byCompany });
  };
  const inDoubt = { employerId: '191', employerIdType: 1 };
  const pass = draftOf(inDoubt);
  assert.ok(pass.kind === 'pass' && pass.code === 'fact-missing:employer.rootKey', JSON.stringify(pass));
  assert.match(pass.reasons[0]!.text, /"One company a week" cannot be decided: employer\.rootKey missing/);
  const keyOf = (draft: Draft) => draft.trace.caps.find(({ keys }) => keys[0]!.startsWith('company|'))?.keys[0];
  assert.match(
    keyOf(offered(draftOf({ employerId: '11222333000181', employerIdType: 1 })))!,
    /rootKey=11222333\|hour-/,
  );
  const before = offered(draftOf(inDoubt, 'shared'));
  assert.match(keyOf(before)!, /rootKey=\?\|hour-/);
  assert.equal(before.trace.capKeys, undefined);
  // The link says nothing of the employer's number.
  const asked = assess({ ...sampleRequest, ...inDoubt }, { link: null, ledger: undefined }, byCompany, at);
  assert.equal(linkNeed(asked, byCompany), 'none');
});
