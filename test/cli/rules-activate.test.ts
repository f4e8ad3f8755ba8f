/** Rule sets activated, gone back from and approved by the commands, beside a live `lance run`. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { eventually } from '../conformance/backend.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Entry = {
  kind: string;
  hash: string;
  by: string | null;
  via?: string;
  comment?: string;
  followed: boolean;
  changes?: object[];
  rollback?: { reviewBy: number; from: string };
};

const shipped = new URL('../../rules/', import.meta.url).pathname;
const rows = 'key,score\n11222333,810\n22333444,540\n';
let played: Played;
let environment: Record<string, string>;
let folder: string;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };

before(async () => {
  played = await openStage(21);
  folder = join(played.directory, 'rules');
  cpSync(shipped, folder, { recursive: true });
  const column = { score: { type: 'number', unit: 'points' } };
  const table = { description: 'd', key: 'employer.key', columns: column };
  writeFileSync(join(folder, 'bureau.values.json'), JSON.stringify(table));
  writeFileSync(join(folder, 'bureau.values.csv'), rows);
  const config = JSON.parse(readFileSync(played.environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(played.environment.LANCE_CONFIG!, JSON.stringify({ ...config, rules: { restMs: 150 } }));
  const tokens = ['ana', 'bruno'].map(
    (name) => `${name}:risk:${createHash('sha256').update(tokenOf(name)).digest('hex')}`,
  );
  environment = {
    ...played.environment,
    LANCE_RULES_DIR: folder,
    LANCE_LANG: 'en',
    LANCE_API_TOKENS: tokens.join(','),
  };
  daemon = await startDaemon(environment);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

function edit(change: (text: string) => string): void {
  const path = join(folder, 'limits.json');
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

const tokenOf = (name: string) => `a-token-of-${name}`;

/** Ordered of the running process, with the token of a person. */
function as(name: string, ...words: string[]) {
  const reached = { LANCE_URL: new URL(daemon.url).origin, LANCE_TOKEN: tokenOf(name) };
  return lance({ LANCE_LANG: 'en', ...reached }, 'rules', ...words);
}

async function history(): Promise<Entry[]> {
  return jsonLines<Entry>((await lance(environment, 'rules', 'history', '--json')).stdout);
}

/** What the daemon says of its rules. */
async function rulesLine(): Promise<string> {
  const { origin } = new URL(daemon.url);
  const text = await (await fetch(`${origin}/readyz?verbose`)).text();
  return text.split('\n').find((line) => line.includes('rules:')) ?? text;
}

async function follows(hash: string): Promise<void> {
  // A rollback that nobody has looked at is to be put right: `[!]`.
  const said = new RegExp(`^\\[[+!]\\] rules: ${hash.slice(0, 12)} is followed`);
  await eventually(async () => said.test(await rulesLine()), 10_000);
}

test('a change in the folder is followed; rollback goes back beside the daemon, and activate forth again', async () => {
  const [first] = await history();
  await follows(first!.hash);
  edit((text) => text.replace(/("name": "[^"]+",\s*"description": ")/, '$1Anders: '));
  await eventually(async () => (await history())[0]!.hash !== first!.hash, 10_000);
  const [activated, proposed] = await history();
  assert.deepEqual([activated!.kind, proposed!.kind, proposed!.by], ['activated', 'proposed', null]);
  assert.equal(proposed!.changes!.length, 1);
  await follows(activated!.hash);
  const nobody = await lance(environment, 'rules', 'rollback');
  assert.equal(nobody.code, 1);
  const why = ['--reason', 'taxa errada, ver 529.982.247-25'];
  const twice = await lance(environment, 'rules', 'rollback', '--by', 'ana', ...why, '--comment', 'e de novo');
  assert.deepEqual([twice.code, /cannot be used with option '--comment/.test(twice.stderr)], [1, true], twice.stderr);
  // Where no reason is taken, no far word is offered in its place.
  const far = await lance(environment, 'rules', 'history', '--reason', 'ruim');
  assert.equal(far.code, 1);
  assert.match(far.stderr, /unknown option '--reason'/);
  assert.doesNotMatch(far.stderr, /--version/);
  const back = await lance(environment, 'rules', 'rollback', '--by', 'ana', ...why);
  assert.equal(back.code, 0, back.stderr);
  assert.match(back.stdout, new RegExp(`${first!.hash.slice(0, 12)} decides from .* on; 1 process`));
  await follows(first!.hash);
  const both = [first!.hash.slice(0, 12), activated!.hash.slice(0, 12)];
  // The folder still holds the set that was left: both say which one decides.
  await eventually(async () => (await rulesLine()).endsWith(`; ${both[1]} in the folder is not`), 10_000);
  const doctor = (await lance(environment, 'doctor')).stdout;
  const said = doctor.replaceAll(/\s+/g, ' ');
  assert.match(
    said,
    new RegExp(`set ${both[0]} decides: ana went back to it from ${both[1]}, .*; the folder holds ${both[1]}, which`),
  );
  assert.match(said, new RegExp(`somebody else looks at it by .*: lance rules approve ${both[0]}`));
  assert.match(await rulesLine(), new RegExp(`gone back to by ana from ${both[1]}, to be looked at by somebody else`));
  const told = daemon.lines.find(({ msg }) => msg === 'rules-gone-back');
  assert.match(String(told?.text), new RegExp(`ana went back from ${both[1]}; somebody else has to look at it`));
  const { port } = new URL(daemon.url);
  const status = async () =>
    (await lance({ ...environment, LANCE_HTTP_PORT: port }, 'status')).stdout.replaceAll(/\s+/g, ' ');
  assert.match(
    await status(),
    new RegExp(
      `gone back from ${both[1]} by ana; somebody else has to look at it by [^;]+: lance rules approve ${both[0]}, with a token of their own; the folder waits`,
    ),
  );
  const seen = await as('bruno', 'approve', both[0]!);
  assert.match(seen.stdout, /somebody else has looked at the rollback/, seen.stderr);
  // Beside the store, at once; without the store's names, whoever asks the process hears that it was done.
  assert.match(
    await status(),
    new RegExp(`gone back from ${both[1]} by ana; bruno has looked at it; the folder waits for lance rules activate`),
  );
  const nameless = async () => {
    const answer = await fetch(`${new URL(daemon.url).origin}/status`);
    return ((await answer.json()) as DaemonStatus).rollback!;
  };
  await eventually(async () => (await nameless()).reviewedAt !== null, 15_000);
  const { by, reviewedBy } = await nameless();
  assert.deepEqual([by, reviewedBy], [null, null]);
  // An edit of the folder does not bring to life what was gone back from.
  edit((text) => text.replace('"description": "', '"description": "Noch etwas: '));
  const waits = () => daemon.lines.find(({ msg }) => msg === 'rules-not-followed');
  await eventually(() => waits() !== undefined, 10_000);
  assert.match(String(waits()?.text), new RegExp(`^${both[0]} decides, to which ana went back from ${both[1]}`));
  await sleep(2_500);
  await follows(first!.hash);
  const impact = await lance(environment, 'rules', 'impact', folder, '--json');
  assert.equal(impact.code, 66, 'nothing was decided yet');
  const named = activated!.hash.slice(0, 9);
  const forth = await lance(environment, 'rules', 'activate', named, '--by', 'ana');
  assert.equal(forth.code, 0, forth.stderr);
  assert.match((await lance(environment, 'rules', 'activate', named, '--by', 'ana')).stdout, /followed already/);
  await follows(activated!.hash);
  assert.equal((await lance(environment, 'rules', 'activate', 'ffffffff', '--by', 'ana')).code, 66);
  const table = (await lance(environment, 'rules', 'history')).stdout;
  assert.match(table, new RegExp(`${activated!.hash.slice(0, 12)}\\*\\s+announced\\s+ana`));
  assert.match(table, /proposed +\(folder\) +changed rule "/);
  assert.match(table, /gone back to +ana \(offline\) +“taxa errada, ver \*\*\*”/);
});

test('a bad folder: told by check, refused by the daemon, which serves the last good set also after a restart', async () => {
  const { hash } = (await history()).find(({ followed }) => followed)!;
  const path = join(folder, 'limits.json');
  const good = readFileSync(path, 'utf8');
  edit((text) => text.slice(0, 200));
  assert.equal((await lance(environment, 'rules', 'check')).code, 65);
  await eventually(async () => (await rulesLine()).endsWith('the folder is refused'), 10_000);
  await daemon.stop();
  daemon = await startDaemon(environment);
  await follows(hash);
  await eventually(async () => (await rulesLine()).endsWith('the folder is refused'), 10_000);
  writeFileSync(path, good);
  await eventually(async () => (await rulesLine()).endsWith('is followed'), 10_000);
});

test('diff says what a set says otherwise, value by value; checkout gives a kept set back as files of the same hash', async () => {
  const path = join(folder, 'limits.json');
  const good = readFileSync(path, 'utf8');
  const same = await lance(environment, 'rules', 'diff');
  assert.equal(same.code, 0, same.stderr);
  const live = (await history()).find(({ followed }) => followed)!.hash;
  const apart = join(played.directory, 'apart');
  cpSync(folder, apart, { recursive: true });
  const rules = JSON.parse(good) as { rules: { name: string; description: string }[] };
  const [rule] = rules.rules;
  const before = rule!.description;
  rule!.description = 'Outra coisa.';
  writeFileSync(join(apart, 'limits.json'), JSON.stringify(rules));
  const told = await lance(environment, 'rules', 'diff', live.slice(0, 8), apart);
  assert.equal(told.code, 0, told.stderr);
  assert.ok(
    told.stdout.includes(`changed rule "${rule!.name}"\n  description: "${before}" → "Outra coisa."\n`),
    told.stdout,
  );
  const pt = await lance({ ...environment, LANCE_LANG: 'pt' }, 'rules', 'diff', 'live', apart);
  assert.match(pt.stdout, /^De [\da-f]{12} para [\da-f]{12}:/);
  const json = JSON.parse((await lance(environment, 'rules', 'diff', 'live', apart, '--json')).stdout);
  assert.equal(json.before, live);
  assert.deepEqual(json.differences, [
    {
      ...{ what: 'rule', name: rule!.name, change: 'changed' },
      values: [{ at: 'description', before, after: 'Outra coisa.' }],
    },
  ]);
  const out = join(played.directory, 'checked-out');
  const written = await lance(environment, 'rules', 'checkout', live.slice(0, 12), out);
  assert.equal(written.code, 0, written.stderr);
  const back = JSON.parse((await lance(environment, 'rules', 'diff', 'live', out, '--json')).stdout);
  assert.deepEqual([back.before, back.after, back.differences], [live, live, []]);
  assert.equal(readFileSync(join(out, 'bureau.values.csv'), 'utf8'), rows);
  const again = await lance(environment, 'rules', 'checkout', 'live', out);
  assert.deepEqual([again.code, /is not empty/.test(again.stderr)], [65, true]);
  assert.equal((await lance(environment, 'rules', 'diff', 'ffffffff')).code, 66);
  assert.equal((await lance(environment, 'rules', 'diff', 'live', join(played.directory, 'nowhere'))).code, 78);
});

test('a rule is put to sleep beside the daemon or through it, shown with who and why, and woken; the chain holds', async () => {
  const rules = JSON.parse(readFileSync(join(folder, 'limits.json'), 'utf8')).rules as { name: string }[];
  const [one, other] = rules.map(({ name }) => name);
  const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  const words = ['--until', day, '--reason', 'falso alarme'];
  const nobody = await lance(environment, 'rules', 'snooze', one!, ...words);
  assert.deepEqual([nobody.code, /--by NAME/.test(nobody.stderr)], [1, true]);
  const asleep = await lance(environment, 'rules', 'snooze', one!, ...words, '--by', 'ana');
  assert.equal(asleep.code, 0, asleep.stderr);
  assert.match(asleep.stdout, /has no say until .* obeyed by 1 process/);
  const remote = await as('bruno', 'snooze', other!, ...words);
  assert.equal(remote.code, 0, remote.stderr);
  const table = (await as('ana', 'snoozes')).stdout;
  assert.match(table, new RegExp(`${one}.*ana \\(offline\\) +falso alarme`));
  assert.match(table, new RegExp(`${other}.*bruno +falso alarme`));
  const unknown = await lance(environment, 'rules', 'snooze', `${one}x`, ...words, '--by', 'ana');
  assert.deepEqual([unknown.code, unknown.stderr.includes(`Did you mean "${one}"?`)], [66, true], unknown.stderr);
  const late = await as('ana', 'snooze', one!, '--until', '2099-01-01', '--reason', 'r');
  assert.deepEqual([late.code, /at the latest/.test(late.stderr)], [65, true], late.stderr);
  assert.match((await lance(environment, 'controls', 'history')).stdout, new RegExp(`rule "${other}" asleep until`));
  const woken = await as('ana', 'resume', one!, '--reason', 'apurado');
  assert.equal(woken.code, 0, woken.stderr);
  const again = await lance(environment, 'rules', 'resume', one!, '--reason', 'apurado', '--by', 'ana');
  assert.deepEqual([again.code, again.stderr.includes(`Asleep: ${other}`)], [66, true], again.stderr);
  const left = jsonLines<{ rule: string; holds: boolean }>(
    (await lance(environment, 'rules', 'snoozes', '--json')).stdout,
  );
  assert.deepEqual(
    left.map(({ rule, holds }) => [rule, holds]),
    [[other, true]],
  );
  const verified = await lance(environment, 'audit', 'verify');
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});

test('with approval a set waits for a second person, bound to its hash', async () => {
  await daemon.stop();
  const config = JSON.parse(readFileSync(environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(environment.LANCE_CONFIG!, JSON.stringify({ ...config, rules: { restMs: 150, approval: true } }));
  daemon = await startDaemon(environment);
  const { hash: before } = (await history()).find(({ followed }) => followed)!;
  await follows(before);
  edit((text) => text.replace('Anders: ', 'Wieder anders: '));
  await eventually(async () => /in the folder is not$/.test(await rulesLine()), 10_000);
  const told = () => daemon.lines.find(({ msg }) => msg === 'rules-await-approval');
  await eventually(async () => told() !== undefined, 10_000);
  const waiting = told();
  const shown = String(waiting?.ruleSet).slice(0, 12);
  assert.equal(
    waiting?.text,
    `two persons have to stand for it: lance rules approve ${shown}, each with a token of their own`,
  );
  const unapproved = (await lance(environment, 'doctor')).stdout;
  assert.match(
    unapproved,
    new RegExp(`${shown}, does not: .*\\n +remedy: lance rules approve ${shown}, with the token`),
  );
  const proposed = await as('ana', 'propose', folder);
  assert.equal(proposed.code, 0, proposed.stderr);
  assert.match(proposed.stdout, /changed rule "[\s\S]*lance rules approve/);
  const hash = (await history()).find(({ by, kind }) => kind === 'proposed' && by === 'ana')!.hash;
  const alone = await lance(environment, 'rules', 'activate', hash, '--by', 'ana');
  assert.equal(alone.code, 65);
  const snooze = await as('ana', 'snooze', 'Any', '--until', '2099-01-01', '--reason', 'r');
  assert.equal(snooze.code, 65);
  const soon = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const alike = await as('ana', 'snooze', 'Any', '--until', soon, '--reason', 'r');
  assert.deepEqual([alike.code, /Two persons have to stand for rules here/.test(alike.stderr)], [65, true]);
  const own = await as('ana', 'approve', hash);
  assert.equal(own.code, 65);
  assert.match(own.stderr, /another person has to approve it/);
  // A name that is typed beside the store is nobody's.
  const offline = await lance(environment, 'rules', 'approve', hash, '--by', 'carla');
  assert.deepEqual([offline.code, /A name that is typed never counts/.test(offline.stderr)], [65, true]);
  const other = await as('ana', 'approve', hash, '--by', 'bruno');
  assert.deepEqual([other.code, /is of ana, not of bruno/.test(other.stderr)], [65, true]);
  await follows(before);
  const approved = await as('bruno', 'approve', hash, '--by', 'bruno', '--comment', 'visto');
  assert.equal(approved.code, 0, approved.stderr);
  await follows(hash);
  assert.deepEqual(
    (await history()).slice(0, 3).map(({ kind, by, via }) => [kind, by, via]),
    [
      ['activated', 'bruno', 'api'],
      ['approved', 'bruno', 'api'],
      ['proposed', 'ana', 'api'],
    ],
  );
  assert.match((await as('ana', 'history')).stdout, /approved +bruno +“visto”/);
});

test('leaving the configuration out passes nobody by: that approval is needed is recorded (defect line 16)', async () => {
  const { hash: before } = (await history()).find(({ followed }) => followed)!;
  edit((text) => text.replace('Wieder anders: ', 'Noch einmal: '));
  const proposed = await lance(environment, 'rules', 'propose', folder, '--by', 'ana');
  assert.equal(proposed.code, 0, proposed.stderr);
  const hash = (await history()).find(({ by, kind }) => kind === 'proposed' && by === 'ana')!.hash;
  const { LANCE_CONFIG: _, ...bare } = environment;
  for (const without of [bare, { ...environment, LANCE_CONFIG: '' }]) {
    for (const word of ['activate', 'rollback']) {
      const passed = await lance(without, 'rules', word, hash, '--by', 'ana');
      assert.equal(passed.code, 65, `${word}: ${passed.stdout}${passed.stderr}`);
    }
  }
  // A desk that is started without it asks for approval all the same, and says why.
  await daemon.stop();
  const config = JSON.parse(readFileSync(environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(environment.LANCE_CONFIG!, JSON.stringify({ ...config, rules: { restMs: 150 } }));
  daemon = await startDaemon(environment);
  assert.ok(daemon.lines.some(({ msg }) => msg === 'rules-approval-kept'));
  edit((text) => text.replace('Noch einmal: ', 'Ein letztes Mal: '));
  await eventually(async () => /in the folder is not$/.test(await rulesLine()), 10_000);
  await follows(before);
  // It takes two to end it, and leaves a trace.
  const off = (by: string) => as(by, 'approval', 'off', '--reason', `${by} ist dafür`);
  assert.match((await off('ana')).stdout, /another person/);
  assert.match((await off('ana')).stdout, /another person/);
  assert.equal((await lance(environment, 'rules', 'approval', 'off', '--by', 'bruno')).code, 65);
  assert.equal((await lance(environment, 'rules', 'activate', hash, '--by', 'ana')).code, 65);
  assert.match((await off('bruno')).stdout, /Nobody has to approve/);
  assert.equal((await lance(environment, 'rules', 'activate', hash, '--by', 'ana')).code, 0);
  await follows(hash);
  assert.match((await lance(environment, 'rules', 'approval', 'on', '--by', 'ana')).stdout, /Two persons/);
  const traced = (await history()).filter(({ kind }) => kind.startsWith('approval')).map(({ kind, by }) => [kind, by]);
  const lifts = (await history()).filter(({ kind }) => kind === 'approval-lift');
  assert.deepEqual(
    lifts.map(({ by, comment }) => [by, comment]),
    ['bruno', 'ana', 'ana'].map((by) => [by, `${by} ist dafür`]),
  );
  assert.deepEqual(traced, [
    ['approval-required', 'ana'],
    ['approval-lift', 'bruno'],
    ['approval-lift', 'ana'],
    ['approval-lift', 'ana'],
    ['approval-required', null],
  ]);
  assert.match((await lance(environment, 'rules', 'history')).stdout, /approval on +\(configuration\)/);
});
