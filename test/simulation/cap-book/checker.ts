/**
 * Judges a history of the cap book by what was sent and what the log says, with arithmetic of its own: it adds up lists, and uses
 * nothing of the program's.
 */
import type { Evidence, PlayedRecord, PlayedRequest } from './world.ts';

export type Violation = { kind: 'over-cap' | 'book-differs' | 'not-opened' | 'stuck'; text: string };

export function checkHistory(evidence: Evidence): readonly Violation[] {
  return [...overCaps(evidence), ...atRest(evidence)];
}

/** When the log says that what was sent for a request binds no more: its auction was lost, or all is over. */
function releaseOf(records: readonly PlayedRecord[], request: PlayedRequest): number {
  const over = records.find(
    (each) => each.request.id === request.id && (each.kind === 'expired' || (each.kind === 'ended' && !each.isWon)),
  );
  return over?.landedAt ?? Number.POSITIVE_INFINITY;
}

/** At each bid that reached the service, all that bind then are added up under each limit of its claim. */
function overCaps({ sends, log }: Evidence): Violation[] {
  const first: { request: PlayedRequest; at: number; until: number }[] = [];
  for (const { request, at } of sends) {
    if (first.every((each) => each.request.id !== request.id)) {
      first.push({ request, at, until: releaseOf(log[request.partition]!, request) });
    }
  }
  const found: Violation[] = [];
  for (const sent of first) {
    const binding = first.filter(({ at, until }) => at <= sent.at && until > sent.at);
    for (const { keys, limitAmountCents, limitCount } of sent.request.caps) {
      const under = binding.filter(({ request }) => request.caps.some((cap) => cap.keys[0] === keys[0]));
      const cents = under.reduce((sum, { request }) => sum + request.amountCents, 0);
      if (cents > (limitAmountCents ?? cents) || under.length > (limitCount ?? under.length)) {
        const ids = under.map(({ request }) => request.id).join(', ');
        found.push({ kind: 'over-cap', text: `${keys[0]}: ${cents} cents by ${ids} at ${sent.at}` });
      }
    }
  }
  return found;
}

/** When all is quiet again the book is open and holds what the log says is promised, no more and no less, and no claim waits. */
function atRest({ log, book }: Evidence): Violation[] {
  if (book.book === null || !book.book.isOpen) return [{ kind: 'not-opened', text: JSON.stringify(book.book) }];
  const promised = new Map<string, { cents: number; count: number }>();
  const found: Violation[] = [];
  for (const records of log) {
    const open = new Map<PlayedRequest, 'claimed' | 'passed' | 'sent'>();
    const over = new Set<PlayedRequest>();
    for (const { kind, request, isWon } of records) {
      const known = open.get(request);
      if (over.has(request)) continue;
      if (kind === 'expired' || (kind === 'ended' && !(isWon && known !== undefined))) {
        open.delete(request);
        over.add(request);
      } else if (known === undefined) {
        if (kind === 'claimed') open.set(request, 'claimed');
      } else if (kind === 'answered' || kind === 'ended') open.set(request, 'sent');
      else if (kind === 'passed' && known === 'claimed') open.set(request, 'passed');
    }
    for (const [request, stands] of open) {
      if (stands === 'claimed') found.push({ kind: 'stuck', text: `${request.id} is claimed and nothing else` });
      if (stands === 'passed') continue;
      for (const key of new Set(request.caps.map(({ keys }) => keys[0]!))) {
        const { cents, count } = promised.get(key) ?? { cents: 0, count: 0 };
        promised.set(key, { cents: cents + request.amountCents, count: count + 1 });
      }
    }
  }
  for (const key of new Set([...promised.keys(), ...book.sums.keys()])) {
    const due = promised.get(key) ?? { cents: 0, count: 0 };
    const has = book.sums.get(key) ?? { amountCents: 0, count: 0 };
    if (due.cents !== has.amountCents || due.count !== has.count) {
      found.push({ kind: 'book-differs', text: `${key}: ${JSON.stringify(has)} instead of ${JSON.stringify(due)}` });
    }
  }
  return found;
}
