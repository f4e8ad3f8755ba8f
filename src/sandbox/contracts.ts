/** Contract, endorsement and renegotiation of worker credit, played with every prerequisite that the contract names. */
import { type Chance, type Clock, dayOf } from '../domain/clock.ts';
import type { AmountCents, EpochMs, RateHundredths, RequestId } from '../domain/glossary.ts';
import { isJsonObject, type JsonValue } from '../wire/json.ts';
import type { AuctionBid } from './auction-house.ts';
import { integerIn, uuidOf } from './chance.ts';
import { readContract, readEndorsement, readRenegotiation } from './contract-reading.ts';
import { figuresOf, type PlayedLoan, type Terms } from './credit-arithmetic.ts';
import type { Links } from './links.ts';
import { creditNoteWebhook, endorsedWebhook, failedNoteWebhook } from './messages.ts';
import type { WorkerRequest } from './population.ts';
import type { SandboxRecord } from './record.ts';
import type { WorldSettings } from './world.ts';

export type ContractSettings = {
  /** From the call to its webhook. */
  callbackMinMs: number;
  callbackMaxMs: number;
  /** From an endorsement to the webhook that says it was done. */
  endorsedMinMs: number;
  endorsedMaxMs: number;
  marginValidityMs: number;
  /** Last day of the month that counts for its competence. */
  cutoffDay: number;
  /** Every worker takes the proposal, whatever the world says. */
  acceptAll: boolean;
};

export const defaultContracts: ContractSettings = {
  callbackMinMs: 20,
  callbackMaxMs: 80,
  endorsedMinMs: 20,
  endorsedMaxMs: 80,
  marginValidityMs: 86_400_000,
  cutoffDay: 20,
  acceptAll: false,
};

const byWebhook = 'Solicitação recebida; o resultado chega por webhook';

/** `status` and `code` are the sandbox's own: the contract shows no catalogue. */
type Refusal = { kind: 'refused'; status: number; code: string; message: string };
export type Played = { kind: 'acknowledged'; requestCode: string; message: string } | Refusal;

type Proposal = { request: WorkerRequest; bid: AuctionBid; accepted: boolean };

export type Contracts = {
  /** A winner's proposal that the worker may take. */
  propose: (bid: AuctionBid, request: WorkerRequest, accepted: boolean) => void;
  generate: (body: string) => Played;
  endorse: (body: string) => Played;
  renegotiate: (body: string) => Played;
  loans: () => readonly PlayedLoan[];
  /** Changes a loan's truth: the link ended, a charge is pending, nothing is open any more. */
  change: (
    noteNumber: string,
    truth: Partial<Pick<PlayedLoan, 'closedByTermination' | 'openInstallments' | 'pendingCharges'>>,
  ) => void;
};

type ContractParts = {
  settings: ContractSettings;
  world: WorldSettings;
  links: Links;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
  tell: (callback: { kind: 'contract' | 'renegotiation' | 'endorsement'; requestCode: string; body: string }) => void;
};

export function createContracts(parts: ContractParts): Contracts {
  const { clock, chance, record } = parts;
  const proposals = new Map<RequestId, Proposal>();
  const loans = new Map<string, PlayedLoan>();
  const { callbackMinMs, callbackMaxMs, endorsedMinMs, endorsedMaxMs } = parts.settings;
  const later = (run: () => void) => callLater(parts, callbackMinMs, callbackMaxMs, run);

  const open = (of: 'contract' | 'renegotiation', requestId: RequestId | null, cpf: string, terms: Terms): string => {
    const requestCode = uuidOf(chance);
    const at = clock.now();
    const figures = figuresOf(terms, at, parts.world.calendar);
    const loan: PlayedLoan = {
      noteNumber: String(integerIn(chance, 1e9, 9e9)),
      proposalCode: uuidOf(chance),
      ...{ requestCode, requestId, cpf, rateHundredths: terms.rateHundredths, figures, generatedAt: at },
      ...{ told: false, endorsedAt: null, closedByTermination: false, pendingCharges: false },
      openInstallments: terms.installments,
    };
    loans.set(loan.noteNumber, loan);
    later(() => {
      loan.told = true;
      parts.tell({ kind: of, requestCode, body: creditNoteWebhook(of, loan) });
    });
    return requestCode;
  };
  const fail = (of: 'contract' | 'renegotiation', code: string, message: string): string => {
    const requestCode = uuidOf(chance);
    later(() => parts.tell({ kind: of, requestCode, body: failedNoteWebhook(of, requestCode, code, message) }));
    return requestCode;
  };
  const done = (operation: string, subject: string, requestCode: string, message = byWebhook): Played => {
    record.write({ kind: 'operation', operation, subject, key: null, requestCode, at: clock.now() });
    return { kind: 'acknowledged', requestCode, message };
  };

  return {
    propose: (bid, request, accepted) => {
      const taken = accepted || parts.settings.acceptAll;
      proposals.set(request.requestId, { request, bid, accepted: taken });
    },
    generate: (body) => {
      const read = readContract(body);
      if (read.kind === 'invalid') return invalid(read.problems);
      const { contract } = read;
      const proposal = proposals.get(contract.requestId);
      const missing = proposalProblem(proposal, contract.terms.rateHundredths);
      if (missing !== null || proposal === undefined) return missing ?? unknownRequest;
      const { cpf } = proposal.request.worker;
      const margin = marginProblem(parts, cpf);
      if (margin.kind === 'refused') return margin;
      const figures = figuresOf(contract.terms, clock.now(), parts.world.calendar);
      const subject = `${contract.requestId}@${competence(clock.now(), parts.settings.cutoffDay)}`;
      const code =
        figures.installmentCents > margin.marginCents
          ? fail('contract', 'MARGEM_INSUFICIENTE', 'Parcela acima da margem disponível')
          : open('contract', contract.requestId, cpf, contract.terms);
      return done('contract', subject, code);
    },
    endorse: (body) => {
      const read = readEndorsement(body);
      if (read.kind === 'invalid') return invalid(read.problems);
      const loan = [...loans.values()].find((one) => one.told && isNamed(one, read.content));
      const problem = endorsementProblem(loan, read.content, clock.now(), parts.settings.cutoffDay);
      if (problem !== null || loan === undefined) return problem ?? unknownContract;
      loan.endorsedAt = clock.now();
      const requestCode = uuidOf(chance);
      callLater(parts, endorsedMinMs, endorsedMaxMs, () =>
        parts.tell({ kind: 'endorsement', requestCode, body: endorsedWebhook(requestCode) }),
      );
      return done('endorsement', loan.noteNumber, requestCode, 'Contrato enviado para averbação');
    },
    renegotiate: (body) => {
      const read = readRenegotiation(body);
      if (read.kind === 'invalid') return invalid(read.problems);
      const { renegotiation } = read;
      const problem = renegotiationProblem(parts, renegotiation, loans.get(renegotiation.closedContract));
      const code =
        problem === null
          ? open(
              'renegotiation',
              null,
              renegotiation.cpf,
              renegotiation.terms(loans.get(renegotiation.closedContract)!),
            )
          : fail('renegotiation', problem.code, problem.message);
      return done('renegotiation', renegotiation.closedContract, code);
    },
    loans: () => [...loans.values()],
    change: (noteNumber, truth) => void Object.assign(loans.get(noteNumber) ?? {}, truth),
  };
}

function callLater({ clock, chance }: ContractParts, minMs: number, maxMs: number, run: () => void): void {
  clock.schedule(clock.now() + minMs + chance() * (maxMs - minMs), run);
}

function refused(status: number, code: string, message: string): Refusal {
  return { kind: 'refused', status, code, message };
}

function invalid(problems: readonly string[]): Refusal {
  return refused(400, 'DADOS_INVALIDOS', problems.join('; '));
}

const unknownRequest = refused(404, 'SOLICITACAO_INEXISTENTE', 'Solicitação sem proposta deste parceiro');
const unknownContract = refused(404, 'CONTRATO_INEXISTENTE', 'Contrato não encontrado');

function proposalProblem(proposal: Proposal | undefined, rateHundredths: RateHundredths): Refusal | null {
  if (proposal === undefined) return unknownRequest;
  if (!proposal.accepted) return refused(422, 'PROPOSTA_NAO_ACEITA', 'O trabalhador não aceitou a proposta');
  if (rateHundredths > proposal.bid.rateHundredths) {
    return refused(422, 'TAXA_ACIMA_DO_LANCE', 'Taxa superior à do lance');
  }
  return null;
}

function marginProblem(
  { links, settings, clock }: ContractParts,
  cpf: string,
): Refusal | { kind: 'margin'; marginCents: AmountCents } {
  const detail = links.lastDetail(cpf);
  if (detail === null) return refused(422, 'VINCULO_NAO_CONSULTADO', 'Consulte os dados do vínculo antes de contratar');
  if (clock.now() - detail.at > settings.marginValidityMs) {
    return refused(422, 'CONSULTA_VENCIDA', 'A consulta do vínculo tem mais de 24 horas');
  }
  return { kind: 'margin', marginCents: detail.marginCents };
}

/** Which of its fields names the contract is not documented: any that holds its number or code does. */
function isNamed(loan: PlayedLoan, content: JsonValue): boolean {
  if (Array.isArray(content)) return content.some((item) => isNamed(loan, item));
  if (isJsonObject(content)) return Object.values(content).some((item) => isNamed(loan, item as JsonValue));
  return content === loan.noteNumber || content === loan.proposalCode || content === loan.requestCode;
}

function endorsementProblem(
  loan: PlayedLoan | undefined,
  content: Record<string, JsonValue>,
  now: EpochMs,
  cutoffDay: number,
): Refusal | null {
  if (loan === undefined) return unknownContract;
  const texts = Object.values(content).filter((value) => value !== null && value !== '');
  if (texts.length < 2) return refused(422, 'ASSINATURA_AUSENTE', 'Envie a assinatura biométrica do trabalhador');
  if (competence(loan.generatedAt, cutoffDay) !== competence(now, cutoffDay)) {
    return refused(422, 'COMPETENCIA_ENCERRADA', 'Gere e assine o contrato de novo: a competência virou');
  }
  if (loan.endorsedAt !== null) return refused(422, 'CONTRATO_JA_AVERBADO', 'Contrato já averbado');
  return null;
}

type Renegotiation = Extract<ReturnType<typeof readRenegotiation>, { kind: 'read' }>['renegotiation'];

/** Found after the acknowledgement: told by the webhook. */
function renegotiationProblem(
  parts: ContractParts,
  asked: Renegotiation,
  loan: PlayedLoan | undefined,
): { code: string; message: string } | null {
  if (loan === undefined || loan.cpf !== asked.cpf) return { code: 'CONTRATO_INEXISTENTE', message: 'Não encontrado' };
  if (!loan.closedByTermination) return { code: 'CONTRATO_ATIVO', message: 'Contrato não encerrado por desligamento' };
  const worker = parts.links.worker(asked.cpf);
  const sameLink =
    worker !== null && worker.registration === asked.registration && worker.employer.id === asked.employerId;
  if (!sameLink || !worker.eligible) return { code: 'VINCULO_INVALIDO', message: 'Vínculo inválido' };
  if (loan.openInstallments === 0) return { code: 'SEM_PARCELAS', message: 'Não há parcelas em aberto' };
  if (loan.pendingCharges) return { code: 'COBRANCA_PENDENTE', message: 'Há cobranças pendentes' };
  if (asked.rateHundredths > loan.rateHundredths) {
    return { code: 'TAXA_ACIMA_DA_ORIGINAL', message: 'Taxa superior à do contrato original' };
  }
  const figures = figuresOf(asked.terms(loan), parts.clock.now(), parts.world.calendar);
  const margin = parts.links.lastDetail(asked.cpf)?.marginCents ?? worker.marginCents;
  return figures.installmentCents > margin
    ? { code: 'MARGEM_INSUFICIENTE', message: 'Parcela acima da margem do novo vínculo' }
    : null;
}

/** Months since year 0; the days after the cut-off count for the next. */
function competence(at: EpochMs, cutoffDay: number): number {
  const day = dayOf(at);
  const months = Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return Number(day.slice(8, 10)) > cutoffDay ? months + 1 : months;
}
