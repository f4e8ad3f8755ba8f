/** A short soak tells of every figure, and ends as its verdict says. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const bench = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

test('memory, heap, handles, timers and disk are told with an interval, and a figure that grows ends it with 1', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [bench, 'soak', '--minutes', '0.5', '--rate', '20', '--json'],
    { encoding: 'utf8' },
  );
  assert.notEqual(stdout, '', stderr);
  const report = JSON.parse(stdout) as Record<string, unknown>;
  const names = ['rssMb', 'heapMb', 'handles', 'timers', 'diskBytesPerRequest'];
  const flat = names.map((name) => {
    const { mean, growth, from, to, isFlat } = report[name] as Record<string, number>;
    assert.ok([mean, growth, from, to].every(Number.isFinite), name);
    assert.ok(from! <= growth! && growth! <= to!, name);
    return Boolean(isFlat);
  });
  assert.ok((report.rssMb as { mean: number }).mean > 50);
  assert.ok((report.heapMb as { mean: number }).mean > 10);
  assert.ok((report.handles as { mean: number }).mean > 0);
  assert.ok((report.timers as { mean: number }).mean > 0);
  assert.ok(Number(report.requests) >= 500);
  assert.equal(report.holds, flat.every(Boolean));
  assert.equal(status, report.holds === true ? 0 : 1, stderr);
});
