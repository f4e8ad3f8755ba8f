/** `lance backtest` as people start it: on files, on the log of a desk, and its page in a real browser. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { Backtest } from '../../src/impact/backtest.ts';
import { accepted, answered, at, bid, claimed, ended, folded, requested, trace } from '../bidding/parts.ts';
import { auctionsOf } from '../impact/auctions.ts';
import { describeInBrowser, domOf } from '../impact/browser.ts';
import { type Ended, lance } from './desk.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-backtest-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const pathOf = (name: string) => join(directory, name);

function fileOf(name: string, lines: readonly unknown[]): string {
  writeFileSync(pathOf(name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return pathOf(name);
}

/** A segment name that would like to be a script. */
const hostile = '</script><script>document.title="x"</script>';
const auctions = auctionsOf('smooth', 300).map(({ segment, bestRivalCell }, index) => ({
  id: String(index),
  segment: { group: segment.group === '0' ? hostile : `g${segment.group}` },
  rates: bestRivalCell === 498 ? [] : [bestRivalCell, 490],
}));
const file = fileOf('smooth.ndjson', auctions);
const html = pathOf('page.html');
const again = pathOf('again.html');
let shown: Ended;
let machine: Ended;

before(async () => {
  [shown, machine] = await Promise.all([
    lance({}, 'backtest', file, '--html', html, '--lang', 'en'),
    lance({}, 'backtest', file, '--html', again, '--lang', 'en', '--json'),
  ]);
});

test('a table for people, one object for machines, with progress beside them', () => {
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^the desk +[\d.,]+ p\.p\. +\d+\.\d\d % \(\d+\.\d\d % … \d+\.\d\d %\)$/m);
  assert.match(shown.stdout, /^plain histogram +0\.\d{4} +0\.\d{4}/m);
  assert.match(shown.stderr, /replaying 300\/300/);
  const found = JSON.parse(machine.stdout) as Backtest;
  assert.equal(machine.stdout.trimEnd().split('\n').length, 1);
  assert.doesNotMatch(machine.stderr, /replaying/);
  assert.deepEqual([found.auctions, found.scored, found.dimensions], [300, 240, ['group']]);
  const share = (found.policies[0]!.share * 100).toFixed(2);
  assert.ok(shown.stdout.includes(`${share} %`));
});

test('the page is the same to the byte, loads nothing, and holds the figures', () => {
  const page = readFileSync(html, 'utf8');
  assert.equal(page, readFileSync(again, 'utf8'));
  // What could load: attributes, style sheets, and scripts that fetch; uPlot names its home in a comment.
  assert.doesNotMatch(page, /(?:src|href|action|data)\s*=\s*["']?(?:https?:|\/\/)/i);
  assert.doesNotMatch(page, /@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(/);
  assert.ok(!page.includes(hostile));
  const plots = JSON.parse(/id="plots">(.*)<\/script>/.exec(page)![1]!) as { series: { values: number[] }[] }[];
  const found = JSON.parse(machine.stdout) as Backtest;
  const last = plots[0]!.series[0]!.values.at(-1)!;
  assert.ok(Math.abs(last - found.policies[0]!.share) < 1e-5);
});

test('what is wrong is named, with the line, the field and what to write', async () => {
  const broken = fileOf('broken.ndjson', [...auctions.slice(0, 4), { rates: [100], segment: 7 }]);
  const [both, bad, unknown, unwritable, portuguese] = await Promise.all([
    lance({}, 'backtest', file, '--log', '--lang', 'en'),
    lance({}, 'backtest', broken, '--lang', 'en'),
    lance({}, 'backtest', file, '--segment', 'group=g9', '--lang', 'en'),
    lance({}, 'backtest', file, '--html', join(directory, 'absent', 'page.html'), '--lang', 'en'),
    lance({}, 'backtest', broken),
  ]);
  assert.match(both.stderr, /--log and no file/);
  assert.equal(bad.code, 65);
  assert.match(bad.stderr, /line 5: "segment" is not usable; write/);
  assert.match(portuguese.stderr, /linha 5: "segment" não serve; escreva/);
  assert.equal(unknown.code, 66);
  assert.match(unknown.stderr, /no segment group=g9.*\n {2}all\n {2}all\|group=/);
  assert.match(unwritable.stderr, /page\.html cannot be written \(ENOENT\)/);
});

test('the log of a desk is replayed as a file of its rivals would be, in the order in which auctions ended', async () => {
  const data = pathOf('data');
  const store = await openEmbeddedStore({ directory: data, onFault: assert.fail });
  const count = 140;
  const recorded = auctions.slice(0, count);
  const changes = recorded.map(({ segment, rates }, index) => {
    const rivals = rates.map((rateHundredths, place) => bid(`rival-${place}`, { rateHundredths, position: place + 2 }));
    const segmentKeys = ['all', `all|group=${segment.group}`];
    const endedAt = at + 100_000 + 60_000 * index;
    const state = folded(requested(), claimed('a:1', { trace: { ...trace, segmentKeys } }), answered(accepted), {
      ...ended([bid('ours', { rateHundredths: 20 }), ...rivals]),
      endedAt,
    });
    // Ids say nothing of the order.
    return { kind: 'state' as const, state: { ...state, requestId: String(count - index) }, open: false, bidIds: [] };
  });
  await store.views.apply({ partition: 0, first: 0, next: 1, changes });
  await store.close();
  const environment = { LANCE_DATA_DIR: data };
  const [fromLog, fromFile, unknown] = await Promise.all([
    lance(environment, 'backtest', '--log', '--json'),
    lance({}, 'backtest', fileOf('rivals.ndjson', recorded), '--json'),
    lance(environment, 'backtest', '--log', '--segment', 'group=none', '--lang', 'en'),
  ]);
  assert.equal(fromLog.code, 0, fromLog.stderr);
  assert.equal(fromLog.stdout, fromFile.stdout);
  assert.match(unknown.stderr, /reading the log: 140/);
});

describeInBrowser('the page in a browser', () => {
  test('draws every plot, in Portuguese too, and reports no fault', async () => {
    const portuguese = pathOf('pagina.html');
    await lance({}, 'backtest', file, '--html', portuguese, '--json');
    for (const path of [html, portuguese]) {
      const dom = domOf(path);
      const places = dom.match(/data-plot="\d+"/g)!.length;
      assert.equal(dom.match(/<canvas[ >]/g)!.length, places);
      assert.match(dom, new RegExp(`data-drawn="${places}"`));
      assert.doesNotMatch(dom.replace(/<noscript>.*?<\/noscript>/s, ''), /class="fault"/);
      // The legend of the first plot is filled in without anybody pointing at it.
      const decimal = path === html ? '\\.' : ',';
      assert.match(dom, new RegExp(`u-value">\\d+${decimal}\\d\\d%</td>`));
    }
  });
});
