/** Flows, bids and margins as the API shows them: what is sealed, and what could be traced to a person, left out. */

import type { z } from 'zod';
import type { QueryRefusal, ServiceReason } from '../../bidding/ports.ts';
import type { FlowState } from '../../domain/flow-states.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import type { LinkDetail } from '../../domain/request.ts';
import { notIncluded } from '../../origination/desk.ts';
import { unsaidIn } from '../../origination/differences.ts';
import { attemptsOf, type Contradiction } from '../../origination/fold-answers.ts';
import { barriersNow, isPaid, nextSteps, type StepSettings, waitsFor } from '../../origination/next-steps.ts';
import { notesGivenUp, notesToldAgain } from '../../origination/notes.ts';
import { flowCursor } from '../../origination/ports.ts';
import {
  namedProposal,
  type OpenSealed,
  openedOnce,
  shownAmount,
  shownDifferences,
  shownErrors,
  shownReleased,
  shownSteps,
  shownWorker,
  situationAt,
} from '../../origination/shown-flows.ts';
import { shownPayments } from '../../origination/shown-payments.ts';
import { isShownEndorsed } from '../../origination/steps.ts';
import { deniedByPerson, toldBoth, toldNo, toldNoOfContract, toldNothing } from '../../origination/transitions.ts';
import { marginValidityMs } from '../../wire/checks/worker-credit.ts';
import { withoutCpfs } from '../../wire/hidden-cpf.ts';
import { type OperationResult, unshownSuccess } from '../../wire/operations.ts';
import { shownCode } from '../../wire/plain-ids.ts';
import type { flowSchema, marginSchema } from './schemas.ts';

type NotSentReason = Extract<OperationResult<unknown>, { kind: 'not-sent' }>['reason'];
type OwnReason =
  | QueryRefusal
  | Exclude<ServiceReason, `status-${number}`>
  | NotSentReason
  | 'link-unknown'
  | 'competence-turned'
  | 'incomplete-success'
  | 'callback-unread'
  | typeof unshownSuccess
  | typeof toldNo
  | typeof toldNoOfContract
  | typeof toldBoth
  | typeof toldNothing
  | typeof deniedByPerson
  | 'rejected-on-retry'
  | Contradiction
  | typeof notIncluded;

/** Reasons that are said in words of our own: nothing of them was written by the service, so they name nobody. */
const ownReasons: Readonly<Record<OwnReason, true>> = {
  'authorisation-missing': true,
  'authorisation-expired': true,
  unclassified: true,
  'link-unknown': true,
  'worker-not-identified': true,
  'too-many-queries': true,
  'headers-timeout': true,
  'body-timeout': true,
  'connection-lost': true,
  'answer-unreadable': true,
  'answer-too-large': true,
  'answer-too-slow': true,
  'unreadable-success': true,
  'incomplete-success': true,
  'callback-unread': true,
  [unshownSuccess]: true,
  [toldNo]: true,
  [toldNoOfContract]: true,
  [toldBoth]: true,
  [toldNothing]: true,
  [deniedByPerson]: true,
  'rejected-on-retry': true,
  'proposal-of-flow': true,
  'simulation-readable': true,
  'simulation-of-worker': true,
  'simulation-within-balance': true,
  'competence-turned': true,
  [notIncluded]: true,
  deadline: true,
  stopped: true,
  unreachable: true,
  unauthorised: true,
  throttled: true,
  'no-address': true,
  busy: true,
};

function isOwnReason(text: string | undefined): boolean {
  return text !== undefined && (Object.hasOwn(ownReasons, text) || /^status-\d{3}$/.test(text));
}

/** Why an operation was refused, for those who see nothing that the service wrote. */
function toEverybody(reason: string | null): string {
  return isOwnReason(reason ?? '') ? reason! : shownCode(reason ?? '');
}

/**
 * `open` only for those who work on flows: the worker, errors in the service's words, and why an operation stands. `settings`: what they
 * know of the service's numbers, and by what a step is refused.
 */
export function flowView(
  state: FlowState,
  mayOpen: OpenSealed,
  settings: StepSettings,
  at: EpochMs = state.changedAt,
): z.infer<typeof flowSchema> {
  const open = openedOnce(mayOpen);
  const { operation, subject, note, results } = state;
  const view: z.infer<typeof flowSchema> = {
    flowId: state.flowId,
    flow: state.flow,
    phase: state.phase,
    shownDone: isShownEndorsed(state) || isPaid(state, settings),
    startedAt: state.startedAt,
    changedAt: state.changedAt,
    by: state.by,
    requestId: subject.requestId,
    closedContract: subject.closedContract,
    worker: shownWorker(state, open),
    amountCents: shownAmount(state, open),
    releasedCents: shownReleased(state),
    terms: state.terms,
    payments: shownPayments(state, open)?.map((payment) => ({ ...payment })) ?? null,
    operation:
      operation === null
        ? null
        : {
            operation: operation.operation,
            status: operation.status,
            attempts: attemptsOf(operation),
            retryAt: operation.retryAt,
            reason: open === null && operation.status === 'rejected' ? toEverybody(operation.reason) : operation.reason,
          },
    requestCode: requestCodeOf(state),
    proposalCode: state.proposalCode ?? state.proposal?.code ?? null,
    namedProposal: namedProposal(state, open),
    otherProposals: otherProposalsOf(state),
    situation:
      state.situation === null
        ? null
        : {
            code: state.situation,
            state: settings.situations.find(({ code }) => code === state.situation)?.state ?? null,
            at: situationAt(state),
          },
    generations: state.generations,
    generatedAt: state.generatedAt,
    note,
    differences: [...shownDifferences(state, open)],
    ending: state.ending ?? null,
    notSaid: [...unsaidIn(state)],
    noteHolder: state.noteHolder ?? null,
    noteAgain: state.noteAgain == null ? null : { at: state.noteAgain.at, note: state.noteAgain.note },
    notesAgain: [...notesToldAgain(state), ...(state.lateNote?.others ?? [])],
    lateNote: lateNoteOf(state),
    lateSuccesses: (state.lateSuccesses ?? []).map(({ at, operation, code, note, denied }) => ({
      ...{ at, operation, code, noteNumber: note?.noteNumber ?? null, deniedBy: denied?.by ?? null },
    })),
    earlierNotes: [...notesGivenUp(state)],
    noteAccepted: state.noteAccepted ?? null,
    breaches: [...state.breaches],
    barriers: [...barriersNow(state, settings, open)],
    errors: shownErrors(state, open).map((shown, index) =>
      open === null && isOwnReason(state.errors[index]) ? state.errors[index]! : shown,
    ),
    steps: shownSteps(state, open),
    results: Object.fromEntries(
      Object.entries(results).flatMap(([name, kept]) => (kept?.sealedAnswer ? [[name, kept.at]] : [])),
    ),
    owner: state.owner,
    frozen: state.frozen?.problem ?? null,
    nextSteps: [...nextSteps(state, settings, open, at)],
    waitsFor: [...waitsFor(state, settings, open, at)],
  };
  return open === null ? withoutCpfs(view) : view;
}

function lateNoteOf({ lateNote }: FlowState) {
  if (lateNote == null) return null;
  const { at, requestCode, note, isLast } = lateNote;
  return { at, requestCode, note, isLast };
}

/** Named for an inclusion that nobody knows the outcome of, and beside a proposal that counts. */
function otherProposalsOf({ otherProposals = [], operation }: FlowState): string[] {
  const codes = [...otherProposals.map(({ code }) => code), ...(operation?.namedProposals ?? [])];
  return [...new Set(codes)];
}

/** A lookup has no operation: its code is that of the query of its links. */
function requestCodeOf({ flow, requestCode, told, marginAsks }: FlowState): string | null {
  return requestCode ?? told?.requestCode ?? (flow === 'lookup' ? marginAsks?.code : null) ?? null;
}

/** `cursor`: of the next page; left out: of the last flow, where the page is full. */
export function flowPageOf(
  states: readonly FlowState[],
  limit: number,
  open: OpenSealed,
  settings: StepSettings,
  at?: EpochMs,
  cursor: string | null = states.length < limit ? null : flowCursor(states.at(-1)!),
) {
  const next = open === null ? withoutCpfs(cursor) : cursor;
  return { flows: states.map((state) => flowView(state, open, settings, at)), next };
}

export function marginView(detail: LinkDetail): z.infer<typeof marginSchema> {
  const { availableMarginCents, marginBaseCents, eligible, receivedAt } = detail;
  return { availableMarginCents, marginBaseCents, eligible, receivedAt, validUntil: receivedAt + marginValidityMs };
}
