/** A process that hangs holds its data directory and shows no life: no command takes it for one that does not run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { languages } from '../../src/cli/texts.ts';
import { freePort, lance, openStage, startDaemon } from './desk.ts';

const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

test('pause and status name a process that is stopped or hangs, and do not say that none runs (issue 21)', async () => {
  const played = await openStage(2_121);
  const environment = { ...played.environment, LANCE_HTTP_PORT: `${await freePort()}` };
  const daemon = await startDaemon(environment);
  try {
    daemon.signal('SIGSTOP');
    // Longer than a process counts as alive since it last showed it.
    await sleep(6_000);
    const order = ['--by', 'ana', '--reason', 'taxas estranhas'];
    const says = {
      en: {
        pause: /^Pause stored|stored as revision \d+/i,
        none: /No process/,
        holds: /holds the data directory .*SIGKILL/,
      },
      pt: {
        pause: /guardad[ao] como revisão \d+/i,
        none: /Nenhum processo/,
        holds: /ocupa o diretório de dados .*SIGKILL/,
      },
    };
    for (const lang of languages) {
      const at = { ...environment, LANCE_LANG: lang };
      const paused = await lance(at, 'pause', ...order);
      assert.notEqual(paused.code, 0, 'nobody has confirmed it');
      const told = flat(paused.stdout + paused.stderr);
      assert.match(told, says[lang].pause);
      assert.match(told, says[lang].holds);
      assert.doesNotMatch(told, says[lang].none);
      const status = await lance(at, 'status');
      assert.equal(status.code, 69);
      assert.match(flat(status.stdout), says[lang].holds);
      for (const line of status.stdout.split('\n')) assert.ok(line.length <= 80, line);
    }
    const { held } = JSON.parse((await lance(environment, 'status', '--json')).stdout) as { held: boolean };
    assert.equal(held, true);
    daemon.signal('SIGCONT');
    const isPaused = async () =>
      (await lance({ ...environment, LANCE_LANG: 'en' }, 'status')).stdout.includes('(paused)');
    for (let looks = 0; looks < 5 && !(await isPaused()); looks += 1) await sleep(200);
    assert.ok(await isPaused(), 'it obeys once it goes on');
  } finally {
    daemon.signal('SIGCONT');
    await daemon.stop();
    await played.close();
  }
});
