/** A desk restarts after a kill, and a command begins, as fast as it can load its code: it loads none that it has no use for. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { lance, openStage, type Played, startDaemon } from './desk.ts';

/** Makes a process write, as it ends, which CommonJS files it has loaded. */
function probeIn(directory: string): { environment: Record<string, string>; packages: () => Set<string> } {
  const [probe, found] = [join(directory, 'probe.mjs'), join(directory, 'loaded.json')];
  writeFileSync(
    probe,
    `import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
const { cache } = createRequire(import.meta.url);
const write = () => writeFileSync(${JSON.stringify(found)}, JSON.stringify(Object.keys(cache)));
if (isMainThread) process.on('exit', write);
`,
  );
  return {
    environment: { NODE_OPTIONS: `--import=${pathToFileURL(probe)}` },
    packages: () => {
      assert.ok(existsSync(found));
      const loaded: string[] = JSON.parse(readFileSync(found, 'utf8'));
      return new Set(loaded.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []));
    },
  };
}

let played: Played;
before(async () => {
  played = await openStage(12);
});
after(() => played.close());

test('an embedded desk that bids loads no library of Kafka or Redis, and none of holidays', async () => {
  const { environment, sandbox, directory } = played;
  const probe = probeIn(directory);
  const daemon = await startDaemon({ ...environment, ...probe.environment });
  sandbox.connect(daemon.url);
  await sandbox.run(20);
  await daemon.stop();
  assert.ok(sandbox.record.of('call').length > 0, 'nothing was sent');
  const packages = probe.packages();
  // Both are CommonJS and imported from modules, as the others are.
  assert.ok(packages.has('fastify') && packages.has('undici'), [...packages].join(' '));
  for (const name of ['kafkajs', '@kafkajs/confluent-schema-registry', 'ioredis', 'date-holidays']) {
    assert.ok(!packages.has(name), name);
  }
});

test('a command that reads loads nothing that only a desk needs: no server, no client of the service, no log', async () => {
  const probe = probeIn(played.directory);
  const listed = await lance({ ...played.environment, ...probe.environment }, 'bids', 'list', '--json');
  assert.equal(listed.code, 0, listed.stderr);
  assert.ok(listed.stdout.length > 0);
  const packages = probe.packages();
  for (const name of ['fastify', 'undici', 'pino', 'prom-client', 'kafkajs', 'ioredis']) {
    assert.ok(!packages.has(name), name);
  }
});

test('the start after a kill finds the program compiled', async () => {
  const compiled = join(played.directory, 'compiled');
  const daemon = await startDaemon({ ...played.environment, NODE_COMPILE_CACHE: compiled });
  daemon.signal('SIGKILL');
  const [version] = readdirSync(compiled);
  assert.ok(version !== undefined);
  // A file for each module, of the program and of its libraries.
  const kept = () => readdirSync(join(compiled, version)).length;
  assert.ok(kept() > 500, `${kept()} modules were kept`);
});

test('what only the threads load is kept for the start after a kill too', async () => {
  const loadedAnew: number[] = [];
  // On a busy machine Node leaves out some of what a thread writes, in one try of five. Where a thread writes nothing, every try fails.
  for (let trial = 0; trial < 4 && !loadedAnew.some((count) => count <= 3); trial += 1) {
    loadedAnew.push(await loadedAfterKill(join(played.directory, `compiled-of-threads-${trial}`)));
  }
  assert.ok(loadedAnew.at(-1)! <= 3, `${loadedAnew.join(', ')} modules were compiled again`);
});

/** How many modules the start after that of a killed desk compiles, both on this directory. */
async function loadedAfterKill(compiled: string): Promise<number> {
  const environment = { ...played.environment, NODE_COMPILE_CACHE: compiled };
  const kept = () => readdirSync(compiled).flatMap((version) => readdirSync(join(compiled, version)));
  const killed = await startDaemon(environment);
  await sleep(2_000);
  killed.signal('SIGKILL');
  const before = kept().length;
  // One that ends as it is told to keeps all that any of its threads has loaded.
  const ended = await startDaemon(environment);
  await sleep(2_000);
  await ended.stop();
  return kept().length - before;
}
