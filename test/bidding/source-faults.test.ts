/**
 * A real desk beside the played source, which does to it whatever a source may do: each failure ends with what the set says holds then,
 * no bid goes beyond it, and each decision is made again to the byte after the source and the set have changed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { differencesOf } from '../../src/bidding/explain.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { announce, propose } from '../../src/bidding/rule-book.ts';
import { replayOf } from '../../src/cli/bid-report.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import type { SourceFailure } from '../../src/domain/offer.ts';
import type { AuctionRecord, Claimed, Passed, Requested, SourceAnswered } from '../../src/domain/records.ts';
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { type SourceFault, sourceKinds } from '../../src/sandbox/faults.ts';
import { eventually } from '../conformance/backend.ts';
import { type House, openHouse } from './house.ts';

const windowMs = 3_000;
const requests = 60;

/** What the desk makes of each fault. */
const failureOf: Record<SourceFault, SourceFailure> = {
  ...{ slow: 'time-out', silent: 'time-out', dropped: 'unreachable', error: 'refused' },
  ...{ malformed: 'unreadable', wrongType: 'unreadable', oversized: 'too-long' },
};

/** Below 500 points no bid, below 700 at most R$ 2 000; a failure counts as `otherwise` points. */
function filesWith(otherwise: number): { path: string; text: string }[] {
  const rule = (name: string, below: number, event: object) => ({
    ...{ name, event },
    conditions: { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: below }] },
  });
  const source = {
    ...{ description: 'A score of the bureau.', endpoint: 'bureau' },
    ...{ send: ['worker.cpf', 'request.amountReais'], personal: ['worker.cpf'] },
    reply: { score: { type: 'number', unit: 'points' } },
    ...{ timeoutMs: 800, maxAskedPerDay: 10_000, otherwise: { score: otherwise } },
  };
  const unset = { ...source, endpoint: 'nobody', send: [], personal: [] };
  const rules = [
    rule('Too weak', 500, { type: 'pass', params: { code: 'alerts', reason: 'Too weak.' } }),
    rule('Weak', 700, { type: 'limit', params: { maxAmountReais: 2_000 } }),
    // Never decided without a source whose endpoint nobody has configured: its `otherwise` lets it be.
    {
      ...rule('Elsewhere', 500, { type: 'pass', params: { code: 'alerts', reason: 'Weak elsewhere.' } }),
      conditions: { all: [{ fact: 'source.elsewhere.score', operator: 'lessThan', value: 500 }] },
    },
  ];
  return [
    { path: 'bureau.json', text: JSON.stringify({ rules }) },
    { path: 'bureau.source.json', text: JSON.stringify(source) },
    { path: 'elsewhere.source.json', text: JSON.stringify({ ...unset, otherwise: { score: 600 } }) },
  ];
}

const limitCents = 200_000;

async function recordsOf({ store }: House): Promise<AuctionRecord[]> {
  const found: AuctionRecord[] = [];
  for await (const { record } of readTopic(store.log, 'auctions')) found.push(record);
  return found;
}

type Decision = (Claimed | Passed) & { trace: NonNullable<Passed['trace']> };

function decisionsIn(records: readonly AuctionRecord[]): Decision[] {
  const first = new Map<string, Decision>();
  for (const record of records) {
    if ((record.kind !== 'claimed' && record.kind !== 'passed') || record.trace === null) continue;
    if (!first.has(record.requestId)) first.set(record.requestId, record as Decision);
  }
  return [...first.values()];
}

/** The decision made again from the log alone differs in nothing. */
async function assertReplays({ store, vault }: House, records: readonly AuctionRecord[]): Promise<void> {
  const requested = new Map<string, Requested>();
  for (const record of records) if (record.kind === 'requested') requested.set(record.requestId, record);
  const world = { format: createFormat('en') } as CommandWorld;
  for (const decision of decisionsIn(records)) {
    const { request: bare, sealed, requestId } = requested.get(decision.requestId)!;
    const request = joinRequest(bare, vault.open(sealedPlaces.request(requestId), sealed), vault);
    const state = { request } as Parameters<typeof replayOf>[2];
    const replay = await replayOf(world, store.log, state, decision);
    assert.deepEqual(differencesOf(replay, decision), [], requestId);
  }
}

test('whatever the source does, what the set says for it holds, and each decision is made again', {
  timeout: 60_000,
}, async (context) => {
  const lines: string[] = [];
  const share = 0.09;
  const house = await openHouse({
    seed: 54,
    sandbox: {
      auction: { windowMs, expiryMs: 60_000 },
      pace: { batchRequests: 20, batchIntervalMs: 100 },
      faults: { sources: { ...Object.fromEntries(sourceKinds.map((kind) => [kind, share])), slowMs: 1_500 } },
    },
    bidding: { windowMs, skewAllowanceMs: 200, marginWaitMs: 600 },
    more: (url) => ({ enrichment: { bureau: { url: `${url}/sandbox/bureau`, sendCpf: true } } }),
    moreRules: filesWith(600),
    onLine: (line) => lines.push(line),
  });
  context.after(() => house.close());
  const { sandbox } = house;
  const decided = async (count: number): Promise<AuctionRecord[]> => {
    let records: AuctionRecord[] = [];
    await eventually(async () => {
      records = await recordsOf(house);
      const ended = records.filter(({ kind }) => kind === 'answered' || kind === 'passed');
      return new Set(ended.map(({ requestId }) => requestId)).size >= count;
    }, 15_000);
    return records;
  };

  await sandbox.run(requests);
  const records = await decided(requests);
  const questions = sandbox.record.of('question');
  const answers = records.filter(
    (record): record is SourceAnswered => record.kind === 'source-answered' && record.source === 'bureau',
  );
  const heardAs = Map.groupBy(answers, ({ failure }) => failure);
  const playedAs = Map.groupBy(questions, ({ fault }) => (fault === null ? null : failureOf[fault]));
  assert.deepEqual([...heardAs.keys()].sort(), [...playedAs.keys()].sort());
  assert.equal(answers.length, questions.length);
  // On a busy machine what was answered may have come too late, and nothing else.
  for (const [failure, { length }] of heardAs)
    assert.ok(failure === 'time-out' || length <= playedAs.get(failure)!.length, `${length} ${failure}`);
  assert.deepEqual([...new Set(questions.map(({ fault }) => fault))].sort(), [...sourceKinds, null].sort());
  assert.ok(questions.every(({ body }) => /^\{"worker\.cpf":"\d{11}","request\.amountReais":[\d.]+\}$/.test(body)));
  for (const { failure, found } of answers) if (failure !== null) assert.deepEqual(found, { score: 600 });

  const ready = await (await fetch(`${house.engine.url}/readyz?verbose`)).text();
  assert.match(ready, /^\[!\] sources: .*FAILS: the source elsewhere did not answer (\d+) of the last \1 questions/m);

  const heard = new Map(answers.map((answer) => [answer.requestId, answer]));
  let [limited, free, weak] = [0, 0, 0];
  for (const decision of decisionsIn(records)) {
    const answer = heard.get(decision.requestId);
    if (answer === undefined) {
      assert.equal(decision.kind, 'passed', 'nobody is bid for whose score nobody knows');
      continue;
    }
    const looks = decision.trace.sources?.map(({ source, failure }) => [source, failure]);
    assert.deepEqual(looks, [
      ['bureau', answer.failure],
      ['elsewhere', 'not-configured'],
    ]);
    const score = Number(answer.found.score);
    if (score < 500) assert.equal(decision.kind === 'passed' && decision.code, 'alerts');
    if (score < 500) weak += 1;
    if (decision.kind !== 'claimed') continue;
    if (score >= 700) free += 1;
    else assert.ok(decision.offer.amountCents <= limitCents, `${decision.offer.amountCents} under ${score} points`);
    if (answer.failure !== null) limited += 1;
  }
  assert.ok(limited > 5 && free > 3 && weak > 3, [limited, free, weak].join());
  assert.ok(lines.some((line) => /elsewhere\.source\.json .*no endpoint.*rules-source-unconfigured/.test(line)));
  assert.ok(!lines.some((line) => questions.some(({ body }) => line.includes(JSON.parse(body)['worker.cpf']))));
  await assertReplays(house, records);

  // The source thinks otherwise of everybody now, and the set of a failure.
  sandbox.bureau.change({ scoreMin: 100, scoreMax: 200 });
  const shipped = readRuleFiles(new URL('../../rules/', import.meta.url).pathname);
  const untested = shipped.filter(({ path }) => !path.endsWith('.test.json'));
  const compiled = compileRuleSet([...untested, ...filesWith(50)]);
  assert.ok(compiled.kind === 'compiled');
  const { hash, source } = compiled.ruleSet;
  const who = { by: 'ana', via: 'api' } as const;
  const book = { ...house.store, clock: createSystemClock() };
  await propose(book, { hash, source, who });
  const { liveAt } = await announce(book, { hash, who, aheadMs: 2_000 });
  await sleep(Math.max(0, liveAt - Date.now()) + 50);
  await sandbox.run(20);
  const all = await decided(requests + 20);
  const later = decisionsIn(all).filter(({ trace }) => trace.ruleSetHash === hash);
  assert.ok(later.some(({ trace }) => trace.sources !== undefined) && later.every(({ kind }) => kind === 'passed'));
  await assertReplays(house, all);
});
