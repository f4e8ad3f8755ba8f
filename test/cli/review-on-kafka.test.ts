/** Reviews on Kafka: a request waits in the log, the answer is one of its records, and a process that starts later bids with it. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defaultRulesDir } from '../../src/config.ts';
import type { WaitingReview } from '../../src/operating/reviews.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';
import { environmentOnKafka } from './kafka-desk.ts';

const windowMs = 40_000;
const why = ['--by', 'ana', '--reason', 'seen'];

await describeOnStack('reviews', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
  let daemon: Awaited<ReturnType<typeof startDaemon>>;
  let running: Promise<unknown> = Promise.resolve();

  before(async () => {
    stage = await openStage(5, windowMs);
    const rules = join(stage.directory, 'rules');
    cpSync(defaultRulesDir, rules, { recursive: true });
    const conditions = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
    const event = { type: 'review', params: { queue: 'all-of-them', minutes: 10 } };
    writeFileSync(join(rules, 'reviews.json'), JSON.stringify({ name: 'Seen by a person', conditions, event }));
    const tests = [{ name: 'all of them are', facts: {}, expect: { review: 'all-of-them' } }];
    writeFileSync(join(rules, 'reviews.test.json'), JSON.stringify({ base: {}, tests }));
    environment = { ...environmentOnKafka(stage, stack), LANCE_RULES_DIR: rules };
    const path = environment.LANCE_CONFIG!;
    const config = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...config, bidding: { ...config.bidding, windowMs } }));
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
  });
  after(async () => {
    // The sandbox tells the ends of its auctions to somebody.
    await running;
    await daemon.stop();
    await stage.close();
  });

  const sentFor = (id: string) =>
    stage.sandbox.record.of('call').filter(({ path, requestId }) => path === bidPath && requestId === id).length;

  async function until(is: () => Promise<boolean> | boolean): Promise<void> {
    for (let polls = 0; !(await is()); polls += 1) {
      if (polls > 300) throw new Error('not in time');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('an answer makes the bid, also where no process ran when it was given', { timeout: 120_000 }, async () => {
    running = stage.sandbox.run(12);
    let waiting: WaitingReview[] = [];
    await until(async () => {
      const { stdout } = await lance(environment, 'review', 'list', '--json');
      waiting = jsonLines<WaitingReview>(stdout).filter(({ requestId }) => requestId !== undefined);
      return waiting.length >= 3;
    });
    const [first, second, third] = waiting as [WaitingReview, WaitingReview, WaitingReview];
    const live = await lance(environment, 'review', 'decide', first.requestId, '--bid', ...why);
    assert.deepEqual([live.code, live.stderr], [0, '']);
    await until(() => sentFor(first.requestId) === 1);
    // Dead before it can be told.
    daemon.signal('SIGKILL');
    const stored = await lance(environment, 'review', 'decide', second.requestId, '--bid', ...why);
    assert.match(stored.stdout + stored.stderr, /ecorded/);
    assert.equal(sentFor(second.requestId), 0);
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
    await until(() => sentFor(second.requestId) === 1);
    const shown = await lance(environment, 'bids', 'show', third.requestId, '--json');
    const { state, review } = JSON.parse(shown.stdout);
    assert.deepEqual([state, review.until, review.answer], ['requested', third.until, null]);
    assert.deepEqual([sentFor(first.requestId), sentFor(third.requestId)], [1, 0]);
  });
});
