import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { audit } from '../../../src/sandbox/auditor/audit.ts';
import { type Evidence, playSmallRun, runOf, type SmallRun } from './small-run.ts';
import { after, callOf, entryOf, judged, named, only, recordOf, without } from './tamper.ts';

let small: SmallRun;

before(async () => {
  small = await playSmallRun();
});

const judge = (...rest: Parameters<typeof judged> extends [SmallRun, ...infer R] ? R : never) => judged(small, ...rest);

test('acknowledged-lost: a request, an end, a winner event, a link callback, an event that stopped half-way', async () => {
  let id = '';
  const request = await judge((evidence) => {
    const record = recordOf(evidence, 'requested', recordOf(evidence, 'passed').requestId);
    id = record.requestId;
    evidence.log = evidence.log.filter(({ requestId }) => requestId !== id);
  });
  named(request, 'acknowledged-lost', id, /request was acknowledged/);
  const passedId = recordOf(small.evidence, 'passed').requestId;
  const end = await judge((evidence) => without(evidence.log, recordOf(evidence, 'ended', passedId) as AuctionRecord));
  only(end, 'acknowledged-lost', passedId, /end of its auction/);
  const winner = small.evidence.log.find((record) => record.kind === 'proposed')!;
  const event = await judge((evidence) => {
    const at = evidence.callbacks.findIndex(
      (r) => r.kind === 'proposed' && r.requestCode === (winner as { requestCode: string }).requestCode,
    );
    evidence.callbacks.splice(at, 1);
  });
  only(event, 'acknowledged-lost', winner.requestId, /proposed event was acknowledged/);
  const halfWay = await judge((evidence) =>
    without(evidence.log, recordOf(evidence, 'proposed', winner.requestId) as AuctionRecord),
  );
  only(halfWay, 'acknowledged-lost', winner.requestId, /never reached the request/);
  const callback = await judge((evidence) => {
    evidence.callbacks = evidence.callbacks.filter((record) => record.kind !== 'link-detail');
  });
  only(callback, 'acknowledged-lost', null, /link-detail callback/);
});

test('acknowledged-lost: the webhook of an endorsement', async () => {
  const withEndorsement = (isKept: boolean) =>
    judge((evidence) => {
      const { deliveryId: _, ...delivery } = entryOf(evidence, 'delivery', ({ what }) => what === 'link-detail');
      const { at } = evidence.callbacks[0]!;
      const told = { what: 'endorsement', requestCode: 'e-1', deliveryId: 'd-e' } as const;
      const attempt = entryOf(evidence, 'attempt', ({ acknowledged }) => acknowledged);
      evidence.entries.push({ ...delivery, ...told }, { ...attempt, deliveryId: 'd-e' });
      const event = { kind: 'operation-event', requestCode: 'e-1', at, errors: [], sealed: '{}' } as const;
      if (isKept) evidence.callbacks.push({ ...event, endpoint: '/contrato/oferta-leilao/averbar-contrato' });
    });
  only(await withEndorsement(false), 'acknowledged-lost', null, /endorsement webhook e-1/);
  assert.deepEqual(await withEndorsement(true), []);
});

test('what was never acknowledged may be missing', async () => {
  const violations = await judge((evidence) => {
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
    const violations = await judge(
      ({ views }) => {
        views.statistics.get('all')!.count += by;
      },
      { withViews: true },
    );
    only(violations, 'statistic-folded-twice', null, /all was folded/);
  }
});

test('a second end of the same auction in the log is not expected to be learnt', async () => {
  const violations = await judge(
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
    await judge((evidence) => without(evidence.log, claimOf(evidence) as AuctionRecord)),
    'sent-without-claim',
    id,
    /no claim/,
  );
  const other = await judge((evidence) => {
    claimOf(evidence).body += ' ';
  });
  only(other, 'sent-without-claim', id, /not those of the first claim/);
  const earlier = await judge((evidence) => {
    const claim = claimOf(evidence);
    evidence.log.splice(evidence.log.indexOf(claim), 0, {
      ...claim,
      claimId: 'other:1',
      body: claim.body.replace('offers', 'offer'),
    });
  });
  named(earlier, 'sent-without-claim', id, /not those of the first claim/);
  const passedBefore = await judge((evidence) => {
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
  const tooEarly = await judge((evidence) => {
    claimOf(evidence).at = callOf(evidence).arrivedAt + 6;
  });
  only(tooEarly, 'sent-without-claim', id, /before the first claim/);
  const nameless = await judge((evidence) => {
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
  const rejected = await judge((evidence) => {
    plain(evidence);
    recordOf(evidence, 'answered', id).outcome = { kind: 'rejected', code: 'request-expired' };
    without(evidence.log, recordOf(evidence, 'ended', id) as AuctionRecord);
  });
  named(rejected, 'wrong-end', id, /the log says rejected/);
  const foreign = await judge((evidence) => {
    plain(evidence);
    recordOf(evidence, 'answered', id).outcome = { kind: 'duplicate' };
    without(evidence.log, recordOf(evidence, 'ended', id) as AuctionRecord);
  });
  named(foreign, 'wrong-end', id, /the log says foreign-bid/);
  const never = await judge((evidence) => {
    Object.assign(callOf(evidence), { outcome: 'request-expired', requestCode: null });
  });
  named(never, 'wrong-end', id, /never took a bid/);
  const position = await judge((evidence) => {
    const ended = recordOf(evidence, 'ended', id);
    const ours = entryOf(evidence, 'ended', (end) => end.requestId === id).ranked.find((bid) => bid.ours)!;
    Object.assign(ended.bids.find((bid) => bid.bidId === ours.bidId)!, { position: ours.position + 1 });
  });
  named(position, 'wrong-end', id, /came in at position/);
  const phase = await judge(
    ({ views }) => {
      views.ledger.find(({ state }) => state.requestId === id)!.state.phase = 'rejected';
    },
    { withViews: true },
  );
  only(phase, 'wrong-end', id, /the ledger says rejected/);
  const gone = await judge(
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
  const violations = await judge((evidence) => {
    const won = entryOf(evidence, 'won');
    id = won.requestId;
    won.errors = ['refused'];
  });
  only(violations, 'wrong-end', id, /came with errors/);
});

test('pass-without-reason: no code, no reasons, an empty one', async () => {
  let id = '';
  for (const change of [{ code: '' }, { reasons: [] }, { reasons: [{ code: 'x', rule: null, text: '' }] }]) {
    const violations = await judge((evidence) => {
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
  only(await judge(twoCodes), 'two-ends', id, /as pass .* and as pass deadline/);
  const many = await judge(twoCodes, { owners: 'many' });
  assert.deepEqual(many, []);
  const same = await judge((evidence) => void evidence.log.push(structuredClone(recordOf(evidence, 'passed', id))));
  assert.deepEqual(same, [], 'written twice is one end');
  const bidId = callOf(small.evidence).requestId!;
  const besides = await judge((evidence) => {
    const pass = recordOf(evidence, 'passed');
    evidence.log.push({ ...pass, requestId: bidId, code: 'deadline' });
  });
  only(besides, 'two-ends', bidId, /and as a bid/);
  const twoBids = await judge((evidence) => {
    const answered = recordOf(evidence, 'answered', bidId);
    evidence.log.push({ ...answered, outcome: { kind: 'accepted', bidId: 'another' } });
  });
  only(twoBids, 'two-ends', bidId, /2 accepted bids/);
  const landedTwice = await judge((evidence) => void evidence.entries.push({ ...callOf(evidence) }));
  only(landedTwice, 'two-ends', bidId, /the service accepted 2/);
});
