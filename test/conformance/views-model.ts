/** The views as plainly as they can be written: every sum is taken anew over all reservations. */
import { cursorOf, type LedgerRow, type ViewBatch, type ViewChange } from '../../src/bidding/ports.ts';
import type { Reservation } from '../../src/domain/cap-book.ts';
import { emptyHistogram, foldSums, type Histogram } from '../../src/domain/histogram.ts';
import type { Usage } from '../../src/domain/offer.ts';
import type { RequestState } from '../../src/domain/states.ts';

type Exposure = { status: Reservation; amountCents: number; keys: Set<string>; expiresAt: number };

/** Whether room was looked for is known to whoever folded it, not to every backend's rows. */
export type ModelRow = Omit<LedgerRow, 'hadRoom'>;

export type ViewsModel = {
  applied: () => number;
  /** Applies at `applied` and returns the refused ids. */
  apply: (batch: ViewBatch) => string[];
  usage: (key: string, at: number) => Usage;
  rows: () => ModelRow[];
  open: () => ModelRow[];
  page: (phase: string | null, limit: number, before: string | null) => ModelRow[];
  holdersOfBid: (bidId: string) => readonly string[] | undefined;
  statistic: (key: string) => Histogram | undefined;
};

export function createViewsModel(): ViewsModel {
  let applied = 0;
  const states = new Map<string, { state: RequestState; open: boolean }>();
  const bids = new Map<string, Set<string>>();
  const exposures = new Map<string, Exposure>();
  const statistics = new Map<string, Histogram>();

  const usage = (key: string, at: number): Usage => {
    const live = [...exposures.values()].filter(
      ({ status, keys, expiresAt }) =>
        keys.has(key) &&
        ((status === 'held' && expiresAt > at) ||
          (status === 'committed' && (expiresAt > at || /\|(hour|6h)-\d+$/.test(key)))),
    );
    return { amountCents: live.reduce((sum, { amountCents }) => sum + amountCents, 0), count: live.length };
  };
  const reserve = (change: Extract<ViewChange, { kind: 'reserve' }>): void => {
    const { requestId, amountCents, caps, at, expiresAt, force } = change;
    const status = exposures.get(requestId)?.status ?? 'none';
    if (status === 'held' || status === 'committed') return;
    if (status !== 'none' && !force) return;
    const fits = caps.every(({ keys, limitAmountCents, limitCount }) => {
      const used = [...new Set(keys)].map((key) => usage(key, at));
      const amount = used.reduce((sum, each) => sum + each.amountCents, amountCents);
      const count = used.reduce((sum, each) => sum + each.count, 1);
      return (limitAmountCents === null || amount <= limitAmountCents) && (limitCount === null || count <= limitCount);
    });
    const keys = new Set(caps.map((cap) => cap.keys[0]!));
    exposures.set(requestId, { status: force || fits ? 'held' : 'refused', amountCents, keys, expiresAt });
  };
  const change = (each: ViewChange, refused: string[]): void => {
    switch (each.kind) {
      case 'state':
        states.set(each.state.requestId, { state: each.state, open: each.open });
        for (const bidId of each.bidIds) bids.set(bidId, (bids.get(bidId) ?? new Set()).add(each.state.requestId));
        return;
      case 'reserve':
        reserve(each);
        if (exposures.get(each.requestId)?.status === 'refused') refused.push(each.requestId);
        return;
      case 'release':
      case 'commit': {
        const exposure = exposures.get(each.requestId);
        if (exposure?.status !== 'held' && exposure?.status !== 'committed') return;
        exposure.status = each.kind === 'release' ? 'released' : 'committed';
        if (each.kind === 'commit') exposure.expiresAt = each.expiresAt;
        return;
      }
      case 'count-under': {
        const exposure = exposures.get(each.requestId);
        if (exposure?.status !== 'held' && exposure?.status !== 'committed') return;
        Object.assign(exposure, { keys: new Set(each.keys), expiresAt: each.expiresAt });
        return;
      }
      case 'learn':
        for (const key of each.keys) {
          const histogram = statistics.get(key) ?? emptyHistogram(each.at);
          foldSums(histogram, each.additions, each.at, each.halfLives);
          statistics.set(key, histogram);
        }
        return;
      default:
        each satisfies never;
    }
  };
  const row = ({ state }: { state: RequestState }): ModelRow => ({
    state,
    reservation: exposures.get(state.requestId)?.status ?? 'none',
  });

  return {
    applied: () => applied,
    apply: (batch) => {
      const refused: string[] = [];
      for (const each of batch.changes) change(each, refused);
      applied = batch.next;
      return refused;
    },
    usage,
    rows: () => [...states.values()].map(row),
    open: () => [...states.values()].filter(({ open }) => open).map(row),
    page: (phase, limit, before) =>
      [...states.values()]
        .map(row)
        .filter(
          ({ state }) => (phase === null || state.phase === phase) && (before === null || cursorOf(state) < before),
        )
        .sort((a, b) => (cursorOf(a.state) < cursorOf(b.state) ? 1 : -1))
        .slice(0, limit),
    holdersOfBid: (bidId) => (bids.has(bidId) ? [...bids.get(bidId)!].sort() : undefined),
    statistic: (key) => statistics.get(key),
  };
}
