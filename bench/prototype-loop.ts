/**
 * The cheapest known program with our promises, as the fair ceiling: requests are mapped and sealed by the same code and durable before
 * they are acknowledged, priced by the same decision, claimed durably before the bid is sent, answers and ends are durable and
 * learnt from, and each request has a row. What it lacks is all that a crash, a second process, an operator or a fault of the
 * service needs. One process with a thread that writes.
 */
import { Pool } from 'undici';
import { createVault } from '../src/adapters/vault/vault.ts';
import type { Histogram } from '../src/domain/histogram.ts';
import type { Trial } from '../src/domain/offer.ts';
import type { Ended, Requested } from '../src/domain/records.ts';
import { readWebhook } from '../src/wire/webhook.ts';
import { createBidSender, serveBodies } from './bare-edges.ts';
import { startLog } from './bare-log.ts';
import { createDecider, foldLessons } from './decider.ts';
import { shippedMapping } from './workload.ts';

type Options = { path: string; rulesDir: string; baseUrl: string; sendLimit: number };

/** What is at hand of a request until its auction ends. */
type Open = {
  phase: 'passed' | 'claimed' | 'answered';
  segmentKeys: readonly string[];
  trial: Trial | null;
};

async function serve({ path, rulesDir, baseUrl, sendLimit }: Options): Promise<void> {
  const { config, decide, encode } = createDecider(Date.now(), rulesDir);
  const mapping = shippedMapping();
  const vault = createVault(config.pseudonymKey);
  const { halfLifeMs } = config.bidding;
  const { append, keep } = await startLog(path);
  const pool = new Pool(baseUrl, { connections: sendLimit, pipelining: 1, allowH2: false });
  const send = createBidSender(pool);
  const open = new Map<string, Open>();
  const requestOf = new Map<string, string>();
  const statistics = new Map<string, Histogram>();
  const queue: { requestId: string; body: string; text: string }[] = [];
  let busy = 0;

  const note = (requestId: string, row: Open): void => {
    open.set(requestId, row);
    keep(requestId, JSON.stringify(row));
  };

  const place = async (requestId: string, body: string): Promise<void> => {
    const answer = await send(body);
    busy -= 1;
    pump();
    const { Conteudo } = JSON.parse(answer) as { Conteudo: { CodigoLanceLeilao: string } };
    const { CodigoLanceLeilao: bidId } = Conteudo;
    requestOf.set(bidId, requestId);
    const outcome = { kind: 'accepted', bidId };
    const sealedBody = vault.seal({ topic: 'auctions', key: requestId, field: 'response' }, answer);
    const record = { kind: 'answered', requestId, at: Date.now(), outcome, response: { status: 200, sealedBody } };
    note(requestId, { ...open.get(requestId)!, phase: 'answered' });
    await append([requestId], [JSON.stringify(record)]);
  };
  const claim = async (claims: readonly { requestId: string; body: string; text: string }[]): Promise<void> => {
    await append(
      claims.map(({ requestId }) => requestId),
      claims.map(({ text }) => text),
    );
    for (const { requestId, body } of claims) void place(requestId, body);
  };
  const pump = (): void => {
    const claims = queue.splice(0, sendLimit - busy);
    busy += claims.length;
    if (claims.length > 0) void claim(claims);
  };
  const judge = ({ requestId, request }: Requested): void => {
    const draft = decide(request);
    if (draft.kind !== 'offer') {
      const { code, reasons, trace } = draft;
      note(requestId, { phase: 'passed', segmentKeys: trace?.segmentKeys ?? [], trial: null });
      const record = { kind: 'passed', requestId, at: Date.now(), code, claimId: null, reasons, trace };
      void append([requestId], [JSON.stringify(record)]);
      return;
    }
    const { offer, trace } = draft;
    const body = encode(requestId, offer);
    const text = JSON.stringify({ kind: 'claimed', requestId, at: Date.now(), claimId: '', body, offer, trace });
    note(requestId, { phase: 'claimed', segmentKeys: trace.segmentKeys, trial: trace.trial ?? null });
    queue.push({ requestId, body, text });
  };
  const learn = ({ requestId, bids, at }: Ended): void => {
    const known = open.get(requestId);
    open.delete(requestId);
    if (known === undefined) return;
    const best = bids.find(({ bidId }) => !requestOf.has(bidId));
    if (best === undefined) return;
    const learnt = {
      segmentKeys: known.segmentKeys,
      trial: known.trial,
      bestRivalCell: best.rateHundredths,
      bestRivalOffGrid: false,
      wonHundredths: null,
      at,
      halfLifeMs,
    };
    foldLessons(statistics, learnt);
  };

  serveBodies(async (body) => {
    const now = Date.now();
    const reading = readWebhook(body, { mapping, vault, receivedAt: now, now });
    if (reading.kind !== 'entries') throw new Error(`a webhook was read as ${reading.kind}`);
    const { entries } = reading;
    await append(
      entries.map(({ key }) => key),
      entries.map(({ topic, record, text }) =>
        topic === 'callbacks' ? JSON.stringify({ ...record, kind: 'told' }) : (text ?? JSON.stringify(record)),
      ),
    );
    for (const { topic, record } of entries) {
      if (topic === 'auctions' && record.kind === 'requested') judge(record);
      if (topic === 'auctions' && record.kind === 'ended') learn(record);
      if (topic !== 'callbacks' || (record.kind !== 'contemplated' && record.kind !== 'proposed')) continue;
      const requestId = requestOf.get(record.requestCode)!;
      void append([requestId], [JSON.stringify({ ...record, requestId })]);
    }
    pump();
  });
}

await serve(JSON.parse(process.argv[2]!) as Options);
