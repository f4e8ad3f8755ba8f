/** The auditor computes the keys of a claim's caps by itself: stale ones, and those that are left out, are named, whatever the claim says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../../src/adapters/system/rule-files.ts';
import { assess, draftOffer } from '../../../src/bidding/decide.ts';
import type { DecisionTrace } from '../../../src/domain/offer.ts';
import type { LoanRequest } from '../../../src/domain/request.ts';
import { policyOf } from '../../../src/policy.ts';
import { buildWinCurve } from '../../../src/pricing/win-curve.ts';
import { checkCapKeys } from '../../../src/sandbox/auditor/cap-keys.ts';
import { type Orders, readCapRules } from '../../../src/sandbox/auditor/orders.ts';
import { readRun } from '../../../src/sandbox/auditor/run.ts';
import { auditSettings } from '../../../src/sandbox/auditor/violation.ts';
import { sandboxSettings } from '../../../src/sandbox/settings.ts';
import { configOf } from '../../bidding/house.ts';
import { claimed, requested } from '../../bidding/parts.ts';
import { sampleLink, sampleRequest } from '../../rules/sample-request.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
const more = [
  { name: 'company', keyFacts: ['employer.rootKey'], window: { hours: 24 }, maxCount: 90 },
  { name: 'month', keyFacts: ['employer.key', 'offer.installments'], window: { hours: 720 }, maxCount: 9_000 },
  { name: 'eight-days', keyFacts: [], window: { hours: 190 }, maxCount: 9_000 },
].map((params) => ({
  ...{ name: params.name, description: 'A cap.', owner: 'credit-risk', conditions: always },
  ...(params.name === 'month' ? { stage: 'offer' } : {}),
  event: { type: 'cap', params },
}));
const files = [
  ...readRuleFiles(new URL('../../../rules', import.meta.url).pathname),
  { path: 'more.json', text: JSON.stringify({ rules: more }) },
];
const policy = policyOf(config, files);
const read = readCapRules(files);
const start = Date.parse('2026-11-20T14:58:00Z');
const orders: Orders = {
  ruleSets: [{ from: 0, caps: read.caps }],
  caps: [{ at: start - 9 * hourMs, name: 'book', limitCents: 900_000_000 }],
  pauses: [],
};
const settings = auditSettings(sandboxSettings({}));
const { priorWeight, shrinkage, smoothing } = config.pricing.winCurve;
const smooth = { prior: policy.prior, shrinkage, smoothing, priorWeight };
const curve = buildWinCurve({
  segments: [],
  scores: [],
  ...smooth,
  at: start,
  halfLifeMs: 1_000_000,
  breakEvens: null,
});

/** As the desk decides it. */
function decided(at: number, change: Partial<LoanRequest>, unknownKeys?: 'shared') {
  const known = { link: sampleLink, ledger: undefined, ...(unknownKeys && { unknownKeys }) };
  const draft = draftOffer({
    ...{ policy, curve, settings: config.bidding, trial: null, tailoring: null, acceptance: null },
    ...{ shadowPricePerCent: 0, shadowPriceVersion: null, operatorCaps: { book: 900_000_000 } },
    assessment: assess({ ...sampleRequest, ...change }, known, policy, at),
  });
  if (draft.kind !== 'offer') throw new Error(JSON.stringify(draft));
  return draft;
}

type Caps = DecisionTrace['caps'];

/** What the auditor says of a claim at that time; `alter`: what a desk that has a fault makes of its caps. */
async function said(
  at: number,
  alter: (caps: Caps) => Caps = (caps) => caps,
  options: { decidedAt?: number; request?: Partial<LoanRequest>; earlier?: true } = {},
): Promise<string[]> {
  const { decidedAt = at, request = {}, earlier } = options;
  const { offer, trace } = decided(decidedAt, request, earlier && 'shared');
  const { rateHundredths, amountCents, installments } = offer;
  const body = JSON.stringify({
    valorTaxaMensal: rateHundredths / 100,
    valorLiberado: amountCents / 100,
    numeroParcelas: installments,
    dataHoraValidadeLance: '2026-12-20T12:00:00',
  });
  const log = [
    requested({ request: { ...sampleRequest, ...request } }),
    claimed('a:1', { at, body, offer, trace: { ...trace, caps: alter(trace.caps) } }),
  ].map((record, offset) => ({ partition: 0, offset, record }));
  const run = await readRun({ record: { entries: () => [] as never }, log, callbacks: [] });
  const texts: string[] = [];
  for (const known of run.cases.values()) {
    checkCapKeys(known, orders, settings, (code, _, text) => {
      assert.equal(code, 'cap-keys');
      texts.push(text.replace('its claim does not stand under its caps: ', ''));
    });
  }
  return texts;
}

const person = { employerId: '52998224725', employerIdType: 2 };
const branch = { employerId: '11222333000262', employerIdType: null };
const root = { employerId: '11222333', employerIdType: 1 };
const midnight = Date.parse('2026-11-21T03:00:00Z');

test('claims of the desk stand under the caps that the auditor computes: branches, persons, windows, the eve of a day', async () => {
  assert.deepEqual(read.unread, []);
  for (const request of [{}, person, branch, root]) {
    for (const at of [start, midnight - 10 * minuteMs - 1, midnight - 10 * minuteMs, midnight - 1, midnight]) {
      assert.deepEqual(await said(at, undefined, { request }), [], JSON.stringify([request, at]));
    }
  }
});

test('a claim with the keys of the hour before, of the day before or of the eve is named', async () => {
  const hourBefore = await said(start + 3 * minuteMs, undefined, { decidedAt: start });
  const hour = Math.floor(start / hourMs);
  assert.deepEqual(hourBefore, [`company in hour-${hour + 1} is missing, and it names hour-${hour}`]);
  const six = Date.parse('2026-11-20T18:00:00Z');
  assert.deepEqual(
    (await said(six, undefined, { decidedAt: six - minuteMs })).map((text) => text.split(' ')[0]).sort(),
    ['company', 'eight-days', 'month'],
  );
  const dayBefore = await said(midnight + 1, undefined, { decidedAt: midnight - minuteMs });
  for (const name of ['worker-day', 'employer-day', 'desk-day', 'operator:book']) {
    assert.ok(dayBefore.includes(`${name} in 2026-11-21 is missing, and it names 2026-11-20, eve-2026-11-21`), name);
  }
  const noEve = await said(midnight - minuteMs, undefined, { decidedAt: midnight - 16 * minuteMs });
  assert.equal(noEve.filter((text) => text.includes('eve-2026-11-21 is missing')).length, 4);
});

test('each cap that a claim leaves out is named, and each key that one leaves out or has of somebody else', async () => {
  const { caps } = decided(start, {}).trace;
  assert.equal(caps.length, 7);
  for (const [left, cap] of caps.entries()) {
    const [name] = cap.keys[0]!.split('|');
    const others = (all: Caps) => all.filter((_, index) => index !== left);
    assert.match((await said(start, others)).join(), new RegExp(`^${name} in [^ ]* is missing$`));
    for (const gone of [1, cap.keys.length - 1]) {
      const short = (all: Caps) =>
        all.map((each, index) => (index === left ? { ...each, keys: each.keys.filter((_, at) => at !== gone) } : each));
      assert.equal((await said(start, short)).length, 1, `${name} without its key ${gone}`);
    }
  }
  const ofAnother = (all: Caps) =>
    all.map((cap) => ({ ...cap, keys: cap.keys.map((key) => key.replace(/rootKey=\w+/, 'rootKey=99999999')) }));
  assert.match((await said(start, ofAnother)).join(), /^company in hour-\d+ is missing/);
  const unread = (all: Caps) => all.map((cap) => ({ ...cap, keys: [...cap.keys, 'standing:unread'] }));
  assert.deepEqual(await said(start, unread), []);
});

const shortened = (caps: Caps, readsNext: boolean): Caps =>
  caps.map((cap) => {
    const isWindow = /\|(hour|6h)-\d+$/.test(cap.keys[0]!);
    return { ...cap, keys: isWindow ? cap.keys.slice(0, readsNext ? undefined : -1) : cap.keys.slice(0, 1) };
  });

test('claims of earlier versions stand as these wrote them, by what they say themselves; a claim of this one does not', async () => {
  const inDoubt = { employerId: '191', employerIdType: 1 };
  for (const readsNext of [true, false]) {
    for (const request of [{}, inDoubt]) {
      const older = (caps: Caps) => shortened(caps, readsNext);
      assert.deepEqual(await said(start, older, { earlier: true, request }), []);
    }
    assert.ok((await said(start, (caps) => shortened(caps, readsNext))).length > 0, 'of this version');
  }
  const mixed = (caps: Caps) => [...shortened(caps.slice(0, 5), true), ...shortened(caps.slice(5), false)];
  assert.ok((await said(start, mixed, { earlier: true })).length > 0, 'no version wrote one claim in two ways');
  const stale = { decidedAt: start, earlier: true } as const;
  assert.equal((await said(start + 3 * minuteMs, (caps) => shortened(caps, true), stale)).length, 1);
});

test('a claim under a cap whose key the request does not say is named', async () => {
  const { trace } = decided(start, {});
  const request = { employerId: '191', employerIdType: 1 };
  const marked = (): Caps => trace.caps;
  const texts = await said(start, marked, { request, earlier: true });
  assert.ok(texts.length > 0);
  const { requestId } = sampleRequest;
  const record = claimed('a:1', { at: start, trace });
  const log = [requested({ request: { ...sampleRequest, ...request } }), record].map((each, offset) => ({
    ...{ partition: 0, offset },
    record: each,
  }));
  const run = await readRun({ record: { entries: () => [] as never }, log, callbacks: [] });
  const found: string[] = [];
  checkCapKeys(run.cases.get(requestId)!, orders, settings, (_, __, text) => void found.push(text));
  assert.ok(
    found.some((text) => text.endsWith('employer.rootKey is not known, by which company counts')),
    found.join(),
  );
});
