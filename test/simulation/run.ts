/**
 * `npm run simulate -- --seeds 2000 [--from 1] [--jobs 2]`: plays seeds on all cores, ends with one line, exits 1 on a
 * violation. `--model cap-book [--without RULE]` plays the protocol of the cap book alone, if need be with a rule of it left out.
 * `--until late,lost` ends at the first violation of these kinds. `--from 17 --show 4711` plays seed 17 alone and tells what befell the requests with 4711 in their id.
 */
import { availableParallelism } from 'node:os';
import { oneOf, readOptions, refuse, wholeNumber } from '../command-line.ts';
import { describeCapBooks, summariseCapBooks } from './cap-book/summary.ts';
import { type SwitchName, switches } from './cap-book/switches.ts';
import type { CapHistory } from './cap-book/world.ts';
import { playCapBooks, playInParallel } from './play.ts';
import { showHistory } from './show.ts';
import { describe, summarise } from './summary.ts';
import { type History, playHistory } from './world.ts';

const usage =
  'usage: npm run simulate -- [--seeds 2000] [--from 1] [--jobs 2] [--until KIND,KIND] [--show PART_OF_AN_ID] [--json]\n' +
  '       npm run simulate -- --model cap-book [--without RULE] [--seeds 3000] [--from 1] [--jobs 2] [--until KIND,KIND] [--json]';
const { values } = readOptions(usage, {
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    until: { type: 'string' },
    show: { type: 'string' },
    json: { type: 'boolean', default: false },
    model: { type: 'string', default: 'bidding' },
    without: { type: 'string' },
  },
});

const model = oneOf(usage, '--model', values.model, ['bidding', 'cap-book']);
if (model === 'bidding' && values.without !== undefined) refuse(usage, '--without goes with --model cap-book');
if (model === 'cap-book' && values.show !== undefined) refuse(usage, '--show does not go with --model cap-book');
const without =
  values.without === undefined
    ? null
    : oneOf(usage, '--without', values.without, Object.keys(switches) as readonly SwitchName[]);

const from = wholeNumber(usage, '--from', values.from, 0);
const jobs = wholeNumber(usage, '--jobs', values.jobs, 1);
const awaited = new Set<string>(values.until?.split(','));
let left = wholeNumber(usage, '--seeds', values.seeds, 1);
let seed = from;

function nextSeed(): number | null {
  left -= 1;
  seed += 1;
  return left < 0 ? null : seed - 1;
}

function tell(history: { seed: number; violations: readonly { kind: string; text: string }[] }): void {
  if (history.violations.some(({ kind }) => awaited.has(kind))) left = 0;
  for (const { kind, text } of history.violations) console.log(`seed ${history.seed}: ${kind}: ${text}`);
}

async function playBidding(): Promise<void> {
  const summary = summarise();
  const take = (history: History) => {
    summary.add(history);
    tell(history);
  };
  const part = values.show;
  if (part === undefined) await playInParallel(nextSeed, jobs, take);
  else take(await playHistory(from, (evidence) => console.log(showHistory(evidence, part).join('\n'))));
  end(summary.figures(), describe(summary.figures()));
}

async function playCapBook(): Promise<void> {
  const summary = summariseCapBooks();
  await playCapBooks(without, nextSeed, jobs, (history: CapHistory) => {
    summary.add(history);
    tell(history);
  });
  end(summary.figures(), describeCapBooks(summary.figures()));
}

function end(figures: { violations: number }, text: string): void {
  console.log(values.json ? JSON.stringify(figures) : text);
  process.exitCode = figures.violations > 0 ? 1 : 0;
}

await (model === 'bidding' ? playBidding() : playCapBook());
