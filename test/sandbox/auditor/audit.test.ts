import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { noLimits } from '../../../src/domain/policy.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { audit } from '../../../src/sandbox/auditor/audit.ts';
import type { AuditSettings, Violation, ViolationCode } from '../../../src/sandbox/auditor/violation.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import { type Evidence, playSmallRun, runOf, type SmallRun } from './small-run.ts';

let small: SmallRun;

before(async () => {
  small = await playSmallRun();
});

type Kind = SandboxEntry['kind'];
const entryOf = <K extends Kind>(
  evidence: Evidence,
  kind: K,
  fits: (entry: Extract<SandboxEntry, { kind: K }>) => boolean = () => true,
) =>
  evidence.entries.find(
    (entry): entry is Extract<SandboxEntry, { kind: K }> =>
      entry.kind === kind && fits(entry as Extract<SandboxEntry, { kind: K }>),
  )!;
const callOf = (evidence: Evidence) => entryOf(evidence, 'call', (call) => call.outcome === 'accepted');
const recordOf = <K extends AuctionRecord['kind']>(evidence: Evidence, kind: K, requestId?: string) =>
  evidence.log.find(
    (record): record is Extract<AuctionRecord, { kind: K }> =>
      record.kind === kind && (requestId === undefined || record.requestId === requestId),
  )!;
const without = <T>(list: T[], item: T) => void list.splice(list.indexOf(item), 1);
const after = <T>(list: T[], item: T, more: T) => void list.splice(list.indexOf(item) + 1, 0, more);

/** The violations of the run after `tamper`, which gets a copy. */
async function judged(
  tamper: (evidence: Evidence) => unknown,
  { withViews = false, ...changes }: Partial<AuditSettings> & { withViews?: boolean } = {},
): Promise<Violation[]> {
  const copy = structuredClone(small.evidence);
  tamper(copy);
  return audit(await runOf(copy), { ...small.settings, ...changes }, withViews ? copy.views : undefined).violations;
}

function named(violations: readonly Violation[], code: ViolationCode, requestId: string | null, text: RegExp): void {
  const found = violations.filter((violation) => violation.code === code && violation.requestId === requestId);
  assert.ok(
    found.some((violation) => text.test(violation.text)),
    `${code} for ${requestId} in ${JSON.stringify(violations)}`,
  );
}
function only(violations: readonly Violation[], code: ViolationCode, requestId: string | null, text: RegExp): void {
  named(violations, code, requestId, text);
  assert.deepEqual([...new Set(violations.map((violation) => violation.code))], [code]);
}

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
  const violations = await judged((evidence) => {
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
  only(await judged(late('duplicate')), 'late-first-byte', id, /0 ms after the deadline/);
  const outside = (evidence: Evidence) => {
    const call = callOf(evidence);
    id = call.requestId!;
    call.outcome = 'accepted-outside';
    call.arrivedAt = entryOf(evidence, 'request', (r) => r.requestId === id).deadlineAt + 7;
  };
  only(await judged(outside), 'late-first-byte', id, /7 ms after/);
  const allowed = await judged(outside, { allowOutside: true });
  assert.deepEqual(allowed, []);
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
    const violations = await judged((evidence) => {
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
    judged((evidence) => {
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
  const ceiling = await judged((evidence) => {
    const call = entryOf(
      evidence,
      'call',
      (c) => c.outcome === 'accepted' && !isGuaranteed(evidence, c.requestId!).guaranteed,
    );
    id = call.requestId!;
    isGuaranteed(evidence, id).guaranteed = true;
  });
  only(ceiling, 'outside-limits', id, /above the limit of 199/);
  const limits = (changes: object) => judged(() => {}, { limitsOf: () => ({ ...noLimits, ...changes }) });
  const first = callOf(small.evidence).requestId!;
  only(await limits({ minRateHundredths: 400 }), 'outside-limits', first, /below the limit of 400/);
  only(await limits({ maxAmountCents: 1_000 }), 'outside-limits', first, /amount .* above the limit/);
  only(await limits({ maxMarginShare: 0.01 }), 'outside-limits', first, /does not fit/);
  only(await limits({ maxInstallmentCents: 100 }), 'outside-limits', first, /instalment .* above/);
});

test('request-without-end: a pass that is gone, an answer that is gone, an unknown without a reason', async () => {
  let id = '';
  const noPass = await judged((evidence) => {
    const record = recordOf(evidence, 'passed');
    id = record.requestId;
    without(evidence.log, record);
  });
  only(noPass, 'request-without-end', id, /leaves it as requested/);
  const lost = small.evidence.log.filter((record) => record.kind === 'answered').map((record) => record.requestId);
  const neverWon = lost.find(
    (requestId) => !small.evidence.log.some((r) => r.kind === 'contemplated' && r.requestId === requestId),
  )!;
  const noAnswer = await judged((evidence) =>
    without(evidence.log, recordOf(evidence, 'answered', neverWon) as AuctionRecord),
  );
  named(noAnswer, 'request-without-end', neverWon, /leaves it as claimed/);
  const unknown = await judged((evidence) => {
    recordOf(evidence, 'answered', neverWon).outcome = { kind: 'unknown', reason: '' };
  });
  only(unknown, 'request-without-end', neverWon, /no reason is given/);
});

test('exposure: sent over a cap, denied room that there was, and views that do not add up', async () => {
  let id = '';
  const overCap = await judged((evidence) => {
    const claims = evidence.log.filter((record) => record.kind === 'claimed');
    const last = claims.at(-1)!;
    id = last.requestId;
    Object.assign(last.trace.caps[0]!, { limitAmountCents: last.offer.amountCents });
  });
  only(overCap, 'exposure', id, /desk-day\|today had no room/);
  const byCount = await judged((evidence) => {
    for (const record of evidence.log)
      if (record.kind === 'claimed') Object.assign(record.trace.caps[1]!, { limitCount: 2 });
  });
  assert.ok(byCount.length > 0 && byCount.every((violation) => violation.code === 'exposure'));

  const denied = await judged((evidence) => {
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

  const releasedTwice = await judged(
    ({ views }) => {
      const used = views.usage.get('desk-day|today')!;
      used.amountCents -= 100;
    },
    { withViews: true },
  );
  only(releasedTwice, 'exposure', null, /under desk-day\|today the views hold/);
  const wrongStatus = await judged(
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
  const violations = await judged((evidence) => {
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

test('acknowledged-lost: a request, an end, a winner event, a link callback, an event that stopped half-way', async () => {
  let id = '';
  const request = await judged((evidence) => {
    const record = recordOf(evidence, 'requested', recordOf(evidence, 'passed').requestId);
    id = record.requestId;
    evidence.log = evidence.log.filter(({ requestId }) => requestId !== id);
  });
  named(request, 'acknowledged-lost', id, /request was acknowledged/);
  const passedId = recordOf(small.evidence, 'passed').requestId;
  const end = await judged((evidence) => without(evidence.log, recordOf(evidence, 'ended', passedId) as AuctionRecord));
  only(end, 'acknowledged-lost', passedId, /end of its auction/);
  const winner = small.evidence.log.find((record) => record.kind === 'proposed')!;
  const event = await judged((evidence) => {
    const at = evidence.callbacks.findIndex(
      (r) => r.kind === 'proposed' && r.requestCode === (winner as { requestCode: string }).requestCode,
    );
    evidence.callbacks.splice(at, 1);
  });
  only(event, 'acknowledged-lost', winner.requestId, /proposed event was acknowledged/);
  const halfWay = await judged((evidence) =>
    without(evidence.log, recordOf(evidence, 'proposed', winner.requestId) as AuctionRecord),
  );
  only(halfWay, 'acknowledged-lost', winner.requestId, /never reached the request/);
  const callback = await judged((evidence) => {
    evidence.callbacks = evidence.callbacks.filter((record) => record.kind !== 'link-detail');
  });
  only(callback, 'acknowledged-lost', null, /link-detail callback/);
});

test('what was never acknowledged may be missing', async () => {
  const violations = await judged((evidence) => {
    const id = recordOf(evidence, 'passed').requestId;
    const delivery = entryOf(evidence, 'delivery', (d) => d.what === 'ended' && d.requestIds.includes(id));
    for (const entry of evidence.entries) {
      if (entry.kind === 'attempt' && entry.deliveryId === delivery.deliveryId) entry.acknowledged = false;
    }
    without(evidence.log, recordOf(evidence, 'ended', id) as AuctionRecord);
  });
  assert.deepEqual(violations, []);
});

test('statistic-folded-twice: a count too many, and one too few', async () => {
  for (const by of [1, -1]) {
    const violations = await judged(
      ({ views }) => {
        views.statistics.get('all')!.count += by;
      },
      { withViews: true },
    );
    only(violations, 'statistic-folded-twice', null, /all was folded/);
  }
});

test('a second end of the same auction in the log is not expected to be learnt', async () => {
  const violations = await judged(
    (evidence) => {
      evidence.log.push(structuredClone(recordOf(evidence, 'ended')));
    },
    { withViews: true },
  );
  assert.deepEqual(violations, []);
});

test('sent-without-claim: no claim, another body, a later claim’s body, a claim after a pass, bytes before the claim', async () => {
  const id = callOf(small.evidence).requestId!;
  const claimOf = (evidence: Evidence) => recordOf(evidence, 'claimed', id);
  named(
    await judged((evidence) => without(evidence.log, claimOf(evidence) as AuctionRecord)),
    'sent-without-claim',
    id,
    /no claim/,
  );
  const other = await judged((evidence) => {
    claimOf(evidence).body += ' ';
  });
  only(other, 'sent-without-claim', id, /not those of the first claim/);
  const earlier = await judged((evidence) => {
    const claim = claimOf(evidence);
    evidence.log.splice(evidence.log.indexOf(claim), 0, {
      ...claim,
      claimId: 'other:1',
      body: claim.body.replace('offers', 'offer'),
    });
  });
  named(earlier, 'sent-without-claim', id, /not those of the first claim/);
  const passedBefore = await judged((evidence) => {
    const reasons = [{ code: 'overload', rule: null, text: 'the queue was full' }];
    const pass: AuctionRecord = {
      kind: 'passed',
      requestId: id,
      at: 0,
      code: 'overload',
      claimId: null,
      reasons,
      trace: null,
    };
    evidence.log.splice(evidence.log.indexOf(claimOf(evidence)), 0, pass);
  });
  named(passedBefore, 'sent-without-claim', id, /no claim/);
  const tooEarly = await judged((evidence) => {
    claimOf(evidence).at = callOf(evidence).arrivedAt + 6;
  });
  only(tooEarly, 'sent-without-claim', id, /before the first claim/);
  const nameless = await judged((evidence) => {
    evidence.entries.push({ ...callOf(evidence), requestId: null, outcome: 'invalid' });
  });
  only(nameless, 'sent-without-claim', null, /without a request id/);
});

test('a later claim that was never sent is counted and no violation', async () => {
  const copy = structuredClone(small.evidence);
  const claim = recordOf(copy, 'claimed');
  after(copy.log, claim as AuctionRecord, { ...claim, claimId: 'other:1', body: '{}' });
  const { violations, counts } = audit(await runOf(copy), small.settings);
  assert.deepEqual(violations, []);
  assert.equal(counts.laterClaims, 1);
});

test('wrong-end: the log contradicts what the service did', async () => {
  const id = callOf(small.evidence).requestId!;
  const plain = (evidence: Evidence) => {
    evidence.log = evidence.log.filter(
      (r) => r.requestId !== id || (r.kind !== 'contemplated' && r.kind !== 'proposed'),
    );
  };
  const rejected = await judged((evidence) => {
    plain(evidence);
    recordOf(evidence, 'answered', id).outcome = { kind: 'rejected', code: 'request-expired' };
  });
  named(rejected, 'wrong-end', id, /the log says rejected/);
  const foreign = await judged((evidence) => {
    plain(evidence);
    recordOf(evidence, 'answered', id).outcome = { kind: 'duplicate' };
    without(evidence.log, recordOf(evidence, 'ended', id) as AuctionRecord);
  });
  named(foreign, 'wrong-end', id, /the log says foreign-bid/);
  const never = await judged((evidence) => {
    Object.assign(callOf(evidence), { outcome: 'request-expired', requestCode: null });
  });
  named(never, 'wrong-end', id, /never took a bid/);
  const position = await judged((evidence) => {
    const ended = recordOf(evidence, 'ended', id);
    const ours = entryOf(evidence, 'ended', (end) => end.requestId === id).ranked.find((bid) => bid.ours)!;
    Object.assign(ended.bids.find((bid) => bid.bidId === ours.bidId)!, { position: ours.position + 1 });
  });
  named(position, 'wrong-end', id, /came in at position/);
  const phase = await judged(
    ({ views }) => {
      views.ledger.find(({ state }) => state.requestId === id)!.state.phase = 'rejected';
    },
    { withViews: true },
  );
  only(phase, 'wrong-end', id, /the ledger says rejected/);
  const gone = await judged(
    ({ views }) => {
      const at = views.ledger.findIndex(({ state }) => state.phase === 'passed');
      (views.ledger as unknown[]).splice(at, 1);
    },
    { withViews: true },
  );
  assert.deepEqual(
    gone.map(({ code }) => code),
    ['wrong-end'],
  );
});

test('wrong-end: a failed win that the log calls included', async () => {
  let id = '';
  const violations = await judged((evidence) => {
    const won = entryOf(evidence, 'won');
    id = won.requestId;
    won.errors = ['refused'];
  });
  only(violations, 'wrong-end', id, /came with errors/);
});

test('pass-without-reason: no code, no reasons, an empty one', async () => {
  let id = '';
  for (const change of [{ code: '' }, { reasons: [] }, { reasons: [{ code: 'x', rule: null, text: '' }] }]) {
    const violations = await judged((evidence) => {
      const record = recordOf(evidence, 'passed');
      id = record.requestId;
      Object.assign(record, change);
    });
    only(violations, 'pass-without-reason', id, /it was passed/);
  }
});

test('two-ends: two codes, a pass beside a bid, two accepted bids; many owners may write several', async () => {
  const id = recordOf(small.evidence, 'passed').requestId;
  const twoCodes = (evidence: Evidence) => {
    const pass = recordOf(evidence, 'passed', id);
    after(evidence.log, pass as AuctionRecord, { ...pass, code: 'deadline' });
  };
  only(await judged(twoCodes), 'two-ends', id, /as pass .* and as pass deadline/);
  const many = await judged(twoCodes, { owners: 'many' });
  assert.deepEqual(many, []);
  const same = await judged((evidence) => void evidence.log.push(structuredClone(recordOf(evidence, 'passed', id))));
  assert.deepEqual(same, [], 'written twice is one end');
  const bidId = callOf(small.evidence).requestId!;
  const besides = await judged((evidence) => {
    const pass = recordOf(evidence, 'passed');
    evidence.log.push({ ...pass, requestId: bidId, code: 'deadline' });
  });
  only(besides, 'two-ends', bidId, /and as a bid/);
  const twoBids = await judged((evidence) => {
    const answered = recordOf(evidence, 'answered', bidId);
    evidence.log.push({ ...answered, outcome: { kind: 'accepted', bidId: 'another' } });
  });
  only(twoBids, 'two-ends', bidId, /2 accepted bids/);
  const landedTwice = await judged((evidence) => void evidence.entries.push({ ...callOf(evidence) }));
  only(landedTwice, 'two-ends', bidId, /the service accepted 2/);
});
