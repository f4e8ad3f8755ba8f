/** The pages of how the process runs in a real browser, on a phone and on a wide screen, with hostile webhooks and names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../http/api-house.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { driveBrowser } from './driven-browser.ts';
import { until } from './flow-person.ts';
import { looksRight } from './looks.ts';

const hostile = `<img src=x onerror="document.title='run'"> \u202Egnp.exe ${'W'.repeat(10_240)}`;

describeInBrowser('the console of how the process runs', () => {
  test('checks, dead letters, a replay by the keys, tokens and runbooks', async (context) => {
    const { call, engine } = await startApi(context);
    const body = { solicitacoesDesconhecidas: [{ [hostile]: 'x', nome: hostile }] };
    await call('POST', '/webhooks/token-of-the-webhooks', { role: null, body });
    await call('POST', '/v1/tokens', { body: { owner: 'bruno', role: 'risk', days: 90 } });
    await until(
      () => call('GET', '/v1/dead-letters'),
      ({ body: page }) => (page as { letters: object[] }).letters.length === 1,
    );
    const { tab, close } = await driveBrowser();
    context.after(close);
    await tab.open(`${engine.url}/?lang=pt`);
    await tab.type('#token', 'a-token-of-the-admin');
    await tab.follow('main button');
    for (const width of [390, 1280]) {
      await tab.size(width);
      await tab.follow('a[href="/console/operations"]');
      await looksRight(tab, 'operations', width);
      await tab.follow('a[href="/console/operations/letters"]');
      await looksRight(tab, 'letters', width);
      await tab.type('#replay-reason', 'mapeamento corrigido');
      await tab.press('Tab');
      await tab.press('Enter');
      await tab.until('document.querySelector("[role=status]")?.textContent.startsWith("Relidas: 1")');
      await looksRight(tab, 'letters-replayed', width);
      await tab.open(`${engine.url}/console/operations/tokens`);
      await looksRight(tab, 'tokens', width);
      await tab.open(`${engine.url}/console/runbooks#alarm-win-after-loss`);
      assert.ok(await tab.value<boolean>('window.scrollY > 500'), 'the place of the alarm is shown');
      await looksRight(tab, 'runbooks', width);
    }
    assert.notEqual(await tab.value('document.title'), 'run');
    assert.deepEqual(tab.complaints, []);
  });
});
