/** Withdrawal-backed loans, played: keys, simulation, inclusion and queries, answered at once with the envelope. */
import { createHash } from 'node:crypto';
import { type Chance, type Clock, dayOf } from '../domain/clock.ts';
import type { Day, EpochMs } from '../domain/glossary.ts';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import { integerIn, uuidOf } from './chance.ts';
import type { PlayedLoan } from './credit-arithmetic.ts';
import { isCpf } from './identities.ts';
import { type Deed, type Denial, deny, type PlayedProposal, type WithdrawalSettings } from './played-proposal.ts';
import { createProposalDesk } from './proposal-desk.ts';
import type { SandboxRecord } from './record.ts';
import { centsAt, isGiven, listAt, numberAt, objectAt, readStrictly, textAt } from './strict.ts';
import {
  denied,
  fgtsDone,
  installmentsAnswer,
  loanAnswer,
  proposalAnswer,
  simulationAnswer,
} from './withdrawal-answers.ts';
import { shapes, type WithdrawalPath } from './withdrawal-shapes.ts';
import { type Holder, holderOf, type Simulation, simulate, type Transfer, transfersOf } from './withdrawal-world.ts';

export type Withdrawals = {
  /** `key`: the header IdempotencyKey. */
  perform: (path: WithdrawalPath, body: string, key: string | undefined) => { body: string; outcome: string };
  holder: (cpf: string) => Holder;
  proposals: () => readonly PlayedProposal[];
  cancel: (code: string) => void;
};

type WithdrawalParts = {
  settings: WithdrawalSettings;
  seed: string;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
  /** Loans of contracts and renegotiations, whose proposals can be asked for as well. */
  loans: () => readonly PlayedLoan[];
  /** Of a worker of the requests; null: a stranger, whose day of birth is made up here. */
  birthDateOf: (cpf: string) => Day | null;
};

type Simulated = { ratePercent: number; transfers: readonly Transfer[]; simulations: readonly Simulation[] };
type State = {
  proposals: Map<string, PlayedProposal>;
  simulated: Map<string, Simulated>;
  /** Direct balance queries, by CPF. */
  queries: Map<string, number>;
};

export function createWithdrawals(parts: WithdrawalParts): Withdrawals {
  const { settings, seed, clock, chance, record } = parts;
  const state: State = { proposals: new Map(), simulated: new Map(), queries: new Map() };
  const kept = new Map<string, { hash: string; answer: string }>();
  const find = (values: readonly JsonValue[]) =>
    [...state.proposals.values()].find((one) =>
      values.some((value) => value === one.code || value === one.operationCode || value === one.number),
    );
  const holder = (cpf: string) => holderOf(seed, cpf, parts.birthDateOf(cpf));
  const desk = createProposalDesk({ settings, clock, find });

  const deeds: Readonly<Record<WithdrawalPath, (body: JsonObject, hash: string) => Deed>> = {
    '/FGTS/BuscarSimulacaoMultiPeriodo': (body) => simulateAll(parts, holder, state, objectAt(body, 'dto')),
    '/FGTS/IncluirProposta': (body, hash) => include(objectAt(body, 'dto'), hash),
    '/FGTS/ConsultaProposta': (body) => {
      const named = Object.values(objectAt(body, 'dto'));
      const proposal = find(named);
      if (proposal !== undefined) return { kind: 'done', answer: proposalAnswer(proposal), subject: null };
      const loan = parts.loans().find(({ proposalCode }) => named.includes(proposalCode));
      return loan === undefined ? unknownProposal : { kind: 'done', answer: loanAnswer(loan), subject: null };
    },
    '/FGTS/ConsultarParcelas': (body) => {
      const dto = objectAt(body, 'Dto');
      const proposal = find([textAt(dto, 'CodigoProposta')]);
      if (proposal === undefined) return unknownProposal;
      const asOf = textAt(dto, 'DtCalculo') || dayOf(clock.now());
      const count = isGiven(dto, 'QtdeParcelas') ? numberAt(dto, 'QtdeParcelas') : null;
      return { kind: 'done', answer: installmentsAnswer(proposal, count, asOf), subject: null };
    },
    ...desk,
  };

  const perform: Withdrawals['perform'] = (path, body, key) => {
    const no = (outcome: string, denials: readonly Denial[]) => ({
      body: JSON.stringify(denied(path, denials)),
      outcome,
    });
    const absent = { code: 'CHAVE_AUSENTE', text: 'Cabeçalho IdempotencyKey ausente', field: 'IdempotencyKey' };
    if (key === undefined || key.trim() === '') return no('key-missing', [absent]);
    const hash = createHash('sha256').update(`${path}\n${body}`).digest('hex');
    const earlier = settings.replays ? kept.get(key) : undefined;
    if (earlier !== undefined && earlier.hash === hash) return { body: earlier.answer, outcome: 'replayed' };
    if (earlier !== undefined) {
      return no('key-reused', [
        { code: 'CHAVE_REUTILIZADA', text: 'Chave de outra operação', field: 'IdempotencyKey' },
      ]);
    }
    const read = readStrictly(body, shapes[path]);
    if (read.kind === 'invalid') {
      return no(
        'invalid',
        read.problems.map((text) => ({ code: 'DADOS_INVALIDOS', text, field: text.split(' ')[0]! })),
      );
    }
    const deed = deeds[path](read.body, hash);
    if (deed.kind === 'denied') return no(deed.denials[0]!.code, deed.denials);
    const answer = JSON.stringify(deed.answer);
    kept.set(key, { hash, answer });
    if (deed.subject !== null) {
      const { subject } = deed;
      record.write({ kind: 'operation', operation: path, subject, key, requestCode: null, at: clock.now() });
    }
    return { body: answer, outcome: 'done' };
  };

  return {
    perform,
    holder,
    proposals: () => [...state.proposals.values()],
    cancel: (code) => {
      const proposal = state.proposals.get(code);
      if (proposal !== undefined) proposal.state = 'cancelled';
    },
  };

  function include(dto: JsonObject, hash: string): Deed {
    const deed = inclusionOf(state, dto, holder(textAt(dto, 'CpfTrabalhador')), clock.now());
    if ('kind' in deed) return deed;
    const proposal: PlayedProposal = {
      ...deed,
      code: uuidOf(chance),
      number: integerIn(chance, 1e6, 9e6),
      noteNumber: String(integerIn(chance, 1e9, 9e9)),
      includedAt: clock.now(),
      state: 'analysing',
    };
    state.proposals.set(proposal.code, proposal);
    approveLater(parts, proposal);
    return { kind: 'done', answer: { ...fgtsDone, CodigoProposta: proposal.code }, subject: hash };
  }
}

const unknownProposal = deny('PROPOSTA_INEXISTENTE', 'Proposta não encontrada', 'dto');

function approveLater({ settings, clock }: WithdrawalParts, proposal: PlayedProposal): void {
  if (settings.approvalDelayMs === 0) proposal.state = 'approved';
  else {
    clock.schedule(clock.now() + settings.approvalDelayMs, () => {
      if (proposal.state === 'analysing') proposal.state = 'approved';
    });
  }
}

function birthdayProblem(dto: JsonObject, holder: Holder): Deed | null {
  const asked = textAt(dto, 'DtAniversario');
  if (asked === '' || asked.slice(5, 7) === holder.birthDate.slice(5, 7)) return null;
  return deny('MES_ANIVERSARIO_INVALIDO', 'Mês de aniversário incorreto', 'DtAniversario');
}

function simulateAll(
  { settings, clock, chance }: WithdrawalParts,
  holderOfCpf: (cpf: string) => Holder,
  state: State,
  dto: JsonObject,
): Deed {
  const cpf = textAt(dto, 'CpfTrabalhador');
  if (cpf !== '' && !isCpf(cpf)) return deny('CPF_INVALIDO', 'CPF inválido', 'CpfTrabalhador');
  if (cpf === '' && !isGiven(dto, 'Saldo')) return deny('SALDO_AUSENTE', 'Informe saldo ou CPF', 'Saldo');
  const holder = cpf === '' ? null : holderOfCpf(cpf);
  const problem = holder === null ? null : birthdayProblem(dto, holder);
  if (problem !== null) return problem;
  const now = clock.now();
  const cached = !isGiven(dto, 'ConsultaCache') || dto.ConsultaCache === true;
  if (!cached) state.queries.set(cpf, (state.queries.get(cpf) ?? 0) + 1);
  // A balance that is given is reckoned with in place of the real one.
  const balanceCents = isGiven(dto, 'Saldo') ? centsAt(dto, 'Saldo') : holder!.balanceCents;
  const month = Number((textAt(dto, 'DtAniversario') || (holder?.birthDate ?? dayOf(now))).slice(5, 7));
  const given = listAt(dto, 'Periodos').map(
    (item): Transfer => ({
      onDay: textAt(item, 'DataRepasse').slice(0, 10) as Day,
      cents: centsAt(item, 'VlrRepasse'),
    }),
  );
  const transfers = given.length > 0 ? given : transfersOf(balanceCents, month, now, settings.maxPeriods);
  const ratePercent = isGiven(dto, 'TaxaMensal') ? numberAt(dto, 'TaxaMensal') : 1.79;
  const simulations: Simulation[] = [];
  const failures: { period: number; denial: Denial }[] = [];
  for (let period = 1; period <= transfers.length; period += 1) {
    const found = simulationOf(transfers, period, dto, ratePercent, now, settings);
    if ('code' in found) failures.push({ period, denial: found });
    else simulations.push(found);
  }
  if (cpf !== '') state.simulated.set(cpf, { ratePercent, transfers, simulations });
  const answer = simulationAnswer({
    ...{ balanceCents, ratePercent, transfers, simulations, failures, batchCode: uuidOf(chance), cached },
    ...{ cpf: cpf === '' ? null : cpf, queries: state.queries.get(cpf) ?? 0, today: dayOf(now) },
  });
  return { kind: 'done', answer, subject: null };
}

function simulationOf(
  transfers: readonly Transfer[],
  period: number,
  dto: JsonObject,
  ratePercent: number,
  now: EpochMs,
  settings: WithdrawalSettings,
): Simulation | Denial {
  const feeCents = isGiven(dto, 'VlrTAC') ? centsAt(dto, 'VlrTAC') : 0;
  const most = simulate(transfers, period, { ratePercent, feeCents, amountCents: null }, now);
  const asked =
    isGiven(dto, 'VlrEmprestimo') && centsAt(dto, 'VlrEmprestimo') > 0 ? centsAt(dto, 'VlrEmprestimo') : null;
  if (most.releasedCents < settings.leastReleasedCents) {
    return { code: 'VALOR_MINIMO', text: 'Valor liberado abaixo do mínimo', field: 'Periodo' };
  }
  if (asked !== null && asked > most.releasedCents) {
    return { code: 'VALOR_ACIMA_DO_SALDO', text: 'Valor acima do que os períodos comportam', field: 'VlrEmprestimo' };
  }
  return asked === null ? most : simulate(transfers, period, { ratePercent, feeCents, amountCents: asked }, now);
}

type Inclusion = Omit<PlayedProposal, 'code' | 'number' | 'noteNumber' | 'includedAt' | 'state'>;

function inclusionOf(state: State, dto: JsonObject, holder: Holder, now: EpochMs): Deed | Inclusion {
  const cpf = textAt(dto, 'CpfTrabalhador');
  if (!isCpf(cpf)) return deny('CPF_INVALIDO', 'CPF inválido', 'CpfTrabalhador');
  const problem = birthdayProblem(dto, holder);
  if (problem !== null) return problem;
  const account = objectAt(dto, 'PropostaContaPagamento');
  if (isGiven(dto, 'PropostaContaPagamento') && textAt(account, 'DocumentoFederalPagamento') !== cpf) {
    return deny('TITULAR_DIVERGENTE', 'Conta de outro titular', 'PropostaContaPagamento.DocumentoFederalPagamento');
  }
  const simulated = state.simulated.get(cpf);
  if (simulated === undefined) return deny('SIMULACAO_AUSENTE', 'Simule antes de incluir a proposta', 'CpfTrabalhador');
  const period = isGiven(dto, 'Periodo') ? numberAt(dto, 'Periodo') : simulated.transfers.length;
  const whole = simulated.simulations.find((one) => one.period === period);
  if (whole === undefined) return deny('PERIODO_INVALIDO', 'Período sem simulação', 'Periodo');
  const askedCents = isGiven(dto, 'VlrEmprestimo') ? centsAt(dto, 'VlrEmprestimo') : 0;
  const { ratePercent, transfers } = simulated;
  // Less than was simulated may be borrowed.
  const simulation =
    askedCents > 0 && askedCents < whole.releasedCents
      ? simulate(transfers, period, { ratePercent, feeCents: whole.feeCents, amountCents: askedCents }, now)
      : whole;
  const operationCode = textAt(dto, 'CodigoOperacao');
  return {
    operationCode: operationCode === '' ? null : operationCode,
    cpf,
    ratePercent,
    simulation,
    insuranceCents: isGiven(dto, 'VlrSeguro') ? centsAt(dto, 'VlrSeguro') : 0,
    splits: [...listAt(dto, 'PropostaLancamentos')],
    signers: [],
    account,
  };
}
