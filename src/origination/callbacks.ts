/**
 * Credit notes and other events are given to the flow that waits for them. Where nobody does (yet) they are kept as a flow of
 * their own, found again when the code becomes known, and shown until then. Every step may be done twice.
 */
import type { Outbox } from '../bidding/outbox.ts';
import { callbackPartition, type EventLog, type LogBatch, type NewEntry } from '../bidding/ports.ts';
import { problemOf } from '../bidding/unprocessable.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowLinkTold, FlowRecord, FlowTold } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import { foldedInto } from '../domain/record-places.ts';
import type { CallbackRecord, CreditNote } from '../domain/records.ts';
import { isSameCode, spellingsOf } from '../domain/request-codes.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { linkDetailPath, linkListPath } from '../wire/link-queries.ts';
import { isDetailOf } from '../wire/links.ts';
import { expectedOfInstallment, expectedRenegotiation, mostDebtOf } from './differences.ts';
import { eventPrefix, lookupIndex, proposalIndex } from './evolve.ts';
import { holdersOf, noteCodes, noteIndex, stillHolds } from './notes.ts';
import type { FlowStore } from './ports.ts';
import type { LinkAsk, RenegotiationOrder } from './preparation.ts';

/** How long an acknowledgement takes to be folded, at most; and how many answers wait for that at once. */
const lookAgainMs = 2_000;
const maxLaterLooks = 4_000;

/** Notes given to flows whose rows may not have them yet. */
const mostRecent = 10_000;

/** How long the row of an event that was given may lag behind. */
const givenForMs = 1_000;

/** Of what was told under one code before its flow was known, what is given to it. */
const mostGiven = 100;

/** What the service told, before it is known whom. */
type Told = FlowTold | FlowLinkTold;

type FlowCallbacks = {
  handle: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  /** A flow has learnt its code: what was told under it before is given to it. */
  claim: (flow: FlowState, requestCode: string, now: EpochMs) => Promise<void>;
  /** A flow had taken a code by mistake: what was told under it is nobody's again. */
  giveUp: (flow: FlowState, requestCode: string, now: EpochMs) => Promise<void>;
  /** An event looks for its flow. */
  deliver: (event: FlowState, now: EpochMs) => Promise<void>;
};

export function createFlowCallbacks({
  flows,
  log,
  outbox,
  clock,
  vault,
  pricing,
}: {
  flows: FlowStore;
  log: Pick<EventLog, 'readKey'>;
  outbox: Outbox;
  clock: Clock;
  vault: Pick<Vault, 'open' | 'pseudonym'>;
  pricing: PricingSettings;
}): FlowCallbacks {
  let laterLooks = 0;
  /** Which flow was given a note last, by what the note is found under; the oldest go first. */
  const recent = new Map<string, string>();
  /** Events that are being given to their flows, each with its flow. */
  const giving = new Set<string>();

  async function handle(batch: LogBatch<CallbackRecord>): Promise<void> {
    const { partition, first, next } = batch;
    await freezeThoseOf(batch);
    const told = batch.entries.flatMap(({ record }) => toldBy(record) ?? []);
    if (told.length > 0) await hand(told, lookLater);
    await flows.apply({ partition: callbackPartition(partition), first, next, rows: [] });
  }

  /** To the flows that wait for them. Events that no flow waits for are kept; `later` gets answers to link queries. */
  async function hand(told: readonly Told[], later: (left: readonly Told[]) => void): Promise<void> {
    const found = await flows.findByCode(told.flatMap(codesIn));
    const left: Told[] = [];
    const given: NewEntry[] = [];
    for (const record of told) {
      const flowId = codesIn(record)
        .map((code) => found.get(code))
        .find((each) => each !== undefined);
      if (flowId !== undefined)
        given.push(
          entryOf(record.kind === 'told' ? await withHolder(record, flowId) : await ofItsLink(record, flowId)),
        );
      else if (record.kind === 'link-told' || record.of === 'link-query') left.push(record);
      else given.push(entryOf(record));
    }
    if (given.length > 0) await outbox.keep(given);
    if (left.length > 0) later(left);
  }

  /** A detail of another link than the flow asked about is told to it without the link: its margin is not that of the flow's. */
  async function ofItsLink(told: FlowLinkTold, flowId: string): Promise<FlowLinkTold> {
    const given = { ...told, flowId };
    if (told.linkKey === null) return given;
    const state = (await flows.read([flowId])).get(flowId);
    if (state === undefined || state.subject.linkKey === told.linkKey || state.flow === 'lookup') return given;
    return isOfAskedLink(state, told) ? given : { ...given, linkKey: null };
  }

  function isOfAskedLink({ flowId, sealed }: FlowState, told: FlowLinkTold): boolean {
    try {
      const order = JSON.parse(vault.open(sealedPlaces.flowOrder(flowId), sealed!)) as { link: LinkAsk | null };
      const body = vault.open(sealedPlaces.callback(told.workerKey), told.sealed);
      return order.link !== null && isDetailOf(body, order.link.identity);
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return false;
    }
  }

  /** With the other flow that has had its note, the one that still has it first. */
  async function withHolder(told: FlowTold, flowId: string): Promise<FlowTold> {
    const { note } = told;
    if (note === null) return { ...told, flowId, holder: null, ...withBodyKey(told) };
    const holders = await holdersOf(flows, flowId, note);
    const codes = noteCodes(note);
    const just = codes.map((code) => recent.get(code)).find((each) => each !== undefined && each !== flowId);
    const other = (holders.find((state) => stillHolds(state, note)) ?? holders[0])?.flowId ?? just ?? null;
    const holder = other ?? ((await hasReplaced(flowId, note)) ? flowId : null);
    for (const code of codes) {
      recent.delete(code);
      recent.set(code, flowId);
    }
    for (const oldest of recent.keys()) {
      if (recent.size <= mostRecent) break;
      recent.delete(oldest);
    }
    return { ...told, flowId, holder, ...(await reckonedFrom(told, note, flowId)) };
  }

  /** The flow gave this note up: told as its new one, the service may mean the old contract. */
  async function hasReplaced(flowId: string, { noteNumber }: CreditNote): Promise<boolean> {
    const state = (await flows.read([flowId])).get(flowId);
    return state?.note == null && state?.earlierNotes?.includes(noteNumber) === true;
  }

  /** Sealed twice the same body reads otherwise, so the fold compares a pseudonym of it. */
  function withBodyKey({ of, requestCode, sealed, unread }: FlowTold): Pick<FlowTold, 'bodyKey'> {
    if (of !== 'operation' && !unread) return {};
    try {
      const body = vault.open(sealedPlaces.callback(requestCode), sealed);
      return { bodyKey: vault.pseudonym(`event:${requestCode}\n${body}`) };
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return {};
    }
  }

  /** What is owed, or lent for an instalment, nobody knew before the note came, so it is reckoned here; the fold knows no settings. */
  async function reckonedFrom(
    { of, at }: FlowTold,
    note: CreditNote,
    flowId: string,
  ): Promise<Pick<FlowTold, 'reckoned'>> {
    const state = (await flows.read([flowId])).get(flowId);
    if (state === undefined || state.flow !== of || state.terms === null) return {};
    const generatedAt = state.generatedAt ?? state.operation?.intent?.at ?? at;
    if (of === 'contract') {
      const reckoned = expectedOfInstallment(state.terms, note, generatedAt, pricing);
      return reckoned === null ? {} : { reckoned };
    }
    const mostDebtCents = await debtAtMost(state);
    return { reckoned: expectedRenegotiation(state.terms, note, generatedAt, pricing, mostDebtCents) };
  }

  /** Of a contract that was made elsewhere only the service knows. */
  async function debtAtMost({ flowId, sealed, subject }: FlowState): Promise<AmountCents | null> {
    const index = noteIndex(subject.closedContract ?? '');
    const originalId = (await flows.findByCode([index])).get(index);
    const original = originalId === undefined ? undefined : (await flows.read([originalId])).get(originalId);
    if (original === undefined || original.note?.noteNumber !== subject.closedContract || sealed === null) return null;
    try {
      const order = JSON.parse(vault.open(sealedPlaces.flowOrder(flowId), sealed)) as RenegotiationOrder;
      return mostDebtOf(original, order.original.openInstallments);
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return null;
    }
  }

  /**
   * Most link queries are the bidding desk's. One of a flow may be answered before its acknowledgement is folded; should it be
   * missed all the same, the flow asks again, with an alarm.
   */
  function lookLater(left: readonly Told[]): void {
    const records = left.slice(0, maxLaterLooks - laterLooks);
    if (records.length === 0) return;
    laterLooks += records.length;
    clock.after(lookAgainMs, () => {
      laterLooks -= records.length;
      void hand(records, () => {}).catch(() => {});
    });
  }

  /** An event that cannot be read stands under its request code: the flow that has it does not know how it goes on. */
  async function freezeThoseOf({ entries }: LogBatch<CallbackRecord>): Promise<void> {
    for (const { key, record } of entries) {
      if (record.kind !== 'unreadable') continue;
      const flowId = (await flows.findByCode([key])).get(key);
      if (flowId === undefined) continue;
      const { problem } = record;
      const at = clock.now();
      await outbox.keep([{ topic: 'flows', key: flowId, record: { kind: 'frozen', flowId, at, problem } }]);
    }
  }

  async function claim(flow: FlowState, requestCode: string, now: EpochMs): Promise<void> {
    const eventId = `${eventPrefix}${requestCode}`;
    const event = (await flows.read([eventId])).get(eventId);
    if ((event?.phase === 'unclaimed' || event?.phase === 'closed') && event.told !== null)
      await give(event, flow.flowId, now);
  }

  async function giveUp(
    { flowId: owner, requestCode: own }: FlowState,
    requestCode: string,
    at: EpochMs,
  ): Promise<void> {
    if (own !== null && isSameCode(own, requestCode)) return;
    const flowId = `${eventPrefix}${requestCode}`;
    const event = (await flows.read([flowId])).get(flowId);
    if (event?.phase !== 'claimed' || event.owner !== owner) return;
    const note = event.told?.note ?? null;
    for (const code of note === null ? [] : noteCodes(note)) if (recent.get(code) === owner) recent.delete(code);
    const record = { kind: 'claimed-by', flowId, at, owner, givenUp: true } as const;
    await outbox.keep([{ topic: 'flows', key: flowId, record }]);
  }

  async function deliver(event: FlowState, now: EpochMs): Promise<void> {
    const codes = codesIn(event.told!);
    const found = await flows.findByCode(codes);
    const flowId = codes.map((code) => found.get(code)).find((each) => each !== undefined);
    if (flowId !== undefined) await give(event, flowId, now);
  }

  /** The flow and its event look at the same time: it is given once. */
  async function give(event: FlowState, flowId: string, at: EpochMs): Promise<void> {
    const pair = `${event.flowId} ${flowId}`;
    if (giving.has(pair)) return;
    giving.add(pair);
    try {
      await giveAll(event, flowId, at);
    } finally {
      // Until its row says so too.
      clock.after(givenForMs, () => giving.delete(pair));
    }
  }

  /** All that was told under its code, in order: as if the flow had been there. */
  async function giveAll(event: FlowState, flowId: string, at: EpochMs): Promise<void> {
    const entries = foldedInto(event, await log.readKey('flows', event.flowId, event.places));
    const given: NewEntry[] = [];
    for (const record of toldOnce(entries.map((entry) => entry.record)))
      given.push(entryOf(await withHolder({ ...record, at }, flowId)));
    await outbox.keep([
      ...given,
      { topic: 'flows', key: event.flowId, record: { kind: 'claimed-by', flowId: event.flowId, at, owner: flowId } },
    ]);
  }

  return { handle, claim, giveUp, deliver };
}

/** What says nothing new is left out; of very many the first ones count. */
function toldOnce(records: readonly FlowRecord[]): readonly FlowTold[] {
  const seen = new Map<string, FlowTold>();
  for (const record of records) {
    if (record.kind !== 'told') continue;
    const { of, note, errors, denies, shows, saysDone } = record;
    const said = JSON.stringify([of, note, errors, denies, shows, saysDone]);
    if (!seen.has(said) && seen.size < mostGiven) seen.set(said, record);
  }
  return [...seen.values()];
}

function entryOf(record: Told): NewEntry {
  return { topic: 'flows', key: record.flowId, record };
}

/** The request code first; the proposal that a note names may be known where the code is not. */
function codesIn(told: Told): readonly string[] {
  if (told.kind === 'link-told') {
    return told.requestCode === null ? [lookupIndex(told.workerKey)] : spellingsOf(told.requestCode);
  }
  const { requestCode, note } = told;
  const proposal = note?.proposalCode ?? null;
  const codes = spellingsOf(requestCode);
  return proposal === null ? codes : [...codes, ...spellingsOf(proposal).map(proposalIndex)];
}

/** The answer to a query of links, or that it failed. Nothing is recorded of one that no flow waits for. */
export function isLinkAnswer(record: CallbackRecord): boolean {
  if (record.kind === 'link-detail' || record.kind === 'link-list') return true;
  if (record.kind !== 'operation-event') return false;
  return record.endpoint === linkDetailPath || record.endpoint === linkListPath;
}

/** Null: not about a flow. */
function toldBy(record: CallbackRecord): Told | null {
  if (record.kind === 'link-detail' || record.kind === 'link-list') {
    const { at, requestCode, sealed } = record;
    const { workerKey, linkKey } = record.kind === 'link-detail' ? record.detail : { ...record, linkKey: null };
    return { kind: 'link-told', flowId: '', at, requestCode, workerKey, linkKey, sealed };
  }
  if (record.kind === 'credit-note') {
    const { at, requestCode, of, note, errors, sealed, unread } = record;
    const told = { at, requestCode, of, note, errors, sealed, ...(unread ? { unread } : {}) };
    return { kind: 'told', flowId: `${eventPrefix}${requestCode}`, ...told };
  }
  if (record.kind !== 'operation-event') return null;
  const { at, requestCode, errors, denies, shows, saysDone, unread, sealed } = record;
  const flowId = `${eventPrefix}${requestCode}`;
  const isLinkQuery = isLinkAnswer(record);
  const of = isLinkQuery ? ('link-query' as const) : ('operation' as const);
  const told = { at, requestCode, of, note: null, errors, sealed };
  const said = isLinkQuery ? {} : denies ? { denies } : { settles: true as const };
  const marks = {
    ...(isLinkQuery ? {} : { endorses: true as const, keepsDone: true as const }),
    ...said,
    ...(saysDone ? { saysDone } : {}),
    ...(shows === undefined ? {} : { shows }),
    ...(unread ? { unread } : {}),
  };
  return { kind: 'told', flowId, ...told, ...marks };
}
