/** Every page on a phone and on a wide screen, with data and without, and every form as it looks when it was refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApi } from '../http/api-house.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { findingsOf } from './axe-findings.ts';
import { driveBrowser, type Tab } from './driven-browser.ts';
import { contractToSign } from './flow-person.ts';
import { looksRight } from './looks.ts';
import { tokenOf } from './person.ts';
import { reviewRules } from './review-rules.ts';

/** In px, each with the scheme that axe looks at there: contrast does not depend on the width. */
const widths = [
  [390, 'light'],
  [1920, 'dark'],
  [1280, null],
] as const;
const places = [
  '/',
  '/console/requests',
  '/console/reviews',
  '/console/flows',
  '/console/flows/contracts',
  '/console/flows/renegotiations',
  '/console/flows/withdrawals',
  '/console/flows/lookups',
  '/console/flows/events',
  '/console/rules',
  '/console/market',
  '/console/controls',
  '/console/operations',
  '/console/operations/letters',
  '/console/operations/tokens',
  '/console/runbooks',
  '/console/stop',
  '/console/resume',
];

const nameOf = (place: string) => place.replace('/console', '').replaceAll(/\W+/g, '-').replace(/^-|-$/g, '') || 'now';

describeInBrowser('the console in every width', () => {
  async function begin(context: { after: (end: () => Promise<void>) => void }, origin: string) {
    const { tab, close } = await driveBrowser();
    context.after(close);
    await tab.open(`${origin}/?lang=pt`);
    await tab.type('#token', tokenOf('admin'));
    await tab.follow('main button');
    const findings: string[] = [];
    /** The open page, in all widths. */
    const look = async (name: string): Promise<void> => {
      for (const [width, scheme] of widths) {
        await tab.size(width);
        await looksRight(tab, name, width);
        if (scheme === null) continue;
        await tab.size(width, scheme);
        findings.push(...(await findingsOf(tab, `${name} ${width} ${scheme}`)));
      }
    };
    const looksAt = async (paths: readonly string[], mark: string): Promise<void> => {
      for (const path of paths) {
        await tab.open(`${origin}${path}`);
        assert.equal(await tab.value('document.querySelector("#token")'), null, `${path} is not the log-in`);
        await tab.value('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        await look(`${mark}-${nameOf(path)}`);
      }
    };
    return { tab, look, looksAt, findings };
  }

  /** As a browser that does not check forms sends it. */
  async function sent(tab: Tab, form: string): Promise<void> {
    await tab.value(`document.querySelector('${form}').noValidate = true`);
    await tab.follow(`${form} button`);
  }

  test('pages without data', async (context) => {
    const { engine } = await startApi(context);
    const { looksAt, findings } = await begin(context, engine.url);
    await looksAt(places, 'empty');
    assert.deepEqual(findings, []);
  });

  test('pages with data', async (context) => {
    const house = await startApi(context);
    const { flowId } = await contractToSign(house);
    await house.call('POST', '/v1/controls/caps/mesa', { body: { limitCents: 25_000_000, reason: 'fim do mês' } });
    const { bids } = (await house.call('GET', '/v1/bids?limit=100')).body as {
      bids: { requestId: string; rateHundredths: number | null }[];
    };
    const bid = bids.find(({ rateHundredths }) => rateHundredths !== null)!.requestId;
    const passed = bids.find(({ rateHundredths }) => rateHundredths === null)!.requestId;
    const { tab, looksAt, findings } = await begin(context, house.engine.url);
    await tab.open(`${house.engine.url}/console/rules`);
    const ruleSet = await tab.value<string>(
      'document.querySelector(`main a[href^="/console/rules/sets/"]`).getAttribute("href")',
    );
    const requests = [bid, passed].map((id) => `/console/requests/${id}`);
    await looksAt([...places, ...requests, `/console/flows/contracts/${flowId}`, ruleSet], 'full');
    assert.deepEqual(findings, []);
  });

  test('forms that were refused, and what waits for a person', async (context) => {
    const { engine, sandbox, call } = await startApi(context, {}, { rules: reviewRules, windowMs: 60_000 });
    const { url } = engine;
    const running = sandbox.run(6);
    const waiting = async () =>
      ((await call('GET', '/v1/reviews')).body as { reviews: { requestId: string }[] }).reviews;
    for (let looks = 0; (await waiting()).length < 2; looks += 1) {
      assert.ok(looks < 200, 'nothing waits');
      await sleep(50);
    }
    const [{ requestId }] = (await waiting()) as [{ requestId: string }];
    const { tab, look, looksAt, findings } = await begin(context, url);
    await looksAt(['/', '/console/reviews', `/console/reviews/${requestId}`], 'waiting');
    for (const [path, form, name] of [
      ['/console/stop', 'main form', 'stop'],
      ['/console/resume', 'main form', 'resume'],
      [`/console/reviews/${requestId}`, 'main form', 'review'],
      ['/console/requests', 'form[action="/console/requests/worker"]', 'cpf'],
      ['/console/operations/letters', 'form[action$="/replay"]', 'letters'],
    ] as const) {
      await tab.open(`${url}${path}`);
      await sent(tab, form);
      await tab.until('document.querySelector("[role=alert]:not([hidden])") !== null');
      await look(`refused-${name}`);
    }
    for (const [path, name] of [
      ['/console/requests?since=x', 'filter'],
      ['/console/requests?worker=x', 'search'],
      ['/console/reviews?queue=%3Cb%3E', 'queue'],
      ['/console/requests/999', 'unknown'],
      ['/console/reviews/999', 'unknown-review'],
      ['/console/nothing', 'nothing'],
    ] as const) {
      await tab.open(`${url}${path}`);
      await look(`refused-${name}`);
    }
    await tab.open(`${url}/`);
    await tab.follow('.bar form button');
    await tab.type('#token', 'never-given-out');
    await tab.follow('main button');
    await look('refused-log-in');
    assert.deepEqual(findings, []);
    void running.catch(() => undefined);
  });
});
