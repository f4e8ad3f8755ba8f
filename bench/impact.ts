/**
 * `lance rules impact` on 100 000 requests of the sandbox's population, the command itself from start to end. Baseline in the same
 * run: reading the same file and counting its bids, which anything that looks at it has to do.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { writeAuditFile } from './audit-lines.ts';
import { type Benchmark, rounded } from './figures.ts';
import { roomyRules, shippedRules } from './workload.ts';

const count = 100_000;
const batchRequests = 20;
const everyMs = 15_000;
const startsAt = Date.parse('2026-11-20T03:00:00Z');
const targetS = 60;
const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Tells at its end what CPU time the process took, its threads included; they load it, too. */
const tellsCpu = `import { writeSync } from 'node:fs'; import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.on('exit', () => writeSync(3, JSON.stringify(process.cpuUsage())));`;

async function impactOf(candidate: string, file: string): Promise<{ text: string; cpuS: number }> {
  const module = `data:text/javascript,${encodeURIComponent(tellsCpu)}`;
  const words = ['--import', module, mainFile, 'rules', 'impact', candidate, '--dir', shippedRules];
  const child = spawn(process.execPath, [...words, '--file', file, '--json'], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const [written, told] = [child.stdout!, child.stdio[3] as Readable].map((stream) => text(stream));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`lance rules impact ended with ${code}`);
  const { user, system } = JSON.parse(await told!) as NodeJS.CpuUsage;
  return { text: await written!, cpuS: (user + system) / 1e6 };
}

async function countBids(file: string): Promise<number> {
  let bids = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    bids += (JSON.parse(line) as { lances: unknown[] }).lances.length;
  }
  return bids;
}

export const impact: Benchmark = {
  run: async (say) => {
    const { directory, rulesDir } = roomyRules();
    try {
      const file = join(mkdtempSync(join(directory, 'file-')), 'auctions.ndjson');
      await writeAuditFile(file, { count, seed: 'impact', startsAt, batchRequests, everyMs });
      const readAt = performance.now();
      const rivalBids = await countBids(file);
      const baselineS = (performance.now() - readAt) / 1_000;
      const startedAt = performance.now();
      const { text: json, cpuS } = await impactOf(rulesDir, file);
      const oursS = (performance.now() - startedAt) / 1_000;
      const report = JSON.parse(json) as { requests: number; segments: unknown[] };
      const wanted = `target: at most ${targetS} s`;
      say(`impact: ${report.requests} requests in ${rounded(oursS)} s (${wanted}), ${rounded(cpuS)} s of CPU`);
      say(`baseline, reading the file alone: ${rounded(baselineS)} s`);
      return {
        ratio: rounded(baselineS / oursS, 3),
        baseline: 'reading the same file',
        oursS: rounded(oursS),
        cpuS: rounded(cpuS),
        baselineS: rounded(baselineS),
        targetS,
        requests: report.requests,
        rivalBids,
        segments: report.segments.length,
      };
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
