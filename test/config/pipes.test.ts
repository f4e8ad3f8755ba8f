/** A pipe in the place of a file that is read or written: nobody is at its other end, and waiting for one would never end. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { mainFile } from '../crash/desk-process.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-pipes-'));
after(() => rmSync(root, { recursive: true, force: true }));

const waitMs = 12_000;
let last = 0;

/** Runs a command beside a pipe; the text is what it has said. Code null: it waited. */
async function runBeside(at: string, words: string[]): Promise<{ code: number | null; text: string; pipe: string }> {
  last += 1;
  const directory = join(root, String(last));
  mkdirSync(join(directory, 'data'), { recursive: true, mode: 0o700 });
  const pipe = join(directory, at);
  execFileSync('mkfifo', [pipe]);
  writeFileSync(join(directory, 'data.json'), '{}');
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('LANCE_'));
  const named = (text: string) => text.replace('PIPE', pipe);
  const child = spawn(process.execPath, [mainFile, ...words.map(named)], {
    env: {
      ...Object.fromEntries(others),
      LANCE_DATA_DIR: join(directory, 'data'),
      LANCE_HTTP_PORT: String(1_024 + Math.floor(Math.random() * 30_000)),
      LANCE_WEBHOOK_TOKENS: 'webhook-token-of-the-pipes',
      LANCE_BASE_URL: 'http://127.0.0.1:9',
      LANCE_ACCESS_TOKEN: 'not-used',
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
      LANCE_PSEUDONYM_KEY: 'a key of the pipes and of nothing else',
      LANCE_LANG: 'en',
      ...(at === 'settings.json' ? { LANCE_CONFIG: pipe } : {}),
      ...(at === 'token' ? { LANCE_ACCESS_TOKEN: '', LANCE_ACCESS_TOKEN_FILE: pipe } : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (chunk) => {
      text += String(chunk);
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), waitMs);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, text, pipe };
}

suite('a pipe in the place of a file is refused by its name', { concurrency: 2 }, () => {
  const cases: [at: string, words: string[], exitCode: number][] = [
    ['data.anchor', ['run'], 73],
    ['data.anchor.mark', ['run'], 73],
    ['data.anchor.claims', ['run'], 73],
    ['data/lance.sqlite', ['run'], 73],
    ['data/lance.sqlite-wal', ['run'], 73],
    ['data/lance.sqlite', ['bids', 'list'], 73],
    ['data/lance.sqlite', ['doctor'], 1],
    ['data/lance.lock', ['run'], 73],
    ['data/lance.import', ['run'], 73],
    ['data/lance.import', ['doctor'], 1],
    [
      'book.xlsx',
      ['rules', 'import', 'PIPE', '--list', 'some', '--fact', 'worker.key', '--description', 'x', '--dir', 'rules'],
      66,
    ],
    ['settings.json', ['run'], 78],
    ['settings.json', ['doctor'], 1],
    ['token', ['run'], 78],
    ['token', ['doctor'], 1],
    ['desk.ndjson', ['import', 'PIPE'], 65],
    ['desk.ndjson.gz', ['import', 'PIPE'], 65],
    ['auctions.ndjson', ['backtest', 'PIPE'], 66],
    ['facts.json', ['rules', 'explain', 'PIPE'], 66],
  ];
  for (const [at, words, exitCode] of cases) {
    test(`${words.join(' ')}: ${at}`, async () => {
      const { code, text, pipe } = await runBeside(at, words);
      assert.equal(code, exitCode, text);
      assert.ok(text.includes(pipe), text);
      assert.match(text, /not a regular file/);
    });
  }
});
