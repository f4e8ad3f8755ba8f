/** What a person does at the console, in a real browser, on a phone and on a wide screen. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, openStage, type Played, startDaemon } from '../cli/desk.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { driveBrowser } from './driven-browser.ts';
import { looksRight } from './looks.ts';

const secret = 'a-token-of-an-operator';
const authorization = `Bearer ${secret}`;

describeInBrowser('the console', () => {
  let played: Played | null = null;
  let daemon: Daemon | null = null;
  let driven: Awaited<ReturnType<typeof driveBrowser>> | null = null;
  let origin = '';
  let requestId = '';

  before(async () => {
    played = await openStage(11);
    const digest = createHash('sha256').update(secret).digest('hex');
    daemon = await startDaemon({ ...played.environment, LANCE_API_TOKENS: `ana:operator:${digest}` });
    origin = new URL(daemon.url).origin;
    played.sandbox.connect(daemon.url);
    await played.sandbox.run(12);
    const body = JSON.stringify({ limitCents: 25_000_000, reason: 'fim do mês' });
    const headers = { authorization, 'content-type': 'application/json' };
    assert.equal((await fetch(`${origin}/v1/controls/caps/mesa`, { method: 'POST', headers, body })).status, 200);
    for (let looks = 0; requestId === ''; looks += 1) {
      assert.ok(looks < 200, 'no bid was made');
      const { bids } = (await (await fetch(`${origin}/v1/bids`, { headers: { authorization } })).json()) as {
        bids: { requestId: string; rateHundredths: number | null }[];
      };
      requestId = bids.find(({ rateHundredths }) => rateHundredths !== null)?.requestId ?? '';
      await sleep(50);
    }
    driven = await driveBrowser();
  });

  after(async () => {
    await driven?.close();
    await daemon?.stop();
    await played?.close();
  });

  for (const width of [390, 1280]) {
    test(`log in, see why no bids flow, stop, resume, find a request, log out: ${width} pixels`, async () => {
      const { tab } = driven!;
      await tab.size(width);
      await tab.open(`${origin}/?lang=pt`);
      await looksRight(tab, 'log-in', width);
      await tab.type('#token', 'never-given-out');
      await tab.follow('main button');
      assert.match(await tab.value('document.querySelector("[role=alert]").textContent'), /não é conhecido/);
      await looksRight(tab, 'refused', width);
      await tab.type('#token', secret);
      await tab.follow('main button');
      assert.equal(await tab.value('document.querySelector("#state").textContent'), 'Lances abertos');
      await looksRight(tab, 'now-open', width);

      await tab.follow('a[href="/console/stop"]');
      await looksRight(tab, 'stop', width);
      assert.equal(await tab.value('document.activeElement.id'), 'reason');
      await tab.type('#reason', 'a taxa parece errada');
      // By the keys alone.
      await tab.press('Tab');
      assert.equal(await tab.value('document.activeElement.textContent'), 'Confirmar: parar');
      await tab.press('Enter');
      await tab.until('document.querySelector("#state")?.textContent === "Lances fechados"');
      const why = await tab.value<string>('document.querySelector("#bidding").innerText');
      for (const part of ['em pausa', 'ana', 'a taxa parece errada', 'retome os lances'])
        assert.ok(why.includes(part), why);
      await looksRight(tab, 'now-paused', width);

      await tab.follow('a[href="/console/resume"]');
      await looksRight(tab, 'resume', width);
      await tab.type('#reason', 'foi corrigida');
      await tab.follow('main button');
      assert.equal(await tab.value('document.querySelector("#state").textContent'), 'Lances abertos');

      await tab.follow('a[href="/console/requests"]');
      await looksRight(tab, 'requests', width);
      await tab.type('#id', requestId);
      await tab.follow('form[role=search] button');
      assert.equal(await tab.value('document.querySelector("h1").textContent'), `Solicitação ${requestId}`);
      await looksRight(tab, 'request', width);
      await tab.follow('a[href="/console/controls"]');
      assert.match(await tab.value('document.querySelector("main").innerText'), /foi corrigida/);
      await looksRight(tab, 'orders', width);
      await tab.follow('.bar form button');
      assert.match(await tab.value('document.querySelector("[role=status]").textContent'), /Você saiu/);
    });
  }

  test('what somebody else orders is seen without a touch, and nothing of the page was refused', async () => {
    const { tab } = driven!;
    await tab.open(`${origin}/`);
    await tab.type('#token', secret);
    await tab.follow('main button');
    await tab.value('document.querySelector(`a[href="/console/stop"]`).focus()');
    const headers = { authorization, 'content-type': 'application/json' };
    const body = JSON.stringify({ reason: '<img src=x onerror=alert(1)> \u202Eexe' });
    const stopped = await fetch(`${origin}/v1/controls/pause`, { method: 'POST', headers, body });
    assert.equal(stopped.status, 200);
    await tab.until('document.querySelector("#spoken").textContent === "Lances fechados"');
    const shown = await tab.value<string>('document.querySelector("#bidding").innerText');
    assert.ok(shown.includes('<img src=x onerror=alert(1)> \\u202eexe'), shown);
    assert.equal(await tab.value('document.querySelectorAll("main img").length'), 0);
    // The log-in that was refused is told by the browser as well.
    assert.deepEqual(
      tab.complaints.filter((text) => !text.includes('status of 401')),
      [],
    );
  });
});
