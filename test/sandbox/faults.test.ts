/** Faults: each happens on request, is counted, and comes after the stamp and the hash. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestAt } from '../../src/sandbox/population.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { linkDetailPath } from '../../src/wire/link-queries.ts';
import { contractMessage } from '../../src/wire/worker-credit.ts';
import { bidBody, type Partner, requestIdsIn, startPartner } from './partner.ts';

const endorsementPath = '/contrato/oferta-leilao/averbar-contrato';
const quick = { auction: { windowMs: 300, contemplationDelayMs: 5, proposalDelayMs: 5 }, pace: { batchRequests: 4 } };

/** One bid under a fault that befalls every call; then what the record says of it. */
async function bidUnder(bids: object, check: (partner: Partner, send: () => Promise<Response>) => Promise<void>) {
  const partner = await startPartner({ ...quick, faults: { bids } });
  try {
    const done = partner.sandbox.run(4);
    const [requestId] = requestIdsIn((await partner.until(({ json }) => json.Payload.CodigoLote)).body) as [string];
    const body = bidBody(requestId);
    const send = () =>
      fetch(partner.url + bidPath, {
        method: 'POST',
        body,
        headers: { authorization: 'Bearer sandbox-token' },
        signal: AbortSignal.timeout(200),
      });
    await check(partner, send);
    const [call] = partner.sandbox.record.of('call');
    assert.equal(call!.sha256, createHash('sha256').update(body).digest('hex'));
    assert.equal(call!.requestId, requestId);
    await done;
    const [end] = partner.sandbox.record.of('ended');
    assert.equal(
      end!.ranked.some((ranked) => ranked.ours),
      call!.landed,
      'a landed bid is published, another is not',
    );
  } finally {
    await partner.stop();
  }
}

function counted(
  partner: Partner,
  kind: 'throttled' | 'errorBefore' | 'errorAfter' | 'dropAfter' | 'halfOpen' | 'garbage',
) {
  return partner.sandbox.summary().faults[kind];
}

test('429 with Retry-After, not landed', () =>
  bidUnder({ throttled: 1, retryAfterSeconds: 3 }, async (partner, send) => {
    const answer = await send();
    assert.equal(answer.status, 429);
    assert.equal(answer.headers.get('retry-after'), '3');
    assert.equal(counted(partner, 'throttled'), 1);
  }));

test('500 before landing', () =>
  bidUnder({ errorBefore: 1 }, async (partner, send) => {
    assert.equal((await send()).status, 500);
    assert.equal(counted(partner, 'errorBefore'), 1);
    assert.equal(partner.sandbox.record.of('call')[0]!.landed, false);
  }));

test('500 after landing', () =>
  bidUnder({ errorAfter: 1 }, async (partner, send) => {
    assert.equal((await send()).status, 500);
    assert.equal(counted(partner, 'errorAfter'), 1);
    assert.equal(partner.sandbox.record.of('call')[0]!.outcome, 'accepted');
  }));

test('lands, then the connection breaks', () =>
  bidUnder({ dropAfter: 1 }, async (partner, send) => {
    await assert.rejects(send(), (error: Error) => error.name === 'TypeError');
    assert.equal(counted(partner, 'dropAfter'), 1);
    assert.equal(partner.sandbox.record.of('call')[0]!.outcome, 'accepted');
  }));

test('lands and never answers', () =>
  bidUnder({ halfOpen: 1 }, async (partner, send) => {
    await assert.rejects(send(), (error: Error) => error.name === 'TimeoutError');
    assert.equal(counted(partner, 'halfOpen'), 1);
  }));

test('lands and answers garbage', () =>
  bidUnder({ garbage: 1 }, async (partner, send) => {
    const answer = await send();
    assert.equal(answer.status, 200);
    assert.throws(() => JSON.parse('<html>'));
    assert.match(await answer.text(), /^<html>/);
    assert.equal(counted(partner, 'garbage'), 1);
  }));

test('slow answers: the bid lands at its arrival', () =>
  bidUnder({ delayMinMs: 80, delayMaxMs: 120 }, async (partner, send) => {
    const before = performance.now();
    assert.equal((await send()).status, 200);
    assert.ok(performance.now() - before >= 75);
    assert.equal(partner.sandbox.summary().faults.delay, 1);
  }));

async function runWith(webhooks: object, status?: (n: number) => number, requests = 40) {
  const partner = await startPartner(
    {
      ...quick,
      pace: { batchRequests: 2, batchIntervalMs: 10 },
      faults: { webhooks },
      deliveries: { retryFirstMs: 10 },
    },
    status === undefined ? {} : { status },
  );
  try {
    const summary = await partner.sandbox.run(requests);
    // A duplicate of the last webhook may still be under way.
    await new Promise((resolve) => setTimeout(resolve, 40));
    return { summary, bodies: partner.received.map(({ body }) => body), record: partner.sandbox.record };
  } finally {
    await partner.stop();
  }
}

test('webhooks twice', async () => {
  const { summary, bodies } = await runWith({ duplicate: 1 });
  assert.equal(summary.faults.duplicate, 40);
  assert.equal(bodies.length, 80);
  assert.equal(new Set(bodies).size, 40);
});

test('webhooks out of order', async () => {
  const { summary, bodies, record } = await runWith({ reorder: 0.4, lateMs: 100 });
  assert.ok(summary.faults.reorder > 5);
  const sent = record.of('delivery').map((delivery) => delivery.sha256);
  const came = bodies.map((body) => createHash('sha256').update(body).digest('hex'));
  assert.deepEqual(came.toSorted(), sent.toSorted());
  assert.notDeepEqual(came, sent);
});

test('webhooks late, missing for ever, missing for a while', async () => {
  const late = await runWith({ late: 1, lateMs: 150 }, undefined, 4);
  assert.ok(
    late.record
      .of('attempt')
      .every((attempt, index) => attempt.sentAt - late.record.of('delivery')[index]!.dueAt >= 145),
  );
  const never = await runWith({ missing: 1 }, undefined, 4);
  assert.equal(never.bodies.length, 0);
  assert.equal(never.summary.webhooks.acknowledged, 0);
  const later = await runWith({ missing: 1, redeliverMissingMs: 100 }, undefined, 4);
  assert.equal(later.summary.webhooks.acknowledged, 4);
});

/** An endorsement whose webhook is sent under these faults; how often it came, and how long after it was due. */
async function endorsedWith(webhooks: object): Promise<{ times: number; afterMs: number; fault: string | null }> {
  const partner = await startPartner({
    ...{ ...quick, world: { ineligibleShare: 0 }, faults: { webhooks } },
    contracts: { callbackMinMs: 1, callbackMaxMs: 5, endorsedMinMs: 1, endorsedMaxMs: 5 },
  });
  try {
    const { sandbox, call } = partner;
    await sandbox.run(1);
    const request = requestAt(sandbox.settings.world, '7', 0, 1);
    const { requestId, worker } = request;
    const terms = { amountCents: 50_000, installments: 12, rateHundredths: 300 };
    const bid = { callCode: 'c', bidId: 'b', requestId, rival: null, placedAt: Date.now(), sequence: 1, ...terms };
    sandbox.contracts.propose(bid, request, true);
    const query = {
      ...{ cpfTrabalhador: worker.cpf, matricula: worker.registration },
      ...{ codigoInscricaoEmpregador: worker.employer.idType, numeroInscricaoEmpregador: worker.employer.id },
      autorizacao: { nsuAutorizacaoDigital: Number(worker.authorisationNumber) },
    };
    assert.equal((await call(linkDetailPath, JSON.stringify(query))).status, 200);
    const account = {
      accountType: 2,
      branch: '1',
      branchDigit: '9',
      account: '2',
      accountDigit: '4',
      bankNumber: '001',
    };
    const order = contractMessage.encode({ requestId, ...terms, agentCpf: '52998224725', account });
    assert.equal((await call('/contrato/oferta-leilao/gerar-contrato', JSON.stringify(order))).status, 200);
    const note = await partner.until(({ json }) => json.Payload.NumeroCCB);
    const signature = { numeroContrato: note.json.Payload.NumeroCCB, assinatura: 'x' };
    const answer = await call(endorsementPath, JSON.stringify(signature));
    assert.equal(answer.status, 200);
    const isTold = ({ json }: { json: { Endpoint?: string } }) => json.Endpoint === endorsementPath;
    const first = await partner.until(isTold);
    await new Promise((resolve) => setTimeout(resolve, 60));
    const told = partner.received.filter(isTold);
    assert.equal(new Set(told.map(({ body }) => body)).size, 1);
    const delivery = sandbox.record.of('delivery').find(({ what }) => what === 'endorsement')!;
    return { times: told.length, afterMs: first.at - delivery.dueAt, fault: delivery.fault };
  } finally {
    await partner.stop();
  }
}

test('the webhook of an endorsement once, twice and late', async () => {
  const once = await endorsedWith({});
  assert.deepEqual([once.times, once.fault], [1, null]);
  const twice = await endorsedWith({ duplicate: 1 });
  assert.deepEqual([twice.times, twice.fault], [2, 'duplicate']);
  const late = await endorsedWith({ late: 1, lateMs: 300 });
  assert.deepEqual([late.times, late.fault], [1, 'late']);
  assert.ok(late.afterMs >= 295, String(late.afterMs));
});

test('the sender tries again until 2xx, and the record says which attempt was acknowledged', async () => {
  const { summary, record } = await runWith({}, (n) => (n <= 6 ? 503 : 202), 8);
  assert.equal(summary.webhooks.acknowledged, 8);
  const attempts = record.of('attempt');
  assert.equal(attempts.filter((attempt) => attempt.status === 503 && !attempt.acknowledged).length, 6);
  for (const { deliveryId } of record.of('delivery')) {
    assert.equal(attempts.filter((attempt) => attempt.deliveryId === deliveryId && attempt.acknowledged).length, 1);
  }
});

test('a sender that gives up says so', async () => {
  const partner = await startPartner(
    { ...quick, deliveries: { retryFirstMs: 10, giveUpAfterMs: 60 } },
    { status: () => 503 },
  );
  const summary = await partner.sandbox.run(4);
  await partner.stop();
  assert.equal(summary.webhooks.givenUp, 2);
});

test('the record file holds every line', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-sandbox-'));
  try {
    const recordFile = join(directory, 'record.ndjson');
    const partner = await startPartner(quick, { recordFile });
    await partner.sandbox.run(8);
    const lines = readFileSync(recordFile, 'utf8').trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      JSON.parse(JSON.stringify(partner.sandbox.record.entries())),
    );
    await partner.stop();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the same seed plays the same world whatever the timing', async () => {
  const worlds = await Promise.all(
    [5, 40].map(async (batchIntervalMs) => {
      const partner = await startPartner({ ...quick, pace: { batchRequests: 3, batchIntervalMs } }, { seed: 11 });
      await partner.sandbox.run(12);
      const requests = partner.sandbox.record.of('request');
      await partner.stop();
      return requests.map(({ requestId, segment, regime, amountCents, rivals }) => {
        return { requestId, segment, regime, amountCents, rates: rivals.map((rival) => rival.rateHundredths) };
      });
    }),
  );
  assert.deepEqual(worlds[0], worlds[1]);
});

test('at least 400 requests a second', async () => {
  const partner = await startPartner({ ...quick, pace: { batchRequests: 25, batchIntervalMs: 50 } });
  const before = performance.now();
  const summary = await partner.sandbox.run(500);
  const seconds = (performance.now() - before - 300) / 1_000;
  await partner.stop();
  assert.equal(summary.webhooks.acknowledged, 40);
  assert.ok(500 / seconds >= 400, `${Math.round(500 / seconds)} requests/s`);
});
