/** All fourteen endpoints, by the real client against the played service: from a won bid to the endorsed and renegotiated loan. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createVault } from '../../../src/adapters/vault/vault.ts';
import type { CallbackRecord, Requested } from '../../../src/domain/records.ts';
import type { WorkerIdentity } from '../../../src/domain/request.ts';
import { sealedPlaces } from '../../../src/domain/vault.ts';
import type { Breach, Preparation } from '../../../src/wire/checks/breach.ts';
import { prepareInclusion, prepareSigners, prepareSimulation } from '../../../src/wire/checks/withdrawals.ts';
import { prepareContract, prepareEndorsement, prepareRenegotiation } from '../../../src/wire/checks/worker-credit.ts';
import { readRequestMapping } from '../../../src/wire/mapping-table.ts';
import { type OperationName, type Prepared, writeOperation } from '../../../src/wire/operations.ts';
import { readWebhook, type WebhookEntry } from '../../../src/wire/webhook.ts';
import { bidBody, startPartner } from '../../sandbox/partner.ts';
import { startClient } from './surroundings.ts';

const vault = createVault('a secret of the test that is long enough');
const agentCpf = '52998224725';
const account = {
  ...{ accountType: 2, branch: '0001', branchDigit: '9', account: '123', accountDigit: '4', bankNumber: '001' },
};

function shippedMapping() {
  const file = readFileSync(new URL('../../../config/request-mapping.json', import.meta.url), 'utf8');
  const read = readRequestMapping(JSON.parse(file));
  assert.ok(read.kind === 'read');
  return read.mapping;
}

const mapping = shippedMapping();

function ready<N extends OperationName>(preparation: Preparation<N>): Prepared<N> {
  const breaches: readonly Breach[] = preparation.kind === 'withheld' ? preparation.breaches : [];
  assert.deepEqual(breaches, []);
  return (preparation as { prepared: Prepared<N> }).prepared;
}

function accepted<A>(result: { kind: string; answer?: A }): A {
  assert.equal(result.kind, 'accepted', JSON.stringify(result));
  return result.answer as A;
}

test('fourteen endpoints and eight events, from the won bid to the renegotiated loan', async (t) => {
  const partner = await startPartner({
    auction: { windowMs: 2_000, contemplationDelayMs: 5, proposalDelayMs: 5 },
    contracts: { acceptAll: true, callbackMinMs: 1, callbackMaxMs: 5, cutoffDay: 31 },
    links: { callbackMinMs: 1, callbackMaxMs: 5 },
    world: { ineligibleShare: 0, authorisationOmittedShare: 0, longIdShare: 0 },
  });
  t.after(partner.stop);
  const { sandbox, url } = partner;
  const { service } = startClient(t, url, { fgtsUrl: url, proposalUrl: url, accessToken: 'sandbox-token' });
  const events = new Set<string>();
  const entries: WebhookEntry[] = [];
  partner.react(({ body, at }) => {
    const reading = readWebhook(body, { mapping, vault, receivedAt: at, now: at });
    assert.ok(reading.kind === 'entries', reading.kind);
    events.add(reading.event);
    entries.push(...reading.entries);
    for (const { record } of reading.entries) {
      if (!('kind' in record) || record.kind !== 'requested') continue;
      const mayWrite = () => true;
      const attempt = { body: bidBody(record.requestId, { rate: 2 }), deadlineAt: Date.now() + 1_800, mayWrite };
      void service.placeBid(attempt);
    }
  });
  const callback = async <K extends CallbackRecord['kind']>(kind: K, requestCode: string | null) => {
    for (let round = 0; round < 300; round += 1) {
      for (const { topic, record } of entries) {
        if (topic !== 'callbacks' || record.kind !== kind || record.requestCode !== requestCode) continue;
        return record as Extract<CallbackRecord, { kind: K }>;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`no ${kind} came`);
  };

  const summary = await sandbox.run(6);
  assert.ok(summary.won > 0);
  const { requestId } = sandbox.record.of('won')[0]!;
  const requested = entries.find(({ topic, key }) => topic === 'auctions' && key === requestId)!.record as Requested;
  const identity = JSON.parse(vault.open(sealedPlaces.request(requestId), requested.sealed)).identity as WorkerIdentity;
  const query = { identity, authorisationNumber: requested.request.authorisationNumber, cached: false };

  const list = await service.listLinks(query);
  assert.ok(list.kind === 'acknowledged');
  await callback('link-list', list.requestCode);
  const asked = await service.askLinkDetail(query);
  assert.ok(asked.kind === 'acknowledged');
  const { detail } = await callback('link-detail', asked.requestCode);
  const margin = { receivedAt: detail.receivedAt, availableMarginCents: detail.availableMarginCents };

  const terms = { requestId, amountCents: 30_000, installments: 12, rateHundredths: 2, agentCpf, account };
  const facts = { now: Date.now(), bidRateHundredths: 2, acceptedByWorker: true, margin, installmentCents: 2_600 };
  const generatedAt = Date.now();
  const generated = accepted(await service.perform(ready(prepareContract('c-1', terms, facts))));
  const { note, of } = await callback('credit-note', generated.requestCode);
  assert.ok(note !== null && of === 'contract');
  assert.equal(note.rateMonthlyPercent, 0.02);

  const content = { codigoProposta: note.proposalCode, assinatura: 'x' };
  const now = Date.now();
  const signed = { now, generatedAt, noteReceived: true, signedAt: now, cutoffDay: 31, doubts: [] };
  const unbound = { rateLimitHundredths: null, noteRateHundredths: null, signer: null };
  const endorsed = accepted(
    await service.perform(ready(prepareEndorsement('e-1', { content }, { ...signed, ...unbound }))),
  );
  assert.ok(endorsed.requestCode !== null, 'the played service answers in the common shape');
  const shown = await callback('operation-event', endorsed.requestCode);
  assert.deepEqual([shown.shows, shown.errors], ['success', []]);

  sandbox.contracts.change(note.noteNumber, { closedByTermination: true });
  const { cpf, registration, employerId, employerIdType } = identity;
  assert.ok(cpf !== null && registration !== null && employerId !== null && employerIdType !== null);
  const anew = { closedContract: note.noteNumber, cpf, registration, employerId, employerIdType, agentCpf };
  const original = {
    ...{ rateHundredths: 2, cpf, closedByTermination: true, openInstallments: 12, pendingCharges: false },
  };
  const preparation = prepareRenegotiation(
    'r-1',
    { ...anew, contractType: '1', installments: 12, rateHundredths: 2 },
    { now: Date.now(), original, link: { valid: true, margin }, installmentCents: 2_600 },
  );
  const renegotiating = accepted(await service.perform(ready(preparation)));
  const renegotiated = await callback('credit-note', renegotiating.requestCode);
  assert.ok(renegotiated.note !== null && renegotiated.of === 'renegotiation');

  const { birthDate } = sandbox.withdrawals.holder(agentCpf);
  const simulation = prepareSimulation('s-1', { cpf: agentCpf, birthDay: birthDate }, { now: Date.now(), birthDate });
  assert.ok((accepted(await service.perform(ready(simulation))).simulations ?? []).length > 0);
  const inclusion = prepareInclusion(
    'i-1',
    { cpf: agentCpf, period: 1, birthDay: birthDate, account: { ...account, holderCpf: agentCpf } },
    {
      now: Date.now(),
      simulated: new Map([[1, { releasedCents: 100_000_000, rateHundredths: null }]]),
      birthDate,
      simulatedCpf: agentCpf,
      insuranceLimitPercent: 10,
    },
  );
  const { proposalCode } = accepted(await service.perform(ready(inclusion)));
  const dto = { proposalCode };
  accepted(await service.perform(writeOperation('splits', 'l-1', { dto, splits: [{ amountCents: 100 }] })));
  const signers = [{ document: agentCpf, signedAt: Date.now() - 2_000, ip: '203.0.113.7' }];
  accepted(
    await service.perform(
      ready(prepareSigners('g-1', { dto, signers }, { now: Date.now(), includedAt: null, isOfOrder: () => true })),
    ),
  );
  accepted(await service.perform(writeOperation('finalisation', 'f-1', { dto })));
  accepted(await service.perform(writeOperation('account-update', 'a-1', { dto, extra: { conta: '1' } })));
  accepted(await service.perform(writeOperation('proposal', 'p-1', { dto: { CodigoProposta: proposalCode } })));
  accepted(await service.perform(writeOperation('installments', 'n-1', { proposalCode })));

  const expected = ['requests', 'end-of-auction', 'contemplated', 'proposed', 'link-list', 'link-detail'];
  // That of the endorsement is not one of the eight that the contract shows.
  assert.deepEqual([...events].toSorted(), [...expected, 'contract', 'operation', 'renegotiation'].toSorted());
  const { calls, executedTwice } = sandbox.summary();
  assert.deepEqual(Object.keys(calls).toSorted(), [
    '/FGTS/BuscarSimulacaoMultiPeriodo',
    '/FGTS/ConsultaProposta',
    '/FGTS/ConsultarParcelas',
    '/FGTS/IncluirProposta',
    '/Proposta/AtualizarContaPagamento',
    '/Proposta/Finalizar',
    '/Proposta/IncluirAssinaturaCCBFinalizada',
    '/Proposta/SalvarLancamento',
    '/contrato/oferta-leilao/averbar-contrato',
    '/contrato/oferta-leilao/gerar-contrato',
    '/contrato/oferta-leilao/incluir-lance',
    '/contrato/renegociacao/gerar-contrato',
    '/trabalhador/consultar-dados-vinculo',
    '/trabalhador/listar-autorizados',
  ]);
  assert.equal(executedTwice, 0);
});

test('with lost and garbled answers and expiring tokens a keyed operation is done once', async (t) => {
  const faults = {
    operations: { dropAfter: 0.2, garbage: 0.1, errorBefore: 0.1, errorAfter: 0.1, unauthorised: 0.05 },
  };
  const partner = await startPartner({ faults });
  t.after(partner.stop);
  const { sandbox, url } = partner;
  const { service } = startClient(t, url, {
    ...{ fgtsUrl: url, proposalUrl: url, accessToken: 'sandbox-token', idempotentRetries: 10, tokenRetryMs: 5 },
    tokenCommand: [
      process.execPath,
      '-e',
      `fetch('${url}/sandbox/token').then(async (a) => console.log((await a.json()).token))`,
    ],
  });
  const insist = async <N extends OperationName>(prepared: Prepared<N>) => {
    for (let round = 0; round < 100; round += 1) {
      const result = await service.perform(prepared);
      if (result.kind === 'accepted') return;
      assert.ok(result.kind === 'not-sent' || result.kind === 'unknown', JSON.stringify(result));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.fail(`${prepared.operationId} was never done`);
  };
  await insist(writeOperation('simulation', 'simulation', { cpf: agentCpf }));
  for (let index = 0; index < 25; index += 1) {
    await insist(writeOperation('inclusion', `i-${index}`, { cpf: agentCpf, operationCode: `OP-${index}` }));
    // Every token so far has expired.
    if (index % 8 === 7) sandbox.revokeTokens();
    await insist(writeOperation('splits', `s-${index}`, { dto: { operationCode: `OP-${index}` } }));
  }
  const { operations: done, executedTwice, faults: happened } = sandbox.summary();
  assert.deepEqual(done, { '/FGTS/IncluirProposta': 25, '/Proposta/SalvarLancamento': 25 });
  assert.equal(executedTwice, 0);
  assert.ok(happened.dropAfter > 5 && happened.garbage > 0 && happened.errorAfter > 0);
});
