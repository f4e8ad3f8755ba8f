/** `lance learn` as people start it, without any setting of a desk. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { auctionsOf } from '../impact/auctions.ts';
import { lance } from './desk.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-learn-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function fileOf(name: string, lines: readonly unknown[]): string {
  const path = join(directory, name);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

const auctions = auctionsOf('smooth', 400).map(({ segment, bestRivalCell }, index) => ({
  id: String(index),
  segment,
  rates: bestRivalCell === 498 ? [] : [bestRivalCell, 490],
}));

test('the measures of a file, for machines and for people', async () => {
  const file = fileOf('smooth.ndjson', auctions);
  const [json, text] = await Promise.all([
    lance({}, 'learn', file, '--draws', '5', '--json'),
    lance({}, 'learn', file, '--draws', '5', '--lang', 'en'),
  ]);
  assert.equal(json.code, 0, json.stderr);
  const { breakEven } = JSON.parse(json.stdout) as {
    breakEven: Record<string, { learning: Record<string, object>; live: number; liveWithSegments: number }>;
  };
  assert.deepEqual(Object.keys(breakEven), ['low', 'mid', 'high']);
  const { mid } = breakEven;
  assert.deepEqual(Object.keys(mid!.learning), ['50', '100']);
  assert.deepEqual(Object.keys(mid!.learning['50']!), ['mean', 'p05', 'histogramMean', 'histogramP05', 'interval']);
  assert.ok(mid!.live > 0.9 && mid!.liveWithSegments > 0.9);
  assert.match(text.stdout, /400 auctions in the file/);
  assert.match(text.stdout, /mid +50 +0\.\d{4}/);
});

test('rivals that change are measured beside, on the shifts that are asked for', async () => {
  const file = fileOf('shifted.ndjson', auctions);
  const [json, wrong] = await Promise.all([
    lance({}, 'learn', file, '--draws', '2', '--shifts', '0,-120,60', '--json'),
    lance({}, 'learn', file, '--shifts', '0;-120', '--lang', 'en'),
  ]);
  const { regimes } = JSON.parse(json.stdout) as {
    regimes: { shiftsHundredths: number[]; breakEven: Record<string, { live: number; histogramLive: number }> };
  };
  assert.deepEqual(regimes.shiftsHundredths, [0, -120, 60]);
  const { live, histogramLive } = regimes.breakEven.mid!;
  assert.ok(live > 0.85 && live < 1.05 && histogramLive > 0.7, `${live} and ${histogramLive}`);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /0,-50,40/);
});

test('a clock, late results and what workers take are asked for, and change what is measured', async () => {
  const file = fileOf('clock.ndjson', auctions);
  const mid = async (...options: string[]) => {
    const { code, stdout, stderr } = await lance({}, 'learn', file, '--draws', '2', '--json', ...options);
    assert.equal(code, 0, stderr);
    type Figures = {
      live: number;
      histogramLive: number;
      fixedMarkup: number;
      interval: { live: { low: number; high: number } };
    };
    return (JSON.parse(stdout) as { breakEven: { mid: Figures } }).breakEven.mid;
  };
  const [plain, late, fading, taken, wrong, alone, never] = await Promise.all([
    mid(),
    mid('--auctions-a-day', '40', '--delay', '76h'),
    mid('--auctions-a-day', '40', '--half-life', '1d'),
    mid('--acceptance', '3.2,2.5'),
    lance({}, 'learn', file, '--half-life', '14', '--lang', 'en'),
    lance({}, 'learn', file, '--delay', '76h', '--lang', 'en'),
    lance({}, 'learn', file, '--acceptance', '4', '--lang', 'en'),
  ]);
  assert.ok(plain.interval.live.low < plain.live && plain.live < plain.interval.live.high);
  assert.ok(late.histogramLive < plain.histogramLive - 0.1, `${late.histogramLive} and ${plain.histogramLive}`);
  assert.equal(late.fixedMarkup, plain.fixedMarkup);
  assert.notEqual(fading.live, plain.live);
  assert.notEqual(taken.fixedMarkup, plain.fixedMarkup);
  assert.ok(taken.live > 0.9, String(taken.live));
  assert.deepEqual([wrong.code, alone.code, never.code], [1, 1, 1]);
  assert.match(wrong.stderr, /76h, 14d/);
  assert.match(alone.stderr, /--auctions-a-day/);
  assert.match(never.stderr, /4\.2,1\.5/);
});

test('a file that cannot be judged is named, with the line and what to write', async () => {
  const [absent, broken, short] = await Promise.all([
    lance({}, 'learn', join(directory, 'absent.ndjson'), '--lang', 'en'),
    lance({}, 'learn', fileOf('broken.ndjson', [...auctions.slice(0, 2), { rates: 'none' }]), '--lang', 'en'),
    lance({}, 'learn', fileOf('short.ndjson', auctions.slice(0, 20)), '--lang', 'en'),
  ]);
  assert.equal(absent.code, 66);
  assert.match(absent.stderr, /ENOENT/);
  assert.equal(broken.code, 65);
  assert.match(broken.stderr, /line 3: "rates"/);
  assert.equal(short.code, 65);
  assert.match(short.stderr, /20 auctions/);
});
