/**
 * One request with its margin, its published bids and the time of its receipt, as one line of JSON: what `audit export` writes and
 * `rules impact` reads. `request` is the element as the service sent it and `lances` is written as at the end of an auction, so
 * that a file can be made elsewhere too. Everything beside the four is optional and makes a replay exact.
 */
import type { EpochMs } from '../domain/glossary.ts';
import type { AcceptanceShift, PublishedBid, Review, SnoozedRule, SourceLook } from '../domain/offer.ts';
import { areSourceLooks, isReview } from '../domain/record-shapes.ts';
import type { LinkDetail, LoanRequest } from '../domain/request.ts';
import { withExtraKeys } from '../domain/sealed-facts.ts';
import { decodePublishedBids, encodePublishedBids } from './events.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf, parseJson } from './json.ts';
import type { RequestMapping } from './mapping-table.ts';
import { type MappingContext, mapRequests } from './request-mapping.ts';
import { readAmount, readInstant } from './values.ts';

export type AuditLine = {
  request: LoanRequest;
  /** The detail of the employment link that the decision saw. */
  link: LinkDetail | null;
  /** The link was asked for and did not come, or the desk was not allowed to ask. Absent: nobody asked. */
  linkAskedInVain?: true;
  /** Null: the end of the auction is not known. */
  bids: readonly PublishedBid[] | null;
  /** Which of the bids was ours. */
  ownBidId: string | null;
  startedAt: EpochMs | null;
  endedAt: EpochMs | null;
  /** When the desk heard of the end; null: not told. */
  knownAt: EpochMs | null;
  decidedAt: EpochMs | null;
  control: { paused: boolean; caps: Readonly<Record<string, number>>; snoozed?: readonly SnoozedRule[] };
  acceptance: AcceptanceShift | null;
  /** What external sources had said of it; absent: nothing. */
  sources?: readonly SourceLook[];
  /** What a person was asked, with the answer; absent: nothing. */
  review?: Review;
};

export type AuditLineReading = { kind: 'line'; line: AuditLine } | { kind: 'refused'; text: string };

/** `rawRequest`: JSON text of the element; `marginCents`: as it was used, told by request or link. */
export function encodeAuditLine(line: AuditLine, rawRequest: JsonValue, marginCents: number | null): string {
  const { request, link, linkAskedInVain, bids, ownBidId, control, acceptance, sources, review } = line;
  const { receivedAt, batchId, closesAt, expiresAt } = request;
  const { startedAt, endedAt, knownAt, decidedAt } = line;
  return JSON.stringify({
    request: rawRequest,
    margin: link ?? (marginCents === null ? null : marginCents / 100),
    ...(linkAskedInVain === true ? { linkAskedInVain } : {}),
    lances: bids === null ? null : encodePublishedBids(bids),
    receivedAt,
    batchId,
    closesAt,
    expiresAt,
    decidedAt,
    auction: { startedAt, endedAt, knownAt, ownBidId },
    control,
    acceptance,
    ...(sources === undefined ? {} : { sources }),
    ...(review === undefined ? {} : { review }),
  });
}

function refused(field: string, problem: string): AuditLineReading {
  return { kind: 'refused', text: `"${field}" ${problem}` };
}

/** Epoch milliseconds, or a date and time; null where there is nothing. */
function instantOf(value: JsonValue | undefined): EpochMs | null | 'wrong' {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : 'wrong';
  const reading = readInstant(value);
  if (reading.kind === 'wrong') return 'wrong';
  return reading.kind === 'value' ? reading.value : null;
}

const instantRemedy = 'write milliseconds since 1970 or a date and time';

type Instants = Record<string, EpochMs | null>;

function instantsOf(object: JsonObject, names: readonly string[]): { read: Instants; wrong: string | null } {
  const read: Instants = {};
  for (const name of names) {
    const at = instantOf(object[name]);
    if (at === 'wrong') return { read, wrong: name };
    read[name] = at;
  }
  return { read, wrong: null };
}

function objectOf(value: JsonValue | undefined): JsonObject | null {
  return isJsonObject(value) ? (value as JsonObject) : null;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function controlOf(value: JsonValue | undefined): AuditLine['control'] | null {
  if (value === undefined || value === null) return { paused: false, caps: {} };
  const object = objectOf(value);
  if (object === null) return null;
  const { paused = false } = object;
  const caps = objectOf(object.caps ?? {});
  if (typeof paused !== 'boolean' || caps === null || !Object.values(caps).every(isNumber)) return null;
  const known = { paused, caps: caps as Record<string, number> };
  const { snoozed } = object;
  if (snoozed === undefined) return known;
  return Array.isArray(snoozed) && snoozed.every(isSnoozed) ? { ...known, snoozed } : null;
}

function isSnoozed(value: unknown): value is SnoozedRule {
  const { rule, digest } = (value ?? {}) as { rule?: unknown; digest?: unknown };
  return typeof rule === 'string' && typeof digest === 'string';
}

function acceptanceOf(value: JsonValue | undefined): AcceptanceShift | null | 'wrong' {
  if (value === undefined || value === null) return null;
  const { midpointShiftPercent, ceilingFactor } = objectOf(value) ?? {};
  return isNumber(midpointShiftPercent) && isNumber(ceilingFactor) ? { midpointShiftPercent, ceilingFactor } : 'wrong';
}

/** Reais, the link's detail as exported, or nothing. */
function withMargin(
  request: LoanRequest,
  value: JsonValue | undefined,
): { request: LoanRequest; link: LinkDetail | null } | null {
  if (value === undefined || value === null) return { request, link: null };
  const detail = objectOf(value);
  if (detail !== null) {
    const { linkKey, workerKey, receivedAt, availableMarginCents } = detail;
    const isDetail = typeof linkKey === 'string' && typeof workerKey === 'string' && isNumber(receivedAt);
    if (!isDetail || (availableMarginCents !== null && !isNumber(availableMarginCents))) return null;
    return { request, link: detail as unknown as LinkDetail };
  }
  const reading = readAmount(value);
  if (reading.kind !== 'value') return null;
  return { request: { ...request, availableMarginCents: reading.value }, link: null };
}

type Deps = { mapping: RequestMapping; vault: MappingContext['vault'] };

function requestOf(value: JsonValue, receivedAt: EpochMs, { mapping, vault }: Deps): LoanRequest | string {
  const mapped = mapRequests(value, mapping, { receivedAt, vault });
  if (mapped.kind === 'not-understood') return mapped.reason;
  const [item] = mapped.items;
  if (item === undefined || mapped.items.length !== 1) return `holds ${mapped.items.length} requests; write one a line`;
  if (item.kind === 'request') return withExtraKeys(item.request, vault);
  return item.faults.map(({ pointer, problem }) => `${pointer} ${problem}`).join('; ');
}

/** Reads one line. `text` of a refused one names field, kind and remedy, and quotes nothing. */
export function readAuditLine(text: string, deps: Deps): AuditLineReading {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return { kind: 'refused', text: parsed.text };
  const value = objectOf(parsed.value);
  if (value === null) return { kind: 'refused', text: `this is ${kindOf(parsed.value)}; write an object` };
  if (value.request === undefined) return refused('request', 'is missing; write the request as it was received');
  const { read, wrong } = instantsOf(value, ['receivedAt', 'closesAt', 'expiresAt', 'decidedAt']);
  if (wrong !== null) return refused(wrong, `is ${kindOf(value[wrong])} that is no time; ${instantRemedy}`);
  const receivedAt = read.receivedAt ?? null;
  if (receivedAt === null) return refused('receivedAt', `is missing; ${instantRemedy}`);
  const mapped = requestOf(value.request, receivedAt, deps);
  if (typeof mapped === 'string') return refused('request', mapped);
  const known = withMargin(mapped, value.margin);
  if (known === null) return refused('margin', `is ${kindOf(value.margin)}; write reais, the link's detail or null`);
  const bids = value.lances === undefined || value.lances === null ? null : decodePublishedBids(value.lances);
  if (bids?.kind === 'refused') return refused('lances', bids.text);
  const control = controlOf(value.control);
  if (control === null)
    return refused('control', 'has another shape; write {"paused": false, "caps": {"name": cents}}');
  const acceptance = acceptanceOf(value.acceptance);
  if (acceptance === 'wrong') return refused('acceptance', 'has another shape; leave it out');
  const { sources, review } = value as { sources?: unknown; review?: unknown };
  if (sources !== undefined && !areSourceLooks(sources))
    return refused('sources', 'has another shape; write it as lance audit export does, or leave it out');
  if (review !== undefined && !isReview(review))
    return refused('review', 'has another shape; write it as lance audit export does, or leave it out');
  const auction = objectOf(value.auction) ?? {};
  const times = instantsOf(auction, ['startedAt', 'endedAt', 'knownAt']);
  if (times.wrong !== null) return refused(`auction.${times.wrong}`, `is no time; ${instantRemedy}`);
  const { request, link } = known;
  return {
    kind: 'line',
    line: {
      request: {
        ...request,
        // The wrapper that these came with is not in the line.
        batchId: request.batchId ?? (typeof value.batchId === 'string' ? value.batchId : null),
        closesAt: request.closesAt ?? read.closesAt ?? null,
        expiresAt: request.expiresAt ?? read.expiresAt ?? null,
      },
      link,
      ...(value.linkAskedInVain === true && link === null ? { linkAskedInVain: true } : {}),
      bids: bids === null ? null : bids.bids,
      ownBidId: typeof auction.ownBidId === 'string' ? auction.ownBidId : null,
      startedAt: times.read.startedAt ?? null,
      endedAt: times.read.endedAt ?? null,
      knownAt: times.read.knownAt ?? null,
      decidedAt: read.decidedAt ?? null,
      control,
      acceptance,
      ...(sources === undefined ? {} : { sources }),
      ...(review === undefined ? {} : { review }),
    },
  };
}
