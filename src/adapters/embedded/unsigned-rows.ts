/**
 * What stands behind the heads that a desk has signed last. Nothing but the command line writes there, beside the store: what neither
 * it nor a desk has written was put there by somebody else, however well its links fit, for they need no key.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type AuditKey, type ChainHead, type ChainHeads, isOfAcceptance } from '../../domain/audit.ts';
import type { FlowRecord } from '../../domain/flow-records.ts';
import type { RuleBookEntry } from '../../domain/kept-book.ts';
import type { AuctionRecord, ForgedEntry } from '../../domain/records.ts';
import { firstLink, houseBook, rowsBehind } from './chain.ts';
import { type EncodedEntries, logTables } from './log-rows.ts';
import { signedAppends } from './signed-commits.ts';

/**
 * `commit`: the heads are those of the desk's last transaction, and commands sign what they add. `stop`: those of the orderly stop of an
 * earlier version, whose commands signed nothing.
 */
export type RowWriter = { signed: 'commit' | 'stop'; heads: ChainHeads; key: AuditKey | null };

/** What commands of earlier versions wrote as well: orders, what was shown, webhooks that were read again, and acceptances. */
const auctionsOfDesk: ReadonlySet<unknown> = new Set<AuctionRecord['kind']>([
  'claimed',
  'answered',
  'review-asked',
  'review-answered',
  'source-asked',
  'source-answered',
]);
const flowsOfDesk: ReadonlySet<unknown> = new Set<FlowRecord['kind']>(['intended', 'withheld', 'answered', 'proposed']);
/** Orders that name who gave them. */
const ordersOfRules: ReadonlySet<unknown> = new Set<RuleBookEntry['kind']>([
  'approved',
  'activated',
  'approval-lift',
  'cap-raise',
  'personal-read',
  'economics-used',
  'economics-proposed',
  'economics-approved',
]);
/** Orders of the command line that need no key: they end what nothing else ends. Everything else that it appends, it signs. */
const keyless: ReadonlySet<unknown> = new Set<(AuctionRecord | FlowRecord)['kind']>(['resolved', 'unfrozen']);

type Said = {
  kind?: unknown;
  via?: unknown;
  replayedBy?: { via?: unknown };
  dismissedBy?: { via?: unknown };
  revision?: unknown;
  changes?: string;
};
type Tables = Readonly<Record<string, (said: Said) => boolean>>;

const isOfApi = (said: Said): boolean => [said.via, said.replayedBy?.via, said.dismissedBy?.via].includes('api');
const isAcceptance = (said: Said): boolean => isOfAcceptance(said as AuctionRecord);
const isKeyless = (said: Said): boolean => keyless.has(said.kind) && said.via === 'offline';

/** Of an order by the command line it is said that it is `offline`. */
const books: Tables = {
  rule_book: (said) => isOfApi(said) || (ordersOfRules.has(said.kind) && said.via !== 'offline'),
  token_book: ({ via }) => via !== 'offline',
  control_changes: ({ revision, changes = '[]' }) =>
    (JSON.parse(changes) as Said[]).some((change) => change.revision === revision && isOfApi(change)),
};

/** By the table, what nobody has written who did not sign. */
const foreign: Readonly<Record<RowWriter['signed'], Tables>> = {
  stop: {
    auctions: (said) => isOfApi(said) || (auctionsOfDesk.has(said.kind) && !isAcceptance(said)),
    flows: (said) => isOfApi(said) || flowsOfDesk.has(said.kind),
    dead_letters: isOfApi,
    ...books,
  },
  commit: {
    auctions: (said) => !isKeyless(said),
    flows: (said) => !isKeyless(said),
    callbacks: () => true,
    dead_letters: () => true,
    inputs: () => true,
    ...books,
  },
};

/** That a move is taken back: the command that does it begins and stops like a desk. */
const takenBack = 'null';

function isForeign(table: string, text: string, signed: RowWriter['signed']): boolean {
  if (table === houseBook) return text === takenBack;
  try {
    return foreign[signed][table]!(JSON.parse(text) as Said);
  } catch {
    // What cannot be read freezes what its key names. Commands of every version write JSON.
    return signed === 'commit';
  }
}

/** Whether the next start would refuse some of them that nobody has signed. */
export function needsSignature({ topics, values }: Pick<EncodedEntries, 'topics' | 'values'>): boolean {
  return values.some((text, index) => isForeign(logTables[topics[index]!]!, text, 'commit'));
}

/** The rows of a table that nobody has signed and that need a signature. */
function* unsignedIn(
  database: DatabaseSync,
  table: string,
  { signed, heads, key }: RowWriter,
): Generator<{ place: number; text: string }> {
  const appends = signed === 'commit' ? signedAppends(database, key, table) : [];
  const isAt = ([count, link]: ChainHead, [ownCount, own]: ChainHead) => count === ownCount && link === own;
  let last: ChainHead = heads[table] ?? [0, firstLink(table)];
  let append: (typeof appends)[number] | undefined;
  let met: { place: number; text: string }[] = [];
  for (const { place, text, head } of rowsBehind(database, table, last)) {
    append ??= appends.find(({ from }) => isAt(from, last));
    if (isForeign(table, text, signed)) met.push({ place, text });
    last = head;
    if (append === undefined || head[0] >= append.to[0]) {
      // With its last link all rows of it are what was signed.
      if (append === undefined || !isAt(append.to, head)) yield* met;
      met = [];
      append = undefined;
    }
  }
  yield* met;
}

/** The first row behind the heads that needs a signature and has none; null: there is none. */
export function unsignedRow(database: DatabaseSync, writer: RowWriter): { table: string; place: number } | null {
  for (const table of [...Object.keys(foreign[writer.signed]), houseBook]) {
    for (const { place } of unsignedIn(database, table, writer)) return { table, place };
  }
  return null;
}

/** The requests and claims behind the heads that nobody has signed. */
export function unsignedEntries(database: DatabaseSync, writer: RowWriter): ForgedEntry[] {
  return [...unsignedIn(database, 'auctions', writer)].flatMap(({ text }): ForgedEntry[] => {
    const record = recordIn(text);
    switch (record?.kind) {
      case 'claimed':
        return [{ requestId: record.requestId, claimId: record.claimId }];
      case 'requested':
        return [{ requestId: record.requestId, claimId: null }];
      default:
        return [];
    }
  });
}

/** Null: it cannot be read. */
function recordIn(text: string): AuctionRecord | null {
  try {
    return JSON.parse(text) as AuctionRecord | null;
  } catch {
    return null;
  }
}
