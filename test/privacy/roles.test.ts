/** What each role sees of flows and decisions: by field, whatever stands in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownReasons } from '../../src/bidding/decide.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { flowPageOf, flowView } from '../../src/http/api/views.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { shownRecord } from '../../src/origination/shown-flows.ts';
import { settings } from '../origination/orders.ts';
import { plantedIn, plantedText } from '../wire/planted.ts';
import { createTestVault } from '../wire/vault.ts';

const vault = createTestVault();
const flowId = 'c-1';
const at = 1_000;
const body = JSON.stringify({ Payload: { Erros: [{ Codigo: 'E7', Mensagem: 'Zulmira Plantada sem margem' }] } });

/** Also as earlier versions wrote them: with the service's words in clear. */
const records: FlowRecord[] = [
  {
    ...{ kind: 'told', flowId, at, requestCode: 'code', of: 'contract', note: null, errors: [`E7: ${plantedText}`] },
    sealed: vault.seal(sealedPlaces.callback('code'), body),
  },
  {
    ...{ kind: 'asked', flowId, at, stepId: 's', by: 'ana', step: 'cancel', requestHash: 'h', terms: null },
    ...{ signedAt: null, requestCode: null, personKeys: ['a-worker-key'], reason: plantedText, sealed: null },
  },
  {
    ...{ kind: 'answered', flowId, at, intentId: 'i', instance: 'x', earlierAttemptPossible: false, firstByteAt: at },
    result: { kind: 'rejected', code: plantedText, errors: [plantedText, `E7: ${plantedText}`] },
    status: 422,
    sealedAnswer: vault.seal(sealedPlaces.flowAnswer(flowId), body),
  },
  {
    ...{ kind: 'proposed', flowId, at, proposalCode: null, proposalNumber: null, validUntil: null },
    errors: [plantedText],
  },
  {
    ...{ kind: 'started', flowId, at, flow: 'withdrawal', by: 'ana', key: 'k', requestHash: 'h', terms: null },
    subject: {
      ...{ requestId: null, workerKey: 'a-worker-key', linkKey: 'a-link-key', rateLimitHundredths: null },
      ...{ closedContract: null, signerKeys: ['a-worker-key'] },
    },
    sealed: plantedText,
  },
];

test('who only looks sees no name, no CPF and no pseudonym in the history of a flow (defect line 14)', () => {
  for (const record of records) {
    const shown = JSON.stringify(shownRecord(record, null));
    assert.deepEqual(plantedIn(shown), [], record.kind);
    assert.doesNotMatch(shown, /a-worker-key|a-link-key|sealed[A-Z]/, record.kind);
    assert.match(shown, new RegExp(`"kind":"${record.kind}"`));
  }
});

test('who works on flows reads what the service and colleagues wrote (defect line 14)', () => {
  assert.deepEqual(shownRecord(records[0]!, vault.open).errors, ['E7: Zulmira Plantada sem margem']);
  const sealedReason = vault.seal(sealedPlaces.flowReason(flowId), '"desistiu"');
  const asked = { ...records[1]!, reason: null, sealedReason } as FlowRecord;
  assert.equal(shownRecord(asked, vault.open).reason, 'desistiu');
  assert.doesNotMatch(JSON.stringify(shownRecord(asked, null)), /desistiu/);
});

test('the keys of steps and orders are for those who work on flows, and a CPF in them for nobody (defect line 14)', () => {
  const [asked, started] = [records[1]!, records[4]!];
  assert.ok(asked.kind === 'asked' && started.kind === 'started');
  for (const key of ['604-629-148-87', 'order-160462914887', 'zulmira@example.com']) {
    const begun = evolve(null, { ...started, key }, settings);
    const state = evolve(begun, { ...asked, stepId: key }, settings)!;
    for (const open of [null, vault.open]) {
      const shown = [
        flowView(state, open, settings),
        shownRecord({ ...started, key }, open),
        shownRecord({ ...asked, stepId: key }, open),
      ];
      assert.ok(!JSON.stringify(shown).includes(key), key);
    }
  }
  const state = evolve(
    evolve(null, { ...started, key: 'order-1' }, settings),
    { ...asked, stepId: 'cancel-1' },
    settings,
  )!;
  assert.equal(flowView(state, vault.open, settings).steps[0]!.stepId, 'cancel-1');
  assert.equal(flowView(state, null, settings).steps[0]!.stepId, 'step-1');
  assert.equal(shownRecord({ ...started, key: 'order-1' }, vault.open).key, 'order-1');
});

test('an event and the errors of a flow are shown by role (defect line 14)', () => {
  const told = { ...records[0]!, flowId: 'event:code' } as FlowRecord;
  const event = evolve(null, told, settings)!;
  const viewed = flowView(event, null, settings);
  assert.deepEqual([plantedIn(JSON.stringify(viewed)), viewed.errors], [[], ['E7']]);
  assert.deepEqual(flowView(event, vault.open, settings).errors, ['E7: Zulmira Plantada sem margem']);
});

test('of a doubtful callback those who work on flows see figures and words, and not who the worker is', () => {
  const { requestCode } = records[0] as Extract<FlowRecord, { kind: 'told' }>;
  const place = sealedPlaces.callback(requestCode);
  const body = {
    NomeTrabalhador: 'Zulmira Plantada',
    CpfTrabalhador: '52998224725',
    Payload: { Conteudo: { ValorParcela: '99 e meio', Mensagem: 'CPF 529.982.247-25: recusado' } },
  };
  const told = { ...records[0]!, denies: true, sealed: vault.seal(place, JSON.stringify(body)) } as FlowRecord;
  assert.deepEqual(shownRecord(told, vault.open).written, {
    'Payload.Conteudo.ValorParcela': '99 e meio',
    'Payload.Conteudo.Mensagem': 'CPF ***: recusado',
  });
  assert.equal(shownRecord(told, null).written, undefined);
});

test('a code of the service that is a CPF is masked for who only looks, and whole for who works on flows', () => {
  for (const code of ['52998224725', '529-982-247-25', 'Quaresmaz.52998224725']) {
    const note = {
      ...{ noteNumber: code, proposalCode: code, loanCents: null, iofCents: null, insuranceCents: null },
      ...{ installmentCents: null, rateMonthlyPercent: null, rateAnnualPercent: null },
      ...{ cetMonthlyPercent: null, cetAnnualPercent: null },
    };
    const told = { ...records[0]!, flowId: `event:${code}`, requestCode: code, note, holder: code } as FlowRecord;
    const proposed = { ...records[3]!, proposalCode: code, proposalNumber: code } as FlowRecord;
    const event = { ...evolve(null, told, settings)!, proposalCode: code, owner: code, noteHolder: code, note };
    const seen = [flowView(event, null, settings), shownRecord(told, null), shownRecord(proposed, null)];
    const page = flowPageOf([event], 1, null, settings);
    assert.doesNotMatch(JSON.stringify([seen, page]), /529.?982.?247.?25/);
    assert.equal(seen[0]!.requestCode, code.startsWith('Q') ? 'Quaresmaz.***' : '***');
    const { requestCode, flowId: id, note: shown } = flowView(event, vault.open, settings);
    assert.deepEqual([requestCode, id, shown?.noteNumber], [code, `event:${code}`, code]);
    const { next } = flowPageOf([event], 1, vault.open, settings);
    assert.ok(next?.endsWith(code));
  }
});

test('the reason of a full cap does not say whose it is (defect line 14)', () => {
  const key = 'per-worker|worker.key=Kq3…pseudonym|2026-11-22';
  const [cap, rule] = shownReasons([
    { code: 'cap', rule: null, text: `the cap ${key} has no room left for this amount` },
    { code: 'age', rule: 'adults', text: 'too young' },
  ]);
  assert.doesNotMatch(cap!.text, /worker|pseudonym/);
  assert.equal(rule!.text, 'too young');
});
