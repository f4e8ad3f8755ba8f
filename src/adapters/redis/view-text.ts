/** The views as Redis keeps them: names of keys, and values as text. The Lua beside this says what stands where. */
import { randomBytes } from 'node:crypto';
import { cursorOf, type LedgerRow, type ViewBatch, type ViewChange } from '../../bidding/ports.ts';
import { isLimiting, type Reservation, reservedKeysOf } from '../../domain/cap-book.ts';
import type { RequestId } from '../../domain/glossary.ts';
import type { PartHistogram } from '../../domain/histogram.ts';
import type { CapReservation } from '../../domain/offer.ts';
import type { RequestState } from '../../domain/states.ts';

export type Keys = {
  applied: string;
  flowsApplied: string;
  generations: string;
  taking: (partition: number) => string;
  restoring: (partition: number) => string;
  /** Replaced or unfinished views, `partition:generation`. */
  garbage: string;
  /** Of lua/whole.lua. */
  whole: string;
  /** Of lua/holds.lua. */
  lost: string;
  /** Of one partition's generation: `rows`, `pages` and the others of lua/rows.lua. */
  part: (partition: number, generation: string, name: string) => string;
};

export function keysOf(prefix: string): Keys {
  return {
    applied: `${prefix}applied`,
    flowsApplied: `${prefix}f:applied`,
    generations: `${prefix}generations`,
    taking: (partition) => `${prefix}taking:${partition}`,
    restoring: (partition) => `${prefix}restoring:${partition}`,
    garbage: `${prefix}garbage`,
    whole: `${prefix}whole`,
    lost: `${prefix}lost`,
    part: (partition, generation, name) => `${prefix}v:${partition}:${generation}:${name}`,
  };
}

const ownName = randomBytes(9).toString('base64url');
let names = 0;

/** Never used before on this server, whatever it forgot since. */
export function newName(): string {
  names += 1;
  return `${ownName}${names.toString(36)}`;
}

const cursorTimeLength = 15;

function headerOf(state: RequestState, open: boolean): string {
  return `${state.phase}|${open ? 1 : 0}|${cursorOf(state).slice(0, cursorTimeLength)}`;
}

export function phaseIn(header: string): string {
  return header.slice(0, header.indexOf('|'));
}

export function isOpenHeader(header: string): boolean {
  return header.at(-cursorTimeLength - 2) === '1';
}

/** `cursorOf` the state behind it. */
export function cursorIn(header: string, requestId: RequestId): string {
  return `${header.slice(-cursorTimeLength)}:${requestId}`;
}

const statuses: Readonly<Record<string, Reservation>> = {
  h: 'held',
  c: 'committed',
  l: 'released',
  r: 'refused',
};

export function ledgerRow(state: string, exposure: string): LedgerRow {
  // Whether others folded the claim while something was missing, these views do not say.
  return { state: JSON.parse(state), reservation: statuses[exposure.charAt(0)] ?? 'none', hadRoom: false };
}

const headBytes = 40;

export function readHistogram(bytes: Buffer): PartHistogram {
  const copy = Uint8Array.from(bytes);
  const view = new DataView(copy.buffer);
  return {
    landmarkAt: view.getFloat64(0, true),
    landmarkCount: view.getFloat64(8, true),
    count: view.getFloat64(16, true),
    halfLives: { halfLifeMs: view.getFloat64(24, true), halfLifeResults: view.getFloat64(32, true) },
    cells: new Float64Array(copy.buffer, headBytes),
  };
}

/** As lua/copy.lua writes one: head and number of cells with bars between, then each cell that is not empty. */
export function histogramBytes(text: string): Buffer {
  const [head = '', ...cells] = text.split(' ');
  const numbers = head.split('|').map(readDouble);
  const length = numbers.pop()!;
  const bytes = Buffer.alloc(headBytes + 8 * length);
  for (const [i, number] of numbers.entries()) bytes.writeDoubleLE(number, 8 * i);
  for (const cell of cells) {
    const valueAt = cell.indexOf('=') + 1;
    bytes.writeDoubleLE(readDouble(cell.slice(valueAt)), headBytes + 8 * Number(cell.slice(0, valueAt - 1)));
  }
  return bytes;
}

/** The C library's word for what never fades. */
function readDouble(text: string): number {
  return text === 'inf' ? Number.POSITIVE_INFINITY : Number(text);
}

function encodeLimit({ limitAmountCents, limitCount, keys }: CapReservation): string[] {
  const buckets = [...new Set(keys)];
  return [String(limitAmountCents ?? ''), String(limitCount ?? ''), String(buckets.length), ...buckets];
}

/** Lessons are told apart from the rest: `encodeLessons`. */
function encodeChange(change: ViewChange, args: string[]): void {
  switch (change.kind) {
    case 'state': {
      const { state, open, bidIds } = change;
      const row = `${headerOf(state, open)}\t${JSON.stringify(state)}`;
      args.push('S', state.requestId, row, String(bidIds.length), ...bidIds);
      return;
    }
    case 'reserve': {
      const { requestId, at, amountCents, expiresAt, force, caps } = change;
      const keys = JSON.stringify(reservedKeysOf(caps));
      const limits = force ? [] : caps.filter(isLimiting).flatMap(encodeLimit);
      args.push('R', requestId, String(at), String(amountCents), String(expiresAt), force ? '1' : '0', keys);
      args.push(String(limits.length), ...limits);
      return;
    }
    case 'release':
      args.push('X', change.requestId);
      return;
    case 'commit':
      args.push('C', change.requestId, String(change.expiresAt));
      return;
    case 'learn':
      return;
    default:
      change satisfies never;
  }
}

/** Every bucket of a cap that may refuse one of the reservations. */
function limitingKeys(changes: readonly ViewChange[]): string[] {
  const keys = new Set<string>();
  for (const change of changes) {
    if (change.kind !== 'reserve' || change.force) continue;
    for (const cap of change.caps) if (isLimiting(cap)) for (const key of cap.keys) keys.add(key);
  }
  return [...keys];
}

/** Requests whose reservations the changes touch. */
function promisedIds(changes: readonly ViewChange[]): RequestId[] {
  const ids = new Set<RequestId>();
  for (const change of changes) {
    if (change.kind === 'reserve' || change.kind === 'release' || change.kind === 'commit') ids.add(change.requestId);
  }
  return [...ids];
}

/** What is learnt, as a list of numbers in JSON: see lua/apply.lua. JSON has no word for what is without end. */
function encodeLessons(changes: readonly ViewChange[]): { names: string[]; lessons: string } {
  const places = new Map<string, number>();
  const numbers: number[] = [];
  for (const change of changes) {
    if (change.kind !== 'learn') continue;
    const { additions, at, halfLives, keys } = change;
    numbers.push(at, halfLives.halfLifeMs, halfLives.halfLifeResults, additions.length, keys.length);
    for (const addition of additions) numbers.push(...addition);
    for (const key of keys) {
      const place = places.get(key) ?? places.size + 1;
      places.set(key, place);
      numbers.push(place);
    }
  }
  return { names: [...places.keys()], lessons: `[${numbers.join(',').replaceAll('Infinity', '1e999')}]` };
}

/** Arguments of the fold, after the prefix. */
export function encodeBatch(batch: ViewBatch): string[] {
  const { names, lessons } = encodeLessons(batch.changes);
  const args: string[] = [String(batch.partition), String(batch.first), String(batch.next), newName()];
  for (const list of [limitingKeys(batch.changes), promisedIds(batch.changes), names]) {
    args.push(String(list.length), ...list);
  }
  args.push(lessons);
  for (const change of batch.changes) encodeChange(change, args);
  return args;
}
