/** Contract, endorsement and renegotiation as the sandbox plays them: what keeps the contract goes through, what breaks it is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chanceOf } from '../../src/sandbox/chance.ts';
import {
  type ContractSettings,
  type Contracts,
  createContracts,
  defaultContracts,
} from '../../src/sandbox/contracts.ts';
import { figuresOf } from '../../src/sandbox/credit-arithmetic.ts';
import { createLinks, defaultLinks } from '../../src/sandbox/links.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import { createRecord } from '../../src/sandbox/record.ts';
import { defaultWorld } from '../../src/sandbox/world.ts';
import { endorsementTold } from '../../src/wire/endorsement-words.ts';
import { parseJson } from '../../src/wire/json.ts';
import { linkDetailPath } from '../../src/wire/link-queries.ts';
import { contractMessage, renegotiationMessage } from '../../src/wire/worker-credit.ts';
import { manualClock } from './clocks.ts';

const dayMs = 86_400_000;
const agent = '52998224725';

/** A won and accepted request, its link asked, on a clock of its own at noon of 10 November. */
function play(given: { accepted?: boolean; asked?: boolean; settings?: Partial<ContractSettings> } = {}) {
  const clock = manualClock(Date.UTC(2026, 10, 10, 15));
  const record = createRecord(null);
  const told: { kind: string; requestCode: string; body: string }[] = [];
  const tell = (callback: (typeof told)[number]) => void told.push(callback);
  const links = createLinks({ settings: defaultLinks, clock, chance: chanceOf('links'), tell: () => {} });
  const request = requestAt({ ...defaultWorld, ineligibleShare: 0 }, 'seed', 3, 10);
  const { worker } = request;
  const contracts = createContracts({
    ...{ world: defaultWorld, links, clock, chance: chanceOf('contracts'), record, tell },
    settings: { ...defaultContracts, ...given.settings },
  });
  const bid = {
    ...{
      callCode: 'call',
      bidId: 'bid',
      requestId: request.requestId,
      rival: null,
      rateHundredths: 300,
      amountCents: 250_000,
    },
    ...{ installments: 24, placedAt: clock.now(), sequence: 1 },
  };
  links.learn(worker);
  contracts.propose(bid, request, given.accepted ?? true);
  const ask = () => {
    const answer = links.query(
      linkDetailPath,
      JSON.stringify({
        ...{ cpfTrabalhador: worker.cpf, matricula: worker.registration },
        ...{ codigoInscricaoEmpregador: worker.employer.idType, numeroInscricaoEmpregador: worker.employer.id },
        autorizacao: { nsuAutorizacaoDigital: Number(worker.authorisationNumber) },
      }),
    );
    assert.equal(answer.kind, 'acknowledged');
  };
  if (given.asked ?? true) ask();
  return { clock, contracts, record, told, request, worker, ask };
}

type Played = ReturnType<typeof play>;

const account = {
  ...{ accountType: 2, branch: '0001', branchDigit: '9', account: '123', accountDigit: '4', bankNumber: '001' },
};

function contractBody({ request }: Played, changes: Record<string, unknown> = {}): string {
  const body = contractMessage.encode({
    ...{ requestId: request.requestId, amountCents: 50_000, installments: 12, rateHundredths: 300 },
    ...{ agentCpf: agent, account },
  });
  return JSON.stringify({ ...body, ...changes });
}

function outcome(result: ReturnType<Contracts['generate']>): string {
  return result.kind === 'refused' ? result.code : result.kind;
}

/** All of an account but the check digit of its number. */
const withoutDigit = { tipoConta: 1, agencia: '1', agenciaDig: '2', conta: '3', numeroBanco: '001' };

const contractRefusals: Readonly<Record<string, { code: string; body?: object; play?: Parameters<typeof play>[0] }>> = {
  'both values': { code: 'DADOS_INVALIDOS', body: { valorParcela: 10 } },
  'neither value': { code: 'DADOS_INVALIDOS', body: { valorLiberado: null } },
  'rate of 0.01': { code: 'DADOS_INVALIDOS', body: { valorTaxaMensal: 0.01 } },
  'rate of 4.98': { code: 'DADOS_INVALIDOS', body: { valorTaxaMensal: 4.98 } },
  'rate above the bid': { code: 'TAXA_ACIMA_DO_LANCE', body: { valorTaxaMensal: 3.01 } },
  'insurance without policy': { code: 'DADOS_INVALIDOS', body: { valorSeguro: '10.00' } },
  'insurance as a number': { code: 'DADOS_INVALIDOS', body: { valorSeguro: 10, numeroApolice: '1' } },
  'request id as a number': { code: 'DADOS_INVALIDOS', body: { numeroSolicitacao: 7 } },
  'no agent': { code: 'DADOS_INVALIDOS', body: { cpfAgenteCredito: null } },
  'agent who is none': { code: 'DADOS_INVALIDOS', body: { cpfAgenteCredito: '52998224726' } },
  'no account': { code: 'DADOS_INVALIDOS', body: { propostaContaPagamento: null } },
  'half an account': { code: 'DADOS_INVALIDOS', body: { propostaContaPagamento: withoutDigit } },
  'request of nobody': { code: 'SOLICITACAO_INEXISTENTE', body: { numeroSolicitacao: '1' } },
  'worker who has not accepted': { code: 'PROPOSTA_NAO_ACEITA', play: { accepted: false } },
  'link never asked': { code: 'VINCULO_NAO_CONSULTADO', play: { asked: false } },
};

for (const [name, { code, body, play: given }] of Object.entries(contractRefusals)) {
  test(`sandbox refuses a contract: ${name}`, () => {
    const played = play(given);
    assert.equal(outcome(played.contracts.generate(contractBody(played, { ...body }))), code);
    assert.equal(played.record.of('operation').length, 0);
  });
}

test('sandbox generates a contract and tells its credit note', () => {
  const played = play();
  const { contracts, clock, told, record } = played;
  const answer = contracts.generate(contractBody(played, { valorSeguro: '20.00', numeroApolice: 'A-1' }));
  assert.ok(answer.kind === 'acknowledged');
  clock.advance(1_000);
  const { kind, requestCode, body } = told.at(-1)!;
  assert.deepEqual([kind, requestCode], ['contract', answer.requestCode]);
  const { Endpoint, Payload } = JSON.parse(body);
  assert.equal(Endpoint, '/oferta-leilao/gerar-contrato');
  assert.equal(Payload.ValorSeguro, 20);
  const financed = Math.round(Payload.ValorEmprestimo * 100);
  assert.equal(financed, 50_000 + 2_000 + Math.round(Payload.ValorIOF * 100));
  assert.ok(Payload.ValorCETMensal > Payload.ValorTaxaMensal && Payload.ValorTaxaMensal === 3);
  assert.equal(record.of('operation')[0]?.subject, `${played.request.requestId}@${2026 * 12 + 11}`);
});

test('sandbox reckons the released value of an instalment', () => {
  const terms = { rateHundredths: 300, installments: 12, insuranceCents: 0 };
  const at = Date.UTC(2026, 10, 10, 15);
  const byAmount = figuresOf({ ...terms, amountCents: 50_000, installmentCents: null }, at, defaultWorld.calendar);
  const { installmentCents } = byAmount;
  const byInstallment = figuresOf({ ...terms, amountCents: null, installmentCents }, at, defaultWorld.calendar);
  assert.ok(Math.abs(byInstallment.releasedCents - 50_000) <= 12, 'a cent of the instalment is some of the loan');
  assert.equal(byInstallment.installmentCents, installmentCents);
});

test('sandbox refuses a contract on a link asked more than 24 hours ago', () => {
  const played = play();
  played.clock.advance(dayMs);
  assert.equal(outcome(played.contracts.generate(contractBody(played))), 'acknowledged');
  played.clock.advance(1);
  assert.equal(outcome(played.contracts.generate(contractBody(played))), 'CONSULTA_VENCIDA');
  played.ask();
  assert.equal(outcome(played.contracts.generate(contractBody(played))), 'acknowledged');
});

test('sandbox fails a contract above the margin by its webhook', () => {
  const played = play();
  const { worker, clock, told } = played;
  const body = contractBody(played, { valorLiberado: null, valorParcela: (worker.marginCents + 1) / 100 });
  assert.equal(outcome(played.contracts.generate(body)), 'acknowledged');
  clock.advance(1_000);
  assert.deepEqual(JSON.parse(told.at(-1)!.body).Payload.Erros[0].Codigo, 'MARGEM_INSUFICIENTE');
});

/** A contract whose note has come. */
function generated(played: Played): { noteNumber: string; proposalCode: string } {
  assert.equal(outcome(played.contracts.generate(contractBody(played))), 'acknowledged');
  played.clock.advance(1_000);
  return played.contracts.loans().at(-1)!;
}

const endorse = (played: Played, content: object) => outcome(played.contracts.endorse(JSON.stringify(content)));

test('sandbox endorses a signed contract once', () => {
  const played = play();
  const { proposalCode, noteNumber } = generated(played);
  assert.equal(endorse(played, { codigo: proposalCode }), 'ASSINATURA_AUSENTE');
  assert.equal(endorse(played, { codigo: 'other', assinatura: 'x' }), 'CONTRATO_INEXISTENTE');
  assert.equal(endorse(played, { contrato: { numero: noteNumber }, assinatura: 'x' }), 'acknowledged');
  assert.equal(endorse(played, { codigo: proposalCode, assinatura: 'x' }), 'CONTRATO_JA_AVERBADO');
});

test('sandbox tells once by a webhook that a contract was endorsed, as late as its settings say', () => {
  const played = play({ settings: { endorsedMinMs: 5_000, endorsedMaxMs: 7_000 } });
  const { proposalCode } = generated(played);
  const { contracts, clock, told } = played;
  const before = told.length;
  assert.equal(endorse(played, { codigo: proposalCode }), 'ASSINATURA_AUSENTE');
  const answer = contracts.endorse(JSON.stringify({ codigo: proposalCode, assinatura: 'x' }));
  assert.ok(answer.kind === 'acknowledged');
  assert.equal(endorse(played, { codigo: proposalCode, assinatura: 'x' }), 'CONTRATO_JA_AVERBADO');
  clock.advance(4_999);
  assert.equal(told.length, before);
  clock.advance(2_001);
  const [event, ...more] = told.slice(before);
  assert.deepEqual([event!.kind, event!.requestCode, more], ['endorsement', answer.requestCode, []]);
  const { CodigoRequisicao, Endpoint } = JSON.parse(event!.body);
  assert.deepEqual([CodigoRequisicao, Endpoint], [answer.requestCode, '/contrato/oferta-leilao/averbar-contrato']);
  const read = parseJson(event!.body);
  assert.ok(read.kind === 'parsed');
  assert.equal(endorsementTold(read.value), 'success');
});

test('sandbox endorses nothing before the credit note has gone out', () => {
  const played = play();
  played.contracts.generate(contractBody(played));
  const { proposalCode } = played.contracts.loans()[0]!;
  assert.equal(endorse(played, { codigo: proposalCode, assinatura: 'x' }), 'CONTRATO_INEXISTENTE');
});

test('sandbox endorses only within the competence of the contract', () => {
  const played = play();
  const { proposalCode } = generated(played);
  played.clock.advance(11 * dayMs);
  assert.equal(endorse(played, { codigo: proposalCode, assinatura: 'x' }), 'COMPETENCIA_ENCERRADA');
  played.ask();
  const anew = generated(played);
  assert.equal(endorse(played, { codigo: anew.proposalCode, assinatura: 'x' }), 'acknowledged');
  assert.equal(new Set(played.record.of('operation').map(({ subject }) => subject)).size, 3);
});

function renegotiationBody({ worker }: Played, closedContract: string, changes: Record<string, unknown> = {}): string {
  const body = renegotiationMessage.encode({
    ...{ closedContract, cpf: worker.cpf, registration: worker.registration, employerIdType: worker.employer.idType },
    ...{ employerId: worker.employer.id, agentCpf: agent, contractType: '12', installments: 24, rateHundredths: 300 },
  });
  return JSON.stringify({ ...body, ...changes });
}

/** A closed loan, and what the webhook says of its renegotiation: its error code, or nothing. */
function renegotiated(
  truth: Parameters<Contracts['change']>[1],
  changes: Record<string, unknown> = {},
): { outcome: string; error: string | null; body: string } {
  const played = play();
  const { noteNumber } = generated(played);
  played.contracts.change(noteNumber, { closedByTermination: true, ...truth });
  const result = outcome(played.contracts.renegotiate(renegotiationBody(played, noteNumber, changes)));
  played.clock.advance(1_000);
  const { body } = played.told.at(-1)!;
  return { outcome: result, error: JSON.parse(body).Payload.Erros?.[0].Codigo ?? null, body };
}

test('sandbox renegotiates a loan closed by termination', () => {
  const { outcome: result, error, body } = renegotiated({});
  assert.deepEqual([result, error], ['acknowledged', null]);
  const { Endpoint, Payload } = JSON.parse(body);
  assert.equal(Endpoint, '/contrato/renegociacao/gerar-contrato');
  assert.ok('ContratoProposta' in Payload && !('CodigoProposta' in Payload));
});

const renegotiationRefusals: Readonly<
  Record<string, { error: string; truth?: Parameters<Contracts['change']>[1]; body?: object }>
> = {
  'loan that is not closed': { error: 'CONTRATO_ATIVO', truth: { closedByTermination: false } },
  'no open instalments': { error: 'SEM_PARCELAS', truth: { openInstallments: 0 } },
  'pending charges': { error: 'COBRANCA_PENDENTE', truth: { pendingCharges: true } },
  'loan of somebody else': { error: 'CONTRATO_INEXISTENTE', body: { cpfTrabalhador: '39053344705' } },
  'link that is none': { error: 'VINCULO_INVALIDO', body: { matricula: 'other' } },
  'rate above the original': { error: 'TAXA_ACIMA_DA_ORIGINAL', body: { valorTaxaMensal: 3.01 } },
  'instalment above the margin': {
    error: 'MARGEM_INSUFICIENTE',
    body: { numeroParcelas: 1 },
    truth: { openInstallments: 900 },
  },
};

for (const [name, { error, truth, body }] of Object.entries(renegotiationRefusals)) {
  test(`sandbox fails a renegotiation: ${name}`, () => {
    const result = renegotiated({ ...truth }, { ...body });
    assert.deepEqual([result.outcome, result.error], ['acknowledged', error]);
  });
}

test('sandbox takes 4.98 for a renegotiation and nothing above or at 0.01', () => {
  assert.equal(renegotiated({}, { valorTaxaMensal: 4.98 }).error, 'TAXA_ACIMA_DA_ORIGINAL');
  assert.equal(renegotiated({}, { valorTaxaMensal: 4.99 }).outcome, 'DADOS_INVALIDOS');
  assert.equal(renegotiated({}, { valorTaxaMensal: 0.01 }).outcome, 'DADOS_INVALIDOS');
  assert.equal(renegotiated({}, { tipoContrato: null }).outcome, 'DADOS_INVALIDOS');
});
