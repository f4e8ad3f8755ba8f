/** Sources outside beside a real daemon that is killed while one is asked, and started again. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bidPath } from '../../src/wire/bid.ts';
import { lance, openStage, type Played, startDaemon } from './desk.ts';
import { configure, openSource, sourceRules } from './source-stage.ts';

const windowMs = 20_000;

describe('sources', () => {
  let stage: Played;
  let source: Awaited<ReturnType<typeof openSource>>;
  let environment: Record<string, string>;
  let daemon: Awaited<ReturnType<typeof startDaemon>>;
  let running: Promise<unknown> = Promise.resolve();

  before(async () => {
    stage = await openStage(5, windowMs);
    source = await openSource();
    environment = { ...stage.environment, LANCE_LANG: 'en', LANCE_RULES_DIR: sourceRules(stage) };
    configure(environment.LANCE_CONFIG!, source.url, windowMs);
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
  });
  after(async () => {
    // What is on its way is told to a desk that lives.
    await running;
    daemon.signal('SIGKILL');
    source.close();
    await stage.close();
  });

  const sentFor = (id: string) =>
    stage.sandbox.record.of('call').filter(({ path, requestId }) => path === bidPath && requestId === id);

  async function until(is: () => Promise<boolean> | boolean): Promise<void> {
    for (let polls = 0; !(await is()); polls += 1) {
      if (polls > 400) throw new Error('not in time');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('killed while a source is asked: asked once more, and the answer makes the bid', {
    timeout: 120_000,
  }, async () => {
    running = stage.sandbox.run(12);
    await until(() => source.questions().length >= 3);
    const before = new Set(source.questions());
    assert.equal(before.size, source.questions().length);
    assert.match(JSON.parse([...before][0]!)['worker.cpf'], /^\d{11}$/);
    daemon.signal('SIGKILL');
    source.answer('{"score": 700}');
    const sent = () => stage.sandbox.record.of('call').filter(({ path }) => path === bidPath);
    assert.equal(sent().length, 0);
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
    await until(() => sent().length >= 3);
    const counts = Map.groupBy(source.questions(), (question) => question);
    for (const [, times] of counts) assert.ok(times.length <= 2, `${times.length} times`);
    assert.ok([...before].filter((question) => counts.get(question)!.length === 2).length >= 1);
    const { requestId } = sent()[0]!;
    assert.equal(sentFor(requestId!).length, 1);
    const shown = await lance(environment, 'bids', 'show', requestId!);
    assert.match(shown.stdout, /source asked: bureau[\s\S]*source answered: bureau, score 700/);
    assert.match(shown.stdout, /same bytes/i);
    assert.doesNotMatch(shown.stdout, /difference/i);
  });
});
