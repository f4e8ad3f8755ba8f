/** `lance model card` beside a desk that has just traded, and on a store whose segments have hostile names. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { RequestId } from '../../src/domain/glossary.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { accepted, answered, at, bid, claimed, ended, folded, offer, requested, trace } from '../bidding/parts.ts';
import { describeInBrowser, domOf } from '../impact/browser.ts';
import { type Daemon, type Ended, lance, openStage, type Played, startDaemon } from './desk.ts';

type Calibrated = {
  bids: number;
  expected: number;
  observed: number;
  gapInterval: { low: number; high: number } | null;
};
type Card = {
  data: Record<string, number>;
  weights: Record<'readings' | 'parts', { name: string; mean: number; low: number; high: number }[]>;
  segments: { key: string | null; auctions: number; calibration: Calibrated | null }[];
  bins: { from: number; to: number; calibration: Calibrated | null }[];
  settings: { hash: string; matches: boolean | null };
  rules: { hash: string | null };
  newestDecision: { requestId: string; at: number } | null;
};

const requests = 400;
let played: Played;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };
let machine: Ended;
let english: Ended;
let html: string;

before(async () => {
  played = await openStage(5);
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(requests);
  // On a busy machine the last auctions end late.
  const until = Date.now() + 60_000;
  do await sleep(500);
  while (!(await allEnded()) && Date.now() < until);
  html = join(played.directory, 'card.html');
  // Beside the running daemon first: nothing is changed by it.
  assert.equal((await lance(played.environment, 'model', 'card', '--json')).code, 0);
  await daemon.stop();
  [machine, english] = await Promise.all([
    lance(played.environment, 'model', 'card', '--json'),
    lance(played.environment, 'model', 'card', '--html', html, '--lang', 'en'),
  ]);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

/** What the log alone says of each request, without the desk's fold. */
async function toldByLog() {
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  const found = new Map<RequestId, Map<AuctionRecord['kind'], AuctionRecord>>();
  for (const [partition, end] of await reader.log.ends('auctions')) {
    for (let from = 0; from < end; ) {
      const page = await reader.log.read('auctions', partition, from, 500);
      for (const { record } of page) {
        const kinds = found.get(record.requestId) ?? new Map<AuctionRecord['kind'], AuctionRecord>();
        if (!kinds.has(record.kind)) kinds.set(record.kind, record);
        found.set(record.requestId, kinds);
      }
      from = page.at(-1)!.offset + 1;
    }
  }
  await reader.close();
  return [...found.values()];
}

async function allEnded(): Promise<boolean> {
  const told = await toldByLog();
  return told.length >= requests && told.every((kinds) => kinds.has('ended'));
}

test('counts, expected and won bids are those that the log tells', async () => {
  assert.equal(machine.code, 0, machine.stderr);
  const card = JSON.parse(machine.stdout) as Card;
  const told = await toldByLog();
  const finished = told.filter((kinds) => kinds.has('ended'));
  const placed: { segment: string; expected: number; won: boolean }[] = [];
  let claims = 0;
  for (const kinds of told) {
    const claim = kinds.get('claimed');
    if (claim?.kind !== 'claimed') continue;
    claims += 1;
    const answer = kinds.get('answered');
    const end = kinds.get('ended');
    if (answer?.kind !== 'answered' || answer.outcome.kind !== 'accepted' || end?.kind !== 'ended') continue;
    const { bidId } = answer.outcome;
    const own = end.bids.find((published) => published.bidId === bidId);
    if (own === undefined || own.position === null) continue;
    const segment = claim.trace!.segmentKeys.at(-1)!;
    placed.push({ segment, expected: claim.offer.winProbability, won: own.position === 1 });
  }
  assert.ok(placed.length > 20, `${placed.length} bids`);
  assert.deepEqual(
    [card.data.auctions, card.data.claims, card.data.placed, card.data.learnt],
    [finished.length, claims, placed.length, finished.length],
  );
  assert.equal(card.segments[0]!.key, 'all');
  const others = card.segments.slice(1).reduce((sum, { auctions }) => sum + auctions, 0);
  assert.equal(others, card.data.auctions);
  for (const { key, calibration } of card.segments) {
    if (key === null) continue;
    const own = placed.filter(({ segment }) => key === 'all' || segment === key);
    assert.equal(calibration?.bids ?? 0, own.length, key);
    if (calibration === null) continue;
    const mean = own.reduce((sum, { expected }) => sum + expected, 0) / own.length;
    assert.ok(Math.abs(calibration.expected - mean) < 1e-9);
    assert.equal(calibration.observed, own.filter(({ won }) => won).length / own.length);
  }
  for (const { from, to, calibration } of card.bins) {
    const own = placed.filter(({ expected }) => expected >= from && (expected < to || to === 1));
    assert.equal(calibration?.bids ?? 0, own.length);
  }
  const { gapInterval, observed, expected } = card.segments[0]!.calibration!;
  assert.ok(gapInterval!.low < observed - expected && observed - expected < gapInterval!.high);
  for (const weights of [card.weights.readings, card.weights.parts]) {
    assert.ok(
      weights.every(({ mean, low, high }) => low >= 0 && low <= mean + 1e-9 && mean <= high + 1e-9 && high <= 1),
    );
  }
  assert.ok(Math.abs(card.weights.readings.reduce((sum, { mean }) => sum + mean, 0) - 1) < 1e-6);
  assert.equal(card.settings.matches, true);
  const newest = Math.max(
    ...told.flatMap((kinds) => {
      const { trace: claimTrace = null } = (kinds.get('claimed') ?? {}) as { trace?: { decidedAt: number } | null };
      return claimTrace === null ? [] : [claimTrace.decidedAt];
    }),
  );
  assert.ok(card.newestDecision!.at >= newest);
});

test('the text fits 80 columns, in both languages', async () => {
  assert.equal(english.code, 0, english.stderr);
  assert.match(english.stdout, /^Model card of the price$/m);
  const portuguese = await lance(played.environment, 'model', 'card');
  assert.match(portuguese.stdout, /^Ficha do modelo de preço$/m);
  for (const line of [...english.stdout.split('\n'), ...portuguese.stdout.split('\n')]) {
    assert.ok(line.length <= 80, line);
  }
});

test('a store is not made by looking at it, and hostile names of segments stay text', async () => {
  const empty = join(played.directory, 'empty');
  assert.notEqual((await lance({ LANCE_DATA_DIR: empty }, 'model', 'card')).code, 0);
  const data = join(played.directory, 'hostile');
  const store = await openEmbeddedStore({ directory: data, onFault: assert.fail });
  const names = ['</script><script>document.title="x"</script>', '\u001b[2J\u202e\n"', 'x'.repeat(10_000)];
  const changes = Array.from({ length: 60 }, (_, index) => {
    const segmentKeys = ['all', `all|group=${names[index % 3]!}`];
    const won = index % 2 === 0;
    const state = folded(requested(), claimed('a:1', { trace: { ...trace, segmentKeys } }), answered(accepted), {
      ...ended([bid('ours', { position: won ? 1 : 2 }), bid('rival', { rateHundredths: 300, position: won ? 2 : 1 })]),
      endedAt: at + 1_000 * index,
    });
    const held = { ...state, requestId: String(index), batchId: `batch-${index}` };
    return { kind: 'state' as const, state: held, open: false, bidIds: [] };
  });
  await store.views.apply({ partition: 0, first: 0, next: 1, changes });
  await store.close();
  const page = join(played.directory, 'hostile.html');
  const environment = { LANCE_DATA_DIR: data, LANCE_LANG: 'en' };
  const [shown, json] = await Promise.all([
    lance(environment, 'model', 'card', '--html', page),
    lance(environment, 'model', 'card', '--json'),
  ]);
  assert.equal(shown.code, 0, shown.stderr);
  const { segments } = JSON.parse(json.stdout) as Card;
  assert.deepEqual(new Set(segments.slice(1).map(({ key }) => key)), new Set(names.map((name) => `all|group=${name}`)));
  const { bids, expected, observed } = segments[0]!.calibration!;
  assert.deepEqual([bids, observed], [60, 0.5]);
  assert.ok(Math.abs(expected - offer.winProbability) < 1e-9);
  assert.ok(shown.stdout.split('\n').every((line) => line.length <= 80));
  assert.doesNotMatch(shown.stdout, /[^\P{C}\n]/u);
  const text = readFileSync(page, 'utf8');
  assert.ok(!text.includes(names[0]!));
  assert.doesNotMatch(text, /x{200}|\u202e/);
});

describeInBrowser('the card in a browser', () => {
  test('draws its plot and reports no fault', () => {
    const dom = domOf(html);
    assert.match(dom, /data-drawn="1"/);
    assert.doesNotMatch(dom.replace(/<noscript>.*?<\/noscript>/s, ''), /class="fault"/);
  });
});
