/** The auditor holds a log to the rule of windows of hours by its own reading: a loan counts in them after the time of its proposal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { checkReservations, checkViewsExposure, foldExposure } from '../../../src/sandbox/auditor/exposure.ts';
import { readRun } from '../../../src/sandbox/auditor/run.ts';
import { checkSharedCaps } from '../../../src/sandbox/auditor/shared-caps.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import { bidPath } from '../../../src/wire/bid.ts';
import { at, resolved, settings } from '../../bidding/parts.ts';
import { claimAt, hourMs, loanRecords } from '../../conformance/window-caps.ts';

const overAt = at + 136 * hourMs;
/** Without what this version writes beside it: the auditor does not take the desk's word for how long a loan counts. */
const over: AuctionRecord = { ...resolved('expired'), requestId: 'loan', at: overAt, by: 'desk' };

async function runOf(log: readonly AuctionRecord[], sent: readonly { id: string; at: number }[], partitions = 1) {
  const calls = sent.map(({ id, at: arrivedAt }) => {
    return { kind: 'call', path: bidPath, requestId: id, arrivedAt, body: '{}', outcome: 'accepted' };
  });
  const places = log.map((record) => (partitions === 1 || record.requestId === 'loan' ? 0 : 1));
  const next = [0, 0];
  const numbered = log.map((record, index) => {
    const partition = places[index]!;
    next[partition]! += 1;
    return { partition, offset: next[partition]! - 1, record };
  });
  return readRun({ record: { entries: () => calls as unknown as SandboxEntry[] }, log: numbered, callbacks: [] });
}

/** What is said of a second bid at that time. */
async function saidOf(time: number, middle: readonly AuctionRecord[], partitions = 1): Promise<string[]> {
  const claim = claimAt('two', time);
  const request = { ...loanRecords('two')[0]!, at: time - 10 } as AuctionRecord;
  const log = [...loanRecords(), ...middle, request, claim];
  const sent = [
    { id: 'loan', at: at + 100 },
    { id: 'two', at: time + 10 },
  ];
  const run = await runOf(log, sent, partitions);
  const said: string[] = [];
  const exposure = foldExposure(run, settings.graceMs);
  const report = (_: string, requestId: string | null, text: string) => void said.push(`${requestId}: ${text}`);
  if (partitions > 1) checkSharedCaps(run, exposure.promised, 5, report);
  else checkReservations(run, exposure, report);
  return said;
}

test('a bid beyond what a loan leaves of a window of hours is a violation, until the window has passed', async () => {
  for (const partitions of [1, 2]) {
    assert.match(
      (await saidOf(at + 140 * hourMs, [over], partitions)).join(),
      /two: the cap desk\|hour-\d+ had no room/,
    );
    assert.deepEqual(await saidOf(at + 169 * hourMs, [over], partitions), []);
  }
  const withdrawn = { ...resolved('cancelled'), requestId: 'loan', at: at + 139 * hourMs };
  assert.deepEqual(await saidOf(at + 140 * hourMs, [over, withdrawn]), []);
});

test('views that forget a loan when the time of its proposal is over do not hold what the log adds up to', async () => {
  const run = await runOf([...loanRecords(), over], [{ id: 'loan', at: at + 100 }]);
  const fold = foldExposure(run, settings.graceMs);
  const usageAt = at + 140 * hourMs;
  const hour = `desk|hour-${Math.floor(at / hourMs)}`;
  const said: string[] = [];
  const views = { ledger: [], usage: new Map(), usageAt, statistics: new Map() };
  checkViewsExposure(run, fold, views, (_, requestId, text) => void said.push(`${requestId}: ${text}`));
  assert.deepEqual(said, [
    'loan: the views say that its exposure is none, the log says committed',
    `null: under ${hour} the views hold 0 cents for 0 bids, the log adds up to 650000 for 1`,
  ]);
});
