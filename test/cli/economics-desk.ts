/** Other economics in the settings of a desk while two persons have to stand for them: a restart changes no price until they do. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { languages } from '../../src/cli/texts.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import type { EconomicsStanding } from '../../src/operating/economics.ts';
import { freePort, jsonLines, lance, type Played, startDaemon } from './desk.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

/** `place`: what points the desk at its store. Ends what it starts. */
export async function needTwoForEconomics(played: Played, place: Record<string, string>): Promise<void> {
  const port = await freePort();
  const root = `http://127.0.0.1:${port}`;
  const people = ['ana', 'bruno'].map((name) => `${name}:risk:${sha256(`token-of-${name}`)}`);
  const environment = { ...place, LANCE_HTTP_PORT: `${port}`, LANCE_API_TOKENS: people.join(',') };
  const as = (name: string) => ({ LANCE_URL: root, LANCE_TOKEN: `token-of-${name}`, LANCE_LANG: 'en' });
  const status = async () => (await (await fetch(`${root}/status`)).json()) as DaemonStatus;
  const file = place.LANCE_CONFIG!;
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  const setFunding = (percent: number) =>
    writeFileSync(file, JSON.stringify({ ...settings, economics: { fundingAnnualPercent: percent } }));
  /** Hash of the settings that decisions since the start were made by. */
  const settingsHash = async () => {
    await played.sandbox.run(10);
    for (let looks = 0; looks < 50; looks += 1) {
      const listed = (await lance(environment, 'bids', 'list', '--json', '--limit', '10')).stdout;
      for (const { requestId, decidedAt } of jsonLines<{ requestId: string; decidedAt: number | null }>(listed)) {
        if (decidedAt === null || decidedAt < startedAt) continue;
        const shown = (await lance(environment, 'bids', 'show', requestId, '--json')).stdout;
        const [, hash] = /"settings":"([0-9a-f]{64})"/.exec(shown) ?? [];
        if (hash !== undefined) return hash;
      }
      await sleep(200);
    }
    return assert.fail('nothing was decided');
  };
  let startedAt = 0;
  const begin = async () => {
    startedAt = Date.now();
    const started = await startDaemon(environment);
    // On Kafka what is used under the caps is counted first.
    for (let looks = 0; looks < 600 && (await status()).bidding?.kind !== 'open'; looks += 1) await sleep(100);
    played.sandbox.connect(started.url);
    return started;
  };
  let daemon = await begin();
  try {
    const before = await settingsHash();
    assert.equal((await lance(as('ana'), 'rules', 'approval', 'on', '--of', 'economics')).code, 0);
    await daemon.stop();

    setFunding(9);
    daemon = await begin();
    assert.ok(daemon.lines.some(({ msg }) => msg === 'economics-await-approval'));
    assert.equal(await settingsHash(), before, 'decided by what was used before');
    const { economics } = await status();
    assert.equal(economics?.approved, false);
    const hash = economics!.hash.slice(0, 12);
    assert.match(
      await (await fetch(`${root}/readyz?verbose`)).text(),
      new RegExp(`^\\[!\\] rules: .*economics ${hash} of the settings wait for two persons`, 'm'),
    );
    for (const lang of languages) {
      const there = { ...environment, LANCE_LANG: lang };
      assert.match(flat((await lance(there, 'status')).stdout), new RegExp(`${hash} .*lance economics show`));
      const { stdout } = await lance(there, 'economics', 'show');
      assert.match(stdout, /economics\.fundingAnnualPercent +13\.75 +9/);
      assert.match(flat((await lance(there, 'doctor')).stdout), new RegExp(`lance economics approve ${hash}`));
    }
    const offline = await lance({ ...environment, LANCE_LANG: 'en' }, 'economics', 'approve', hash, '--by', 'bruno');
    assert.notEqual(offline.code, 0, 'a typed name is nobody');
    const one = await lance(as('ana'), 'economics', 'approve', hash, '--comment', 'Selic caiu');
    assert.deepEqual([one.code, /another person has to approve/.test(flat(one.stdout))], [0, true], one.stderr);
    assert.notEqual((await lance(as('ana'), 'economics', 'approve', hash)).code, 0, 'the same person again');
    await daemon.stop();
    daemon = await begin();
    assert.equal(await settingsHash(), before, 'one person is not enough');
    const two = await lance(as('bruno'), 'economics', 'approve', hash);
    assert.deepEqual([two.code, /are approved/.test(two.stdout)], [0, true], two.stderr);
    for (let looks = 0; looks < 80 && (await status()).economics?.approved !== true; looks += 1) await sleep(100);
    assert.equal((await status()).economics?.approved, true);
    assert.match(flat((await lance({ ...environment, LANCE_LANG: 'en' }, 'status')).stdout), /restart the process/);
    await daemon.stop();
    daemon = await begin();
    assert.equal((await status()).economics, null);
    const after = await settingsHash();
    assert.notEqual(after, before, 'the new ones decide');
    const standing = JSON.parse((await lance(as('ana'), 'economics', 'show', '--json')).stdout) as EconomicsStanding;
    assert.deepEqual([standing.used?.slice(0, 12), standing.approvalNeeded, standing.waiting], [hash, true, []]);
  } finally {
    await daemon.stop();
  }
}
