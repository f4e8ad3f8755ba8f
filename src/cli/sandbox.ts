/** `lance sandbox`: the played service as a server of its own, to integrate against. */
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { Fault } from '../errors.ts';
import { addressFault } from '../http/address.ts';
import { wait } from '../operating/living.ts';
import { parseJson } from '../rules/json.ts';
import type { MarketName } from '../sandbox/market-names.ts';
import { marketRivals, worldOf } from '../sandbox/markets.ts';
import type { TestPerson } from '../sandbox/people.ts';
import { proposalSituations } from '../sandbox/played-proposal.ts';
import { readRecordedRates, recordedRivals } from '../sandbox/rivals.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { type SandboxSettings, sandboxSettings } from '../sandbox/settings.ts';
import type { SandboxSummary } from '../sandbox/summary.ts';
import { worldOn } from '../sandbox/world.ts';
import { bidPath } from '../wire/bid.ts';
import { createProgress, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

export type SandboxCommand = {
  port: number;
  host: string;
  target: string | undefined;
  requests: number;
  seed: string;
  rivals: string | undefined;
  market: MarketName;
  record: string | undefined;
  settings: string | undefined;
  /** End with the stream. */
  exit: boolean;
  json: boolean;
};

const targetTimeoutMs = 60_000;
const pollMs = 500;
const shownPeople = 3;

function readSettings(world: CommandWorld, { settings: text, market }: SandboxCommand): SandboxSettings {
  let overrides: unknown = {};
  try {
    overrides = text === undefined ? {} : JSON.parse(text);
  } catch (cause) {
    const found = parseJson(text ?? '');
    const where = found.kind === 'malformed' ? found.text : '';
    throw new Fault('configuration-invalid', world.format.texts.sandbox.badSettings(where), cause);
  }
  if (!isPlain(overrides)) return sandboxSettings(overrides);
  // What is set by hand comes after what the market says.
  const own = overrides.world;
  const isWorld = own === undefined || isPlain(own);
  return sandboxSettings(isWorld ? { ...overrides, world: { ...worldOf(market), ...own } } : overrides);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function rivalsOf(world: CommandWorld, { rivals: file, market, seed }: SandboxCommand, settings: SandboxSettings) {
  if (file === undefined) return marketRivals(market, worldOn(settings.world, world.clock.now()), seed);
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

/** False where somebody has asked to end before it is there. */
async function waitForTarget(world: CommandWorld, target: string, isAsked: () => boolean): Promise<boolean> {
  const { clock, terminal } = world;
  const texts = world.format.texts.sandbox;
  const url = new URL(target);
  const untilMs = clock.monotonicMs() + targetTimeoutMs;
  // The last part of the path is the token.
  const shown = `${url.origin}/…`;
  for (let first = true; !(await isListening(url)); first = false) {
    if (isAsked()) return false;
    if (clock.monotonicMs() >= untilMs) throw new Fault('service-unreachable', texts.unreachable(shown));
    if (first) terminal.say(texts.waiting(shown));
    await wait(clock, pollMs);
  }
  return !isAsked();
}

/** The token at the end of a target's path. */
function tokenOf(target: string): string {
  return decodeURIComponent(new URL(target).pathname.split('/').at(-1)!);
}

/** Of an operator of a rehearsal. Made of the webhook token, so that the sandbox names the same one when it is started again. */
function operatorSecret(webhookToken: string): string {
  return createHash('sha256').update(`operator ${webhookToken}`).digest('hex').slice(0, 24);
}

/** What a desk has to be told so that all of its calls come here. */
function environmentOf(url: string, settings: SandboxSettings, webhookToken: string): string[] {
  const sha256 = createHash('sha256').update(operatorSecret(webhookToken)).digest('hex');
  return [
    `LANCE_BASE_URL=${url}`,
    `LANCE_FGTS_URL=${url}`,
    `LANCE_PROPOSAL_URL=${url}`,
    `LANCE_ACCESS_TOKEN=${settings.tokens.accessToken}`,
    `LANCE_WEBHOOK_TOKENS=${webhookToken}`,
    `LANCE_API_TOKENS=ana:operator:${sha256}`,
  ];
}

/** What a withdrawal needs to be finalised and understood here: settings for the file of LANCE_CONFIG. */
function flowSettingsFor({ withdrawals }: SandboxSettings): string {
  const situations = Object.entries(proposalSituations).map(([state, code]) => ({
    code,
    state: state === 'analysing' || state === 'cancelled' ? 'other' : state,
  }));
  return JSON.stringify({ flows: { finalisationEnabled: withdrawals.finalisationEnabled, situations } });
}

function peopleText(world: CommandWorld, people: readonly TestPerson[]): string {
  const { format } = world;
  const rows = people.map((person) => [
    person.requestId,
    person.cpf,
    person.name,
    person.registration,
    `${person.employerId} (${person.employerIdType})`,
    person.birthDate,
    format.money(person.balanceCents),
    person.authorisationNumber,
  ]);
  return tableText(format.texts.sandbox.people, rows, { right: [6] });
}

/** Says what to set and type so that a desk bids here. */
function sayHow(
  world: CommandWorld,
  sandbox: Sandbox,
  { url, settings, command }: { url: string; settings: SandboxSettings; command: SandboxCommand },
): void {
  const { terminal } = world;
  const texts = world.format.texts.sandbox;
  const { target } = command;
  const token = target === undefined ? randomBytes(12).toString('hex') : tokenOf(target);
  const lines = environmentOf(url, settings, token);
  const isDefault = command.settings === undefined;
  terminal.say(target === undefined ? texts.point : texts.needs);
  terminal.say('');
  if (target === undefined) {
    const own = [
      'LANCE_DATA_DIR=./data',
      'LANCE_CONTACT_URL=https://parceiro.example/credito',
      `LANCE_PSEUDONYM_KEY=${randomBytes(24).toString('hex')}`,
    ];
    for (const line of [...lines, ...own]) terminal.say(`  ${line} \\`);
    terminal.say('  npm run lance -- run');
    terminal.say('');
    terminal.say(texts.stream);
    terminal.say('');
    const { port } = new URL(url);
    const marketOption = command.market === 'segments' ? '' : ` --market ${command.market}`;
    const settingsOption = `${marketOption}${isDefault ? '' : ` --settings '${command.settings}'`}`;
    terminal.say(
      `  npm run lance -- sandbox --port ${port} --target http://127.0.0.1:8080/webhooks/${token} --requests ${command.requests}${settingsOption}`,
    );
  } else {
    // Tokens that the user has chosen stay out of whatever keeps this output.
    const shown = lines.filter((line) => isDefault || !line.startsWith('LANCE_ACCESS_TOKEN='));
    for (const line of shown) if (!line.startsWith('LANCE_WEBHOOK_TOKENS=')) terminal.say(`  ${line}`);
  }
  terminal.say('');
  terminal.say(texts.operator(operatorSecret(token)));
  terminal.say(texts.window(settings.auction.windowMs / 1_000));
  terminal.say(texts.finalisation(flowSettingsFor(settings)));
  terminal.say('');
  terminal.say(texts.known);
  terminal.say(peopleText(world, sandbox.people(shownPeople, command.requests)));
  terminal.say('');
  if (target === undefined) terminal.say(texts.stop);
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
    ...(summary.sources.asked > 0 ? [[names.asked, String(summary.sources.asked)] as [string, string]] : []),
    [names.webhooks, `${summary.webhooks.acknowledged}/${summary.webhooks.sent}`],
    [names.givenUp, String(summary.webhooks.givenUp)],
    ...Object.entries({ ...summary.faults, ...summary.sources.faults }).flatMap(([fault, count]): [string, string][] =>
      count > 0 ? [[fault, String(count)]] : [],
    ),
  ];
  return tableText(['', ''], rows, { right: [1] })
    .split('\n')
    .slice(2)
    .join('\n');
}

/** Whose agent and account it is no played service asks. */
const orderOptions = `  --set agentCpf=11144477735 --set account.accountType=2 --set account.branch=0001 \\
  --set account.branchDigit=9 --set account.account=123456 --set account.accountDigit=0 \\
  --set account.bankNumber=341`;

async function stream(
  world: CommandWorld,
  sandbox: Sandbox,
  command: SandboxCommand,
  { target, url, asked }: { target: string; url: string; asked: Promise<unknown> },
): Promise<void> {
  const { terminal, format } = world;
  let isAsked = false;
  void asked.then(() => {
    isAsked = true;
  });
  if (!(await waitForTarget(world, target, () => isAsked))) return;
  sandbox.connect(target);
  const progress = createProgress(terminal, 'lance sandbox');
  const running = sandbox.run(command.requests, {
    planned: command.requests,
    onBatch: ({ emitted, of }) => {
      if (!isAsked) progress.show(emitted, of, '');
    },
  });
  // When it is stopped early, print how far it came.
  const summary = await Promise.race([running, asked.then(() => sandbox.summary())]);
  progress.end();
  terminal.write(command.json ? JSON.stringify(summary) : summaryText(world, summary));
  if (command.exit || isAsked) return;
  const { takers, noTakers, orderValues, stays, stop } = format.texts.sandbox;
  const taken = sandbox.takers().slice(0, shownPeople);
  terminal.say(`\n${taken.length === 0 ? noTakers : `${takers}\n${peopleText(world, taken)}`}\n`);
  if (taken.length > 0) terminal.say(`${orderValues}\n${orderOptions}\n`);
  terminal.say(stays(url));
  terminal.say(stop);
  await asked;
}

/** Up until a signal comes; with a target and `exit` until the stream has ended. */
export async function runSandbox(world: CommandWorld, command: SandboxCommand): Promise<void> {
  const settings = readSettings(world, command);
  const { target, seed } = command;
  if (target !== undefined && !/^https?:\/\/[^/]+\/./.test(target)) {
    throw new Fault('configuration-invalid', `--target: ${world.format.texts.sandbox.badTarget}`);
  }
  const sandbox = createSandbox({
    settings,
    seed,
    clock: world.clock,
    rivals: rivalsOf(world, command, settings),
    ...(command.record === undefined ? {} : { recordFile: command.record }),
  });
  try {
    const { url } = await listen(sandbox, command);
    world.terminal.say(world.format.texts.sandbox.up(url));
    if (!command.exit) sayHow(world, sandbox, { url, settings, command });
    const asked = world.endSignal();
    if (target === undefined) await asked;
    else await stream(world, sandbox, command, { target, url, asked });
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
