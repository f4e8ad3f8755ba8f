/** `lance rules impact` and `lance rules shadow`: a candidate set beside the current one on recorded requests. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Policy } from '../bidding/decide.ts';
import type { Model } from '../config.ts';
import { Fault } from '../errors.ts';
import { type ImpactReport, measureImpact } from '../impact/impact.ts';
import type { RecordedCase } from '../impact/recorded-cases.ts';
import type { Replayed } from '../impact/replay-sets.ts';
import { policyOf } from '../policy.ts';
import type { RuleFile } from '../rules/rule-set.ts';
import { writeHtml } from './html-file.ts';
import { checkPlace } from './named-file.ts';
import { readCaseFile, readLoggedCases } from './recorded-cases.ts';
import type { ReplayTask } from './replay-thread.ts';
import { impactPage } from './rules-impact-page.ts';
import { impactText } from './rules-impact-text.ts';
import { createProgress } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

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

async function casesOf(world: CommandWorld, words: ImpactWords, model: Model): Promise<RecordedCase[]> {
  const { terminal, format } = world;
  const progress = createProgress(terminal, format.texts.impact.reading);
  const show = (read: number) => {
    if (!words.json && terminal.interactive) progress.show(read, read, '');
  };
  const { file } = words;
  if (file !== undefined) {
    const vault = world.createVault(process.env.LANCE_PSEUDONYM_KEY || keyForNobody);
    return readCaseFile(world, file, { vault, settings: model.bidding }, show);
  }
  const wanted = (words.last ?? 0) + (words.warmUp ?? 0);
  return withReader(world, ({ log }) => readLoggedCases(log, wanted, show));
}

/** Fewer are replayed before a thread has started. */
const worthThread = 2_000;

function replayApart(task: ReplayTask): Promise<Replayed> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./replay-thread.ts', import.meta.url), { workerData: task });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the thread of the candidate ended early')));
  });
}

export async function runImpact(
  world: CommandWorld,
  directories: { current: string; candidate: string },
  kind: ImpactReport['kind'],
  words: ImpactWords,
): Promise<void> {
  const { terminal, format } = world;
  const { impact } = format.texts;
  if (words.html !== undefined) checkPlace(world, words.html);
  const model = world.model();
  const files: readonly RuleFile[] = world.readRules(directories.candidate);
  const policies: Record<'current' | 'candidate', Policy> = {
    current: policyOf(model, world.readRules(directories.current)),
    candidate: policyOf(model, files),
  };
  const cases = await casesOf(world, words, model);
  const warmUp = words.file === undefined ? Math.max(0, cases.length - (words.last ?? 0)) : (words.warmUp ?? 0);
  if (cases.length <= warmUp) throw new Fault('not-found', impact.nothing);
  const progress = createProgress(terminal, impact.deciding);
  const report = await measureImpact(cases, {
    kind,
    ...policies,
    settings: model.bidding,
    warmUp,
    seed: words.seed,
    draws: words.draws,
    elsewhere: cases.length < worthThread ? null : (ordered) => replayApart({ model, files, ordered }),
    onProgress: (done, of) => {
      if (!words.json) progress.show(done, of, '');
    },
  });
  if (!words.json) progress.end();
  if (words.html !== undefined) {
    writeHtml(world, words.html, impactPage(report, format));
    terminal.say(format.texts.page.written(words.html));
  }
  terminal.write(words.json ? JSON.stringify(report) : impactText(report, format));
}

export async function runShadow(world: CommandWorld, directory: string, words: ImpactWords): Promise<void> {
  const candidate = join(directory, shadowFolder);
  if (!existsSync(candidate)) throw new Fault('not-found', world.format.texts.impact.noShadow(candidate));
  await runImpact(world, { current: directory, candidate }, 'shadow', words);
}
