/** Won bids of which only a timer is left: a start does not wait for them, and none of their timers is forgotten. A real store. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { createDesk } from '../../src/bidding/desk.ts';

import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { createRuleVariants } from '../simulation/policy.ts';
import { createTestVault } from '../wire/vault.ts';
import { createFakeService } from './fake-service.ts';
import { answered, bid, claimed, contemplated, ended, requested, settings as roundSettings } from './parts.ts';

const settings = { ...roundSettings, graceMs: 0, timeWitness: 'none' as const, controlPollMs: 50 };
const clock = createSteadySystemClock();
const count = 450;

test('of a store with many won bids a start takes up the open work first, and each of them in time', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-settled-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const open = () => openEmbeddedStore({ directory, onFault: assert.fail });
  const deskOn = (store: Awaited<ReturnType<typeof open>>) =>
    createDesk({
      ...{ instance: 'b', soleOwner: true, log: store.log, views: store.views, margins: store.margins },
      ...{ logChanged: store.changed, lostClaim: store.lostClaim, control: store.control },
      ...{ vault: createTestVault(), clock, settings, earlierTerms: settings, chance: () => 0.5, learning: true },
      policy: () => createRuleVariants().all[0]!.policy,
      service: createFakeService(assert.fail),
      authorisations: { mayAsk: () => true, taken: () => {} },
      encodeBid: () => assert.fail(),
      isBidOf: () => assert.fail(),
      observer: () => {},
    });
  const at = clock.now();
  const ids = Array.from({ length: count }, (_, place) => `${sampleRequest.requestId}${place}`);
  const proposedOf = (requestId: string) => {
    const said = { at, requestCode: `bid of ${requestId}`, proposalCode: 'P1', proposalNumber: '4711' };
    const record = { kind: 'proposed' as const, requestId, ...said, validUntil: at + 6_000, message: null, errors: [] };
    return { topic: 'auctions', key: requestId, record } as const;
  };
  const first = await open();
  await first.log.append(
    ids.flatMap((requestId) => {
      const request = { ...sampleRequest, requestId, receivedAt: at, workerKey: `worker of ${requestId}` };
      const bidId = `bid of ${requestId}`;
      const records = [
        requested({ requestId, at, request }),
        claimed(`a:${requestId}`, { requestId, at }),
        { ...answered({ kind: 'accepted', bidId }), requestId, claimId: `a:${requestId}`, at },
        { ...ended([bid(bidId)]), requestId, at },
      ];
      return [
        ...records.map((record) => ({ topic: 'auctions', key: requestId, record }) as const),
        proposedOf(requestId),
      ];
    }),
  );
  const before = deskOn(first);
  await before.start();
  await eventually(async () => (await first.views.applied(0)) === count * 5, 8_000);
  const phaseOf = async (views: typeof first.views) => {
    const rows = await views.read(ids);
    return Object.groupBy([...rows.values()], ({ state }) => state.phase);
  };
  assert.deepEqual(Object.keys(await phaseOf(first.views)), ['proposed']);
  await before.stop();
  await first.close();

  const second = await open();
  const [page] = await second.views.open(0);
  assert.deepEqual([page!.rows.length, page!.later!.length], [0, count]);
  // A record that says nothing new is folded, and its row kept, before anything is taken up.
  const again = { ...contemplated(), requestId: ids[7]!, at, requestCode: `bid of ${ids[7]}` };
  await second.log.append([{ topic: 'auctions', key: ids[7]!, record: again }]);
  const desk = deskOn(second);
  context.after(() => desk.stop().then(second.close));
  await desk.start();
  await eventually(async () => (await phaseOf(second.views)).expired?.length === count, 20_000);
});
