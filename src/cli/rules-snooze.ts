/** `lance rules snooze | resume | snoozes`: a rule has no say for a time, ordered of a running desk or beside the store. */
import { printable } from '../domain/printable.ts';
import { Fault } from '../errors.ts';
import type { ControlOutcome } from '../operating/controls.ts';
import { orderOf, tellControl } from './control.ts';
import { type Orderer, withDesk } from './desk-control.ts';
import { tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

function told(world: CommandWorld, outcome: ControlOutcome, text: (revision: number, count: number) => string): void {
  const { changeNotStored, changeUnsure, changeUnkept } = world.format.texts.control;
  const failed = { notStored: changeNotStored, unsure: changeUnsure, unkept: changeUnkept };
  tellControl(world, outcome, () => ({ told: text, stored: (revision) => text(revision, 0), ...failed }));
}

export async function snoozeRule(
  world: CommandWorld,
  rule: string,
  { until, reason, ...orderer }: Orderer & { until: number; reason: string },
): Promise<void> {
  const { format } = world;
  const { snooze } = format.texts.rules;
  const outcome = await orderOf(world, orderer, (desk) => desk.snooze({ rule, until, reason }));
  switch (outcome.kind) {
    case 'rule-unknown':
      throw new Fault('not-found', snooze.unknown(rule, outcome.nearest));
    case 'until-outside':
      throw new Fault('not-allowed', snooze.untilOutside(format.time(outcome.latest)));
    case 'snooze-needs-approval':
      throw new Fault('not-allowed', snooze.needsApproval);
    default:
      told(world, outcome, (revision, count) => snooze.asleep(rule, format.time(until), revision, count));
  }
}

export async function resumeRule(
  world: CommandWorld,
  rule: string,
  { reason, ...orderer }: Orderer & { reason: string },
): Promise<void> {
  const { snooze } = world.format.texts.rules;
  const outcome = await orderOf(world, orderer, (desk) => desk.wake({ rule, reason }));
  if (outcome.kind === 'rule-awake') throw new Fault('not-found', snooze.awakeAlready(rule, outcome.asleep.join(', ')));
  told(world, outcome, (revision, count) => snooze.awake(rule, revision, count));
}

/** Those that are asleep, in the order in which they were put to sleep. */
export async function tellSnoozes(world: CommandWorld, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const { snooze } = format.texts.rules;
  const snoozes = await withDesk(world, (desk) => desk.snoozes());
  if (json) {
    for (const one of snoozes) terminal.write(JSON.stringify(one));
    return;
  }
  if (snoozes.length === 0) {
    terminal.write(snooze.none);
    return;
  }
  const rows = snoozes.map(({ rule, until, by, via, reason, holds }) => [
    `${printable(rule)}${holds ? '' : ` ${snooze.changed}`}`,
    format.time(until),
    via === 'offline' ? `${printable(by)} (offline)` : printable(by),
    printable(reason),
  ]);
  terminal.write(tableText(snooze.header, rows));
}
