/**
 * How many webhooks a second the daemon acknowledges, each with one request whose auction is over, so that nothing is sent for it:
 * reading, storing and deciding is what is measured. Beside it, alternated, the daemon of another version where `BENCH_MAIN` names its
 * `src/main.ts`, else the same one again, whose figures say how much of a difference is chance. Both stay up, and rounds are short:
 * what else the machine does weighs on neighbours alike.
 */

import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Benchmark, median, quantile, rounded } from './figures.ts';
import { type Loop, otherVersion, startOurs } from './loops.ts';
import { roomyRules, webhooksOf } from './workload.ts';

const warm = 3_000;
const measured = 3_000;
const connections = 16;
const rounds = 12;
/** A daemon begins the thread that reads webhooks ten seconds after its start. */
const settleMs = 13_000;
const agoMs = 2 * 3_600_000;
/** Nothing is sent. */
const baseUrl = 'http://127.0.0.1:1';

type Round = { perSecond: number; cpuUs: number; p99Ms: number };

async function send({ origins, path }: Loop, bodies: readonly Buffer[]): Promise<number[]> {
  const pool = new Pool(origins[0]!, { connections });
  const took: number[] = [];
  let next = 0;
  const worker = async () => {
    while (next < bodies.length) {
      const body = bodies[next]!;
      next += 1;
      const startedAt = performance.now();
      const answer = await pool.request({
        path,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`a webhook was answered with ${answer.statusCode}`);
      took.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await pool.close();
  return took;
}

const bodiesFrom = (first: number, count: number): Buffer[] =>
  webhooksOf(first, count, 1, Date.now() - agoMs).map(({ body }) => body);

async function playRound(loop: Loop, bodies: readonly Buffer[]): Promise<Round> {
  const cpuBefore = loop.cpuUs() ?? Number.NaN;
  const startedAt = performance.now();
  const took = await send(loop, bodies);
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    perSecond: measured / seconds,
    cpuUs: ((loop.cpuUs() ?? Number.NaN) - cpuBefore) / measured,
    p99Ms: quantile(took, 0.99),
  };
}

function summarise(played: readonly Round[]) {
  return {
    perSecond: rounded(median(played.map(({ perSecond }) => perSecond)), 0),
    cpuUs: rounded(median(played.map(({ cpuUs }) => cpuUs)), 0),
    p99Ms: rounded(median(played.map(({ p99Ms }) => p99Ms)), 1),
  };
}

export const webhooks: Benchmark = {
  run: async (say) => {
    const { directory, rulesDir } = roomyRules();
    const other = otherVersion();
    const rulesOf = { ours: rulesDir, other: other?.rulesDir ?? rulesDir };
    const names = ['ours', 'other'] as const;
    const played: Record<'ours' | 'other', Round[]> = { ours: [], other: [] };
    const loops = new Map<'ours' | 'other', Loop>();
    try {
      for (const name of names) {
        const place = join(directory, name);
        mkdirSync(place);
        const rules = join(place, 'rules');
        cpSync(rulesOf[name], rules, { recursive: true });
        const main = name === 'other' && other !== null ? { main: other.main } : {};
        loops.set(name, await startOurs({ directory: place, rulesDir: rules, baseUrl, sendLimit: 64, ...main }));
      }
      await sleep(settleMs);
      for (const loop of loops.values()) await send(loop, bodiesFrom(0, warm));
      for (let round = 0; round < rounds; round += 1) {
        const bodies = bodiesFrom(warm + round * measured, measured);
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          played[name].push(await playRound(loops.get(name)!, bodies));
          const { perSecond, cpuUs, p99Ms } = played[name].at(-1)!;
          say(
            `${name.padEnd(5)} ${rounded(perSecond, 0)}/s, ${rounded(cpuUs, 0)} µs of CPU each, p99 ${rounded(p99Ms)} ms`,
          );
        }
      }
      const ratios = played.ours.map(({ perSecond }, round) => perSecond / played.other[round]!.perSecond);
      const ratio = rounded(median(ratios), 3);
      const [ours, theirs] = [summarise(played.ours), summarise(played.other)];
      say(`ours / other: ${ratio} (${ratios.map((each) => rounded(each, 3)).join(' ')})`);
      return { ratio, ours, other: theirs, rounds, webhooks: measured, connections };
    } finally {
      for (const loop of loops.values()) await loop.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
