/** Text in HTML and XML: escaped in one place for all that write them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { escapeMarkup } from '../../src/domain/markup.ts';

test('what marks an element, an entity or the end of an attribute is escaped', () => {
  assert.equal(escapeMarkup(`<a title="b">'c' & d</a>`), '&lt;a title=&quot;b&quot;&gt;&#39;c&#39; &amp; d&lt;/a&gt;');
  assert.equal(escapeMarkup('R$ 1,00 é pouco'), 'R$ 1,00 é pouco');
});

test('the table of escapes stands once', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url));
  const found = execFileSync('grep', ['-rl', '--include=*.ts', '&quot;', src], { encoding: 'utf8' });
  assert.deepEqual(found.trim().split('\n'), [`${src}/domain/markup.ts`]);
});
