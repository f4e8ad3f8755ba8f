/** Every record comes back from Avro exactly as it was; integrators find typed fields; an old schema stays readable. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { registerSchemas } from '../../../src/adapters/kafka/registry.ts';
import type { FlowRecord } from '../../../src/domain/flow-records.ts';
import { sourceFailures } from '../../../src/domain/offer.ts';
import type { AuctionRecord, CallbackRecord, Topics } from '../../../src/domain/records.ts';
import { Fault } from '../../../src/errors.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { describeOnStack } from '../../stack/suite.ts';

const text = fc.string({ unit: 'binary', maxLength: 12 });
const cents = fc.integer({ min: -1e15, max: 1e15 });
const at = fc.integer({ min: 0, max: 4e12 });
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const texts = fc.array(text, { maxLength: 3 });
const extraValue = fc.oneof(text, cents, fc.boolean(), fc.constant(null));

const detail = fc.record({
  ...{
    linkKey: text,
    workerKey: text,
    receivedAt: at,
    eligible: orNull(fc.boolean()),
    ineligibilityCode: orNull(cents),
  },
  ...{ availableMarginCents: orNull(cents), marginBaseCents: orNull(cents), totalEarningsCents: orNull(cents) },
  ...{ admissionDate: orNull(text), terminationDate: orNull(text), birthDate: orNull(text) },
  ...{ workerCategoryCode: orNull(cents), politicallyExposed: orNull(fc.boolean()), occupationCode: orNull(cents) },
  ...{
    activityCode: orNull(cents),
    employerStartDate: orNull(text),
    activeLoans: orNull(cents),
    alertCount: orNull(cents),
  },
});

const guarantee = fc.record({
  present: orNull(fc.boolean()),
  fgtsBalanceCents: orNull(cents),
  terminationFineCents: orNull(cents),
  severancePercent: orNull(fc.double({ noNaN: true, noDefaultInfinity: true, min: 0.001 })),
});

const request = fc.record(
  {
    ...{ requestId: text, batchId: orNull(text), receivedAt: at, closesAt: orNull(at), expiresAt: orNull(at) },
    ...{
      requestedAmountCents: orNull(cents),
      requestedInstallments: orNull(cents),
      availableMarginCents: orNull(cents),
    },
    ...{ eligible: orNull(fc.boolean()), workerKey: orNull(text), linkKey: orNull(text), employerId: orNull(text) },
    ...{ employerIdType: orNull(cents), birthDate: orNull(text), admissionDate: orNull(text) },
    ...{
      politicallyExposed: orNull(fc.boolean()),
      activityCode: orNull(cents),
      employerStartDate: orNull(text),
      guarantee,
    },
    ...{ alertCodes: orNull(texts), authorisationNumber: orNull(text), extra: fc.dictionary(text, extraValue) },
    sealedGroups: fc.subarray(['extra', 'alerts'] as const),
  },
  {
    requiredKeys: [
      ...(['requestId', 'batchId', 'receivedAt', 'closesAt', 'expiresAt', 'requestedAmountCents'] as const),
      ...(['requestedInstallments', 'availableMarginCents', 'eligible', 'workerKey', 'linkKey', 'employerId'] as const),
      ...(['employerIdType', 'birthDate', 'admissionDate', 'politicallyExposed', 'guarantee', 'alertCodes'] as const),
      ...(['authorisationNumber', 'extra'] as const),
    ],
  },
);

const probability = fc.double({ min: 0.001, max: 1, noNaN: true });
const offer = fc.record({
  ...{ rateHundredths: cents, amountCents: cents, installments: cents, installmentCents: cents, financedCents: cents },
  ...{
    iofCents: cents,
    cetAnnualHundredths: cents,
    expectedValueCents: cents,
    winProbability: probability,
    validUntil: at,
  },
});
const caps = fc.array(fc.record({ keys: texts, limitAmountCents: orNull(cents), limitCount: orNull(cents) }), {
  maxLength: 2,
});
const reasons = fc.array(fc.record({ code: text, rule: orNull(text), text }), { maxLength: 2 });
const trial = orNull(fc.record({ breakEvens: fc.array(cents), rates: fc.array(cents), scale: probability }));
const trace = fc.record({
  ...{
    decidedAt: at,
    ruleSetHash: text,
    settingsHash: text,
    curveHash: orNull(text),
    segmentKeys: texts,
    link: orNull(detail),
  },
  usage: fc.dictionary(text, fc.record({ amountCents: cents, count: cents }), { maxKeys: 2 }),
  ...{ shadowPricePerCent: probability, caps, rulesFired: texts, reasons, trial },
});
const durations = fc.integer({ min: 1, max: 400 * 86_400_000 });
const terms = fc.record({
  ...{ resultTimeoutMs: durations, contemplationTimeoutMs: durations, graceMs: durations, halfLifeMs: durations },
});
const outcome = fc.oneof(
  fc.record({ kind: fc.constant('accepted' as const), bidId: text }),
  fc.record({ kind: fc.constant('accepted-outside' as const), bidId: orNull(text) }),
  fc.record({ kind: fc.constant('rejected' as const), code: fc.constant('unclassified' as const) }),
  fc.record({ kind: fc.constant('duplicate' as const) }),
  fc.record({ kind: fc.constant('unknown' as const), reason: text }),
);
const bid = fc.record({
  ...{ bidId: text, rateHundredths: cents, offGrid: fc.boolean(), amountCents: cents, installments: cents },
  ...{ position: cents, placedAt: orNull(at) },
});
const winner = { requestCode: text, message: orNull(text), errors: texts };
const proposal = { ...winner, proposalCode: orNull(text), proposalNumber: orNull(text), validUntil: orNull(at) };
const kind = <K extends string>(name: K) => fc.constant(name);
const ofRequest = { requestId: text, at };

const auctionRecord: fc.Arbitrary<AuctionRecord> = fc.oneof(
  fc.record({ kind: kind('requested'), ...ofRequest, request, windowMs: durations, sealed: text, rawHash: text }),
  fc.record({ kind: kind('claimed'), ...ofRequest, claimId: text, instance: text, body: text, offer, trace, terms }),
  fc.record({ kind: kind('passed'), ...ofRequest, code: text, claimId: orNull(text), reasons, trace: orNull(trace) }),
  fc.record({
    ...{
      kind: kind('answered'),
      ...ofRequest,
      claimId: text,
      outcome,
      attempts: cents,
      earlierAttemptPossible: fc.boolean(),
    },
    ...{
      firstByteAt: orNull(at),
      response: orNull(
        fc.record({ status: fc.integer({ min: 100, max: 599 }), body: orNull(text), sealedBody: orNull(text) }),
      ),
    },
  }),
  fc.record({
    ...{ kind: kind('ended'), ...ofRequest, batchId: text, startedAt: orNull(at), endedAt: orNull(at) },
    bids: fc.array(bid, { maxLength: 3 }),
    halfLifeMs: durations,
  }),
  fc.record({ kind: kind('contemplated'), ...ofRequest, ...winner }),
  fc.record({ kind: kind('contemplated'), ...ofRequest, ...winner, sealed: text }),
  fc.record({ kind: kind('proposed'), ...ofRequest, ...proposal }),
  fc.record({ kind: kind('proposed'), ...ofRequest, ...proposal, sealed: text }),
  fc.record({ kind: kind('resolved'), ...ofRequest, as: kind('result-missing'), by: text, reason: text }),
  fc.record({ kind: kind('worker-read'), ...ofRequest, by: text, reason: text }),
  fc.record({
    ...{ kind: kind('review-asked'), ...ofRequest, queue: kind('large'), rules: texts, until: at },
    ...{ otherwise: kind('pass'), ruleSetHash: text },
  }),
  fc.record({ kind: kind('review-answered'), ...ofRequest, decision: kind('bid'), by: text, reason: text }),
  fc.record({
    ...{ kind: kind('source-asked'), ...ofRequest, source: text, hash: text },
    ...{ attempt: fc.integer({ min: 1, max: 2 }), ruleSetHash: text },
  }),
  fc.record({
    ...{ kind: kind('source-answered'), ...ofRequest, source: text, hash: text },
    failure: fc.constantFrom(null, ...sourceFailures),
    found: fc.dictionary(fc.constantFrom('score', 'since'), fc.oneof(fc.integer(), text)),
  }),
  fc.record({ kind: kind('frozen'), ...ofRequest, problem: text }),
  fc.record({ kind: kind('unreadable'), ...ofRequest, problem: text }),
  fc.record({ kind: kind('unfrozen'), ...ofRequest, action: kind('retry'), by: text, reason: text }),
);

const link = fc.record({
  ...{ linkKey: text, eligible: orNull(fc.boolean()), employerId: orNull(text), employerIdType: orNull(cents) },
  sealedIdentity: text,
});
const creditNote = fc.record({
  ...{ noteNumber: text, proposalCode: orNull(text), loanCents: orNull(cents), iofCents: orNull(cents) },
  ...{ insuranceCents: orNull(cents), installmentCents: orNull(cents), rateMonthlyPercent: orNull(probability) },
  ...{ rateAnnualPercent: orNull(probability), cetMonthlyPercent: orNull(probability) },
  cetAnnualPercent: orNull(probability),
});
const callbackRecord: fc.Arbitrary<CallbackRecord> = fc.oneof(
  fc.record({ kind: kind('link-detail'), at, requestCode: orNull(text), detail, sealed: text }),
  fc.record({
    ...{ kind: kind('link-list'), at, requestCode: orNull(text), workerKey: text, sealed: text },
    links: fc.array(link, { maxLength: 3 }),
  }),
  fc.record({ kind: kind('contemplated'), at, ...winner }),
  fc.record({ kind: kind('contemplated'), at, ...winner, sealed: text }),
  fc.record({ kind: kind('proposed'), at, ...proposal }),
  fc.record({ kind: kind('proposed'), at, ...proposal, sealed: text }),
  fc.record({
    ...{ kind: kind('credit-note'), at, requestCode: text, errors: texts, sealed: text },
    of: fc.constantFrom('contract' as const, 'renegotiation' as const),
    note: orNull(creditNote),
  }),
  fc.record({
    ...{ kind: kind('operation-event'), at, requestCode: text, endpoint: orNull(text) },
    ...{ errors: texts, sealed: text },
  }),
  fc.record({
    kind: kind('personal-read'),
    at,
    requestCode: fc.constant(null),
    by: text,
    via: kind('api'),
    what: fc.constantFrom('worker-searched' as const, 'margins-queried' as const),
    workerKey: text,
    linkKey: orNull(text),
  }),
);

const asked = {
  ...{ kind: kind('asked'), flowId: text, at, stepId: text, by: text, step: kind('cancel'), requestHash: text },
  ...{ terms: fc.constant(null), signedAt: orNull(at), requestCode: orNull(text), personKeys: texts },
  ...{ reason: orNull(text), sealed: orNull(text) },
};
const flowRecord: fc.Arbitrary<FlowRecord> = fc.oneof(
  fc.record(asked),
  fc.record({ ...asked, sealedReason: text }),
  fc.record({ kind: kind('margin-asked'), flowId: text, at, refusal: orNull(text) }),
  fc.record({ kind: kind('claimed-by'), flowId: text, at, owner: text }),
  fc.record({ kind: kind('claimed-by'), flowId: text, at, owner: text, givenUp: fc.constant(true as const) }),
  fc.record({
    ...{ kind: kind('told'), flowId: text, at, requestCode: text, errors: texts, sealed: text },
    of: fc.constantFrom('contract' as const, 'operation' as const),
    note: orNull(creditNote),
  }),
  fc.record({
    ...{ kind: kind('withheld'), flowId: text, at, slot: text },
    operation: fc.constantFrom('contract' as const, 'splits' as const),
    breaches: fc.array(fc.record({ rule: text, field: text, problem: text }), { maxLength: 3 }),
  }),
);

const records: { [T in keyof Topics]: fc.Arbitrary<Topics[T]> } = {
  auctions: auctionRecord,
  callbacks: callbackRecord,
  flows: flowRecord,
  'dead-letters': fc.record({ at, receivedAt: at, reason: text, pointer: orNull(text), sealedPayload: text }),
  inputs: fc.record({
    kind: fc.constantFrom('rule-set', 'settings', 'win-curve', 'win-shapes'),
    hash: text,
    content: text,
  }),
};

/** Every kind that the program can write: the compiler misses one that is added. */
const kindsOf = {
  auctions: {
    ...{
      requested: true,
      claimed: true,
      passed: true,
      answered: true,
      ended: true,
      contemplated: true,
      proposed: true,
    },
    ...{ resolved: true, 'worker-read': true, frozen: true, unfrozen: true, unreadable: true },
    ...{ 'review-asked': true, 'review-answered': true, 'source-asked': true, 'source-answered': true },
  } satisfies Record<AuctionRecord['kind'], true>,
  callbacks: {
    ...{ 'link-detail': true, 'link-list': true, contemplated: true, proposed: true, 'credit-note': true },
    ...{ 'operation-event': true, 'personal-read': true, unreadable: true },
  } satisfies Record<CallbackRecord['kind'], true>,
};

for (const [topic, kinds] of Object.entries(kindsOf)) {
  test(`${topic}: the schema has a branch for every kind of record`, () => {
    const path = new URL(`../../../src/adapters/kafka/schemas/${topic}.avsc`, import.meta.url);
    const { fields } = JSON.parse(readFileSync(path, 'utf8')) as {
      fields: { name: string; type: { name: string }[] }[];
    };
    const branches = fields.find(({ name }) => name === 'record')!.type.map(({ name }) => name);
    const named = (kind: string) => kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
    assert.deepEqual(Object.keys(kinds).map(named).toSorted(), branches.toSorted());
  });
}

/** Written and read by the same process. */
const readBack: readonly (keyof Topics)[] = ['auctions', 'callbacks', 'flows'];

/** A JSON object as the desk writes and reads it: no prototypes, no key that JSON treats apart. */
const asRead = <R>(record: R): R => JSON.parse(JSON.stringify(record)) as R;

await describeOnStack('records in Avro', (stack) => {
  const settings = settingsOn(stack, `${stack.prefix}records.`);

  for (const topic of Object.keys(records) as (keyof Topics)[]) {
    test(`${topic}: every record comes back exactly as it was`, async () => {
      const [writer, reader] = [await registerSchemas(settings), await registerSchemas(settings)];
      await fc.assert(
        fc.asyncProperty(records[topic] as fc.Arbitrary<object>, async (drawn) => {
          const record = asRead(drawn);
          const bytes = writer.encode(topic, record);
          assert.deepEqual(await reader.decode(bytes), record);
          // What is read beside the consumer leaves it what it can take as it was written.
          assert.deepEqual(await writer.decode(bytes), record);
          assert.equal(writer.takeOwn(bytes), readBack.includes(topic) ? record : null);
          assert.equal(writer.takeOwn(bytes), null);
        }),
        { numRuns: 300 },
      );
    });
  }

  test('a record larger than all before it comes back whole', async () => {
    const [writer, reader] = [await registerSchemas(settings), await registerSchemas(settings)];
    for (const length of [10, 100_000, 1_000_000, 10]) {
      const record = { kind: 'settings', hash: 'h', content: 'ç'.repeat(length) };
      assert.deepEqual(await reader.decode(writer.encode('inputs', record)), record);
    }
  });

  test('what is no record of ours is undecodable, whatever its bytes', async () => {
    const codec = await registerSchemas(settings);
    const bytes = codec.encode('inputs', { kind: 'settings', hash: 'h', content: '{}' });
    const unknownSchema = Buffer.from(bytes);
    unknownSchema.writeInt32BE(2_000_000_000, 1);
    for (const bad of [
      null,
      Buffer.alloc(0),
      Buffer.from('{"kind":"settings"}'),
      bytes.subarray(0, 9),
      unknownSchema,
    ]) {
      await assert.rejects(
        async () => codec.decode(bad),
        (fault) => fault instanceof Fault && fault.code === 'record-undecodable',
      );
    }
  });
});
