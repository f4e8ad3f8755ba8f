/** Caps that have no room: what a process tells of one in words, and what the store says of requests that ended by one. */
import { fullCapOf } from '../bidding/decide.ts';
import { type CapEnd, capEndOf, capOfKey } from '../bidding/lately.ts';
import type { EventLog, Views } from '../bidding/ports.ts';
import { fullCap, operatorKeyStart } from '../domain/cap-book.ts';
import type { Passed } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import type { Format } from './format.ts';

type FullCaps = NonNullable<DaemonStatus['caps']>;
type ToldCap = FullCaps['cap'];
type Reader = { log: Pick<EventLog, 'readKey'>; views: Pick<Views, 'query'> };

/** Passed requests that are looked through for the last one that a cap ended. */
const lookedThrough = 200;
/** Requests whose record is read for caps that their reason does not name. */
const tracedPasses = 100;
/** Characters of the name of a cap that are shown. */
const longestName = 60;

/** With what to do about it. */
export function fullCapsText(format: Pick<Format, 'texts' | 'money'>, { cap, ended, of }: FullCaps): string {
  const { status } = format.texts;
  const { name, byHand, windowHours = null } = cap;
  const shown = { name: name.slice(0, longestName), byHand, windowHours };
  return `${status.capsFull({ ...shown, ...useOf(format, cap) }, ended, of)}; ${status.capRemedy(shown)}`;
}

/** What is used and allowed, in money or in bids; null: it was not told. */
export function useOf(
  { money }: Pick<Format, 'money'>,
  { usedCents, limitCents, usedCount, limitCount }: ToldCap,
): { used: string | null; limit: string | null } {
  if (usedCents !== null && limitCents !== null) return { used: money(usedCents), limit: money(limitCents) };
  const isCounted = usedCount !== null && limitCount !== null;
  return { used: isCounted ? String(usedCount) : null, limit: isCounted ? String(limitCount) : null };
}

export type CapRemedyFacts = { name: string; byHand: boolean; windowHours: number | null };

/** A process tells what is used under a cap only to those with a token; whoever has its store may read it there. */
export async function withUse(reader: Reader, caps: FullCaps): Promise<FullCaps> {
  const { cap } = caps;
  if (cap.usedCents !== null) return caps;
  const found = await lastEnd(reader, cap);
  return found === null ? caps : { ...caps, cap: found };
}

/** What was used when the last request ended by this cap; null: none of the latest did. */
export async function lastEnd({ log, views }: Reader, cap: Pick<CapEnd, 'name' | 'byHand'>): Promise<CapEnd | null> {
  for (const { state } of await views.query({ phase: 'passed', limit: lookedThrough, before: null })) {
    const key = state.pass?.code === 'cap' ? fullCapOf(state.pass.reasons) : null;
    if (key === null) continue;
    const { name, byHand } = capOfKey(key);
    if (name !== cap.name || byHand !== cap.byHand) continue;
    const passed = await lastPass(log, state);
    return passed === undefined ? null : capEndOf(passed);
  }
  return null;
}

async function lastPass(
  log: Reader['log'],
  { requestId, places }: Pick<RequestState, 'requestId' | 'places'>,
): Promise<Passed | undefined> {
  const records = await log.readKey('auctions', requestId, places);
  return records.map(({ record }) => record).findLast((record) => record.kind === 'passed');
}

/** Of caps by hand those without room for each request. The reason names the first one alone; what was used under the others stands in the trace. */
export async function capsThatEnded(
  log: Reader['log'],
  states: readonly RequestState[],
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const ended = new Map<string, readonly string[]>();
  for (const [index, state] of states.entries()) {
    const { requestId, pass, request } = state;
    const named = fullCapOf(pass!.reasons);
    const others = names.filter((name) => named?.startsWith(operatorKeyStart(name)) !== true);
    const full = names.filter((name) => !others.includes(name));
    ended.set(requestId, full);
    if (others.length === 0 || index >= tracedPasses) continue;
    const trace = (await lastPass(log, state))?.trace;
    const more = { amountCents: request?.requestedAmountCents ?? 0, count: 1 };
    for (const name of others) {
      const cap = trace?.caps.find(({ keys }) => keys[0]?.startsWith(operatorKeyStart(name)));
      if (cap !== undefined && fullCap([cap], more, (key) => trace!.usage[key]) !== null) full.push(name);
    }
  }
  return ended;
}
