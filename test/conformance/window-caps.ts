/** A loan under a cap over a window of hours that is longer than its bid and its proposal are valid: it counts until the window has passed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capOperations, evolve } from '../../src/bidding/evolve.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { LedgerRow } from '../../src/bidding/ports.ts';
import { react } from '../../src/bidding/react.ts';
import type { CapOperation } from '../../src/domain/cap-book.ts';
import type { CapReservation } from '../../src/domain/offer.ts';
import type { AuctionRecord, Claimed, Resolved } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import type { CapBook } from '../../src/state/cap-book.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  contemplated,
  ended,
  proposed,
  requested,
  settings,
  trace,
} from '../bidding/parts.ts';
import type { Backend, ViewsKind } from './backend.ts';

export const hourMs = 3_600_000;
/** The proposal is valid for 111 hours, and the time of grace is a day. */
const overMs = 400_000_000 + settings.graceMs;

/** Room for one loan of 6,500 reais in a week, as a rule set of any version writes it. */
function weekOf(time: number): CapReservation {
  const hour = Math.floor(time / hourMs);
  const keys = Array.from({ length: 169 }, (_, back) => `desk|hour-${hour - back}`);
  return { keys, limitAmountCents: 1_000_000, limitCount: null };
}

export function claimAt(requestId: string, time: number): Claimed {
  const { offer } = claimed();
  const caps = [...trace.caps.map((cap) => ({ ...cap, keys: [`${requestId}|day`] })), weekOf(time)];
  const until = time + settings.bidValidityMs;
  return claimed('a:1', {
    requestId,
    at: time,
    offer: { ...offer, validUntil: until },
    trace: { ...trace, decidedAt: time, caps },
  });
}

/** Up to the proposal, after which nothing more is heard of it. */
export function loanRecords(requestId = 'loan'): AuctionRecord[] {
  const records = [answered(accepted), ended([bid('ours')]), contemplated(), proposed()];
  return [requested({ requestId }), claimAt(requestId, at + 2), ...records.map((record) => ({ ...record, requestId }))];
}

function stateAfter(records: readonly AuctionRecord[]): RequestState {
  let state: RequestState | null = null;
  for (const record of records) state = evolve(state, record, settings);
  return state!;
}

/** What the desk writes at that time; empty: nothing. */
export function writtenAt(state: RequestState, time: number): AuctionRecord[] {
  return react(state, 'committed', time, settings).flatMap((command) =>
    command.kind === 'append' ? [command.record] : [],
  );
}

function cancelled(requestId: string, time: number): Resolved {
  return { kind: 'resolved', requestId, at: time, as: 'cancelled', by: 'ana', reason: 'the worker withdrew' };
}

/** As every version before wrote it. */
function overBefore(requestId: string, time: number): Resolved {
  return { kind: 'resolved', requestId, at: time, as: 'expired', by: 'desk', reason: 'over' };
}

export function testWindowViews(kind: ViewsKind): void {
  /** Folds records, each a batch, onto views that are opened anew as often as is wanted. */
  async function withFold(
    run: (parts: {
      fold: (...records: readonly AuctionRecord[]) => Promise<LedgerRow[]>;
      reopen: (burn: boolean) => Promise<void>;
      over: (time: number) => Promise<readonly string[]>;
    }) => Promise<void>,
  ): Promise<void> {
    const place = await kind.createPlace();
    const log: AuctionRecord[] = [];
    const settled = { readKey: async () => [] };
    let backend: Awaited<ReturnType<ViewsKind['open']>> | null = null;
    let ledger: ReturnType<typeof createLedger>;
    const catchUp = async () => {
      const { views } = backend!;
      const first = await views.applied(0);
      const entries = log.map((record, offset) => ({ partition: 0, offset, key: 'k', record })).slice(first);
      const folds = entries.length === 0 ? [] : await ledger.fold({ partition: 0, first, next: log.length, entries });
      return folds.map(({ row }) => row);
    };
    const open = async () => {
      backend = await kind.open(place);
      assert.equal(await backend.views.areWhole(async () => new Map([[0, 0]])), true);
      ledger = createLedger(backend.views, settings, settled as unknown as Pick<Backend['log'], 'readKey'>);
    };
    await open();
    try {
      await run({
        fold: (...records) => {
          log.push(...records);
          return catchUp();
        },
        reopen: async (burn) => {
          await backend!.close();
          if (burn) await kind.burnViews(place);
          await open();
          await catchUp();
        },
        over: async (time) => (await backend!.views.windowsOver?.(0, time, 10)) ?? [],
      });
    } finally {
      await backend!.close();
    }
  }
  const second = (requestId: string, time: number) => [requested({ requestId }), claimAt(requestId, time)];
  const verdict = (rows: readonly LedgerRow[]) => rows.at(-1)?.reservation;

  test(`${kind.name}: a loan counts in a window of hours after its proposal is over, whatever is restarted or made again`, () =>
    withFold(async ({ fold, reopen, over }) => {
      await fold(...loanRecords());
      const [record] = writtenAt(stateAfter(loanRecords()), at + overMs);
      assert.equal(record?.kind, 'resolved');
      // Nobody was there to say that its time is over.
      assert.equal(verdict(await fold(...second('late', at + overMs + 1))), 'refused');
      const [loan] = await fold(record!);
      assert.deepEqual([loan?.state.phase, loan?.reservation], ['expired', 'committed']);
      assert.equal(verdict(await fold(...second('two', at + 140 * hourMs))), 'refused');
      for (const [burn, id] of [
        [false, 'three'],
        [true, 'four'],
      ] as const) {
        await reopen(burn);
        assert.equal(verdict(await fold(...second(id, at + 150 * hourMs))), 'refused');
      }
      assert.equal(verdict(await fold(...second('five', at + 169 * hourMs))), 'held');
      // Whatever window a later rule gives the cap, the loan counts in it.
      assert.deepEqual(writtenAt(loan!.state, at + 720 * hourMs), []);
      assert.deepEqual(await over(at + 720 * hourMs), []);
      assert.deepEqual(await over(at + 721 * hourMs), ['loan']);
      const [end] = writtenAt(loan!.state, at + 721 * hourMs);
      const [after] = await fold(end!);
      assert.deepEqual(
        [after?.state.phase, after?.reservation, after?.state.exposure],
        ['expired', 'released', 'released'],
      );
      assert.deepEqual([writtenAt(after!.state, at + 800 * hourMs), await over(at + 800 * hourMs)], [[], []]);
    }));

  test(`${kind.name}: a loan that came to nothing after its proposal was over counts no more, nor one that an earlier version ended`, () =>
    withFold(async ({ fold }) => {
      const over = writtenAt(stateAfter(loanRecords()), at + overMs);
      await fold(...loanRecords(), ...over);
      assert.equal(verdict(await fold(...second('two', at + 140 * hourMs))), 'refused');
      const [withdrawn] = await fold(cancelled('loan', at + 141 * hourMs));
      assert.deepEqual([withdrawn?.state.phase, withdrawn?.reservation], ['cancelled', 'released']);
      assert.equal(verdict(await fold(...second('three', at + 142 * hourMs))), 'held');
      const { requestId } = claimAt('three', at);
      await fold(cancelled(requestId, at + 143 * hourMs), {
        ...answered({ kind: 'rejected', code: 'request-expired' }),
        requestId,
      });
      const earlier = overBefore('before', at + overMs);
      const [ended] = (await fold(...loanRecords('before'), earlier)).slice(-1);
      assert.deepEqual([ended?.state.phase, ended?.reservation], ['expired', 'released']);
      assert.equal(verdict(await fold(...second('four', at + 145 * hourMs))), 'held');
    }));

  test(`${kind.name}: news of a bid whose time is over takes nothing from what windows count of it, and no end comes twice`, () =>
    withFold(async ({ fold }) => {
      const over = writtenAt(stateAfter(loanRecords()), at + overMs);
      await fold(...loanRecords(), ...over, ...over);
      assert.equal(verdict(await fold(...second('two', at + 140 * hourMs))), 'refused');
      const again = {
        ...proposed([], at + 500_000_000),
        proposalNumber: '78',
        requestId: 'loan',
        at: at + 141 * hourMs,
      };
      const [renewed] = await fold(again);
      assert.deepEqual([renewed?.state.phase, renewed?.reservation], ['proposed', 'committed']);
      assert.equal(verdict(await fold(...second('three', at + 142 * hourMs))), 'refused');
      const failed = { ...contemplated(['no margin']), requestId: 'loan', at: at + 143 * hourMs };
      const [released] = await fold(failed);
      assert.deepEqual([released?.state.phase, released?.reservation], ['winner-failed', 'released']);
      assert.equal(verdict(await fold(...second('four', at + 144 * hourMs))), 'held');
    }));
}

/** The operations of the records of requests in log order, as the ledger has them for a cap book. */
export function operationsOf(log: readonly AuctionRecord[]): CapOperation[] {
  const states = new Map<string, RequestState>();
  return log.flatMap((record, offset) => {
    const before = states.get(record.requestId) ?? null;
    const after = evolve(before, record, settings);
    states.set(record.requestId, after);
    return capOperations(before, after, offset);
  });
}

export function testWindowBook(name: string, open: () => Promise<{ book: CapBook; server: string; id: string }>): void {
  test(`${name}: a loan counts in a window of hours after its proposal is over, until the window has passed`, async () => {
    const { book, server, id } = await open();
    const log = loanRecords();
    const over = writtenAt(stateAfter(log), at + overMs);
    const second = (requestId: string, time: number) => [requested({ requestId }), claimAt(requestId, time)];
    log.push(...over, ...second('two', at + 140 * hourMs), ...second('three', at + 169 * hourMs));
    const last = writtenAt(stateAfter([...loanRecords(), ...over]), at + 721 * hourMs);
    log.push(...last);
    const operations = operationsOf(log);
    const parts = [{ partition: 0, acknowledged: 0, applied: log.length, operations }];
    assert.deepEqual((await book.apply({ server, id, parts })).refused, ['two']);
    const hour = Math.floor(at / hourMs);
    const usage = await book.usage(id, [`desk|hour-${hour}`, `desk|hour-${hour + 169}`, 'loan|day']);
    assert.deepEqual(
      [...(usage ?? [])].map(([, { count }]) => count),
      [0, 1, 0],
    );
  });
}
