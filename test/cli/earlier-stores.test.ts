/** Stores that earlier versions began, as `test/fixtures/begin-store.ts` keeps them: this version starts on each and goes on. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import { brotliDecompressSync } from 'node:zlib';
import { jsonLines, lance, openStage, startDaemon } from './desk.ts';

type Fixture = { files: Record<string, Uint8Array>; bids: string; pseudonymKey: string };
type Bid = { requestId: string; state: string; rateHundredths: number | null };

const requests = 20;
const windowMs = 4_000;

/** What the first start says of each. */
const stores: Record<string, string[]> = {
  // It signed nothing: the views are made again, and the log is signed from now on.
  'store-2799f17.br': ['views-unfit', 'log-changed'],
};

function termsIn(directory: string): Record<string, number>[] {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'), { readOnly: true });
  const rows = database.prepare("SELECT value FROM inputs WHERE key = 'fold-terms'").all();
  database.close();
  return rows.map(({ value }) => JSON.parse(JSON.parse(String(value)).content));
}

for (const [name, alarms] of Object.entries(stores)) {
  test(`this version goes on with ${name}`, { timeout: 120_000 }, async (context) => {
    const packed = readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)));
    const { files, bids, pseudonymKey } = deserialize(brotliDecompressSync(packed)) as Fixture;
    const stage = await openStage(18, windowMs);
    context.after(stage.close);
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(stage.directory, path)), { recursive: true });
      writeFileSync(join(stage.directory, path), bytes);
    }
    const environment = { ...stage.environment, LANCE_PSEUDONYM_KEY: pseudonymKey, LANCE_LANG: 'en' };
    const asked = async (...words: string[]) => {
      const { code, stdout, stderr } = await lance(environment, ...words);
      assert.equal(code, 0, `${words.join(' ')}: ${stderr}${stdout}`);
      return stdout;
    };
    const listed = async () => jsonLines<Bid>(await asked('bids', 'list', '--json', '--limit', '1000'));
    const known = jsonLines<Bid>(bids);
    assert.ok(known.length >= requests && known.some(({ rateHundredths }) => rateHundredths !== null));
    const pictureOf = (all: readonly Bid[]) => {
      const ids = new Set(known.map(({ requestId }) => requestId));
      const own = all.filter(({ requestId }) => ids.has(requestId));
      return own.map(({ requestId, rateHundredths }) => `${requestId} ${rateHundredths}`).sort();
    };
    // A command may come before the first start of the desk.
    assert.deepEqual(pictureOf(await listed()), pictureOf(known));

    const daemon = await startDaemon(environment);
    try {
      stage.sandbox.connect(daemon.url);
      await stage.sandbox.run(requests);
      const told = daemon.lines.filter(({ msg }) => msg === 'alarm').map(({ code }) => code);
      assert.deepEqual(told, alarms);
    } finally {
      await daemon.stop();
    }
    const after = await listed();
    assert.deepEqual(pictureOf(after), pictureOf(known), 'what was bid stays what it was');
    const fresh = after.filter(({ requestId }) => !known.some((each) => each.requestId === requestId));
    assert.equal(fresh.length, requests);
    assert.ok(
      fresh.some(({ rateHundredths }) => rateHundredths !== null),
      'it bids',
    );
    const audit = await lance(environment, 'audit', 'verify');
    // 2: intact, and what stood there unsigned cannot be checked.
    assert.deepEqual([audit.code, /^The chain is intact/m.test(audit.stdout)], [2, true], audit.stdout);
    const verdict = JSON.parse(await asked('views', 'verify', '--json'));
    assert.deepEqual([verdict.kind, verdict.found], ['same', []]);

    // The first start has stated the terms of records that tell none; a later one with other settings follows them.
    const stated = termsIn(environment.LANCE_DATA_DIR);
    const { bidding } = JSON.parse(readFileSync(stage.environment.LANCE_CONFIG!, 'utf8'));
    assert.deepEqual([stated.length, stated[0]!.windowMs], [1, bidding.windowMs]);
    const others = { ...bidding, graceMs: stated[0]!.graceMs! + 1_000 };
    writeFileSync(stage.environment.LANCE_CONFIG!, JSON.stringify({ bidding: others }));
    await (await startDaemon(environment)).stop();
    assert.deepEqual(termsIn(environment.LANCE_DATA_DIR), stated);
  });
}
