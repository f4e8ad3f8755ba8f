/** The fold needs no setting of the process that folds: records say what it needs, but for those of earlier versions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { capOperations, evolveOrFreeze } from '../../src/bidding/evolve.ts';
import type { ViewChange } from '../../src/bidding/ports.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import type { AuctionRecord, FoldTerms } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { createMemoryCapBook } from '../../src/state/memory-cap-book.ts';
import { openBook } from '../conformance/cap-book.ts';
import { settings } from './parts.ts';
import { otherTerms, withTerms } from './terms.ts';

type Life = { life: string; records: AuctionRecord[]; changes: ViewChange[] };

/** What the version before terms were recorded folded, with the settings of `parts.ts`, and what it made of it. */
const lives: Life[] = readFileSync(new URL('./earlier-lives.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Life);

/** An earlier version learnt from a result that came before its request. It teaches nothing now, whoever stored it. */
const learntNoMore = 'ended before it came';

/** Earlier versions kept none, and took no second list. */
function withoutListHash(state: RequestState): RequestState {
  const { auction } = state;
  if (auction === null) return state;
  const { listHash: _, ...rest } = auction;
  return { ...state, auction: rest };
}

function foldedWith(terms: FoldTerms, records: readonly AuctionRecord[]) {
  let state: RequestState | null = null;
  const changes: ViewChange[] = [];
  for (const record of records) {
    const evolved = evolveOrFreeze(state, record, terms);
    state = evolved.state;
    changes.push(...evolved.changes);
  }
  // As it is stored.
  return JSON.parse(JSON.stringify({ state, changes })) as { state: RequestState; changes: ViewChange[] };
}

for (const { life, records, changes } of lives) {
  test(`what an earlier version stored folds to the same row and the same changes: ${life}`, () => {
    const { state, changes: own } = foldedWith(settings, records);
    const row = changes.find((change) => change.kind === 'state');
    assert.deepEqual(withoutListHash(state), row?.state);
    assert.deepEqual(
      own,
      changes.filter(({ kind }) => kind !== 'state' && !(kind === 'learn' && life === learntNoMore)),
    );
  });

  test(`two processes with other settings fold the same records to the same: ${life}`, () => {
    const recorded = records.map((record) => withTerms(record, settings));
    const { state, changes: own } = foldedWith(settings, recorded);
    assert.deepEqual(foldedWith(otherTerms, recorded), { state, changes: own });
    // And to what the settings of whoever wrote them say.
    assert.deepEqual(own, foldedWith(settings, records).changes);
    assert.deepEqual(state.timer, foldedWith(settings, records).state.timer);
  });

  test(`its operations on the cap book promise what its changes of the views promise: ${life}`, async () => {
    const views = createCapBook();
    const book = createMemoryCapBook({ server: 'memory', newName: () => life });
    const { server, id } = await openBook(book);
    const keys = new Set<string>();
    let state: RequestState | null = null;
    let reservation: Parameters<typeof views.release>[0] = 'none';
    for (const [offset, record] of records.entries()) {
      const evolved = evolveOrFreeze(state, record, settings);
      for (const change of evolved.changes) {
        if (change.kind === 'reserve') reservation = views.reserve(reservation, change);
        if (change.kind === 'release') reservation = views.release(reservation, change.requestId);
        if (change.kind === 'commit') reservation = views.commit(reservation, change.requestId, change.expiresAt);
      }
      const operations = capOperations(state, evolved.state, offset);
      for (const key of operations.flatMap((operation) => operation.keys)) keys.add(key);
      state = evolved.state;
      await book.apply({ server, id, parts: [{ partition: 0, acknowledged: 0, applied: offset + 1, operations }] });
      // Nothing has expired at 0.
      const expected = new Map([...keys].map((key) => [key, views.usage(key, 0)]));
      assert.deepEqual(await book.usage(id, [...keys]), expected);
    }
  });
}
