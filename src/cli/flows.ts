/** `lance contracts|renegotiations|withdrawals …`: flows as the API has them, beside a running daemon. */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { claimLogId } from '../bidding/log-id.ts';
import { type UnknownWinners, unknownWinners } from '../bidding/unknown-winners.ts';
import type { FlowSettings } from '../config/sections.ts';
import type { FlowBreach, FlowKind, FlowRecord, FlowStep, LoanFigure } from '../domain/flow-records.ts';
import { type FlowState, flowPhases } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CreditNote } from '../domain/records.ts';
import { checkUntrusted } from '../domain/untrusted-value.ts';
import { Fault } from '../errors.ts';
import { issueTexts, wholeFile } from '../http/api/remedies.ts';
import {
  contractAsked,
  lookupAsked,
  renegotiationAsked,
  stepAsked,
  withCarriedNumbers,
  withdrawalAsked,
} from '../http/api/requests.ts';
import { contractBody, lookupBody, renegotiationBody, stepBodies, withdrawalBody } from '../http/api/schemas.ts';
import { flowView } from '../http/api/views.ts';
import { clockOfDesk, livesSince, wait } from '../operating/living.ts';
import { beyondTolerance, unreadableFigures, unsaidIn } from '../origination/differences.ts';
import { eventsToShow } from '../origination/events-of-nobody.ts';
import { bidEndsOf, type DeadlineSettings, deadlinesOf } from '../origination/flow-deadlines.ts';
import { attemptsOf } from '../origination/fold-answers.ts';
import { createFlowFront, type FlowFront, type FrontResult } from '../origination/front.ts';
import { lateSuccessOf } from '../origination/late-successes.ts';
import { latestFlows } from '../origination/latest-flows.ts';
import { withLostBids } from '../origination/lost-bids.ts';
import {
  isSimulatedInVain,
  isUnpaid,
  needsKnownPerson,
  nextSteps,
  type StepSettings,
  waitsFor,
  waitsForPerson,
} from '../origination/next-steps.ts';
import { notesToldAgain, unreadMark } from '../origination/notes.ts';
import { type Asker, flowMeant, storedKey } from '../origination/orders.ts';
import { leftOpenProblem } from '../origination/placeholders.ts';
import {
  type OpenSealed,
  shownAmount,
  shownDifferences,
  shownRecord,
  shownReleased,
  shownWorker,
  situationAt,
} from '../origination/shown-flows.ts';
import { type PaymentShown, shownPayments } from '../origination/shown-payments.ts';
import {
  type AskedLast,
  askedLast,
  goesOnAsItIs,
  isShownEndorsed,
  isToldNo,
  isUnseen,
  mayBeginAgain,
  mayTakeBack,
  stepsOf,
} from '../origination/steps.ts';
import { deniedByPerson, isFinished, toldBoth } from '../origination/transitions.ts';
import { askedIn, readUnfolded, type UnfoldedFlows, type UnreadFlow } from '../origination/unfolded.ts';
import { parseJson as locateFault } from '../rules/json.ts';
import { withoutCpfs } from '../wire/hidden-cpf.ts';
import { parseJson } from '../wire/json.ts';
import { sealedText } from '../wire/plain-ids.ts';
import { workerKeyIn } from './cpf-option.ts';
import { remoteDesk } from './desk-control.ts';
import { listThere, showThere, startThere, stepThere } from './flows-remote.ts';
import type { Format } from './format.ts';
import { withFigures } from './refusal-figures.ts';
import { labelledText, proseText, tableText } from './terminal.ts';
import { type CommandWorld, type DeskReader, vaultOf, withReader } from './world.ts';

/** `by` undefined: a token says who it is. */
type Order = { key?: string; by?: string; json: boolean };
/** Where the fields stand; a step that needs nothing but a reason takes that alone. */
type StepFields = { file?: string; reason?: string; figures?: true; late?: true };
/** `of`: whose flow is cancelled. */
type StepOrder = Order & StepFields & { flowId: string; step: string; of?: string };

export async function listFlows(
  world: CommandWorld,
  flow: FlowKind,
  options: { json: boolean; limit: number; phase: string | null; waiting: boolean; cpf?: string; by?: string },
): Promise<void> {
  const { terminal, format } = world;
  const { texts } = format;
  const desk = await remoteDesk(world, {});
  if (desk !== null) return listThere(world, desk, flow, options);
  await withReader(world, async ({ flows: stored, log, views, ruleBook }, place) => {
    const flows = withLostBids(stored, views);
    const open = openWith(world, place);
    const { phase, limit } = options;
    const workerKey = await workerKeyIn(world, { log, ruleBook }, options);
    const isOfWorker = ({ subject }: FlowState) => workerKey === undefined || subject.workerKey === workerKey;
    const handedIn = await (await readUnfolded({ flows, log })).unread();
    const aheadOf = (state: FlowState) => handedIn.get(state.flowId)?.state ?? state;
    const isShown = (state: FlowState) =>
      isOfWorker(state) && (!options.waiting || waitsForPerson(aheadOf(state), place.flows, open, world.clock.now()));
    const begun = [...handedIn.values()].flatMap(({ row, state }) =>
      row === null && state.flow === flow && (phase === null || state.phase === phase) && isShown(state) ? [state] : [],
    );
    const around = { flow, phase, code: null, limit, before: null };
    const states = [...begun, ...(await latestFlows(flows, around, isShown)).states].slice(0, limit);
    const isOfWinners = flow === 'event' && (phase === null || phase === 'unclaimed');
    const winners = isOfWinners ? await unknownWinners({ log, views }) : { winners: [], whole: true };
    if (options.json) {
      const seen = { open, settings: place.flows, now: world.clock.now() };
      for (const state of states) terminal.write(JSON.stringify(jsonOf(state, handedIn.get(state.flowId), seen)));
      for (const winner of winners.winners.slice(0, limit)) terminal.write(JSON.stringify({ unknownWinner: winner }));
      return;
    }
    const found = winners.winners.length > 0 || !winners.whole ? winnersText(format, winners, limit) : null;
    if (states.length > 0)
      terminal.write(listText(format, states, { flow, open, settings: place.flows, now: world.clock.now(), handedIn }));
    else if (found === null) terminal.write(flow === 'event' ? texts.flows.noEvents : texts.flows.empty);
    if (found !== null) terminal.write(found);
  });
}

/** As the API has it; what may be done, and what it waits for, by what was handed in and no desk has read. */
function jsonOf(
  state: FlowState,
  unread: UnreadFlow | undefined,
  { open, settings, now }: Seen & { now: EpochMs },
): object {
  const view = flowView(state, open, settings, now);
  const asked = askedIn(unread?.records ?? []);
  if (unread === undefined || asked.length === 0) return view;
  const { nextSteps: next, waitsFor: waits } = flowView(unread.state, open, settings, now);
  return { ...view, nextSteps: next, waitsFor: waits, handedIn: asked };
}

/** Winner events whose bid nobody knows, and what to do with them. */
function winnersText(format: Format, { winners, whole }: UnknownWinners, limit: number): string {
  const { texts } = format;
  const rows = winners.slice(0, limit).map(({ requestCode, proposalCode, kind, at, validUntil }) => {
    const until = validUntil === null ? texts.none : format.minute(validUntil);
    return [requestCode, kind, proposalCode ?? texts.none, format.minute(at), until];
  });
  const { unknownWinners: words } = texts.flows;
  const parts = rows.length === 0 ? [] : [proseText(words.what), tableText(words.header, rows, { whole: [0] })];
  if (!whole || winners.length > limit) parts.push(proseText(words.more));
  return parts.join('\n');
}

export function listText(
  format: Format,
  states: readonly FlowState[],
  { flow, ...seen }: { flow: FlowKind } & SeenInList,
): string {
  const columns = columnsOf(flow);
  return tableText(
    columns.map((column) => format.texts.flows.columns[column]),
    states.map((state) => lineOf(format, state, seen)),
    {
      whole: [0, columns.indexOf('worker')],
      spare: columns.flatMap((column, index) => (column === 'about' || column === 'by' ? [index] : [])),
    },
  );
}

type Column = keyof Format['texts']['flows']['columns'];

/** Of an event only its note says what it is about, and a lookup has no amount. An amount is what is released; of the others only the loan is known. */
export function columnsOf(flow: FlowKind): readonly Column[] {
  if (flow === 'event') return ['flow', 'phase', 'begun', 'of', 'note', 'loan', 'installment', 'rate', 'about'];
  if (flow === 'lookup') return ['flow', 'phase', 'waits', 'begun', 'by', 'worker', 'about'];
  const sum = flow === 'renegotiation' ? 'loan' : 'amount';
  const said = flow === 'withdrawal' ? (['situation'] as const) : [];
  return ['flow', 'phase', ...said, 'waits', 'begun', 'by', 'worker', sum, 'about'];
}

/** The cells of its columns. */
export function lineOf(format: Format, state: FlowState, { open, settings, now, handedIn }: SeenInList): string[] {
  const { requestId, closedContract } = state.subject;
  const { none } = format.texts;
  const { told, note } = state;
  const unread = handedIn?.get(state.flowId);
  const asked = unread?.records.flatMap((record) => askedText(format, record)) ?? [];
  const { awaitsDesk, awaitsEndorsement, unreadOrder } = format.texts.flows;
  const phase = unread?.row === null ? unreadOrder.phase : phaseText(format.texts.flows, state, 'short');
  const loanCents = shownAmount(state, open);
  const amountCents = state.flow === 'contract' ? shownReleased(state) : loanCents;
  const cells: Readonly<Record<Column, string>> = {
    flow: state.flowId,
    phase: state.frozen === undefined ? phase : `${phase} (${format.texts.freeze.mark})`,
    begun: format.minute(state.startedAt),
    situation: situationOf(format, state, settings) ?? none,
    waits:
      asked.length > 0
        ? awaitsDesk(asked.join(', '))
        : waitsFor(state, settings, open, now)
            .map((step) => namedStep(format.texts.flows, state, step))
            .join(', ') || (isOnlyReceived(state) ? awaitsEndorsement : none),
    by: state.by ?? none,
    worker: shownWorker(state, open) ?? none,
    amount: amountCents === null ? none : format.money(amountCents),
    loan: loanCents === null ? none : format.money(loanCents),
    of: told === null ? none : wordOf(format.texts.flows.factValues, told.of),
    note: note?.noteNumber ?? none,
    installment: note?.installmentCents == null ? none : format.money(note.installmentCents),
    rate: note?.rateMonthlyPercent == null ? none : `${format.number(note.rateMonthlyPercent, 2)} %`,
    about: requestId ?? closedContract ?? state.proposalCode ?? state.told?.requestCode ?? none,
  };
  return columnsOf(state.flow).map((column) => (open === null ? withoutCpfs(cells[column]) : cells[column]));
}

/** A step by what it does where the flow stands: what is told late is settled by a step that takes a note as it came elsewhere. */
export function namedStep(texts: Format['texts']['flows'], state: FlowState, step: FlowStep): string {
  if (step !== 'accept') return texts.step(step);
  const { flow, phase, lateNote } = state;
  if (lateSuccessOf(state) !== null) return texts.settles;
  if (flow === 'withdrawal') return texts.accepts.proposal;
  if (lateNote != null && phase === 'cancelled' && lateNote.isLast) return texts.accepts.takesUp;
  if (lateNote != null) return flow === 'renegotiation' ? texts.accepts.settlesLoans : texts.accepts.seesLate;
  return flow === 'renegotiation' ? texts.accepts.renegotiated : texts.step(step);
}

/** And how one that was refused is sent as it is. */
export function namedWay(texts: Format['texts']['flows'], state: FlowState, step: FlowStep): string {
  const named = namedStep(texts, state, step);
  return step === 'amend' && goesOnAsItIs(state) ? `${named} (${texts.amendsAsItIs})` : named;
}

/** A step that was taken. Of the steps `accept` only the one that took the note as it stands is known to have done so. */
function namedPast(
  texts: Format['texts']['flows'],
  { noteAccepted }: FlowState,
  { step, by, at }: FlowState['steps'][number],
): string {
  const isOfNote = noteAccepted != null && noteAccepted.by === by && noteAccepted.at === at;
  return step === 'accept' && !isOfNote ? texts.accepts.past : texts.step(step);
}

/** The service has received it for endorsement, and nothing has shown yet that it was done. */
function isOnlyReceived(state: FlowState): boolean {
  return state.phase === 'endorsed' && !isShownEndorsed(state);
}

/** Where it stands. A query of the link that the service refused breaks no rule of ours; of a code alone nothing is known. */
export function phaseText(
  texts: Format['texts']['flows'],
  state: FlowState,
  length: 'short' | 'whole' = 'whole',
): string {
  const { phases, queryRefused, unseen } = texts;
  const { phase, breaches, errors, operation, ending } = state;
  if (phase === 'endorsement-refused' && operation?.reason === deniedByPerson) return texts.endorsementDenied;
  if (isOnlyReceived(state)) return texts.received[length];
  if (phase === 'withheld' && breaches.length === 0 && errors.length > 0) return queryRefused[length];
  if (isUnseen(state) && !isFinished(phase)) return unseen[length];
  // What has ended at the service does not stand open here.
  return ending == null || phase === 'cancelled' ? phases[phase] : `${phases[phase]}; ${texts.proposalEnded[ending]}`;
}

/** The phase in a sentence; null: what stands in its place says it already. */
function meaningText(texts: Format['texts']['flows'], state: FlowState, open: OpenSealed): string | null {
  const { flow, phase } = state;
  if (phase === 'simulated' && isSimulatedInVain(state, open)) return texts.simulatedInVain;
  if (phaseText(texts, state) !== texts.phases[phase]) return null;
  const { ofWithdrawal, ofLookup } = texts.meanings;
  const own = flow === 'withdrawal' ? ofWithdrawal[phase] : flow === 'lookup' ? ofLookup[phase] : undefined;
  return own ?? texts.meanings[phase];
}

export function phasesOf(flow: FlowKind): readonly string[] {
  return flowPhases[flow];
}

/** Throws `not-found`. */
export async function showFlow(world: CommandWorld, flow: FlowKind, flowId: string, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const desk = await remoteDesk(world, {});
  if (desk !== null) {
    const said = (field: string, problem: string) => saidText(format, field, problem);
    return showThere(world, desk, flow, { flowId, json, said });
  }
  await withReader(world, async ({ flows: stored, log, views }, place) => {
    const flows = withLostBids(stored, views);
    const open = openWith(world, place);
    const { row, records, state: ahead } = await (await readUnfolded({ flows, log })).read(flowId);
    const state = row ?? ahead;
    if (state?.flow !== flow) throw await notFound(format, flows, flow, flowId);
    if (json) {
      const unread = { row, records, state: ahead ?? state };
      terminal.write(JSON.stringify(jsonOf(state, unread, { open, settings: place.flows, now: world.clock.now() })));
      return;
    }
    const events = await eventsToShow(flows, ahead ?? state);
    const waiting = { row, records, state: ahead ?? state };
    const acceptedWhy = await reasonOfAccept(log, state, open);
    const now = world.clock.now();
    const bidEndsAt = (await bidEndsOf(views, [waiting.state])).get(flowId) ?? null;
    const seen = { open, settings: place.flows, now, bidEndsAt };
    terminal.write(flowText(format, state, { ...seen, waiting, events, acceptedWhy }));
    if (flow !== 'event' && Object.values(state.results).some((kept) => kept?.sealedAnswer))
      terminal.say(format.texts.flows.readThem(commandOf[flow], flowId));
  });
}

/** Why somebody took the note, or what is said of the proposal, as it is; null: nobody did, or whoever looks may not read it. */
async function reasonOfAccept(
  log: DeskReader['log'],
  { flowId, places, noteAccepted }: FlowState,
  open: OpenSealed,
): Promise<string | null> {
  if (noteAccepted == null || open === null) return null;
  const { by, at } = noteAccepted;
  const entries = await log.readKey('flows', flowId, places);
  const asked = entries.findLast(
    ({ record }) => record.kind === 'asked' && record.step === 'accept' && record.by === by && record.at === at,
  );
  const reason = asked === undefined ? null : shownRecord(asked.record, open).reason;
  return typeof reason === 'string' ? reason : null;
}

/** Without the key the service's words stay sealed. */
export function openWith(world: CommandWorld, { pseudonymKey }: { pseudonymKey: string | null }): OpenSealed {
  return pseudonymKey === null ? null : world.createVault(pseudonymKey).open;
}

/** Records that no desk has taken up, and where the flow stands when one has. */
/** `now` absent: right after the last record of a flow. */
type Seen = { open: OpenSealed; settings: StepSettings & DeadlineSettings; now?: EpochMs };
/** `handedIn`: what no desk has read of them; absent: nothing. */
type SeenInList = Seen & { handedIn?: ReadonlyMap<string, UnreadFlow> };

type Beside = Seen & {
  waiting?: UnreadFlow;
  /** Codes of events of nobody that may tell of it. */
  events?: readonly string[];
  /** When its bid expires. */
  bidEndsAt?: EpochMs | null;
  /** Why the note was taken as it is. */
  acceptedWhy?: string | null;
};

export function flowText(
  format: Format,
  state: FlowState,
  { open, settings, now = state.changedAt, waiting = { row: state, records: [], state }, ...beside }: Beside,
): string {
  const { events = [], acceptedWhy = null, bidEndsAt = null } = beside;
  const { texts } = format;
  const { labels } = texts.flows;
  return labelledText([
    ...flowFacts(format, state, { open, settings, now, acceptedWhy, isUnread: waiting.row === null }),
    [labels.events, joined(events.map((code) => eventText(texts.flows, state, shownCodes(code, open))))],
    [labels.waiting, joined(waiting.records.flatMap((record) => waitingText(format, record)))],
    [labels.deadlines, joined(deadlineTexts(format, waiting.state, { settings, now, bidEndsAt }))],
    [labels.next, joined(nextTexts(format, waiting.state, { open, settings, now }), ', ')],
  ]);
}

/** What is known of a flow, each with its name, of several lines where there are several; null: nothing is. */
export function flowFacts(
  format: Format,
  state: FlowState,
  {
    open,
    settings,
    now = state.changedAt,
    acceptedWhy = null,
    isUnread = false,
  }: Seen & Pick<Beside, 'acceptedWhy'> & { isUnread?: boolean },
): readonly (readonly [label: string, text: string | null])[] {
  const { texts } = format;
  const { labels } = texts.flows;
  const money = (cents: number | null | undefined) => (cents == null ? null : format.money(cents));
  const { subject, operation, terms, note } = state;
  const { unreadOrder } = texts.flows;
  const view = flowView(state, open, settings, now);
  const percent = (value: number | null | undefined) => (value == null ? null : `${format.number(value, 2)} %`);
  // An order below its bid was confirmed by whoever ordered it.
  const besideBid = (text: string | null, ofBid: string | null) =>
    text === null || ofBid === null || text === ofBid ? text : `${text} ${texts.flows.ofBid(ofBid)}`;
  const ordered = (text: string) => (note === null ? text : `${text} ${texts.flows.asOrdered}`);
  return [
    [labels.phase, isUnread ? unreadOrder.phase : phaseText(texts.flows, state)],
    [
      labels.meaning,
      isUnread ? unreadOrder.meaning : state.frozen === undefined ? meaningText(texts.flows, state, open) : null,
    ],
    [texts.freeze.mark, state.frozen === undefined ? null : texts.fault(state.frozen.problem)],
    [labels.begun, `${format.time(state.orderedAt ?? state.startedAt)} (${state.by ?? texts.none})`],
    [labels.begunFirst, state.orderedAt === undefined ? null : format.time(state.startedAt)],
    [labels.changed, format.time(state.changedAt)],
    [labels.request, subject.requestId],
    [labels.closedContract, view.closedContract],
    [labels.worker, view.worker],
    [
      labels.amount,
      state.flow === 'withdrawal'
        ? money(view.amountCents)
        : besideBid(money(terms?.amountCents), money(subject.amountLimitCents)),
    ],
    [labels.released, terms?.amountCents == null ? money(view.releasedCents) : null],
    [
      labels.installment,
      besideBid(
        money(terms?.installmentCents),
        state.flow === 'contract' ? money(subject.installmentLimitCents) : null,
      ),
    ],
    [labels.installments, terms === null ? null : ordered(String(terms.installments))],
    [
      labels.rate,
      terms === null
        ? null
        : ordered(
            besideBid(
              format.rate(terms.rateHundredths),
              state.flow === 'contract' ? format.rate(subject.rateLimitHundredths ?? terms.rateHundredths) : null,
            )!,
          ),
    ],
    [labels.insurance, money(terms?.insuranceCents ?? insuranceIncluded(state, open))],
    [labels.payments, joined((shownPayments(state, open) ?? []).map((payment) => paymentText(format, payment)))],
    [labels.proposal, view.proposalCode],
    [labels.namedProposal, view.namedProposal],
    [labels.otherProposals, joined(view.otherProposals)],
    [labels.operation, operation === null ? null : operationText(format, state, operation)],
    [labels.situation, situationOf(format, state, settings)],
    [labels.code, view.requestCode],
    [labels.note, view.note?.noteNumber ?? null],
    [labels.noteProposal, view.note?.proposalCode ?? null],
    [labels.noteLoan, money(note?.loanCents)],
    [labels.noteIof, money(note?.iofCents)],
    [labels.noteInsurance, money(note?.insuranceCents)],
    [labels.noteInstallment, money(note?.installmentCents)],
    [labels.noteRate, percent(note?.rateMonthlyPercent)],
    [labels.noteCet, percent(note?.cetAnnualPercent)],
    [labels.differences, joined(view.differences.map((each) => differenceText(format, each)))],
    [
      state.flow === 'withdrawal' ? labels.unsaidOfProposal : labels.unsaid,
      joined(unsaidIn(state).map((field) => unsaidText(texts.flows, state, field))),
    ],
    [
      labels.accepted,
      view.noteAccepted === null
        ? null
        : texts.flows.acceptedBy(view.noteAccepted.by, format.minute(view.noteAccepted.at), acceptedWhy),
    ],
    [labels.ending, view.ending === null ? null : texts.flows.proposalEndings[view.ending]],
    [labels.noteHolder, view.noteHolder],
    [labels.noteAgain, noteAgainText(format, state)],
    [labels.lateNote, lateNoteText(format, state)],
    [labels.lateSuccesses, joined(view.lateSuccesses.map((late) => lateSuccessText(format, late)))],
    [labels.earlierNotes, earlierNotesText(format, state, view.earlierNotes)],
    [
      labels.breaches,
      joined(
        [...view.breaches, ...view.barriers].map(
          ({ field, rule, problem }) => `${field} (${rule}): ${saidText(format, field, problem)}`,
        ),
      ),
    ],
    [labels.errors, joined(errorsText(texts.flows, state, view.errors))],
    [
      labels.steps,
      joined(
        state.steps.map(
          (taken) =>
            `${format.minute(taken.at)} ${namedPast(texts.flows, state, taken)} (${taken.by}): ${texts.flows.endings[taken.outcome]}`,
        ),
      ),
    ],
    [
      labels.answers,
      joined(Object.entries(view.results).map(([what, at]) => `${texts.flows.step(what)} (${format.minute(at)})`)),
    ],
  ];
}

/** A figure that nobody can use: it was left out, or came in a way that is not understood. */
function unsaidText(
  { figures, unread }: Format['texts']['flows'],
  { flow, note, unusableFigures = [] }: FlowState,
  field: LoanFigure,
): string {
  const came = flow === 'withdrawal' ? unusableFigures : unreadableFigures(note);
  return came.includes(field) ? `${figures[field]} (${unread})` : figures[field];
}

function differenceText(
  format: Format,
  { field, ours, theirs }: { field: string; ours: number; theirs: number },
): string {
  const { difference, figures } = format.texts.flows;
  const figure = (value: number) => {
    if (field.endsWith('Cents')) return format.money(value);
    return field === 'installments' ? String(value) : `${format.number(value / 100, 2)} %`;
  };
  return difference(wordOf(figures, field), figure(ours), figure(theirs));
}

/** Why a person is needed, in one line: what nobody knows, or the first thing that somebody has to look at; null: the phase says it. */
export function whyText(format: Format, state: FlowState, { open, settings }: Seen): string | null {
  const { flows: texts } = format.texts;
  const { labels, reasons } = texts;
  const { operation, lateNote, noteHolder, noteAgain, noteAccepted } = state;
  const line = (label: string, what: string) => `${label}: ${what}`;
  if (operation?.status === 'unclear') {
    const { reason } = operation;
    return reason !== null && Object.hasOwn(reasons, reason) ? reasons[reason]! : null;
  }
  const late = lateSuccessOf(state);
  if (late !== null) {
    const { at, operation, code, note, denied } = late;
    const told = { at, operation, code, noteNumber: note?.noteNumber ?? null, deniedBy: denied?.by ?? null };
    return line(labels.lateSuccesses, lateSuccessText(format, told));
  }
  if (lateNote != null) return line(labels.lateNote, lateNoteText(format, state)!);
  if (goesOnAsItIs(state) || state.phase === 'endorsement-refused') {
    const { breaches } = state;
    const inTheWay = breaches.map(
      ({ field, rule, problem }) => `${field} (${rule}): ${saidText(format, field, problem)}`,
    );
    if (inTheWay.length > 0) return line(labels.breaches, inTheWay.join('; '));
    const said = errorsText(texts, state, flowView(state, open, settings).errors);
    if (said.length > 0) return line(labels.errors, said.join('; '));
  }
  const unpaid = unpaidText(format, state, settings);
  if (noteAccepted != null) return unpaid;
  if (noteHolder != null) return line(labels.noteHolder, noteHolder);
  if (noteAgain != null) return line(labels.noteAgain, noteAgainText(format, state)!);
  const beyond = new Set<string>(beyondTolerance(state, settings));
  const difference = shownDifferences(state, open).find(({ field }) => beyond.has(field));
  if (difference !== undefined) return line(labels.differences, differenceText(format, difference));
  const [unsaid] = unsaidIn(state);
  if (unsaid === undefined) return unpaid;
  return line(state.flow === 'withdrawal' ? labels.unsaidOfProposal : labels.unsaid, unsaidText(texts, state, unsaid));
}

/** A denial is no word of the service: the operation says whose it is. Of others that are words of ours nothing else is known. */
function errorsText({ reasons }: Format['texts']['flows'], state: FlowState, errors: readonly string[]): string[] {
  const isOurs = (error: string) => state.errors.includes(error) && Object.hasOwn(reasons, error);
  // Its last words alone do not say that it has said the other thing too.
  const isBoth = state.errors.includes(toldBoth) && !errors.includes(toldBoth);
  const said = errors.flatMap((error) => {
    if (error === deniedByPerson && state.errors.includes(error)) return [];
    return isOurs(error) ? (reasons[error] ?? error) : error;
  });
  return isBoth ? [reasons[toldBoth]!, ...said] : said;
}

/** Where money goes, and whether the service has been told. */
function paymentText(format: Format, payment: PaymentShown): string {
  const { of, at, status, to, amountCents, paidOn, others } = payment;
  const { step, payments: texts } = format.texts.flows;
  const joint = (one: string | undefined, digit: string | undefined) =>
    one === undefined ? null : digit === undefined ? one : `${one}-${digit}`;
  const named = (label: string, value: string | null | undefined) => (value == null ? [] : [`${label} ${value}`]);
  const whom = [
    ...named(texts.bank, to.bankNumber ?? (to.bankCode === undefined ? null : texts.bankCode(to.bankCode))),
    ...named(texts.branch, joint(to.branch, to.branchDigit)),
    ...named(texts.account, joint(to.account, to.accountDigit)),
    ...(to.accountType === undefined ? [] : [wordOf(texts.accountTypes, to.accountType)]),
    ...named(texts.pix, to.pixKey),
    ...named(texts.emv, to.emv),
    ...named(texts.slip, to.paymentLine),
    ...named(texts.portability, to.portability),
    ...Object.entries(others).map(([name, value]) => `${name} ${value}`),
    ...named(texts.holder, to.holderName),
    ...named(texts.document, to.holderDocument),
  ].join(', ');
  const money = amountCents === null ? [] : [format.money(amountCents)];
  const day = paidOn === null ? [] : [format.day(paidOn)];
  const when = at === null ? '' : `, ${format.minute(at)}`;
  const source = of === 'contract' ? texts.ofOrder : step(of);
  return `${[...money, ...day, whom].join(', ')} (${source}: ${texts.statuses[status]}${when})`;
}

/** What to do about an event of nobody that may be the flow's own. */
function eventText({ ownEvent }: Format['texts']['flows'], { flow, flowId }: FlowState, code: string): string {
  const command = flow === 'event' ? null : commandOf[flow];
  return ownEvent(`event:${code}`, `lance ${command} step ${flowId} confirm`, code);
}

function shownCodes(code: string, open: OpenSealed): string {
  return open === null ? withoutCpfs(code) : code;
}

/** What a withdrawal comes to is for those who work on it. */
function insuranceIncluded({ flow, expected }: FlowState, open: OpenSealed): number | null {
  return flow === 'withdrawal' && open !== null ? expected?.insuranceCents || null : null;
}

/** What came after the note, for the same contract. */
function noteAgainText(format: Format, state: FlowState): string | null {
  const { noteAgain, lateNote } = state;
  const others = [...notesToldAgain(state), ...(lateNote?.others ?? [])].filter((note) => note !== noteAgain?.note);
  const earlier = others.map((note) => noteText(format, note));
  if (noteAgain == null) return joined(earlier);
  const { at, note, unread } = noteAgain;
  const { noteUnread, noteFailed } = format.texts.flows;
  const said = note === null ? (unread ? noteUnread : noteFailed) : noteText(format, note);
  const latest = `${format.time(at)}: ${said}`;
  const mark = unread ? null : unreadMark(state);
  const unseen = mark === null ? [] : [`${format.time(mark.at)}: ${noteUnread}`];
  return joined([latest, ...unseen, ...earlier]);
}

/** What came after nobody waited for it, and what can be done about it. */
function lateNoteText(format: Format, { flow, lateNote, phase }: FlowState): string | null {
  if (lateNote == null) return null;
  const { at, note, isLast } = lateNote;
  const { taken, seen, second } = format.texts.flows.lateNote;
  const isTakenUp = phase === 'cancelled' && isLast;
  // Nothing of a renegotiation is signed: the loan of before may stand beside this one.
  const what = isTakenUp ? taken : flow === 'renegotiation' ? second : seen;
  return `${format.time(at)}: ${noteText(format, note)} (${what})`;
}

/** What counts as not done, and is told to be done; what to do about it stands among the rules in the way. */
function lateSuccessText(
  format: Format,
  { at, operation, code, noteNumber, deniedBy }: ReturnType<typeof flowView>['lateSuccesses'][number],
): string {
  const { step, facts, deniedOnce } = format.texts.flows;
  const named = [
    step(operation),
    ...(noteNumber === null ? [] : [`${facts.noteNumber} ${noteNumber}`]),
    ...(deniedBy === null ? [] : [deniedOnce(deniedBy)]),
  ];
  return `${format.time(at)}: ${[...named, ...(code === null ? [] : [code])].join(', ')}`;
}

/** Of one that was sent to be endorsed the service knows. */
function earlierNotesText(
  format: Format,
  { operationsGivenUp = [] }: FlowState,
  numbers: readonly string[],
): string | null {
  const { earlierNotes, signedNotes } = format.texts.flows;
  const sent = new Set(operationsGivenUp.map(({ note }) => note?.noteNumber));
  const unsigned = numbers.filter((number) => !sent.has(number));
  const signed = numbers.filter((number) => sent.has(number));
  const unsignedText = unsigned.length === 0 ? [] : [earlierNotes(unsigned.join(', '))];
  return joined([...unsignedText, ...(signed.length === 0 ? [] : [signedNotes(signed.join(', '))])]);
}

function noteText(format: Format, note: CreditNote): string {
  const { figures, facts } = format.texts.flows;
  const money = (field: 'loanCents' | 'installmentCents') =>
    note[field] === null ? [] : [`${figures[field]} ${format.money(note[field])}`];
  return [`${facts.noteNumber} ${note.noteNumber}`, ...money('loanCents'), ...money('installmentCents')].join(', ');
}

function operationText(format: Format, state: FlowState, operation: NonNullable<FlowState['operation']>): string {
  const { flows: texts } = format.texts;
  const { status, reason, retryAt } = operation;
  // What was taken at first and refused by an event has ended as the flow says.
  const isRefused = status === 'done' && state.phase === 'refused';
  const isDenied = status === 'rejected' && reason === deniedByPerson;
  // Given up here with its flow: the service never saw it.
  const isUnsent = status === 'rejected' && operation.intent === null;
  const denier = state.steps.findLast(({ step, outcome }) => step === 'deny' && outcome === 'done')?.by;
  const denied = denier === undefined ? texts.deniedHere : texts.deniedOnce(denier);
  const words = [
    texts.step(operation.operation),
    isRefused ? texts.refusedLater : isDenied ? denied : texts.statuses[isUnsent ? 'not-sent' : status],
    timesText(attemptsOf(operation)),
  ];
  // What the service said is a line of its own.
  const isSaid = reason === null || reason === sealedText || (isDenied && denier !== undefined);
  const why = isSaid ? '' : `: ${reasonText(texts, reason)}`;
  const again = retryAt === null || isFinished(state.phase) ? '' : ` ${texts.againAt(format.time(retryAt))}`;
  return words.filter((part) => part !== '').join(' ') + why + again;
}

/** What has no word stays as it is. */
export function wordOf(words: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(words, name) ? words[name]! : name;
}

/** A code of the service itself stays as it is. */
export function reasonText({ reasons, answeredStatus }: Format['texts']['flows'], reason: string): string {
  const [, status] = /^status-(\d{3})$/.exec(reason) ?? [];
  return status === undefined ? wordOf(reasons, reason) : answeredStatus(status);
}

/** What the service said last of where a proposal stands. */
export function situationText(
  { situations: words }: Format['texts']['flows'],
  situation: number | null,
  situations: FlowSettings['situations'],
): string | null {
  if (situation === null) return null;
  const known = situations.find(({ code }) => code === situation)?.state;
  return known === undefined ? String(situation) : `${situation} (${words[known]})`;
}

/** And when it was asked for; null: it was not. */
function situationOf(
  format: Format,
  state: FlowState,
  { situations }: Pick<FlowSettings, 'situations'>,
): string | null {
  const said = situationText(format.texts.flows, state.situation, situations);
  const at = situationAt(state);
  return said === null || at === null ? said : `${said}, ${format.minute(at)}`;
}

/** Why a finalised withdrawal is still looked at; null: it is paid, has ended, or is not finalised. */
function unpaidText(format: Format, state: FlowState, settings: Pick<FlowSettings, 'situations'>): string | null {
  if (!isUnpaid(state, settings)) return null;
  const { unpaid } = format.texts.flows;
  const isNamed = settings.situations.some(({ code }) => code === state.situation);
  return unpaid(situationOf(format, state, settings), state.situation === null || isNamed);
}

/** What people asked for, when and who; what else waits is none of theirs. */
export function waitingText(format: Format, record: FlowRecord): string[] {
  return askedIn([record]).map(({ by, at }) => `${format.minute(at)} ${askedText(format, record).join('')} (${by})`);
}

function askedText({ texts }: Format, record: FlowRecord): string[] {
  const { step: named, begins } = texts.flows;
  return askedIn([record]).map(({ step }) =>
    step === 'start' ? begins : record.kind === 'unfrozen' ? step : named(step),
  );
}

/** What ends by itself and when, with what follows; one line each. */
export function deadlineTexts(
  { texts, minute }: Format,
  state: FlowState,
  { settings, now, bidEndsAt }: { settings: DeadlineSettings; now: EpochMs; bidEndsAt: EpochMs | null },
): readonly string[] {
  return deadlinesOf(state, settings, bidEndsAt).map(({ kind, at }) => {
    const { deadlines } = texts.flows;
    const isRenegotiated = kind === 'note' && state.flow === 'renegotiation';
    return deadlines[isRenegotiated ? 'renegotiationNote' : kind](minute(at), at <= now);
  });
}

/** The steps that are possible, and how one that was refused is sent as it is. */
function nextTexts(
  { texts }: Format,
  state: FlowState,
  { open, settings, now = state.changedAt }: Seen,
): readonly string[] {
  const { denied, knownPerson } = texts.flows;
  const named = (step: FlowStep) => namedWay(texts.flows, state, step);
  const isRefused = isToldNo(state) || mayTakeBack(state);
  const deniedSends = state.flow === 'withdrawal' ? denied.asked : isRefused ? denied.refused : denied.sent;
  const possible = nextSteps(state, settings, open, now);
  const asOrdered = state.flow === 'renegotiation' ? ' --yes' : '';
  const start = `lance ${commandOf[state.flow as StartedKind]} start --file ORDER --key KEY --by NAME${asOrdered}`;
  const begun = mayBeginAgain(state, now, settings) ? [texts.flows.beginsAgain(start)] : [];
  const steps = possible.map((step) => {
    if (state.flow === 'event') return texts.flows.closeIt(state.flowId);
    if (needsKnownPerson(state, step)) return `${named(step)} (${knownPerson(stepRequest(state, step))})`;
    return step === 'deny' ? `${named(step)} (${deniedSends})` : named(step);
  });
  return [...steps, ...begun];
}

/** Of a step that the command line may not ask for, for it does not know who types. */
export function stepRequest({ flow, flowId }: FlowState, step: FlowStep): string {
  return flow === 'event' ? flowId : `POST /v1/${commandOf[flow]}/${flowId}/${step}`;
}

function joined(lines: readonly string[], by = '\n'): string | null {
  return lines.length === 0 ? null : lines.join(by);
}

/** Its records in log order; with the key, what was written in them. Throws `not-found`. */
export async function showHistory(world: CommandWorld, flow: FlowKind, flowId: string, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const desk = await remoteDesk(world, {});
  // Of events the API tells a list alone.
  if (desk !== null && flow === 'event') throw new Fault('not-allowed', format.texts.flows.noEventHistory);
  const records =
    desk !== null
      ? await desk.flowHistory(flow, flowId)
      : await withReader(world, async ({ flows, log }, place) => {
          const open = openWith(world, place);
          const state = (await flows.read([flowId])).get(flowId);
          if (state?.flow !== flow) throw await notFound(format, flows, flow, flowId);
          return (await log.readKey('flows', flowId, state.places)).map(({ record }) => shownRecord(record, open));
        });
  if (json) {
    for (const record of records) terminal.write(JSON.stringify(record));
    return;
  }
  const { records: kinds, historyHeader } = format.texts.flows;
  const rows = records.map(({ kind, flowId: _id, at, ...facts }) => [
    ...[format.time(Number(at)), kinds[kind as FlowRecord['kind']], factsText(format, facts)],
  ]);
  terminal.write(tableText(historyHeader, rows));
}

/** Of machines: `--json` has them. */
const unsaid = new Set([
  ...[
    'key',
    'stepId',
    'requestHash',
    'workerKey',
    'linkKey',
    'signerKeys',
    'personKeys',
    'intentId',
    'instance',
    'logId',
    'slot',
  ],
  ...['path', 'idempotencyKey', 'retry', 'stepsKept', 'places', 'earlierAttemptPossible', 'firstByteAt', 'again'],
]);
const longestFact = 200;
/** Fields whose values are words of ours; what people and the service wrote stays as it is. */
const worded = new Set(['kind', 'flow', 'of', 'action', 'via']);

/** What a record says to people: names of fields in words where there are some, money in reais, times in the zone. */
export function factsText(format: Format, facts: Readonly<Record<string, unknown>>): string {
  const { facts: names, factValues, step, sealed, accepts, settles } = format.texts.flows;
  const sayOf = (name: string, value: unknown, within: string | null = null): string[] => {
    if (
      value === null ||
      value === false ||
      value === '' ||
      unsaid.has(name) ||
      (Array.isArray(value) && value.length === 0)
    )
      return [];
    if (typeof value === 'object' && !Array.isArray(value))
      return Object.entries(value).flatMap(([inner, each]) => sayOf(inner, each, name));
    const label = wordOf(names, name);
    if (value === true) return [label];
    const isCode = within === 'result' && name === 'reason' && typeof value === 'string';
    const said = isCode ? reasonText(format.texts.flows, value) : shownValue(name, value);
    const text = `${label} ${said.replaceAll(sealedText, sealed)}`;
    // What others wrote may be of any length; a rule is a sentence of ours.
    return [name === 'breaches' ? text : text.slice(0, longestFact)];
  };
  const shownValue = (name: string, value: unknown): string => {
    if (typeof value === 'number') {
      if (name.endsWith('Cents')) return format.money(value);
      if (name.endsWith('Hundredths')) return /Annual/.test(name) ? format.annualRate(value) : format.rate(value);
      if (name.endsWith('Percent')) return `${format.number(value, 2)} %`;
      return /(?:At|Until)$/.test(name) ? format.time(value) : String(value);
    }
    if (Array.isArray(value)) return value.map((each) => partText(format, each)).join(', ');
    if (typeof value !== 'string') return JSON.stringify(value);
    if (name === 'step' && value === 'accept') return facts.lateIntentId === undefined ? accepts.past : settles;
    if (name === 'step' || name === 'operation' || name === 'what') return step(value);
    return worded.has(name) ? wordOf(factValues, value) : value;
  };
  return Object.entries(facts)
    .flatMap(([name, value]) => sayOf(name, value))
    .join('; ');
}

/** One of a list: a rule that is in the way, or what the service said. */
function partText(format: Format, part: unknown): string {
  if (typeof part === 'string') return part;
  const { field, rule, problem } = part as Partial<FlowBreach>;
  if (field === undefined || problem === undefined) return JSON.stringify(part);
  return `${field} (${rule}): ${saidText(format, field, problem)}`;
}

const starts = {
  contract: { body: contractBody, ask: (front: FlowFront) => front.startContract, asked: contractAsked },
  renegotiation: {
    body: renegotiationBody,
    ask: (front: FlowFront) => front.startRenegotiation,
    asked: renegotiationAsked,
  },
  withdrawal: { body: withdrawalBody, ask: (front: FlowFront) => front.startWithdrawal, asked: withdrawalAsked },
  lookup: { body: lookupBody, ask: (front: FlowFront) => front.startLookup, asked: lookupAsked },
} as const;
export type StartedKind = keyof typeof starts;

export async function startFlow(
  world: CommandWorld,
  flow: StartedKind,
  order: Order & { file: string; yes?: boolean },
): Promise<void> {
  const { body, ask, asked } = starts[flow];
  const desk = await remoteDesk(world, order);
  if (desk !== null) {
    const { text } = readBody(world, order.file, body, true);
    if (flow === 'renegotiation' && order.yes !== true)
      throw new Fault('not-allowed', world.format.texts.flows.noEstimate);
    return startThere(world, desk, flow, { text, key: order.key, json: order.json });
  }
  const { data: read } = readBody(world, order.file, body, false);
  if (flow === 'renegotiation' && order.yes !== true) return previewRenegotiation(world, order, read as never);
  await withFront(world, order, async (front) => {
    const start = ask(front) as (asker: Asker, order: unknown) => Promise<FrontResult>;
    const result = await start(askerOf(world, order), asked(read as never));
    return { ...result, isStart: true as const };
  });
}

/**
 * It is sent at once and cannot be taken back: first what would be sent, beside the loan that was closed. What a start would be refused
 * for is said here too.
 */
function previewRenegotiation(
  world: CommandWorld,
  order: Order,
  body: z.infer<typeof renegotiationBody>,
): Promise<void> {
  const { format } = world;
  const { flows: texts } = format.texts;
  const asked = renegotiationAsked(body);
  return withFront(world, order, async (front) => {
    const found = await front.previewRenegotiation(askerOf(world, order), asked);
    if (found.kind !== 'startable') return found;
    const { terms, closed } = found;
    const sides = (name: keyof typeof closed, said: (value: number) => string) => {
      const [before, after] = [closed[name], terms[name]].map((value) =>
        value === null ? texts.notKnown : said(value),
      );
      return [before!, after!] as const;
    };
    const lines: readonly (readonly [label: string, text: string])[] = [
      [texts.labels.closedContract, texts.beforeAndAfter(asked.renegotiation.closedContract)],
      [texts.labels.installments, sides('installments', String).join(' → ')],
      [texts.labels.rate, sides('rateHundredths', format.rate).join(' → ')],
      [texts.labels.installment, texts.estimate(...sides('installmentCents', format.money))],
    ];
    throw new Fault('not-allowed', texts.confirmFirst(labelledText(lines)));
  });
}

export async function takeStep(
  world: CommandWorld,
  flow: FlowKind,
  { flowId, step, of, ...order }: StepOrder,
): Promise<void> {
  const { flows: texts } = world.format.texts;
  const steps = stepsOf(flow);
  const named = steps.find((each) => each === step);
  if (named === undefined) throw new Fault('not-allowed', texts.badStep(step, steps));
  if (of !== undefined && named !== 'cancel') throw new Fault('not-allowed', texts.onlyCancelled(step));
  const desk = await remoteDesk(world, order);
  const { data: body, text } = readStep(world, named, order, desk !== null);
  if (desk !== null)
    return stepThere(world, desk, flow, { flowId, step: named, of, text, key: order.key, json: order.json });
  await withFront(world, order, async (front, { flows, unfolded }) => {
    const stateOf = async (id: string) => (await flows.read([id])).get(id) ?? null;
    const { state } = await unfolded.read(flowId);
    if (state?.flow !== flow) throw await notFound(world.format, flows, flow, flowId);
    const asker = askerOf(world, order);
    const stepId = storedKey(world.createVault(world.writing().pseudonymKey), asker.key);
    if (named === 'cancel' && !state.steps.some((taken) => taken.stepId === stepId)) {
      const last = askedLast(state);
      if (last !== null && last.by !== asker.by && last.by !== of)
        throw new Fault('not-allowed', ofOther(world.format, state, last));
    }
    const result = await front.ask(flowId, asker, stepAsked(named, body as never));
    // A script that repeats the command until it exits with 0 must not take a refused step for one that was done.
    if (result.kind === 'known' && hasFailed(outcomeOf(result.state, stepId))) process.exitCode = 1;
    if (result.kind !== 'taken') return result;
    const ended = await stepEnded(world, () => stateOf(flowId), stepId);
    return { kind: 'taken', state: ended ?? result.state, step: { named, stepId } };
  });
}

/** One name that is typed wrongly must not end what a colleague is working on. */
function ofOther(format: Format, state: FlowState, { by, at, step }: AskedLast): string {
  const { flows: texts } = format.texts;
  const asked = step === null ? texts.ordered : namedStep(texts, state, step);
  const typed = /^[\w.@-]+$/.test(by) ? by : JSON.stringify(by);
  const said = texts.askedLast(by, format.minute(at), asked);
  return `${texts.cancelsOther(state.flowId, phaseText(texts, state), said)} --of ${typed}`;
}

/** How long a command waits for what becomes of its step. */
const stepPatienceMs = 5_000;
const stepPollMs = 50;

function readStep(
  world: CommandWorld,
  step: FlowStep,
  { file, reason, figures, late }: StepFields,
  isRemote: boolean,
): Body {
  const { flows } = world.format.texts;
  const named = { ...(figures ? { figures } : {}), ...(late ? { late } : {}) };
  const isNamed = figures === true || late === true;
  if (isNamed && step !== 'accept') throw new Fault('not-allowed', flows.onlyAccepted(step));
  if (file !== undefined && (reason !== undefined || isNamed)) throw new Fault('not-allowed', flows.fileOrReason);
  const schema = stepBodies[step];
  if (file !== undefined) return readBody(world, file, schema, isRemote);
  const fields = { ...(reason === undefined ? {} : { reason }), ...named };
  const read = schema.safeParse(fields);
  if (read.success) return { data: read.data, text: JSON.stringify(fields) };
  if (reason !== undefined && schema.safeParse({}).success) throw new Fault('not-allowed', flows.noReason(step));
  if (reason === undefined && schema.safeParse({ reason: 'x' }).success)
    throw new Fault('not-allowed', flows.needsReason(step));
  const problems = saidIn(world.format, issueTexts(read.error, fields, schema));
  throw new Fault('not-allowed', flows.needsFile(step, problems));
}

type StepTaken = { named: FlowStep; stepId: string };

/** Where the flow stands when the step has ended; null: it has not within that time. */
async function stepEnded(
  { clock }: CommandWorld,
  stateOf: () => Promise<FlowState | null>,
  stepId: string,
): Promise<FlowState | null> {
  for (const untilMs = clock.monotonicMs() + stepPatienceMs; clock.monotonicMs() < untilMs; ) {
    const state = await stateOf();
    if (state !== null && outcomeOf(state, stepId) !== 'pending') return state;
    await wait(clock, stepPollMs);
  }
  return null;
}

function outcomeOf({ steps }: FlowState, stepId: string): FlowState['steps'][number]['outcome'] {
  return steps.find((step) => step.stepId === stepId)?.outcome ?? 'pending';
}

/** A script has to be able to tell. What is still pending has not failed. */
function hasFailed(outcome: FlowState['steps'][number]['outcome']): boolean {
  return outcome !== 'done' && outcome !== 'pending';
}

/** What became of the step, why where it did not succeed, and where the flow stands after it. */
function stepText(format: Format, state: FlowState, { named, stepId }: StepTaken): string {
  const { flows: texts } = format.texts;
  const outcome = outcomeOf(state, stepId);
  const phase = phaseText(texts, state);
  if (outcome === 'pending') return texts.underWay(state.flowId, named, phase);
  const ended = texts.ended(state.flowId, named, texts.outcomes[outcome], phase);
  const stays = named === 'cancel' && outcome === 'done' && state.generations > 0;
  return stays ? `${ended} ${texts.serviceKeeps(state.note?.noteNumber ?? null)}` : ended;
}

/** Says where it is, where it can be told what was meant. */
export async function notFound(
  { texts }: Format,
  flows: DeskReader['flows'],
  flow: FlowKind,
  given: string,
): Promise<Fault> {
  const meant = await flowMeant(flows, flow, given);
  const kind = meant === null || meant.flow === 'event' ? null : commandOf[meant.flow];
  const hint =
    meant === null || kind === null
      ? await begunAs(texts, flows, flow, given)
      : ` ${texts.flows.meant(`lance ${kind} show ${meant.flowId}`)}`;
  return new Fault('not-found', `${texts.flows.notFound(given)}${hint}`);
}

/** Ids are long: of those that begin as given, the latest. */
async function begunAs(
  { flows: texts }: Format['texts'],
  flows: DeskReader['flows'],
  flow: FlowKind,
  given: string,
): Promise<string> {
  if (flow === 'event' || given.length < 3) return '';
  const states = await flows.query({ flow, phase: null, code: null, limit: mostLookedAt, before: null });
  const meant = states.find(({ flowId }) => flowId.startsWith(given));
  return meant === undefined ? '' : ` ${texts.meant(`lance ${commandOf[flow]} show ${meant.flowId}`)}`;
}

const mostLookedAt = 500;

export const commandOf = {
  contract: 'contracts',
  renegotiation: 'renegotiations',
  withdrawal: 'withdrawals',
  lookup: 'lookups',
} as const satisfies Record<StartedKind, string>;

/** Nothing for what was sent once: that goes without saying. */
function timesText(attempts: number): string {
  return attempts > 1 ? `${attempts}×` : '';
}

/** A key of its own where none is given: then asking again is asking anew. */
function askerOf({ format }: CommandWorld, { by, key }: Order): Asker {
  if (by === undefined) throw new Fault('option-missing', format.texts.remote.nobodyNamed);
  return { by, key: key ?? randomUUID(), via: 'offline' };
}

type Said = readonly (readonly [field: string, text: string])[];

/** In the language of the texts. */
function saidIn(format: Format, problems: Said): Said {
  const { said } = format.texts.flows;
  const shown = (field: string) => (field === wholeFile ? said(field) : field === 'Idempotency-Key' ? '--key' : field);
  return problems.map(([field, text]) => [shown(field), saidText(format, field, text)]);
}

/** What is wrong with a field, in the language of the texts and with figures as people read them. */
export function saidText(format: Format, field: string, text: string): string {
  const { said, figures } = format.texts.flows;
  return withFigures(said(text), field, { ...format, words: figures });
}

/** `text`: as it is sent to a running desk, which has a limit of its own. */
type Body = { data: unknown; text: string };

function readBody(world: CommandWorld, path: string, schema: z.ZodType, isRemote: boolean): Body {
  const { flows } = world.format.texts;
  let text: string;
  try {
    text = world.readText(path);
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    throw new Fault('configuration-invalid', flows.unreadable(path, why), cause);
  }
  const bytes = Buffer.byteLength(text);
  const bodyLimitBytes = isRemote ? Number.POSITIVE_INFINITY : world.writing().api.bodyLimitBytes;
  if (bytes > bodyLimitBytes) throw new Fault('configuration-invalid', flows.tooLong(path, bytes, bodyLimitBytes));
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') {
    // This reader quotes nothing: the text names a worker.
    const found = locateFault(text);
    throw new Fault('configuration-invalid', flows.unreadable(path, found.kind === 'malformed' ? found.text : ''));
  }
  const carried = withCarriedNumbers(parsed.value, text);
  const read = checkUntrusted(carried, (given) => schema.safeParse(given));
  if (read.success) return { data: read.data, text };
  const problems = issueTexts(read.error, parsed.value, schema);
  const said = saidIn(world.format, problems);
  // As the front refuses what is left open in texts that have room for it.
  if (problems.every(([, text]) => text === leftOpenProblem)) throw new Fault('not-allowed', flows.refused(said));
  throw new Fault('configuration-invalid', flows.badFile(path, said));
}

type KnownFlows = { flows: DeskReader['flows']; unfolded: UnfoldedFlows };

/**
 * Rejects with `not-allowed` or `not-found` as the front refuses, and with `not-acknowledged` where a process runs and does not
 * take it up. Where none runs, what is stored is done later.
 */
async function withFront(
  world: CommandWorld,
  { json }: Order,
  work: (front: FlowFront, known: KnownFlows) => Promise<FrontResult & { step?: StepTaken; isStart?: true }>,
): Promise<void> {
  const { terminal, format } = world;
  const { flows: texts } = format.texts;
  const { flows: settings, pricing, addresses } = world.writing();
  await withReader(world, async ({ log, flows: stored, views, control, appendBeside }) => {
    const clock = await clockOfDesk(control, world.clock);
    const flows = withLostBids(stored, views);
    const vault = await vaultOf(world, { log });
    const unfolded = await readUnfolded({ flows, log });
    const front = createFlowFront({
      ...{ append: appendBeside, log, flows, views, margins: null, clock, unfolded },
      logId: () => claimLogId({ ...log, append: appendBeside }, randomUUID()),
      ...{ vault, settings, pricing, addresses },
    });
    const askedAt = clock.now();
    const result = await work(front, { flows, unfolded });
    if (result.kind === 'written') {
      const { flowId } = result;
      if (await livesSince(control, clock, askedAt)) throw new Fault('not-acknowledged', texts.late(flowId));
      terminal.write(json ? JSON.stringify({ flowId, stored: true }) : proseText(texts.stored(flowId)));
      return;
    }
    if (result.kind === 'refused') {
      const code = result.problem === 'not-found' ? 'not-found' : 'not-allowed';
      throw new Fault(
        code,
        texts.refused(
          saidIn(
            format,
            result.breaches.map(({ field, problem }) => [field, problem]),
          ),
        ),
      );
    }
    const { state, kind } = result;
    if (result.step !== undefined && hasFailed(outcomeOf(state, result.step.stepId))) process.exitCode = 1;
    if (json) terminal.write(JSON.stringify(flowView(state, vault.open, settings, world.clock.now())));
    else if (result.step !== undefined) terminal.write(proseText(stepText(world.format, state, result.step)));
    else {
      const isUsedUp = result.isStart && kind === 'known' && mayBeginAgain(state, clock.now(), settings);
      const said = texts[kind](state.flowId, phaseText(texts, state));
      terminal.write(proseText(isUsedUp ? `${said} ${texts.keyUsedUp}` : said));
    }
  });
}
