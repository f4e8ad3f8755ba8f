/** `lance rules propose | approve | activate | rollback | history`: which set decides, ordered of a running desk or beside the store. */

import type { RuleSetChange } from '../bidding/ports.ts';
import type { ApprovalOf } from '../domain/kept-book.ts';
import { printable } from '../domain/printable.ts';
import { Fault } from '../errors.ts';
import type { ActivateOutcome, ApproveOutcome, RollBackOutcome, SetUnknown } from '../operating/rule-orders.ts';
import { lateText } from './control.ts';
import { type Orderer, withDesk, withOrderer } from './desk-control.ts';
import { proseText, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

/** The order of somebody, and why. */
export type Commented = Orderer & { comment?: string | null };

const shownHash = 12;
const shownNames = 6;

const short = (hash: string): string => hash.slice(0, shownHash);

/** Throws what keeps a word from naming one set. */
export function setNotNamed({ format }: CommandWorld, word: string, outcome: SetUnknown): never {
  const { activation } = format.texts.rules;
  if (outcome.kind === 'set-unknown') throw new Fault('not-found', activation.unknown(word));
  throw new Fault('not-allowed', activation.ambiguous(word, outcome.count));
}

function counted(world: CommandWorld, changes: readonly RuleSetChange[]): string {
  const { activation } = world.format.texts.rules;
  const groups = Map.groupBy(changes, ({ change, what }) => `${change} ${what}`);
  const parts = [...groups.values()].map((group) => {
    const { change, what } = group[0]!;
    const names = group.slice(0, shownNames).map(({ name }) => `"${name}"`);
    const more = group.length > shownNames ? '…' : '';
    return `${activation.changes[change]} ${activation.parts[what]} ${names.join(', ')}${more}`;
  });
  return parts.length === 0 ? activation.noChange : parts.join('; ');
}

/** Resolves to the exit code: 65 when the files are refused, 1 when a test fails or too little is tested. */
export async function proposeRules(
  world: CommandWorld,
  directory: string,
  { comment = null, ...orderer }: Commented,
): Promise<number> {
  const { terminal, format } = world;
  const { activation, refused, bad } = format.texts.rules;
  const outcome = await withOrderer(world, orderer, (desk) => desk.propose(world.readRules(directory), comment));
  if (outcome.kind === 'rules-refused') {
    const lines = outcome.text.split('\n');
    terminal.say(outcome.compiles ? bad : refused(lines.length));
    for (const line of lines) terminal.say(line);
    return outcome.compiles ? 1 : 65;
  }
  const { hash, changes, next } = outcome;
  terminal.write(proseText(activation.proposed(short(hash), counted(world, changes), next)));
  return 0;
}

/** Says what became of the order. Throws what kept it from being done. */
function tell(world: CommandWorld, word: string, outcome: ApproveOutcome | ActivateOutcome | RollBackOutcome): void {
  const { terminal, format } = world;
  const { activation } = format.texts.rules;
  switch (outcome.kind) {
    case 'announced': {
      const { hash, liveAt, knownBy, late, reviewBy } = outcome;
      if (late.length > 0)
        throw new Fault(
          'not-acknowledged',
          activation.late(short(hash), format.time(liveAt), lateText(world, outcome)),
        );
      terminal.write(proseText(activation.announced(short(hash), format.time(liveAt), knownBy)));
      if (reviewBy !== undefined) terminal.write(proseText(activation.review(short(hash), format.time(reviewBy))));
      return;
    }
    case 'followed-already':
      terminal.write(proseText(activation.followedAlready(short(outcome.hash))));
      return;
    case 'one-more':
      terminal.write(proseText(activation.oneMore(short(outcome.hash))));
      return;
    case 'reviewed':
      terminal.write(proseText(activation.reviewed(short(outcome.hash))));
      return;
    case 'same-person':
      throw new Fault('not-allowed', activation.samePerson(short(outcome.hash), outcome.people.join(', ')));
    case 'not-approved':
      throw new Fault('not-allowed', activation.notApproved(short(outcome.hash)));
    case 'identity-needed':
      throw new Fault('not-allowed', activation.identityNeeded);
    case 'none-before':
      throw new Fault('not-found', activation.noneBefore);
    case 'set-unknown':
    case 'set-ambiguous':
      setNotNamed(world, word, outcome);
      return;
    default:
      outcome satisfies never;
  }
}

export async function approveRules(
  world: CommandWorld,
  word: string,
  { comment = null, ...orderer }: Commented,
): Promise<void> {
  tell(world, word, await withOrderer(world, orderer, (desk) => desk.approve(word, comment)));
}

export async function activateRules(
  world: CommandWorld,
  word: string,
  { comment = null, ...orderer }: Commented,
): Promise<void> {
  tell(world, word, await withOrderer(world, orderer, (desk) => desk.activate(word, comment)));
}

/** Without a word: to the set that was followed before the one of now. */
export async function rollbackRules(
  world: CommandWorld,
  word: string | undefined,
  { comment = null, ...orderer }: Commented,
): Promise<void> {
  tell(world, word ?? '', await withOrderer(world, orderer, (desk) => desk.rollBack(word ?? null, comment)));
}

export async function setApproval(
  world: CommandWorld,
  word: 'on' | 'off',
  { of, comment = null, ...orderer }: Commented & { of: 'rules' | ApprovalOf },
): Promise<void> {
  const { terminal, format } = world;
  const { activation } = format.texts.rules;
  const outcome = await withOrderer(world, orderer, (desk) =>
    desk.setApproval(word === 'on', comment, of === 'rules' ? undefined : of),
  );
  switch (outcome.kind) {
    case 'approval-on':
      terminal.write(
        proseText(
          { rules: activation.approvalOn, caps: activation.capApprovalOn, economics: activation.economicsOn }[of],
        ),
      );
      return;
    case 'approval-off':
      terminal.write(
        proseText(
          { rules: activation.approvalOff, caps: activation.capApprovalOff, economics: activation.economicsOff }[of],
        ),
      );
      return;
    case 'approval-one-more':
      terminal.write(proseText(activation.approvalOneMore(of)));
      return;
    case 'approval-configured':
      terminal.write(proseText(activation.approvalConfigured));
      return;
    case 'identity-needed':
      throw new Fault('not-allowed', activation.identityNeeded);
    default:
      outcome satisfies never;
  }
}

/** What became of which set, the latest first. */
export async function tellRuleHistory(world: CommandWorld, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const { activation } = format.texts.rules;
  const entries = await withDesk(world, (desk) => desk.ruleHistory());
  if (json) {
    for (const entry of entries) terminal.write(JSON.stringify(entry));
    return;
  }
  if (entries.length === 0) {
    terminal.write(activation.noHistory);
    return;
  }
  const rows = entries.map((entry) => {
    const { kind, at, by } = entry;
    const hash = 'hash' in entry ? `${short(entry.hash)}${entry.followed ? '*' : ''}` : '';
    const nobody = kind === 'approval-required' ? activation.configuration : activation.folder;
    const who = by === null ? nobody : entry.via === 'offline' ? `${by} (offline)` : by;
    const isBack = kind === 'activated' && entry.rollback !== undefined;
    const about = 'of' in entry && entry.of !== undefined ? activation.about[entry.of] : '';
    const comment = 'comment' in entry && entry.comment !== undefined ? `“${printable(entry.comment)}”` : '';
    const refreshed =
      kind === 'proposed' && entry.refreshes !== undefined ? activation.refreshes(short(entry.refreshes)) : '';
    const what = [kind === 'proposed' ? counted(world, entry.changes) : about, refreshed, comment]
      .filter(Boolean)
      .join(' ');
    return [format.time(at), hash, isBack ? activation.rolledBack : activation.kinds[kind], who, what];
  });
  terminal.write(tableText(activation.header, rows));
}
