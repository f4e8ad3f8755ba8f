/** An embedded desk restarts after a kill as fast as it can load its code: it loads none that it has no use for. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openStage, startDaemon } from './desk.ts';

test('an embedded desk that bids loads no library of Kafka or Redis, and none of holidays', async () => {
  const { environment, sandbox, directory, close } = await openStage(12);
  try {
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
    const daemon = await startDaemon({ ...environment, NODE_OPTIONS: `--import=${pathToFileURL(probe)}` });
    sandbox.connect(daemon.url);
    await sandbox.run(20);
    await daemon.stop();
    assert.ok(sandbox.record.of('call').length > 0, 'nothing was sent');
    assert.ok(existsSync(found));
    const loaded: string[] = JSON.parse(readFileSync(found, 'utf8'));
    const packages = new Set(loaded.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []));
    // Both are CommonJS and imported from modules, as the others are.
    assert.ok(packages.has('fastify') && packages.has('undici'), [...packages].join(' '));
    for (const name of ['kafkajs', '@kafkajs/confluent-schema-registry', 'ioredis', 'date-holidays']) {
      assert.ok(!packages.has(name), name);
    }
  } finally {
    await close();
  }
});
