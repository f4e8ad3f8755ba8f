/** A desk whose rules ask an external source, and that source: it holds each question until the test says what it answers. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultRulesDir } from '../../src/config.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { lance, openStage, type Played, startDaemon } from './desk.ts';

type Source = {
  /** Bodies, in the order in which they came. */
  questions: () => readonly string[];
  /** Those that are held are answered too. Null: held from now on. */
  answer: (text: string | null) => void;
  close: () => void;
};

async function openSource(): Promise<Source & { url: string }> {
  const questions: string[] = [];
  let held: ServerResponse[] = [];
  let said: string | null = null;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      questions.push(body);
      if (said === null) held.push(response);
      else response.end(said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    questions: () => questions,
    answer: (text) => {
      said = text;
      if (text === null) return;
      for (const response of held) response.end(text);
      held = [];
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The shipped rules with one more that needs the source, in a folder of the stage. */
function sourceRules(stage: Played): string {
  const rules = join(stage.directory, 'rules');
  cpSync(defaultRulesDir, rules, { recursive: true });
  // Their own tests know nothing of the source.
  for (const name of readdirSync(rules)) if (name.endsWith('.test.json')) rmSync(join(rules, name));
  const write = (name: string, content: object) => writeFileSync(join(rules, name), JSON.stringify(content));
  write('bureau.source.json', {
    description: 'A score of the bureau.',
    ...{ endpoint: 'bureau', send: ['worker.cpf', 'request.amountReais'], personal: ['worker.cpf'] },
    reply: { score: { type: 'number', unit: 'points' } },
    ...{ timeoutMs: 10_000, maxAskedPerDay: 10_000 },
  });
  const conditions = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };
  const event = { type: 'pass', params: { code: 'politically-exposed', reason: 'The score is too low.' } };
  write('bureau.json', { name: 'Low score', priority: 1, conditions, event });
  write('bureau.test.json', {
    base: {},
    tests: [
      { name: 'too low', facts: { 'source.bureau.score': 499 }, expect: { fired: ['Low score'] } },
      { name: 'enough', facts: { 'source.bureau.score': 500 }, expect: { silent: ['Low score'] } },
    ],
  });
  return rules;
}

/** Adds the address of the source and the window to the settings. */
function configure(path: string, url: string, windowMs: number): void {
  const config = JSON.parse(readFileSync(path, 'utf8'));
  const enrichment = { bureau: { url, sendCpf: true } };
  const rules = { leastCoveragePercent: 0 };
  writeFileSync(path, JSON.stringify({ ...config, bidding: { ...config.bidding, windowMs }, enrichment, rules }));
}

/** The desk of a stage, killed while its source is asked. `environmentOf`: of the desk. */
export async function killedWhileAsked(
  context: TestContext,
  environmentOf: (stage: Played) => Record<string, string>,
): Promise<void> {
  const windowMs = 20_000;
  const stage = await openStage(5, windowMs);
  const source = await openSource();
  const environment: Record<string, string> = { ...environmentOf(stage), LANCE_RULES_DIR: sourceRules(stage) };
  configure(environment.LANCE_CONFIG!, source.url, windowMs);
  let daemon = await startDaemon(environment);
  stage.sandbox.connect(daemon.url);
  const running = stage.sandbox.run(12);
  context.after(async () => {
    // What is on its way is told to a desk that lives.
    await running;
    await daemon.stop();
    source.close();
    await stage.close();
  });
  const sent = () => stage.sandbox.record.of('call').filter(({ path }) => path === bidPath);
  await until(() => source.questions().length >= 3);
  const before = new Set(source.questions());
  assert.equal(before.size, source.questions().length);
  assert.match(JSON.parse([...before][0]!)['worker.cpf'], /^\d{11}$/);
  daemon.signal('SIGKILL');
  source.answer('{"score": 700}');
  assert.equal(sent().length, 0);
  daemon = await startDaemon(environment);
  stage.sandbox.connect(daemon.url);
  await until(() => sent().length >= 3);
  const counts = Map.groupBy(source.questions(), (question) => question);
  for (const [, times] of counts) assert.ok(times.length <= 2, `${times.length} times`);
  assert.ok([...before].filter((question) => counts.get(question)!.length === 2).length >= 1);
  const { requestId } = sent()[0]!;
  assert.equal(sent().filter((call) => call.requestId === requestId).length, 1);
  const shown = await lance(environment, 'bids', 'show', requestId!);
  assert.match(shown.stdout, /source asked: bureau[\s\S]*source answered: bureau, score 700/);
  assert.match(shown.stdout, /same bytes/i);
  assert.doesNotMatch(shown.stdout, /difference/i);
}

async function until(is: () => boolean): Promise<void> {
  for (let polls = 0; !is(); polls += 1) {
    if (polls > 400) throw new Error('not in time');
    await sleep(50);
  }
}
