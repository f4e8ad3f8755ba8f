import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedCauses } from '../../../src/bidding/bidding-status.ts';
import { type Limits, noLimits } from '../../../src/domain/policy.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import {
  type ClairvoyantSettings,
  clairvoyantSurplus,
  defaultClairvoyant,
} from '../../../src/sandbox/auditor/clairvoyant.ts';
import { type Run, readRun } from '../../../src/sandbox/auditor/run.ts';
import { realisedSurplus, trueWorth, winAgainst } from '../../../src/sandbox/auditor/surplus.ts';
import { dayNumber } from '../../../src/sandbox/loan.ts';
import { requestAt } from '../../../src/sandbox/population.ts';
import type { EmittedRequest, SandboxEntry } from '../../../src/sandbox/record.ts';
import { modelRivals, winProbability } from '../../../src/sandbox/rivals.ts';
import { defaultWorld as world } from '../../../src/sandbox/world.ts';
import { bidPath } from '../../../src/wire/bid.ts';

const rivals = modelRivals(world, 'clairvoyant');
const truth = { world, rivals };
const startsAt = Date.UTC(2026, 8, 3, 15);

function emitted(index: number, planned: number): EmittedRequest {
  const request = requestAt(world, 'clairvoyant', index, planned);
  return {
    ...request,
    kind: 'request',
    batchId: 'batch',
    eligible: true,
    politicallyExposed: false,
    tenureDays: 1,
    ageDays: 1,
    marginCents: request.worker.marginCents,
    releasedOn: dayNumber(2026, 9, 3),
    startsAt,
    deadlineAt: startsAt + 30_000,
    expiresAt: startsAt + 60_000,
    rivals: rivals.bidsOn(index, request.segment, request.regime).map(({ lender, rateHundredths }) => {
      return { lender, rateHundredths, placedAt: startsAt };
    }),
  };
}

function heardOf({ requestId }: EmittedRequest): AuctionRecord {
  return { kind: 'requested', requestId, at: startsAt, request: {} as never, sealed: '', rawHash: '' };
}

function runOf(entries: readonly SandboxEntry[], log: readonly AuctionRecord[]): Promise<Run> {
  const numbered = log.map((record, offset) => ({ partition: 0, offset, record }));
  return readRun({ record: { entries: () => entries }, log: numbered, callbacks: [] });
}

function settingsWith(limits: Partial<Limits> = {}): ClairvoyantSettings {
  return {
    ...defaultClairvoyant,
    limitsOf: ({ segment }) => ({ ...noLimits, maxRateHundredths: segment.guaranteed ? 199 : null, ...limits }),
  };
}

/** Every rate computed exactly: slow, and without any of the clairvoyant's shortcuts. */
function bestByTrying(request: EmittedRequest): { rate: number; expected: number; wonCents: number } | null {
  const rival = rivals.bestRival(request.segment, request.regime);
  let best: { rate: number; expected: number; wonCents: number } | null = null;
  for (let rate = 2; rate <= (request.segment.guaranteed ? 199 : 497); rate += 1) {
    let amountCents = request.amountCents;
    const at = () =>
      trueWorth(truth, request, { rateHundredths: rate, amountCents, installments: request.installments });
    for (let worth = at(); worth.installmentCents > request.marginCents - 1; worth = at()) {
      amountCents = Math.floor((amountCents * (request.marginCents - 1)) / worth.installmentCents);
    }
    if (amountCents < request.amountCents / 2) continue;
    const most = amountCents;
    // In steps from the least to the most, then by the cent around the best of them.
    const steps = request.segment.guaranteed ? 100 : 0;
    const step = (most - request.amountCents / 2) / 100;
    let near = { amountCents: most, wonCents: Number.NEGATIVE_INFINITY };
    const look = (cents: number) => {
      amountCents = Math.min(most, Math.max(Math.ceil(request.amountCents / 2), Math.floor(cents)));
      const { wonCents } = at();
      if (wonCents > near.wonCents) near = { amountCents, wonCents };
    };
    for (let tried = 0; tried <= steps; tried += 1) look(most - tried * step);
    const win = winProbability(rival, rate);
    const isNear = win * near.wonCents - world.economics.bidCostCents > (best?.expected ?? 0) - 30;
    const middle = near.amountCents;
    if (steps > 0 && isNear) for (let cents = middle - step; cents <= middle + step; cents += step / 60) look(cents);
    const expected = win * near.wonCents - world.economics.bidCostCents;
    if (expected > (best?.expected ?? 0)) best = { rate, expected, wonCents: near.wonCents };
  }
  return best;
}

test('the clairvoyant bids what trying every rate finds best, request by request', async () => {
  const requests = Array.from({ length: 36 }, (_, index) => emitted(index, 36));
  let bids = 0;
  for (const request of requests) {
    const best = bestByTrying(request);
    const score = clairvoyantSurplus(await runOf([request], [heardOf(request)]), truth, settingsWith());
    assert.equal(score.bids, best === null ? 0 : 1);
    if (best === null) continue;
    bids += 1;
    const own = winAgainst(request.rivals, best.rate) * best.wonCents - world.economics.bidCostCents;
    // Where the amount is open, neighbouring rates earn the same to a hundredth of a cent in expectation.
    assert.ok(
      Math.abs(score.surplusCents - own) < (request.segment.guaranteed ? 10 : 2),
      `${request.requestId}: ${score.surplusCents}, by trying ${own}`,
    );
  }
  assert.ok(bids > 20, `${bids} bids`);
});

test('ties count half, and better rivals everything', () => {
  assert.equal(winAgainst([], 300), 1);
  assert.equal(winAgainst([{ rateHundredths: 301 }], 300), 1);
  assert.equal(winAgainst([{ rateHundredths: 300 }, { rateHundredths: 300 }], 300), 0.5);
  assert.equal(winAgainst([{ rateHundredths: 299.5 }], 300), 0);
});

test('realised surplus is win times true worth less the cost of the bid; a bid turned away costs too', async () => {
  const drawn = Array.from({ length: 20 }, (_, index) => emitted(index, 20)).find(
    (one) => one.segment.tenure === 'long' && !one.segment.guaranteed,
  )!;
  const request = { ...drawn, rivals: [{ lender: 'rio', rateHundredths: 310, placedAt: startsAt }] };
  const { requestId, amountCents, installments } = request;
  const body = (rate: number) =>
    `{"numeroSolicitacao":${requestId},"dataHoraValidadeLance":"2026-09-04T12:00:00","contatos":[],"valorLiberado":${amountCents / 100},"numeroParcelas":${installments},"valorTaxaMensal":${rate}}`;
  const call = (rate: number, outcome: string): SandboxEntry => ({
    kind: 'call',
    path: bidPath,
    requestId,
    sha256: '0',
    body: body(rate),
    arrivedAt: startsAt,
    arrivedMonotonicMs: 0,
    authorised: true,
    landed: true,
    outcome,
    requestCode: 'code',
    fault: null,
  });
  const surplus = async (rate: number, outcome: string) =>
    realisedSurplus(await runOf([request, call(rate, outcome)], []), truth);
  const worth = (rateHundredths: number) =>
    trueWorth(truth, request, { rateHundredths, amountCents, installments }).wonCents;
  const cost = world.economics.bidCostCents;
  assert.ok(Math.abs((await surplus(3.09, 'accepted')) - (worth(309) - cost)) < 1e-6);
  assert.ok(Math.abs((await surplus(3.1, 'accepted')) - (worth(310) / 2 - cost)) < 1e-6);
  assert.equal(await surplus(3.11, 'accepted'), -cost);
  assert.equal(await surplus(3.09, 'request-expired'), -cost);
  assert.ok(worth(309) > 0);
});

test('rule passes are left out; passes that are the desk’s own doing are not', async () => {
  const requests = Array.from({ length: 6 }, (_, index) => emitted(index, 6));
  const pass = ({ requestId }: EmittedRequest, code: string): AuctionRecord => {
    const reasons = [{ code, rule: null, text: code }];
    return { kind: 'passed', requestId, at: startsAt, code, claimId: null, reasons, trace: null };
  };
  const codes = ['tenure-short', 'cap', 'overload', 'no-profit', 'deadline'];
  const log = [...requests.slice(0, 5).map(heardOf), ...codes.map((code, index) => pass(requests[index]!, code))];
  const score = clairvoyantSurplus(await runOf(requests, log), truth, settingsWith());
  assert.equal(score.requests, 3, 'two rule passes, and one request that the desk never heard of');
});

test('what ended because the service or the log gave way is counted as before; a pause is not', async () => {
  const requests = Array.from({ length: closedCauses.length }, (_, index) => emitted(index, closedCauses.length));
  const log = closedCauses.flatMap((code, index) => {
    const { requestId } = requests[index]!;
    const reasons = [{ code, rule: null, text: code }];
    const end: AuctionRecord = { kind: 'passed', requestId, at: startsAt, code, claimId: null, reasons, trace: null };
    return [heardOf(requests[index]!), end];
  });
  const score = clairvoyantSurplus(await runOf(requests, log), truth, settingsWith());
  assert.equal(score.requests, closedCauses.length - 2, 'all but paused, and stopping, which ends nothing');
});

test('limits bind the clairvoyant as well', async () => {
  const requests = Array.from({ length: 40 }, (_, index) => emitted(index, 40));
  const run = await runOf(requests, requests.map(heardOf));
  const free = clairvoyantSurplus(run, truth, settingsWith());
  assert.equal(clairvoyantSurplus(run, truth, settingsWith({ maxInstallments: 5 })).bids, 0);
  assert.equal(clairvoyantSurplus(run, truth, settingsWith({ maxRateHundredths: 100 })).bids, 0);
  assert.equal(clairvoyantSurplus(run, truth, settingsWith({ minProfitCents: 1e9 })).bids, 0);
  assert.equal(clairvoyantSurplus(run, truth, settingsWith({ minInstallmentCents: 1e9 })).bids, 0);
  assert.ok(clairvoyantSurplus(run, truth, settingsWith({ maxMarginShare: 0.3 })).bids < free.bids);
});

test('5000 requests are scored within 2 s of processor time', async (context) => {
  const requests = Array.from({ length: 5_000 }, (_, index) => emitted(index, 5_000));
  const run = await runOf(requests, requests.map(heardOf));
  const before = process.cpuUsage();
  const score = clairvoyantSurplus(run, truth, settingsWith());
  const took = process.cpuUsage(before).user / 1_000;
  context.diagnostic(`figure: clairvoyant of 5000 requests ${took.toFixed(0)} ms, ${score.bids} bids`);
  assert.ok(score.surplusCents > 0);
  assert.ok(took < 2_000, `${took} ms`);
});
