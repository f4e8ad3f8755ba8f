/** `lance review` beside a real daemon that is stopped, killed and started again while requests wait for a person. */
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createFormat } from '../../src/cli/format.ts';
import { defaultRulesDir } from '../../src/config.ts';
import type { WaitingReview } from '../../src/operating/reviews.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { jsonLines, lance, linesInTerminal, openStage, type Played, startDaemon } from './desk.ts';

const windowMs = 45_000;
let played: Played;
let daemon: Awaited<ReturnType<typeof startDaemon>>;
let environment: Played['environment'];
let running: Promise<unknown>;
const why = ['--by', 'ana', '--reason', 'holerite conferido'];

before(async () => {
  played = await openStage(5, windowMs);
  const rules = join(played.directory, 'rules');
  cpSync(defaultRulesDir, rules, { recursive: true });
  const conditions = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
  const event = { type: 'review', params: { queue: 'all-of-them', minutes: 10 } };
  writeFileSync(join(rules, 'reviews.json'), JSON.stringify({ name: 'Seen by a person', conditions, event }));
  const expect = { review: { queue: 'all-of-them', minutes: 10, otherwise: 'pass' } };
  const tests = [{ name: 'all of them are', facts: {}, expect }];
  writeFileSync(join(rules, 'reviews.test.json'), JSON.stringify({ base: {}, tests }));
  environment = { ...played.environment, LANCE_RULES_DIR: rules };
  daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
  running = played.sandbox.run(12);
});

after(async () => {
  daemon.signal('SIGKILL');
  await running;
  await played.close();
});

const listed = async () => jsonLines<WaitingReview>((await lance(environment, 'review', 'list', '--json')).stdout);
const decide = (id: string, ...words: string[]) =>
  lance({ ...environment, LANCE_LANG: 'en' }, 'review', 'decide', id, ...words);

/** At a machine whose clock is off by so many minutes. */
function decideFrom(minutes: number, id: string, ...words: string[]) {
  const off = join(played.directory, 'off.mjs');
  writeFileSync(off, `const { now } = Date;\nDate.now = () => now() + ${minutes * 60_000};\n`);
  const there = { ...environment, LANCE_LANG: 'en', NODE_OPTIONS: `--import=${pathToFileURL(off)}` };
  return lance(there, 'review', 'decide', id, ...words);
}
const sentFor = (id: string) =>
  played.sandbox.record.of('call').filter(({ path, requestId }) => path === bidPath && requestId === id);

type Shown = {
  state: string;
  code: string | null;
  review: { until: number; answer: { decision: string; by: string } | null } | null;
  differences?: string[];
};
const shown = async (id: string): Promise<Shown> =>
  JSON.parse((await lance(environment, 'bids', 'show', id, '--json')).stdout);

async function until(is: () => Promise<boolean> | boolean): Promise<void> {
  for (let polls = 0; !(await is()); polls += 1) {
    if (polls > 400) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

let waiting: WaitingReview[] = [];

test('what waits is listed in 80 columns, and an answer makes the bid', async () => {
  await until(async () => {
    waiting = await listed();
    return waiting.length >= 4;
  });
  const [{ requestId, queue, until: end, askedAt, otherwise }] = waiting as [WaitingReview];
  assert.deepEqual([queue, otherwise, end > askedAt && end < askedAt + windowMs], ['all-of-them', 'pass', true]);
  const lines = await linesInTerminal({ ...environment, LANCE_LANG: 'en' }, 80, 'review', 'list');
  assert.ok(
    lines.every((line) => line.length <= 80),
    lines.join('\n'),
  );
  // To the second, for a window may be shorter than a minute; and the date is not broken.
  const shownUntil = createFormat('en').second(end);
  assert.match(shownUntil, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d -03$/);
  assert.ok(
    lines.some((line) => [requestId, 'all-of-them', shownUntil].every((part) => line.includes(part))),
    lines.join('\n'),
  );
  const wait = await lance({ ...environment, LANCE_LANG: 'en' }, 'bids', 'show', requestId);
  assert.match(wait.stdout, /Review by a person: all-of-them[\s\S]*nobody has answered yet/);

  const answered = await decideFrom(7, requestId, '--bid', ...why);
  assert.deepEqual([answered.code, answered.stderr], [0, '']);
  await until(() => sentFor(requestId).length > 0);
  const after = await shown(requestId);
  assert.deepEqual([after.review!.answer!.decision, after.review!.answer!.by], ['bid', 'ana']);
  const told = await lance({ ...environment, LANCE_LANG: 'en' }, 'bids', 'show', requestId);
  assert.match(told.stdout, /answer +bid, by ana: holerite conferido/);
  assert.match(told.stdout, /review answered: bid, by ana/);
  assert.match(told.stdout, /same bytes/i);
});

test('answers that are refused say why', async () => {
  const [first, second] = waiting as [WaitingReview, WaitingReview];
  for (const [words, code, text] of [
    [[first.requestId, '--pass', ...why], 1, /was answered by ana: bid\. The first answer counts/],
    [['999', '--bid', ...why], 1, /999/],
    [[second.requestId, '--bid', '--pass', ...why], 1, /Write --bid or --pass/],
    [[second.requestId, ...why], 1, /Write --bid or --pass/],
    [[second.requestId, '--bid', '--reason', 'x'], 1, /--by/],
  ] as const) {
    const [id, ...options] = words;
    const refused = await decide(id!, ...options);
    assert.notEqual(refused.code, 0, String(code));
    assert.match(refused.stderr, text);
  }
  assert.equal((await shown(second.requestId)).review!.answer, null);
});

test('killed between the answer and the bid: the bid is made after the start, once; the others wait until the same time', async () => {
  const [, second, third, fourth] = waiting as [WaitingReview, WaitingReview, WaitingReview, WaitingReview];
  // It lives, and does nothing any more: the answer is in the log, and no bid is made.
  daemon.signal('SIGSTOP');
  const late = await decide(second.requestId, '--bid', ...why);
  assert.match(late.stderr + late.stdout, /recorded/i);
  daemon.signal('SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(sentFor(second.requestId).length, 0);
  // Nobody runs.
  const stored = await decide(third.requestId, '--pass', ...why);
  assert.match(stored.stderr + stored.stdout, /Recorded/i);
  daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
  await until(() => sentFor(second.requestId).length > 0);
  await until(async () => (await shown(third.requestId)).code === 'review-refused');
  assert.equal((await shown(fourth.requestId)).review!.until, fourth.until);
  await until(
    async () => (await shown(fourth.requestId)).code === 'review-expired' || Date.now() > fourth.until + 5_000,
  );
  assert.equal((await shown(fourth.requestId)).code, 'review-expired');
  for (const { requestId } of [third, fourth]) assert.equal(sentFor(requestId).length, 0);
  assert.equal(new Set(sentFor(second.requestId).map(({ sha256 }) => sha256)).size, 1);
  assert.equal(sentFor(second.requestId).length, 1);
  const over = await decide(fourth.requestId, '--bid', ...why);
  assert.match(over.stderr, /ended at/);
  const replayed = await lance({ ...environment, LANCE_LANG: 'en' }, 'bids', 'show', fourth.requestId);
  assert.match(replayed.stdout, /nobody answered in time, so: no bid/);
  assert.match(
    replayed.stdout,
    /What was missing[^\n]*\n[ \t]*the review answered “bid” in time → a bid at [^\n]*\n\n/,
  );
});
