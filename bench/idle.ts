/** What a daemon with nothing to do costs: on Kafka and Redis, and beside it, in the same minute, on the embedded backend. */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Benchmark, rounded } from './figures.ts';
import { runningStack, startSharedOurs } from './kafka-loops.ts';
import { type Loop, startOurs } from './loops.ts';
import { roomyRules } from './workload.ts';

const warmS = 20;
const measuredS = 60;
const targetPercent = 3;
/** Nothing is sent. */
const baseUrl = 'http://127.0.0.1:1';

function cpuUs({ cpuUs: read }: Loop): number {
  const used = read();
  if (used === null) throw new Error('this system does not tell the CPU of a process');
  return used;
}

export const idle: Benchmark = {
  run: async (say) => {
    const { directory, rulesDir } = roomyRules();
    const stack = await runningStack();
    const closing: (() => Promise<void>)[] = [stack.stop];
    try {
      const places = { directory, rulesDir, baseUrl, sendLimit: 64 };
      const shared = await startSharedOurs({ ...places, stack, name: 'idle' });
      closing.unshift(shared.stop);
      const embedded = await startOurs(places);
      closing.unshift(embedded.stop);
      say(`both daemons run; ${warmS} s to become quiet, then ${measuredS} s`);
      await sleep(warmS * 1_000);
      const before = [cpuUs(shared), cpuUs(embedded)] as const;
      const startedAt = performance.now();
      await sleep(measuredS * 1_000);
      const elapsedUs = (performance.now() - startedAt) * 1_000;
      const percentOf = (after: number, at: number) => rounded(((after - at) / elapsedUs) * 100, 2);
      const percent = percentOf(cpuUs(shared), before[0]);
      const baselinePercent = percentOf(cpuUs(embedded), before[1]);
      say(
        `idle: ${percent} % of a core on Kafka and Redis (target ≤ ${targetPercent} %); embedded ${baselinePercent} %`,
      );
      return { percentOfCore: percent, targetPercent, embeddedPercentOfCore: baselinePercent, measuredS };
    } finally {
      for (const close of closing) await close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
