/** `lance letters list|replay|dismiss`: dead letters beside a running daemon. */
import { type Command, InvalidArgumentError } from 'commander';
import { Fault } from '../errors.ts';
import { bodyReader } from '../http/door.ts';
import {
  dismissLetter,
  type Letter,
  type LetterPlace,
  type LetterRange,
  listLetters,
  type Replay,
  replayLetters,
} from '../http/letters.ts';
import { type LetterPage, type Orderer, remoteDesk } from './desk-control.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, vaultOf, withReader } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;
/** A place among the letters, from which on they are read. */
export type LettersFrom = { partition: number; from: number };

type Options = LetterRange & { json: boolean };
type Order = Orderer & { reason?: string };

const defaultCount = 50;
/** As data that is refused. */
const notUnderstood = 65;

export function registerLetters(program: Command, world: CommandWorld, add: Add, said: (word: string) => string): void {
  const { help, letters } = world.format.texts;
  const whole = (word: string) => {
    if (!/^\d{1,15}$/.test(word)) throw new InvalidArgumentError(help.number);
    return Number(word);
  };
  const parent = add(program, 'letters', letters.help.letters, 'lance letters list');
  const ranged = (command: Command) =>
    command
      .option('--partition <n>', letters.help.partition, whole, null)
      .option('--from <n>', letters.help.from, whole, 0)
      .option('--count <n>', letters.help.count, whole, defaultCount)
      .option('--json', help.json, false);
  ranged(add(parent, 'list', letters.help.list, 'lance letters list --from 100'))
    .option('--all', letters.help.all, false)
    .action((options: Options & { all: boolean }) => showLetters(world, options));
  ranged(add(parent, 'replay', letters.help.replay, 'lance letters replay --from 100 --count 20 --by ana'))
    .option('--by <name>', help.orderer, said)
    .option('--reason <text>', help.reason, said)
    .action((options: Options & Order) => replay(world, options));
  add(parent, 'dismiss', letters.help.dismiss, 'lance letters dismiss 0/12 --by ana --reason "teste do serviço"')
    .argument('<letter>', letters.help.letter, (word) => {
      const [, partition, offset] = /^(\d{1,5})\/(\d{1,15})$/.exec(word) ?? [];
      if (offset === undefined) throw new InvalidArgumentError(letters.help.letterForm);
      return { partition: Number(partition), offset: Number(offset) };
    })
    .option('--by <name>', help.orderer, said)
    .requiredOption('--reason <text>', help.reason, said)
    .action((letter: LetterPlace, order: Orderer & { reason: string }) => dismiss(world, letter, order));
}

async function showLetters(world: CommandWorld, options: Options & { all: boolean }): Promise<void> {
  const { terminal, format } = world;
  const { letters: texts, none } = format.texts;
  const { letters: found, next, end, more } = await lettersIn(world, options);
  const letters = options.all ? found : found.filter(({ dismissedAt }) => dismissedAt === undefined);
  const hidden = found.length - letters.length;
  if (options.json) {
    for (const letter of letters) terminal.write(JSON.stringify(letter));
    return;
  }
  if (letters.length === 0) terminal.write(texts.empty);
  else {
    const rows = letters.map((letter) => {
      const { partition: own, offset, receivedAt, reason, pointer, keys, unreadable } = letter;
      return [
        ...[String(own), String(offset), format.minute(receivedAt), format.texts.deskReason(reason), pointer ?? none],
        closedText(world, letter),
        shortened(keys?.join(', ') ?? none),
        shortened(unreadable.flatMap(({ fact }) => fact ?? []).join(', ') || none),
      ];
    });
    terminal.write(tableText(texts.header, rows, { right: [0, 1] }));
  }
  if (hidden > 0) terminal.say(texts.hidden(hidden));
  if (more !== undefined) terminal.say(texts.morePartitions(more));
  else if (next < end) terminal.say(texts.more(next, end));
}

/** When it was understood or dismissed, and by whom. */
function closedText({ format }: CommandWorld, { replayedAt, replayedBy, dismissedAt, dismissedBy }: Letter): string {
  const { letters: texts, none } = format.texts;
  if (dismissedAt !== undefined)
    return texts.dismissedBy(format.minute(dismissedAt), dismissedBy?.by ?? none, dismissedBy?.reason ?? none);
  if (replayedAt === null) return none;
  return `${format.minute(replayedAt)}${replayedBy === undefined ? '' : ` (${replayedBy.by})`}`;
}

async function dismiss(
  world: CommandWorld,
  letter: LetterPlace,
  { by, reason }: Orderer & { reason: string },
): Promise<void> {
  const { terminal, format, clock } = world;
  const { letters: texts } = format.texts;
  const remote = await remoteDesk(world, { by });
  if (remote === null && by === undefined) throw new Fault('option-missing', format.texts.remote.nobodyNamed);
  const outcome =
    remote !== null
      ? await remote.dismiss(letter, reason)
      : await withReader(world, async ({ log, appendBeside }) => {
          const parts = { log, append: appendBeside, vault: await vaultOf(world, { log }), clock };
          return dismissLetter(parts, letter, { by: by!, via: 'offline', reason });
        });
  const name = `${letter.partition}/${letter.offset}`;
  switch (outcome.kind) {
    case 'dismissed':
      return terminal.write(texts.dismissed(name));
    case 'letter-closed':
      throw new Fault('not-allowed', texts.closedBefore(name, outcome.how, format.minute(outcome.at)));
    case 'letter-unknown':
      throw new Fault('not-found', texts.unknown(name));
    default:
      outcome satisfies never;
  }
}

async function lettersIn(world: CommandWorld, range: LetterRange): Promise<LetterPage> {
  const remote = await remoteDesk(world, {});
  if (remote !== null) return remote.letters(range);
  return withReader(world, ({ log }, { pseudonymKey }) => {
    const look =
      pseudonymKey === null ? null : { vault: world.createVault(pseudonymKey), mapping: world.mapping(null) };
    return listLetters(log, range, look);
  });
}

const widest = 80;

function shortened(text: string): string {
  return text.length > widest ? `${text.slice(0, widest)}…` : text;
}

/** Where letters that were not read may stand; null: nowhere. */
export function restOf(
  { read, next, more }: Replay,
  { partition, count }: Pick<LetterRange, 'partition' | 'count'>,
): LettersFrom | null {
  if (read < count) return null;
  return partition === null ? (more ?? null) : { partition, from: next };
}

/** Throws `not-allowed` for more than the settings let one replay read, and `option-missing` for a reason of nobody. */
async function replay(world: CommandWorld, { by, reason, ...options }: Options & Order): Promise<void> {
  const { terminal, format, clock } = world;
  const { letters: texts } = format.texts;
  const tell = (result: Replay) => {
    terminal.write(options.json ? JSON.stringify(result) : texts.replayed(result, restOf(result, options)));
    // A script that replays after a mended mapping has to be able to tell that it was not.
    if (result.read > 0 && result.understood === 0) process.exitCode = notUnderstood;
  };
  const remote = await remoteDesk(world, { by });
  if (remote !== null) return tell(await remote.replay(options, reason ?? null));
  if (by === undefined && reason !== undefined) throw new Fault('option-missing', format.texts.remote.nobodyNamed);
  const order = by === undefined ? null : { by, via: 'offline' as const, reason: reason ?? null };
  const { http, api, bidding } = world.writing();
  const { replayLimit } = api;
  if (options.count > replayLimit) throw new Fault('not-allowed', texts.tooMany(options.count, replayLimit));
  const mapping = world.mapping(null);
  await withReader(world, async ({ log, appendBeside }) => {
    const vault = await vaultOf(world, { log });
    const readBody = bodyReader({ vault, mapping, limits: http, terms: bidding });
    const parts = { log, append: appendBeside, vault, clock, readBody };
    tell(await replayLetters(parts, options, order));
  });
}
