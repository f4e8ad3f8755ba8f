/** What the sandbox writes is read by the desk's own door without a dead letter, fact by fact. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { AuctionRecord, CallbackRecord, Requested } from '../../src/domain/records.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { encodeLinkDetailQuery, linkDetailPath } from '../../src/wire/link-queries.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook, type WebhookEntry } from '../../src/wire/webhook.ts';
import { bidBody, startPartner } from './partner.ts';

function shippedMapping() {
  const file = readFileSync(new URL('../../config/request-mapping.json', import.meta.url), 'utf8');
  const read = readRequestMapping(JSON.parse(file));
  assert.ok(read.kind === 'read');
  return read.mapping;
}

type Told = AuctionRecord | CallbackRecord;
const toldBy = (entry: WebhookEntry): Told[] =>
  entry.topic === 'auctions' || entry.topic === 'callbacks' ? [entry.record] : [];

test('every webhook of a run with wins and link queries is understood', async () => {
  const partner = await startPartner({
    auction: { windowMs: 1_500, contemplationDelayMs: 5, proposalDelayMs: 5 },
    pace: { batchRequests: 20 },
    links: { callbackMinMs: 1, callbackMaxMs: 2 },
    world: { guaranteedShare: 0.5, alertShare: 0.5, longIdShare: 0.5 },
  });
  const vault = createVault('a secret of the test that is long enough');
  const shipped = shippedMapping();
  const entries: WebhookEntry[] = [];
  partner.react(({ body, at }) => {
    const reading = readWebhook(body, { mapping: shipped, vault, receivedAt: at, now: at });
    assert.ok(reading.kind === 'entries', reading.kind);
    assert.deepEqual(reading.faults, []);
    assert.equal(reading.deadLetters, 0);
    entries.push(...reading.entries);
    if (reading.event !== 'requests') return;
    for (const record of reading.entries.flatMap(toldBy)) {
      if (record.kind !== 'requested') continue;
      void partner.call('/contrato/oferta-leilao/incluir-lance', bidBody(record.requestId, { rate: 2 }));
      const identity = JSON.parse(vault.open(sealedPlaces.request(record.requestId), record.sealed)).identity;
      const query = encodeLinkDetailQuery({
        identity,
        authorisationNumber: record.request.authorisationNumber,
        cached: true,
      });
      assert.ok(query !== null);
      void partner.call(linkDetailPath, query);
    }
  });
  const summary = await partner.sandbox.run(20);
  const truth = partner.sandbox.record.of('request');
  await partner.stop();

  const told = entries.flatMap(toldBy);
  const requests = told.filter((record): record is Requested => record.kind === 'requested');
  assert.deepEqual(
    requests.map(({ request }) => request.requestId),
    truth.map(({ requestId }) => requestId),
  );
  for (const [index, { request }] of requests.entries()) {
    const real = truth[index]!;
    assert.equal(request.closesAt, real.deadlineAt);
    assert.equal(request.requestedAmountCents, real.amountCents);
    assert.equal(request.requestedInstallments, real.installments);
    assert.equal(request.availableMarginCents, real.marginOmitted ? null : real.marginCents);
    assert.equal(request.guarantee.present, real.segment.guaranteed);
    assert.equal(request.politicallyExposed, real.politicallyExposed);
    assert.ok(request.linkKey !== null && request.birthDate !== null && request.admissionDate !== null);
    assert.ok(request.alertCodes !== null);
  }
  const kinds = (kind: Told['kind']) => told.filter((record) => record.kind === kind);
  assert.equal(kinds('ended').length, 20);
  assert.equal(kinds('contemplated').length, summary.won);
  assert.equal(kinds('proposed').length, summary.won);
  assert.ok(summary.won > 10);
  const linkKeys = new Set(requests.map(({ request }) => request.linkKey));
  const details = kinds('link-detail');
  assert.ok(details.length > 10);
  for (const record of details) {
    assert.ok(record.kind === 'link-detail' && linkKeys.has(record.detail.linkKey), 'the key of request and callback');
  }
});
