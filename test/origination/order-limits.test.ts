/** No order, and no note, is above the bid that it comes from. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { flowView } from '../../src/http/api/views.ts';
import { differencesOf, expectedLoan, expectedOfInstallment } from '../../src/origination/differences.ts';
import type { FrontResult } from '../../src/origination/front.ts';
import { withLostBids } from '../../src/origination/lost-bids.ts';
import { barriersNow, nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { RenegotiationAsked, StepAsked } from '../../src/origination/orders.ts';
import { figuresOf } from '../../src/sandbox/credit-arithmetic.ts';
import { offer } from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { orderOf } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { dayMs, pricing, settings, startAt } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const { amountCents, installments, rateHundredths } = offer;
const none = { amountCents: null, installmentCents: null, insuranceCents: null, installments, rateHundredths };
/** The instalment that releases the amount of the bid today. */
const ofAmount = (terms: Partial<typeof offer> = {}) =>
  expectedLoan({ ...none, ...terms, amountCents }, Date.now(), pricing).installmentCents!;

test('an order by its instalment releases not more than the bid', async (context) => {
  const { ask, start, state, reaches, details, history } = await takingHouse(context);
  const most = offer.installmentCents;
  assert.ok(most <= ofAmount());
  const byInstallment = { amountCents: null, installmentCents: most };
  const low = { ...byInstallment, rateHundredths: 30 };
  const ofLow = ofAmount({ rateHundredths: 30 });
  assert.ok(ofLow < most);
  const beyond = await start('701', low);
  assert.deepEqual(refusedBy(beyond), [['as-bid', 'installmentCents']]);
  assert(beyond.kind === 'refused');
  assert.match(beyond.breaches[0]!.problem, new RegExp(`was ${amountCents} cents.*at most ${ofLow} cents`));
  const bitMore = { ...low, installmentCents: ofLow + 1 };
  assert.deepEqual(refusedBy(await start('701', bitMore)), [['as-bid', 'installmentCents']]);
  assert.equal((await start('701', { ...low, installmentCents: ofLow })).kind, 'taken');
  // And by the step that changes what was ordered.
  details.clear();
  assert.equal((await start('702')).kind, 'taken');
  await reaches('c-702', 'preparing');
  assert.equal((await state('c-702'))!.subject.amountLimitCents, amountCents);
  const { contract } = orderOf('702');
  const amended = (change: object) =>
    ask('c-702', { step: 'amend', contract: { ...contract, ...change }, despiteBid: true } as StepAsked);
  assert.deepEqual(refusedBy(await amended(low)), [['as-bid', 'contract.installmentCents']]);
  assert.equal((await amended(byInstallment)).kind, 'taken');
  // What whoever asked went on despite of stands in the history.
  const despiteIn = async (flowId: string, kind: string) =>
    (await history(flowId)).flatMap((record) => (record.kind === kind && 'despite' in record ? [record.despite] : []));
  assert.deepEqual(await despiteIn('c-702', 'asked'), [['despiteBid']]);
  assert.deepEqual(await despiteIn('c-702', 'started'), [['despiteBid']]);
});

test('a note that is as its order by instalment says raises no doubt, however the service rounds', async (context) => {
  const { start, noted, sign, state, alarms, reaches } = await takingHouse(context);
  assert.equal((await start('701', { amountCents: null, installmentCents: offer.installmentCents })).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  const { loanCents } = (await state('c-701'))!.expected!;
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1), loanCents: loanCents! + installments / 2 + 2 });
  assert.ok(!alarms.includes('note-differs'), alarms.join());
  assert.equal((await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  // One cent more is another loan.
  assert.equal(
    (await start('702', { amountCents: null, installmentCents: offer.installmentCents - 100 })).kind,
    'taken',
  );
  await reaches('c-702', 'awaiting-note');
  const other = (await state('c-702'))!.expected!.loanCents! + installments / 2 + 3;
  await noted('c-702', { noteNumber: 'N-2', proposalCode: uuid(2), loanCents: other });
  await eventually(() => alarms.includes('note-differs'));
  assert.ok(nextSteps((await state('c-702'))!, settings, null).includes('accept'));
});

test('of all loans with the instalment that was ordered the note says which: nothing of it differs, unless something does', async (context) => {
  const { start, noted, state, reaches, noteFor } = await takingHouse(context);
  const installmentCents = offer.installmentCents - 1;
  const { cutoffDay, dueDayOfMonth } = pricing.payrollCalendar;
  /** The greatest loan of the instalment, as the sandbox reckons: other than ours by some cents. */
  const figures = figuresOf({ ...none, installmentCents, insuranceCents: 0 }, Date.now(), {
    ...{ cutoffDay, dueDay: dueDayOfMonth, businessDays: true },
  });
  const told = {
    ...{ loanCents: figures.financedCents, iofCents: figures.iofCents, installmentCents },
    ...{ cetAnnualPercent: figures.cetAnnualPercent, cetMonthlyPercent: figures.cetMonthlyPercent },
  };
  const differences = async (requestId: string, change: object) => {
    await start(requestId, { amountCents: null, installmentCents });
    await reaches(`c-${requestId}`, 'awaiting-note');
    assert.notEqual((await noteFor(`c-${requestId}`, {})).loanCents, told.loanCents);
    const proposalCode = uuid(Number(requestId));
    await noted(`c-${requestId}`, { noteNumber: `N-${requestId}`, proposalCode, ...told, ...change });
    return (await state(`c-${requestId}`))!.differences;
  };
  assert.deepEqual(await differences('701', {}), []);
  assert.deepEqual(await differences('702', { iofCents: figures.iofCents + 9 }), [
    { field: 'iofCents', ours: figures.iofCents, theirs: figures.iofCents + 9 },
  ]);
  const [beyond] = await differences('703', { loanCents: told.loanCents + 20 });
  assert.deepEqual([beyond!.field, beyond!.theirs], ['loanCents', told.loanCents + 20]);
  assert.ok(beyond!.ours < told.loanCents);
  const [installment] = await differences('704', { installmentCents: installmentCents + 1 });
  assert.deepEqual(installment, { field: 'installmentCents', ours: installmentCents, theirs: installmentCents + 1 });
});

test('on any day, at any rate and term, the greatest loan of an instalment differs in nothing from what is reckoned of it', () => {
  const { cutoffDay, dueDayOfMonth } = pricing.payrollCalendar;
  const calendar = { cutoffDay, dueDay: dueDayOfMonth, businessDays: true };
  let moved = 0;
  for (const days of [0, 9, 18, 27]) {
    for (const term of [6, 12, 24, 48, 96]) {
      for (const rate of [150, 251, 350, 489]) {
        for (const insuranceCents of [0, 5_000]) {
          const at = startAt + days * dayMs;
          const terms = { ...none, installmentCents: 23_456, installments: term, rateHundredths: rate, insuranceCents };
          const { financedCents: loanCents, ...figures } = figuresOf(terms, at, calendar);
          const note = { ...sampleNote, ...figures, loanCents };
          const expected = expectedLoan(terms, at, pricing);
          if (expected.loanCents !== loanCents) moved += 1;
          const reckoned = { ...expected, ...expectedOfInstallment(terms, note, at, pricing) };
          assert.deepEqual(differencesOf(reckoned, note), [], JSON.stringify({ days, term, rate, insuranceCents }));
        }
      }
    }
  }
  assert.equal(moved, 160, 'each of them is another loan than the middle one');
});

test('a note that releases more than the bid is accepted by nobody', async (context) => {
  const { ask, start, noted, sign, state, reaches } = await takingHouse(context);
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const { loanCents } = (await state('c-701'))!.expected!;
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1), loanCents: loanCents! + 3 });
  assert.ok(!nextSteps((await state('c-701'))!, settings, null).includes('accept'));
  const refused = await ask('c-701', { step: 'accept', reason: 'x' });
  assert.deepEqual(refusedBy(refused), [['amount-within-bid', 'step']]);
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['amount-within-bid', 'step']]);
  assert.ok(nextSteps((await state('c-701'))!, settings, null).includes('regenerate'));
});

test('a note with a greater instalment than the bid, or with insurance that nobody ordered, is accepted by nobody', async (context) => {
  const { ask, start, noted, sign, state, tellNote } = await takingHouse(context);
  const content = (noteNumber: string) => ({ numeroContrato: noteNumber, assinatura: 'b' });
  for (const [requestId, rule, change] of [
    ['701', 'installment-within-bid', { installmentCents: 2 * offer.installmentCents }],
    ['702', 'insurance-as-ordered', { insuranceCents: 500_000 }],
  ] as const) {
    const flowId = `c-${requestId}`;
    await start(requestId);
    await noted(flowId, { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)), ...change });
    const told = (await state(flowId))!;
    assert.equal(told.subject.installmentLimitCents, offer.installmentCents);
    assert.deepEqual(nextSteps(told, settings, null), ['cancel', 'regenerate', 'proposal']);
    assert.deepEqual(waitsFor(told, settings, null), ['cancel', 'regenerate']);
    assert.deepEqual(
      flowView(told, null, settings).barriers.map((each) => each.rule),
      [rule],
    );
    const refused = await ask(flowId, { step: 'accept', reason: 'x' });
    assert.deepEqual(refusedBy(refused), [[rule, 'step']]);
    assert.match(JSON.stringify(refused), /have it generated again or cancel the flow/);
    assert.deepEqual(refusedBy(await sign(flowId, content(`N-${requestId}`))), [[rule, 'step']]);
    assert.equal((await ask(flowId, { step: 'cancel', reason: 'x' })).kind, 'taken');
  }
  // Of several notes the worst counts.
  await start('703');
  await noted('c-703', { noteNumber: 'N-703', proposalCode: uuid(703) });
  await tellNote('c-703', { ...(await state('c-703'))!.note!, installmentCents: 2 * offer.installmentCents });
  await eventually(async () => (await state('c-703'))!.noteAgain != null);
  assert.deepEqual(refusedBy(await ask('c-703', { step: 'accept', reason: 'x' })), [
    ['installment-within-bid', 'step'],
  ]);
  // Less than the bid, and within the tolerance above it.
  await start('704', { amountCents: amountCents / 2 });
  await noted('c-704', { noteNumber: 'N-704', proposalCode: uuid(704), installmentCents: offer.installmentCents });
  assert.equal((await ask('c-704', { step: 'accept', reason: 'x' })).kind, 'taken');
  await start('705');
  await noted('c-705', {
    ...{ noteNumber: 'N-705', proposalCode: uuid(705), insuranceCents: settings.noteTolerance },
    installmentCents: ofAmount() + settings.noteTolerance,
  });
  assert.equal((await sign('c-705', content('N-705'))).kind, 'taken');
});

test('the late note of a cancelled flow is held to the bid too', async (context) => {
  // Before that the note is awaited, and the flow is not cancelled.
  const { ask, start, reaches, noteFor, tellNote, state } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const own = await noteFor('c-701', { noteNumber: 'N-1', installmentCents: 2 * offer.installmentCents });
  await ask('c-701', { step: 'cancel', reason: 'x' });
  await reaches('c-701', 'cancelled');
  await tellNote('c-701', own);
  await eventually(async () => (await state('c-701'))!.lateNote != null);
  const late = (await state('c-701'))!;
  assert.deepEqual(nextSteps(late, settings, null), []);
  assert.deepEqual(refusedBy(await ask('c-701', { step: 'accept', reason: 'x' })), [
    ['installment-within-bid', 'step'],
  ]);
  // One that is not the latest is only seen, whatever it says.
  const seen = { ...late, lateNote: { ...late.lateNote!, isLast: false } };
  assert.deepEqual(nextSteps(seen, settings, null), ['accept']);
});

test('a step is not offered while the flow would have it refused, and the flow says why', async (context) => {
  const { ask, start, noted, sign, state } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1), cetMonthlyPercent: 9 });
  const told = (await state('c-701'))!;
  assert.deepEqual(nextSteps(told, settings, null), ['cancel', 'regenerate', 'accept', 'proposal']);
  assert.deepEqual(waitsFor(told, settings, null), ['accept']);
  const [barrier] = flowView(told, null, settings).barriers;
  const refused = await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  assert(refused.kind === 'refused');
  assert.deepEqual(barrier, refused.breaches[0]);
  assert.match(
    flowText(createFormat('pt'), told, { open: null, settings }),
    /^Regras que impedem +step \(note-accepted\): a CCB/m,
  );
  assert.equal((await ask('c-701', { step: 'accept', reason: 'x' })).kind, 'taken');
  const taken = (await state('c-701'))!;
  assert.deepEqual(waitsFor(taken, settings, null), ['sign']);
  assert.deepEqual(flowView(taken, null, settings).barriers, []);
});

test('the preview of a renegotiation makes every check of its start, and says all that is wrong at once', async (context) => {
  const { start, noted, sign, reaches, front } = await takingHouse(context);
  await start('702');
  await noted('c-702', { noteNumber: '9002', proposalCode: uuid(2) });
  await sign('c-702', { numeroContrato: '9002', assinatura: 'b' });
  await reaches('c-702', 'endorsed');
  const { authorisationNumber, ...link } = orderOf('702').link!;
  const { agentCpf } = orderOf('702').contract;
  const asked = (change: object = {}, more: object = {}) =>
    ({
      ...{
        renegotiation: {
          ...{ ...link, closedContract: '9002', agentCpf, contractType: 'R', installments: 36, rateHundredths: 240 },
          ...change,
        },
      },
      ...{ originalRateHundredths: null, closedByTermination: true, openInstallments: 9, pendingCharges: false },
      ...{ linkValid: true, estimatedInstallmentCents: null, authorisationNumber, ...more },
    }) as RenegotiationAsked;
  const ana = { by: 'ana', key: 'preview' };
  const wrongs: readonly (readonly [RenegotiationAsked, readonly string[]])[] = [
    [
      asked({ rateHundredths: 499, agentCpf: '11144477736' }, { originalRateHundredths: 300, pendingCharges: true }),
      ['cpf-valid', 'original-rate', 'rate-at-most-maximum', 'rate-within-original', 'no-pending-charges'],
    ],
    [
      asked({ closedContract: '09002', employerIdType: 3 }, { openInstallments: 0, linkValid: false }),
      ['contract-number', 'employer-type', 'open-installments', 'link-valid'],
    ],
    [
      asked({ cpf: '11144477735', contractType: ' ' }, { closedByTermination: false }),
      ['contract-of-worker', 'field-given', 'closed-by-termination'],
    ],
    [asked({ closedContract: 'elsewhere', installments: 0 }), ['original-rate-given', 'installments-positive']],
  ];
  for (const [order, rules] of wrongs) {
    const preview = await front.previewRenegotiation(ana, order);
    assert.deepEqual(preview, await front.startRenegotiation(ana, order));
    assert.ok(preview.kind === 'refused');
    for (const rule of rules)
      assert.ok(
        preview.breaches.some((breach) => breach.rule.startsWith(rule)),
        `${rule}: ${JSON.stringify(preview.breaches)}`,
      );
  }
  // Far from the loan that was closed: both figures, until somebody says that it is meant so.
  const far = asked({ rateHundredths: 120, installments: 37 }, { estimatedInstallmentCents: 100_000_00 });
  const questioned = await front.previewRenegotiation(ana, far);
  assert.deepEqual(questioned, await front.startRenegotiation(ana, far));
  assert.deepEqual(refusedBy(questioned as FrontResult), [
    ['like-original', 'rateHundredths'],
    ['like-original', 'installments'],
    ['like-original', 'estimatedInstallmentCents'],
    ['margin-fits', 'estimatedInstallmentCents'],
  ]);
  assert.match(JSON.stringify(questioned), /rate of the closed loan was 250, and this is 120: correct it/);
  assert.match(JSON.stringify(questioned), /open instalments of the closed loan were 9, and this is 37: /);
  assert.equal(
    (
      await front.previewRenegotiation(ana, {
        ...asked({ rateHundredths: 120, installments: 37 }),
        despiteOriginal: true,
      })
    ).kind,
    'startable',
  );
  // Without the open instalments it is held against the term of the closed loan, and of one made elsewhere against the most here.
  const unsaid = { openInstallments: null };
  const closedTerm = offer.installments;
  for (const [order, said] of [
    [asked({ installments: 480 }, unsaid), `the instalments of the closed loan were ${closedTerm}, and this is 480`],
    [asked({ installments: closedTerm * 4 + 1 }, unsaid), `the instalments of the closed loan were ${closedTerm}`],
    [
      asked({ installments: 480, closedContract: 'elsewhere' }, { ...unsaid, originalRateHundredths: 250 }),
      `no loan here has more than ${pricing.maxInstallments} instalments`,
    ],
    [asked({}, { openInstallments: closedTerm + 1 }), `the closed loan had ${closedTerm} instalments, so no more`],
  ] as const) {
    const held = await front.previewRenegotiation(ana, order);
    assert.deepEqual(held, await front.startRenegotiation(ana, order));
    assert.ok(held.kind === 'refused' && held.breaches.some(({ problem }) => problem.startsWith(said)), said);
  }
  const meantLong = { ...asked({ installments: 96 }, unsaid), despiteOriginal: true };
  const longer = await front.previewRenegotiation(ana, meantLong);
  assert.ok(longer.kind === 'startable');
  const { rateHundredths: lentAt, installmentCents } = longer.closed;
  assert.deepEqual([lentAt, longer.closed.installments, installmentCents !== null], [250, closedTerm, true]);
  const near = asked({ rateHundredths: 125, installments: 36 });
  assert.equal((await front.previewRenegotiation(ana, near)).kind, 'startable');
  const right = await front.previewRenegotiation(ana, asked());
  assert.ok(right.kind === 'startable', JSON.stringify(right));
  assert.ok(right.closed.installmentCents !== null && right.terms.installmentCents !== null);
  const taken = await front.startRenegotiation(ana, asked());
  assert.ok(taken.kind === 'taken', 'the preview wrote nothing');
  assert.deepEqual(taken.state.terms, right.terms);
  assert.equal((await front.previewRenegotiation(ana, asked())).kind, 'known');
  const amend = (more: object) =>
    front.ask('r-9002', { by: 'ana', key: `amend-${JSON.stringify(more)}` }, {
      ...{ step: 'amend', renegotiation: { installments: 40, rateHundredths: 110 }, ...more },
    } as StepAsked);
  assert.deepEqual(refusedBy(await amend({})), [
    ['like-original', 'renegotiation.rateHundredths'],
    ['like-original', 'renegotiation.installments'],
  ]);
  const again = await front.previewRenegotiation({ by: 'rui', key: 'other' }, asked({}, { linkValid: false }));
  assert.deepEqual(refusedBy(again as FrontResult), [['flow-exists', 'closedContract']]);
});

test('a renegotiation of a contract made here is held to the rate of its note, once it was endorsed', async (context) => {
  const { ask, start, noted, sign, state, reaches, front, flows } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '9001', proposalCode: uuid(1), rateMonthlyPercent: 2.4 });
  assert.equal((await ask('c-701', { step: 'accept', reason: 'menor' })).kind, 'taken');
  const { authorisationNumber, ...link } = orderOf('701').link!;
  const { agentCpf } = orderOf('701').contract;
  const renegotiate = (rate: number) =>
    front.startRenegotiation({ by: 'ana', key: `r-${rate}` }, {
      ...{
        renegotiation: {
          ...link,
          closedContract: '9001',
          agentCpf,
          contractType: 'R',
          installments,
          rateHundredths: rate,
        },
      },
      ...{ originalRateHundredths: null, closedByTermination: true, openInstallments: 9, pendingCharges: false },
      ...{ linkValid: true, estimatedInstallmentCents: null, authorisationNumber },
    } as RenegotiationAsked);
  const early = await renegotiate(240);
  assert.deepEqual(refusedBy(early), [['closed-by-termination', 'closedContract']]);
  assert.match(JSON.stringify(early), /c-701, which is awaiting-signature/);
  assert.equal((await sign('c-701', { numeroContrato: '9001', assinatura: 'b' })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  assert.equal((await state('c-701'))!.terms!.rateHundredths, 250);
  assert.deepEqual(refusedBy(await renegotiate(241)), [['rate-within-original', 'rateHundredths']]);
  assert.equal((await renegotiate(240)).kind, 'taken');
  // What was renegotiated is lent once more by no way: denied by one person, settled by another, it is neither signed nor generated.
  const denied = { step: 'deny', reason: 'nada' } as const;
  const questioned = await ask('c-701', denied);
  assert.deepEqual(refusedBy(questioned), [['not-renegotiated', 'despiteRenegotiation']]);
  assert.match(JSON.stringify(questioned), /renegotiated here: r-9001, /);
  assert.equal((await ask('c-701', { ...denied, despiteRenegotiation: true })).kind, 'taken');
  const settle = { step: 'accept', reason: 'visto' } as const;
  assert.equal((await front.ask('c-701', { by: 'rui', key: 'settle' }, settle)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  for (const again of [
    { step: 'regenerate', reason: 'de novo' },
    { step: 'sign', signedAt: Date.now(), content: { numeroContrato: '9001', assinatura: 'c' } },
  ] as const) {
    const barred = await ask('c-701', again);
    assert.deepEqual(refusedBy(barred), [['not-renegotiated', 'step']], again.step);
    assert.match(JSON.stringify(barred), /r-9001/);
  }
  const shown = (await withLostBids({ ...flows }, { read: async () => new Map() }).read(['c-701'])).get('c-701')!;
  assert.ok(!nextSteps(shown, settings, null).includes('sign'));
  assert.match(JSON.stringify(barriersNow(shown, settings, null)), /r-9001/);
});
