/** The commands that people type beside `run` and `demo`: their names, options, help and examples. */

import { type Argument, type Command, Help, InvalidArgumentError, Option } from 'commander';
import type { EpochMs } from '../domain/glossary.ts';
import { isStartOwner, isUnclearName } from '../domain/roles.ts';
import { phases } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { type BreakEven, breakEvenNames } from '../impact/learn.ts';
import { operatorResolutions } from '../operating/endings.ts';
import { marketNames } from '../sandbox/market-names.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { fromWallClock } from '../wire/local-time.ts';
import { verifyLog } from './audit.ts';
import { exportAudit } from './audit-export.ts';
import { passOver } from './audit-pass-over.ts';
import { acceptRestore } from './audit-restore.ts';
import { backtestAuctions } from './backtest.ts';
import { listBids } from './bids-list.ts';
import { resolveBid } from './bids-resolve.ts';
import { showBid } from './bids-show.ts';
import { showWorker } from './bids-worker.ts';
import { codeOption } from './code-option.ts';
import { capDesk, pauseDesk, resumeDesk } from './control.ts';
import { tellControlHistory } from './controls-history.ts';
import { tellControlStanding } from './controls-show.ts';
import { runDoctor } from './doctor.ts';
import { approveEconomicsOf, showEconomics } from './economics-approve.ts';
import { proposeEconomics } from './economics-propose.ts';
import { exportDesk, undoExport } from './export.ts';
import { addThawing, registerFlows } from './flows-commands.ts';
import { thawBid } from './freezes.ts';
import { importDesk } from './import.ts';
import { learnFile } from './learn.ts';
import { registerLetters } from './letters.ts';
import { registerLoan } from './loan-quote.ts';
import { registerMapping } from './mapping.ts';
import { showModelCard } from './model-card.ts';
import { importPerformance } from './performance.ts';
import { registerReview } from './review.ts';
import { registerRules } from './rules-commands.ts';
import { folderOf } from './rules-files.ts';
import { languages } from './texts.ts';
import { registerTokens } from './tokens.ts';
import { rebuildViews, verifyViews } from './views.ts';
import type { CommandWorld } from './world.ts';

const defaultLimit = 50;
const defaultDraws = 400;
const defaultExport = 10_000;

type LearnGiven = Omit<Parameters<typeof learnFile>[2], 'clock'> & {
  auctionsADay?: number;
  halfLife?: number;
  delay?: number;
};

/** Options are checked where they are read; `texts` say what to write instead. */
function readersOf({
  number,
  place,
  portNumber,
  hostName,
  text,
  name,
  reais,
  shiftList,
  duration,
  time,
  midpointAndSlope,
}: CommandWorld['format']['texts']['help']) {
  const check = (right: boolean, remedy: string) => {
    if (!right) throw new InvalidArgumentError(remedy);
  };
  return {
    count: (word: string) => {
      check(/^\d{1,9}$/.test(word) && Number(word) >= 1, number);
      return Number(word);
    },
    offset: (word: string) => {
      check(/^\d{1,15}$/.test(word), number);
      return Number(word);
    },
    partition: (word: string) => {
      const [, topic = '', partition = ''] = /^([\w.-]{1,249})\/(\d{1,6})$/.exec(word) ?? [];
      check(topic !== '', place);
      return { topic, partition: Number(partition) };
    },
    port: (word: string) => {
      check(/^\d{1,5}$/.test(word) && Number(word) <= 65_535, portNumber);
      return Number(word);
    },
    host: (word: string) => {
      check(/^[\w.:-]{1,253}$/.test(word), hostName);
      return word;
    },
    text: (word: string) => {
      check(/^[^\p{Cc}]{1,200}$/u.test(word) && word.trim() !== '', text);
      return word.trim();
    },
    /** Who orders something, and why: stored and shown in clear, so a CPF in it is blotted out here. */
    said: (word: string) => {
      check(/^[^\p{Cc}]{1,200}$/u.test(word) && word.trim() !== '', text);
      return withoutCpf(word.trim());
    },
    name: (word: string) => {
      check(/^[\p{L}\d.-]{1,60}$/u.test(word) && withoutCpf(word) === word, name);
      return word;
    },
    /** A day or a minute on Brasília's wall clock: its first and its last millisecond. */
    time: (word: string): { first: EpochMs; last: EpochMs } => {
      const [, day = '', minute] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?$/.exec(word) ?? [];
      const wallMs = Date.parse(`${day}T${minute ?? '00:00'}:00Z`);
      check(!Number.isNaN(wallMs) && new Date(wallMs).toISOString().startsWith(day), time);
      const lengthMs = minute === undefined ? 86_400_000 : 60_000;
      return { first: fromWallClock(wallMs), last: fromWallClock(wallMs + lengthMs) - 1 };
    },
    /** At least two, in hundredths. */
    shifts: (word: string) => {
      check(/^-?\d{1,3}(,-?\d{1,3}){1,11}$/.test(word), shiftList);
      return word.split(',').map(Number);
    },
    /** Milliseconds. */
    duration: (word: string) => {
      check(/^\d{1,5}[hd]$/.test(word), duration);
      return Number(word.slice(0, -1)) * (word.endsWith('d') ? 86_400_000 : 3_600_000);
    },
    /** Percent a month, and one over such a percent. */
    acceptance: (word: string) => {
      check(/^\d{1,2}(\.\d{1,4})?,\d{1,2}(\.\d{1,4})?$/.test(word), midpointAndSlope);
      const [midpointPercent = 0, slope = 0] = word.split(',').map(Number);
      return { midpointPercent, slope };
    },
    /** Whole cents. */
    reais: (word: string) => {
      check(/^\d{1,12}([.,]\d{1,2})?$/.test(word), reais);
      return Math.round(Number(word.replace(',', '.')) * 100);
    },
  };
}

type DaemonOption = keyof CommandWorld['format']['texts']['help']['daemonOptions'];

/** Texts of help in the language asked for, also for the commands that stand already. */
function translateHelp(program: Command, world: CommandWorld): void {
  const { help, parsing } = world.format.texts;
  const plain = new Help();
  const titles: Readonly<Record<string, string>> = help.titles;
  const configuration = {
    styleTitle: (title: string) => titles[title] ?? title,
    subcommandTerm: (command: Command) => command.name(),
    optionDescription: (option: Option) => parsing.beside(plain.optionDescription(option)),
    argumentDescription: (argument: Argument) => parsing.beside(plain.argumentDescription(argument)),
    commandUsage: (command: Command) => parsing.usage(plain.commandUsage(command)),
  };
  program
    .description(help.about)
    .addOption(new Option('--lang <code>', help.lang).choices(languages))
    .configureHelp(configuration)
    .helpOption('-h, --help', help.helpOption)
    .helpCommand('help [command]', help.helpCommand);
  const version = program.options.find((option) => option.long === '--version');
  if (version !== undefined) version.description = help.versionOption;
  for (const [name, description, example] of [
    ['run', help.run, 'lance run'],
    ['demo', help.demo, 'lance demo --requests 300 --seed 7 --exit'],
  ] as const) {
    const command = program.commands.find((known) => known.name() === name);
    command?.description(description).addHelpText('after', exampleText(world, example));
    for (const option of command?.options ?? []) {
      const name = option.attributeName();
      if (Object.hasOwn(help.daemonOptions, name)) option.description = help.daemonOptions[name as DaemonOption];
    }
  }
  for (const command of everyCommand(program)) {
    command.configureHelp(configuration).helpOption('-h, --help', help.helpOption);
    if (command.commands.length > 0) command.helpCommand('help [command]', help.helpCommand);
  }
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((inner) => [inner, ...everyCommand(inner)]);
}

function exampleText(world: CommandWorld, example: string): string {
  return `\n${world.format.texts.help.example}:\n  ${example}`;
}

export function registerCommands(program: Command, world: CommandWorld): void {
  const add = (parent: Command, usage: string, description: string, example: string) =>
    parent.command(usage).description(description).addHelpText('after', exampleText(world, example));
  registerBids(program, world, add);
  registerControl(program, world, add);
  registerLoan(program, world, add);
  registerRules(program, world, add, readersOf(world.format.texts.help));
  registerFlows(program, world, add, readersOf(world.format.texts.help).said);
  registerLetters(program, world, add, readersOf(world.format.texts.help).said);
  registerReview(program, world, add, readersOf(world.format.texts.help));
  registerTokens(program, world, add, readersOf(world.format.texts.help).said);
  registerMapping(program, world, add);
  registerMove(program, world, add);
  registerCare(program, world, add);
  translateHelp(program, world);
  refuseStartOwner(program, world);
}

type Add = (parent: Command, usage: string, description: string, example: string) => Command;

/** Whatever a command is: nobody is written down by the name of the session of a start, nor by one that looks like another. */
function refuseStartOwner(program: Command, { format }: CommandWorld): void {
  program.hook('preAction', (_, command) => {
    const { by } = command.opts<{ by?: string }>();
    if (by === undefined) return;
    if (isStartOwner(by)) throw new Fault('option-missing', format.texts.remote.startOwnerNamed(by));
    if (isUnclearName(by)) throw new Fault('option-missing', format.texts.remote.unclearName);
  });
}

function registerBids(program: Command, world: CommandWorld, add: Add): void {
  const { help } = world.format.texts;
  const read = readersOf(help);
  const bids = add(program, 'bids', help.bids, 'lance bids list --state lost --limit 20');
  add(bids, 'list', help.list, 'lance bids list --state lost --limit 20')
    .option('--limit <n>', help.limit, read.count, defaultLimit)
    .addOption(
      codeOption('--state <state>', help.state, {
        codes: phases,
        meanings: world.format.texts.states,
        texts: world.format.texts,
      }),
    )
    .option('--code <code>', help.code, read.text)
    .option('--batch <id>', help.batch, read.text)
    .option('--segment <key>', help.segment, read.text)
    .option('--cpf <cpf>', help.cpf)
    .option('--by <name>', help.reader, read.said)
    .option('--since <time>', help.since, (word: string) => read.time(word).first)
    .option('--until <time>', help.until, (word: string) => read.time(word).last)
    .option('--json', help.json, false)
    .action((options: Parameters<typeof listBids>[1]) => listBids(world, options));
  add(bids, 'show', help.show, 'lance bids show 37400000012')
    .argument('<id>', help.requestId)
    .option('--json', help.json, false)
    .action((id: string, { json }: { json: boolean }) => showBid(world, id, json));
  add(
    bids,
    'worker',
    world.format.texts.worker.help,
    'lance bids worker 37400000012 --by ana --reason "conferir o contrato"',
  )
    .argument('<id>', help.requestId)
    .option('--by <name>', help.orderer, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .option('--json', help.json, false)
    .action((requestId: string, options: { by?: string; reason: string; json: boolean }) =>
      showWorker(world, { requestId, ...options }),
    );
  add(
    bids,
    'resolve',
    help.resolve,
    'lance bids resolve 37400000012 --as lost --by ana --reason "confirmado no portal"',
  )
    .argument('<id>', help.requestId)
    .addOption(
      codeOption('--as <end>', help.as, {
        codes: operatorResolutions,
        meanings: world.format.texts.states,
        texts: world.format.texts,
      }).makeOptionMandatory(),
    )
    .option('--by <name>', help.orderer, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .action(
      async (requestId: string, options: { as: (typeof operatorResolutions)[number]; by?: string; reason: string }) => {
        await resolveBid(world, { requestId, ...options });
      },
    );
  addThawing(bids, world, add, read.said, {
    ...{ name: 'bids', id: '37400000012' },
    thaw: (thaw) => thawBid(world, thaw),
  });
}

function registerControl(program: Command, world: CommandWorld, add: Add): void {
  const { help } = world.format.texts;
  const read = readersOf(help);
  add(program, 'pause', help.pause, 'lance pause --by ana --reason "taxas estranhas"')
    .option('--by <name>', help.orderer, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .action((options: { by?: string; reason: string }) => pauseDesk(world, options));
  add(program, 'resume', help.resume, 'lance resume --by ana --reason "visto com o risco"')
    .option('--by <name>', help.orderer, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .action((options: { by?: string; reason: string }) => resumeDesk(world, options));
  add(program, 'cap', help.cap, 'lance cap mesa --reais-a-day 250000 --by ana --reason "fim do mês"')
    .argument('<name>', help.capName, read.name)
    .addOption(new Option('--reais-a-day <amount>', help.reaisADay).argParser(read.reais).conflicts('remove'))
    .option('--remove', help.remove, false)
    .option('--by <name>', help.capBy, read.said)
    .option('--reason <text>', help.reason, read.said)
    .action(
      (
        name: string,
        { reaisADay, remove, ...word }: { reaisADay?: number; remove: boolean; by?: string; reason?: string },
      ) => capDesk(world, name, remove ? null : reaisADay, word),
    );
  const controls = add(program, 'controls', help.controls, 'lance controls show');
  add(controls, 'show', help.controlShow, 'lance controls show')
    .option('--json', help.json, false)
    .action((options: { json: boolean }) => tellControlStanding(world, options.json));
  add(controls, 'history', help.controlHistory, 'lance controls history --limit 20')
    .option('--limit <n>', help.controlLimit, read.count, defaultLimit)
    .option('--json', help.json, false)
    .action((options: { limit: number; json: boolean }) => tellControlHistory(world, options));
}

function registerMove(program: Command, world: CommandWorld, add: Add): void {
  const { help } = world.format.texts;
  add(program, 'export', help.export, 'lance export mesa.ndjson.gz')
    .argument('[file]', help.file)
    .option('--undo', help.undo, false)
    .option('--by <name>', help.reader, readersOf(help).said)
    .option('--json', help.json, false)
    .action(
      async (
        file: string | undefined,
        { undo, ...options }: { undo: boolean; by?: string; json: boolean },
        command: Command,
      ) => {
        if (undo === (file !== undefined)) command.error(help.fileOrUndo);
        if (file === undefined) await undoExport(world);
        else await exportDesk(world, file, options);
      },
    );
  add(program, 'import', help.import, 'lance import mesa.ndjson.gz')
    .argument('<file>', help.file)
    .option('--hash <hash>', help.hash)
    .option('--unsigned', help.unsigned, false)
    .option('--json', help.json, false)
    .action((file: string, options: { json: boolean; unsigned: boolean; hash?: string }) =>
      importDesk(world, file, options),
    );
}

function registerBacktest(program: Command, world: CommandWorld, add: Add): void {
  const { help, backtest } = world.format.texts;
  const read = readersOf(help);
  add(program, 'backtest', backtest.about, 'lance backtest leiloes.ndjson --html leiloes.html')
    .argument('[file]', help.auctionsFile)
    .option('--log', backtest.options.log, false)
    .option('--html <file>', backtest.options.html)
    .option('--segment <key>', backtest.options.segment, read.text)
    .addOption(
      new Option('--break-even <range>', backtest.options.breakEven).choices([...breakEvenNames]).default('mid'),
    )
    .option('--json', help.json, false)
    .action(
      async (
        file: string | undefined,
        options: { log: boolean; html?: string; segment?: string; breakEven: BreakEven; json: boolean },
        command: Command,
      ) => {
        if (options.log === (file !== undefined)) command.error(backtest.options.fileOrLog);
        const { html = null, segment = null, breakEven, json } = options;
        await backtestAuctions(world, file ?? null, { html, segment, breakEven, json });
      },
    );
}

function registerModel(program: Command, world: CommandWorld, add: Add): void {
  const { help, card } = world.format.texts;
  const model = add(program, 'model', card.help.model, 'lance model card --html ficha.html');
  add(model, 'card', card.help.card, 'lance model card --html ficha.html')
    .option('--html <file>', card.help.html)
    .option('--json', help.json, false)
    .action(({ html = null, json }: { html?: string | null; json: boolean }) => showModelCard(world, { html, json }));
}

function registerCare(program: Command, world: CommandWorld, add: Add): void {
  const { format } = world;
  const { help } = format.texts;
  const read = readersOf(help);
  add(program, 'doctor', help.doctor, 'lance doctor')
    .option('--json', help.json, false)
    .action(async ({ json }: { json: boolean }) => {
      process.exitCode = await runDoctor(world, json);
    });
  add(program, 'status', format.texts.status.about, 'lance status --json')
    .option('--json', help.json, false)
    .action(async ({ json }: { json: boolean }) => {
      // Loaded here: every other command would start later for it.
      const { showStatus } = await import('./status.ts');
      process.exitCode = await showStatus(world, json);
    });
  add(program, 'learn', help.learn, 'lance learn leiloes.ndjson --json')
    .argument('<file>', help.auctionsFile)
    .option('--draws <n>', help.draws, read.count, defaultDraws)
    .option('--seed <n>', help.seed, read.count, 1)
    .option('--shifts <list>', help.shifts, read.shifts, null)
    .option('--auctions-a-day <n>', help.auctionsADay, read.count)
    .option('--half-life <time>', help.halfLife, read.duration)
    .option('--delay <time>', help.delay, read.duration)
    .option('--acceptance <midpoint,slope>', help.learnAcceptance, read.acceptance, null)
    .option('--json', help.json, false)
    .action((file: string, options: LearnGiven, command: Command) => {
      const { auctionsADay, halfLife = Number.POSITIVE_INFINITY, delay = 0, ...rest } = options;
      if (auctionsADay === undefined && (options.halfLife ?? options.delay) !== undefined) {
        command.error(help.needsClock);
      }
      const clock = auctionsADay === undefined ? null : { auctionsADay, halfLifeMs: halfLife, delayMs: delay };
      return learnFile(world, file, { ...rest, clock });
    });
  registerBacktest(program, world, add);
  registerModel(program, world, add);
  const { views } = format.texts;
  const viewed = add(program, 'views', views.help.views, 'lance views verify');
  add(viewed, 'verify', views.help.verify, 'lance views verify')
    .option('--json', help.json, false)
    .action(async ({ json }: { json: boolean }) => {
      process.exitCode = await verifyViews(world, json);
    });
  add(viewed, 'rebuild', views.help.rebuild, 'lance views rebuild')
    .option('--json', help.json, false)
    .action(({ json }: { json: boolean }) => rebuildViews(world, json));
  const audit = add(program, 'audit', help.audit, 'lance audit verify');
  add(audit, 'verify', help.verify, 'lance audit verify')
    .option('--json', help.json, false)
    .action(async ({ json }: { json: boolean }) => {
      process.exitCode = await verifyLog(world, json);
    });
  add(
    audit,
    'accept-restore',
    format.texts.audit.help.accept,
    'lance audit accept-restore --by ana --reason "cópia de ontem restaurada"',
  )
    .requiredOption('--by <name>', help.by, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .option('--emptied', format.texts.audit.help.emptied, false)
    .option('--json', help.json, false)
    .action((options: { by: string; reason: string; emptied: boolean; json: boolean }) =>
      acceptRestore(world, options),
    );
  const { passOver: passing, passOverPlace, passOverOffset } = format.texts.audit.help;
  add(audit, 'pass-over', passing, 'lance audit pass-over lance.auctions/1 17 --by ana --reason "lote ilegível"')
    .argument('<topic/partition>', passOverPlace, read.partition)
    .argument('<offset>', passOverOffset, read.offset)
    .requiredOption('--by <name>', help.by, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .option('--json', help.json, false)
    .action(
      (
        place: { topic: string; partition: number },
        offset: number,
        options: { by: string; reason: string; json: boolean },
      ) => passOver(world, { ...place, offset }, options),
    );
  add(audit, 'export', format.texts.impact.help.export, 'lance audit export leiloes.ndjson --last 20000')
    .argument('<file>', format.texts.impact.help.target)
    .option('--last <n>', format.texts.impact.help.last, read.count, defaultExport)
    .option('--by <name>', help.reader, read.said)
    .option('--json', help.json, false)
    .action((file: string, options: { last: number; by?: string; json: boolean }) => exportAudit(world, file, options));
  const { performance } = format.texts;
  const loans = add(program, 'performance', performance.help.performance, 'lance performance import carteira.csv');
  add(loans, 'import', performance.help.import, 'lance performance import carteira.csv --json')
    .argument('<csv>', performance.help.csv)
    .option('--json', help.json, false)
    .action(async (file: string, { json }: { json: boolean }) => {
      process.exitCode = await importPerformance(world, file, json);
    });
  const economics = add(
    program,
    'economics',
    performance.help.economics,
    'lance economics propose carteira.csv --to nova',
  );
  add(economics, 'propose', performance.help.propose, 'lance economics propose carteira.csv --to nova')
    .argument('<csv>', performance.help.csv)
    .requiredOption('--to <dir>', performance.help.to)
    .option('--dir <dir>', format.texts.rules.help.dir)
    .option('--json', help.json, false)
    .action(async (file: string, { to, dir, json }: { to: string; dir?: string; json: boolean }) => {
      process.exitCode = await proposeEconomics(world, file, { to, directory: folderOf(dir), json });
    });
  const { help: ofEconomics } = format.texts.economics;
  add(economics, 'show', ofEconomics.show, 'lance economics show')
    .option('--json', help.json, false)
    .action(({ json }: { json: boolean }) => showEconomics(world, json));
  add(economics, 'approve', ofEconomics.approve, 'lance economics approve 5d1c0e88fa21')
    .argument('<hash>', ofEconomics.hash)
    .option('--by <name>', help.orderer, read.said)
    .option('--comment <text>', format.texts.rules.help.activation.comment, read.said)
    .addOption(
      new Option('--reason <text>', format.texts.rules.help.activation.reason)
        .argParser(read.said)
        .conflicts('comment'),
    )
    .action((hash: string, { reason, ...options }: { by?: string; comment?: string; reason?: string }) =>
      approveEconomicsOf(world, hash, { ...options, comment: options.comment ?? reason ?? null }),
    );
  add(program, 'sandbox', help.sandbox, 'lance sandbox --port 9090')
    .option('--port <n>', help.port, read.port, 0)
    .option('--host <address>', help.host, read.host, '127.0.0.1')
    .option('--target <url>', help.target)
    .option('--requests <n>', help.requests, read.count, 100)
    .option('--seed <s>', help.seed, '1')
    .option('--rivals <file>', help.rivals)
    .addOption(new Option('--market <name>', help.market).choices(marketNames).default('segments').conflicts('rivals'))
    .option('--record <file>', help.record)
    .option('--settings <json>', help.settings)
    .option('--exit', help.exit, false)
    .option('--json', help.json, false)
    .action(async (options) => {
      // Loaded here: every other command would start later for it.
      const { runSandbox } = await import('./sandbox.ts');
      const { target, rivals, record, settings } = options;
      await runSandbox(world, { ...options, target, rivals, record, settings });
    });
}
