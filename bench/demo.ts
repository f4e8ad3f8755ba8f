/**
 * The demo over seeds, with what auctions teach and without (the baseline), in turns: share of the clairvoyant's
 * surplus, bids, outcomes. Slow, for it runs in real time: four demos at once, about five minutes for all of it.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Benchmark, median, rounded } from './figures.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const seeds = Array.from({ length: Number(process.env.SEEDS ?? 20) }, (_, index) => String(index + 1));
const requests = 500;
const atOnce = 4;

type Report = {
  requests: number;
  bids: number;
  outcomes: Readonly<Record<string, number>>;
  unsettled: number;
  surplus: { realised: number; clairvoyant: number };
  violations: readonly { code: string; text: string }[];
};

function runDemo(seed: string, learning: boolean): Promise<Report> {
  const options = ['--requests', String(requests), '--seed', seed, '--exit', '--json'];
  const child = spawn(process.execPath, [main, 'demo', ...options, ...(learning ? [] : ['--no-learning'])], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const line = output.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve(JSON.parse(line));
      else reject(new Error(`the demo of seed ${seed} ended with ${code} and no report`));
    });
  });
}

const shareOf = ({ surplus }: Report): number => surplus.realised / surplus.clairvoyant;

export const demo: Benchmark = {
  run: async (say) => {
    const jobs = seeds.flatMap((seed) => [true, false].map((learning) => ({ seed, learning })));
    const reports: { seed: string; learning: boolean; report: Report }[] = [];
    const work = async (): Promise<void> => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
        const report = await runDemo(job.seed, job.learning);
        reports.push({ ...job, report });
        const name = job.learning ? 'learning' : 'frozen';
        for (const { code, text } of report.violations) say(`seed ${job.seed} ${name}: ${code}: ${text}`);
        say(`seed ${job.seed} ${name}: ${rounded(shareOf(report), 3)} of the clairvoyant, ${report.bids} bids`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    const learnt = reports.filter(({ learning }) => learning).map(({ report }) => report);
    const frozen = reports.filter(({ learning }) => !learning).map(({ report }) => report);
    const sum = (list: readonly Report[], value: (report: Report) => number) =>
      list.reduce((total, report) => total + value(report), 0);
    const ours = median(learnt.map(shareOf));
    const baseline = median(frozen.map(shareOf));
    return {
      ratio: rounded(ours / baseline, 3),
      medians: { ours: rounded(ours, 3), baseline: rounded(baseline, 3) },
      leastBidShare: rounded(Math.min(...learnt.map((report) => report.bids / report.requests)), 3),
      acceptedShare: rounded(
        sum(learnt, (report) => report.outcomes.accepted ?? 0) / sum(learnt, (report) => report.bids),
        4,
      ),
      unsettled: sum(learnt, (report) => report.unsettled),
      violations: sum(learnt, (report) => report.violations.length),
      seeds: seeds.length,
    };
  },
};
