/** The commands of contracts, renegotiations, withdrawals, lookups and events: their names, options, help and examples. */
import { type Command, InvalidArgumentError } from 'commander';
import type { FlowKind } from '../domain/flow-records.ts';
import { stepsOf } from '../origination/steps.ts';
import { codeOption } from './code-option.ts';
import { showExample } from './flow-examples.ts';
import { showResult } from './flow-results.ts';
import { listFlows, phasesOf, type StartedKind, showFlow, showHistory, startFlow, takeStep } from './flows.ts';
import { listNext } from './flows-next.ts';
import { type Thaw, thawFlow } from './freezes.ts';
import type { CommandWorld } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;

const defaultLimit = 50;
/** Each of these takes several lines. */
const nextLimit = 20;

const kinds = [
  { name: 'contracts', flow: 'contract', id: 'c-37400000012', step: 'sign' },
  { name: 'renegotiations', flow: 'renegotiation', id: 'r-9001', step: 'amend' },
  { name: 'withdrawals', flow: 'withdrawal', id: 'w-0f1e2d', step: 'simulation' },
  { name: 'lookups', flow: 'lookup', id: 'q-0f1e2d', step: 'cancel' },
] as const;

export function registerFlows(program: Command, world: CommandWorld, add: Add, said: (word: string) => string): void {
  const { help } = world.format.texts.flows;
  for (const { name, flow, id, step } of kinds) {
    const parent = add(program, name, help[name], `lance ${name} list --limit 20`);
    addReading(parent, world, add, said, { name, flow, id });
    if (flow === 'contract') addNext(parent, world, add);
    addResults(parent, world, add, said, { name, flow, id });
    addAsking(parent, world, add, said, { name, flow, id, step });
    addThawing(parent, world, add, said, { name, id, thaw: (thaw) => thawFlow(world, name, flow, thaw) });
  }
  const events = add(program, 'events', help.events, 'lance events list');
  addReading(events, world, add, said, { name: 'events', flow: 'event', id: 'event:CODE' });
  add(events, 'close', help.close, 'lance events close event:CODE --by ana --reason "de outro sistema"')
    .argument('<id>', help.flowId)
    .option('--by <name>', world.format.texts.help.orderer, said)
    .requiredOption('--reason <text>', world.format.texts.help.reason, said)
    .option('--key <key>', help.key)
    .option('--json', world.format.texts.help.json, false)
    .action((flowId: string, options: AskingOptions & { reason: string }) =>
      takeStep(world, 'event', { ...options, flowId, step: 'cancel' }),
    );
  addThawing(events, world, add, said, {
    ...{ name: 'events', id: 'event:CODE' },
    thaw: (thaw) => thawFlow(world, 'events', 'event', thaw),
  });
}

/** `retry` and `cancel` of what is frozen; `id` is the example's. */
export function addThawing(
  parent: Command,
  world: CommandWorld,
  add: Add,
  said: (word: string) => string,
  { name, id, thaw }: { name: string; id: string; thaw: (thaw: Thaw) => Promise<void> },
): void {
  const { help, flows } = world.format.texts;
  for (const [action, about] of [
    ['retry', help.retry],
    ['cancel', help.thawCancel],
  ] as const) {
    add(parent, action, about, `lance ${name} ${action} ${id} --by ana --reason "versão nova"`)
      .argument('<id>', name === 'bids' ? help.requestId : flows.help.flowId)
      .option('--by <name>', help.orderer, said)
      .requiredOption('--reason <text>', help.reason, said)
      .action((given: string, options: { by?: string; reason: string }) => thaw({ id: given, action, ...options }));
  }
}

/** At most how many; throws for anything else. */
function countIn({ help }: CommandWorld['format']['texts']): (word: string) => number {
  return (word) => {
    if (!/^\d{1,3}$/.test(word) || Number(word) < 1) throw new InvalidArgumentError(help.number);
    return Number(word);
  };
}

function addNext(parent: Command, world: CommandWorld, add: Add): void {
  const { texts } = world.format;
  add(parent, 'next', texts.flows.help.next, 'lance contracts next --limit 20')
    .option('--limit <n>', texts.help.limit, countIn(texts), nextLimit)
    .option('--json', texts.help.json, false)
    .action((options: { limit: number; json: boolean }) => listNext(world, options));
}

function addReading(
  parent: Command,
  world: CommandWorld,
  add: Add,
  said: (word: string) => string,
  { name, flow, id }: { name: string; flow: FlowKind; id: string },
): void {
  const { help, flows } = world.format.texts;
  const list = add(parent, 'list', flows.help.list, `lance ${name} list`);
  // An event that no flow knows says nothing of its worker.
  if (flow !== 'event') list.option('--cpf <cpf>', help.cpf).option('--by <name>', help.reader, said);
  list
    .option('--limit <n>', help.limit, countIn(world.format.texts), defaultLimit)
    .addOption(
      codeOption('--phase <phase>', flows.help.phase, {
        codes: phasesOf(flow),
        meanings: flows.phases,
        texts: world.format.texts,
      }),
    )
    .option('--waiting', flows.help.waiting, false)
    .option('--json', help.json, false)
    .action((options: { limit: number; phase?: string; waiting: boolean; json: boolean; cpf?: string; by?: string }) =>
      listFlows(world, flow, { ...options, phase: options.phase ?? null }),
    );
  add(parent, 'show', flows.help.show, `lance ${name} show ${id}`)
    .argument('<id>', flows.help.flowId)
    .option('--json', help.json, false)
    .action((flowId: string, { json }: { json: boolean }) => showFlow(world, flow, flowId, json));
  add(parent, 'history', flows.help.history, `lance ${name} history ${id}`)
    .argument('<id>', flows.help.flowId)
    .option('--json', help.json, false)
    .action((flowId: string, { json }: { json: boolean }) => showHistory(world, flow, flowId, json));
}

function addResults(
  parent: Command,
  world: CommandWorld,
  add: Add,
  said: (word: string) => string,
  { name, flow, id }: { name: string; flow: StartedKind; id: string },
): void {
  const { help, flows } = world.format.texts;
  const example = flow === 'lookup' ? 'links' : 'proposal';
  add(parent, 'results', flows.help.results, `lance ${name} results ${id} ${example} --by ana --reason "ligação 123"`)
    .argument('<id>', flows.help.flowId)
    .argument('<operation>', flows.help.operation)
    .option('--by <name>', help.orderer, said)
    .requiredOption('--reason <text>', help.reason, said)
    .option('--json', help.json, false)
    .action((flowId: string, what: string, options: { by?: string; reason: string; json: boolean }) =>
      showResult(world, flow, { flowId, what, ...options }),
    );
}

type ExampleWords = { step?: string; set: string[]; by?: string; reason?: string };
type AskingOptions = { key?: string; by?: string; json: boolean };

function addAsking(
  parent: Command,
  world: CommandWorld,
  add: Add,
  said: (word: string) => string,
  { name, flow, id, step }: { name: string; flow: StartedKind; id: string; step: string },
): void {
  const { help, flows } = world.format.texts;
  const common = (command: Command) =>
    command
      .option('--by <name>', help.orderer, said)
      .option('--key <key>', flows.help.key)
      .option('--json', help.json, false);
  const asOrdered = flow === 'renegotiation' ? ' --yes' : '';
  const start = common(
    add(
      parent,
      'start',
      flows.help.start,
      `lance ${name} start --file ordem.json --key 2026-1 --by ana${asOrdered}`,
    ).requiredOption('--file <path>', flows.help.file),
  );
  if (flow === 'renegotiation') start.option('--yes', flows.help.yes);
  start.action((options: AskingOptions & { file: string; yes?: boolean }) => startFlow(world, flow, options));
  const example = add(parent, 'example', flows.help.example, `lance ${name} example > ordem.json`)
    .option('--step <step>', `${flows.help.exampleStep}: ${stepsOf(flow).join(', ')}`)
    .option('--set <field=value>', flows.help.set, (word: string, before: string[]) => [...before, word], []);
  if (flow === 'contract') {
    example.argument('[id]', flows.help.exampleId);
    example.option('--by <name>', flows.help.exampleBy, said).option('--reason <text>', help.reason, said);
  }
  example.action((...words: unknown[]) => {
    const [given, options] = flow === 'contract' ? words : [undefined, words[0]];
    const { step: named = null, set, by, reason } = options as ExampleWords;
    const reading = by === undefined || reason === undefined ? null : { by, reason };
    return showExample(world, flow, (given as string | undefined) ?? null, { step: named, set, reading });
  });
  const steps = common(
    add(parent, 'step', flows.help.step, `lance ${name} step ${id} ${step} --file passo.json --by ana`),
  )
    .argument('<id>', flows.help.flowId)
    .argument('<step>', `${flows.help.stepName}: ${stepsOf(flow).join(', ')}`)
    .option('--file <path>', flows.help.file)
    .option('--reason <text>', flows.help.stepReason, said)
    .option('--of <name>', flows.help.cancelsOf);
  // Nothing comes late of the others.
  if (flow === 'contract' || flow === 'renegotiation')
    steps.option('--figures', flows.help.acceptsFigures).option('--late', flows.help.acceptsLate);
  type StepOptions = AskingOptions & { file?: string; reason?: string; of?: string; figures?: true; late?: true };
  steps.action((flowId: string, named: string, options: StepOptions) =>
    takeStep(world, flow, { ...options, flowId, step: named }),
  );
}
