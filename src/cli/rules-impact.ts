/** `lance rules impact` and `lance rules shadow`: a candidate set beside the current one on recorded requests. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '../bidding/decide.ts';
import { lacksSealed } from '../domain/sealed-facts.ts';
import { Fault } from '../errors.ts';
import { type ImpactReport, measureImpact } from '../impact/impact.ts';
import type { RecordedCase } from '../impact/recorded-cases.ts';
import { policyOf } from '../policy.ts';
import { compileRuleSet, type RuleFile } from '../rules/rule-set.ts';
import { type CaseReading, readCaseFile } from './case-file.ts';
import { withDesk } from './desk-control.ts';
import { writeHtml } from './html-file.ts';
import { checkPlace } from './named-file.ts';
import { readLoggedCases } from './recorded-cases.ts';
import { createReplayApart, type ReplayApart } from './replay-apart.ts';
import { folderOf } from './rules-files.ts';
import { impactPage } from './rules-impact-page.ts';
import { impactText } from './rules-impact-text.ts';
import { createProgress } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, withReader } from './world.ts';

/** Fewer are replayed before a thread has started. */
const worthThread = 2_000;

/** Where a candidate stands that decides live requests unsent. */
const shadowFolder = 'shadow';

export type ImpactWords = {
  last?: number | undefined;
  file?: string | undefined;
  html?: string | undefined;
  warmUp?: number | undefined;
  draws: number;
  seed: number;
  json: boolean;
};

/** Pseudonyms made with it match no list of the desk's; that is told by the texts of the command. */
const keyForNobody = 'impact without the key of a desk';

async function casesOf(
  world: CommandWorld,
  words: ImpactWords,
  reading: CaseReading,
  apart: ReplayApart | null,
): Promise<RecordedCase[]> {
  const { terminal, format } = world;
  const progress = createProgress(terminal, format.texts.impact.reading);
  const show = (read: number) => {
    if (!words.json && terminal.interactive) progress.show(read, read, '');
  };
  const { file } = words;
  if (file !== undefined) return readCaseFile(world, file, reading, apart, show);
  const wanted = (words.last ?? 0) + (words.warmUp ?? 0);
  const cases = await withReader(world, ({ log }, { pseudonymKey }) =>
    readLoggedCases(log, wanted, show, wholeRequests(world, pseudonymKey)),
  );
  if (cases.length >= worthThread) apart?.take(0, cases);
  return cases;
}

export async function runImpact(
  world: CommandWorld,
  directories: { current: string | null; candidate: string },
  kind: ImpactReport['kind'],
  words: ImpactWords,
): Promise<void> {
  const { terminal, format } = world;
  const { impact } = format.texts;
  if (words.html !== undefined) checkPlace(world, words.html);
  const model = world.model();
  const files: readonly RuleFile[] = world.readRules(directories.candidate);
  const current = await currentSet(world, directories.current);
  const policies: Record<'current' | 'candidate', Policy> = {
    current: policyOf(model, current.files),
    candidate: policyOf(model, files),
  };
  const mapping = world.mapping(null);
  const pseudonymKey = world.pseudonymKey() ?? keyForNobody;
  const reading = { mapping, vault: world.createVault(pseudonymKey), settings: model.bidding };
  // A shadow looks at the exposure of the current set as it goes, so both stay in one thread.
  const apart = kind === 'shadow' ? null : createReplayApart({ model, files, mapping, pseudonymKey });
  try {
    const cases = await casesOf(world, words, reading, apart);
    const warmUp = words.file === undefined ? Math.max(0, cases.length - (words.last ?? 0)) : (words.warmUp ?? 0);
    if (cases.length <= warmUp) throw new Fault('not-found', impact.nothing);
    const groups = policies.current.ruleSet.sealedGroups.union(policies.candidate.ruleSet.sealedGroups);
    if (cases.some(({ request }) => lacksSealed(request, groups)))
      throw new Fault('sealed-unreadable', impact.factsSealed);
    const progress = createProgress(terminal, impact.deciding);
    const report = await measureImpact(cases, {
      kind,
      ...policies,
      settings: model.bidding,
      warmUp,
      seed: words.seed,
      draws: words.draws,
      elsewhere: apart?.isBegun() === true ? apart.replay : null,
      onProgress: (done, of) => {
        if (!words.json) progress.show(done, of, '');
      },
    });
    if (!words.json) progress.end();
    if (words.html !== undefined) {
      writeHtml(world, words.html, impactPage(report, format));
      terminal.say(format.texts.page.written(words.html));
    }
    if (words.json) terminal.write(JSON.stringify({ ...report, against: current.against }));
    else terminal.write(`${impact.against[current.against](current.hash ?? '')}\n\n${impactText(report, format)}`);
  } finally {
    await apart?.close();
  }
}

type Current = { against: 'live' | 'folder' | 'folder-differs'; hash: string | null; files: readonly RuleFile[] };

/** `directory` null: the set that decides on the store; the desk's folder where none does. */
async function currentSet(world: CommandWorld, directory: string | null): Promise<Current> {
  if (directory !== null) return { against: 'folder', hash: null, files: world.readRules(directory) };
  const kept = await withDesk(world, (desk) => desk.keptSet('live'));
  const folder = folderOf(undefined);
  if (kept.kind !== 'found') return { against: 'folder', hash: null, files: world.readRules(folder) };
  const sources = JSON.parse(kept.source) as { path: string; value: unknown }[];
  const files = sources.map(({ path, value }) => ({ path, text: textOf(value) }));
  return { against: isSame(world, folder, kept.hash) ? 'live' : 'folder-differs', hash: kept.hash.slice(0, 12), files };
}

/** Rows of a value table stand in the set as the text that they are. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A folder that cannot be read, or is refused, is another one. */
function isSame(world: CommandWorld, folder: string, hash: string): boolean {
  try {
    const compiled = compileRuleSet(world.readRules(folder));
    return compiled.kind === 'compiled' && compiled.ruleSet.hash === hash;
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return false;
  }
}

/** `directory`: the rules that were named; null: none, so the set that decides is the current one. */
export async function runShadow(world: CommandWorld, directory: string | null, words: ImpactWords): Promise<void> {
  const candidate = join(directory ?? folderOf(undefined), shadowFolder);
  if (!existsSync(candidate)) throw new Fault('not-found', world.format.texts.impact.noShadow(candidate));
  await runImpact(world, { current: directory, candidate }, 'shadow', words);
}
