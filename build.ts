/**
 * Makes `dist`, which only the packed form of Lance needs: the sources compiled, and beside them the files that they read.
 * Writes `config/settings.schema.json` and `src/pricing/bank-holidays.ts` where
 * they are not what they have to be: whoever runs from the sources meanwhile never reads half of one.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsSchema } from './src/config/json-schema.ts';
import { holidaysOf } from './src/pricing/business-days.ts';

const root = import.meta.dirname;
const dist = join(root, 'dist');

const config = (name: string) => join(root, 'config', name);
function bringUpToDate(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

bringUpToDate(config('settings.schema.json'), settingsSchema(JSON.parse(readFileSync(config('default.json'), 'utf8'))));

/** Loans of other years, old or far ahead, are rare: the package is asked for them. */
const [firstYear, lastYear] = [2000, 2099];
const years = Array.from({ length: lastYear - firstYear + 1 }, (_, index) => firstYear + index);
const lines = years.map(
  (year) =>
    `  ${year}: '${holidaysOf(year)
      .map((day) => day.slice(5))
      .join(' ')}',\n`,
);
bringUpToDate(
  join(root, 'src/pricing/bank-holidays.ts'),
  `/** Days on which banks in Brazil are closed, by year, as \`date-holidays\` knows them. Written by \`npm run build\`. */
export const bankHolidays: Readonly<Record<number, string>> = {
${lines.join('')}};
`,
);

rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['--project', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
cpSync(join(root, 'src'), dist, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts'),
});
chmodSync(join(dist, 'lance.js'), 0o755);
