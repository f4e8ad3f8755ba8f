/** A daemon whose time of day can be moved, and the played service beside it, whose time stays right. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { EmittedRequest } from '../../src/sandbox/record.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { type Daemon, startDaemon, webhookToken } from './daemon.ts';

const hourMs = 3_600_000;
const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const rulesFolder = fileURLToPath(new URL('../../rules', import.meta.url));
const preload = new URL('shifted-clock.ts', import.meta.url).href;

export type Bid = { requestId: string; arrivedAt: number; amountCents: number };

export type ClockWorld = {
  daemon: Daemon;
  /** Moves the daemon's time of day to so far ahead of the true one. */
  shift: (ms: number) => void;
  /** Opens auctions for so many requests, a batch at a time. */
  open: (requests: number) => void;
  bids: () => Bid[];
  requests: () => EmittedRequest[];
  /** A command of `lance`, on the true time. Resolves to what it printed. */
  command: (...words: string[]) => Promise<string>;
  metric: (series: string) => Promise<number>;
  close: () => Promise<void>;
};

type CapsFile = { rules: { event: { params: { name?: string; maxAmountReais?: number } } }[] };

/** The shipped rules with another cap over everything. */
function writeRules(directory: string, deskDayReais: number): string {
  const folder = join(directory, 'rules');
  cpSync(rulesFolder, folder, { recursive: true });
  const path = join(folder, 'caps.json');
  const caps: CapsFile = JSON.parse(readFileSync(path, 'utf8'));
  for (const { event } of caps.rules) {
    if (event.params.name === 'desk-day') event.params.maxAmountReais = deskDayReais;
  }
  writeFileSync(path, JSON.stringify(caps));
  return folder;
}

export async function startClockWorld(options: {
  directory: string;
  windowMs: number;
  deskDayReais?: number;
  /** Where the daemon's clock stands when it starts. */
  shiftMs?: number;
  /** The rules are followed since an hour ago, so that they are when the clock is set back. */
  followedBefore?: boolean;
  bidding?: object;
  answerDelayMs?: number;
  /** Requests that come at once; ten unless said otherwise. */
  batchRequests?: number;
}): Promise<ClockWorld> {
  const { directory, windowMs, answerDelayMs = 0, batchRequests = 10 } = options;
  const settings = sandboxSettings({
    auction: { windowMs, expiryMs: 10 * windowMs },
    pace: { batchRequests, batchIntervalMs: 150 },
    faults: { bids: { delayMinMs: answerDelayMs, delayMaxMs: answerDelayMs } },
  });
  const sandbox: Sandbox = createSandbox({ settings, seed: 'clocks', clock: createSystemClock() });
  const service = await sandbox.listen(0);
  const clockFile = join(directory, 'shift');
  const shift = (ms: number): void => {
    writeFileSync(`${clockFile}.new`, String(ms));
    renameSync(`${clockFile}.new`, clockFile);
  };
  shift(options.shiftMs ?? 0);
  const configFile = join(directory, 'desk.json');
  const bidding = { windowMs, skewAllowanceMs: 200, marginWaitMs: 600, ...options.bidding };
  writeFileSync(configFile, JSON.stringify({ bidding }));
  const environment = {
    LANCE_CONFIG: configFile,
    LANCE_RULES_DIR: writeRules(directory, options.deskDayReais ?? 1_000_000_000),
    LANCE_BASE_URL: service.url,
    LANCE_ACCESS_TOKEN: settings.tokens.accessToken,
    SHIFTED_CLOCK_FILE: clockFile,
  };
  const start = () => startDaemon({ directory, environment, command: [process.execPath, '--import', preload] });
  if (options.followedBefore === true) {
    shift(-hourMs);
    const earlier = await start();
    await until('rules are followed', () => earlier.output().includes('rules-live'));
    await earlier.stop();
    shift(options.shiftMs ?? 0);
  }
  const daemon = await start();
  sandbox.connect(`${daemon.url}/webhooks/${webhookToken}`);
  return {
    daemon,
    shift,
    open: (requests) => void sandbox.run(requests),
    bids: () =>
      sandbox.record.entries().flatMap((entry) => {
        if (entry.kind !== 'call' || entry.path !== bidPath) return [];
        const { requestId, arrivedAt, body } = entry;
        return [{ requestId: requestId!, arrivedAt, amountCents: Math.round(JSON.parse(body).valorLiberado * 100) }];
      }),
    requests: () => sandbox.record.entries().filter((entry) => entry.kind === 'request'),
    command: async (...words) => {
      const child = spawn(process.execPath, [mainFile, ...words], {
        env: { ...process.env, ...environment, LANCE_DATA_DIR: join(directory, 'data') },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += String(data)));
      const [code] = await once(child, 'close');
      assert.equal(code, 0, `lance ${words.join(' ')}: ${output}`);
      return output;
    },
    metric: async (series) => {
      const text = await (await fetch(`${daemon.url}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${series} `));
      return line === undefined ? 0 : Number(line.slice(series.length + 1));
    },
    close: async () => {
      await daemon.stop();
      await sandbox.stop();
    },
  };
}

/** Waits until it is true, or fails. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, timeoutMs = 12_000): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    assert.ok(performance.now() < endMs, `not within ${timeoutMs} ms: ${what}`);
    await sleep(20);
  }
}

/** Waits until no bid has come for a while. */
export async function quiet(world: ClockWorld, forMs: number): Promise<void> {
  let count = -1;
  while (count !== world.bids().length) {
    count = world.bids().length;
    await sleep(forMs);
  }
}
