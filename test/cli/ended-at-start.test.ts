/** A start that is asked to end: it ends by itself, with its code, whatever it was doing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inheritedEnvironment, mainFile, openStage, type Played } from './desk.ts';

const packageCommand = fileURLToPath(new URL('../../src/lance.ts', import.meta.url));

let played: Played;
before(async () => {
  played = await openStage(54);
});
after(() => played.close());

/** Runs the daemon with code of the test before its own. */
async function runWith(file: string, code: string, words: readonly string[] = ['run']) {
  const probe = join(played.directory, 'probe.mjs');
  writeFileSync(probe, code);
  const child = spawn(process.execPath, ['--import', pathToFileURL(probe).href, file, ...words], {
    env: { ...inheritedEnvironment, ...played.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code: exitCode, signal, said };
}

/** The file that README has a service manager run from a clone. */
const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');
const named = /from a clone\s+`node (src\/[\w-]+\.ts) run`/.exec(readme)?.[1] ?? 'none';
const clonedCommand = fileURLToPath(new URL(`../../${named}`, import.meta.url));

for (const { signal, file, words } of [
  { signal: 'SIGTERM', file: packageCommand, words: ['run'] },
  { signal: 'SIGINT', file: clonedCommand, words: ['--lang', 'en', 'run'] },
  { signal: 'SIGTERM', file: packageCommand, words: ['--lang=en', 'run', '--no-learning'] },
] as const) {
  test(`${signal} while the program is being loaded ends the daemon with its own code (${words.join(' ')})`, async () => {
    const ended = await runWith(
      file,
      `import { registerHooks } from 'node:module';
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.endsWith('/main.ts')) process.kill(process.pid, '${signal}');
    return next(specifier, context);
  },
});
`,
      words,
    );
    assert.deepEqual({ code: ended.code, signal: ended.signal }, { code: 0, signal: null }, ended.said);
  });
}

test('a desk that bids already is stopped in order, though it has not said that it has started', async () => {
  // The line comes from within the start.
  const ended = await runWith(
    mainFile,
    `import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';
const { write } = fs;
let isTold = false;
if (isMainThread) {
  fs.write = (fd, bytes, done) => {
    if (!isTold && String(bytes).includes('"bidding-open"')) {
      isTold = true;
      process.emit('SIGTERM', 'SIGTERM');
    }
    return write(fd, bytes, done);
  };
  syncBuiltinESMExports();
}
`,
  );
  assert.deepEqual({ code: ended.code, signal: ended.signal }, { code: 0, signal: null }, ended.said);
  assert.match(ended.said, /"msg":"stopped"/);
});
