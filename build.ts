/**
 * Makes `dist`, which only the packed form of Lance needs: the sources compiled, and beside them the files that they read.
 * Writes `config/settings.schema.json` anew.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsSchema } from './src/config/json-schema.ts';

const root = import.meta.dirname;
const dist = join(root, 'dist');

const config = (name: string) => join(root, 'config', name);
writeFileSync(config('settings.schema.json'), settingsSchema(JSON.parse(readFileSync(config('default.json'), 'utf8'))));

rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['--project', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
cpSync(join(root, 'src'), dist, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts'),
});
chmodSync(join(dist, 'lance.js'), 0o755);
