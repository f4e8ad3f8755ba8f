/**
 * `npm run simulate -- --seeds 2000 [--from 1] [--jobs 2]`: plays seeds on all cores, ends with one line, exits 1 on a
 * violation. `--until late,lost` ends at the first violation of these kinds. `--from 17 --show 4711` plays seed 17 alone and tells what befell the requests with 4711 in their id.
 */
import { availableParallelism } from 'node:os';
import { readOptions, wholeNumber } from '../command-line.ts';
import { playInParallel } from './play.ts';
import { showHistory } from './show.ts';
import { describe, summarise } from './summary.ts';
import { type History, playHistory } from './world.ts';

const usage =
  'usage: npm run simulate -- [--seeds 2000] [--from 1] [--jobs 2] [--until KIND,KIND] [--show PART_OF_AN_ID] [--json]';
const { values } = readOptions(usage, {
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    until: { type: 'string' },
    show: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const summary = summarise();
const from = wholeNumber(usage, '--from', values.from, 0);
const jobs = wholeNumber(usage, '--jobs', values.jobs, 1);
const awaited = new Set<string>(values.until?.split(','));
let left = wholeNumber(usage, '--seeds', values.seeds, 1);

function take(history: History): void {
  summary.add(history);
  if (history.violations.some(({ kind }) => awaited.has(kind))) left = 0;
  for (const { kind, text } of history.violations) console.log(`seed ${history.seed}: ${kind}: ${text}`);
}

if (values.show === undefined) {
  let seed = from;
  const nextSeed = () => {
    left -= 1;
    seed += 1;
    return left < 0 ? null : seed - 1;
  };
  await playInParallel(nextSeed, jobs, take);
} else {
  const part = values.show;
  take(await playHistory(from, (evidence) => console.log(showHistory(evidence, part).join('\n'))));
}
console.log(values.json ? JSON.stringify(summary.figures()) : describe(summary.figures()));
process.exitCode = summary.figures().violations > 0 ? 1 : 0;
