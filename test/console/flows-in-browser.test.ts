/** The pages after the win in a real browser, on a phone and on a wide screen: found, read, and a step asked for by the keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../http/api-house.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { driveBrowser, task } from './driven-browser.ts';
import { contractToSign, until } from './flow-person.ts';
import { looksRight } from './looks.ts';

const cpf = '52998224725';
const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script> \u202Egnp.exe \u2066${'W'.repeat(10_240)}`;

describeInBrowser('the console after the win', () => {
  test('what waits is found, a step is corrected and taken, hostile words stay words', async (context) => {
    const house = await startApi(context);
    const { call, store, sandbox } = house;
    const origin = house.engine.url;
    const { flowId } = await contractToSign(house);
    const { birthDate } = sandbox.withdrawals.holder(cpf);
    const begun = await call('POST', '/v1/withdrawals', { key: 'w1', body: { cpf, birthDate } });
    const frozenId = (begun.body as { flowId: string }).flowId;
    const simulation = { birthDay: birthDate };
    await call('POST', `/v1/withdrawals/${frozenId}/simulation`, { key: 's1', body: simulation });
    await until(
      () => call('GET', `/v1/withdrawals/${frozenId}`),
      ({ body }) => (body as { phase: string }).phase === 'simulated',
    );
    const record = { kind: 'frozen', flowId: frozenId, at: Date.now(), problem: hostile } as const;
    await store.log.append([{ topic: 'flows', key: frozenId, record }]);
    const { tab, close } = await driveBrowser();
    context.after(close);
    await tab.open(`${origin}/?lang=pt`);
    await tab.type('#token', 'a-token-of-the-operator');
    await tab.follow('main button');
    for (const width of [390, 1280]) {
      await tab.size(width);
      await tab.follow('a[href="/console/flows"]');
      await looksRight(tab, 'flows', width);
      assert.match(await tab.value('document.querySelector("main").innerText'), /está congelado/);
      await tab.follow('a[href="/console/flows/contracts"]');
      await looksRight(tab, 'flows-contracts', width);
      await tab.follow(`a[href="/console/flows/contracts/${flowId}"]`);
      await looksRight(tab, 'flow', width);

      // By the keys alone: the form is opened, what was left out is said, and focus is led to it.
      await tab.value('document.querySelector("#step-sign summary").focus()');
      await tab.press('Enter');
      await tab.value('document.querySelector("#sign-signedAt").value = "2020-01-01T10:00:00"');
      await tab.follow('#step-sign button');
      assert.equal(await tab.value('document.querySelector("#sign-signedAt").getAttribute("aria-invalid")'), 'true');
      assert.match(
        await tab.value(
          'document.querySelector("#" + document.querySelector("#sign-signedAt").getAttribute("aria-describedby").split(" ")[0]).innerText',
        ),
        /assinou esta CCB/,
      );
      await looksRight(tab, 'flow-refused', width);
      await tab.open(`${origin}/`);
      await task(tab, 'take a contract step', async () => {
        await tab.follow('nav a[href="/console/flows"]');
        await tab.follow('a[href="/console/flows/contracts"]');
        await tab.follow(`a[href="/console/flows/contracts/${flowId}"]`);
        await tab.click('#step-regenerate summary');
        await tab.type('#regenerate-reason', 'o valor mudou');
        await tab.press('Tab');
        await tab.press('Enter');
        await tab.until('document.querySelector("[role=status]")?.textContent.includes("foi aceito")');
      });
      await until(
        () => call('GET', `/v1/contracts/${flowId}`),
        ({ body }) => (body as { phase: string }).phase === 'awaiting-signature',
      );

      await tab.open(`${origin}/console/flows/withdrawals/${frozenId}`);
      await looksRight(tab, 'flow-frozen', width);
      await tab.value('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
      await tab.type('#result-simulation-reason', 'ligação 123');
      await tab.follow(`form[action$="/results/simulation"] button`);
      await looksRight(tab, 'flow-result', width);
      await tab.open(`${origin}/console/flows/events`);
      await looksRight(tab, 'flows-events', width);
    }
    assert.notEqual(await tab.value('document.title'), 'run');
    assert.deepEqual(
      tab.complaints.filter((text) => !text.includes('status of 422')),
      [],
    );
  });
});
