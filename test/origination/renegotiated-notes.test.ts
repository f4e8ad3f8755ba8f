/** The note of a renegotiation is held against what was ordered, as that of a contract is. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { dayOf } from '../../src/domain/clock.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import { flowView } from '../../src/http/api/views.ts';
import { renegotiationEstimate } from '../../src/origination/differences.ts';
import type { RenegotiationAsked } from '../../src/origination/orders.ts';
import { financeReleased } from '../../src/pricing/loan.ts';
import { payrollDueDays } from '../../src/pricing/schedule.ts';
import { linkKeyOf, workerKeyOf } from '../../src/wire/identity.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { startFlowHouse } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { link, plainVault, pricing, settings } from './orders.ts';
import { takingHouse } from './taking-house.ts';

const { registration, employerId, employerIdType } = link.identity;
const cpf = link.identity.cpf!;
const loanCents = 800_000;
const [installments, rateHundredths] = [24, 250];
const order = { closedContract: '9001', cpf, registration: registration!, employerId: employerId!, employerIdType };

/** A renegotiation whose note is awaited. */
async function awaiting(context: TestContext, change: Partial<RenegotiationAsked> = {}) {
  const house = await startFlowHouse(context);
  const linkKey = linkKeyOf(plainVault, cpf, registration!, employerIdType!, employerId!);
  house.details.set(linkKey, {
    ...{ ...sampleLink, linkKey, workerKey: workerKeyOf(plainVault, cpf), eligible: true, terminationDate: null },
    ...{ availableMarginCents: 100_000, receivedAt: house.clock.now() },
  });
  house.world.answerTo = ({ operation }) => {
    const body = '{"CodigoRequisicao":"q-1"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, firstByteAt: Date.now(), attempts: 1, response: { status: 200, body } };
  };
  const result = await house.front.startRenegotiation({ by: 'ana', key: randomUUID() }, {
    renegotiation: { ...order, agentCpf: '11144477735', contractType: 'R', installments, rateHundredths },
    ...{ originalRateHundredths: 260, closedByTermination: true, openInstallments: 9, pendingCharges: false },
    ...{ linkValid: true, estimatedInstallmentCents: null, authorisationNumber: '880011', ...change },
  } as RenegotiationAsked);
  assert.equal(result.kind, 'taken', JSON.stringify(result));
  const flowId = 'r-9001';
  await house.reaches(flowId, 'awaiting-note');
  const tell = async (note: CreditNote) => {
    const event = { kind: 'credit-note', at: Date.now(), requestCode: 'q-1', of: 'renegotiation', note } as const;
    await house.tell('q-1', { ...event, errors: [], sealed: '{}' });
    await house.reaches(flowId, 'renegotiated');
    return flowView((await house.state(flowId))!, null, settings);
  };
  return { ...house, tell, flowId };
}

/** As the service would write it for this term. */
function asOrdered(change: Partial<CreditNote> = {}, term = installments): CreditNote {
  const loan = financeReleased(loanCents, {
    ...{ rateHundredths, dueDays: payrollDueDays(dayOf(Date.now()), term, pricing.payrollCalendar) },
    ...{ dayCount: pricing.dayCount, rounding: pricing.rounding, insuranceCents: 0, iof: pricing.iof },
    iofFinanced: false,
  });
  const { installmentCents, iofCents } = loan;
  return { ...sampleNote, loanCents, iofCents, installmentCents, rateMonthlyPercent: rateHundredths / 100, ...change };
}

test('a note as ordered, and one that taxes less, differ in nothing', async (context) => {
  const { tell, alarms } = await awaiting(context);
  const view = await tell(asOrdered({ iofCents: 0 }));
  assert.deepEqual([view.differences, view.notSaid, view.nextSteps], [[], [], ['proposal']]);
  assert.ok(!alarms.includes('note-differs'));
});

for (const [what, change, term, fields] of [
  ['another term', {}, 48, ['installmentCents', 'iofCents']],
  ['another instalment', { installmentCents: 99_000 }, installments, ['installmentCents']],
  ['another rate', { rateMonthlyPercent: 2.6 }, installments, ['rateHundredths']],
  ['insurance', { insuranceCents: 20_000 }, installments, ['insuranceCents']],
  ['too much tax', { iofCents: 90_000 }, installments, ['iofCents']],
  [
    'fees in its CET',
    { cetAnnualPercent: 99, cetMonthlyPercent: 5.9 },
    installments,
    ['cetAnnualHundredths', 'cetMonthlyHundredths'],
  ],
] as const) {
  test(`a note with ${what} is told as one that differs`, async (context) => {
    const { tell, alarms } = await awaiting(context);
    const view = await tell(asOrdered(change, term));
    assert.deepEqual(view.differences.map(({ field }) => field).sort(), [...fields].sort());
    await eventually(() => alarms.includes('note-differs'));
    assert.ok(view.nextSteps.includes('accept') && view.waitsFor.includes('accept'));
    const settled = view.barriers.map(({ rule }) => rule);
    assert.deepEqual(settled, what === 'insurance' ? ['renegotiation-settled'] : []);
  });
}

test('an instalment above the estimate of the order, and a loan that is not said, are told', async (context) => {
  const { tell } = await awaiting(context, { estimatedInstallmentCents: 40_000 });
  const view = await tell(asOrdered());
  assert.deepEqual(
    view.differences.map(({ field, ours }) => [field, ours]),
    [['installmentCents', 40_000]],
  );
});

for (const loanCents of [null, 0, -400_782]) {
  test(`a note with a loan of ${loanCents} cents does not say what is owed`, async (context) => {
    const { tell, alarms } = await awaiting(context);
    const view = await tell({ ...asOrdered(), loanCents });
    assert.deepEqual(view.notSaid, ['loanCents']);
    await eventually(() => alarms.includes('note-differs'));
    assert.ok(view.nextSteps.includes('accept'));
  });
}

test('a loan beyond all that can be owed of the contract that was made here is told as one that differs', async (context) => {
  for (const [openInstallments, times, differs] of [
    [6, 5, false],
    [6, 10, true],
    [null, 9, false],
    [null, 200, true],
  ] as const) {
    const { start, noted, sign, reaches, state, front, tell } = await takingHouse(context);
    await start('701');
    await noted('c-701', { noteNumber: '9001', proposalCode: null });
    await sign('c-701', { numeroContrato: '9001', assinatura: 'b' });
    await reaches('c-701', 'endorsed');
    const { note, terms } = (await state('c-701'))!;
    const begun = await front.startRenegotiation({ by: 'ana', key: 'r' }, {
      renegotiation: { ...order, agentCpf: '11144477735', contractType: 'R', installments, rateHundredths: 100 },
      ...{
        originalRateHundredths: null,
        despiteOriginal: true,
        closedByTermination: true,
        openInstallments,
        pendingCharges: false,
      },
      ...{ linkValid: true, estimatedInstallmentCents: null, authorisationNumber: '880011' },
    } as RenegotiationAsked);
    assert.equal(begun.kind, 'taken', JSON.stringify(begun));
    await reaches('r-9001', 'awaiting-note');
    const requestCode = (await state('r-9001'))!.requestCode!;
    const loan = note!.installmentCents! * times;
    const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'renegotiation', errors: [] } as const;
    const told = { ...asOrdered({ loanCents: loan, iofCents: 0, noteNumber: '9002', rateMonthlyPercent: 1 }) };
    await tell(requestCode, { ...event, note: told, sealed: '{}' });
    await reaches('r-9001', 'renegotiated');
    const view = flowView((await state('r-9001'))!, null, settings);
    const owed = view.differences.filter(({ field }) => field === 'loanCents').map(({ ours }) => ours);
    const most = note!.installmentCents! * (openInstallments ?? terms!.installments);
    assert.deepEqual(owed, differs ? [most] : [], `${openInstallments} ${times}`);
    if (differs) assert.ok(view.nextSteps.includes('accept'));
  }
});

test('an order without an estimate is held to the one that is reckoned from the closed loan, also after an amendment', async (context) => {
  const { start, noted, sign, reaches, state, front, tell, details, sent } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '9001', proposalCode: null });
  await sign('c-701', { numeroContrato: '9001', assinatura: 'b' });
  await reaches('c-701', 'endorsed');
  const { note } = (await state('c-701'))!;
  // Reckoned here it is no promise of the service, so it is not held against the margin.
  for (const [key, detail] of details) details.set(key, { ...detail, availableMarginCents: 100 });
  const asked = {
    renegotiation: { ...order, agentCpf: '11144477735', contractType: 'R', installments, rateHundredths: 100 },
    ...{
      originalRateHundredths: null,
      despiteOriginal: true,
      closedByTermination: true,
      openInstallments: 6,
      pendingCharges: false,
    },
    ...{ linkValid: true, estimatedInstallmentCents: null, authorisationNumber: '880011' },
  } as RenegotiationAsked;
  const begun = await front.startRenegotiation({ by: 'ana', key: 'r' }, asked);
  assert.equal(begun.kind, 'taken', JSON.stringify(begun));
  const estimateOf = (term: number) => {
    const terms = { amountCents: null, installmentCents: null, insuranceCents: null };
    const whole = { ...terms, installments: term, rateHundredths: 100 };
    return renegotiationEstimate(whole, { note: note!, openInstallments: 6 }, Date.now(), pricing)!;
  };
  await reaches('r-9001', 'awaiting-note');
  assert.equal(sent.at(-1)?.operation, 'renegotiation');
  assert.equal((await state('r-9001'))!.terms?.installmentCents, estimateOf(installments));
  const failed = (await state('r-9001'))!.requestCode!;
  const failure = {
    kind: 'credit-note',
    at: Date.now(),
    requestCode: failed,
    of: 'renegotiation',
    note: null,
  } as const;
  await tell(failed, { ...failure, errors: ['7'], sealed: '{}' });
  await reaches('r-9001', 'refused');
  await front.ask('r-9001', { by: 'ana', key: 'c' }, { step: 'cancel', reason: 'outro prazo' });
  await reaches('r-9001', 'cancelled');
  const known = new Map(details);
  details.clear();
  await front.startRenegotiation({ by: 'ana', key: 'r3' }, asked);
  await reaches('r-9001', 'preparing');
  const longer = { step: 'amend', renegotiation: { installments: 48 }, despiteOriginal: true } as const;
  assert.equal((await front.ask('r-9001', { by: 'ana', key: 'a' }, longer)).kind, 'taken');
  assert.equal((await state('r-9001'))!.terms?.installmentCents, estimateOf(48));
  for (const [key, detail] of known) details.set(key, detail);
  await reaches('r-9001', 'awaiting-note');
  const requestCode = (await state('r-9001'))!.requestCode!;
  const dear = {
    ...asOrdered({ rateMonthlyPercent: 1, noteNumber: '9002' }, 48),
    installmentCents: estimateOf(48) + 500,
  };
  const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'renegotiation', errors: [] } as const;
  await tell(requestCode, { ...event, note: dear, sealed: '{}' });
  await reaches('r-9001', 'renegotiated');
  const view = flowView((await state('r-9001'))!, null, settings);
  const told = view.differences.find(({ field }) => field === 'installmentCents');
  assert.deepEqual([told?.ours, told?.theirs], [estimateOf(48), estimateOf(48) + 500]);
  assert.ok(view.waitsFor.includes('accept'));
});

test('the new instalment is estimated from what is open of the old loan, else from all of it', () => {
  const note = { ...sampleNote, loanCents: 600_000, installmentCents: 45_000, rateMonthlyPercent: 2 };
  const terms = {
    amountCents: null,
    installmentCents: null,
    insuranceCents: null,
    installments: 12,
    rateHundredths: 150,
  };
  const at = Date.parse('2026-03-03T15:00:00Z');
  const of = (openInstallments: number | null, change: object = {}) =>
    renegotiationEstimate(terms, { note: { ...note, ...change }, openInstallments }, at, pricing)!;
  // 45,000 cents a month at 2 % are worth 404,216 over ten months: with its tax about 38,600 a month at 1.5 % over twelve.
  assert.ok(Math.abs(of(10) - 38_600) < 500, String(of(10)));
  assert.ok(Math.abs(of(null) - 57_300) < 700, String(of(null)));
  assert.equal(of(null, { loanCents: null }), null);
  // What the service lends at most: the debt and the tax on it.
  const loan = financeReleased(600_000, {
    ...{ rateHundredths: 150, dueDays: payrollDueDays(dayOf(at), 12, pricing.payrollCalendar) },
    ...{ dayCount: pricing.dayCount, rounding: pricing.rounding, insuranceCents: 0, iof: pricing.iof },
    iofFinanced: true,
  });
  assert.ok(loan.financedCents === 600_000 + loan.iofCents && loan.iofCents > 0);
  assert.equal(of(null), loan.installmentCents);
});

test('insurance or a figure that cannot be read is settled by a person, and the flow has come to its end', async (context) => {
  for (const change of [
    { insuranceCents: 5_000 },
    { rateAnnualPercent: null, unreadable: ['rateAnnualPercent'] },
  ] as const) {
    const { tell, front, flowId, state } = await awaiting(context);
    const view = await tell(asOrdered(change as Partial<CreditNote>));
    assert.deepEqual(view.waitsFor, ['accept']);
    assert.deepEqual(
      view.barriers.map(({ rule }) => rule),
      ['renegotiation-settled'],
    );
    const asked = await front.ask(
      flowId,
      { by: 'ana', key: randomUUID() },
      { step: 'accept', reason: 'lida e acertada' },
    );
    assert.equal(asked.kind, 'taken', JSON.stringify(asked));
    const after = flowView((await state(flowId))!, null, settings);
    assert.deepEqual([after.barriers, after.waitsFor, after.noteAccepted?.by], [[], [], 'ana']);
  }
});
