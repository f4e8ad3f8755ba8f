/**
 * What people see of a flow. Whoever works on flows (`open` is given) sees what the service and colleagues wrote; everybody else
 * sees fields that are known to name nobody, field by field: whatever a record holds beside them is left out.
 */

import type { FlowRecord, FlowResult } from '../domain/flow-records.ts';
import type { FlowState, NoteDifference } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { fieldOf } from '../wire/casing.ts';
import { isFigureOrWord } from '../wire/endorsement-words.ts';
import { withoutCpf, withoutCpfs } from '../wire/hidden-cpf.ts';
import { isJsonObject, type JsonValue, parseJson, scalarsIn } from '../wire/json.ts';
import { shownCode, shownError } from '../wire/plain-ids.ts';
import { errorsOf } from '../wire/service-errors.ts';
import { isToldOf, namedOtherwise, periodsSimulated, proposalRecord, simulationAnswer } from '../wire/withdrawals.ts';
import { shownKey } from './orders.ts';
import type { ContractOrder, LookupOrder, RenegotiationOrder, StepRequests, WithdrawalOrder } from './preparation.ts';

export type OpenSealed = Vault['open'] | null;

/** For one flow that is looked at in several ways: what is sealed in it is opened once. */
export function openedOnce(open: OpenSealed): OpenSealed {
  if (open === null) return null;
  const known = new Map<string, string>();
  return (place, sealed) => {
    const key = `${place.topic}\n${place.key}\n${place.field}\n${sealed}`;
    const text = known.get(key) ?? open(place, sealed);
    known.set(key, text);
    return text;
  };
}

/** Null where it does not open: it was sealed with another key. */
export function opened(open: Vault['open'], ...sealed: Parameters<Vault['open']>): unknown {
  try {
    const text = open(...sealed);
    const read = parseJson(text);
    return read.kind === 'parsed' ? read.value : text;
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return null;
    throw fault;
  }
}

const longestLine = 300;

/** What the service said against it, one line for each error; whole answers are read one by one. */
function wordsIn(open: Vault['open'], ...sealed: Parameters<Vault['open']>): readonly string[] {
  const body = opened(open, ...sealed) as JsonValue;
  return errorLines(body).map((line) => withoutCpf(line, longestLine));
}

/** What a person needs to judge it, by its place. The rest may say who the worker is: the whole is read on record, as a result. */
function figuresAndWords(body: JsonValue): Record<string, string> {
  const shown = scalarsIn(body, { longest: longestLine, most: 1_000 }).filter(({ path }) =>
    isFigureOrWord(path.split('.').at(-1)!),
  );
  return Object.fromEntries(shown.map(({ path, text }) => [path, withoutCpf(text, longestLine)]));
}

/** The errors in an answer of the service, a line for each. It may name the worker. */
export function errorLines(body: JsonValue): string[] {
  return errorsOf(body).map(({ code, field, text, whole }) => {
    const context = isJsonObject(whole) ? fieldOf(whole, 'Context') : null;
    const said = [code, typeof context === 'string' && context !== '' ? context : null, field, text];
    const told = said.filter((part) => part !== null).join(': ');
    // In no form that is known: all that came, rather than nothing.
    return told === '' ? JSON.stringify(whole ?? body) : told;
  });
}

/** What keeps the flow from going on, or what the service had against its last query, as the service said it. */
export function shownErrors(state: FlowState, open: OpenSealed): readonly string[] {
  const { flowId, errors, errorsIn, operation, results } = state;
  if (open === null) return errors.map(shownError);
  const refused = operation?.status === 'rejected' ? results[operation.operation] : undefined;
  if (errors.length === 0 && refused?.refused === true && refused.sealedAnswer !== null) {
    return wordsIn(open, sealedPlaces.flowAnswer(flowId), refused.sealedAnswer);
  }
  if (errors.length === 0) return state.phase === 'simulated' ? (failedSimulation(state, open) ?? []) : [];
  if (!errorsIn) return errors;
  const said = wordsIn(open, errorsIn.place, errorsIn.sealed);
  return said.length > 0 ? said : errors;
}

/** Why the last simulation brought no values for any period, in the service's words; null: it brought some, or cannot be read. */
export function failedSimulation({ flowId, results }: FlowState, open: Vault['open']): readonly string[] | null {
  const { sealedAnswer = null, refused = false } = results.simulation ?? {};
  if (sealedAnswer === null || refused) return null;
  const body = opened(open, sealedPlaces.flowAnswer(flowId), sealedAnswer) as JsonValue;
  const decoded = simulationAnswer.decode(body);
  if (decoded.kind === 'refused') return null;
  const hasValues = periodsSimulated(decoded.value).some(
    ({ releasedCents, customerLoanCents }) => releasedCents !== null || customerLoanCents !== null,
  );
  if (hasValues) return null;
  const failures = isJsonObject(body) ? fieldOf(body, 'SimulacoesErro') : null;
  const lines = (Array.isArray(failures) ? failures : []).filter(isJsonObject).flatMap((failure) => {
    const period = fieldOf(failure, 'Periodo');
    const said = errorLines({ ...failure, HasError: true });
    return typeof period === 'number' ? said.map((line) => `Periodo ${period}: ${line}`) : said;
  });
  return [...new Set(lines)].map((line) => withoutCpf(line, longestLine));
}

/**
 * The worker, by the middle of the CPF: enough to tell one flow from another. The whole of it is shown where the reading is
 * recorded. Null: whoever looks does not work on flows, or the flow's order does not name the worker.
 */
export function shownWorker({ flowId, sealed }: FlowState, open: OpenSealed): string | null {
  if (open === null || sealed === null) return null;
  type Order = Partial<WithdrawalOrder & RenegotiationOrder & Pick<ContractOrder & LookupOrder, 'link'>>;
  const order = opened(open, sealedPlaces.flowOrder(flowId), sealed) as Order | null;
  const cpf = order?.cpf ?? order?.link?.identity.cpf ?? null;
  return cpf === null ? null : `***.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-**`;
}

/**
 * What the loan of the flow comes to: what was ordered, else what the credit note says. Of a withdrawal: the smaller one of what was
 * included and what is said of it; null before.
 */
export function shownAmount(state: FlowState, open: OpenSealed): AmountCents | null {
  if (state.flow !== 'withdrawal') return state.terms?.amountCents ?? state.note?.loanCents ?? null;
  if (open === null) return null;
  const place = sealedPlaces.flowAnswer(state.flowId);
  const answerTo = (of: 'proposal' | 'simulation') => {
    const kept = state.results[of];
    return kept?.sealedAnswer && !kept.refused ? (opened(open, place, kept.sealedAnswer) as JsonValue) : null;
  };
  const amounts = [amountSaid(state, answerTo('proposal')), amountIncluded(state, open, answerTo('simulation'))];
  const known = amounts.filter((cents) => cents !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * What a contract releases to the worker: as ordered, else what its note leaves of the loan. Null: it is no contract, or its note
 * has not come or does not say it.
 */
export function shownReleased({ flow, terms, note }: Pick<FlowState, 'flow' | 'terms' | 'note'>): AmountCents | null {
  if (flow !== 'contract') return null;
  if (terms?.amountCents != null) return terms.amountCents;
  if (note === null || note.loanCents === null || note.iofCents === null) return null;
  return note.loanCents - note.iofCents - (note.insuranceCents ?? 0);
}

/**
 * When the state of its proposal was said last; of a later query that was refused nothing is kept but its step. Null: it was not said,
 * or the step is forgotten.
 */
export function situationAt({ situation, results, steps }: FlowState): EpochMs | null {
  if (situation === null) return null;
  const { proposal } = results;
  if (proposal !== undefined && proposal.refused !== true) return proposal.at;
  return steps.findLast(({ step, outcome }) => step === 'proposal' && outcome === 'done')?.at ?? null;
}

/** What was split by all steps, where it is more than the loan comes to. Null: it is not, or nobody knows. */
export function splitsBeyondLoan(
  state: FlowState,
  open: OpenSealed,
): { splitCents: AmountCents; loanCents: AmountCents } | null {
  const { flow, splitCents = 0 } = state;
  const loanCents = flow === 'withdrawal' && splitCents > 0 ? shownAmount(state, open) : null;
  return loanCents === null || splitCents <= loanCents ? null : { splitCents, loanCents };
}

/** Where figures are not ours. What a withdrawal comes to is for those who work on it. */
export function shownDifferences(state: FlowState, open: OpenSealed): readonly NoteDifference[] {
  if (state.flow === 'withdrawal' && open === null) return [];
  const beyond = splitsBeyondLoan(state, open);
  if (beyond === null) return state.differences;
  return [...state.differences, { field: 'splitCents', ours: beyond.splitCents, theirs: beyond.loanCents }];
}

/** What the last answer about the proposal of a withdrawal names it by, other than its code; null: nothing, or whoever looks may not see it. */
export function namedProposal({ flow, flowId, proposalCode, results }: FlowState, open: OpenSealed): string | null {
  const sealed = results.proposal?.sealedAnswer ?? null;
  if (flow !== 'withdrawal' || open === null || sealed === null || proposalCode === null) return null;
  const answer = proposalRecord.decode(opened(open, sealedPlaces.flowAnswer(flowId), sealed) as JsonValue);
  return answer.kind === 'decoded' ? namedOtherwise(answer.value, [proposalCode]) : null;
}

/** What an answer says is credited, else financed, which is not less; null: it says nothing, or is of another proposal. */
function amountSaid({ proposalCode }: FlowState, answer: JsonValue): AmountCents | null {
  const proposal = proposalRecord.decode(answer);
  if (proposal.kind !== 'decoded' || !isToldOf(proposal.value, proposalCode === null ? [] : [proposalCode]))
    return null;
  return proposal.value.totalCreditCents ?? proposal.value.financedCents;
}

/** What the inclusion asked for, else what was simulated for its period. */
function amountIncluded(state: FlowState, open: Vault['open'], simulationTold: JsonValue): AmountCents | null {
  const { inclusion } = state.results;
  if (inclusion?.sealedRequest === undefined || inclusion.refused) return null;
  const asked = opened(open, sealedPlaces.flowStep(state.flowId), inclusion.sealedRequest) as
    | StepRequests['inclusion']
    | null;
  if (asked?.amountCents != null) return asked.amountCents;
  const simulation = simulationAnswer.decode(simulationTold);
  const simulated = simulation.kind === 'decoded' ? simulation.value.simulations : null;
  return simulated?.find(({ period }) => period !== null && period === asked?.period)?.releasedCents ?? null;
}

/** The steps that were asked for. Their keys are for those who work on flows: everybody else sees in which order they came. */
export function shownSteps({ steps }: FlowState, open: OpenSealed) {
  return steps.map(({ stepId, step, by, at, outcome }, index) => ({
    stepId: open === null ? `step-${index + 1}` : shownKey(stepId),
    ...{ step, by, at, outcome },
  }));
}

/** For those who read a flow's history. */
export function shownRecord(record: FlowRecord, open: OpenSealed): Record<string, unknown> {
  if (open === null) return withoutCpfs(namesNobody(record));
  return { ...withoutSealed(record), ...keysIn(record), ...whatWasWritten(record, open) };
}

function keysIn(record: FlowRecord): Record<string, unknown> {
  if (record.kind === 'started') return { key: shownKey(record.key) };
  return record.kind === 'asked' ? { stepId: shownKey(record.stepId) } : {};
}

function withoutSealed(record: FlowRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith('sealed')));
}

function whatWasWritten(record: FlowRecord, open: Vault['open']): Record<string, unknown> {
  const { flowId } = record;
  if (record.kind === 'answered' && record.result.kind === 'rejected' && record.sealedAnswer !== null) {
    const errors = wordsIn(open, sealedPlaces.flowAnswer(flowId), record.sealedAnswer);
    return { result: { ...record.result, errors: errors.length > 0 ? errors : record.result.errors } };
  }
  if (record.kind === 'margin-asked' && record.sealedAnswer !== undefined)
    return { errors: wordsIn(open, sealedPlaces.flowAnswer(flowId), record.sealedAnswer) };
  if (record.kind === 'told') {
    const place = sealedPlaces.callback(record.requestCode);
    const isDoubtful = record.denies || record.note?.unreadable !== undefined;
    const written = isDoubtful ? { written: figuresAndWords(opened(open, place, record.sealed) as JsonValue) } : {};
    return { errors: wordsIn(open, place, record.sealed), ...written };
  }
  if (record.kind !== 'asked' && record.kind !== 'shown') return {};
  if (record.sealedReason === undefined || record.sealedReason === null) return {};
  return { reason: opened(open, sealedPlaces.flowReason(flowId), record.sealedReason) };
}

function namesNobody(record: FlowRecord): Record<string, unknown> {
  const { kind, flowId, at } = record;
  return { kind, flowId, at, ...factsOf(record) };
}

function factsOf(record: FlowRecord): Record<string, unknown> {
  switch (record.kind) {
    case 'started': {
      const { flow, by, terms, subject, again } = record;
      const { requestId, closedContract, rateLimitHundredths } = subject;
      return {
        flow,
        by,
        terms,
        ...(again ? { again } : {}),
        subject: { requestId, closedContract, rateLimitHundredths },
      };
    }
    case 'asked': {
      const { by, step, terms, signedAt, requestCode } = record;
      return { by, step, terms, signedAt, requestCode };
    }
    case 'intended': {
      const { operation, slot, expected } = record;
      // What a withdrawal comes to is for those who work on it.
      return { operation, slot, expected: operation === 'inclusion' ? null : expected };
    }
    case 'withheld': {
      const { operation, slot, breaches } = record;
      return { operation, slot, breaches };
    }
    case 'answered': {
      const { status, firstByteAt, earlierAttemptPossible } = record;
      return { result: shownResult(record.result), status, firstByteAt, earlierAttemptPossible };
    }
    case 'told': {
      const { requestCode, of, note, holder = null } = record;
      return { requestCode, of, note, holder, errors: record.errors.map(shownError) };
    }
    case 'link-told':
      return { requestCode: record.requestCode };
    case 'proposed': {
      const { proposalCode, proposalNumber, validUntil } = record;
      return { proposalCode, proposalNumber, validUntil, errors: record.errors.map(shownError) };
    }
    case 'margin-asked':
      return { refusal: record.refusal };
    case 'shown':
      return { by: record.by, what: record.what };
    case 'claimed-by':
      return { owner: record.owner, ...(record.givenUp ? { givenUp: true } : {}) };
    case 'turned':
      return {};
    case 'frozen':
    case 'unreadable':
      return { problem: record.problem };
    case 'unfrozen':
      return { action: record.action, by: record.by };
    default:
      return record satisfies never;
  }
}

function shownResult(result: FlowResult): object {
  if (result.kind === 'accepted') {
    const { said: _, ...facts } = result;
    return facts;
  }
  if (result.kind !== 'rejected') return result;
  return { kind: result.kind, code: shownCode(result.code), errors: result.errors.map(shownError) };
}
