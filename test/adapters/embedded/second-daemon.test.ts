/** Two daemons on one data directory whose lock file was removed by hand (strangers, issue 15 line 21). */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { endDaemons, startDaemon } from '../../hostile/daemon.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-second-'));
after(async () => {
  await endDaemons();
  rmSync(root, { recursive: true, force: true });
});
const inUse = 73;
const preload = new URL('../../hostile/shifted-clock.ts', import.meta.url).href;

/** A start whose time of day is that far ahead. Resolves to how it ended; one that got ready is stopped. */
async function startShifted(directory: string, shiftMs: number) {
  const clockFile = join(directory, 'shift');
  writeFileSync(clockFile, String(shiftMs));
  const second = await startDaemon({
    directory,
    environment: { SHIFTED_CLOCK_FILE: clockFile },
    command: [process.execPath, '--import', preload],
  });
  const readyMs = await second.ready;
  if (readyMs !== null) await second.stop();
  return { isReady: readyMs !== null, code: (await second.exited).code, output: second.output() };
}

test('a second daemon is refused without the lock file, whatever time of day its machine has', async () => {
  const directory = mkdtempSync(join(root, 'desk-'));
  const first = await startDaemon({ directory });
  assert.notEqual(await first.ready, null, first.output());
  for (const shiftMs of [7_200_000, -7_200_000, 0]) {
    rmSync(join(directory, 'data', 'lance.lock'), { force: true });
    const { isReady, code, output } = await startShifted(directory, shiftMs);
    assert.deepEqual({ shiftMs, isReady, code }, { shiftMs, isReady: false, code: inUse }, output);
    assert.match(output, /Another daemon runs on/);
  }
  assert.deepEqual(await first.stop(), { code: 0, signal: null });
  const { isReady } = await startShifted(directory, 0);
  assert.equal(isReady, true, 'the directory is free again');
});

test('a second daemon is refused without the lock file while the first one hangs and shows no life', async () => {
  const directory = mkdtempSync(join(root, 'desk-'));
  const first = await startDaemon({ directory });
  assert.notEqual(await first.ready, null, first.output());
  rmSync(join(directory, 'data', 'lance.lock'));
  first.signal('SIGSTOP');
  const { isReady, code, output } = await startShifted(directory, 0);
  assert.deepEqual({ isReady, code }, { isReady: false, code: inUse }, output);
  first.signal('SIGKILL');
  await first.exited;
  assert.equal((await startShifted(directory, 0)).isReady, true, 'the directory is free again');
});
