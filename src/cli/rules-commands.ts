/** The `rules` commands: their names, options, help and examples. */
import { join } from 'node:path';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { ApprovalOf } from '../domain/kept-book.ts';
import { Fault } from '../errors.ts';
import { listFacts } from '../rules/lists.ts';
import { schemaFiles } from '../rules/schema.ts';
import type { Orderer } from './desk-control.ts';
import { registerImpact } from './impact-commands.ts';
import { writeBelow } from './named-file.ts';
import { explainRules } from './rules-account.ts';
import {
  activateRules,
  approveRules,
  type Commented,
  proposeRules,
  rollbackRules,
  setApproval,
  tellRuleHistory,
} from './rules-activate.ts';
import { backtestRules } from './rules-backtest.ts';
import { checkRules, type TestOptions } from './rules-check.ts';
import { folderOf } from './rules-files.ts';
import { type HitsOptions, tellHits } from './rules-hits.ts';
import { importRules } from './rules-import.ts';
import { type DraftKind, draftKinds, newRule } from './rules-new.ts';
import { tellReasons } from './rules-reasons.ts';
import { checkoutRules, diffRules } from './rules-sets.ts';
import { resumeRule, snoozeRule, tellSnoozes } from './rules-snooze.ts';
import { tryRule } from './rules-try.ts';
import type { CommandWorld } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;

function writeSchema(world: CommandWorld, directory: string): void {
  const files = schemaFiles();
  for (const { path, text } of files) {
    const target = join(directory, path);
    writeBelow(world, directory, target, text);
    world.terminal.write(target);
  }
}

type ImportWords = {
  list?: string;
  table?: string;
  fact?: (typeof listFacts)[number];
  title?: string;
  event?: string;
  description: string;
  owner?: string;
  priority?: number;
  stage?: string;
  dir?: string;
  sheet?: string;
};

async function runImport(world: CommandWorld, csv: string, words: ImportWords): Promise<number> {
  const { rules } = world.format.texts;
  const { list, table, fact, title, event, description, owner, priority, stage, sheet = null } = words;
  const directory = folderOf(words.dir);
  for (const name of [list, table]) {
    if (name !== undefined && !/^[a-z][a-z0-9-]{0,59}$/.test(name))
      throw new Fault('configuration-invalid', rules.badName(name));
  }
  if (list !== undefined && table === undefined && fact !== undefined) {
    return importRules(world, directory, { csv, sheet, description, owner, kind: 'list', name: list, fact });
  }
  if (table !== undefined && list === undefined && event !== undefined) {
    const own = { kind: 'table' as const, name: table, title: title ?? table, event, priority, stage };
    return importRules(world, directory, { csv, sheet, description, owner, ...own });
  }
  throw new Fault('configuration-invalid', rules.importWhat);
}

type Readers = { said: (word: string) => string; time: (word: string) => { first: number; last: number } };

export function registerRules(program: Command, world: CommandWorld, add: Add, { said, time }: Readers): void {
  const { help, rules: texts } = world.format.texts;
  const whole = (word: string) => {
    if (!/^\d{1,7}$/.test(word) || Number(word) < 1) throw new InvalidArgumentError(help.number);
    return Number(word);
  };
  const percent = (word: string) => {
    if (!/^\d{1,3}$/.test(word) || Number(word) > 100) throw new InvalidArgumentError(texts.help.percent);
    return Number(word);
  };
  const rules = add(program, 'rules', texts.help.rules, 'lance rules check');
  for (const name of ['check', 'test'] as const) {
    const command = add(rules, name, texts.help[name], `lance rules ${name} rules`);
    if (name === 'test') command.option('--run <name>', texts.help.run);
    else command.option('--last <n>', texts.help.checkLast, whole);
    command
      .argument('[dir]', texts.help.dir)
      .option('--coverage <percent>', texts.help.coverage, percent, 100)
      .option('--junit <file>', texts.help.junit)
      .option('--json', help.json, false)
      .action(async (dir: string | undefined, options: TestOptions) => {
        process.exitCode = await checkRules(world, folderOf(dir), options);
      });
  }
  add(rules, 'try', texts.help.try, 'lance rules try "One alert" --last 500')
    .argument('<rule>', texts.help.rule)
    .option('--last <n>', texts.help.last, whole, 200)
    .option('--dir <dir>', texts.help.dir)
    .option('--json', help.json, false)
    .action(async (name: string, options: { last: number; dir?: string; json: boolean }) => {
      await tryRule(world, folderOf(options.dir), name, options);
    });
  add(rules, 'hits', texts.help.hits, 'lance rules hits --since 2026-11-23')
    .option('--since <time>', texts.help.hitsSince, (word: string) => time(word).first)
    .option('--until <time>', texts.help.hitsUntil, (word: string) => time(word).last)
    .option('--json', help.json, false)
    .action((options: HitsOptions) => tellHits(world, options));
  add(rules, 'explain', texts.help.explain, 'lance rules explain facts.json')
    .argument('[facts]', texts.help.facts)
    .option('--request <id>', texts.help.request)
    .option('--dir <dir>', texts.help.dir)
    .option('--json', help.json, false)
    .action(
      async (
        path: string | undefined,
        { dir, request, json }: { dir?: string; request?: string; json: boolean },
        command: Command,
      ) => {
        if ((path === undefined) === (request === undefined)) command.error(texts.help.factsOrRequest);
        await explainRules(world, folderOf(dir), { path, requestId: request, json });
      },
    );
  add(rules, 'backtest', texts.help.backtest, 'lance rules backtest carteira.csv')
    .argument('<csv>', world.format.texts.performance.help.csv)
    .option('--dir <dir>', texts.help.dir)
    .option('--json', help.json, false)
    .action(async (csv: string, { dir, json }: { dir?: string; json: boolean }) => {
      process.exitCode = await backtestRules(world, folderOf(dir), csv, json);
    });
  add(rules, 'reasons', texts.help.reasons, 'lance rules reasons')
    .argument('[dir]', texts.help.dir)
    .option('--json', help.json, false)
    .action((dir: string | undefined, { json }: { json: boolean }) => {
      process.exitCode = tellReasons(world, folderOf(dir), json);
    });
  add(rules, 'schema', texts.help.schema, 'lance rules schema')
    .argument('[dir]', texts.help.dir)
    .action((dir: string | undefined) => writeSchema(world, folderOf(dir)));
  registerSets(rules, world, add);
  registerNew(rules, world, add);
  registerImport(rules, world, add, whole);
  registerActivation(rules, world, add, said);
  registerSnoozes(rules, world, add, { said, time });
  registerImpact(rules, world, add, { whole, folderOf });
}

/** Every other order calls it a reason. */
type Reasoned = Commented & { reason?: string };

function commentedBy({ reason, comment, ...orderer }: Reasoned): Commented {
  return { ...orderer, comment: comment ?? reason ?? null };
}

function registerActivation(rules: Command, world: CommandWorld, add: Add, said: (word: string) => string): void {
  const { help } = world.format.texts;
  const { activation, dir, hash } = world.format.texts.rules.help;
  const named = (name: keyof typeof activation, example: string) =>
    add(rules, name, activation[name], example).option('--by <name>', help.orderer, said);
  const commented = (name: keyof typeof activation, example: string) =>
    named(name, example)
      .option('--comment <text>', activation.comment, said)
      .addOption(new Option('--reason <text>', activation.reason).argParser(said).conflicts('comment'));
  commented('propose', 'lance rules propose rules --by ana')
    .argument('[dir]', dir)
    .action(async (directory: string | undefined, options: Reasoned) => {
      process.exitCode = await proposeRules(world, folderOf(directory), commentedBy(options));
    });
  commented('approve', 'LANCE_URL=https://mesa.example LANCE_TOKEN=… lance rules approve 3f9c2a71b04e')
    .argument('<hash>', hash)
    .action((word: string, options: Reasoned) => approveRules(world, word, commentedBy(options)));
  commented('activate', 'lance rules activate 3f9c2a71b04e --by ana')
    .argument('<hash>', hash)
    .action((word: string, options: Reasoned) => activateRules(world, word, commentedBy(options)));
  commented('rollback', 'lance rules rollback --by ana')
    .argument('[hash]', hash)
    .action((word: string | undefined, options: Reasoned) => rollbackRules(world, word, commentedBy(options)));
  commented('approval', 'lance rules approval on --by ana')
    .addArgument(new Argument('<word>', activation.approvalWord).choices(['on', 'off']))
    .addOption(
      new Option('--of <what>', activation.approvalOf).choices(['rules', 'caps', 'economics']).default('rules'),
    )
    .action((word: 'on' | 'off', options: Reasoned & { of: 'rules' | ApprovalOf }) =>
      setApproval(world, word, { ...commentedBy(options), of: options.of }),
    );
  add(rules, 'history', activation.history, 'lance rules history')
    .option('--json', help.json, false)
    .action(({ json }: { json: boolean }) => tellRuleHistory(world, json));
}

function registerSnoozes(rules: Command, world: CommandWorld, add: Add, { said, time }: Readers): void {
  const { help, rules: texts } = world.format.texts;
  // A day, or a minute, is included.
  const until = (word: string) => time(word).last + 1;
  add(
    rules,
    'snooze',
    texts.help.snooze,
    'lance rules snooze "One alert" --until 2026-11-27 --by ana --reason "falso alarme"',
  )
    .argument('<rule>', texts.help.rule)
    .requiredOption('--until <time>', texts.help.until, until)
    .option('--by <name>', help.orderer, said)
    .requiredOption('--reason <text>', help.reason, said)
    .action((rule: string, options: Orderer & { until: number; reason: string }) => snoozeRule(world, rule, options));
  add(rules, 'resume', texts.help.resume, 'lance rules resume "One alert" --by ana --reason "alarme apurado"')
    .argument('<rule>', texts.help.rule)
    .option('--by <name>', help.orderer, said)
    .requiredOption('--reason <text>', help.reason, said)
    .action((rule: string, options: Orderer & { reason: string }) => resumeRule(world, rule, options));
  add(rules, 'snoozes', texts.help.snoozes, 'lance rules snoozes')
    .option('--json', help.json, false)
    .action(({ json }: { json: boolean }) => tellSnoozes(world, json));
}

function registerSets(rules: Command, world: CommandWorld, add: Add): void {
  const { help, rules: texts } = world.format.texts;
  add(rules, 'diff', texts.help.diff, 'lance rules diff 3f9c2a71b04e rules')
    .argument('[before]', texts.help.set, 'live')
    .argument('[after]', texts.help.setElse)
    .option('--json', help.json, false)
    .action((before: string, after: string | undefined, { json }: { json: boolean }) =>
      diffRules(world, before, folderOf(after), json),
    );
  add(rules, 'checkout', texts.help.checkout, 'lance rules checkout live rules-of-now')
    .argument('<set>', texts.help.set)
    .argument('<dir>', texts.help.emptyDir)
    .action((word: string, directory: string) => checkoutRules(world, word, directory));
}

function registerNew(rules: Command, world: CommandWorld, add: Add): void {
  const { help } = world.format.texts.rules;
  add(rules, 'new', help.new, 'lance rules new limit young-links')
    .addArgument(new Argument('<kind>', help.newKind).choices(draftKinds))
    .argument('<name>', help.newName)
    .option('--dir <dir>', help.dir)
    .action((kind: DraftKind, name: string, { dir }: { dir?: string }) => {
      process.exitCode = newRule(world, folderOf(dir), kind, name);
    });
}

function registerImport(rules: Command, world: CommandWorld, add: Add, whole: (word: string) => number): void {
  const { help } = world.format.texts.rules;
  const example = 'lance rules import blocked.csv --list blocked-workers --fact worker.key --description "Fraude"';
  add(rules, 'import', help.import, example)
    .argument('<csv>', help.csv)
    .option('--sheet <name>', help.sheet)
    .option('--list <name>', help.list)
    .addOption(new Option('--fact <fact>', help.fact).choices(listFacts))
    .option('--table <name>', help.table)
    .addOption(new Option('--event <event>', help.event).choices(['pass', 'limit', 'economics', 'strategy']))
    .option('--title <text>', help.title)
    .option('--priority <n>', help.priority, whole)
    .addOption(new Option('--stage <stage>', help.stage).choices(['request', 'offer']))
    .requiredOption('--description <text>', help.description)
    .option('--owner <text>', help.owner)
    .option('--dir <dir>', help.dir)
    .action(async (csv: string, words: ImportWords) => {
      process.exitCode = await runImport(world, csv, words);
    });
}
