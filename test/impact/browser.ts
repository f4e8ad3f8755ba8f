/** A page as a real browser shows it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithProgram } from '../stack/suite.ts';

export const browserProgram = 'chromium';

export function describeInBrowser(name: string, body: () => void): void {
  describeWithProgram(name, browserProgram, 'Debian: chromium', body);
}

export const browserSwitches = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-sync', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update'],
];

function run(address: string, words: readonly string[]): string {
  const profile = mkdtempSync(join(tmpdir(), 'lance-chromium-'));
  try {
    return execFileSync(browserProgram, [...browserSwitches, ...words, `--user-data-dir=${profile}`, address], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
      maxBuffer: 64_000_000,
    });
  } finally {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The elements of the page in this file after its scripts have run. */
export function domOf(path: string): string {
  return run(`file://${path}`, ['--dump-dom']);
}

/** The same for a page of a server, when it has fetched what it needs; the server must run in another process. `words` are further switches. */
export function domAt(url: string, ...words: readonly string[]): string {
  return run(url, ['--dump-dom', '--virtual-time-budget=20000', ...words]);
}
