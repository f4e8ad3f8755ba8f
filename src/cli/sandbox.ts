/** `lance sandbox`: the played service as a server of its own, to integrate against. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { Fault } from '../errors.ts';
import { addressFault } from '../http/address.ts';
import { modelRivals, readRecordedRates, recordedRivals } from '../sandbox/rivals.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { type SandboxSettings, sandboxSettings } from '../sandbox/settings.ts';
import type { SandboxSummary } from '../sandbox/summary.ts';
import { bidPath } from '../wire/bid.ts';
import { createProgress, tableText } from './terminal.ts';
import { type CommandWorld, wait } from './world.ts';

export type SandboxCommand = {
  port: number;
  host: string;
  target: string | undefined;
  requests: number;
  seed: string;
  rivals: string | undefined;
  record: string | undefined;
  settings: string | undefined;
  json: boolean;
};

const targetTimeoutMs = 60_000;
const pollMs = 500;

function readSettings(world: CommandWorld, text: string | undefined): SandboxSettings {
  let overrides: unknown = {};
  try {
    overrides = text === undefined ? {} : JSON.parse(text);
  } catch (cause) {
    throw new Fault('configuration-invalid', world.format.texts.sandbox.badSettings, cause);
  }
  return sandboxSettings(overrides);
}

function rivalsOf(world: CommandWorld, file: string | undefined, settings: SandboxSettings, seed: string) {
  if (file === undefined) return modelRivals(settings.world, seed);
  let text: string;
  try {
    text = world.readText(file);
  } catch (cause) {
    throw new Fault(
      'configuration-invalid',
      `${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  }
  return recordedRivals(settings.world, seed, readRecordedRates(text, file), 'in-order');
}

function isListening(url: URL): Promise<boolean> {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port });
    const end = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    socket.setTimeout(pollMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

async function waitForTarget(world: CommandWorld, target: string): Promise<void> {
  const { clock, terminal } = world;
  const texts = world.format.texts.sandbox;
  const url = new URL(target);
  const untilMs = clock.monotonicMs() + targetTimeoutMs;
  // The last part of the path is the token.
  const shown = `${url.origin}/…`;
  for (let first = true; !(await isListening(url)); first = false) {
    if (clock.monotonicMs() >= untilMs) throw new Fault('service-unreachable', texts.unreachable(shown));
    if (first) terminal.say(texts.waiting(shown));
    await wait(clock, pollMs);
  }
}

/** Says what to set and type so that a desk bids here. */
function sayHow(world: CommandWorld, url: string, settings: SandboxSettings, command: SandboxCommand): void {
  const { terminal } = world;
  const texts = world.format.texts.sandbox;
  const token = randomBytes(12).toString('hex');
  const { port } = new URL(url);
  terminal.say(texts.point);
  terminal.say('');
  const lines = [
    `LANCE_BASE_URL=${url}`,
    `LANCE_ACCESS_TOKEN=${settings.tokens.accessToken}`,
    `LANCE_WEBHOOK_TOKENS=${token}`,
    'LANCE_DATA_DIR=./data',
    'LANCE_CONTACT_URL=https://parceiro.example/credito',
    `LANCE_PSEUDONYM_KEY=${randomBytes(24).toString('hex')}`,
  ];
  for (const line of lines) terminal.say(`  ${line} \\`);
  terminal.say('  npm run lance -- run');
  terminal.say('');
  terminal.say(texts.stream);
  const settingsOption = command.settings === undefined ? '' : ` --settings '${command.settings}'`;
  terminal.say('');
  terminal.say(
    `  npm run lance -- sandbox --port ${port} --target http://127.0.0.1:8080/webhooks/${token} --requests ${command.requests}${settingsOption}`,
  );
  terminal.say('');
  terminal.say(texts.window(settings.auction.windowMs / 1_000));
  terminal.say(texts.stop);
}

function summaryText(world: CommandWorld, summary: SandboxSummary): string {
  const { summary: names } = world.format.texts.sandbox;
  const rows: [string, string][] = [
    [names.requests, String(summary.requests)],
    [names.bids, String(summary.calls[bidPath] ?? 0)],
    ...Object.entries(summary.outcomes).map(([outcome, count]): [string, string] => [`  ${outcome}`, String(count)]),
    [names.ended, String(summary.auctionsEnded)],
    [names.ours, String(summary.auctionsWithOurBid)],
    [names.won, String(summary.won)],
    [names.taken, String(summary.takenByWorkers)],
    [names.webhooks, `${summary.webhooks.acknowledged}/${summary.webhooks.sent}`],
    [names.givenUp, String(summary.webhooks.givenUp)],
    ...Object.entries(summary.faults).flatMap(([fault, count]): [string, string][] =>
      count > 0 ? [[fault, String(count)]] : [],
    ),
  ];
  return tableText(['', ''], rows, [1]).split('\n').slice(2).join('\n');
}

async function stream(world: CommandWorld, sandbox: Sandbox, command: SandboxCommand, target: string): Promise<void> {
  const { terminal } = world;
  await waitForTarget(world, target);
  sandbox.connect(target);
  const progress = createProgress(terminal, 'lance sandbox');
  const summary = await sandbox.run(command.requests, {
    planned: command.requests,
    onBatch: ({ emitted, of }) => progress.show(emitted, of, ''),
  });
  progress.end();
  terminal.write(command.json ? JSON.stringify(summary) : summaryText(world, summary));
}

/** With a target: the stream, then its summary. Without: up until a signal comes. */
export async function runSandbox(world: CommandWorld, command: SandboxCommand): Promise<void> {
  const settings = readSettings(world, command.settings);
  const { target, seed } = command;
  if (target !== undefined && !/^https?:\/\/[^/]+\/./.test(target)) {
    throw new Fault('configuration-invalid', `--target: ${world.format.texts.sandbox.badTarget}`);
  }
  const sandbox = createSandbox({
    settings,
    seed,
    clock: world.clock,
    rivals: rivalsOf(world, command.rivals, settings, seed),
    ...(command.record === undefined ? {} : { recordFile: command.record }),
  });
  try {
    const { url } = await listen(sandbox, command);
    world.terminal.say(world.format.texts.sandbox.up(url));
    if (target === undefined) {
      sayHow(world, url, settings, command);
      await world.endSignal();
    } else {
      await Promise.race([stream(world, sandbox, command, target), world.endSignal()]);
    }
  } finally {
    await sandbox.stop();
  }
}

async function listen(
  sandbox: Sandbox,
  { port, host }: Pick<SandboxCommand, 'port' | 'host'>,
): Promise<{ url: string }> {
  try {
    return await sandbox.listen(port, host);
  } catch (cause) {
    throw addressFault({ host, port }, { host: '--host', port: '--port' }, cause);
  }
}
