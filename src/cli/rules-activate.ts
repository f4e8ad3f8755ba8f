/** `lance rules propose | approve | activate | rollback | history`: which set decides, said straight into the store, beside running desks. */

import { whyAbsentIn } from '../absent-facts.ts';
import type { RuleBookEntry, RuleSetChange } from '../bidding/ports.ts';
import {
  activations,
  announce,
  announceAheadMs,
  hashBefore,
  isApprovalNeeded,
  isApproved,
  mayApprove,
  mayFollow,
  peopleFor,
  proposalOf,
  propose,
  requireApproval,
} from '../bidding/rule-book.ts';
import { Fault } from '../errors.ts';
import { confirmRules, reasonsAgainst } from '../rules/verdict.ts';
import { changeControl } from './control.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, type DeskReader, lifeMs, withReader } from './world.ts';

type Entries = readonly RuleBookEntry[];

const shownHash = 12;
const leastHash = 6;
const shownNames = 6;
/** Longer than `lifeMs`, so that a process that has just died is not waited for in vain. */
const timeoutMs = lifeMs + 1_000;

const short = (hash: string): string => hash.slice(0, shownHash);

/** The one set in the store whose hash begins like this. */
export function hashNamed(world: CommandWorld, entries: Entries, word: string): string {
  const { activation } = world.format.texts.rules;
  const known = new Set(entries.filter((entry) => entry.kind === 'proposed').map(({ hash }) => hash));
  const found = word.length < leastHash ? [] : [...known].filter((hash) => hash.startsWith(word.toLowerCase()));
  if (found.length === 0) throw new Fault('not-found', activation.unknown(word));
  if (found.length > 1) throw new Fault('not-allowed', activation.ambiguous(word, found.length));
  return found[0]!;
}

export async function followedHash({ control }: DeskReader): Promise<string | null> {
  return (await control.read()).ruleOrders.at(-1)?.hash ?? null;
}

/** Announces, and returns when every live process has heard of it. */
async function follow(world: CommandWorld, reader: DeskReader, hash: string, by: string): Promise<void> {
  const { format, terminal, clock } = world;
  const { activation } = format.texts.rules;
  if ((await followedHash(reader)) === hash) {
    terminal.write(activation.followedAlready(short(hash)));
    return;
  }
  let liveAt = 0;
  const { instances } = await changeControl(reader.control, clock, timeoutMs, async (control) => {
    const announced = await announce({ ...reader, control, clock }, { hash, by, aheadMs: announceAheadMs });
    liveAt = announced.liveAt;
    return announced.revision;
  });
  terminal.write(activation.announced(short(hash), format.time(liveAt), instances.length));
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
export async function proposeRules(world: CommandWorld, directory: string, by: string): Promise<number> {
  const { terminal, format } = world;
  const { activation, refused, bad } = format.texts.rules;
  return withReader(world, async (reader, { rules }) => {
    const verdict = await confirmRules(
      world.readRules(directory),
      rules.leastCoveragePercent,
      world.clock.now(),
      whyAbsentIn(world.mapping(null)),
    );
    if (verdict.kind !== 'good') {
      terminal.say(verdict.kind === 'refused' ? refused(verdict.faults.length) : bad);
      for (const reason of reasonsAgainst(verdict)) terminal.say(`  ${reason}`);
      return verdict.kind === 'refused' ? 65 : 1;
    }
    const { hash, source } = verdict.ruleSet;
    const entries = await propose({ ...reader, clock: world.clock }, { hash, source, by });
    const { changes } = proposalOf(entries, hash)!;
    const next = mayFollow(entries, hash, rules.approval) ? 'activate' : 'approve';
    terminal.write(activation.proposed(short(hash), counted(world, changes), next));
    return 0;
  });
}

export async function approveRules(world: CommandWorld, word: string, by: string): Promise<void> {
  const { activation } = world.format.texts.rules;
  await withReader(world, async (reader) => {
    const { ruleBook } = reader;
    const before = await ruleBook.read();
    const hash = hashNamed(world, before, word);
    if (!mayApprove(before, hash, by)) {
      throw new Fault('not-allowed', activation.samePerson(short(hash), peopleFor(before, hash).join(', ')));
    }
    await ruleBook.append({ kind: 'approved', hash, at: world.clock.now(), by });
    if (isApproved(await ruleBook.read(), hash)) await follow(world, reader, hash, by);
    else world.terminal.write(activation.oneMore(short(hash)));
  });
}

/** `word` null: the set that was followed before the one of now. */
async function turnTo(world: CommandWorld, word: string | null, by: string): Promise<void> {
  const { activation } = world.format.texts.rules;
  await withReader(world, async (reader, { rules }) => {
    const entries = await reader.ruleBook.read();
    const hash = word === null ? hashBefore(entries) : hashNamed(world, entries, word);
    if (hash === null) throw new Fault('not-found', activation.noneBefore);
    if (!mayFollow(entries, hash, rules.approval)) {
      throw new Fault('not-allowed', activation.notApproved(short(hash)));
    }
    await follow(world, reader, hash, by);
  });
}

export function activateRules(world: CommandWorld, word: string, by: string): Promise<void> {
  return turnTo(world, word, by);
}

export function rollbackRules(world: CommandWorld, word: string | undefined, by: string): Promise<void> {
  return turnTo(world, word ?? null, by);
}

/**
 * Whether two persons have to stand for a set, said into the store, so that no process can leave it out of its configuration.
 * One person may ask for it; it takes two to end it.
 */
export async function setApproval(world: CommandWorld, word: 'on' | 'off', by: string): Promise<void> {
  const { terminal, format, clock } = world;
  const { activation } = format.texts.rules;
  await withReader(world, async ({ ruleBook }, { rules }) => {
    if (word === 'on') {
      await requireApproval({ ruleBook, clock }, by);
      terminal.write(activation.approvalOn);
      return;
    }
    if (!isApprovalNeeded(await ruleBook.read())) {
      terminal.write(activation.approvalOff);
      return;
    }
    await ruleBook.append({ kind: 'approval-lift', at: clock.now(), by });
    if (isApprovalNeeded(await ruleBook.read())) terminal.write(activation.approvalOneMore);
    else terminal.write(rules.approval ? activation.approvalConfigured : activation.approvalOff);
  });
}

/** What became of which set, the latest first. */
export async function tellRuleHistory(world: CommandWorld, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const { activation } = format.texts.rules;
  await withReader(world, async (reader) => {
    const entries = await reader.ruleBook.read();
    const [followed, activated] = [await followedHash(reader), new Set<RuleBookEntry>(activations(entries))];
    const shown = entries.filter((entry) => entry.kind !== 'activated' || activated.has(entry)).reverse();
    if (json) {
      for (const entry of shown)
        terminal.write(JSON.stringify({ ...entry, followed: 'hash' in entry && entry.hash === followed }));
      return;
    }
    if (shown.length === 0) {
      terminal.write(activation.noHistory);
      return;
    }
    const rows = shown.map((entry) => {
      const hash = 'hash' in entry ? entry.hash : '';
      const mark = hash !== '' && hash === followed ? '*' : '';
      const what = entry.kind === 'proposed' ? counted(world, entry.changes) : '';
      const { kind, at, by } = entry;
      return [
        format.time(at),
        `${short(hash)}${mark}`,
        activation.kinds[kind],
        by ?? (kind === 'approval-required' ? activation.configuration : activation.folder),
        what,
      ];
    });
    terminal.write(tableText(activation.header, rows));
  });
}
