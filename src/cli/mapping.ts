/** `lance mapping try FILE`: what the mapping makes of a sample of the webhook of new requests. Shows keys and kinds, never values. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { Fault } from '../errors.ts';
import { parseJson as locateFault } from '../rules/json.ts';
import { parseJson } from '../wire/json.ts';
import { type MappingTrial, tryMapping } from '../wire/mapping-trial.ts';
import { readWebhook } from '../wire/webhook.ts';
import { labelledText, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;
type Options = { mapping: string | null; json: boolean };

/** `understood`: all of it. `letters`: why parts of it would be kept unread, each with its place. */
type Trial = MappingTrial & {
  event: string | null;
  understood: boolean;
  letters: readonly { pointer: string | null; reason: string }[];
};

export function registerMapping(program: Command, world: CommandWorld, add: Add): void {
  const { help, mapping } = world.format.texts;
  const parent = add(program, 'mapping', mapping.help.mapping, 'lance mapping try amostra.json');
  add(parent, 'try', mapping.help.try, 'lance mapping try amostra.json --mapping meu-mapeamento.json')
    .argument('<file>', mapping.help.file)
    .option('--mapping <file>', mapping.help.own, (word: string) => word, null)
    .option('--json', help.json, false)
    .action((file: string, options: Options) => showTrial(world, file, options));
}

/** Throws `configuration-invalid` for a mapping or a sample that cannot be read. */
function showTrial(world: CommandWorld, file: string, { mapping: own, json }: Options): void {
  const { terminal, format } = world;
  const trial = trialOf(world, file, own);
  if (json) terminal.write(JSON.stringify(trial));
  else terminal.write(trialText(trial, format.texts));
  if (!trial.understood) process.exitCode = 1;
}

function trialOf(world: CommandWorld, file: string, own: string | null): Trial {
  const { mapping: texts } = world.format.texts;
  const mapping = world.mapping(own);
  let text: string;
  try {
    text = world.readText(file);
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    throw new Fault('configuration-invalid', texts.unreadable(file, why), cause);
  }
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') {
    // This reader quotes nothing: the sample names a worker.
    const found = locateFault(text);
    throw new Fault(
      'configuration-invalid',
      texts.unreadable(file, found.kind === 'malformed' ? found.text : parsed.text),
    );
  }
  const now = world.clock.now();
  // Sealed for nobody: only what is said beside it is looked at.
  const vault = world.createVault(randomUUID() + randomUUID());
  const reading = readWebhook(text, { mapping, vault, receivedAt: now, now });
  const entries = reading.kind === 'entries' ? reading.entries : reading.kind === 'dead-letter' ? [reading.letter] : [];
  const letters = entries.flatMap(({ topic, record }) =>
    topic === 'dead-letters' ? [{ pointer: record.pointer, reason: record.reason }] : [],
  );
  const tried = tryMapping(parsed.value, mapping);
  // A fact that cannot be read is missing in the request that is made of it.
  const isRead = tried.elements.every(({ facts }) => facts.every(({ problem }) => problem === null));
  return {
    event: reading.kind === 'entries' ? reading.event : null,
    understood: reading.kind === 'entries' && letters.length === 0 && isRead,
    letters,
    ...tried,
  };
}

function trialText(trial: Trial, { mapping: texts, none, yes, no }: CommandWorld['format']['texts']): string {
  const head = labelledText([
    [texts.labels.event, trial.event ?? none],
    [texts.labels.understood, trial.understood ? yes : no],
    [texts.labels.elements, String(trial.elements.length + trial.moreElements)],
    ...trial.letters.map(({ pointer, reason }) => [texts.labels.letter, `${pointer ?? ''} ${reason}`.trim()] as const),
  ]);
  const unreadRows = (unread: MappingTrial['around']) =>
    unread.map(({ key, kind, kept }) => [key, kind, kept ?? texts.sealedOnly]);
  const elements = trial.elements.flatMap(({ pointer, isRequest, facts, unread, moreKeys }) => [
    `\n${texts.element(pointer === '' ? '/' : pointer)}${isRequest ? '' : ` ${texts.noRequest}`}`,
    tableText(
      texts.factHeader,
      facts.map(({ fact, key, from, kind, problem }) => [fact, key, texts.from[from], kind, problem ?? texts.read]),
    ),
    ...(unread.length === 0 ? [] : [`\n${texts.unread}`, tableText(texts.unreadHeader, unreadRows(unread))]),
    ...(moreKeys ? [texts.moreKeys] : []),
  ]);
  const around =
    trial.around.length === 0 ? [] : [`\n${texts.around}`, tableText(texts.unreadHeader, unreadRows(trial.around))];
  const more = trial.moreElements === 0 ? [] : [texts.moreElements(trial.moreElements)];
  return [head, ...elements, ...around, ...more].join('\n');
}
