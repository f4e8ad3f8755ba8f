/** The policies in `rules/examples/`: each folder is a whole set, good as `lance rules` finds it, and its tests hold its numbers. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { compileRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { runTests } from '../../src/rules/rule-tests.ts';
import { lance, twoAtATime } from '../cli/desk.ts';

const root = new URL('../../rules/examples/', import.meta.url).pathname;
const names = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
const settings = mkdtempSync(join(tmpdir(), 'lance-settings-'));
after(() => rmSync(settings, { recursive: true, force: true }));
const config = join(settings, 'config.json');
// The one endpoint that an example asks.
writeFileSync(
  config,
  JSON.stringify({ enrichment: { bureau: { url: 'https://bureau.example/score', sendCpf: true } } }),
);
const english = { LANCE_LANG: 'en', LANCE_CONFIG: config };

function folderOf(name: string): string {
  return join(root, name);
}

test('there are 22 policies and more, each told in the README, and no other', () => {
  assert.ok(names.length >= 22, `${names.length}`);
  const told = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^\| `([a-z-]+)` \|/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(told, names.sort());
});

test('each has tests that pass and show all that its rules look at, as `lance rules test` finds', async () => {
  const ended = await twoAtATime(names, (name) => lance(english, 'rules', 'test', folderOf(name), '--json'));
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    const name = names[index]!;
    assert.equal(code, 0, `${name}: ${stdout}${stderr}`);
    const report = JSON.parse(stdout);
    assert.deepEqual([report.kind, report.failed, report.coverage, report.warnings], ['good', 0, 1, []], name);
    assert.ok(readdirSync(folderOf(name)).some((file) => file.endsWith('.test.json')) && report.tests >= 3, name);
  }
});

test('a policy without its tests is bad', async (context) => {
  const bare = mkdtempSync(join(tmpdir(), 'lance-example-'));
  context.after(() => rmSync(bare, { recursive: true, force: true }));
  cpSync(folderOf('rate-table'), bare, { recursive: true, filter: (path) => !path.endsWith('.test.json') });
  const { code, stdout } = await lance(english, 'rules', 'test', bare, '--json');
  const report = JSON.parse(stdout);
  assert.deepEqual([code, report.failed], [1, 0]);
  // Those that are generated of the cells show all but that somebody has looked at a row.
  assert.ok(report.tests > 40 && report.coverage > 0.9 && report.coverage < 1, `${report.tests} ${report.coverage}`);
  assert.deepEqual(
    report.uncovered.map(({ condition }: { condition: string }) => condition),
    ['any row, in a test that is not generated'],
  );
});

/** Numbers that no test can expect: the rules that say them are seen to have their effect, not how much of it. */
const unsaid = ['maxCount', 'hours', 'undercutPercent', 'fixedRatePercent', 'cuts', 'share', 'priority'];

type Part = { [key: string]: unknown };
type Spot = { holder: Part; key: string; value: number; path: string };

function numbersIn(holder: Part, path: string, inCap: boolean): Spot[] {
  const ownCap = inCap || holder.type === 'cap';
  return Object.entries(holder).flatMap(([key, value]): Spot[] => {
    if (unsaid.includes(key) || (ownCap && key === 'maxAmountReais')) return [];
    if (typeof value === 'number') return [{ holder, key, value, path: `${path}/${key}` }];
    return typeof value === 'object' && value !== null ? numbersIn(value as Part, `${path}/${key}`, ownCap) : [];
  });
}

/** Whether the set with this file instead is refused, or fails its tests, or is no longer shown whole by them. */
function isNoticed(files: readonly RuleFile[], path: string, content: unknown): boolean {
  const changed = files.map((file) => (file.path === path ? { path, text: JSON.stringify(content) } : file));
  const compiled = compileRuleSet(changed);
  if (compiled.kind === 'refused') return true;
  const { failed, coverage } = runTests(compiled.ruleSet, null);
  return failed > 0 || coverage < 1;
}

test('no number of a rule, table, scorecard or computed fact can be moved without a test that notices', (context) => {
  let moved = 0;
  const unnoticed: string[] = [];
  for (const name of names) {
    const files = readRuleFiles(folderOf(name));
    const own = files.filter(
      ({ path }) => !/^(?:codes|holidays)\.json$|\.test\.json$|\.values\.csv$|\.source\.json$|^lists\//.test(path),
    );
    for (const { path, text } of own) {
      const content = JSON.parse(text) as Part;
      for (const { holder, key, value, path: pointer } of numbersIn(content, '', false)) {
        const step = Number.isInteger(value) ? 1 : 0.01;
        for (const other of [value + step, value - step]) {
          holder[key] = Math.round(other * 1_000) / 1_000;
          moved += 1;
          if (!isNoticed(files, path, content)) unnoticed.push(`${name}/${path}${pointer}: ${value} → ${holder[key]}`);
        }
        holder[key] = value;
      }
    }
  }
  context.diagnostic(`figure: ${moved} numbers moved`);
  assert.deepEqual(unnoticed, []);
  assert.ok(moved > 250, `${moved}`);
});
