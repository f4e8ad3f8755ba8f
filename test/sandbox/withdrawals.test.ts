/** Withdrawal-backed loans as the sandbox plays them, over HTTP, in the casing of each family. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { proposalSituations } from '../../src/sandbox/played-proposal.ts';
import type { WithdrawalPath } from '../../src/sandbox/withdrawal-shapes.ts';
import { simulate } from '../../src/sandbox/withdrawal-world.ts';
import { type OperationName, operations, type RequestOf, readOperationAnswer } from '../../src/wire/operations.ts';
import { startPartner } from './partner.ts';

const cpf = '52998224725';
const other = '39053344705';

async function withService(
  overrides: object,
  run: (service: Awaited<ReturnType<typeof startService>>) => Promise<void>,
): Promise<void> {
  const service = await startService(overrides);
  try {
    await run(service);
  } finally {
    await service.stop();
  }
}

async function startService(overrides: object) {
  const partner = await startPartner({ withdrawals: { paymentDelayMs: 5, releaseDelayMs: 5 }, ...overrides });
  let keys = 0;
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    keys += 1;
    const answer = await fetch(partner.url + path, {
      method: 'POST',
      body,
      headers: { authorization: 'sandbox-token', idempotencykey: `key-${keys}`, ...headers },
    });
    return { status: answer.status, text: await answer.text() };
  };
  const raw = async (path: WithdrawalPath, body: object, headers?: Record<string, string>) => {
    const { text } = await post(path, JSON.stringify(body), headers);
    const json = JSON.parse(text);
    return { json, code: (json.Messages ?? json.messages)?.[0]?.Code ?? json.messages?.[0]?.code ?? null };
  };
  /** By our own tables: what they write is taken, what they read was meant. */
  const perform = async <N extends OperationName>(operation: N, request: RequestOf<N>) => {
    const { path, encode } = operations[operation];
    const { status, text } = await post(path, JSON.stringify(encode(request)));
    return readOperationAnswer(operation, status, text);
  };
  const { birthDate, balanceCents } = partner.sandbox.withdrawals.holder(cpf);
  return { ...partner, raw, perform, birthDate, balanceCents };
}

type Service = Awaited<ReturnType<typeof startService>>;

function answered<T>(result: { kind: 'accepted'; answer: T } | { kind: string }): T {
  assert.ok(result.kind === 'accepted' && 'answer' in result, JSON.stringify(result));
  return result.answer;
}

function codeOf(result: { kind: string }): string {
  assert.ok(result.kind === 'rejected' && 'code' in result, JSON.stringify(result));
  return String(result.code);
}

/** Simulated and included; gives the code. */
async function included({ perform, birthDate }: Service): Promise<string> {
  answered(await perform('simulation', { cpf, birthDay: birthDate, rateHundredths: 179 }));
  const account = { holderCpf: cpf, accountType: 1, bankNumber: '001' };
  const answer = answered(await perform('inclusion', { cpf, birthDay: birthDate, operationCode: 'OP-1', account }));
  return answer.proposalCode!;
}

const signer = { name: 'Ana', signedAt: Date.UTC(2026, 0, 5, 12), ip: '203.0.113.7' };

test('from simulation to release, and what is owed', async () => {
  await withService({}, async (service) => {
    const { perform, birthDate, balanceCents } = service;
    const simulation = answered(await perform('simulation', { cpf, birthDay: birthDate, rateHundredths: 179 }));
    assert.equal(simulation.withdrawableCents, balanceCents);
    assert.equal(simulation.query?.cached, true, 'read from the cache unless asked otherwise');
    const items = simulation.simulations ?? [];
    assert.equal(items.length + (simulation.failures ?? []).length, simulation.mostPeriod);
    for (const { releasedCents, operationCents, transfers } of items) {
      assert.ok(releasedCents !== null && operationCents !== null && releasedCents < operationCents);
      assert.ok(transfers!.every(({ onDay }) => onDay?.slice(5, 7) === birthDate.slice(5, 7)));
    }
    const proposalCode = await included(service);
    const dto = { proposalCode };
    const splits = [{ amountCents: 1_000, pixKey: { key: 'ana@example.com' } }];
    answered(await perform('splits', { dto, splits, parameters: [{ name: 'a', value: 'b' }] }));
    answered(await perform('signers', { dto: { operationCode: 'OP-1' }, signers: [signer] }));
    answered(await perform('account-update', { dto, extra: { conta: '99' } }));
    answered(await perform('finalisation', { dto }));
    const read = async () => answered(await perform('proposal', { dto: { CodigoProposta: proposalCode } }));
    let record = await read();
    for (let round = 0; round < 200 && record.situation !== proposalSituations.released; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      record = await read();
    }
    assert.equal(record.situation, proposalSituations.released);
    assert.equal(record.entries?.[0]?.amountCents, 1_000);
    const asOf = `${Number(birthDate.slice(0, 4)) + 200}-01-01`;
    const owed = answered(await perform('installments', { proposalCode, asOf, installments: 1 }));
    assert.equal(owed.installments?.length, 1);
    assert.ok((owed.installments?.[0]?.computed?.fineCents ?? 0) > 0, 'overdue by then');
    const counts = service.sandbox.summary();
    assert.equal(counts.executedTwice, 0);
    assert.equal(
      Object.values(counts.operations).reduce((sum, count) => sum + count, 0),
      5,
    );
  });
});

test('a proposal credits what was asked for, where that is less than was simulated', async () => {
  await withService({}, async ({ perform, birthDate }) => {
    answered(await perform('simulation', { cpf, birthDay: birthDate }));
    const asked = { cpf, birthDay: birthDate, period: 3, amountCents: 20_000 };
    const { proposalCode } = answered(await perform('inclusion', asked));
    const record = answered(await perform('proposal', { dto: { CodigoProposta: proposalCode! } }));
    const credited = record.totalCreditCents ?? 0;
    assert.ok(Math.abs(credited - 20_000) <= 1, `${credited}: each transfer is rounded to the cent`);
    assert.equal(record.installments, 3);
  });
});

test('a balance that is given takes the place of the real one, and what is too much fails by period', async () => {
  await withService({}, async ({ perform }) => {
    const given = { balanceCents: 100_000, birthDay: '1990-05-17', amountCents: 60_000, rateHundredths: 179 };
    const answer = answered(await perform('simulation', given));
    assert.equal(answer.withdrawableCents, 100_000);
    const [failed] = answer.failures ?? [];
    assert.deepEqual([failed?.period, failed?.messages?.[0]?.code], [1, 'VALOR_ACIMA_DO_SALDO']);
    const released = answer.simulations?.map(({ releasedCents }) => releasedCents) ?? [];
    assert.ok(released.length > 0 && released.every((cents) => Math.abs((cents ?? 0) - 60_000) < 20), String(released));
    const transfers = [{ onDay: '2028-05-01', amountCents: 50_000 }];
    const own = answered(await perform('simulation', { ...given, amountCents: 10_000, transfers }));
    assert.equal(own.mostPeriod, 1);
    const fresh = answered(await perform('simulation', { cpf, cached: false }));
    assert.deepEqual([fresh.query?.cached, fresh.query?.requests], [false, 1]);
  });
});

const refusals: Readonly<Record<string, (service: Service) => Promise<readonly [string, string]>>> = {
  'wrong month in a simulation': async ({ perform, birthDate }) => {
    const birthDay = birthDate.slice(5, 7) === '05' ? '1990-06-01' : '1990-05-01';
    return [codeOf(await perform('simulation', { cpf, birthDay })), 'MES_ANIVERSARIO_INVALIDO'];
  },
  'neither balance nor worker': async ({ perform }) => [
    codeOf(await perform('simulation', { amountCents: 100 })),
    'SALDO_AUSENTE',
  ],
  'wrong month in an inclusion': async (service) => {
    await included(service);
    const birthDay = service.birthDate.slice(5, 7) === '05' ? '1990-06-01' : '1990-05-01';
    return [codeOf(await service.perform('inclusion', { cpf, birthDay })), 'MES_ANIVERSARIO_INVALIDO'];
  },
  "somebody else's account": async (service) => {
    await included(service);
    return [codeOf(await service.perform('inclusion', { cpf, account: { holderCpf: other } })), 'TITULAR_DIVERGENTE'];
  },
  'inclusion without simulation': async ({ perform }) => [
    codeOf(await perform('inclusion', { cpf: other })),
    'SIMULACAO_AUSENTE',
  ],
  'proposal of nobody': async ({ perform }) => [
    codeOf(await perform('splits', { dto: { proposalCode: 'none' } })),
    'PROPOSTA_INEXISTENTE',
  ],
  'signature without a time': async (service) => {
    const dto = { proposalCode: await included(service) };
    const { signedAt: _, ...unsigned } = signer;
    return [codeOf(await service.perform('signers', { dto, signers: [unsigned] })), 'ASSINATURA_PENDENTE'];
  },
  'signature without an address': async (service) => {
    const dto = { proposalCode: await included(service) };
    return [codeOf(await service.perform('signers', { dto, signers: [{ ...signer, ip: '999.1.1.1' }] })), 'IP_AUSENTE'];
  },
  'no signers': async (service) => {
    const dto = { proposalCode: await included(service) };
    return [codeOf(await service.perform('signers', { dto, signers: [] })), 'ASSINANTE_AUSENTE'];
  },
  'finalisation before the signature': async (service) => {
    const dto = { proposalCode: await included(service) };
    return [codeOf(await service.perform('finalisation', { dto })), 'ASSINATURA_AUSENTE'];
  },
  'account of a cancelled proposal': async (service) => {
    const proposalCode = await included(service);
    service.sandbox.withdrawals.cancel(proposalCode);
    return [codeOf(await service.perform('account-update', { dto: { proposalCode } })), 'SITUACAO_INVALIDA'];
  },
};

for (const [name, refuse] of Object.entries(refusals)) {
  test(`sandbox refuses a withdrawal: ${name}`, async () => {
    await withService({}, async (service) => {
      const [code, expected] = await refuse(service);
      assert.equal(code, expected);
    });
  });
}

test('finalisation needs the service to be set up for it', async () => {
  await withService({ withdrawals: { finalisationEnabled: false } }, async (service) => {
    const dto = { proposalCode: await included(service) };
    answered(await service.perform('signers', { dto, signers: [signer] }));
    assert.equal(codeOf(await service.perform('finalisation', { dto })), 'OPERACAO_NAO_HABILITADA');
  });
});

test('the same key and body are answered again and done once; another body is refused; no key is refused', async () => {
  await withService({}, async (service) => {
    await included(service);
    const path = '/FGTS/IncluirProposta';
    const body = { dto: { CpfTrabalhador: cpf } };
    const first = await service.raw(path, body, { idempotencykey: 'mine' });
    const second = await service.raw(path, body, { idempotencykey: 'mine' });
    assert.equal(second.json.CodigoProposta, first.json.CodigoProposta);
    const changed = { dto: { CpfTrabalhador: cpf, CodigoOperacao: 'x' } };
    assert.equal((await service.raw(path, changed, { idempotencykey: 'mine' })).code, 'CHAVE_REUTILIZADA');
    assert.equal((await service.raw(path, body, { idempotencykey: '' })).code, 'CHAVE_AUSENTE');
    const { executedTwice } = service.sandbox.summary();
    assert.equal(executedTwice, 0);
    await service.raw(path, body, { idempotencykey: 'another' });
    assert.equal(service.sandbox.summary().executedTwice, 1, 'under another key it is done again, and seen');
  });
});

test('each family has its casing, and the other is refused', async () => {
  await withService({}, async ({ raw }) => {
    const pascal = await raw('/FGTS/BuscarSimulacaoMultiPeriodo', { Dto: { CpfTrabalhador: cpf } });
    assert.equal(pascal.json.Messages[0].Code, 'DADOS_INVALIDOS');
    const lower = await raw('/FGTS/ConsultarParcelas', { dto: { CodigoProposta: 'x' } });
    assert.equal(lower.json.Messages[0].Code, 'DADOS_INVALIDOS');
    const camel = await raw('/Proposta/SalvarLancamento', { dto: {}, lancamentos: [{ vlrTransacao: 'ten' }] });
    assert.equal(camel.json.messages[0].code, 'DADOS_INVALIDOS');
    assert.deepEqual(Object.keys(camel.json), ['msg', 'hasError', 'messages', 'parametros']);
    assert.deepEqual(Object.keys(pascal.json), ['Msg', 'HasError', 'Messages'], 'parameters are of /Proposta alone');
  });
});

test('the token of a withdrawal stands bare or behind Bearer, as set', async () => {
  for (const [withdrawalForm, bare, bearer] of [
    ['bare', 200, 401],
    ['bearer', 401, 200],
    ['either', 200, 200],
  ] as const) {
    await withService({ tokens: { withdrawalForm } }, async ({ url }) => {
      for (const [authorization, expected] of [
        ['sandbox-token', bare],
        ['Bearer sandbox-token', bearer],
        ['Bearer other', 401],
      ] as const) {
        const headers = { authorization, idempotencykey: 'k' };
        const body = JSON.stringify({ dto: { CpfTrabalhador: cpf } });
        const { status } = await fetch(`${url}/FGTS/BuscarSimulacaoMultiPeriodo`, { method: 'POST', body, headers });
        assert.equal(status, expected, `${withdrawalForm} ${authorization}`);
      }
    });
  }
});

test('the additional IOF of a simulation is rounded once, on the whole principal, and its rows add up to it', () => {
  const transfers = [1, 2, 3, 4, 5].map((year) => ({ onDay: `${2026 + year}-03-01`, cents: 20_000 + 37 * year }));
  const now = Date.UTC(2026, 8, 3, 15);
  let apart = 0;
  for (let period = 1; period <= 5; period += 1) {
    for (let amountCents = 30_000; amountCents < 31_000; amountCents += 7) {
      const terms = { ratePercent: 1.8, feeCents: 0, amountCents: period < 3 ? null : amountCents };
      const { financedCents, additionalIofCents, iofCents, releasedCents, rows } = simulate(
        transfers,
        period,
        terms,
        now,
      );
      // 0.38 % of the principal, half a cent up (Decree 6.306, article 7): cents times 38, of 10 000.
      assert.equal(additionalIofCents, Math.floor((financedCents * 38 + 5_000) / 10_000));
      const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + pick(row), 0);
      assert.equal(
        sum((row) => row.additionalIofCents),
        additionalIofCents,
      );
      assert.equal(releasedCents, financedCents - iofCents - additionalIofCents);
      const inEach = sum((row) => Math.floor((row.principalCents * 38 + 5_000) / 10_000));
      if (inEach !== additionalIofCents) apart += 1;
    }
  }
  assert.ok(apart > 50, `${apart} of the loans tell the two ways apart`);
});

test('no row of a simulation has a tax below nothing, however small its balance is', () => {
  const now = Date.UTC(2026, 8, 3, 15);
  const balances = fc.array(fc.oneof(fc.nat(400), fc.nat(30_000), fc.nat(2_000_000)), { minLength: 1, maxLength: 12 });
  const ratePercents = fc.integer({ min: 0, max: 300 }).map((hundredths) => hundredths / 100);
  const held = (balanceCents: readonly number[], ratePercent: number, amountCents: number | null) => {
    const transfers = balanceCents.map((cents, year) => ({ onDay: `${2027 + year}-03-01`, cents }));
    const simulation = simulate(transfers, transfers.length, { ratePercent, feeCents: 0, amountCents }, now);
    const rows = simulation.rows.map(({ principalCents, additionalIofCents }) => ({
      principalCents,
      additionalIofCents,
    }));
    for (const row of rows) {
      assert.ok(row.additionalIofCents >= 0, JSON.stringify(rows));
      assert.ok(Math.abs(row.additionalIofCents - (row.principalCents * 38) / 10_000) <= 1, JSON.stringify(rows));
    }
    const sumCents = rows.reduce((sum, row) => sum + row.additionalIofCents, 0);
    assert.equal(sumCents, simulation.additionalIofCents);
    assert.equal(sumCents, Math.floor((simulation.financedCents * 38 + 5_000) / 10_000));
  };
  held([893, 670, 469, 201], 1.8, null);
  // Each row's own tax is more than half a cent: together they are six cents less than twelve rows of one.
  held(
    Array.from({ length: 12 }, () => 132),
    0,
    null,
  );
  fc.assert(fc.property(balances, ratePercents, fc.option(fc.integer({ min: 1, max: 500_000 })), held), {
    numRuns: 5_000,
  });
});
