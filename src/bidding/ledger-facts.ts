/**
 * Facts that the ledger gives to rules: what is promised to a worker, to an employer's workers, by the whole desk today, and
 * how often the desk wins. Each claim is counted under standing keys beside its caps, in the same views and the same fold,
 * so these sums are as durable as the caps.
 */
import { dayKey, dayKeys, eveCapsOf, isEveCap, nothingUsed, usageUnder } from '../domain/cap-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CapReservation, Usage } from '../domain/offer.ts';
import type { LoanRequest } from '../domain/request.ts';
import type { RequestState } from '../domain/states.ts';
import type { LedgerFact } from '../rules/facts.ts';
import { employerKeyOf } from '../rules/facts-of.ts';
import { absent, keyPart } from '../rules/keys.ts';
import type { Views } from './ports.ts';

/** Statistics key of our own results; its first two cells are `wonCell` and `lostCell`. */
export const resultsKey = 'standing:results';
export const wonCell = 0;
const lostCell = 1;
/** Fewer results than this say nothing. */
const leastResults = 20;

function workerKeyOf(request: LoanRequest): string | null {
  return request.workerKey === null ? null : `standing:worker|${request.workerKey}`;
}

function employerStandingKey(request: LoanRequest): string | null {
  const key = employerKeyOf(request);
  return key === undefined ? null : `standing:employer|${key}`;
}

const deskKeyStart = 'standing:desk';

function deskKeys(at: EpochMs): readonly string[] {
  return dayKeys(deskKeyStart, at);
}

/**
 * Keys that a claim is counted under, without any limit. `request` null: a claim that came before its request. `caps`: its own, by which
 * earlier versions are told, whose claims count on no eve.
 */
export function standingKeys(
  request: LoanRequest | null,
  { at, caps }: { at: EpochMs; caps: readonly CapReservation[] },
): CapReservation[] {
  const desk = standing(dayKey(deskKeyStart, at));
  const counted = [desk];
  if (caps.some(isEveCap)) counted.push(...eveCapsOf([desk], at));
  if (request === null) return counted;
  for (const key of [workerKeyOf(request), employerStandingKey(request)]) if (key !== null) counted.push(standing(key));
  return counted;
}

function standing(key: string): CapReservation {
  return { keys: [key], limitAmountCents: null, limitCount: null };
}

/** Every claim that cannot be read counts under this key, for the caps that it stands under are in it alone. */
export const unreadKey = 'standing:unread';

/** `?`: nobody knows whose it is. */
function unreadOf(worker: string): string {
  return `${unreadKey}|worker.key=${worker}`;
}

/** Keys that a claim is counted under while nobody can read it. */
export function unreadKeys(request: LoanRequest | null): CapReservation[] {
  return [unreadKey, unreadOf(keyPart(request?.workerKey ?? undefined))].map(standing);
}

/** The keys under which stands what may belong under this cap too. A cap of one worker is spared the claims of other workers. */
export function unreadKeysFor({ keys }: CapReservation): readonly string[] {
  const worker = /\|worker\.key=([^|]*)/.exec(keys[0] ?? '')?.[1] ?? absent;
  return worker === absent ? [unreadKey] : [unreadOf(worker), unreadOf(absent)];
}

/** What is used under the caps, and what nobody can read may be under them. */
export async function readUsage(
  views: Pick<Views, 'usage'>,
  caps: readonly CapReservation[],
  now: number,
): Promise<ReadonlyMap<string, Usage>> {
  const keys = new Set([unreadKey]);
  for (const cap of caps) for (const key of cap.keys) keys.add(key);
  const usage = await views.usage([...keys], now);
  if ((usage.get(unreadKey)?.count ?? 0) === 0) return usage;
  const unread = await views.usage([...new Set(caps.flatMap(unreadKeysFor))], now);
  return new Map([...usage, ...unread]);
}

/** The cell that a settled auction of ours counts in; null while it is open, or when there was no bid of ours. */
export function resultOf(state: RequestState): number | null {
  switch (state.phase) {
    case 'won':
    case 'contemplated':
    case 'proposed':
    case 'winner-failed':
      return wonCell;
    case 'lost':
      return lostCell;
    default:
      return null;
  }
}

function factsFor(
  request: LoanRequest,
  at: EpochMs,
  usage: ReadonlyMap<string, Usage>,
): Partial<Record<LedgerFact, number>> {
  const desk = usageUnder({ keys: deskKeys(at) }, (key) => usage.get(key));
  const facts: Partial<Record<LedgerFact, number>> = {
    'desk.volumeTodayReais': desk.amountCents / 100,
    'desk.bidsToday': desk.count,
  };
  const [worker, employer] = [workerKeyOf(request), employerStandingKey(request)];
  if (worker !== null) {
    const promised = usage.get(worker) ?? nothingUsed;
    facts['worker.openBids'] = promised.count;
    facts['worker.exposureReais'] = promised.amountCents / 100;
  }
  if (employer !== null) facts['employer.exposureReais'] = (usage.get(employer) ?? nothingUsed).amountCents / 100;
  return facts;
}

async function winRate(views: Pick<Views, 'statistics'>): Promise<number | null> {
  const results = (await views.statistics([resultsKey])).get(resultsKey);
  if (results === undefined || results.count < leastResults) return null;
  const [won, lost] = [results.cells[wonCell]!, results.cells[lostCell]!];
  return won + lost > 0 ? won / (won + lost) : null;
}

/**
 * The facts that rules look at (`wanted`), for each state in order; undefined where no rule looks at any. Requests decided
 * in one batch do not see each other: what must hold to the cent is a cap.
 */
export async function readLedgerFacts(
  views: Pick<Views, 'usage' | 'statistics'>,
  wanted: readonly LedgerFact[],
  states: readonly RequestState[],
  at: EpochMs,
): Promise<readonly (Readonly<Record<string, number>> | undefined)[]> {
  if (wanted.length === 0) return states.map(() => undefined);
  const requests = states.map((state) => state.request!);
  const keys = new Set(deskKeys(at));
  for (const request of requests) {
    for (const key of [workerKeyOf(request), employerStandingKey(request)]) if (key !== null) keys.add(key);
  }
  const usage = await views.usage([...keys], at);
  const rate = wanted.includes('desk.winRate') ? await winRate(views) : null;
  return requests.map((request) => {
    const known = factsFor(request, at, usage);
    if (rate !== null) known['desk.winRate'] = rate;
    return Object.fromEntries(wanted.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]])));
  });
}
