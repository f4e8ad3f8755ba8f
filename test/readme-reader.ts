/**
 * Command blocks of the README, run by a real shell in a copy of the checkout, as they stand and in order. What is changed
 * before is told below with its reason; a block that is new is run like the others. What takes minutes is run, shortened, under
 * CI only.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { portsFor } from './crash/desk-process.ts';
import { findStack } from './stack/suite.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const inCi = process.env.CI === 'true';
export const readme = readFileSync(join(root, 'README.md'), 'utf8');
export const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
/** Simulations, crash runs, benches. */
export const isOfTools = (block: string): boolean => block.includes('npm run check');
const startMs = 180_000;
const endMs = 60_000;

const [servicePort, deskPort] = await portsFor(2);
const stack = await findStack();
const prefix = `t${randomBytes(5).toString('hex')}-`;

type Change = { from: string; to: () => string; why: string };

/** What a block says otherwise here than in the README. */
export const changes: readonly Change[] = [
  { from: '--port 9090', to: () => `--port ${servicePort}`, why: 'another test may have the port' },
  { from: '127.0.0.1:9090', to: () => `127.0.0.1:${servicePort}`, why: 'another test may have the port' },
  { from: '127.0.0.1:8080', to: () => `127.0.0.1:${deskPort}`, why: 'another test may have the port' },
  { from: 'bids show ID', to: () => `bids show ${found.id}`, why: 'the reader puts in an id that the sandbox printed' },
  { from: 'example ID', to: () => `example ${found.id}`, why: 'the same' },
  { from: 'KEY=KEY', to: () => `KEY=${found.key}`, why: 'the reader puts in the key that the sandbox printed' },
  { from: 'SECRET', to: () => found.secret, why: 'the reader puts in the token that the sandbox printed' },
  { from: 'c-ID', to: () => `c-${found.id}`, why: 'the reader puts in an id that the sandbox printed' },
  { from: 'NOTE', to: () => found.note, why: 'the reader puts in the number that the flow shows' },
  { from: '"CPF"', to: () => `"${found.cpf}"`, why: 'the reader puts in a person that the sandbox printed' },
  { from: 'REGISTRATION', to: () => found.registration, why: 'the reader puts in a person that the sandbox printed' },
  { from: '"EMPLOYER"', to: () => `"${found.employer}"`, why: 'the reader puts in a person that the sandbox printed' },
  { from: 'BORN', to: () => found.born, why: 'the reader puts in a person that the sandbox printed' },
  { from: 'WITHDRAWAL sim', to: () => `${found.withdrawal} sim`, why: 'the reader puts in the flow that was named' },
  { from: '"NSU"', to: () => `"${found.nsu}"`, why: 'the reader puts in a person that the sandbox printed' },
  { from: 'LOOKUP links', to: () => `${found.lookup} links`, why: 'the reader puts in the flow that was named' },
  { from: 'one:9092,two:9092', to: () => running().brokers, why: 'the brokers of the tests' },
  { from: 'http://registry:8081', to: () => running().registryUrl, why: 'the registry of the tests' },
  { from: 'redis://redis:6379', to: () => running().redisUrl, why: 'the Redis of the tests' },
  { from: ' && npm test', to: () => '', why: 'this is npm test' },
  { from: 'npm ci', to: () => 'true', why: 'a copy of what is installed is used; CI installs so, in a fresh clone' },
  { from: 'npm pack', to: () => 'true', why: 'test/deploy/package.test.ts packs, installs and uses it' },
  { from: 'npm run check', to: () => 'true', why: 'CI runs it beside the tests' },
  { from: 'FILE.ndjson', to: () => 'recorded.ndjson', why: 'the reader puts in a file of recorded auctions' },
  { from: 'simulate -- --seeds 200', to: () => 'simulate -- --seeds 4', why: 'minutes' },
  { from: '--seeds 3000', to: () => '--seeds 60', why: 'half a minute; test/simulation plays the same model' },
  { from: 'crash -- --kills 50', to: () => 'crash -- --kills 3', why: 'minutes' },
  { from: 'npm run hostile', to: () => 'npm run hostile -- --line 6', why: 'minutes' },
  { from: 'flows -- --count 1000', to: () => 'flows -- --count 20', why: 'minutes' },
  { from: 'mutate -- --rows 30', to: () => 'mutate -- --rows 1', why: 'minutes' },
  { from: '--requests 500', to: () => '--requests 60', why: 'half a minute' },
];

/** Lines that are run under CI only: together they take minutes. */
const ciOnly = /^npm run (simulate|crash|hostile|bench|flows|stack|mutate)\b|^npm start -- --(requests 60|rivals)/;

/** Lines that run until Ctrl-C: what they write when they are up, and what a reader does then. */
const servers: { line: RegExp; up: RegExp; meanwhile?: (server: Server) => Promise<void> }[] = [
  { line: /sandbox --port/, up: /Ctrl-C encerra/, meanwhile: rehearse },
  { line: /lance -- run$/, up: /"msg":"started"/ },
  { line: /^npm run stack/, up: /"brokers"/ },
  { line: /^npm start -- --rivals/, up: /Ctrl-C encerra/ },
];

const found = {
  ...{ id: '', key: '', secret: '', note: '', withdrawal: '', lookup: '' },
  ...{ cpf: '', registration: '', employer: '', born: '', nsu: '' },
};
function running() {
  if (stack.kind === 'missing') throw new Error(stack.sentence);
  return stack.addresses;
}

const directory = mkdtempSync(join(tmpdir(), 'lance-readme-'));
const copy = join(directory, 'lance');
/** As a new terminal has it: no setting of a desk, nothing of the npm that runs the tests. */
const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(LANCE_|TEST_STACK$|NODE_TEST|npm_(package|lifecycle))/.test(name)),
);
environment.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);

type Server = { output: () => string; end: () => Promise<void> };
const started = new Set<Server>();

/** A shell with a process group of its own, so that Ctrl-C reaches all of it. */
function shell(script: string): { child: ChildProcess; output: () => string } {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: copy,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

/** Runs it to its end; what it exports is there for the next one. */
async function runToEnd(script: string): Promise<string> {
  const exported = join(directory, 'environment');
  const { child, output } = shell(`${script}\nenv -0 > '${exported}'`);
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, `${script}\nended with ${code}:\n${output().slice(-4_000)}`);
  for (const entry of readFileSync(exported, 'utf8').split('\0')) {
    const [, name, value] = /^(LANCE_\w+)=([\s\S]*)$/.exec(entry) ?? [];
    if (name !== undefined) environment[name] = value;
  }
  return output();
}

async function start(line: string, isUp: (output: string) => boolean | Promise<boolean>): Promise<Server> {
  const { child, output } = shell(line);
  const closed = once(child, 'close');
  const server: Server = {
    output,
    end: async () => {
      started.delete(server);
      const signalled = child.exitCode === null && child.signalCode === null;
      const from = performance.now();
      if (signalled) process.kill(-child.pid!, 'SIGINT');
      const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), endMs);
      await closed;
      clearTimeout(late);
      if (signalled)
        assert.ok(performance.now() - from < endMs, `${line}\nwas not over ${endMs / 1_000} s after Ctrl-C`);
    },
  };
  started.add(server);
  for (const until = performance.now() + startMs; !(await isUp(output())); await sleep(100)) {
    assert.equal(child.exitCode, null, `${line}\nended:\n${output().slice(-4_000)}`);
    assert.ok(performance.now() < until, `${line}\nis not up after ${startMs / 1_000} s:\n${output().slice(-4_000)}`);
  }
  return server;
}

let desk: Server | null = null;

/** What the sandbox tells its reader: a desk with the environment that it prints, Ctrl-C, then the stream. */
async function rehearse(sandbox: Server): Promise<void> {
  const printed = sandbox.output().match(/^ {2}LANCE_\w+=.*(?:\n {2}.*)*?npm run lance -- run$/m)?.[0];
  const stream = sandbox.output().match(/^ {2}(npm run lance -- sandbox --port \d+ --target .*)$/m)?.[1];
  assert.ok(printed !== undefined && stream !== undefined, sandbox.output());
  found.key = /LANCE_PSEUDONYM_KEY=(\S+)/.exec(printed)![1]!;
  desk = await start(`LANCE_HTTP_PORT=${deskPort} \\\n${printed}`, async () => {
    const answer = await fetch(`http://127.0.0.1:${deskPort}/readyz`).catch(() => null);
    return answer?.status === 200;
  });
  await sandbox.end();
  found.secret = /"authorization: Bearer (\S+)"/.exec(sandbox.output())![1]!;
  const told = (await start(stream.replace('127.0.0.1:8080', `127.0.0.1:${deskPort}`), isUpAgain)).output();
  assert.match(told, /leilões encerrados +\d+/);
  assert.ok(told.includes(found.secret), 'the sandbox names the same token when it is started again');
  const [, taken] = told.split('pode-se pedir o contrato de');
  const person = /^(\d+) +(\d{11}) .*? (\d+) +(\w+) \(1\) +(\d{4}-\d\d-\d\d) .* (\d+)$/m.exec(taken!);
  assert.ok(person !== null, told);
  Object.assign(found, {
    id: person[1],
    cpf: person[2],
    registration: person[3],
    employer: person[4],
    born: person[5],
    nsu: person[6],
  });
}

function isUpAgain(output: string): boolean {
  return output.includes('Ctrl-C encerra');
}

type Shown = { phase: string; shownDone: boolean; note: { noteNumber: string } | null };

/** Asks the desk until a flow has come so far. */
async function eventually(path: string, isSo: (flow: Shown) => boolean): Promise<Shown> {
  for (const until = performance.now() + endMs; ; await sleep(200)) {
    const headers = { authorization: `Bearer ${found.secret}` };
    const flow = (await (await fetch(`http://127.0.0.1:${deskPort}/v1/${path}`, { headers })).json()) as Shown;
    if (isSo(flow)) return flow;
    assert.ok(performance.now() < until, JSON.stringify(flow));
  }
}

/** Commands of a block: a line that goes on with a backslash is one; remarks are left to the shell. */
function linesOf(block: string): string[] {
  return block
    .replace(/\\\n/g, '\\\0')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.replaceAll('\0', '\n'));
}

function changed(line: string): string {
  let text = line;
  for (const { from, to } of changes) if (text.includes(from)) text = text.replaceAll(from, to());
  return text;
}

async function runLine(line: string): Promise<string> {
  // Without the means of the stack this one block is left out; under CI that fails.
  if (line.startsWith('LANCE_BACKEND=kafka') && stack.kind === 'missing' && !inCi) return '';
  const text = changed(line);
  const bare = text.replace(/\s+#.*$/gm, '').replace(/\\\n/g, '');
  if (ciOnly.test(bare) && !inCi) return '';
  const server = servers.find((each) => each.line.test(bare));
  if (server === undefined) return runToEnd(text);
  if (/^LANCE_BACKEND=kafka/.test(bare)) {
    await desk?.end();
    desk = null;
    // On a single broker, says the README, the replication is 1; the names keep this run apart from other tests.
    environment.LANCE_KAFKA_REPLICATION = '1';
    delete environment.LANCE_DATA_DIR;
    environment.LANCE_CONFIG = join(directory, 'shared.json');
    const kafka = { topicPrefix: prefix, groupId: prefix };
    writeFileSync(environment.LANCE_CONFIG, JSON.stringify({ kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    Object.assign(environment, {
      LANCE_HTTP_PORT: String(deskPort),
      LANCE_PSEUDONYM_KEY: found.key,
      LANCE_WEBHOOK_TOKENS: 'webhook-token-of-the-readme',
      LANCE_BASE_URL: `http://127.0.0.1:${servicePort}`,
      LANCE_ACCESS_TOKEN: 'not-used',
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    });
  }
  const up = await start(text, (output) => server.up.test(output));
  await server.meanwhile?.(up);
  const said = up.output();
  if (started.has(up)) await up.end();
  for (const name of Object.keys(environment)) {
    if (/^LANCE_(?!API_TOKENS)/.test(name)) delete environment[name];
  }
  return said;
}

/** Kills the daemon and holds each recovery to five seconds: no other test may run beside it. */
export const bearsNoOther = (line: string): boolean => line.includes('npm run crash');

/** Tests of these blocks, in the order of the README; of each the lines that `isWanted` takes. */
export function followReadme(wanted: readonly string[], isWanted: (line: string) => boolean = () => true): void {
  before(() => {
    execFileSync('git', ['clone', '--quiet', root, copy]);
    // With what is not committed yet.
    const list = (...words: string[]) =>
      execFileSync('git', ['ls-files', '-z', ...words], { cwd: root, encoding: 'utf8' })
        .split('\0')
        .filter(Boolean);
    for (const path of list('--modified', '--others', '--exclude-standard')) {
      if (existsSync(join(root, path))) cpSync(join(root, path), join(copy, path));
      else rmSync(join(copy, path), { force: true });
    }
    execFileSync('cp', ['-a', '--link', join(root, 'node_modules'), join(copy, 'node_modules')]);
    const recorded = Array.from({ length: 120 }, (_, index) => JSON.stringify({ rates: [180 + (index % 17), 260] }));
    writeFileSync(join(copy, 'recorded.ndjson'), `${recorded.join('\n')}\n`);
  });
  after(async () => {
    for (const server of started) await server.end();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const block of wanted) {
    test(`${blocks.indexOf(block) + 1}: ${block.split('\n')[0]} (defect line 5)`, async () => {
      for (const line of linesOf(block).filter(isWanted)) {
        // What a reader waits for, looking again.
        if (/contracts show/.test(line)) {
          const isSigned = found.note !== '';
          const { note } = await eventually(`contracts/c-${found.id}`, ({ phase, shownDone }) =>
            isSigned ? phase === 'endorsed' && shownDone : phase === 'awaiting-signature',
          );
          found.note = note!.noteNumber;
          // The time of the signature is written in seconds.
          await sleep(1_100);
        }
        const said = await runLine(line);
        if (/contracts show/.test(line)) assert.ok(said.includes(found.note), said);
        if (/terminations/.test(line)) assert.match(said, /"terminated":true/);
        if (/renegotiations start/.test(line)) {
          const flowId = /\br-\S+?(?=[: ])/.exec(said)![0];
          await eventually(`renegotiations/${flowId}`, ({ phase }) => phase === 'renegotiated');
        }
        if (/withdrawals start/.test(line)) found.withdrawal = /\bw-\w+/.exec(said)![0];
        if (/withdrawals step/.test(line)) {
          await eventually(`withdrawals/${found.withdrawal}`, ({ phase }) => phase === 'simulated');
        }
        if (/lookups start/.test(line)) {
          found.lookup = /\bq-\w+/.exec(said)![0];
          await eventually(`lookups/${found.lookup}`, ({ phase }) => phase === 'answered');
        }
        if (/lookups results/.test(line)) assert.ok(said.includes(found.registration), said);
        if (/bids show/.test(line)) assert.ok(said.includes(found.id), said);
        if (/state=proposed/.test(line)) assert.ok(said.includes(`"${found.id}"`), said);
        if (/v1\/contracts/.test(line)) assert.match(said, new RegExp(`"flowId":"c-${found.id}"`));
        if (/letters replay/.test(line)) assert.match(said, /0 mensagens mortas foram relidas/);
        if (/--exit --json/.test(line)) assert.match(said, /"violations":\[\]/);
      }
    });
  }
}
