/** The commands that judge a candidate rule set before it goes live: their names, options, help and examples. */
import type { Command } from 'commander';
import { runExperiments } from './rules-experiments.ts';
import { type ImpactWords, runImpact, runShadow } from './rules-impact.ts';
import type { CommandWorld } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;
type Readers = { whole: (word: string) => number; folderOf: (named: string | undefined) => string };

const defaultLast = 2_000;
const defaultDraws = 500;

export function registerImpact(rules: Command, world: CommandWorld, add: Add, { whole, folderOf }: Readers): void {
  const { help, impact, rules: texts } = world.format.texts;
  const common = (command: Command) =>
    command
      .option('--last <n>', impact.help.last, whole)
      .option('--warm-up <n>', impact.help.warmUp, whole)
      .option('--html <file>', impact.help.html)
      .option('--dir <dir>', texts.help.dir)
      .option('--draws <n>', impact.help.draws, whole, defaultDraws)
      .option('--seed <n>', impact.help.seed, whole, 1)
      .option('--json', help.json, false);
  common(add(rules, 'impact', impact.help.impact, 'lance rules impact ../candidato --last 5000 --html impacto.html'))
    .argument('<candidate>', impact.help.candidate)
    .option('--file <file>', impact.help.file)
    .action(async (candidate: string, words: ImpactWords & { dir?: string }, command: Command) => {
      if (words.file !== undefined && words.last !== undefined) command.error(impact.help.lastOrFile);
      const last = words.last ?? defaultLast;
      // Without a folder that is named, beside the store, the set that decides there is what a change is a change of.
      const current = words.dir === undefined && words.file === undefined ? null : folderOf(words.dir);
      await runImpact(world, { current, candidate }, 'impact', { ...words, last });
    });
  common(add(rules, 'shadow', impact.help.shadow, 'lance rules shadow --last 5000')).action(
    async (words: ImpactWords & { dir?: string }) => {
      await runShadow(world, words.dir === undefined ? null : folderOf(words.dir), {
        ...words,
        last: words.last ?? defaultLast,
      });
    },
  );
  add(rules, 'experiments', impact.help.experiments, 'lance rules experiments --last 20000')
    .option('--last <n>', impact.help.last, whole, defaultLast)
    .option('--draws <n>', impact.help.draws, whole, defaultDraws)
    .option('--seed <n>', impact.help.seed, whole, 1)
    .option('--json', help.json, false)
    .action(async (words: { last: number; draws: number; seed: number; json: boolean }) => {
      await runExperiments(world, words);
    });
}
