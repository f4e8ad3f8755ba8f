/**
 * From the bytes of a webhook to the entries of the log, in one pure step: what the door makes durable before it answers.
 * Each request becomes a record of its own; what cannot be used becomes a dead letter while its siblings go on.
 */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { AuctionRecord, CallbackRecord, FoldTerms, Topic, Topics } from '../domain/records.ts';
import type { LinkDetail, WorkerIdentity } from '../domain/request.ts';
import { type SealedRequest, splitRequest } from '../domain/sealed-facts.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { type Decoded, describeFaults, fieldOf, type WireFault } from './casing.ts';
import { decodeCreditNote, decodeOperationEvent, requestCodeOf } from './credit-notes.ts';
import { endorsementTold, saidBesideErrors } from './endorsement-words.ts';
import {
  decodeContemplated,
  decodeEndOfAuction,
  decodeProposed,
  type EndOfAuction,
  type EventKind,
  recogniseEvent,
} from './events.ts';
import { linkKeyOf, otherLinkKeyOf, workerKeyOf } from './identity.ts';
import { isJsonObject, type JsonLimits, type JsonValue, membersIn, parseJson } from './json.ts';
import { linkDetailPath, linkListPath } from './link-queries.ts';
import {
  decodeLinkDetail,
  decodeLinkList,
  faultsInDetail,
  type LinkDetailMessage,
  type LinkList,
  type LinkRow,
} from './links.ts';
import type { RequestMapping } from './mapping-table.ts';
import { shownBatch, shownEmployer, shownError } from './plain-ids.ts';
import { onlyElements } from './request-elements.ts';
import { mapRequests, readExposed } from './request-mapping.ts';
import { errorsOf, type ServiceError } from './service-errors.ts';

/** What the log takes: one entry, its topic and its key; `text` is the record as JSON, where it is written out already. */
export type WebhookEntry = { [T in Topic]: { topic: T; key: string; record: Topics[T]; text?: string } }[Topic];

export type WebhookDeps = {
  mapping: RequestMapping;
  vault: Vault;
  /** When the body came in; deadlines count from here. */
  receivedAt: EpochMs;
  /** When the records are written. */
  now: EpochMs;
  /** Written into the records; absent where nothing is stored. */
  terms?: Pick<FoldTerms, 'windowMs' | 'halfLifeMs'>;
  limits?: JsonLimits;
};

export type WebhookReading =
  | {
      kind: 'entries';
      event: EventKind | 'requests';
      entries: readonly WebhookEntry[];
      /** Elements that became dead letters. */
      deadLetters: number;
      /** Facts that are null because they could not be read, or that were taken otherwise than they came; pointers and kinds only. */
      faults: readonly WireFault[];
    }
  | { kind: 'malformed'; text: string }
  /** `failed`: reading it failed; that is a defect of ours, or it took all memory. */
  | { kind: 'dead-letter'; reason: string; letter: WebhookEntry; failed?: true };

/** Characters that the entries of a webhook may hold together: so many for each byte of it, and some for each text sealed. */
const charactersPerByte = 16;
const charactersPerSealed = 8_192;

class TooMuchWritten extends Error {}

type LimitedDeps = WebhookDeps & {
  /** Counts characters that an entry holds in clear, where they grow with the body. */
  spend: (characters: number) => void;
};

/** Whatever a mistake of ours, or a shape that nobody thought of, would repeat: no webhook is written out many times. */
function limited(deps: WebhookDeps, bodyBytes: number): LimitedDeps {
  const { vault } = deps;
  let left = charactersPerByte * bodyBytes;
  const spend = (characters: number): void => {
    left -= characters;
    if (left < 0) throw new TooMuchWritten();
  };
  const seal: Vault['seal'] = (place, text) => {
    const sealed = vault.seal(place, text);
    spend(sealed.length - charactersPerSealed);
    return sealed;
  };
  return { ...deps, vault: { ...vault, seal }, spend };
}

export function readWebhook(body: Buffer | string, deps: WebhookDeps): WebhookReading {
  const parsed = parseJson(body, deps.limits);
  if (parsed.kind === 'malformed') {
    if (!parsed.wide) return parsed;
    return { kind: 'dead-letter', reason: parsed.text, letter: deadLetter(parsed.text, null, body.toString(), deps) };
  }
  try {
    if (membersIn(parsed.value) !== parsed.members) {
      const reason =
        'an object in it says a key twice, and which of the values is meant nobody knows; send each key once';
      const letter = { kind: 'dead-letter', reason, letter: deadLetter(reason, null, body.toString(), deps) } as const;
      const value = unwrapped(parsed.value);
      const event = recogniseEvent(value);
      return event === 'link-list' || event === 'link-detail'
        ? orAnswerUnread(event, value, deps, () => letter)
        : letter;
    }
    return readValue(parsed.value, limited(deps, Buffer.byteLength(body)));
  } catch (error) {
    if (error instanceof TooMuchWritten) {
      const reason = 'what is around its elements is too long to be kept with each of them; send fewer at once';
      return { kind: 'dead-letter', reason, letter: deadLetter(reason, null, body.toString(), deps) };
    }
    // A mistake of ours must not cost the sender's message, nor the process: it is kept, and read again when mended.
    return keepUnread(body, error instanceof Error ? error.name : 'unknown', deps);
  }
}

/** What becomes of a body that reading fails over: it is kept as it came. `code` says how it failed. */
export function keepUnread(body: Buffer | string, code: string, deps: Omit<WebhookDeps, 'mapping'>): WebhookReading {
  const reason = `reading it failed (${code}); report this as a defect of Lance`;
  return { kind: 'dead-letter', reason, letter: deadLetter(reason, null, body.toString(), deps), failed: true };
}

/** Events come as they are, in a list, or inside of an object of somebody's own; a list may hold new requests as well. */
function readValue(value: JsonValue, deps: LimitedDeps): WebhookReading {
  const inner = unwrapped(value);
  if (!Array.isArray(inner)) return readOne(inner, deps);
  const events: JsonValue[] = [];
  const others: JsonValue[] = [];
  for (const element of inner) {
    const event = unwrapped(element);
    if (recogniseEvent(event) === null) others.push(element);
    else events.push(event);
  }
  if (events.length === 0) return readOne(inner, deps);
  const readings = events.map((event) => readOne(event, deps));
  if (others.length > 0) readings.push(readOne(others, deps));
  return together(readings);
}

const deepestWrapper = 3;

/** The one event, or list of them, that stands in an object which is none itself; anything else as it is. */
function unwrapped(value: JsonValue, depth = 0): JsonValue {
  if (!isJsonObject(value) || depth >= deepestWrapper || recogniseEvent(value) !== null) return value;
  const found: JsonValue[] = [];
  for (const inner of Object.values(value)) {
    const candidate = isJsonObject(inner) ? unwrapped(inner, depth + 1) : inner;
    const holdsEvents = Array.isArray(candidate)
      ? candidate.some((element) => recogniseEvent(element) !== null)
      : recogniseEvent(candidate) !== null;
    if (holdsEvents) found.push(candidate);
  }
  return found.length === 1 ? found[0]! : value;
}

function together(readings: readonly WebhookReading[]): WebhookReading {
  const entries: WebhookEntry[] = [];
  const faults: WireFault[] = [];
  let deadLetters = 0;
  let event: EventKind | 'requests' | null = null;
  for (const reading of readings) {
    if (reading.kind === 'malformed') continue;
    if (reading.kind === 'dead-letter') {
      entries.push(reading.letter);
      deadLetters += 1;
      continue;
    }
    entries.push(...reading.entries);
    faults.push(...reading.faults);
    deadLetters += reading.deadLetters;
    event ??= reading.event;
  }
  return { kind: 'entries', event: event ?? 'requests', entries, deadLetters, faults };
}

function readOne(value: JsonValue, deps: LimitedDeps): WebhookReading {
  const event = recogniseEvent(value);
  const failed = event === 'link-list' || event === 'link-detail' ? failedQuery(value, event, deps) : null;
  if (failed !== null) return failed;
  switch (event) {
    case 'end-of-auction':
      return orDeadLetter(decodeEndOfAuction(value), value, deps, (end) => endedEntries(end, value, deps));
    case 'link-list':
      return orAnswerUnread(event, value, deps, () =>
        orDeadLetter(decodeLinkList(value), value, deps, (list) => linkListEntries(list, value, deps)),
      );
    case 'link-detail':
      return orAnswerUnread(event, value, deps, () =>
        orDeadLetter(decodeLinkDetail(value), value, deps, (link) => linkDetailEntries(link, value, deps)),
      );
    case 'contemplated':
      return orDeadLetter(decodeContemplated(value), value, deps, (won) =>
        callbackEntries(event, won.requestCode, {
          kind: 'contemplated',
          at: deps.now,
          requestCode: won.requestCode,
          message: null,
          errors: won.errors.map(shownError),
          sealed: sealedCallback(won.requestCode, value, deps),
        }),
      );
    case 'proposed':
      return orDeadLetter(decodeProposed(value), value, deps, (proposal) =>
        callbackEntries(event, proposal.requestCode, {
          kind: 'proposed',
          at: deps.now,
          requestCode: proposal.requestCode,
          proposalCode: proposal.proposalCode,
          proposalNumber: proposal.proposalNumber,
          validUntil: proposal.validUntil,
          message: null,
          errors: proposal.errors.map(shownError),
          sealed: sealedCallback(proposal.requestCode, value, deps),
        }),
      );
    case 'contract':
    case 'renegotiation':
      return orUnread(decodeCreditNote(value, event), event, value, deps, ({ requestCode, of, note, errors }) =>
        callbackEntries(event, requestCode, {
          kind: 'credit-note',
          at: deps.now,
          requestCode,
          of,
          note,
          errors: errors.map(errorLine),
          sealed: sealedCallback(requestCode, value, deps),
        }),
      );
    case 'operation':
      return orDeadLetter(decodeOperationEvent(value), value, deps, ({ requestCode, endpoint, errors }) =>
        callbackEntries(event, requestCode, {
          kind: 'operation-event',
          at: deps.now,
          requestCode,
          endpoint,
          errors: errors.map(errorLine),
          ...saidOfEndorsement(value, errors),
          sealed: sealedCallback(requestCode, value, deps),
        }),
      );
    case null:
      return requestEntries(value, deps);
    default:
      return event satisfies never;
  }
}

function saidOfEndorsement(value: JsonValue, errors: readonly ServiceError[]) {
  if (errors.length > 0) return saidBesideErrors(value) === null ? {} : { saysDone: true as const };
  const told = endorsementTold(value);
  return told === 'denied' ? { denies: true as const } : { shows: told };
}

function orDeadLetter<T>(
  decoded: Decoded<T>,
  value: JsonValue,
  deps: WebhookDeps,
  toEntries: (value: T) => WebhookReading,
): WebhookReading {
  if (decoded.kind === 'decoded') return toEntries(decoded.value);
  return wholeDeadLetter(describeFaults(decoded.faults), decoded.faults[0]?.pointer ?? null, value, deps);
}

/** The flow that has its code has to know that it came: it is told to it beside the letter. */
function orUnread<T>(
  decoded: Decoded<T>,
  of: 'contract' | 'renegotiation',
  value: JsonValue,
  deps: WebhookDeps,
  toEntries: (value: T) => WebhookReading,
): WebhookReading {
  const reading = orDeadLetter(decoded, value, deps, toEntries);
  const requestCode = requestCodeOf(value);
  if (reading.kind !== 'dead-letter' || decoded.kind === 'decoded' || requestCode === null) return reading;
  const sealed = sealedCallback(requestCode, value, deps);
  const told = callbackEntries(of, requestCode, {
    ...{ kind: 'credit-note', at: deps.now, requestCode, of, note: null, unread: true, errors: [], sealed },
  });
  return { ...told, entries: [reading.letter, ...told.entries], deadLetters: 1, faults: decoded.faults };
}

/** A query of links that waits for this answer has to learn that it came and cannot be read. */
function orAnswerUnread(
  of: 'link-list' | 'link-detail',
  value: JsonValue,
  deps: WebhookDeps,
  read: () => WebhookReading,
): WebhookReading {
  const reading = read();
  const requestCode = requestCodeOf(value);
  if (reading.kind === 'malformed' || requestCode === null) return reading;
  const entries = reading.kind === 'dead-letter' ? [reading.letter] : reading.entries;
  if (entries.some(({ topic }) => topic !== 'dead-letters')) return reading;
  const sealed = sealedCallback(requestCode, value, deps);
  const endpoint = of === 'link-list' ? linkListPath : linkDetailPath;
  const told = callbackEntries(of, requestCode, {
    ...{ kind: 'operation-event', at: deps.now, requestCode, endpoint, errors: [], unread: true, sealed },
  });
  const faults = reading.kind === 'entries' ? reading.faults : [];
  return { ...told, entries: [...entries, ...told.entries], deadLetters: entries.length, faults };
}

function wholeDeadLetter(reason: string, pointer: string | null, value: JsonValue, deps: WebhookDeps): WebhookReading {
  return { kind: 'dead-letter', reason, letter: deadLetter(reason, pointer, JSON.stringify(value), deps) };
}

/** Keyed by a pseudonym of what it holds, so that the same letter twice is seen to be the same. */
function deadLetter(
  reason: string,
  pointer: string | null,
  payload: string,
  deps: Omit<WebhookDeps, 'mapping'>,
): WebhookEntry {
  const { vault, now, receivedAt } = deps;
  const key = vault.pseudonym(payload);
  return {
    topic: 'dead-letters',
    key,
    record: { at: now, receivedAt, reason, pointer, sealedPayload: vault.seal(sealedPlaces.letter(key), payload) },
  };
}

function auctionEntry(record: AuctionRecord): WebhookEntry {
  return { topic: 'auctions', key: record.requestId, record };
}

// --- New requests ---------------------------------------------------------------------------------------------------

/** Characters of an alert's code in a list, at most. */
const longestCode = 16;

function requestEntries(value: JsonValue, deps: LimitedDeps): WebhookReading {
  const { vault, now, receivedAt } = deps;
  const mapped = mapRequests(value, deps.mapping, { receivedAt, vault });
  if (mapped.kind === 'not-understood') return wholeDeadLetter(mapped.reason, mapped.pointer, value, deps);
  const entries: WebhookEntry[] = [];
  const faults: WireFault[] = [];
  const unusable = mapped.items.filter((item) => item.kind === 'unusable');
  const together = () => onlyElements(value, deps.mapping, new Set(unusable.map(({ element }) => element.pointer)));
  const apart = keptApart(
    unusable.map(({ element }) => element.own),
    together,
  );
  const readable = new Set(mapped.items.flatMap((item) => (item.kind === 'request' ? [item.request.requestId] : [])));
  for (const item of mapped.items) {
    faults.push(...item.faults);
    if (item.kind === 'request') {
      const raw = item.raw();
      const { requestId } = item.request;
      const { clear, facts } = splitRequest(item.request);
      deps.spend((clear.alertCodes?.length ?? 0) * longestCode);
      const sealed = vault.seal(
        sealedPlaces.request(requestId),
        sealedContent({ identity: item.identity, ...(facts && { facts }) }, raw),
      );
      const rawHash = vault.pseudonym(raw);
      const window = clear.closesAt === null && deps.terms ? { windowMs: deps.terms.windowMs } : {};
      entries.push(auctionEntry({ kind: 'requested', requestId, at: now, request: clear, ...window, sealed, rawHash }));
      continue;
    }
    if (apart) entries.push(letterOf([item], item.element.alone(), deps));
    if (item.requestId !== null && !readable.has(item.requestId))
      entries.push(unusableEntry(item.requestId, describeFaults(item.faults), now));
  }
  if (unusable.length > 0 && !apart) entries.push(letterOf(unusable, together(), deps));
  return { kind: 'entries', event: 'requests', entries, deadLetters: unusable.length, faults };
}

/** What the `sealed` of a requested record holds, written by hand because the raw element is JSON already. */
function sealedContent(content: SealedRequest, raw: string): string {
  return `${JSON.stringify(content).slice(0, -1)},"raw":${raw}}`;
}

/** A request that cannot be used still ends, explained, unless a copy of it can be read. */
function unusableEntry(requestId: RequestId, reason: string, at: EpochMs): WebhookEntry {
  const code = 'request-unusable';
  return auctionEntry({
    kind: 'passed',
    requestId,
    at,
    code,
    claimId: null,
    unread: true,
    reasons: [{ code, rule: null, text: reason }],
    trace: null,
  });
}

// --- Results and callbacks ------------------------------------------------------------------------------------------

function endedEntries(end: EndOfAuction, value: JsonValue, deps: WebhookDeps): WebhookReading {
  const { startedAt, endedAt } = end;
  const batchId = shownBatch(deps.vault, end.batchId);
  const halfLife = deps.terms ? { halfLifeMs: deps.terms.halfLifeMs } : {};
  const entries = end.requests.map(({ requestId, bids }) =>
    auctionEntry({ kind: 'ended', requestId, at: deps.now, batchId, startedAt, endedAt, bids, ...halfLife }),
  );
  entries.push(...unreadableLetters(end.unreadable, 'solicitacoes', value, deps));
  const faults = [...end.faults, ...end.unreadable.flatMap((element) => element.faults)];
  return { kind: 'entries', event: 'end-of-auction', entries, deadLetters: end.unreadable.length, faults };
}

type Unreadable = { faults: readonly WireFault[]; element: JsonValue };

/** `payload` is the body with these elements alone, so that the letter can be read again on its own. */
function letterOf(
  unusable: readonly { faults: readonly WireFault[] }[],
  payload: JsonValue,
  deps: WebhookDeps,
): WebhookEntry {
  const faults = unusable.flatMap((element) => element.faults);
  return deadLetter(describeFaults(faults), faults[0]?.pointer ?? null, JSON.stringify(payload), deps);
}

/** Characters of what is around elements that may be kept several times, so that each has a letter of its own. */
const maxRepeated = 262_144;

/**
 * Whether each element that cannot be used gets a letter of its own, with what is around it. Where that is long there is one
 * letter for all of them. `together` gives the body with them alone.
 */
function keptApart(elements: readonly JsonValue[], together: () => JsonValue): boolean {
  if (elements.length <= 1) return true;
  const own = elements.reduce<number>((sum, element) => sum + JSON.stringify(element).length, 0);
  const around = JSON.stringify(together()).length - own;
  return around * (elements.length - 1) <= maxRepeated;
}

function unreadableLetters(
  unreadable: readonly Unreadable[],
  list: string,
  value: JsonValue,
  deps: WebhookDeps,
): WebhookEntry[] {
  const elements = unreadable.map(({ element }) => element);
  const together = () => replaceList(value, list, elements);
  if (!keptApart(elements, together)) return [letterOf(unreadable, together(), deps)];
  return unreadable.map((each) => letterOf([each], replaceList(value, list, [each.element]), deps));
}

/** The same body with other elements in a list of its payload. */
function replaceList(value: JsonValue, list: string, elements: JsonValue[]): JsonValue {
  return replaceField(value, 'payload', (payload) => replaceField(payload, list, () => elements));
}

function replaceField(value: JsonValue, lowerName: string, change: (inner: JsonValue) => JsonValue): JsonValue {
  const entries = Object.entries<JsonValue>(value as Record<string, JsonValue>);
  return Object.fromEntries(
    entries.map(([key, inner]) => [key, key.toLowerCase() === lowerName ? change(inner) : inner]),
  );
}

function callbackEntries(
  event: EventKind,
  key: string,
  record: CallbackRecord,
): Extract<WebhookReading, { kind: 'entries' }> {
  return { kind: 'entries', event, entries: [{ topic: 'callbacks', key, record }], deadLetters: 0, faults: [] };
}

/** The whole body, under the key of its record. */
function sealedCallback(key: string, value: JsonValue, { vault }: WebhookDeps): string {
  return vault.seal(sealedPlaces.callback(key), JSON.stringify(value));
}

/** Its code alone; what the service wrote is in the sealed body. */
function errorLine({ code }: ServiceError): string {
  return shownError(code ?? '');
}

function linkDetailEntries(link: LinkDetailMessage, value: JsonValue, deps: WebhookDeps): WebhookReading {
  const { vault, now, receivedAt, mapping } = deps;
  const workerKey = workerKeyOf(vault, link.cpf);
  const exposed = readExposed(link.politicallyExposed?.code, mapping);
  const faults = [...faultsInDetail(value)];
  if (exposed.kind === 'wrong') {
    const pointer = '/Payload/pessoaExpostaPoliticamente/codigo';
    faults.push({ pointer, problem: exposed.problem, unread: 'politicallyExposed' });
  }
  const unread = faults.flatMap((fault) => fault.unread ?? []);
  const contradicted = faults.flatMap((fault) => fault.contradicted ?? []);
  const detail: LinkDetail = {
    linkKey: linkKeyOf(vault, link.cpf, link.registration, link.employerIdType, link.employerId),
    workerKey,
    receivedAt,
    eligible: contradicted.includes('eligible') ? null : link.eligible,
    ineligibilityCode: link.ineligibility?.code ?? null,
    availableMarginCents: link.availableMarginCents,
    marginBaseCents: link.marginBaseCents,
    totalEarningsCents: link.totalEarningsCents,
    admissionDate: link.admissionDate,
    terminationDate: link.terminationDate,
    birthDate: link.birthDate,
    workerCategoryCode: link.workerCategoryCode,
    politicallyExposed: exposed.kind === 'value' ? exposed.value : null,
    occupationCode: link.occupation?.code ?? null,
    activityCode: link.activity?.code ?? null,
    employerStartDate: link.employerStartDate,
    activeLoans: link.activeLoans,
    alertCount: link.alerts?.length ?? null,
    ...(unread.length === 0 ? {} : { unread }),
    ...(contradicted.length === 0 ? {} : { contradicted }),
  };
  const sealed = sealedCallback(workerKey, value, deps);
  const otherLinkKey = otherLinkKeyOf(vault, link.cpf, link.registration, link);
  const other = otherLinkKey === null ? {} : { otherLinkKey };
  const record = { kind: 'link-detail', at: now, requestCode: link.requestCode, detail, ...other, sealed } as const;
  return {
    ...callbackEntries('link-detail', workerKey, record),
    faults: faults.map(({ unread: _, contradicted: _denied, ...fault }) => fault),
  };
}

const noLinks = 'no-links';

/** A link query that failed, or a list without links: only the code of the query says what it is about. Null: it brought what was asked. */
function failedQuery(value: JsonValue, event: 'link-list' | 'link-detail', deps: WebhookDeps): WebhookReading | null {
  const lines = errorsOf(value).map(errorLine);
  const errors = lines.length === 0 && event === 'link-list' && isEmptyList(value) ? [noLinks] : lines;
  if (errors.length === 0) return null;
  const decoded = decodeOperationEvent(value);
  if (decoded.kind === 'refused') {
    const reason =
      'the query brought nothing, and without its code nobody knows which query it was; send CodigoRequisicao';
    return wholeDeadLetter(reason, '/CodigoRequisicao', value, deps);
  }
  const { requestCode } = decoded.value;
  const endpoint = event === 'link-list' ? linkListPath : linkDetailPath;
  const sealed = sealedCallback(requestCode, value, deps);
  return callbackEntries(event, requestCode, {
    ...{ kind: 'operation-event', at: deps.now, requestCode, endpoint, errors, sealed },
  });
}

function isEmptyList(value: JsonValue): boolean {
  return linksIn(value)?.length === 0;
}

/** The rows of a link list as they came; null: there is no list. */
function linksIn(value: JsonValue): readonly JsonValue[] | null {
  const payload = isJsonObject(value) ? fieldOf(value, 'payload') : undefined;
  const links = isJsonObject(payload) ? fieldOf(payload, 'vinculos') : undefined;
  return Array.isArray(links) ? links : null;
}

function linkListEntries(list: LinkList, value: JsonValue, deps: WebhookDeps): WebhookReading {
  const own = ownElements(list, value);
  const byWorker = Map.groupBy(list.links.keys(), (index) => workerKeyOf(deps.vault, list.links[index]!.cpf));
  const [first = ''] = byWorker.keys();
  const entries = [...byWorker].map(([workerKey, indices]): WebhookEntry => {
    const elements = indices.map((index) => own[index]!);
    // The first worker's record keeps the body with his rows alone; those of the others say under which worker it is.
    const kept =
      workerKey === first ? replaceList(value, 'vinculos', elements) : { originalUnder: first, vinculos: elements };
    return {
      topic: 'callbacks',
      key: workerKey,
      record: {
        kind: 'link-list',
        at: deps.now,
        requestCode: list.requestCode,
        workerKey,
        links: indices.map((index) => toLink(list.links[index]!, workerKey, deps.vault)),
        sealed: sealedCallback(workerKey, kept, deps),
      },
    };
  });
  entries.push(...unreadableLetters(list.unreadable, 'vinculos', value, deps));
  const faults = list.unreadable.flatMap((element) => element.faults);
  return { kind: 'entries', event: 'link-list', entries, deadLetters: list.unreadable.length, faults };
}

/** What each of the rows was read from, in their order. */
function ownElements(list: LinkList, value: JsonValue): readonly JsonValue[] {
  const unreadable = new Set(list.unreadable.map(({ element }) => element));
  return (linksIn(value) ?? []).filter((element) => !unreadable.has(element));
}

function toLink(row: LinkRow, workerKey: string, vault: Vault) {
  const { cpf, registration, employerId, employerIdType } = row;
  const identity: WorkerIdentity = { cpf, name: null, registration, employerId, employerIdType };
  const linkKey = linkKeyOf(vault, cpf, registration, employerIdType, employerId);
  return {
    linkKey,
    eligible: row.isEligibleAndNot ? null : row.eligible,
    employerId: shownEmployer(vault, employerId, employerIdType),
    employerIdType,
    sealedIdentity: vault.seal(sealedPlaces.link(workerKey, linkKey), JSON.stringify(identity)),
  };
}
