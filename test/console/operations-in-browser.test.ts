/** The pages of how the process runs in a real browser, on a phone and on a wide screen, with hostile webhooks and names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesNamed } from '../bidding/rule-sets.ts';
import { startApi } from '../http/api-house.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { driveBrowser, task } from './driven-browser.ts';
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

  test('each of these tasks takes eight clicks at most: approve, resolve, replay a letter, revoke a token', async (context) => {
    const { call, engine, sandbox } = await startApi(context);
    const unread = { solicitacoesDesconhecidas: [{ [hostile]: 'x' }] };
    await call('POST', '/webhooks/token-of-the-webhooks', { role: null, body: unread });
    const { id } = (await call('POST', '/v1/tokens', { body: { owner: 'bruno', role: 'risk', days: 90 } })).body as {
      id: string;
    };
    assert.equal((await call('POST', '/v1/rules/approval', { body: { needed: true } })).status, 200);
    const set = { files: filesNamed('other'), comment: 'outro' };
    const { hash } = (await call('POST', '/v1/rules/sets', { role: 'risk', body: set })).body as { hash: string };
    await sandbox.run(4);
    type Listed = { bids: { requestId: string }[] };
    const won = await until(
      () => call('GET', '/v1/bids?state=proposed'),
      ({ body }) => (body as Listed).bids.length > 0,
    );
    const { requestId } = (won.body as Listed).bids[0]!;
    await until(
      () => call('GET', '/v1/dead-letters'),
      ({ body }) => (body as { letters: object[] }).letters.length === 1,
    );
    const { tab, close } = await driveBrowser();
    context.after(close);
    await tab.size(1280);
    await tab.open(`${engine.url}/?lang=pt`);
    await tab.type('#token', 'a-token-of-the-admin');
    await tab.follow('main button');
    const text = () => tab.value<string>('document.querySelector("main").innerText');

    await task(tab, 'approve', async () => {
      await tab.follow('nav a[href="/console/rules"]');
      await tab.follow(`a[href="/console/rules/sets/${hash}"]`);
      await tab.follow(`a[href="/console/rules/sets/${hash}/approve"]`);
      await tab.type('#comment', 'conferido');
      await tab.follow('main form button');
      assert.match(await text(), /Anunciado/);
    });
    const { live } = (await call('GET', '/v1/rules')).body as { live: string };
    assert.equal(live, hash);

    await task(tab, 'resolve', async () => {
      await tab.follow('nav a[href="/console/requests"]');
      await tab.type('#id', requestId);
      await tab.follow('form[action="/console/requests/find"] button');
      await tab.click('#resolve summary');
      await tab.click('#resolve input[value=cancelled]');
      await tab.type('#resolve-reason', 'desistiu, diz o serviço');
      await tab.follow('#resolve button');
      assert.match(await text(), /Registrado\..*Cancelado/s);
    });
    const resolved = (await call('GET', `/v1/bids/${requestId}`)).body as { state: string };
    assert.equal(resolved.state, 'cancelled');

    await task(tab, 'replay a letter', async () => {
      await tab.follow('nav a[href="/console/operations"]');
      await tab.follow('a[href="/console/operations/letters"]');
      await tab.type('#replay-reason', 'mapeamento corrigido');
      await tab.follow('main form button');
      assert.match(await text(), /Relidas: 1/);
    });

    await task(tab, 'revoke a token', async () => {
      await tab.follow('nav a[href="/console/operations"]');
      await tab.follow('a[href="/console/operations/tokens"]');
      const form = `form[action="/console/operations/tokens/${id}/revoke"]`;
      await tab.click(`details:has(${form}) summary`);
      await tab.follow(`${form} button`);
      assert.match(await text(), /Foi revogado/);
    });
    const { tokens } = (await call('GET', '/v1/tokens')).body as { tokens: { id: string; revoked: object | null }[] };
    assert.notEqual(tokens.find((each) => each.id === id)?.revoked, null);
    assert.deepEqual(tab.complaints, []);
  });
});
