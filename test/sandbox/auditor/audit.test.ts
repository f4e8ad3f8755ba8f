import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { noLimits } from '../../../src/domain/policy.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { audit } from '../../../src/sandbox/auditor/audit.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import { type Evidence, playSmallRun, runOf, type SmallRun } from './small-run.ts';
import { after, callOf, entryOf, judged, named, only, recordOf, without } from './tamper.ts';

let small: SmallRun;

before(async () => {
  small = await playSmallRun();
});

const judge = (...rest: Parameters<typeof judged> extends [SmallRun, ...infer R] ? R : never) => judged(small, ...rest);

test('a clean run has no violation, and the ledger folded by the desk agrees with the auditor', async () => {
  const run = await runOf(small.evidence);
  const { violations, counts } = audit(run, small.settings, small.evidence.views);
  assert.deepEqual(violations, []);
  assert.equal(counts.requests, 60);
  assert.equal(counts.acknowledged, 60);
  assert.ok(counts.calls >= 15, `${counts.calls} bids`);
  assert.ok(
    (counts.ends.lost ?? 0) > 0 && (counts.ends.proposed ?? 0) > 0 && (counts.ends.passed ?? 0) > 0,
    JSON.stringify(counts),
  );
  assert.equal(
    Object.values(counts.ends).reduce((sum, count) => sum + count, 0),
    60,
  );
});

test('two-payloads: the same request arrived in another form', async () => {
  let id = '';
  const violations = await judge((evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    const entry = { ...call, sha256: 'f'.repeat(64), outcome: 'duplicate' };
    evidence.entries.push(entry);
  });
  only(violations, 'two-payloads', id, /2 forms/);
});

test('late-first-byte: bytes at the deadline, and a bid taken outside unless that is allowed', async () => {
  let id = '';
  const late = (outcome: string) => (evidence: Evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    evidence.entries.push({
      ...call,
      outcome,
      arrivedAt: entryOf(evidence, 'request', (r) => r.requestId === id).deadlineAt,
    });
  };
  only(await judge(late('duplicate')), 'late-first-byte', id, /0 ms after the deadline/);
  const outside = (evidence: Evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    call.outcome = 'accepted-outside';
    call.arrivedAt = entryOf(evidence, 'request', (r) => r.requestId === id).deadlineAt + 7;
  };
  only(await judge(outside), 'late-first-byte', id, /7 ms after/);
  const allowed = await judge(outside, { allowOutside: true });
  assert.deepEqual(allowed, []);
});

test('sent-after-end: bytes that came after the end of their auction had been taken, whatever the deadline was (stranger 15)', async () => {
  let id = '';
  const taken = (msBefore: number, acknowledged: boolean) => (evidence: Evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    const told = entryOf(evidence, 'delivery', ({ what, requestIds }) => what === 'ended' && requestIds.includes(id));
    const attempt = entryOf(evidence, 'attempt', ({ deliveryId }) => deliveryId === told.deliveryId);
    const deliveryId = 'told before';
    evidence.entries.push({ ...told, deliveryId, requestIds: [id] });
    evidence.entries.push({ ...attempt, deliveryId, acknowledged, answeredAt: call.arrivedAt - msBefore });
  };
  only(await judge(taken(2_106, true)), 'sent-after-end', id, /2106 ms after the end of its auction was taken/);
  // On its way, or not taken.
  assert.deepEqual(await judge(taken(2_105, true)), []);
  assert.deepEqual(await judge(taken(60_000, false)), []);
});

const otherBodies: readonly [string, (body: string) => string, RegExp][] = [
  [
    'a rate above the grid',
    (body) => body.replace(/"valorTaxaMensal":[\d.]+/, '"valorTaxaMensal":4.98'),
    /498 hundredths is not on the grid/,
  ],
  [
    'a rate below the grid',
    (body) => body.replace(/"valorTaxaMensal":[\d.]+/, '"valorTaxaMensal":0.01'),
    /1 hundredths is not on the grid/,
  ],
  [
    'a rate between two cells',
    (body) => body.replace(/"valorTaxaMensal":[\d.]+/, '"valorTaxaMensal":2.905'),
    /290.5 hundredths/,
  ],
  [
    'more than was asked',
    (body) => body.replace(/"valorLiberado":([\d.]+)/, (_, amount) => `"valorLiberado":${Number(amount) + 0.01}`),
    /cents offered/,
  ],
  ['another term', (body) => body.replace(/"numeroParcelas":\d+/, '"numeroParcelas":95'), /95 instalments offered/],
  [
    'a validity of 8 days',
    (body) =>
      body.replace(
        /"dataHoraValidadeLance":"[^"]+"/,
        `"dataHoraValidadeLance":"${new Date(Date.now() + 8 * 86_400_000).toISOString().slice(0, 19)}"`,
      ),
    /valid for longer/,
  ],
  [
    'a validity that is over',
    (body) => body.replace(/"dataHoraValidadeLance":"[^"]+"/, '"dataHoraValidadeLance":"2020-01-01T00:00:00"'),
    /not valid any more/,
  ],
  ['bytes that are no bid', () => '{"numeroSolicitacao":1}', /not a bid/],
];
for (const [name, change, text] of otherBodies) {
  test(`outside-limits: ${name}`, async () => {
    let id = '';
    const violations = await judge((evidence) => {
      const call = callOf(evidence);
      id = call.requestId!;
      call.body = change(call.body);
      recordOf(evidence, 'claimed', id).body = call.body;
    });
    only(violations, 'outside-limits', id, text);
  });
}

test('outside-limits: an instalment one cent above the margin, by the auditor’s own arithmetic', async () => {
  let id = '';
  const withMargin = (slack: number) =>
    judge((evidence) => {
      id = callOf(evidence).requestId!;
      const { installmentCents } = recordOf(evidence, 'claimed', id).offer;
      entryOf(evidence, 'request', (request) => request.requestId === id).marginCents = installmentCents + slack;
    });
  assert.deepEqual(await withMargin(0), []);
  only(await withMargin(-1), 'outside-limits', id, /does not fit/);
});

test('outside-limits: the guarantee ceiling, and limits given by the risk team', async () => {
  const isGuaranteed = (evidence: Evidence, id: string) =>
    entryOf(evidence, 'request', (r) => r.requestId === id).segment;
  let id = '';
  const ceiling = await judge((evidence) => {
    const call = entryOf(
      evidence,
      'call',
      (c) => c.outcome === 'accepted' && !isGuaranteed(evidence, c.requestId!).guaranteed,
    );
    id = call.requestId!;
    isGuaranteed(evidence, id).guaranteed = true;
  });
  only(ceiling, 'outside-limits', id, /above the limit of 199/);
  const limits = (changes: object) => judge(() => {}, { limitsOf: () => ({ ...noLimits, ...changes }) });
  const first = callOf(small.evidence).requestId!;
  only(await limits({ minRateHundredths: 400 }), 'outside-limits', first, /below the limit of 400/);
  only(await limits({ maxAmountCents: 1_000 }), 'outside-limits', first, /amount .* above the limit/);
  only(await limits({ maxMarginShare: 0.01 }), 'outside-limits', first, /does not fit/);
  only(await limits({ maxInstallmentCents: 100 }), 'outside-limits', first, /instalment .* above/);
  only(await limits({ maxInstallments: 5 }), 'outside-limits', first, /number of instalments .* above the limit of 5/);
  const changed = (maxTermChange: number) =>
    judge(
      (evidence) => {
        entryOf(evidence, 'request', (r) => r.requestId === first).installments += 2;
      },
      { limitsOf: () => ({ ...noLimits, maxTermChange }) },
    );
  only(await changed(1), 'outside-limits', first, /instalments offered/);
  assert.ok(!(await changed(2)).some(({ text }) => /instalments offered/.test(text)));
});

test('request-without-end: a pass that is gone, an answer that is gone, an unknown without a reason', async () => {
  let id = '';
  const noPass = await judge((evidence) => {
    const record = recordOf(evidence, 'passed');
    id = record.requestId;
    without(evidence.log, record);
  });
  only(noPass, 'request-without-end', id, /leaves it as requested/);
  const lost = small.evidence.log.filter((record) => record.kind === 'answered').map((record) => record.requestId);
  const neverWon = lost.find(
    (requestId) => !small.evidence.log.some((r) => r.kind === 'contemplated' && r.requestId === requestId),
  )!;
  const noAnswer = await judge((evidence) =>
    without(evidence.log, recordOf(evidence, 'answered', neverWon) as AuctionRecord),
  );
  named(noAnswer, 'request-without-end', neverWon, /leaves it as claimed/);
  const unknown = await judge((evidence) => {
    recordOf(evidence, 'answered', neverWon).outcome = { kind: 'unknown', reason: '' };
  });
  only(unknown, 'request-without-end', neverWon, /no reason is given/);
});

test('exposure: sent over a cap, denied room that there was, and views that do not add up', async () => {
  let id = '';
  const overCap = await judge((evidence) => {
    const claims = evidence.log.filter((record) => record.kind === 'claimed');
    const last = claims.at(-1)!;
    id = last.requestId;
    Object.assign(last.trace.caps[0]!, { limitAmountCents: last.offer.amountCents });
  });
  only(overCap, 'exposure', id, /desk-day\|today had no room/);
  const byCount = await judge((evidence) => {
    for (const record of evidence.log)
      if (record.kind === 'claimed') Object.assign(record.trace.caps[1]!, { limitCount: 2 });
  });
  assert.ok(byCount.length > 0 && byCount.every((violation) => violation.code === 'exposure'));

  const denied = await judge((evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    without(evidence.entries, call as SandboxEntry);
    const claim = recordOf(evidence, 'claimed', id);
    evidence.log = evidence.log.filter((r) => r.requestId !== id || r.kind === 'requested' || r.kind === 'claimed');
    const reasons = [{ code: 'cap', rule: null, text: 'no room' }];
    evidence.log.push({
      kind: 'passed',
      requestId: id,
      at: claim.at,
      code: 'cap',
      claimId: claim.claimId,
      reasons,
      trace: null,
    });
  });
  named(denied, 'exposure', id, /every cap had room/);

  const releasedTwice = await judge(
    ({ views }) => {
      const used = views.usage.get('desk-day|today')!;
      used.amountCents -= 100;
    },
    { withViews: true },
  );
  only(releasedTwice, 'exposure', null, /under desk-day\|today the views hold/);
  const wrongStatus = await judge(
    ({ views }) => {
      const row = views.ledger.find(({ reservation }) => reservation === 'committed')!;
      id = row.state.requestId;
      row.reservation = 'released';
    },
    { withViews: true },
  );
  only(wrongStatus, 'exposure', id, /exposure is released, the log says committed/);
});

test('a claim refused under a full cap and never sent is no violation', async () => {
  const violations = await judge((evidence) => {
    const call = callOf(evidence);
    const id = call.requestId!;
    without(evidence.entries, call as SandboxEntry);
    const claim = recordOf(evidence, 'claimed', id);
    Object.assign(claim.trace.caps[0]!, { limitAmountCents: claim.offer.amountCents - 1 });
    evidence.log = evidence.log.filter(
      (r) => r.requestId !== id || r.kind === 'requested' || r.kind === 'claimed' || r.kind === 'ended',
    );
    evidence.entries = evidence.entries.filter(
      (e) => !(e.kind === 'delivery' && (e.what === 'contemplated' || e.what === 'proposed') && e.requestIds[0] === id),
    );
    const ended = recordOf(evidence, 'ended', id);
    Object.assign(ended, { bids: ended.bids.filter(({ bidId }) => bidId !== call.requestCode) });
    const reasons = [{ code: 'cap', rule: null, text: 'no room' }];
    after(evidence.log, claim as AuctionRecord, {
      kind: 'passed',
      requestId: id,
      at: claim.at,
      code: 'cap',
      claimId: claim.claimId,
      reasons,
      trace: null,
    });
  });
  assert.deepEqual(violations, []);
});

test('source-unheard: a decision that notes what no source had said before it, or nobody had been asked', async () => {
  let id = '';
  type Heard = { score: number; asked?: boolean; afterwards?: boolean; failure?: 'time-out' };
  const hearing =
    (noted: number | null, ...heard: readonly Heard[]) =>
    (evidence: Evidence) => {
      id = callOf(evidence).requestId!;
      const claim = recordOf(evidence, 'claimed', id);
      const { at } = recordOf(evidence, 'requested', id);
      const of = { requestId: id, at, source: 'bureau', hash: 'h' } as const;
      const put = (record: AuctionRecord, isAfter = false) =>
        void evidence.log.splice(evidence.log.indexOf(claim) + (isAfter ? 1 : 0), 0, record);
      for (const { score, asked = true, afterwards = false, failure = null } of heard) {
        if (asked) put({ kind: 'source-asked', ...of, attempt: 1, ruleSetHash: 'rules' });
        put({ kind: 'source-answered', ...of, failure, found: { score } }, afterwards);
      }
      if (noted !== null)
        claim.trace.sources = [{ source: 'bureau', hash: 'h', failure: null, found: { score: noted } }];
    };
  assert.deepEqual(await judge(hearing(700, { score: 700 })), []);
  assert.deepEqual(await judge(hearing(700, { score: 700 }, { score: 1 })), []);
  assert.deepEqual(await judge(hearing(null, { score: 700 })), []);
  only(await judge(hearing(700)), 'source-unheard', id, /does not have/);
  only(await judge(hearing(700, { score: 1 })), 'source-unheard', id, /does not have/);
  only(await judge(hearing(700, { score: 1 }, { score: 700 })), 'source-unheard', id, /does not have/);
  only(await judge(hearing(700, { score: 700, asked: false })), 'source-unheard', id, /does not have/);
  only(await judge(hearing(700, { score: 700, afterwards: true })), 'source-unheard', id, /does not have/);
  only(await judge(hearing(700, { score: 700, failure: 'time-out' })), 'source-unheard', id, /does not have/);
  const often = Array.from({ length: 5 }, () => ({ score: 700 }));
  only(await judge(hearing(700, ...often)), 'source-unheard', id, /asked 5 times/);
});

test('unreviewed: a bid that nobody had allowed, or that went out before the time for an answer was over', async () => {
  let id = '';
  const asking =
    (otherwise: 'pass' | 'bid', untilMs: number, answer?: { decision: 'pass' | 'bid'; atMs: number }) =>
    (evidence: Evidence) => {
      id = callOf(evidence).requestId!;
      const claim = recordOf(evidence, 'claimed', id);
      const until = claim.trace.decidedAt + untilMs;
      const at = recordOf(evidence, 'requested', id).at;
      const question = {
        kind: 'review-asked',
        requestId: id,
        at,
        queue: 'large',
        rules: ['R'],
        until,
        otherwise,
      } as const;
      const before = (record: AuctionRecord) => void evidence.log.splice(evidence.log.indexOf(claim), 0, record);
      before({ ...question, ruleSetHash: 'rules' });
      if (answer !== undefined) {
        const who = { by: 'ana', via: 'api', reason: 'seen' } as const;
        before({ kind: 'review-answered', requestId: id, at: until + answer.atMs, decision: answer.decision, ...who });
      }
    };
  assert.deepEqual(await judge(asking('pass', 500, { decision: 'bid', atMs: -1 })), []);
  assert.deepEqual(await judge(asking('bid', 0)), []);
  only(await judge(asking('pass', 0)), 'unreviewed', id, /nobody had answered/);
  only(await judge(asking('pass', 0, { decision: 'bid', atMs: 0 })), 'unreviewed', id, /nobody had answered/);
  only(await judge(asking('bid', 500)), 'unreviewed', id, /before the time for an answer was over/);
  only(await judge(asking('bid', 500, { decision: 'pass', atMs: -1 })), 'unreviewed', id, /a person had refused/);
  const noted = (otherwise: 'pass' | 'bid', waitMs: number) => (evidence: Evidence) => {
    id = callOf(evidence).requestId!;
    const { trace } = recordOf(evidence, 'claimed', id);
    const askedAt = trace.decidedAt;
    trace.review = { queue: 'large', rules: ['R'], askedAt, until: askedAt + waitMs, otherwise, answer: null };
  };
  assert.deepEqual(await judge(noted('bid', 0)), []);
  only(await judge(noted('pass', 0)), 'unreviewed', id, /notes a review/);
  only(await judge(noted('bid', 1_000)), 'unreviewed', id, /notes a review/);
  for (const code of ['review-refused', 'review-expired']) {
    const violations = await judge((evidence) => {
      const pass = recordOf(evidence, 'passed');
      id = pass.requestId;
      pass.code = code;
      pass.reasons = [{ code, rule: 'R', text: 'of a test' }];
    });
    only(violations, 'pass-without-reason', id, /review/);
  }
});
