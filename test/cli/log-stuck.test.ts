/** Standard output that takes nothing: a full disk, a pipe that nobody reads, a pipe whose reader is gone. The desk goes on. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLineSink } from '../../src/http/line-sink.ts';
import { eventually } from '../conformance/backend.ts';
import { inheritedEnvironment, mainFile, openStage, type Played, webhookToken } from './desk.ts';

let played: Played;
before(async () => {
  played = await openStage(31);
});
after(() => played.close());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** A pipe with a name, full: whoever writes to it waits until somebody reads. */
function fullPipe(): { readAll: () => string; openToWrite: () => number; close: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'lance-pipe-'));
  const path = join(directory, 'pipe');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const busy = (fault: unknown) => (fault as NodeJS.ErrnoException).code === 'EAGAIN';
  for (let size = 4_096; size > 0; ) {
    try {
      writeSync(reading, 'x'.repeat(size));
    } catch (fault) {
      assert.ok(busy(fault), String(fault));
      size = Math.floor(size / 2);
    }
  }
  return {
    readAll: () => {
      const chunk = Buffer.alloc(65_536);
      for (let text = ''; ; ) {
        try {
          text += chunk.toString('utf8', 0, readSync(reading, chunk));
        } catch (fault) {
          assert.ok(busy(fault), String(fault));
          return text;
        }
      }
    },
    openToWrite: () => openSync(path, constants.O_WRONLY),
    close: () => {
      closeSync(reading);
      rmSync(directory, { recursive: true });
    },
  };
}

/** Runs a desk with that standard output, asks it what a living desk answers, and stops it. */
async function liveWith(stdout: number | 'pipe', use: (child: ChildProcess, url: string) => Promise<void>) {
  const port = await freePort();
  const child = spawn(process.execPath, [mainFile, 'run'], {
    env: { ...inheritedEnvironment, ...played.environment, LANCE_HTTP_PORT: String(port) },
    stdio: ['ignore', stdout, 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    const url = `http://127.0.0.1:${port}`;
    const isReady = async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
    child.stdout?.destroy();
    await eventually(isReady, 20_000);
    const signal = AbortSignal.timeout(5_000);
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}', signal };
    assert.equal((await fetch(`${url}/webhooks/${webhookToken}`, sent)).status, 202);
    await use(child, url);
    child.kill('SIGTERM');
    const timeout = sleep(12_000, null, { ref: false });
    assert.ok(await Promise.race([ended, timeout]), 'the desk does not stop');
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

const lostLines = async (url: string) =>
  Number(/^lance_log_lines_lost_total (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);

test('15, promise of no freeze: with its log on a full disk a desk starts, answers, counts and stops', async () => {
  const full = openSync('/dev/full', 'w');
  await liveWith(full, async (child, url) => {
    assert.ok((await lostLines(url)) > 0);
    assert.equal(child.exitCode, null);
  });
  closeSync(full);
});

test('the same with a reader of its log that is gone', async () => {
  await liveWith('pipe', async (_child, url) => assert.ok((await lostLines(url)) > 0));
});

test('the same with a reader that stands still; what waits is written when it reads again', async () => {
  const pipe = fullPipe();
  const stdout = pipe.openToWrite();
  await liveWith(stdout, async (_child, url) => {
    assert.equal(await lostLines(url), 0);
    let said = '';
    await eventually(async () => {
      said += pipe.readAll();
      return said.includes('"msg":"started"');
    }, 5_000);
  });
  // And once more, stopped while nobody reads.
  const again = fullPipe();
  const other = again.openToWrite();
  await liveWith(other, async () => {});
  for (const each of [pipe, again]) each.close();
  for (const each of [stdout, other]) closeSync(each);
});

test('lines beyond what memory may hold are left out, and their number is told where writing works again', async () => {
  const pipe = fullPipe();
  const fd = pipe.openToWrite();
  const sink = createLineSink(fd, (count) => `lost ${count}\n`);
  const line = `${'y'.repeat(1_023)}\n`;
  for (let count = 0; count < 2_000; count += 1) sink.write(line);
  const lost = sink.lost();
  assert.ok(lost > 900 && lost < 1_000, String(lost));
  let said = '';
  await eventually(async () => {
    said += pipe.readAll();
    return said.includes('lost ');
  }, 10_000);
  assert.equal(said.match(/y\n/g)?.length, 2_000 - lost);
  assert.match(said, new RegExp(`lost ${lost}\n$`));
  assert.equal(sink.lost(), lost);
  closeSync(fd);
  pipe.close();
});

test('a line that was written in part ends before the next one, and counts as lost', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-cut-'));
  const path = join(directory, 'log');
  const sink = JSON.stringify(new URL('../../src/http/line-sink.ts', import.meta.url).href);
  const script = `
    import { createInterface } from 'node:readline';
    import { createLineSink } from ${sink};
    const sink = createLineSink(1, (count) => 'lost ' + count + '\\n');
    for (const letter of 'abc') sink.write(letter.repeat(499) + '\\n');
    for await (const line of createInterface({ input: process.stdin })) sink.write(line + '\\n');`;
  const output = openSync(path, 'a');
  const command = `ulimit -S -f 1; exec "$0" --input-type=module -e "$1"`;
  const child = spawn('bash', ['-c', command, process.execPath, script.replaceAll('\\\\n', '\\n')], {
    stdio: ['pipe', output, 'inherit'],
  });
  try {
    const said = () => readFileSync(path, 'utf8');
    await eventually(async () => said().length === 1_024, 10_000);
    assert.equal(spawnSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']).status, 0);
    child.stdin!.write('d\n');
    await eventually(async () => said().includes('lost'), 10_000);
    child.stdin!.end('e\n');
    await once(child, 'exit');
    const lines = said().split('\n');
    assert.deepEqual(lines, ['a'.repeat(499), 'b'.repeat(499), 'c'.repeat(24), 'd', 'lost 1', 'e', '']);
  } finally {
    child.kill('SIGKILL');
    closeSync(output);
    rmSync(directory, { recursive: true });
  }
});

test('with a socket that nobody reads, as journald may be, the process ends all the same', async () => {
  const sink = JSON.stringify(new URL('../../src/http/line-sink.ts', import.meta.url).href);
  const script = `
    import { createLineSink } from ${sink};
    const sink = createLineSink(1, (count) => 'lost ' + count + '\\n');
    for (let count = 0; count < 1000; count += 1) sink.write('x'.repeat(1000) + '\\n');
    setTimeout(() => process.exit(3), 300);`.replaceAll('\\\\n', '\\n');
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  assert.deepEqual(await Promise.race([ended, sleep(10_000, null, { ref: false })]), [3, null]);
});
