/** A request whose claim the log has lost, and the list of claims beside it names. A real store, edited as its owner could. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { createDesk } from '../../src/bidding/desk.ts';

import { lance } from '../cli/desk.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { createRuleVariants, encode } from '../simulation/policy.ts';
import { createTestVault } from '../wire/vault.ts';
import { acceptedAs, createFakeService } from './fake-service.ts';
import { claimed, offer, requested, settings as roundSettings } from './parts.ts';

const settings = { ...roundSettings, graceMs: 10_000, timeWitness: 'none' as const, controlPollMs: 50 };
const clock = createSteadySystemClock();
const own = sampleRequest.requestId;
const other = `${own}1`;

function arrival(requestId: string) {
  const at = clock.now();
  const request = { ...sampleRequest, requestId, receivedAt: at, workerKey: `worker of ${requestId}` };
  return { topic: 'auctions', key: requestId, record: requested({ requestId, at, request }) } as const;
}

/** The claim of a process that was killed is edited away: in its place stands a second receipt of the request. */
async function edited(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'lance-lost-claim-'));
  const place = join(directory, 'data');
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const anchor = {
    file: `${place}.at`,
    key: createAuditKey('a key of the tests of lost claims and of nothing else'),
    everyMs: 3_600_000,
  };
  const open = () => openEmbeddedStore({ directory: place, onFault: assert.fail, anchor });
  const store = await open();
  const arrived = arrival(own);
  const claim = claimed('a:1', { requestId: own, at: clock.now() });
  await store.log.append([arrived, { topic: 'auctions', key: own, record: claim, firstClaim: true }]);
  await store.close();
  const database = new DatabaseSync(join(place, 'lance.sqlite'));
  database.prepare('UPDATE auctions SET value = ? WHERE offset = 1').run(JSON.stringify(arrived.record));
  database.close();
  return { place, open };
}

async function started(context: TestContext, open: () => ReturnType<typeof openEmbeddedStore>) {
  const store = await open();
  const sent: string[] = [];
  const { policy } = createRuleVariants().all[0]!;
  const desk = createDesk({
    ...{ instance: 'b', soleOwner: true, log: store.log, views: store.views, margins: store.margins },
    ...{ logChanged: store.changed, lostClaim: store.lostClaim, control: store.control },
    ...{
      vault: createTestVault(),
      clock,
      settings,
      earlierTerms: settings,
      chance: () => 0.5,
      learning: true,
      policy: () => policy,
    },
    service: createFakeService((body) => {
      sent.push(body);
      return acceptedAs(`bid ${sent.length}`, clock.now());
    }),
    authorisations: { mayAsk: () => true, taken: () => {} },
    encodeBid: (requestId, made) => JSON.stringify({ requestId, bytes: encode(requestId, made) }),
    isBidOf: () => true,
    observer: () => {},
  });
  await desk.start();
  const state = async (requestId: string) => (await store.views.read([requestId])).get(requestId)?.state;
  const isIn = (requestId: string, phase: string) =>
    eventually(async () => (await state(requestId))?.phase === phase, 8_000);
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= desk.stop().then(store.close);
    return stopped;
  };
  context.after(stop);
  return { store, desk, sent, state, isIn, stop };
}

test('a request with a claim that the log has lost ends as unknown, says so, and is never bid for', async (context) => {
  const { place, open } = await edited(context);
  const { store, desk, sent, state, isIn, stop } = await started(context, open);
  await isIn(own, 'unknown');
  const found = await state(own);
  assert.deepEqual([found?.pass?.code, found?.pass?.maybeSent, found?.exposure], ['claimed-before', true, 'held']);
  assert.deepEqual([found?.claim?.claimId, found?.claim?.offer], ['a:1', offer]);
  assert.equal(desk.gate(), 'log-changed');
  await store.control.resume({ by: 'ana', reason: null, at: clock.now() });
  await eventually(async () => desk.gate() === null, 8_000);
  await store.log.append([arrival(other)]);
  await isIn(other, 'accepted');
  assert.deepEqual(
    sent.map((body) => JSON.parse(body).requestId),
    [other],
  );
  const records = (await store.log.read('auctions', 0, 0, 20)).filter(({ key }) => key === own);
  const kinds = records.map(({ record }) => record.kind);
  assert.deepEqual(kinds, ['requested', 'requested', 'passed', 'answered']);
  await stop();
  const environment = { LANCE_DATA_DIR: place, LANCE_AUDIT_ANCHOR: `${place}.at` };
  for (const [lang, words] of [
    ['en', /a claim stood for the request already, and the log has lost it.*\(claimed-before\)/s],
    ['pt', /já havia um lance registrado para a\s+solicitação, e o registro o perdeu.*\(claimed-before\)/s],
  ] as const) {
    const { stdout, stderr } = await lance(environment, 'bids', 'show', own, '--lang', lang);
    assert.match(stdout.replaceAll(/\s+/g, ' '), words, stderr);
  }
});
