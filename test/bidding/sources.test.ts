/** An external source is asked before the decision: in virtual time, with two desks on one log, against what it and processes may do meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evolve } from '../../src/bidding/evolve.ts';
import { differencesOf, type Replay, replayDecision } from '../../src/bidding/explain.ts';
import type { Endpoint, Enrichment, SourceReply } from '../../src/bidding/ports.ts';
import type { AuctionRecord, Claimed, Passed, SourceAnswered, SourceAsked } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { encode, settings } from '../simulation/policy.ts';
import { createHandOver } from './hand-over.ts';
import { at, claimed, settings as foldSettings, requested, requestId } from './parts.ts';

type World = Awaited<ReturnType<typeof createHandOver>>;

import type { RuleFile } from '../../src/rules/rule-set.ts';

const weak = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };

function passRule(conditions: object = weak, name = 'Weak at the bureau'): object {
  return { name, conditions, event: { type: 'pass', params: { code: 'politically-exposed', reason: 'weak' } } };
}

function declared(change: object = {}) {
  const declaration = {
    description: 'A score of the bureau.',
    endpoint: 'bureau',
    send: ['request.amountReais', 'worker.key'],
    personal: ['worker.key'],
    reply: { score: { type: 'number', unit: 'points' } },
    timeoutMs: 2_000,
    maxAskedPerDay: 100,
    ...change,
  };
  return { path: 'bureau.source.json', text: JSON.stringify(declaration) };
}

type Asked = {
  by: string;
  question: string;
  ended: AbortSignal;
  answer: (reply: SourceReply) => void;
};

/** Answers when the test says so; `reply`: at once. */
async function worldOf(
  options: {
    rules?: readonly object[];
    files?: readonly RuleFile[];
    change?: object;
    reply?: SourceReply;
    left?: number;
    unconfigured?: true;
  } = {},
) {
  const asked: Asked[] = [];
  let left = options.left ?? 100;
  const endpointOf = (by: string): Endpoint => ({
    maySendCpf: false,
    mostAsked: 2,
    ask: (question, ended) =>
      new Promise((resolve) => {
        asked.push({ by, question, ended, answer: resolve });
        if (options.reply !== undefined) resolve(options.reply);
      }),
  });
  const enrichmentOf = (by: string): Enrichment => ({
    endpoint: (name) => (name === 'bureau' && options.unconfigured !== true ? endpointOf(by) : null),
    take: async () => {
      left -= 1;
      return left >= 0;
    },
  });
  const world = await createHandOver(
    options.rules ?? [passRule()],
    options.files ?? [declared(options.change)],
    enrichmentOf,
  );
  return { ...world, asked };
}

function said(score: unknown): SourceReply {
  return { kind: 'reply', text: JSON.stringify({ score }) };
}

const of = <K extends AuctionRecord['kind']>(world: Pick<World, 'records'>, kind: K) =>
  world.records().filter((record): record is Extract<AuctionRecord, { kind: K }> => record.kind === kind);

function replayOf(world: World, recorded: Claimed | Passed): Replay {
  const stored = (kind: string) => world.policy.stored.find((input) => input.kind === kind)!.content;
  const { trace } = recorded;
  assert.ok(trace !== null);
  const [request] = of(world, 'requested');
  const curve = world.inputs().find(({ hash }) => hash === trace.curveHash)?.content ?? null;
  const shapes = world.inputs().find(({ hash }) => hash === trace.tailoring?.shapesHash)?.content ?? null;
  const contents = { ruleSet: stored('rule-set'), settings: stored('settings'), curve, shapes };
  return replayDecision({ request: request!.request, trace, contents, encodeBid: encode });
}

/** From the log alone: no source is there to be asked. */
function assertReplays(world: World, recorded: Claimed | Passed): void {
  assert.deepEqual(differencesOf(replayOf(world, recorded), recorded), []);
}

test('a rule that is undecided without it has the source asked, and the answer decides', async () => {
  const world = await worldOf();
  await world.arrive();
  await world.until(() => world.asked.length === 1);
  await world.pass(1_000);
  assert.deepEqual([world.written.length, of(world, 'source-asked').length, of(world, 'passed').length], [0, 1, 0]);
  const [question] = world.asked;
  assert.deepEqual(Object.keys(JSON.parse(question!.question)), ['request.amountReais', 'worker.key']);
  question!.answer(said(700));
  await world.until(() => world.written.length === 1);
  await world.pass(1_000);
  const [claim] = of(world, 'claimed');
  const { hash } = world.policy.ruleSet.sources[0]!;
  assert.deepEqual(claim!.trace.sources, [{ source: 'bureau', hash, failure: null, found: { score: 700 } }]);
  const kinds = world.records().map(({ kind }) => kind);
  assert.ok(kinds.indexOf('source-answered') < kinds.indexOf('claimed'));
  assertReplays(world, claim!);
  assert.equal(world.asked.length, 1);
});

test('an answer that makes the rule true is no bid', async () => {
  const world = await worldOf({ reply: said(499) });
  await world.arrive();
  await world.until(() => of(world, 'passed').length === 1);
  const [pass] = of(world, 'passed');
  assert.deepEqual([pass!.code, pass!.reasons[0]!.rule], ['politically-exposed', 'Weak at the bureau']);
  assertReplays(world, pass!);
  assert.equal(world.written.length, 0);
});

test('what is decided without the source asks nobody', async () => {
  const world = await worldOf({ reply: said(700) });
  await world.arrive(['8000001'], { politicallyExposed: true });
  await world.until(() => of(world, 'passed').length === 1);
  assert.deepEqual([of(world, 'passed')[0]!.trace!.sources, world.asked.length], [undefined, 0]);
});

test('nor does what stays undecided and no bid whatever the source says', async () => {
  const other = { all: [{ fact: 'extra.income', operator: 'lessThan', value: 1 }] };
  const world = await worldOf({ rules: [passRule(), passRule(other, 'Income')], reply: said(700) });
  await world.arrive();
  await world.until(() => of(world, 'passed').length === 1);
  assert.equal(world.asked.length, 0);
});

const failures: readonly (readonly [string, SourceReply, string])[] = [
  ['time-out', { kind: 'failed', reason: 'time-out' }, 'time-out'],
  ['another type', said('700'), 'unreadable'],
  ['a huge number', { kind: 'reply', text: '{"score": 1e400}' }, 'unreadable'],
  ['a number out of its range', said(1e15), 'unreadable'],
  ['a fraction of a point', said(1.5), 'unreadable'],
  ['a key twice', { kind: 'reply', text: '{"score": 1, "score": 700}' }, 'unreadable'],
  ['a field that is not declared', { kind: 'reply', text: '{"score": 700, "cpf": "52998224725"}' }, 'unreadable'],
  ['no JSON', { kind: 'reply', text: '<html>52998224725</html>' }, 'unreadable'],
  ['a list', { kind: 'reply', text: '[700]' }, 'unreadable'],
  ['a prototype', { kind: 'reply', text: '{"__proto__": {"score": 700}}' }, 'unreadable'],
  ['deep', { kind: 'reply', text: `{"score": ${'['.repeat(8_000)}${']'.repeat(8_000)}}` }, 'unreadable'],
  ['too long', { kind: 'reply', text: `{"score": 700${' '.repeat(20_000)}}` }, 'unreadable'],
];

for (const [name, reply, failure] of failures) {
  test(`what comes as ${name} is unknown, and no bid`, async () => {
    const world = await worldOf({ reply });
    await world.arrive();
    await world.until(() => of(world, 'passed').length === 1);
    const [pass] = of(world, 'passed');
    assert.equal(pass!.code, 'fact-missing:source.bureau.score');
    assert.deepEqual(
      pass!.trace!.sources?.map((look) => [look.failure, look.found]),
      [[failure, {}]],
    );
    assertReplays(world, pass!);
    assert.ok(!JSON.stringify(world.records()).includes('52998224725'));
    assert.deepEqual([world.asked.length, world.written.length], [1, 0]);
  });
}

test('null and a field left out are unknown', async () => {
  const world = await worldOf({ reply: said(null) });
  await world.arrive();
  await world.until(() => of(world, 'passed').length === 1);
  assert.deepEqual(of(world, 'source-answered')[0]!.failure, null);
  assert.equal(of(world, 'passed')[0]!.code, 'fact-missing:source.bureau.score');
});

test('what holds otherwise is what the set says, in the record', async () => {
  const world = await worldOf({
    change: { otherwise: { score: 600 } },
    reply: { kind: 'failed', reason: 'unreachable' },
  });
  await world.arrive();
  await world.until(() => world.written.length === 1);
  const [claim] = of(world, 'claimed');
  assert.deepEqual(
    claim!.trace.sources!.map((look) => [look.failure, look.found]),
    [['unreachable', { score: 600 }]],
  );
  assertReplays(world, claim!);
});

test('a spent budget and an address that the configuration does not name are failures, and nobody is asked', async () => {
  for (const [options, failure] of [
    [{ left: 0 }, 'over-budget'],
    [{ unconfigured: true }, 'not-configured'],
  ] as const) {
    const world = await worldOf({ ...options, reply: said(700) });
    await world.arrive();
    await world.until(() => of(world, 'passed').length === 1);
    assert.equal(of(world, 'passed')[0]!.trace!.sources![0]!.failure, failure);
    assert.deepEqual([world.asked.length, of(world, 'source-asked').length, world.written.length], [0, 0, 0]);
  }
});

test('without all that it is to be told, and that is not optional, nobody is asked', async () => {
  // The endpoint takes no CPF; the request does not say since when there is the employer.
  for (const [change, failure, asked] of [
    [{ send: ['worker.cpf'], personal: ['worker.cpf'] }, 'not-configured', 0],
    [{ send: ['worker.key', 'employer.ageMonths'], personal: ['worker.key'] }, 'incomplete', 0],
    [
      {
        send: ['worker.key', 'employer.ageMonths'],
        personal: ['worker.key'],
        optional: ['employer.ageMonths'],
      },
      null,
      1,
    ],
  ] as const) {
    const world = await worldOf({ change, reply: said(700) });
    await world.arrive(['8000001'], { employerStartDate: null });
    await world.until(() => of(world, 'source-answered').length === 1);
    await world.pass(500);
    const label = JSON.stringify(change);
    assert.equal(of(world, 'source-answered')[0]!.failure, failure, label);
    assert.deepEqual(
      [world.asked.length, of(world, 'source-asked').length, world.written.length],
      [asked, asked, asked],
      label,
    );
  }
});

test('two sources that say the same are both asked, and as many as a set may have', async () => {
  for (const count of [2, 16]) {
    const names = Array.from({ length: count }, (_, index) => `own${String.fromCharCode(97 + index)}`);
    const files = names.map((name) => ({ path: `${name}.source.json`, text: declared().text }));
    const rules = names.map((name) =>
      passRule({ all: [{ ...weak.all[0], fact: `source.${name}.score` }] }, `Weak at ${name}`),
    );
    const world = await worldOf({ rules, files, reply: said(700) });
    await world.arrive();
    await world.until(() => world.written.length === 1);
    assert.equal(world.asked.length, count);
    assertReplays(world, of(world, 'claimed')[0]!);
  }
});

const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };

test('a source that never answers has failed by its time limit, and what holds otherwise decides', async () => {
  const world = await worldOf({ change: { otherwise: { score: 600 } } });
  await world.arrive();
  await world.until(() => world.asked.length === 1);
  await world.pass(1_900);
  assert.deepEqual([world.asked[0]!.ended.aborted, of(world, 'source-answered').length], [false, 0]);
  await world.until(() => world.written.length === 1, 1_000);
  const [claim] = of(world, 'claimed');
  assert.deepEqual([claim!.trace.sources![0]!.failure, world.asked[0]!.ended.aborted], ['time-out', true]);
  assertReplays(world, claim!);
});

test('a time limit beyond the window ends with the time for a bid, and what holds otherwise decides as well', async () => {
  const world = await worldOf({ change: { timeoutMs: 10_000, otherwise: { score: 600 } } });
  const closesAt = world.now() + 6_000;
  await world.arrive(['8000001'], { closesAt });
  await world.until(() => world.written.length === 1 || of(world, 'passed').length === 1);
  assert.equal(of(world, 'passed').length, 0);
  const [claim] = of(world, 'claimed');
  assert.equal(claim!.trace.sources![0]!.failure, 'time-out');
  assert.ok(claim!.at < closesAt);
  assertReplays(world, claim!);
});

test('questions to one endpoint go out so many at once, and those that wait in vain have failed as well', async () => {
  const world = await worldOf({ change: { timeoutMs: 10_000, otherwise: { score: 600 } } });
  const closesAt = world.now() + 6_000;
  const ids = ['8000001', '8000002', '8000003', '8000004', '8000005'];
  await world.arrive(ids, { closesAt });
  await world.until(() => world.asked.length === 2);
  await world.pass(1_000);
  assert.equal(world.asked.length, 2);
  world.asked[0]!.answer(said(700));
  await world.until(() => world.asked.length === 3);
  await world.until(() => of(world, 'claimed').length + of(world, 'passed').length === ids.length);
  assert.deepEqual(
    of(world, 'source-answered')
      .map(({ failure }) => failure ?? 'answered')
      .sort(),
    ['answered', 'no-time', 'no-time', 'time-out', 'time-out'],
  );
  assert.equal(of(world, 'source-asked').length, 3);
});

test('more than may wait are not asked, and decided at once by what holds otherwise', async () => {
  const world = await worldOf({ change: { timeoutMs: 10_000, maxAskedPerDay: 10_000, otherwise: { score: 600 } } });
  await world.arrive(Array.from({ length: 1_010 }, (_, index) => String(8_000_000 + index)));
  await world.until(() => of(world, 'source-answered').length === 8);
  assert.ok(of(world, 'source-answered').every(({ failure }) => failure === 'queue-full'));
  await world.pass(200);
  assert.deepEqual([world.asked.length, of(world, 'source-answered').length], [2, 8]);
});

test('a source that hangs does not hold another one', async () => {
  const other = { path: 'slow.source.json', text: declared({ endpoint: 'slow', timeoutMs: 10_000 }).text };
  const large = { fact: 'request.amountReais', operator: 'greaterThan', value: 6_000 };
  const hanging: AbortSignal[] = [];
  const endpoints: Record<string, Endpoint> = {
    slow: {
      ...{ maySendCpf: false, mostAsked: 1 },
      ask: (_, ended) => {
        hanging.push(ended);
        return new Promise(() => undefined);
      },
    },
    bureau: { maySendCpf: false, mostAsked: 1, ask: async () => said(700) },
  };
  const ofSlow = {
    ...{ name: 'Slow', conditions: { all: [{ ...weak.all[0], fact: 'source.slow.score' }, large] } },
    event: { type: 'pass', params: { code: 'politically-exposed', reason: 'weak' } },
  };
  const world = await createHandOver([passRule(), ofSlow], [declared(), other], () => ({
    endpoint: (name) => endpoints[name] ?? null,
    take: async () => true,
  }));
  await world.arrive(['8000001', '8000002', '8000003']);
  await world.until(() => hanging.length === 1);
  await world.arrive(['8000004', '8000005'], { requestedAmountCents: 500_000 });
  await world.until(() => world.written.length === 2);
  assert.deepEqual([hanging.length, hanging[0]!.aborted], [1, false]);
  world.give('b');
  await world.until(() => hanging[0]!.aborted);
});

test('the stop of a desk waits for no source, asked or waiting', async () => {
  const world = await worldOf({ change: { timeoutMs: 10_000 } });
  await world.arrive(['8000001', '8000002', '8000003', '8000004']);
  await world.until(() => world.asked.length === 2);
  let isStopped = false;
  const stopped = world.stop('a').then(() => {
    isStopped = true;
  });
  await world.until(() => isStopped, 1_000);
  await stopped;
  assert.ok(world.asked.every(({ ended }) => ended.aborted));
  assert.equal(of(world, 'source-answered').length, 0);
});

test('whoever takes the request over asks once more, and whoever comes then does not', async () => {
  const world = await worldOf();
  await world.arrive();
  await world.until(() => world.asked.length === 1);
  world.give('b');
  await world.until(() => world.asked.length === 2);
  assert.deepEqual(
    world.asked.map(({ by }) => by),
    ['a', 'b'],
  );
  world.give('a');
  await world.until(() => of(world, 'passed').length === 1);
  assert.deepEqual(
    of(world, 'source-asked').map(({ attempt }) => attempt),
    [1, 2],
  );
  assert.equal(of(world, 'passed')[0]!.trace!.sources![0]!.failure, 'interrupted');
  assert.deepEqual([world.asked.length, world.written.length], [2, 0]);
  assertReplays(world, of(world, 'passed')[0]!);
});

test('an answer that is in the log is not asked for again after a hand-over', async () => {
  const review = {
    name: 'Seen by a person',
    conditions: always,
    event: { type: 'review', params: { queue: 'large', minutes: 1, otherwise: 'bid' } },
  };
  const world = await worldOf({ rules: [passRule(), review], reply: said(700) });
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  world.give('b');
  await world.until(() => world.written.length === 1, settings.windowMs);
  const [claim] = of(world, 'claimed');
  assert.deepEqual([world.asked.length, claim!.trace.sources!.length], [1, 1]);
  assertReplays(world, claim!);
});

test('a limit that the source tells, and a computed fact of it, have it asked as well', async () => {
  const event = { type: 'limit', params: { maxAmountReais: { fact: 'source.bureau.room' } } };
  const change = { reply: { room: { type: 'number', unit: 'R$' } } };
  const rules = [{ name: 'Room', conditions: always, event }];
  const world = await worldOf({ rules, change, reply: { kind: 'reply', text: '{"room": 1000}' } });
  await world.arrive();
  await world.until(() => world.written.length === 1 || of(world, 'passed').length === 1);
  assert.equal(world.asked.length, 1);
  const [claim] = of(world, 'claimed');
  if (claim === undefined) assert.equal(of(world, 'passed')[0]!.trace!.sources![0]!.failure, null);
  else assert.ok(claim.offer.amountCents <= 100_000);
});

// --- The fold ---------------------------------------------------------------------------------------------------------

const ask = (change: Partial<SourceAsked> = {}): SourceAsked => ({
  ...{ kind: 'source-asked', requestId, at: at + 1, source: 'bureau', hash: 'h', attempt: 1, ruleSetHash: 'r' },
  ...change,
});
const answer = (change: Partial<SourceAnswered> = {}): SourceAnswered => ({
  ...{ kind: 'source-answered', requestId, at: at + 2, source: 'bureau', hash: 'h', failure: null },
  found: { score: 700 },
  ...change,
});
const fold = (...records: readonly AuctionRecord[]): RequestState =>
  records.reduce<RequestState | null>((state, record) => evolve(state, record, foldSettings), null)!;

test('the first answer counts, of a question that was asked, before the decision', () => {
  const asked = fold(requested(), ask());
  assert.deepEqual(asked.sources, [{ source: 'bureau', hash: 'h', attempts: 1, answer: null }]);
  const known = fold(requested(), ask(), answer());
  assert.deepEqual(known.sources![0]!.answer, { failure: null, found: { score: 700 } });
  assert.equal(fold(requested(), answer()).sources, undefined);
  assert.deepEqual(fold(requested(), ask(), answer(), answer({ found: { score: 1 } })), known);
  assert.deepEqual(fold(requested(), ask(), answer(), ask({ attempt: 2 })), known);
  assert.deepEqual(fold(requested(), ask(), ask()), asked);
  assert.equal(fold(requested(), ask(), answer({ hash: 'other' })).sources!.length, 1);
  const late = fold(requested(), ask(), claimed());
  assert.deepEqual(evolve(late, answer(), foldSettings), late);
  const refused = answer({ failure: 'over-budget', found: {} });
  assert.deepEqual(fold(requested(), refused).sources![0]!.answer, { failure: 'over-budget', found: {} });
});
