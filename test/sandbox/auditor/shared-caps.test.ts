/** Caps over a log of several partitions: what can be said for certain is a violation, what depends on who was first is none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CapReservation } from '../../../src/domain/offer.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { foldExposure } from '../../../src/sandbox/auditor/exposure.ts';
import { readRun } from '../../../src/sandbox/auditor/run.ts';
import { checkSharedCaps } from '../../../src/sandbox/auditor/shared-caps.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import { bidPath } from '../../../src/wire/bid.ts';

const toleranceMs = 5;
const oneCap: CapReservation[] = [{ keys: ['day'], limitAmountCents: 100, limitCount: null }];

/** Times in ms. A request is known 10 ms before its claim. */
type Plan = {
  id: string;
  partition: number;
  amountCents: number;
  claimedAt: number;
  sentAt?: number;
  releasedAt?: number;
  passedForCapAt?: number;
  validUntil?: number;
  caps?: readonly CapReservation[];
};

function recordsOf(plan: Plan): AuctionRecord[] {
  const { id: requestId, amountCents, claimedAt, releasedAt, passedForCapAt } = plan;
  const common = { requestId, claimId: `claim of ${requestId}` };
  const trace = { caps: plan.caps ?? oneCap, segmentKeys: ['all'] };
  const offer = { amountCents, validUntil: plan.validUntil ?? 1_000_000 };
  const records: Record<string, unknown>[] = [
    {
      ...{ kind: 'requested', requestId, at: claimedAt - 10 },
      request: { receivedAt: claimedAt - 10, requestedAmountCents: amountCents },
    },
    { ...common, kind: 'claimed', at: claimedAt, instance: 'one', body: '{}', offer, trace },
  ];
  if (passedForCapAt !== undefined) {
    records.push({ ...common, kind: 'passed', at: passedForCapAt, code: 'cap', reasons: [], trace: null });
  }
  if (releasedAt !== undefined) {
    const outcome = { kind: 'rejected', code: 'unclassified' };
    records.push({ ...common, kind: 'answered', at: releasedAt, outcome, attempts: 1, earlierAttemptPossible: false });
  }
  return records as unknown as AuctionRecord[];
}

async function violationsOf(plans: readonly Plan[]): Promise<string[]> {
  const log = [0, 1].flatMap((partition) =>
    plans
      .filter((plan) => plan.partition === partition)
      .flatMap(recordsOf)
      .sort((a, b) => a.at - b.at)
      .map((record, offset) => ({ partition, offset, record })),
  );
  const calls = plans.flatMap(({ id, sentAt }) =>
    sentAt === undefined
      ? []
      : [{ kind: 'call', path: bidPath, requestId: id, arrivedAt: sentAt, body: '{}', outcome: 'accepted' }],
  );
  const run = await readRun({
    record: { entries: () => calls as unknown as SandboxEntry[] },
    log,
    callbacks: [],
  });
  const found: string[] = [];
  checkSharedCaps(run, foldExposure(run, 0).promised, toleranceMs, (code, requestId, text) => {
    assert.equal(code, 'exposure');
    found.push(`${requestId}: ${/went out/.test(text) ? 'over' : 'denied'}`);
  });
  return found;
}

const early: Plan = { id: 'early', partition: 0, amountCents: 60, claimedAt: 1_000, sentAt: 1_020 };
const late: Plan = { id: 'late', partition: 1, amountCents: 60, claimedAt: 2_000, sentAt: 2_020 };
/** Claimed in the partition of `early` by a process that has folded what stands before it there. */
const witness: Plan = { id: 'witness', partition: 0, amountCents: 1, claimedAt: 1_800, sentAt: 1_820 };
const denied: Plan = { id: 'late', partition: 1, amountCents: 60, claimedAt: 2_000, passedForCapAt: 2_020 };

test('a bid that went out while another partition surely promised too much is over the cap', async () => {
  assert.deepEqual(await violationsOf([early, late]), ['late: over']);
  assert.deepEqual(await violationsOf([{ ...early, amountCents: 40 }, late]), []);
  assert.deepEqual(await violationsOf([{ ...early, releasedAt: 2_500 }, late]), ['late: over']);
});

test('released before the bid went out, nobody knows which was folded first', async () => {
  for (const releasedAt of [1_500, 1_990, 2_005]) {
    assert.deepEqual(await violationsOf([{ ...early, releasedAt }, late]), [], String(releasedAt));
  }
});

test('a claim that was never sent counts for certain once a later one of its partition was made', async () => {
  const { sentAt: _, ...unsent } = early;
  assert.deepEqual(await violationsOf([unsent, late]), []);
  assert.deepEqual(await violationsOf([unsent, witness, late]), ['late: over']);
});

test('what ran out is not promised any more', async () => {
  assert.deepEqual(await violationsOf([{ ...early, validUntil: 1_999 }, late]), []);
  assert.deepEqual(await violationsOf([{ ...early, validUntil: 1_990 }, denied]), ['late: denied']);
});

test('room was denied that there was, when all that may have been promised leaves some', async () => {
  assert.deepEqual(await violationsOf([witness, denied]), ['late: denied']);
  assert.deepEqual(await violationsOf([early, denied]), []);
  // Released long before, but by the log nobody need have folded that yet.
  assert.deepEqual(await violationsOf([{ ...early, releasedAt: 1_500 }, denied]), []);
  assert.deepEqual(await violationsOf([{ ...early, releasedAt: 1_500 }, witness, denied]), ['late: denied']);
  assert.deepEqual(await violationsOf([{ ...early, releasedAt: 1_900 }, witness, denied]), []);
});

test('whoever claims between a claim and its pass may have had the room', async () => {
  const rival = { id: 'rival', partition: 0, amountCents: 60, sentAt: 2_200 };
  assert.deepEqual(await violationsOf([{ ...rival, claimedAt: 2_010 }, denied]), []);
  assert.deepEqual(await violationsOf([{ ...rival, claimedAt: 2_100 }, denied]), ['late: denied']);
});

test('caps of several buckets and caps by number are counted alike', async () => {
  const hours = (own: string, limitCount: number): CapReservation[] => [
    { keys: [own, own === 'hour 1' ? 'hour 2' : 'hour 1'], limitAmountCents: null, limitCount },
  ];
  const one = { ...early, caps: hours('hour 1', 9) };
  assert.deepEqual(await violationsOf([one, { ...late, caps: hours('hour 2', 1) }]), ['late: over']);
  assert.deepEqual(await violationsOf([one, { ...late, caps: hours('hour 2', 2) }]), []);
  assert.deepEqual(await violationsOf([one, { ...denied, caps: hours('hour 2', 2) }]), ['late: denied']);
});
