/** A cap that somebody wants raised, while two persons have to: until the other one has come it stands where people look at night. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { languages } from '../../src/cli/texts.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import type { ControlStanding } from '../../src/operating/controls.ts';
import { freePort, lance, openStage, startDaemon } from './desk.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

test('a raise that waits stands in /v1/controls, controls show, status and the log until it is done', async () => {
  const played = await openStage(2_122);
  const port = await freePort();
  const root = `http://127.0.0.1:${port}`;
  const people = ['ana', 'bruno'].map((name) => `${name}:risk:${sha256(`token-of-${name}`)}`);
  const environment = { ...played.environment, LANCE_HTTP_PORT: `${port}`, LANCE_API_TOKENS: people.join(',') };
  const as = (name: string) => ({ LANCE_URL: root, LANCE_TOKEN: `token-of-${name}`, LANCE_LANG: 'en' });
  const daemon = await startDaemon(environment);
  const standing = async () =>
    JSON.parse((await lance(as('bruno'), 'controls', 'show', '--json')).stdout) as ControlStanding;
  const status = async (path: string) =>
    (await (
      await fetch(`${root}/${path}`, { headers: path === 'status' ? {} : { authorization: 'Bearer token-of-ana' } })
    ).json()) as DaemonStatus;
  try {
    const cap = (name: string, reais: string) =>
      lance(as(name), 'cap', 'noite', '--reais-a-day', reais, '--reason', 'fim do mês');
    const first = await cap('ana', '1000');
    assert.equal(first.code, 0, first.stderr);
    assert.equal((await lance(as('ana'), 'rules', 'approval', 'on', '--of', 'caps')).code, 0);
    assert.notEqual((await cap('ana', '5000')).code, 0);
    const { raises } = await standing();
    assert.deepEqual(
      raises.map(({ name, limitCents, by, reason, at, until }) => [name, limitCents, by, reason, until - at]),
      [['noite', 500_000, 'ana', 'fim do mês', 86_400_000]],
    );
    assert.deepEqual(
      (await status('status')).capRaises?.map(({ name, limitCents, by }) => [name, limitCents, by]),
      [['noite', null, null]],
      'without a token neither who nor how much',
    );
    assert.deepEqual(
      (await status('v1/status')).capRaises?.map(({ name, limitCents, by }) => [name, limitCents, by]),
      [['noite', 500_000, 'ana']],
    );
    assert.equal(
      daemon.lines.filter(({ msg, cap: name }) => msg === 'cap-raise-waiting' && name === 'noite').length,
      1,
    );
    const wants = {
      en: /ana wants cap noite at R\$ 5,000\.00 a day; until .* lance cap noite --reais-a-day 5000/,
      pt: /ana quer o teto noite em R\$ 5\.000,00 por dia; até .* lance cap noite --reais-a-day 5000/,
    };
    for (const lang of languages) {
      for (const where of [
        { ...as('bruno'), LANCE_LANG: lang },
        { ...environment, LANCE_LANG: lang },
      ]) {
        for (const words of [['status'], ['controls', 'show']]) {
          const { stdout, stderr, code } = await lance(where, ...words);
          assert.equal(code, 0, stderr);
          assert.match(flat(stdout).replaceAll('\u00a0', ' '), wants[lang]);
        }
      }
    }
    assert.equal((await cap('bruno', '5000')).code, 0);
    const done = await standing();
    assert.deepEqual([done.raises, done.caps.map(({ limitCents }) => limitCents)], [[], [500_000]]);
    assert.deepEqual((await status('status')).capRaises, []);
  } finally {
    await daemon.stop();
    await played.close();
  }
});
