/**
 * A clean run to tamper with: the real sandbox over HTTP, a desk of a few lines that keeps every promise, and views
 * folded by the desk's real ledger into the real embedded store.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createLedger } from '../../../src/bidding/ledger.ts';
import type { BiddingSettings } from '../../../src/config/sections.ts';
import type { DecisionTrace } from '../../../src/domain/offer.ts';
import type { AuctionRecord, CallbackRecord, Requested } from '../../../src/domain/records.ts';
import { sealedPlaces } from '../../../src/domain/vault.ts';
import { viewKeysOf } from '../../../src/sandbox/auditor/audit.ts';
import { type Run, readRun } from '../../../src/sandbox/auditor/run.ts';
import { type AuditSettings, auditSettings, type ViewsRead } from '../../../src/sandbox/auditor/violation.ts';
import { dayNumber, dueDays, loanOf } from '../../../src/sandbox/loan.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import type { Rivals } from '../../../src/sandbox/rivals.ts';
import { bidPath, encodeBid } from '../../../src/wire/bid.ts';
import { encodeLinkDetailQuery, linkDetailPath } from '../../../src/wire/link-queries.ts';
import { readRequestMapping } from '../../../src/wire/mapping-table.ts';
import { readWebhook } from '../../../src/wire/webhook.ts';
import { createTestVault } from '../../wire/vault.ts';
import { startPartner } from '../partner.ts';

/** Everything that an audit reads, as plain data that a test may change. */
export type Evidence = {
  entries: SandboxEntry[];
  log: AuctionRecord[];
  callbacks: CallbackRecord[];
  views: ViewsRead;
};
export type SmallRun = { evidence: Evidence; settings: AuditSettings; rivals: Rivals };

const config = (name: string) => JSON.parse(readFileSync(new URL(`../../../config/${name}`, import.meta.url), 'utf8'));
const bidding = config('default.json').bidding as BiddingSettings;

export async function playSmallRun(): Promise<SmallRun> {
  const partner = await startPartner({
    world: { marginOmittedShare: 0.1, ineligibleShare: 0.1 },
    auction: { windowMs: 4_000, contemplationDelayMs: 10, proposalDelayMs: 10 },
    pace: { batchRequests: 20, batchIntervalMs: 100 },
  });
  const desk = createSmallDesk(partner.call);
  partner.react(({ body, at }) => desk.take(body, at));
  try {
    await partner.sandbox.run(60);
    await desk.idle();
  } finally {
    await partner.stop();
  }
  const { sandbox } = partner;
  const settings = auditSettings(sandbox.settings, { graceMs: bidding.graceMs });
  const entries = [...sandbox.record.entries()];
  const { log, callbacks } = desk;
  const run = await runOf({ entries, log, callbacks });
  const evidence = { entries, log, callbacks, views: await foldViews(log, run, settings) };
  return { evidence, settings, rivals: sandbox.rivals };
}

export function runOf({ entries, log, callbacks }: Pick<Evidence, 'entries' | 'log' | 'callbacks'>): Promise<Run> {
  const numbered = <R>(records: readonly R[]) => records.map((record, offset) => ({ partition: 0, offset, record }));
  return readRun({ record: { entries: () => entries }, log: numbered(log), callbacks: numbered(callbacks) });
}

function createSmallDesk(call: (path: string, body: string) => Promise<{ status: number; text: string }>) {
  const vault = createTestVault();
  const read = readRequestMapping(config('request-mapping.json'));
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  const { mapping } = read;
  const log: AuctionRecord[] = [];
  const callbacks: CallbackRecord[] = [];
  const requestOfBid = new Map<string, string>();
  const underWay: Promise<unknown>[] = [];
  /** Told when the run is over; thrown where it happens it would only stop a socket. */
  const faults: unknown[] = [];
  const guarded = (work: Promise<void>) => work.catch((fault: unknown) => void faults.push(fault));

  const take = (body: string, receivedAt: number) => {
    const reading = readWebhook(body, { mapping, vault, receivedAt, now: Date.now() });
    if (reading.kind !== 'entries') throw new Error(`not understood: ${JSON.stringify(reading)}`);
    for (const { topic, record } of reading.entries) {
      if (topic === 'auctions') log.push(record);
      if (topic === 'auctions' && record.kind === 'requested') underWay.push(guarded(decide(record)));
      if (topic !== 'callbacks') continue;
      callbacks.push(record);
      const requestId = requestOfBid.get(record.requestCode ?? '');
      if ((record.kind === 'contemplated' || record.kind === 'proposed') && requestId !== undefined) {
        log.push({ ...record, requestId });
      }
    }
  };
  const pass = (requestId: string, code: string) => {
    const reasons = [{ code, rule: null, text: `a small desk says ${code}` }];
    log.push({ kind: 'passed', requestId, at: Date.now(), code, claimId: null, reasons, trace: null });
  };
  const decide = async ({ request, requestId, sealed }: Requested): Promise<void> => {
    const { availableMarginCents: marginCents, requestedAmountCents: amountCents, requestedInstallments } = request;
    if (request.eligible !== true) return pass(requestId, 'not-eligible');
    if (marginCents === null) {
      const { identity } = JSON.parse(vault.open(sealedPlaces.request(requestId), sealed));
      const query = encodeLinkDetailQuery({
        identity,
        authorisationNumber: request.authorisationNumber,
        cached: false,
      });
      if (query !== null) await call(linkDetailPath, query);
      return pass(requestId, 'margin-missing');
    }
    const installments = requestedInstallments!;
    const guaranteed = request.guarantee.present === true;
    const rateHundredths = guaranteed ? 175 + (log.length % 20) : 262 + (log.length % 60);
    const installmentCents = installmentOf(amountCents!, rateHundredths, installments);
    if (installmentCents > marginCents) return pass(requestId, 'no-profit');
    await bid(requestId, guaranteed, {
      rateHundredths,
      amountCents: amountCents!,
      installments,
      installmentCents,
      financedCents: amountCents!,
      iofCents: 0,
      cetAnnualHundredths: 0,
      expectedValueCents: 500,
      winProbability: 0.5,
      validUntil: Date.now() + 86_400_000,
    });
  };
  const bid = async (
    requestId: string,
    guaranteed: boolean,
    offer: Parameters<typeof encodeBid>[0]['offer'] & ClaimedOffer,
  ) => {
    const body = encodeBid({ requestId, offer, contacts: [{ kind: 'url', value: 'https://lender.example/offers' }] });
    const claimId = `small:${requestId}`;
    const at = Date.now();
    const trace = traceOf(at, guaranteed);
    log.push({ kind: 'claimed', requestId, at, claimId, instance: 'small', body, offer, trace });
    const response = await call(bidPath, body);
    const bidId: string | undefined = JSON.parse(response.text).Conteudo?.CodigoLanceLeilao;
    if (bidId === undefined) throw new Error(`turned away: ${response.status} ${response.text}`);
    requestOfBid.set(bidId, requestId);
    log.push({
      kind: 'answered',
      requestId,
      at: Date.now(),
      claimId,
      outcome: { kind: 'accepted', bidId },
      attempts: 1,
      earlierAttemptPossible: false,
      firstByteAt: at,
      response: { status: response.status, body: response.text },
    });
  };
  const idle = async () => {
    await Promise.all(underWay);
    if (faults.length > 0) throw faults[0];
  };
  return {
    take: (body: string, receivedAt: number) => void guarded(Promise.try(take, body, receivedAt)),
    log,
    callbacks,
    idle,
  };
}

type ClaimedOffer = Extract<AuctionRecord, { kind: 'claimed' }>['offer'];

function installmentOf(amountCents: number, rateHundredths: number, installments: number): number {
  const [year, month, day] = new Date(Date.now() - 3 * 3_600_000).toISOString().slice(0, 10).split('-').map(Number);
  const releasedOn = dayNumber(year!, month!, day!);
  const due = dueDays(releasedOn, installments, { cutoffDay: 20, dueDay: 7, businessDays: true });
  return loanOf(amountCents, rateHundredths, releasedOn, due).installmentCents;
}

function traceOf(decidedAt: number, guaranteed: boolean): DecisionTrace {
  return {
    decidedAt,
    ruleSetHash: 'rules',
    settingsHash: 'settings',
    curveHash: null,
    segmentKeys: ['all', `all|${guaranteed}`],
    trial: null,
    link: null,
    usage: {},
    shadowPricePerCent: 0,
    caps: [
      { keys: ['desk-day|today'], limitAmountCents: 1_000_000_000, limitCount: null },
      { keys: ['bids-day|today'], limitAmountCents: null, limitCount: 1_000 },
    ],
    rulesFired: [],
    reasons: [],
  };
}

/** The log, folded by the desk's own ledger into a store in a directory that is gone afterwards. */
export async function foldViews(log: readonly AuctionRecord[], run: Run, settings: AuditSettings): Promise<ViewsRead> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-auditor-'));
  const store = await openEmbeddedStore({ directory, onFault: (fault) => console.error(fault.message) });
  try {
    const entries = log.map((record, offset) => ({ partition: 0, offset, key: record.requestId, record }));
    await createLedger(store.views, bidding, store.log).fold({ partition: 0, first: 0, next: entries.length, entries });
    const { requestIds, capKeys, statisticKeys } = viewKeysOf(run, settings);
    const usageAt = Date.now();
    const rows = await store.views.read(requestIds);
    return {
      ledger: [...rows.values()],
      usage: await store.views.usage(capKeys, usageAt),
      usageAt,
      statistics: await store.views.statistics(statisticKeys),
    };
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
  }
}
