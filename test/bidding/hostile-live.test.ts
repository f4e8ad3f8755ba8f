/**
 * Mutations of the shipped rules in the folder of a desk that is deciding: each is refused aloud, with the last good set serving,
 * or becomes live and decides as a second evaluator reads it. `MUTATIONS=300` tries all; else a sample is drawn, by `SEED`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { webhooksOf } from '../../bench/workload.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { announceAheadMs } from '../../src/bidding/rule-book.ts';
import { dayOf } from '../../src/domain/clock.ts';
import type { AuctionRecord, Claimed, Passed } from '../../src/domain/records.ts';
import type { LoanRequest } from '../../src/domain/request.ts';
import { catalogue } from '../../src/rules/facts.ts';
import { factsOf } from '../../src/rules/facts-of.ts';
import { compileRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { type JsonObject, parseJson } from '../../src/wire/json.ts';
import { eventually } from '../conformance/backend.ts';
import { chanceFrom, type Mutation, mutationsOf } from '../rules/mutations.ts';
import { plainDecision, requestRulesOf } from '../rules/plain-decision.ts';
import { type House, openHouse } from './house.ts';
import { createFolder, watchFolder } from './rule-sets.ts';

const all = 300;
const sampled = 24;
const restMs = 40;
const refusedWithinMs = 2_000;
const longestGapMs = 2_000;
const clock = createSystemClock();
const types = Object.fromEntries(
  catalogue.map(({ name, type }) => [name, type === 'string-list' ? 'list' : (type as string)]),
);

/** Without the tests beside them, or these would refuse whatever changes a meaning. */
const shipped = readRuleFiles(new URL('../../rules/', import.meta.url).pathname).filter(
  ({ path }) => !path.endsWith('.test.json'),
);

function drawn(): Mutation[] {
  const mutations = mutationsOf(shipped, all);
  const count = Math.min(all, Number(process.env.MUTATIONS ?? sampled));
  const chance = chanceFrom(Number(process.env.SEED ?? 1));
  const keyed = mutations.map((mutation, place) => ({ mutation, place, key: chance() }));
  keyed.sort((one, other) => one.key - other.key);
  return keyed.slice(0, count).map(({ mutation }) => mutation);
}

function textOf(files: readonly RuleFile[]): string {
  return JSON.stringify(files);
}

/** Without these a request waits for its link, or is no request. */
const kept = ['numeroSolicitacao', 'margemDisponivel', 'nsuAutorizacaoDigital'];
const leftOutShare = 0.05;

/** A webhook of the sandbox's population whose requests leave things out here and there: what is missing must not let one through. */
function webhookFrom(first: number, size: number): string {
  const [webhook] = webhooksOf(first, 1, size, clock.now());
  const chance = chanceFrom(first + 7_919);
  // Ids have more digits than JSON.parse would leave.
  const { value } = parseJson(webhook!.body) as unknown as { value: { Payload: { Solicitacoes: JsonObject[] } } };
  for (const request of value.Payload.Solicitacoes) {
    for (const key of Object.keys(request)) {
      if (!kept.includes(key) && chance() < leftOutShare) delete request[key];
    }
  }
  return JSON.stringify(value);
}

/** Webhooks, one after the other, until told to stop; resolves to how many requests were taken. */
function feed({ engine }: House): { stop: () => Promise<number> } {
  let feeding = true;
  const size = 4;
  const done = (async () => {
    let taken = 0;
    for (let first = 0; feeding; first += size) {
      const url = `${engine.url}/webhooks/token-of-the-webhooks`;
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body: webhookFrom(first, size) });
      if (answer.ok) taken += size;
      await sleep(30);
    }
    return taken;
  })();
  return {
    stop: () => {
      feeding = false;
      return done;
    },
  };
}

async function recordsOf({ store }: House): Promise<AuctionRecord[]> {
  const records: AuctionRecord[] = [];
  const end = (await store.log.ends('auctions')).get(0)!;
  while (records.length < end) {
    for (const { record } of await store.log.read('auctions', 0, records.length, 1_000)) records.push(record);
  }
  return records;
}

function decidedIn(records: readonly AuctionRecord[]): number {
  const ends = records.filter(({ kind }) => kind === 'passed' || kind === 'claimed');
  return new Set(ends.map(({ requestId }) => requestId)).size;
}

type Made = { request: LoanRequest; decision: Claimed | Passed };

/** Decisions of the rules, in log order; what ended without asking them is left out. */
function decisionsIn(records: readonly AuctionRecord[]): Made[] {
  const requests = new Map<string, LoanRequest>();
  const made = new Map<string, Made>();
  for (const record of records) {
    if (record.kind === 'requested') requests.set(record.requestId, record.request);
    if (record.kind !== 'passed' && record.kind !== 'claimed') continue;
    if (record.trace === null || made.has(record.requestId)) continue;
    made.set(record.requestId, { request: requests.get(record.requestId)!, decision: record });
  }
  return [...made.values()];
}

/** What the decision says of the rules, beside what a plain reading of the files says. */
function compare({ request, decision }: Made, files: readonly RuleFile[]): void {
  const trace = decision.trace!;
  const { link, ledger, decidedAt } = trace;
  const told = [request.availableMarginCents, link?.availableMarginCents ?? null].filter((cents) => cents !== null);
  const marginCents = told.length === 0 ? null : Math.min(...told);
  const facts = factsOf({ request, link, marginCents, ...(ledger && { ledger }), at: decidedAt });
  const plain = plainDecision(files, facts, types, dayOf(decidedAt));
  const names = requestRulesOf(files);
  assert.deepEqual([...trace.rulesFired].filter((name) => names.has(name)).sort(), plain.fired);
  const passes = trace.reasons
    .filter(({ rule, code }) => rule !== null && names.has(rule) && code !== 'limits-conflict')
    .map(({ rule, code }) => `${rule}: ${code.startsWith('fact-missing:') ? '?' : code}`);
  assert.deepEqual(passes.sort(), plain.passes);
  if (decision.kind === 'passed') return;
  const { rateHundredths, amountCents, installments } = decision.offer;
  const { maxRatePercent, minRatePercent, maxAmountReais, maxInstallments } = plain.limits;
  assert.ok(rateHundredths <= Math.round(100 * (maxRatePercent ?? 100)), `${rateHundredths} ${maxRatePercent}`);
  assert.ok(rateHundredths >= Math.round(100 * (minRatePercent ?? 0)), `${rateHundredths} ${minRatePercent}`);
  assert.ok(amountCents <= 100 * (maxAmountReais ?? amountCents) && installments <= (maxInstallments ?? installments));
}

async function notesOf({ engine }: House): Promise<string> {
  return (await fetch(`${engine.url}/readyz?verbose`)).text();
}

test('mutations of the shipped rules in the folder of a live desk: refused aloud, or live and decided alike', async (context) => {
  const mutations = drawn();
  const folder = createFolder(shipped);
  const ruleWatch = watchFolder(folder, restMs, 0);
  const bidding = { windowMs: 20_000, skewAllowanceMs: 200, retryFirstMs: 40, marginWaitMs: 300 };
  const house = await openHouse({
    seed: 4,
    sandbox: { auction: { windowMs: 20_000, expiryMs: 40_000 } },
    bidding,
    ruleWatch,
  });
  const { control } = house.store;
  const first = compileRuleSet(shipped);
  assert.ok(first.kind === 'compiled');
  /** Good sets by hash, with files that decide alike. */
  const good = new Map<string, readonly RuleFile[]>([[first.ruleSet.hash, shipped]]);
  let [refused, slowestMs, before] = [0, 0, textOf(shipped)];
  const startedAt = clock.now();
  const feeder = feed(house);
  try {
    for (const { kind, victim, files } of mutations) {
      const what = `${kind} of ${victim}`;
      const same = textOf(files) === before;
      before = textOf(files);
      const known = ruleWatch.reports.length;
      // In between the folder holds the shipped set, should the machine be so slow that somebody sees it.
      folder.put(shipped);
      folder.put(files.filter(({ path }) => path === victim));
      const writtenAt = clock.now();
      const judged = compileRuleSet(files);
      const wanted = judged.kind === 'compiled' ? judged.ruleSet.hash : null;
      await eventually(() => {
        const report = ruleWatch.reports.at(-1);
        const told = report?.kind === 'good' ? report.hash : null;
        return told === wanted && (same || ruleWatch.reports.length > known);
      }, 10_000);
      slowestMs = Math.max(slowestMs, clock.now() - writtenAt);
      const report = ruleWatch.reports.at(-1)!;
      if (report.kind === 'good') {
        good.set(report.hash, files);
        // Else the next change may come first, and what the folder no longer holds is not announced.
        await eventually(async () => (await control.read()).ruleOrders.at(-1)?.hash === report.hash);
        continue;
      }
      refused += 1;
      // File, line where there is one, pointer, and a sentence.
      assert.match(report.text, /^ {2}[\w./-]+\.json(:\d+)?( \/.*)?: .{10,}/, what);
      await eventually(async () => /\[!\] rules: \w+ is followed; the folder is refused/.test(await notesOf(house)));
      // A machine that stalls leaves the desk without news of the controls for a moment: then nothing is followed.
      await eventually(() => good.has(house.engine.policy()?.ruleSet.hash ?? ''));
    }
    await sleep(announceAheadMs + 500);
    const taken = await feeder.stop();
    await eventually(async () => decidedIn(await recordsOf(house)) >= taken, 10_000);
    const decisions = decisionsIn(await recordsOf(house));
    // Some end before, because their link would have to be asked for and may not be.
    assert.ok(decisions.length > 0.5 * taken, `${decisions.length} of ${taken} were decided by rules`);
    for (const made of decisions) {
      const files = good.get(made.decision.trace!.ruleSetHash);
      assert.ok(files !== undefined, 'a set that was refused has decided');
      compare(made, files);
    }
    const announced = (await house.store.ruleBook.read()).filter((entry) => entry.kind === 'activated');
    const deciding = new Set(decisions.map(({ decision }) => decision.trace!.ruleSetHash)).size;
    assert.ok(deciding >= 0.8 * good.size, `${deciding} of ${good.size} sets decided something`);
    await eventually(() => house.engine.policy()?.ruleSet.hash === announced.at(-1)!.hash);
    const times = decisions.map(({ decision }) => decision.trace!.decidedAt).sort((one, other) => one - other);
    const gapMs = Math.max(...times.slice(1).map((at, index) => at - times[index]!));
    context.diagnostic(
      `figure: ${mutations.length} mutations at a live desk in ${clock.now() - startedAt} ms: ${refused} refused, ` +
        `${good.size - 1} live (${deciding - 1} decided), slowest told after ${slowestMs} ms; ` +
        `${decisions.length} decisions alike, longest gap ${gapMs} ms`,
    );
    assert.ok(refused > mutations.length / 4 && good.size > 1, `${refused} refused, ${good.size - 1} live`);
    assert.ok(gapMs < longestGapMs, `${gapMs} ms without a decision`);
    assert.ok(slowestMs < refusedWithinMs + 3 * restMs, `${slowestMs} ms`);
  } finally {
    await feeder.stop();
    await house.close();
    folder.remove();
  }
});
