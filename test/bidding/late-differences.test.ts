/** The published bids come before the answer to our bid. Its code then names one of them that has other figures than our claim. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { createDesk } from '../../src/bidding/desk.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { PublishedBid } from '../../src/domain/offer.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { createRuleVariants, encode } from '../simulation/policy.ts';
import { createTestVault } from '../wire/vault.ts';
import { acceptedAs, createFakeService } from './fake-service.ts';
import { accepted, answered, bid, claimed, ended, offer, requested, settings as roundSettings } from './parts.ts';

const settings = { ...roundSettings, graceMs: 10_000, timeWitness: 'none' as const };
const clock = createSteadySystemClock();
const { requestId } = sampleRequest;

/** A desk that sends a claim, and gets the answer `ours` to it when the auction's end with these bids is folded. */
async function alarmsFor(
  context: TestContext,
  bids: readonly PublishedBid[],
  { failures = 0, more = [] }: { failures?: number; more?: readonly AuctionRecord[] } = {},
): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-late-difference-'));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  const at = clock.now();
  const request = { ...sampleRequest, receivedAt: at, closesAt: null, expiresAt: null };
  const append = (...records: readonly AuctionRecord[]) =>
    store.log.append(records.map((record) => ({ topic: 'auctions', key: requestId, record })));
  const stateNow = async () => (await store.views.read([requestId])).get(requestId)?.state;
  const own = { ...offer, validUntil: at + 3_600_000 };
  await append(requested({ at, request }), claimed('a:1', { at, offer: own }));
  const events: DeskEvent[] = [];
  let answers = 0;
  let left = failures;
  const { policy } = createRuleVariants().all[0]!;
  const desk = createDesk({
    ...{ instance: 'b', soleOwner: true, views: store.views, margins: store.margins, control: store.control },
    log: {
      ...store.log,
      // The first look is that of the sender, which compares the claim with the log.
      readKey: async (...wanted) => {
        if (answers > 0 && left > 0) {
          left -= 1;
          throw new Fault('log-unavailable', 'the log does not answer');
        }
        return store.log.readKey(...wanted);
      },
    },
    service: createFakeService(async () => {
      await append({ ...ended(bids), at, startedAt: null, endedAt: null });
      await eventually(async () => ((await stateNow())?.auction ?? null) !== null, 8_000);
      answers += 1;
      return acceptedAs('ours', clock.now());
    }),
    ...{ vault: createTestVault(), clock, settings, earlierTerms: settings, chance: () => 0.5, learning: true },
    authorisations: { mayAsk: () => true, taken: () => {} },
    ...{ policy: () => policy, encodeBid: encode, isBidOf: () => true },
    observer: (event) => events.push(event),
  });
  await desk.start();
  context.after(async () => {
    await desk.stop();
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await eventually(async () => (await stateNow())?.answer?.outcome.kind === 'accepted', 8_000);
  if (more.length > 0) await append(...more);
  if (failures > 0) await eventually(async () => left === 0, 8_000);
  // Waits for the work that the answer began.
  await desk.stop();
  return events.flatMap((event) =>
    event.kind === 'alarm' && event.code === 'bid-differs' ? [`${event.requestId}: ${event.text}`] : [],
  );
}

const told = `${requestId}: the bid was published with other figures than were sent: sent 2.50 % a month, R$ 6500.00, 24 installments; published 2.51 % a month, R$ 6500.00, 24 installments (code ours)`;
const other = bid('ours', { rateHundredths: 251 });

test('a bid published with other figures before its answer came raises the alarm with the answer', async (context) => {
  assert.deepEqual(await alarmsFor(context, [bid('rival', { rateHundredths: 300, position: 2 }), other]), [told]);
});

test('one that looks like ours beside it does not hide it', async (context) => {
  assert.deepEqual(await alarmsFor(context, [bid('twin', { position: 2 }), other]), [told]);
});

test('the log is asked again where it does not answer', async (context) => {
  assert.deepEqual(await alarmsFor(context, [other], { failures: 2 }), [told]);
});

test('a bid published as it was sent, or not at all, raises none', async (context) => {
  assert.deepEqual(await alarmsFor(context, [bid('ours')]), []);
  assert.deepEqual(await alarmsFor(context, [bid('rival', { rateHundredths: 251 })]), []);
});

test('a second answer with the same code tells it no second time', async (context) => {
  assert.deepEqual(await alarmsFor(context, [other], { more: [answered(accepted)] }), [told]);
});
