/** Long work that a token allows: what it is asked for takes its time, and no other request waits for it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { adminToken, type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const small = 500;
const smallCharacters = 40_000;
/** Each nearly as long as a webhook may be. */
const large = 4;
const largeCharacters = 4_500_000;
/** Elements of one more, which makes it as long. */
const crowd = 60_000;
const requests = 2_500;
const letters = small + large + 1;
const listValues = 50_000;
/** CPU time of the main thread in one turn: what others wait, but for what else the machine does. */
const longestTurnMs = 120;
const rules = fileURLToPath(new URL('../../../rules/', import.meta.url));
const watcher = new URL('../loop-watch.ts', import.meta.url).href;

async function post(daemon: Daemon, body: string): Promise<number> {
  const answer = await fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body });
  await answer.arrayBuffer();
  return answer.status;
}

async function ask<T>(daemon: Daemon, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${daemon.url}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as T;
}

/** Runs `work` while `/livez` is asked all the time: the longest turn of the main thread and the slowest answer. */
async function watched(daemon: Daemon, path: string, work: () => Promise<unknown>) {
  writeFileSync(path, '0');
  daemon.signal('SIGUSR2');
  await sleep(50);
  let over = false;
  let slowestMs = 0;
  const probes = (async () => {
    while (!over) {
      const startedAt = performance.now();
      await (await fetch(`${daemon.url}/livez`)).text();
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      await sleep(10);
    }
  })();
  try {
    await work();
    await sleep(50);
  } finally {
    over = true;
    await probes;
  }
  return { turnMs: Number(readFileSync(path, 'utf8')), probeMs: Math.round(slowestMs) };
}

async function fill(daemon: Daemon): Promise<void> {
  const Solicitacoes = Array.from({ length: requests }, (_, index) => ({ numeroSolicitacao: index + 1 }));
  assert.equal(await post(daemon, JSON.stringify({ CodigoLote: 'L', Solicitacoes })), 200);
  const letter = JSON.stringify({ estranho: 'x'.repeat(smallCharacters) });
  let left = small;
  const sender = async () => {
    while (left > 0) {
      left -= 1;
      assert.equal(await post(daemon, letter), 202);
    }
  };
  await Promise.all(Array.from({ length: 16 }, sender));
  const long = JSON.stringify({ estranho: 'x'.repeat(largeCharacters) });
  for (let index = 0; index < large; index += 1) assert.equal(await post(daemon, long), 202);
  const elements = Array.from({ length: crowd }, (_, index) => ({ numero: index, nome: 'x'.repeat(40), ok: true }));
  assert.equal(await post(daemon, JSON.stringify({ estranhos: elements })), 202);
}

function addLists(folder: string, count: number): void {
  mkdirSync(join(folder, 'lists'));
  for (let list = 0; list < count; list += 1) {
    const values = Array.from({ length: listValues }, (_, index) =>
      createHash('sha256').update(`${list} ${index}`).digest('base64url'),
    );
    const file = { description: 'Workers nobody lends to.', owner: 'risk', fact: 'worker.key', values };
    writeFileSync(join(folder, 'lists', `blocked-${list}.json`), JSON.stringify(file));
  }
}

export const scenario: Scenario = {
  line: 11,
  name: 'replay, search, listings and long lists of rules, while others ask',
  run: async (directory) => {
    const turns = join(directory, 'turns');
    const settings = join(directory, 'settings.json');
    const folder = join(directory, 'rules');
    cpSync(rules, folder, { recursive: true });
    writeFileSync(settings, JSON.stringify({ api: { replayLimit: letters }, rules: { restMs: 200 } }));
    const daemon = await startDaemon({
      directory,
      environment: {
        LANCE_CONFIG: settings,
        LANCE_RULES_DIR: folder,
        HOSTILE_TURNS: turns,
        NODE_OPTIONS: `--import ${watcher}`,
      },
    });
    assert.notEqual(await daemon.ready, null, daemon.output());
    await fill(daemon);
    const replay = await watched(daemon, turns, async () => {
      const { read } = await ask<{ read: number }>(daemon, '/dead-letters/replay', {
        partition: 0,
        from: 0,
        count: letters,
      });
      assert.equal(read, letters);
    });
    const listing = await watched(daemon, turns, () =>
      ask(daemon, `/dead-letters?partition=0&from=${letters - 200}&limit=200`),
    );
    const search = await watched(daemon, turns, async () => {
      await ask(daemon, '/bids?limit=200&code=nothing-has-this-code');
      await ask(daemon, '/bids?limit=200');
      await ask(daemon, '/contracts?limit=200');
    });
    const metrics = await watched(daemon, turns, async () => {
      await (await fetch(`${daemon.url}/metrics`)).text();
      await (await fetch(`${daemon.url}/readyz?verbose`)).text();
    });
    const before = daemon.output().length;
    addLists(folder, 2);
    const list = await watched(daemon, turns, async () => {
      const startedAt = performance.now();
      const isLive = () => daemon.output().slice(before).includes('"rules-live"');
      while (!isLive()) {
        assert.ok(performance.now() - startedAt < 30_000, daemon.output().slice(-2000));
        await sleep(25);
      }
      await sleep(500);
    });
    await daemon.stop();
    const figures = { replay, listing, search, metrics, list };
    for (const [what, { turnMs }] of Object.entries(figures))
      assert.ok(turnMs < longestTurnMs, `${what} kept the loop for ${turnMs} ms: ${JSON.stringify(figures)}`);
    return Object.fromEntries(
      Object.entries(figures).flatMap(([what, { turnMs, probeMs }]) => [
        [`${what}TurnMs`, turnMs],
        [`${what}ProbeMs`, probeMs],
      ]),
    );
  },
};
