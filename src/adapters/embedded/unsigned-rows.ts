/**
 * What stands behind the heads that a desk signed as it stopped. Nothing but the command line writes there, beside the store: what
 * only a running desk says was put there by somebody else, however well its links fit, for they need no key.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type ChainHeads, isOfAcceptance } from '../../domain/audit.ts';
import type { FlowRecord } from '../../domain/flow-records.ts';
import type { RuleBookEntry } from '../../domain/kept-book.ts';
import type { AuctionRecord, Claimed, ForgedClaim } from '../../domain/records.ts';
import { houseBook, rowsBehind } from './chain.ts';

/** Orders, what was shown, and webhooks that are read again come from the command line as well. */
const auctionsOfDesk: ReadonlySet<unknown> = new Set<AuctionRecord['kind']>(['claimed', 'answered']);
const flowsOfDesk: ReadonlySet<unknown> = new Set<FlowRecord['kind']>(['intended', 'withheld', 'answered', 'proposed']);
/** Orders that name who gave them. */
const ordersOfRules: ReadonlySet<unknown> = new Set<RuleBookEntry['kind']>([
  'approved',
  'activated',
  'approval-lift',
  'cap-raise',
]);

type Said = { kind?: unknown; via?: unknown; replayedBy?: { via?: unknown }; revision?: unknown; changes?: string };

const isOfApi = (said: Said): boolean => said.via === 'api' || said.replayedBy?.via === 'api';

/** By the table. Of an order by the command line it is said that it is `offline`. */
const isOfRunningDesk: Readonly<Record<string, (said: Said) => boolean>> = {
  auctions: (said) => isOfApi(said) || (auctionsOfDesk.has(said.kind) && !isOfAcceptance(said as AuctionRecord)),
  flows: (said) => isOfApi(said) || flowsOfDesk.has(said.kind),
  dead_letters: isOfApi,
  rule_book: (said) => isOfApi(said) || (ordersOfRules.has(said.kind) && said.via !== 'offline'),
  token_book: ({ via }) => via !== 'offline',
  control_changes: ({ revision, changes = '[]' }) =>
    (JSON.parse(changes) as Said[]).some((change) => change.revision === revision && isOfApi(change)),
};

/** That a move is taken back: the command that does it begins and stops like a desk. */
const takenBack = 'null';

function isOfDesk(table: string, text: string): boolean {
  if (table === houseBook) return text === takenBack;
  try {
    return isOfRunningDesk[table]!(JSON.parse(text) as Said);
  } catch {
    // It cannot be read, and does nothing.
    return false;
  }
}

/** The first row behind the heads that only a running desk writes; null: there is none. */
export function unsignedRow(database: DatabaseSync, heads: ChainHeads): { table: string; place: number } | null {
  for (const table of [...Object.keys(isOfRunningDesk), houseBook]) {
    for (const { place, text } of rowsBehind(database, table, heads[table]?.[0] ?? 0)) {
      if (isOfDesk(table, text)) return { table, place };
    }
  }
  return null;
}

/** The claims behind the heads. */
export function unsignedClaims(database: DatabaseSync, heads: ChainHeads): ForgedClaim[] {
  return [...rowsBehind(database, 'auctions', heads.auctions?.[0] ?? 0)].flatMap(({ text }) => {
    if (!isOfDesk('auctions', text)) return [];
    const { kind, requestId, claimId } = JSON.parse(text) as Claimed;
    return kind === 'claimed' ? [{ requestId, claimId }] : [];
  });
}
