/** The pictures of the README are there, small, and as large as the script makes them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pictures, picturesFolder } from './picture-list.ts';

const mostBytes = 60_000;

/** Of a WebP with a lossy or an extended head. */
function sizeOf(bytes: Buffer): { width: number; height: number } {
  assert.equal(bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12), 'RIFFWEBP');
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  assert.equal(kind, 'VP8 ');
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}

test('three small pictures of the console stand in the README (issue 22)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const files = pictures.map(({ file }) => file).sort();
  assert.deepEqual(readdirSync(picturesFolder).sort(), files);
  const shown = [...readme.matchAll(/!\[([^\]]+)\]\(docs\/pictures\/([\w.-]+)\)/g)];
  assert.deepEqual(shown.map(([, , file]) => file).sort(), files);
  for (const [, words] of shown) assert.ok(words!.length > 20, `${words} says what is seen`);
  for (const { file, width, height, scale } of pictures) {
    const bytes = readFileSync(new URL(file, picturesFolder));
    assert.ok(bytes.length > 3_000 && bytes.length <= mostBytes, `${file} has ${bytes.length} bytes`);
    assert.deepEqual(sizeOf(bytes), { width: Math.floor(width * scale), height: Math.floor(height * scale) }, file);
  }
});
