/** What the README tells its reader to type, all but the tools of whoever changes Lance, and where its links lead. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocks, changes, followReadme, isOfTools, readme } from './readme-reader.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('the command blocks of the README, in order (defect line 5)', {
  concurrency: false,
  timeout: 1_200_000,
}, () => {
  followReadme(blocks.filter((block) => !isOfTools(block)));
});

test('nothing is changed that the README does not say, and it has blocks (defect line 5)', () => {
  assert.ok(blocks.length >= 8, String(blocks.length));
  assert.equal(blocks.filter(isOfTools).length, 1);
  const idle = changes.filter(({ from }) => !blocks.some((block) => block.includes(from))).map(({ from }) => from);
  assert.deepEqual(idle, []);
  assert.doesNotMatch(readme, /^```(bash|shell|console)?\n(npm|npx|curl|lance) /m, 'a block of commands is marked sh');
});

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ +(.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

test('links of the documentation lead somewhere (defect line 5)', () => {
  const tracked = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
  let links = 0;
  const broken = tracked.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const targets = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target]) => target!,
    );
    return targets
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        links += 1;
        const [file = '', anchor] = target.split('#');
        const there = file === '' ? join(root, path) : join(root, dirname(path), file);
        if (!existsSync(there)) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(there, 'utf8')).has(anchor);
      })
      .map((target) => `${path}: ${target}`);
  });
  assert.deepEqual(broken, []);
  assert.ok(links >= 8, String(links));
});

/** Lines of each paragraph or item of a list, without blocks and tables. */
function paragraphsOf(text: string): string[][] {
  const paragraphs: string[][] = [[]];
  for (const line of text.replace(/^```[\s\S]*?^```$/gm, '').split('\n')) {
    const isOther = line === '' || /^(#|\|)/.test(line);
    if (isOther || /^ *(- |\d+\. )/.test(line)) paragraphs.push([]);
    if (!isOther) paragraphs.at(-1)!.push(line);
  }
  return paragraphs.filter(({ length }) => length > 0);
}

test('no paragraph of the README is longer than eight lines, nor any line than a screen is wide', () => {
  const paragraphs = paragraphsOf(readme);
  const long = paragraphs.filter((lines) => lines.length > 8 || lines.some((line) => line.length > 220));
  assert.deepEqual(
    long.map(([first]) => first),
    [],
  );
  assert.ok(paragraphs.length > 80, String(paragraphs.length));
});
