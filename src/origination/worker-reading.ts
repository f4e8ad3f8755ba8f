/**
 * Who stands behind a won bid, and what the service answered about a worker, for those who may know it. The reading is recorded before anything is shown. What the service said
 * of the person is read from the sealed bodies of its callbacks, whole as they came.
 */

import type { EventLog, NewEntry, Views } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { AuctionRecord, CallbackRecord } from '../domain/records.ts';
import type { WorkerIdentity } from '../domain/request.ts';
import type { Identity } from '../domain/roles.ts';
import type { SealedRequest } from '../domain/sealed-facts.ts';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { decodeProposed } from '../wire/events.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type JsonValue, parseJson } from '../wire/json.ts';
import { decodeLinkDetail, type LinkDetailMessage } from '../wire/links.ts';
import { wholePayments } from './shown-payments.ts';

/** One employment link as a detail of it says. Days are YYYY-MM-DD, amounts cents. */
export type LinkFacts = { receivedAt: EpochMs } & Omit<LinkDetailMessage, 'requestCode' | 'cpf'>;

/** Ids of the inclusion of the proposal at the data processor: decimal digits, or as they came. */
type ProposalIds = { responseId: string | null; operationHash: string | null; payloadHash: string | null };

export type WorkerShown = WorkerIdentity & { links: readonly LinkFacts[]; proposal: ProposalIds | null };

export type WorkerReading =
  | { kind: 'shown'; worker: WorkerShown }
  | { kind: 'unknown' }
  | { kind: 'not-won'; phase: RequestState['phase'] }
  /** The log keeps the request no longer. */
  | { kind: 'forgotten' };

type ReadingWorld = {
  log: Pick<EventLog, 'readKey' | 'detailPlaces'>;
  views: Pick<Views, 'read'>;
  append: (entries: readonly NewEntry[]) => Promise<void>;
  vault: Vault;
  clock: Clock;
};

export async function readWorker(
  { log, views, append, vault, clock }: ReadingWorld,
  { requestId, who, reason }: { requestId: RequestId; who: Identity; reason: string },
): Promise<WorkerReading> {
  const state = (await views.read([requestId])).get(requestId)?.state;
  if (state === undefined) return { kind: 'unknown' };
  if (!isWon(state)) return { kind: 'not-won', phase: state.phase };
  const records = (await log.readKey('auctions', requestId, state.places)).map(({ record }) => record);
  const requested = records.find((record) => record.kind === 'requested');
  if (requested === undefined) return { kind: 'forgotten' };
  const record = { kind: 'worker-read', requestId, at: clock.now(), ...who, reason: withoutCpf(reason) } as const;
  await append([{ topic: 'auctions', key: requestId, record }]);
  const { identity } = JSON.parse(vault.open(sealedPlaces.request(requestId), requested.sealed)) as SealedRequest;
  const { workerKey } = requested.request;
  const callbacks =
    workerKey === null ? [] : await log.readKey('callbacks', workerKey, await log.detailPlaces?.(workerKey));
  const links = linksIn(
    callbacks.map((entry) => entry.record),
    vault.open,
  );
  return { kind: 'shown', worker: { ...identity, links, proposal: proposalIn(records, vault.open) } };
}

export type ResultShown = { at: EpochMs; refused: boolean; answer: JsonValue };

/** Not of an operation: where the money of the flow goes, whole. */
export const paymentsResult = 'payments';

/** What the service answered to an operation of a flow, or to a lookup (`links`). Null: there is no such answer. */
export async function readResult(
  { append, vault, clock }: Pick<ReadingWorld, 'append' | 'vault' | 'clock'>,
  state: FlowState,
  { what, who, reason }: { what: string; who: Identity; reason: string | null },
): Promise<ResultShown | null> {
  const { flowId, results } = state;
  if (what === paymentsResult) {
    const payments = wholePayments(state, vault.open);
    const last = payments.at(-1);
    if (last === undefined) return null;
    await noteReading({ append, vault, clock }, flowId, { what, who, reason });
    return {
      at: last.at ?? state.startedAt,
      refused: false,
      answer: JSON.parse(JSON.stringify(payments)) as JsonValue,
    };
  }
  const kept = Object.entries(results).find(([name]) => name === what)?.[1];
  if (!kept?.sealedAnswer) return null;
  await noteReading({ append, vault, clock }, flowId, { what, who, reason });
  const text = vault.open(kept.place ?? sealedPlaces.flowAnswer(flowId), kept.sealedAnswer);
  const read = parseJson(text);
  return { at: kept.at, refused: kept.refused ?? false, answer: read.kind === 'parsed' ? read.value : text };
}

/** Who reads what is sealed of a flow, and why. Before it is shown: what cannot be recorded is not read. */
export async function noteReading(
  { append, vault, clock }: Pick<ReadingWorld, 'append' | 'vault' | 'clock'>,
  flowId: string,
  { what, who, reason }: { what: string; who: Identity; reason: string | null },
): Promise<void> {
  const sealedReason =
    reason === null ? null : vault.seal(sealedPlaces.flowReason(flowId), JSON.stringify(withoutCpf(reason)));
  const record = { kind: 'shown', flowId, at: clock.now(), ...who, what, sealedReason } as const;
  await append([{ topic: 'flows', key: flowId, record }]);
}

function isWon({ phase, winner }: RequestState): boolean {
  return winner !== null || phase === 'won' || phase === 'contemplated';
}

/** The latest detail of each link. */
function linksIn(records: readonly CallbackRecord[], open: Vault['open']): readonly LinkFacts[] {
  const latest = new Map<string, LinkFacts>();
  for (const record of records) {
    if (record.kind !== 'link-detail') continue;
    const { linkKey, workerKey, receivedAt } = record.detail;
    const body = openOrNull(open, sealedPlaces.callback(workerKey), record.sealed);
    const read = body === null ? null : parseJson(body);
    const facts = read?.kind === 'parsed' ? linkFactsIn(read.value, receivedAt) : null;
    if (facts !== null && receivedAt >= (latest.get(linkKey)?.receivedAt ?? 0)) latest.set(linkKey, facts);
  }
  return [...latest.values()];
}

/** Of the body of a link-detail callback; null where it does not read as one. */
export function linkFactsIn(body: JsonValue, receivedAt: EpochMs): LinkFacts | null {
  const decoded = decodeLinkDetail(body);
  if (decoded.kind === 'refused') return null;
  const { requestCode: _code, cpf: _cpf, ...facts } = decoded.value;
  return { receivedAt, ...facts };
}

function proposalIn(records: readonly AuctionRecord[], open: Vault['open']): ProposalIds | null {
  const told = records.findLast((record) => record.kind === 'proposed');
  if (told?.sealed === undefined) return null;
  const body = openOrNull(open, sealedPlaces.callback(told.requestCode), told.sealed);
  const parsed = body === null ? null : parseJson(body);
  const decoded = parsed?.kind === 'parsed' ? decodeProposed(parsed.value) : null;
  if (decoded?.kind !== 'decoded') return null;
  const { responseId, operationHash, payloadHash } = decoded.value;
  return { responseId, operationHash, payloadHash };
}

/** Null: it was sealed with another key. */
function openOrNull(open: Vault['open'], ...sealed: Parameters<Vault['open']>): string | null {
  try {
    return open(...sealed);
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return null;
    throw fault;
  }
}
