/** `lance economics show | approve`: which economics of the settings decide, which ones wait, and who stands for them. */
import { printable } from '../domain/printable.ts';
import { Fault } from '../errors.ts';
import { type Orderer, withDesk, withOrderer } from './desk-control.ts';
import { proseText, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

const shownHash = 12;
const short = (hash: string) => hash.slice(0, shownHash);

export async function showEconomics(world: CommandWorld, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const standing = await withDesk(world, (desk) => desk.economics());
  if (json) {
    terminal.write(JSON.stringify(standing));
    return;
  }
  const { economics } = format.texts;
  const { used, approvalNeeded, waiting } = standing;
  terminal.write(proseText(used === null ? economics.noneUsed : economics.used(short(used))));
  terminal.write(proseText(approvalNeeded ? economics.needed : economics.notNeeded));
  for (const { hash, at, approved, approvals, differences } of waiting) {
    const people = approvals.map(({ by }) => printable(by)).join(', ');
    const name = short(hash);
    const waits = economics.waits(name, format.minute(at), people);
    terminal.write(`\n${proseText(approved ? economics.approved(name, people) : waits)}`);
    const rows = differences.map(({ at: where, before, after }) => [
      where,
      JSON.stringify(before),
      JSON.stringify(after),
    ]);
    terminal.write(tableText(economics.header, rows));
  }
}

/** Throws `not-found`, and `not-allowed` where it has to be another person, or one who is known by a token. */
export async function approveEconomicsOf(
  world: CommandWorld,
  word: string,
  { comment = null, ...orderer }: Orderer & { comment?: string | null },
): Promise<void> {
  const { economics, rules } = world.format.texts;
  const outcome = await withOrderer(world, orderer, (desk) => desk.approveEconomics(word, comment));
  switch (outcome.kind) {
    case 'economics-approved':
      world.terminal.write(proseText(economics.done(short(outcome.hash))));
      return;
    case 'one-more':
      world.terminal.write(proseText(economics.oneMore(short(outcome.hash))));
      return;
    case 'set-unknown':
      throw new Fault('not-found', economics.unknown(word));
    case 'set-ambiguous':
      throw new Fault('not-found', economics.ambiguous(word, outcome.count));
    case 'same-person':
      throw new Fault('not-allowed', economics.samePerson(outcome.people.join(', ')));
    case 'identity-needed':
      throw new Fault('not-allowed', rules.activation.identityNeeded);
    default:
      outcome satisfies never;
  }
}
