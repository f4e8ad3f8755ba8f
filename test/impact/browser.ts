/** A page as a real browser shows it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithProgram } from '../stack/suite.ts';

const program = 'chromium';

export function describeInBrowser(name: string, body: () => void): void {
  describeWithProgram(name, program, 'Debian: chromium', body);
}

/** The page's elements after its scripts have run. */
export function domOf(path: string): string {
  const profile = mkdtempSync(join(tmpdir(), 'lance-chromium-'));
  const switches = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-sync', '--dump-dom'];
  const quiet = ['--disable-background-networking', '--disable-component-update', `--user-data-dir=${profile}`];
  try {
    return execFileSync(program, [...switches, ...quiet, `file://${path}`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
      maxBuffer: 64_000_000,
    });
  } finally {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
