/** A person logs in at an OpenID provider with a real browser: its cookies, redirects and forms, between two sites. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, openStage, startDaemon } from '../cli/desk.ts';
import { clientId, clientSecret, startProvider } from '../http/openid.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { driveBrowser } from './driven-browser.ts';

const people = {
  ana: { email: 'ana@desk.example', email_verified: true, groups: ['desk-operators'] },
  carla: { email: 'carla@desk.example', email_verified: true, groups: ['everybody'] },
};

describeInBrowser('log-in at a provider', () => {
  test('log in at the provider, stop bidding under that name, log out; who has no role is told so', async (context) => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    // Another site than the desk's, as a provider is: what SameSite keeps back is kept back here.
    const issuer = await startProvider(context, people, `${origin}/v1/login/callback`, 'localhost');
    const played = await openStage(12);
    context.after(() => played.close());
    const file = played.environment.LANCE_CONFIG!;
    const oidc = {
      ...{ issuer, clientId, clientSecret, redirectBase: origin, scopes: ['openid', 'email', 'groups'] },
      roles: [{ value: 'desk-operators', role: 'operator' }],
    };
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), oidc }));
    const daemon = await startDaemon({ ...played.environment, LANCE_HTTP_PORT: `${port}` });
    context.after(() => daemon.stop());
    const browse = async () => {
      const { tab, close } = await driveBrowser();
      context.after(close);
      const here = () => tab.value<string>('location.href');
      return {
        tab,
        here,
        text: (selector: string) => tab.value<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`),
        logInAs: async (name: string) => {
          await tab.follow('a[href="/v1/login?to=/"]');
          assert.ok((await here()).startsWith(issuer), await here());
          await tab.type('input[name=login]', name);
          await tab.type('input[name=password]', 'any');
          await tab.follow('button[type=submit]');
          // What the person lets the desk know of them.
          if ((await here()).startsWith(issuer)) await tab.follow('button[type=submit]');
        },
      };
    };

    const { tab, here, text, logInAs } = await browse();
    await tab.size(1280);
    await tab.open(`${origin}/?lang=pt`);
    await logInAs('ana');
    assert.equal(await here(), `${origin}/`);
    assert.equal(await text('#state'), 'Lances abertos');
    const cookies = await tab.value<string>('document.cookie');
    assert.doesNotMatch(cookies, /lance_session/, 'no script of a page reads the session');
    await tab.follow('a[href="/console/stop"]');
    await tab.type('#reason', 'a taxa parece errada');
    await tab.follow('main button');
    assert.equal(await text('#state'), 'Lances fechados');
    assert.match(await text('#bidding'), /ana@desk\.example/);
    await tab.open(`${origin}/console/controls`);
    assert.match(await text('main'), /ana@desk\.example/);

    await tab.follow('form[action="/console/logout"] button');
    // The page goes on by itself, as no redirection from a form may.
    for (let looks = 0; looks < 50 && !(await here()).startsWith(`${issuer}/session/end`); looks += 1) await sleep(100);
    assert.ok((await here()).startsWith(`${issuer}/session/end`), await here());
    await tab.follow('button[value=yes]');
    await tab.open(`${origin}/?lang=pt`);
    await tab.follow('a[href="/v1/login?to=/"]');
    assert.equal(await tab.value('document.querySelector("input[name=login]") !== null'), true, 'it asks who it is');
    await tab.open(`${origin}/console/controls`);
    assert.equal(await tab.value('document.querySelector("#token") !== null'), true, 'the session is over');

    const other = await browse();
    await other.tab.open(`${origin}/`);
    await other.logInAs('carla');
    assert.ok((await other.here()).startsWith(`${origin}/v1/login/callback`), await other.here());
    assert.match(await other.text('body'), /None of your groups has a role here/);
  });
});
