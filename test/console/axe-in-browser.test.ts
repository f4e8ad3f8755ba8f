/** No page of the console is hard to use for people who hear it, who use the keys or who see little contrast, as axe-core measures it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../http/api-house.ts';
import { describeInBrowser } from '../impact/browser.ts';
import { findingsOf } from './axe-findings.ts';
import { driveBrowser } from './driven-browser.ts';
import { contractToSign } from './flow-person.ts';

describeInBrowser('the console as axe measures it', () => {
  test('no page has a serious or critical finding, in both languages and both colour schemes (issue 22)', async (context) => {
    const house = await startApi(context);
    const { flowId } = await contractToSign(house);
    const { bids } = (await house.call('GET', '/v1/bids?limit=100')).body as { bids: { requestId: string }[] };
    const pages = [
      ...[
        '/console/stop',
        '/console/resume',
        '/console/controls',
        '/console/requests',
        '/console/reviews',
        `/console/requests/${bids[0]!.requestId}`,
      ],
      ...['/console/flows', '/console/flows/contracts', `/console/flows/contracts/${flowId}`, '/console/flows/events'],
      ...['/console/rules', '/console/market', '/console/operations', '/console/operations/letters'],
      ...['/console/operations/tokens', '/console/runbooks', '/'],
    ];
    // A closed gate has a cause, a remedy and a button that an open one has not.
    const paused = await house.call('POST', '/v1/controls/pause', { body: { reason: 'teste' } });
    assert.equal(paused.status, 200, paused.text);
    const { tab, close } = await driveBrowser();
    context.after(close);
    const findings: string[] = [];
    for (const [language, lang] of [
      ['pt', 'pt-BR'],
      ['en', 'en'],
    ] as const) {
      await tab.open(`${house.engine.url}/?lang=${language}`);
      for (const scheme of ['light', 'dark'] as const) {
        await tab.size(1280, scheme);
        findings.push(...(await findingsOf(tab, `log-in ${language} ${scheme}`)));
      }
      await tab.type('#token', 'a-token-of-the-admin');
      await tab.follow('main button');
      await tab.open(`${house.engine.url}/console/rules`);
      const ruleSet = await tab.value<string>(
        'document.querySelector(`main a[href^="/console/rules/sets/"]`).getAttribute("href")',
      );
      for (const path of [ruleSet, ...pages]) {
        await tab.open(`${house.engine.url}${path}`);
        assert.equal(await tab.value('document.querySelector("#token")'), null, `${path} is not the log-in`);
        assert.equal(await tab.value('document.documentElement.lang'), lang, path);
        await tab.value('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        for (const scheme of ['light', 'dark'] as const) {
          await tab.size(1280, scheme);
          findings.push(...(await findingsOf(tab, `${path} ${language} ${scheme}`)));
        }
      }
      await tab.follow('.bar form button');
    }
    assert.deepEqual(findings, []);
  });
});
