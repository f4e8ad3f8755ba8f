/** A rollback that nobody else has looked at in time is told as overdue wherever it is told, and raises its alarm, until somebody has. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPerson } from '../console/person.ts';
import { freePort, jsonLines, lance, openStage, startDaemon, twoAtATime } from './desk.ts';

const shipped = new URL('../../rules/', import.meta.url).pathname;
const reviewMs = 6_000;
const tokens = { ana: 'a-token-of-ana', bruno: 'a-token-of-bruno' };

test('after its time the review is overdue in readyz, status, doctor, console and by an alarm, until it was done', async () => {
  const played = await openStage(23);
  const folder = join(played.directory, 'rules');
  cpSync(shipped, folder, { recursive: true });
  const config = JSON.parse(readFileSync(played.environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(
    played.environment.LANCE_CONFIG!,
    JSON.stringify({ ...config, rules: { restMs: 150, rollbackReviewMs: reviewMs } }),
  );
  const environment = {
    ...played.environment,
    LANCE_RULES_DIR: folder,
    LANCE_HTTP_PORT: String(await freePort()),
    LANCE_API_TOKENS: Object.entries(tokens)
      .map(([name, token]) => `${name}:risk:${createHash('sha256').update(token).digest('hex')}`)
      .join(','),
  };
  const daemon = await startDaemon(environment);
  const { origin } = new URL(daemon.url);
  const post = (name: keyof typeof tokens, address: string) =>
    fetch(`${origin}/v1/rules/${address}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens[name]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ comment: 'recusas demais' }),
    });
  const until = async (what: () => Promise<boolean>) => {
    for (let looks = 0; !(await what()); looks += 1) {
      assert.ok(looks < 100, 'it did not come to pass within 20 s');
      await sleep(200);
    }
  };
  const readyz = async () => (await fetch(`${origin}/readyz?verbose`)).text();
  const person = openPerson(origin);
  /** All that is said of it, by where; in both languages where people read it. */
  const told = async (): Promise<Record<string, string>> => {
    const asked = ['doctor', 'status'].flatMap((command) =>
      ['en', 'pt'].map((language) => [command, language] as const),
    );
    const [doctorEn, doctorPt, statusEn, statusPt] = (
      await twoAtATime(asked, ([command, language]) => lance(environment, command, '--lang', language))
    ).map(({ stdout }) => stdout);
    return {
      readyz: (await readyz()).split('\n').find((line) => line.includes('rules:')) ?? '',
      ...{ doctorEn: doctorEn!, doctorPt: doctorPt!, statusEn: statusEn!, statusPt: statusPt! },
      console: (await person.get('/console/rules')).text,
      metrics: /lance_alarms_total\{code="rollback-unreviewed"[^}]*\} \d+/.exec(
        await (await fetch(`${origin}/metrics`)).text(),
      )![0],
    };
  };
  const overdue: Readonly<Record<string, RegExp>> = {
    readyz: /overdue/,
    doctorEn: /was to be looked at by [^:]+:\d\d.*overdue/s,
    doctorPt: /venceu/,
    statusEn: /overdue/,
    statusPt: /venceu/,
    console: /atrasada|overdue/,
    metrics: / [1-9]\d*$/,
  };
  const placesThatSayIt = async () => {
    const texts = await told();
    return Object.keys(overdue).filter((place) => overdue[place]!.test(texts[place]!.replaceAll(/\s+/g, ' ')));
  };
  try {
    assert.equal((await person.logIn(tokens.ana)).status, 303);
    const [, first = ''] = /rules: (\w+) is followed/.exec(await readyz()) ?? [];
    assert.notEqual(first, '');
    const path = join(folder, 'limits.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/("description": ")/, '$1Anders: '));
    await until(async () => !(await readyz()).includes(`rules: ${first} `));
    const back = await post('ana', 'rollback');
    assert.equal(back.status, 200, await back.text());
    await until(async () => (await readyz()).includes('gone back'));
    assert.doesNotMatch(await readyz(), /overdue/);
    await until(async () => daemon.lines.some(({ code }) => code === 'rollback-unreviewed'));
    assert.deepEqual(await placesThatSayIt(), Object.keys(overdue));
    const json = jsonLines<{ finding: string; level: string }>((await lance(environment, 'doctor', '--json')).stdout);
    assert.deepEqual(
      json.filter(({ finding }) => finding.startsWith('rules-back')).map(({ level, finding }) => `${level} ${finding}`),
      ['warn rules-back-overdue'],
    );
    // Who went back cannot say so; somebody else can, and then nothing is overdue any more.
    assert.equal((await post('ana', `sets/${first}/approve`)).status, 409);
    assert.equal((await post('bruno', `sets/${first}/approve`)).status, 200);
    await until(async () => !(await readyz()).includes('overdue'));
  } finally {
    await daemon.stop();
    await played.close();
  }
});
