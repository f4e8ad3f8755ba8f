/** An endless text of escaped quotes, sent without a token to a path that does not exist. */
import assert from 'node:assert/strict';
import { startDaemon } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

/** Far above what a linear reading of 200 kB takes, far below what the quadratic one took (12–20 s). */
const limitMs = 1_000;

export const scenario: Scenario = {
  line: 6,
  name: 'text of 100,000 escaped quotes, no token',
  run: async (directory) => {
    const daemon = await startDaemon({ directory });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const startedAt = performance.now();
    const attack = fetch(`${daemon.url}/v1/nothing`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `"${'\\"'.repeat(100_000)}`,
    });
    const live = fetch(`${daemon.url}/livez`);
    const answers = await Promise.all([attack, live]);
    const tookMs = Math.round(performance.now() - startedAt);
    assert.equal(answers[1].status, 200);
    assert.ok(tookMs < limitMs, `both answers took ${tookMs} ms`);
    await daemon.stop();
    return { tookMs };
  },
};
