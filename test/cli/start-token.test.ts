/** A desk on one's own machine prints one token at its start, with the address, so that the console can be tried. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { isStartOwner, isUnclearName } from '../../src/domain/roles.ts';
import { openPerson } from '../console/person.ts';
import { type Environment, inheritedEnvironment, lance, mainFile, openStage, type Played } from './desk.ts';

const shownForm = /(http:\/\/127\.0\.0\.1:\d+)\/\s.*?(lance_start_[\w-]+)/s;

type Started = { said: () => string; end: (signal: NodeJS.Signals) => Promise<void> };

function listenTo(child: ChildProcess): Started {
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  return {
    said: () => stripVTControlCharacters(said),
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}

async function until(started: Started, form: RegExp): Promise<RegExpExecArray> {
  for (let looks = 0; looks < 400; looks += 1) {
    const found = form.exec(started.said());
    if (found !== null) return found;
    await sleep(50);
  }
  throw new Error(`not said in time: ${started.said()}`);
}

/** In a terminal, as a person starts it. Needs `script` of util-linux. */
function runInTerminal(environment: Environment): ChildProcess {
  return spawn('script', ['-qec', `exec '${process.execPath}' '${mainFile}' run`, '/dev/null'], {
    env: { ...inheritedEnvironment, SHELL: '/bin/sh', TERM: 'xterm', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('lance demo says how to open its console, with a token that opens one session (issue 22)', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-start-token-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  // So many that it is ended half way.
  const child = spawn(process.execPath, [mainFile, 'demo', '--requests', '20000', '--seed', '3', '--lang', 'en'], {
    env: { ...inheritedEnvironment, TMPDIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const demo = listenTo(child);
  context.after(() => demo.end('SIGKILL'));
  const [, origin, token] = (await until(demo, shownForm)) as unknown as [string, string, string];
  assert.match(demo.said(), /^Console: http/m);
  assert.match(demo.said(), /once/);
  assert.match(demo.said(), /10 minutes/);
  const person = openPerson(origin);
  const page = await person.get('/', { 'accept-language': 'pt-BR' });
  assert.match(page.text, /token inicial/);
  const entered = await person.logIn(token);
  assert.deepEqual([entered.status, entered.location], [303, '/'], entered.text);
  const now = await person.get('/');
  assert.match(now.text, /<bdi>local<\/bdi>/);
  assert.equal((await person.get('/console/operations/tokens')).status, 200);

  // Once: afterwards it is like any other text, and the page says how to go on.
  const other = openPerson(origin);
  const closed = await other.get('/', { 'accept-language': 'pt-BR' });
  assert.match(closed.text, /lance tokens create/);
  assert.equal((await person.get('/')).status, 200);
  assert.doesNotMatch(now.text, new RegExp(token));
  const kept = () => readdirSync(directory).filter((name) => name.startsWith('lance-demo-'));
  assert.equal(kept().length, 1);
  await demo.end('SIGINT');
  assert.deepEqual([child.exitCode, child.signalCode, kept()], [130, null, []]);
});

test('a second Ctrl-C while lance demo closes leaves nothing of it behind', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-start-token-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  // From within, right after the first, and with no listener of its own at that time.
  const again = `process.once('SIGINT', () => setTimeout(() => process.kill(process.pid, 'SIGINT'), 1));`;
  const probe = ['--import', `data:text/javascript,${encodeURIComponent(again)}`];
  const child = spawn(
    process.execPath,
    [...probe, mainFile, 'demo', '--requests', '1', '--seed', '3', '--lang', 'en'],
    {
      env: { ...inheritedEnvironment, TMPDIR: directory },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const demo = listenTo(child);
  context.after(() => demo.end('SIGKILL'));
  await until(demo, /Ctrl-C ends it/);
  await demo.end('SIGINT');
  const left = readdirSync(directory).filter((name) => name.startsWith('lance-demo-'));
  assert.deepEqual([child.signalCode, left], [null, []]);
});

test('with --exit lance demo gives out no token', async () => {
  const words = [mainFile, 'demo', '--requests', '10', '--seed', '3', '--exit', '--json'];
  const child = spawn(process.execPath, words, { env: { ...inheritedEnvironment }, stdio: ['ignore', 'pipe', 'pipe'] });
  const demo = listenTo(child);
  await once(child, 'exit');
  assert.doesNotMatch(demo.said(), /lance_start_/);
});

let played: Played;
before(async () => {
  played = await openStage(21);
});
after(() => played.close());

const started = /"msg":"started"/;

/** Of the session that the token of an earlier start opened. */
let earlier = new Map<string, string>();

test('a desk that somebody starts in a terminal says it too, while nobody can log in otherwise', async (context) => {
  const { environment } = played;
  const desk = listenTo(runInTerminal({ ...environment, LANG: 'en_US.UTF-8' }));
  context.after(() => desk.end('SIGTERM'));
  const [, origin, token] = (await until(desk, shownForm)) as unknown as [string, string, string];
  assert.match(desk.said(), /Start token \(counts once/);
  const person = openPerson(origin);
  assert.equal((await person.logIn(token)).status, 303);
  assert.equal((await person.get('/console/rules')).status, 200);
  earlier = person.jar;
  // Not in the journal, which others gather.
  for (const line of desk.said().split('\n')) if (line.startsWith('{')) assert.doesNotMatch(line, /lance_start_/);
  await desk.end('SIGTERM');
});

test('no token is printed where there is another one, or nobody looks', async (context) => {
  const { environment } = played;
  const sha256 = createHash('sha256').update('another').digest('hex');
  const withToken = listenTo(runInTerminal({ ...environment, LANCE_API_TOKENS: `ana:operator:${sha256}` }));
  context.after(() => withToken.end('SIGTERM'));
  await until(withToken, started);
  const [, port] = await until(withToken, /"port":(\d+)/);
  const person = openPerson(`http://127.0.0.1:${port}`);
  for (const [name, value] of earlier) person.jar.set(name, value);
  assert.equal(person.jar.size, 1);
  const { text } = await person.get('/console/rules');
  assert.doesNotMatch(text, /<bdi>local<\/bdi>/);
  assert.match(text, /action="\/console\/login"/);
  await sleep(500);
  assert.doesNotMatch(withToken.said(), /lance_start_/);
  await withToken.end('SIGTERM');

  const child = spawn(process.execPath, [mainFile, 'run'], {
    env: { ...inheritedEnvironment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const unseen = listenTo(child);
  context.after(() => unseen.end('SIGTERM'));
  await until(unseen, started);
  await sleep(500);
  assert.doesNotMatch(unseen.said(), /lance_start_/);
  await unseen.end('SIGTERM');

  // Nobody else has the name of the session.
  const inEnglish = { ...environment, LANCE_LANG: 'en' };
  for (const [name, is] of [
    ...['local', ' LOCAL ', 'l\u200bocal', 'ｌｏｃａｌ', 'Iocal', '1oca1', 'l0cal', 'lo\u00adcal', 'local\u2060'].map(
      (each) => [each, [true, null]] as const,
    ),
    ...['ana\u200b', 'a\u202ena', 'an\ta', 'l\u043ecal', 'Zo\u0435'].map((each) => [each, [false, true]] as const),
    ...['ana', 'Zoë d’Ávila', 'ana@casa.example', 'Іван', 'locale', 'lucal', 'Ana 2ª'].map(
      (each) => [each, [false, false]] as const,
    ),
  ] as const)
    assert.deepEqual([isStartOwner(name), isStartOwner(name) ? null : isUnclearName(name)], is, name);
  const unclear = await lance(inEnglish, 'pause', '--reason', 'x', '--by', 'l\u043ecal');
  assert.deepEqual([unclear.code, unclear.stderr.includes('letters of two scripts')], [1, true], unclear.stderr);
  const named = await lance(inEnglish, 'tokens', 'create', '--owner', 'L0cal', '--role', 'risk', '--by', 'ana');
  assert.match(named.stderr, /and not local/);
  for (const words of [
    ['pause', '--reason', 'x'],
    ['tokens', 'create', '--owner', 'bia', '--role', 'risk'],
  ]) {
    const refused = await lance(inEnglish, ...words, '--by', 'l\u200bocal');
    assert.deepEqual([refused.code, refused.stderr.includes('the session that the token of a start opens')], [1, true]);
  }
});
