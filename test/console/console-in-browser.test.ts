/** What a person does at the console, in a real browser, on a phone and on a wide screen. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { type Daemon, openStage, type Played, startDaemon } from '../cli/desk.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { always, ruleOf } from '../rules/sample-request.ts';
import { driveBrowser, task } from './driven-browser.ts';
import { looksRight } from './looks.ts';

const secret = 'a-token-of-an-operator';
const authorization = `Bearer ${secret}`;
const riskSecret = 'a-token-of-the-risk-team';
/** As long as a name of a rule may be. */
const hostileRule = (name: string) => `</bdi><img src=x> ${name} ${'W'.repeat(50)}`;

describeInBrowser('the console', () => {
  let played: Played | null = null;
  let daemon: Daemon | null = null;
  let driven: Awaited<ReturnType<typeof driveBrowser>> | null = null;
  let origin = '';
  let requestId = '';

  before(async () => {
    played = await openStage(11, undefined, 60);
    const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
    const tokens = `ana:operator:${digestOf(secret)},bia:risk:${digestOf(riskSecret)}`;
    daemon = await startDaemon({ ...played.environment, LANCE_API_TOKENS: tokens });
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

  async function records(): Promise<number> {
    const text = await (await fetch(`${origin}/metrics`)).text();
    const counts = text.matchAll(/^lance_records_total\{kind="[^"]+"\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  async function endedAuctions(): Promise<number> {
    const text = await (await fetch(`${origin}/metrics`)).text();
    return Number(/^lance_records_total\{kind="ended"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /** The latest that was lost, which stands on the first page of them. */
  async function lostRequest(): Promise<string> {
    for (let looks = 0; ; looks += 1) {
      const answer = await fetch(`${origin}/v1/bids?state=lost`, { headers: { authorization } });
      const { bids } = (await answer.json()) as { bids: { requestId: string }[] };
      if (bids.length > 0) return bids[0]!.requestId;
      assert.ok(looks < 200, 'no bid was lost');
      await sleep(50);
    }
  }

  /** The shipped rules, and one with a hostile name; resolves to the hash of the set. */
  async function proposeSet(name: string): Promise<string> {
    const files = readRuleFiles(fileURLToPath(new URL('../../rules/', import.meta.url)));
    const rule = ruleOf({
      name: hostileRule(name),
      conditions: always,
      event: { type: 'limit', params: { maxInstallments: 96 } },
    });
    const more = { path: 'hostile.json', text: JSON.stringify([rule]) };
    const headers = { authorization: `Bearer ${riskSecret}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ files: [...files, more], comment: '<b>teste</b> \u202Eexe' });
    const answer = await fetch(`${origin}/v1/rules/sets`, { method: 'POST', headers, body });
    assert.equal(answer.status, 201, await answer.clone().text());
    return ((await answer.json()) as { hash: string }).hash;
  }

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
      await tab.follow('form[action="/console/requests/find"] button');
      assert.equal(await tab.value('document.querySelector("h1").textContent'), `Solicitação ${requestId}`);
      await looksRight(tab, 'request', width);
      await tab.follow('a[href="/console/controls"]');
      assert.match(await tab.value('document.querySelector("main").innerText'), /foi corrigida/);
      await looksRight(tab, 'orders', width);
      await tab.follow('.bar form button');
      assert.match(await tab.value('document.querySelector("[role=status]").textContent'), /Você saiu/);
    });
  }

  for (const width of [390, 1280]) {
    test(`see which rules decide, read what another set says otherwise, have it followed, go back: ${width} pixels`, async () => {
      const { tab } = driven!;
      await tab.size(width);
      const hash = await proposeSet(String(width));
      await tab.open(`${origin}/console/rules?lang=pt`);
      await tab.type('#token', riskSecret);
      await tab.follow('main button');
      await looksRight(tab, 'rules', width);
      await tab.follow(`a[href="/console/rules/sets/${hash}"]`);
      const said = await tab.value<string>('document.querySelector("main").innerText');
      for (const part of [
        hash,
        'Proposto',
        'inclusão de: regra',
        hostileRule(String(width)).slice(0, 60),
        '<img src=x>',
      ]) {
        assert.ok(said.includes(part), `${part} in ${said}`);
      }
      await tab.follow('#tests-title ~ form button');
      assert.match(await tab.value('document.querySelector("main").innerText'), /todos os testes passam/);
      await looksRight(tab, 'rule-set', width);
      await tab.follow(`a[href="/console/rules/sets/${hash}/activate"]`);
      await looksRight(tab, 'activate', width);
      assert.equal(await tab.value('document.activeElement.id'), 'comment');
      await tab.type('#comment', 'novo conjunto');
      await tab.press('Tab');
      assert.equal(await tab.value('document.activeElement.textContent'), 'Confirmar: ativar');
      await tab.press('Enter');
      await tab.until('document.querySelector("[role=status]")?.textContent.startsWith("Anunciado")');
      await tab.until('document.readyState === "complete"');
      await tab.follow('a[href="/console/rules/rollback"]');
      await looksRight(tab, 'rollback', width);
      await tab.follow('main form button');
      await looksRight(tab, 'rules-gone-back', width);
      assert.match(await tab.value('document.querySelector("main").innerText'), /Outra pessoa tem de conferir até/);
      await tab.follow('.bar form button');
    });
  }

  for (const width of [390, 1280]) {
    test(`see what was learnt of the market, in plots and in tables: ${width} pixels`, async () => {
      const { tab } = driven!;
      await tab.size(width);
      // So many that rates are drawn over time.
      if ((await endedAuctions()) < 24) await played!.sandbox.run(24);
      while ((await endedAuctions()) < 24) await sleep(100);
      await tab.open(`${origin}/console/market?lang=pt`);
      await tab.type('#token', riskSecret);
      await tab.follow('main button');
      await tab.until('document.documentElement.dataset.drawn !== undefined');
      const drawn = await tab.value<number>('document.querySelectorAll(".plot canvas").length');
      assert.ok(drawn >= 2, `${drawn} plots`);
      assert.equal(await tab.value('document.querySelectorAll(".plot.fault, figure .fault").length'), 0);
      const said = await tab.value<string>('document.querySelector("main").innerText');
      for (const part of ['Nossa posição', 'Pesos das leituras', '% a.m.']) assert.ok(said.includes(part), said);
      await looksRight(tab, 'market', width);
      await tab.value('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
      await looksRight(tab, 'market-open', width);
      await tab.follow('.bar form button');
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

  test('while 500 records a second are written the page goes on, and is told of them once a second', async () => {
    const { tab } = driven!;
    await tab.open(`${origin}/?lang=pt`);
    if (await tab.value('document.querySelector("#token") !== null')) {
      await tab.type('#token', secret);
      await tab.follow('main button');
    }
    const headers = { authorization, 'content-type': 'application/json' };
    const body = JSON.stringify({ reason: 'carga' });
    assert.equal((await fetch(`${origin}/v1/controls/resume`, { method: 'POST', headers, body })).status, 200);
    await tab.until('document.querySelector("#spoken").textContent === "Lances abertos"');
    await tab.value(`(() => {
      const seen = (window.seen = { puts: 0, longestMs: 0, stop: false });
      new MutationObserver(() => { seen.puts += 1; }).observe(document.querySelector('#work'), { childList: true });
      let last = performance.now();
      const frame = (now) => {
        seen.longestMs = Math.max(seen.longestMs, now - last);
        last = now;
        if (!seen.stop) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    })()`);
    const begunAt = performance.now();
    const before = await records();
    await played!.sandbox.run(1_000);
    await sleep(1_000);
    const seconds = (performance.now() - begunAt) / 1_000;
    const written = (await records()) - before;
    const seen = await tab.value<{ puts: number; longestMs: number }>('(window.seen.stop = true, window.seen)');
    assert.ok(written > 1_000, `${written} records in ${seconds} s`);
    assert.ok(seen.puts >= 2 && seen.puts <= seconds + 2, `${seen.puts} changes of the page in ${seconds} s`);
    assert.ok(seen.longestMs < 500, `${seen.longestMs} ms without a frame`);
    // The sums of the hour have gone with it, as the metrics count the same.
    await tab.until('/^1\\.[0-9]{3}$/.test(document.querySelector("#hour dd").textContent)');
    const texts = await tab.value<string[]>('[...document.querySelectorAll("#hour dd")].map((each) => each.innerText)');
    assert.equal(texts.length, 5);
    assert.match(texts[3]!, /^R\$\s[\d.]+,\d\d\s+dos lances com leilão encerrado$/);
    assert.match(texts[4]!, /^R\$\s[\d.]+,\d\d\s/);
    // Of the page itself only the first look: it does not ask again where it is told.
    const asked = await tab.value<number>(
      'performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname === "/").length',
    );
    assert.equal(asked, 0);
  });

  test('each of these tasks takes eight clicks at most: why no bids flow, stop, resume, find a request, read a loss', async () => {
    const { tab } = driven!;
    const text = (selector: string) =>
      tab.value<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
    const ofLost = await lostRequest();
    await tab.size(1280);
    await tab.open(`${origin}/console/controls?lang=pt`);
    await task(tab, 'stop', async () => {
      await tab.follow('nav a[href="/"]');
      await tab.follow('a[href="/console/stop"]');
      await tab.type('#reason', 'a taxa parece errada');
      await tab.follow('main form button');
      assert.equal(await text('#state'), 'Lances fechados');
    });
    await tab.open(`${origin}/console/requests`);
    await task(tab, 'see why no bids flow', async () => {
      await tab.follow('nav a[href="/"]');
      for (const part of ['em pausa', 'ana', 'a taxa parece errada', 'retome os lances'])
        assert.ok((await text('#bidding')).includes(part), part);
    });
    await task(tab, 'resume', async () => {
      await tab.follow('a[href="/console/resume"]');
      await tab.type('#reason', 'foi corrigida');
      await tab.follow('main form button');
      assert.equal(await text('#state'), 'Lances abertos');
    });
    await task(tab, 'find a request', async () => {
      await tab.follow('nav a[href="/console/requests"]');
      await tab.type('#id', requestId);
      await tab.follow('form[action="/console/requests/find"] button');
      assert.equal(await text('h1'), `Solicitação ${requestId}`);
    });
    const inList = 2;
    await task(
      tab,
      'read a loss',
      async () => {
        await tab.follow('nav a[href="/console/requests"]');
        await tab.click('details summary');
        await tab.value('document.querySelector("#state").value = "lost"');
        await tab.follow('details form button');
        assert.ok(await tab.value(`document.querySelectorAll('td[data-name="Estado"]').length > 0`));
        await tab.follow(`a[href="/console/requests/${ofLost}"]`);
        const said = await text('main');
        for (const part of [/Perdido/, /posição \d+ de \d+/, /Melhor concorrente: [\d,]+ % a\.m\./, /Valor esperado/])
          assert.match(said, part);
      },
      inList,
    );
  });

  test('so do these: see what a rule change does, have it followed, go back', async () => {
    const { tab } = driven!;
    const hash = await proposeSet('tasks');
    await tab.follow('.bar form button');
    await tab.open(`${origin}/?lang=pt`);
    await tab.type('#token', riskSecret);
    await tab.follow('main button');
    const text = () => tab.value<string>('document.querySelector("main").innerText');
    await task(tab, 'see what a rule change does', async () => {
      await tab.follow('nav a[href="/console/rules"]');
      await tab.follow(`a[href="/console/rules/sets/${hash}"]`);
      for (const part of ['inclusão de: regra', 'Condições', 'em toda solicitação'])
        assert.ok((await text()).includes(part), part);
      await tab.follow('#tests-title ~ form button');
      assert.match(await text(), /todos os testes passam/);
    });
    await task(tab, 'have it followed', async () => {
      await tab.follow(`a[href="/console/rules/sets/${hash}/activate"]`);
      await tab.type('#comment', 'novo conjunto');
      await tab.follow('main form button');
      assert.match(await text(), /Anunciado/);
    });
    await task(tab, 'roll back', async () => {
      await tab.follow('a[href="/console/rules/rollback"]');
      await tab.follow('main form button');
      assert.match(await text(), /Outra pessoa tem de conferir até/);
    });
  });
});
