/** Partitions that could not be asked are named by the API and the console, in words of each language; without them nothing is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unaskedReasons } from '../../src/bidding/ports.ts';
import { faultPt } from '../../src/cli/fault-texts-pt.ts';
import { en } from '../../src/cli/texts-en.ts';
import { pt } from '../../src/cli/texts-pt.ts';
import { requestsPage, wordsIn } from '../../src/console/pages.ts';
import { createBidReader } from '../../src/http/api/bid-reader.ts';
import { bidPage } from '../../src/http/api/schemas.ts';
import { createAskedBids } from '../../src/queries/asked-bids.ts';
import { stateOf } from '../conformance/samples.ts';

const unasked = [{ partition: 3, instance: 'one', why: 'gone' as const }];
const found = [stateOf('1', 'lost', 1)];

function readerOf(missing: typeof unasked) {
  const search = async () => ({ found, next: null, unasked: missing });
  return createBidReader({ askedBids: { search } } as unknown as Parameters<typeof createBidReader>[0]);
}

test('a page names the partitions that are missing from it, and has no such field where none is', async () => {
  const [some, all] = [await readerOf(unasked).page('ana', { limit: 5 }), await readerOf([]).page('ana', { limit: 5 })];
  assert.ok(some.kind === 'page' && all.kind === 'page');
  assert.deepEqual(bidPage.parse(some.page).missing, unasked);
  assert.deepEqual(Object.keys(all.page), ['bids', 'next']);

  const person = { name: 'ana', role: 'risk', csrfToken: 'token' } as const;
  const view = (language: 'pt' | 'en', page: typeof all.page) => {
    const shown = { ...wordsIn(language), otherHref: '/', assetVersion: 'v', person };
    return requestsPage(shown, { filters: {}, found: page, isFirst: true, worker: null, problem: null });
  };
  assert.match(
    view('en', some.page),
    /role="alert">[^<]*partitions 3 \(its process cannot be reached\) could not be asked/,
  );
  assert.match(view('pt', some.page), /role="alert">[^<]*partições 3 \(não se alcança o processo dela\)/);
  assert.doesNotMatch(view('en', all.page), /role="alert"/);
});

test('a request whose owner cannot be asked is refused with the partition, the process and why, in both languages', async () => {
  for (const why of unaskedReasons) {
    const asked = createAskedBids({
      partitions: async () => 1,
      partitionOf: async () => 0,
      owners: async () =>
        why === 'no-owner' ? [] : [{ instance: 'one', host: 'a', port: 1, partitions: { auctions: [0] } }],
      ask: async () =>
        why === 'moved' ? { kind: 'answered', answer: { elsewhere: [0], answer: [] } } : { kind: 'failed', why },
      here: null,
    });
    await assert.rejects(asked.read(['1']), ({ code, message }: { code: string; message: string }) => {
      assert.equal(code, 'owner-unasked');
      const who = why === 'no-owner' ? '' : ' (one)';
      assert.equal(message, `Partition 0 of auctions could not be asked: ${en.list.unaskedWhy[why]}${who}.`);
      const words = `A partição 0 de auctions não pôde ser consultada: ${pt.list.unaskedWhy[why]}${who}.`;
      assert.equal(faultPt(message), words);
      return true;
    });
  }
});
