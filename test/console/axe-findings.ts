/** What axe-core finds in a page. */
import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Tab } from './driven-browser.ts';

/** The serious and critical findings of the open page. The debugging protocol runs axe, so that the policy of the page stays as it is. */
export async function findingsOf(tab: Tab, page: string): Promise<string[]> {
  await tab.value(`${axe.source}; null`);
  type Finding = { id: string; nodes: string[] };
  const found = await tab.value<{
    passed: number;
    findings: Finding[];
  }>(`axe.run(document, { resultTypes: ['violations'] })
    .then(({ passes, violations }) => ({
      passed: passes.length,
      findings: violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)) })),
    }))`);
  assert.ok(found.passed > 5, `axe looked at ${page}`);
  return found.findings.map(({ id, nodes }) => `${page}: ${id}: ${nodes.join(' | ')}`);
}
