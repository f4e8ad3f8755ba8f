/** A file long enough for two threads: the same requests, wherever they were read, and bad lines by their number in the file. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { readCaseFile } from '../../src/cli/case-file.ts';
import { createReplayApart } from '../../src/cli/replay-apart.ts';
import { en } from '../../src/cli/texts-en.ts';
import { inOrder } from '../../src/impact/impact.ts';
import { replaySets } from '../../src/impact/replay-sets.ts';
import { encodeAuditLine, readAuditLine } from '../../src/wire/audit-line.ts';
import { config, linesOf, mapping, policyWith, pseudonymKey, settings, shippedFiles } from './recorded.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-case-file-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const reading = { mapping, vault: createVault(pseudonymKey), settings };
const world = { format: { texts: en } } as unknown as Parameters<typeof readCaseFile>[0];
const { pricing, bidding, economics, settings: sources } = config;
const model = { pricing, bidding, economics, settings: sources };

/** What a line may also say, so that a few hundred lines are long enough. */
const padding = 'x'.repeat(8_000);
const texts = linesOf(400).map((line) => JSON.stringify({ ...(JSON.parse(line) as object), padding }));

function fileOf(name: string, lines: readonly string[]): string {
  const file = join(directory, name);
  writeFileSync(file, lines.join('\n'));
  return file;
}

async function readBoth(file: string) {
  const apart = createReplayApart({ model, files: shippedFiles, mapping, pseudonymKey });
  const seen: number[] = [];
  try {
    const cases = await readCaseFile(world, file, reading, apart, (lines) => seen.push(lines));
    return { cases, seen, begun: apart.isBegun(), replayed: await apart.replay({ all: new Set(), asked: new Set() }) };
  } finally {
    await apart.close();
  }
}

test('a long file is read by two threads, and both have all of it', async () => {
  const file = fileOf('long.ndjson', texts);
  const alone = await readCaseFile(world, file, reading, null, () => undefined);
  assert.equal(alone.length, 400);
  const both = await readBoth(file);
  assert.equal(both.begun, true);
  assert.deepEqual(both.cases, alone);
  assert.equal(both.seen.at(-1), 400);
  const set = { policy: policyWith(), shares: false };
  const [here] = await replaySets(inOrder(alone).ordered, [set], settings, () => undefined);
  assert.deepEqual(both.replayed.decisions, here!.decisions);
});

test('lines that cannot be read are named by their number in the whole file, whichever thread read them', async () => {
  const bad = [3, 150, 250, 399];
  const lines = texts.map((text, index) => (bad.includes(index + 1) ? text.slice(1) : text));
  const file = fileOf('bad.ndjson', [...lines, '', '{']);
  for (const read of [readBoth, (path: string) => readCaseFile(world, path, reading, null, () => undefined)]) {
    await assert.rejects(read(file), (fault: Error & { code?: string }) => {
      assert.equal(fault.code, 'record-undecodable');
      const numbers = [...fault.message.matchAll(/bad\.ndjson:(\d+): /g)].map(([, number]) => Number(number));
      assert.deepEqual(numbers, [...bad, 402]);
      return true;
    });
  }
});

test('a short file is read alone; lines may end in either way, and the last one without an end', async () => {
  const short = texts.slice(0, 20);
  const plain = fileOf('short.ndjson', short);
  const windows = join(directory, 'windows.ndjson');
  writeFileSync(windows, `${readFileSync(plain, 'utf8').replaceAll('\n', '\r\n')}\r\n\r\n`);
  const apart = createReplayApart({ model, files: shippedFiles, mapping, pseudonymKey });
  const cases = await readCaseFile(world, plain, reading, apart, () => undefined);
  assert.equal(apart.isBegun(), false);
  assert.equal(cases.length, 20);
  assert.deepEqual(await readCaseFile(world, windows, reading, null, () => undefined), cases);
});

test('a file that is not there, and a folder, are told', async () => {
  for (const file of [join(directory, 'nowhere'), directory, join(directory, 'short.ndjson', 'below')]) {
    const read = readCaseFile(world, file, reading, null, () => undefined);
    await assert.rejects(read, { code: 'not-found' });
  }
});

const looks = [
  { source: 'bureau', hash: 'h', failure: null, found: { score: 700, grade: 'A' } },
  { source: 'other', hash: 'i', failure: 'time-out', found: {} },
];
const review = {
  ...{ queue: 'large', rules: ['Large'], askedAt: 1, until: 2, otherwise: 'pass' },
  answer: { decision: 'bid', by: 'ana', via: 'api', reason: 'known', at: 2 },
};

test('what sources said and a person was asked is in the file, as it was heard', async () => {
  const [line, ...others] = linesOf(2).map((text) => JSON.parse(text) as object);
  const lines = [{ ...line, sources: looks, review }, { ...line, review: { ...review, answer: null } }, ...others];
  const file = fileOf(
    'heard.ndjson',
    lines.map((each) => JSON.stringify(each)),
  );
  const [first, second, third] = await readCaseFile(world, file, reading, null, () => undefined);
  assert.deepEqual([first!.sources, first!.review], [looks, review]);
  assert.deepEqual([second!.sources, second!.review], [undefined, { ...review, answer: null }]);
  assert.ok(!('sources' in third!) && !('review' in third!));
  const read = readAuditLine(JSON.stringify(lines[0]), reading);
  assert.ok(read.kind === 'line');
  const again = JSON.parse(encodeAuditLine(read.line, null, null)) as object;
  assert.deepEqual(again, { ...again, sources: looks, review });
});

test('another shape of them is refused by its field', () => {
  const [line] = linesOf(1).map((text) => JSON.parse(text) as object);
  const [look] = looks;
  for (const [more, field] of [
    [{ sources: {} }, 'sources'],
    [{ sources: null }, 'sources'],
    [{ sources: [{ ...look, failure: 'tired' }] }, 'sources'],
    [{ sources: [{ ...look, found: { score: { deep: 1 } } }] }, 'sources'],
    [{ review: null }, 'review'],
    [{ review: { ...review, otherwise: 'perhaps' } }, 'review'],
    [{ review: { ...review, until: '2' } }, 'review'],
  ] as const) {
    const read = readAuditLine(JSON.stringify({ ...line, ...more }), reading);
    assert.ok(read.kind === 'refused', JSON.stringify(more));
    assert.match(read.text, new RegExp(`^"${field}" has another shape; write it as lance audit export does`));
  }
});
