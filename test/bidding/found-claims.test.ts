/** Claims found in the views are compared with the log before their bytes go out. A real store, edited as its owner could. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { nextLink } from '../../src/adapters/embedded/chain.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { createDesk } from '../../src/bidding/desk.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { isBidOf } from '../../src/wire/bid.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { createRuleVariants, encode } from '../simulation/policy.ts';
import { createTestVault } from '../wire/vault.ts';
import { acceptedAs, createFakeService } from './fake-service.ts';
import { claimed, offer, requested, settings as roundSettings } from './parts.ts';

const settings = { ...roundSettings, graceMs: 10_000, timeWitness: 'none' as const };
const clock = createSteadySystemClock();
const own = sampleRequest.requestId;
const other = `${own}1`;

function entriesOf(requestId: string, body = bytesOf(requestId)): NewEntry[] {
  const at = clock.now();
  const request = { ...sampleRequest, requestId, receivedAt: at, closesAt: null, expiresAt: null };
  return [
    { topic: 'auctions', key: requestId, record: requested({ requestId, at, request }) },
    { topic: 'auctions', key: requestId, record: claimed('a:1', { requestId, at, body }) },
  ];
}

/** A store whose process was killed after it had claimed for two requests, and then edited. */
async function killed(context: TestContext, edits: string, body = bytesOf(own)): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-found-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  const entries = [...entriesOf(own, body), ...entriesOf(other)];
  await store.log.append(entries);
  const stored = await store.log.read('auctions', 0, 0, entries.length);
  await createLedger(store.views, settings, store.log).fold({ partition: 0, first: 0, next: 4, entries: stored });
  await store.close();
  edit(directory, (database) => database.exec(edits));
  return directory;
}

function edit(directory: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  work(database);
  database.close();
}

/** What a start on it sends, and says. */
async function started(context: TestContext, directory: string) {
  const changed: string[] = [];
  const onChanged = (text: string) => changed.push(text);
  const store = await openEmbeddedStore({ directory, onFault: assert.fail, onChanged });
  const sent: string[] = [];
  const events: DeskEvent[] = [];
  const service = createFakeService((body) => {
    sent.push(body);
    return acceptedAs(body, clock.now());
  });
  const { policy } = createRuleVariants().all[0]!;
  const desk = createDesk({
    ...{ instance: 'b', soleOwner: true, log: store.log, views: store.views, margins: store.margins },
    ...{ control: store.control, service, vault: createTestVault(), clock, settings, earlierTerms: settings },
    authorisations: { mayAsk: () => true, taken: () => {} },
    ...{ chance: () => 0.5, learning: true, policy: () => policy, encodeBid: encode, isBidOf },
    observer: (event) => events.push(event),
  });
  await desk.start();
  context.after(async () => {
    await desk.stop();
    await store.close();
  });
  const phase = async (requestId: string) => {
    const state = (await store.views.read([requestId])).get(requestId)?.state;
    return state?.frozen === undefined ? state?.phase : 'frozen';
  };
  await eventually(async () => (await phase(other)) !== 'claimed' && (await phase(own)) !== 'claimed', 8_000);
  const alarms = events.flatMap((event) => (event.kind === 'alarm' ? [`${event.code}: ${event.text}`] : []));
  return { sent, alarms, changed, phases: [await phase(own), await phase(other)] };
}

const bytesOf = (requestId: string) => encode(requestId, offer);
const view = `UPDATE ledger SET state = replace(state, 'Mensal\\":2.5', 'Mensal\\":1.1') WHERE request_id = '${own}'`;
const record = `UPDATE auctions SET value = replace(value, 'Mensal\\":2.5', 'Mensal\\":1.1') WHERE offset = 1`;

test('claims that a process left are sent by the next one as they stand in the log', async (context) => {
  const { sent, alarms, changed } = await started(context, await killed(context, ''));
  assert.deepEqual([sent.sort(), alarms, changed], [[bytesOf(own), bytesOf(other)], [], []]);
});

test('a claim that the view has with other bytes than the log is not sent, and freezes its request alone', async (context) => {
  const { sent, alarms, phases } = await started(context, await killed(context, view));
  assert.deepEqual([sent, phases], [[bytesOf(other)], ['frozen', 'accepted']]);
  assert.match(alarms.join('\n'), /^request-frozen: .*not the claim of the log.*lance views verify/m);
});

test('a claim whose bytes are not those of its offer is not sent, and freezes its request alone (attacker, session 48)', async (context) => {
  const bytes = bytesOf(own);
  for (const forged of [
    'DROP \r\n\r\nPOST /x',
    encode(own, { ...offer, amountCents: offer.amountCents + 1 }),
    encode(own, { ...offer, rateHundredths: offer.rateHundredths - 1 }),
    encode(other, offer),
    bytes.replace('{', '{"valorLiberado":98765.4,'),
    `${bytes} `,
  ]) {
    const { sent, alarms, phases } = await started(context, await killed(context, '', forged));
    assert.deepEqual([sent, phases], [[bytesOf(other)], ['frozen', 'accepted']], forged);
    assert.match(alarms.join('\n'), /^request-frozen: .*bytes of the claim are not those of its offer/m);
  }
});

test('a claim with the contacts of other settings is sent as it stands', async (context) => {
  const earlier = bytesOf(own).replace('https://example.com/oferta', 'https://example.com/earlier');
  const { sent, phases } = await started(context, await killed(context, '', earlier));
  assert.deepEqual([sent.sort(), phases], [[earlier, bytesOf(other)].sort(), ['accepted', 'accepted']]);
});

test('a claim whose record was edited as well is not sent either', async (context) => {
  const { sent, alarms, changed, phases } = await started(context, await killed(context, `${view}; ${record}`));
  assert.deepEqual([sent, phases], [[bytesOf(other)], ['frozen', 'accepted']]);
  assert.match(alarms.join('\n'), /^request-frozen: .*auctions\/0 at [01]: it is not what was written/m);
  assert.match(
    changed.join('\n'),
    /^record 1 of auctions is not what was written, or record 0 beside it is not: which of the two/m,
  );
});

test('a record that was edited with a link that fits it does not fit the record after it', async (context) => {
  const directory = await killed(context, `${view}; ${record}`);
  edit(directory, (database) => {
    const rows = database.prepare('SELECT key, value, chain FROM auctions ORDER BY offset').all();
    const link = nextLink(String(rows[0]!.chain), 1, String(rows[1]!.key), String(rows[1]!.value));
    database.prepare('UPDATE auctions SET chain = ? WHERE offset = 1').run(link);
  });
  const { sent, phases } = await started(context, directory);
  assert.ok(!sent.some((body) => body.includes('1.1')), sent.join());
  assert.equal(phases[0], 'frozen');
});
