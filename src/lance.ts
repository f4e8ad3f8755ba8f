#!/usr/bin/env node
/** The command of the installed package. Says which Node is needed before anything is loaded that an older one cannot run. */
import './end-signal.ts';
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string };
};
const parts = (version: string) => version.replace('>=', '').split('.').map(Number);
const [leastMajor = 0, leastMinor = 0] = parts(engines.node);
const [major = 0, minor = 0] = parts(process.versions.node);

if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) {
  await import('./main.ts');
} else {
  process.stderr.write(`lance: this needs Node ${engines.node}; here runs ${process.versions.node}.\n`);
  process.exitCode = 78;
}
