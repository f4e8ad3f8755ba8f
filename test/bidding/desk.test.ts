/** The engine whole, against the played service with faults; the auditor judges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isQuiet } from '../../src/cli/demo.ts';
import { judge } from '../../src/cli/judge.ts';
import { isSettled } from '../../src/domain/states.ts';
import { bidPath } from '../../src/wire/bid.ts';
import batch from '../examples/webhooks/requests-batch.json' with { type: 'json' };
import { type House, openHouse } from './house.ts';

const windowMs = 1_200;
const auction = { windowMs, expiryMs: 10 * windowMs };
const bidding = {
  windowMs,
  skewAllowanceMs: 200,
  resultTimeoutMs: 4_000,
  contemplationTimeoutMs: 20_000,
  marginWaitMs: 600,
  retryFirstMs: 40,
  retryMaxMs: 200,
};

/** Until nothing is open that could still end by itself, and what the service told is with its request. */
async function untilSettled({ engine, store }: House): Promise<void> {
  for (let polls = 0; polls < 100; polls += 1) {
    if (await isQuiet(engine.desk!, store)) return;
    await setTimeout(50);
  }
}

test('with lost answers, errors and doubled webhooks: every request ends, nothing is violated', async () => {
  const house = await openHouse({
    seed: 11,
    sandbox: {
      auction,
      pace: { batchRequests: 10, batchIntervalMs: 300 },
      faults: {
        bids: { delayMaxMs: 20, errorBefore: 0.1, errorAfter: 0.1, dropAfter: 0.15, garbage: 0.05, throttled: 0.03 },
        webhooks: { duplicate: 0.3, reorder: 0.2 },
      },
    },
    bidding,
  });
  try {
    await house.sandbox.run(60);
    await untilSettled(house);
    const report = await judge({ ...house, now: Date.now() });
    assert.deepEqual(report.violations, []);
    const states = await house.store.views.query({ phase: null, limit: 1_000, before: null });
    // A rival with our very rate, amount and term leaves it open which of two bids was ours: that is no want of an end.
    const open = states.filter(({ state }) => !isSettled(state.phase) && state.phase !== 'ambiguous');
    assert.deepEqual(
      open.map(({ state }) => [state.phase, state.answer]),
      [],
    );
    assert.equal(report.unsettled, states.filter(({ state }) => state.phase === 'ambiguous').length);
    assert.equal(report.requests, 60);
    assert.ok(report.bids >= 20, `${report.bids} bids`);
    const faults = house.sandbox.record.of('call').filter(({ fault }) => fault !== null);
    assert.ok(faults.length > 0, 'no fault happened');
  } finally {
    await house.close();
  }
});

test('a pause stops sending within a second; what was not sent passes as paused', async () => {
  const house = await openHouse({
    seed: 12,
    sandbox: { auction, pace: { batchRequests: 4, batchIntervalMs: 100 } },
    bidding,
  });
  try {
    const running = house.sandbox.run(120);
    const bidsSent = () => house.sandbox.record.of('call').filter(({ path }) => path.endsWith(bidPath));
    for (let polls = 0; bidsSent().length < 10 && polls < 300; polls += 1) await setTimeout(20);
    await house.store.control.setPause({ by: 'ana', reason: 'a look at the rules', at: Date.now() });
    const pausedAt = Date.now();
    await setTimeout(1_000);
    assert.equal(house.engine.desk!.status().gate, 'paused');
    await running;
    await untilSettled(house);
    const late = bidsSent().filter(({ arrivedAt }) => arrivedAt > pausedAt + 1_000);
    assert.deepEqual(
      late.map(({ arrivedAt }) => arrivedAt - pausedAt),
      [],
    );
    const report = await judge({ ...house, now: Date.now() });
    assert.deepEqual(report.violations, []);
    assert.equal(report.unsettled, 0);
    assert.ok((report.passed.paused ?? 0) > 0);
  } finally {
    await house.close();
  }
});

test('a service whose answers take a tenth of an auction is named, and nothing is closed for it', async () => {
  const house = await openHouse({
    seed: 16,
    sandbox: {
      auction: { windowMs: 3_000, expiryMs: 30_000 },
      pace: { batchRequests: 20, batchIntervalMs: 100 },
      faults: { bids: { delayMinMs: 400, delayMaxMs: 450 } },
    },
    bidding: { ...bidding, windowMs: 3_000 },
  });
  try {
    await house.sandbox.run(60);
    await untilSettled(house);
    const asked = async (path: string) => (await fetch(`${house.engine.url}${path}`)).text();
    const { slowAnswers, bidding: status } = JSON.parse(await asked('/status'));
    assert.equal(status.kind, 'open');
    const { medianMs, of, windowMs: auctionMs } = slowAnswers;
    assert.ok(of >= 10 && auctionMs === 3_000 && medianMs >= 390 && medianMs < 3_000, JSON.stringify(slowAnswers));
    assert.match(await asked('/readyz?verbose'), /^\[!\] service: .*; SLOW: half of the last \d+ bids waited/m);
  } finally {
    await house.close();
  }
});

test('a cap by hand that is set while offers wait binds them (stranger, session 38)', async () => {
  const house = await openHouse({
    seed: 15,
    sandbox: { auction: { windowMs: 20_000, expiryMs: 60_000 }, pace: { batchRequests: 20, batchIntervalMs: 50 } },
    bidding: { ...bidding, windowMs: 20_000 },
  });
  const { control } = house.store;
  const word = { by: 'ana', reason: 'a look at the rules', at: Date.now() };
  const isObeyed = async (revision: number) => {
    for (let polls = 0; polls < 300; polls += 1) {
      const [told] = await control.acknowledged();
      if (told !== undefined && told.revision >= revision) return;
      await setTimeout(20);
    }
    assert.fail('the order was not obeyed');
  };
  try {
    await control.setPause(word);
    await isObeyed(await control.setCap('day', 100_000_00, word));
    const running = house.sandbox.run(60);
    for (let polls = 0; house.engine.desk!.status().queued < 12 && polls < 300; polls += 1) await setTimeout(20);
    const { queued } = house.engine.desk!.status();
    assert.ok(queued >= 12, `${queued} queued`);
    const capCents = 5_000_00;
    await isObeyed(await control.setCap('day', capCents, word));
    await control.resume(word);
    await setTimeout(1_500);
    await running;
    const rows = await house.store.views.query({ phase: null, limit: 1_000, before: null });
    const sent = rows.flatMap(({ state }) => (state.claim !== null && state.pass === null ? [state.claim] : []));
    const sentCents = sent.reduce((sum, { offer }) => sum + offer.amountCents, 0);
    assert.ok(sentCents > 0 && sentCents <= capCents, `${sent.length} bids of ${sentCents} cents`);
  } finally {
    await house.close();
  }
});

test('a request whose auction ends while bidding is closed has the cause as its code, and one wait', async () => {
  const house = await openHouse({ seed: 14, sandbox: { auction }, bidding: { ...bidding, windowMs: 30_000 } });
  const send = async (body: object): Promise<number> => {
    const url = `${house.engine.url}/webhooks/token-of-the-webhooks`;
    return (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status;
  };
  try {
    await house.store.control.setPause({ by: 'ana', reason: 'a look at the rules', at: Date.now() });
    for (let polls = 0; house.engine.desk!.gate() !== 'paused' && polls < 300; polls += 1) await setTimeout(20);
    const receivedAt = Date.now();
    const { dataHoraValidadeSolicitacao: _, ...terms } = batch.in.Solicitacoes[0]!;
    const request = { ...terms, numeroSolicitacao: 700 };
    assert.equal(await send({ CodigoLote: 'L', Solicitacoes: [request] }), 200);
    await setTimeout(300);
    const end = { CodigoLote: 'L', Solicitacoes: [{ NumeroSolicitacao: '700', Lances: [] }] };
    assert.equal(await send({ Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes', Payload: end }), 200);
    for (let polls = 0; polls < 300; polls += 1) {
      const [row] = await house.store.views.query({ phase: 'passed', limit: 1, before: null });
      if (row === undefined) {
        await setTimeout(20);
        continue;
      }
      const { pass } = row.state;
      assert.equal(pass?.code, 'paused');
      assert.match(pass!.reasons[0]!.text, /the auction had ended before it was decided \(paused\)/);
      const history = await house.store.log.readKey('auctions', '700');
      const passed = history.flatMap(({ record }) => (record.kind === 'passed' ? [record] : []));
      const waits = passed[0]!.hindrances!.filter(({ kind }) => kind === 'wait');
      assert.deepEqual(
        waits.map(({ cause }) => cause),
        ['paused'],
      );
      assert.ok(waits[0]!.from >= receivedAt - 1_000 && waits[0]!.until <= Date.now());
      return;
    }
    assert.fail('the request did not end');
  } finally {
    await house.close();
  }
});

test('a request that could not be read is decided when a copy comes that can, and ends when none comes', async () => {
  const house = await openHouse({ seed: 15, sandbox: { auction }, bidding: { ...bidding, windowMs: 30_000 } });
  const send = async (request: object): Promise<number> => {
    const url = `${house.engine.url}/webhooks/token-of-the-webhooks`;
    const body = JSON.stringify({ CodigoLote: 'L', Solicitacoes: [request] });
    return (await fetch(url, { method: 'POST', body })).status;
  };
  const phaseOf = async (id: string) => (await house.store.views.read([id])).get(id)?.state.phase;
  try {
    const { dataHoraValidadeSolicitacao: _, ...terms } = batch.in.Solicitacoes[0]!;
    for (const numeroSolicitacao of [700, 701])
      assert.equal(await send({ ...terms, numeroSolicitacao, DataHoraFimLeilao: 'logo' }), 202);
    for (let polls = 0; (await phaseOf('701')) !== 'passed' && polls < 300; polls += 1) await setTimeout(20);
    assert.equal(await send({ ...terms, numeroSolicitacao: 700 }), 200);
    const decided = async () => {
      const records = (await house.store.log.readKey('auctions', '700')).map(({ record }) => record);
      return records.find((record) => record.kind === 'claimed' || (record.kind === 'passed' && !record.unread));
    };
    for (let polls = 0; (await decided()) === undefined && polls < 300; polls += 1) await setTimeout(20);
    assert.notEqual(await decided(), undefined);
    const [left] = await house.store.views.query({ phase: 'passed', limit: 1, before: null });
    assert.deepEqual([await phaseOf('701'), left?.state.pass?.code], ['passed', 'request-unusable']);
  } finally {
    await house.close();
  }
});
