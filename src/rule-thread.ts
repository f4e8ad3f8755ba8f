/**
 * The thread that reads and checks rules, put together here because it has to know the folder: however large or hostile a file
 * is, decisions go on meanwhile. It tells what has come to rest: what two readings one after the other found alike.
 */
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { readRuleFiles } from './adapters/system/rule-files.ts';
import type { RuleReport } from './bidding/ports.ts';
import { Fault } from './errors.ts';
import type { RuleQuestion, RuleThreadData, RuleWord } from './rule-watch.ts';
import type { RuleFile } from './rules/rule-set.ts';
import { hashUnchecked } from './rules/set-hash.ts';

/** Before a desk can start it waits for the folder: long enough to see that nobody is writing just then. */
const firstRestMs = 100;
const shownReasons = 100;

type Reading = { kind: 'files'; files: readonly RuleFile[] } | { kind: 'unreadable'; text: string };

function read(directory: string): Reading {
  try {
    return { kind: 'files', files: readRuleFiles(directory) };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return { kind: 'unreadable', text: fault.message };
  }
}

async function judge(reading: Reading, { leastCoveragePercent, mapping }: RuleThreadData): Promise<RuleReport> {
  if (reading.kind === 'unreadable') return { kind: 'refused', text: reading.text };
  // The check itself is read when there is something to check.
  const [{ confirmRules, reasonsAgainst }, { whyAbsentIn }] = await Promise.all([
    import('./rules/verdict.ts'),
    import('./absent-facts.ts'),
  ]);
  const verdict = await confirmRules(reading.files, leastCoveragePercent, Date.now(), whyAbsentIn(mapping));
  if (verdict.kind === 'good') {
    const { ruleSet, report } = verdict;
    const { results, coverage, uncovered } = report;
    const tested = { count: results.length, coverage, uncovered: uncovered.slice(0, shownReasons) };
    return { kind: 'good', hash: ruleSet.hash, source: ruleSet.source, tested };
  }
  const reasons = reasonsAgainst(verdict).slice(0, shownReasons);
  const text = reasons.map((reason) => `  ${reason}`).join('\n');
  return { kind: 'refused', text, ...(verdict.kind === 'refused' ? {} : { compiles: true }) };
}

async function check(source: string): Promise<RuleReport> {
  const [{ openRuleSet }, { faultText }] = await Promise.all([
    import('./rules/rule-set.ts'),
    import('./rules/place.ts'),
  ]);
  const opened = openRuleSet(source);
  if (opened.kind === 'compiled') return { kind: 'good', hash: opened.ruleSet.hash, source };
  return { kind: 'refused', text: opened.faults.map(faultText).join('\n') };
}

async function watch(tell: (word: RuleWord) => void, data: RuleThreadData): Promise<never> {
  const { directory, restMs, followedHash } = data;
  const laterAt = performance.now() + data.followedRestMs;
  let told: string | null = null;
  let seen: string | null = null;
  let postponed: string | null = null;
  for (;;) {
    const reading = read(directory);
    const text = JSON.stringify(reading);
    const holdsFollowed = () =>
      reading.kind === 'files' && followedHash !== null && hashUnchecked(reading.files) === followedHash;
    if (text === seen && text !== told) {
      if (told === null && performance.now() < laterAt && (text === postponed || holdsFollowed())) postponed = text;
      else {
        const asFound = told === null && (postponed === null || postponed === text);
        tell({ kind: 'folder', report: await judge(reading, data), asFound });
        told = text;
        // A thread keeps what it alone has loaded; see `main.ts`.
        flushCompileCache();
      }
    }
    seen = text;
    await sleep(told === null && postponed === null ? firstRestMs : restMs);
  }
}

function serve(port: MessagePort, data: RuleThreadData): void {
  const tell = (word: RuleWord) => port.postMessage(word);
  const answer = async (question: RuleQuestion): Promise<void> => {
    const { id } = question;
    if ('source' in question) tell({ kind: 'answer', id, report: await check(question.source) });
    else tell({ kind: 'answer', id, report: await judge({ kind: 'files', files: question.files }, data) });
  };
  port.on('message', (question: RuleQuestion) => void answer(question));
  void watch(tell, data);
}

if (parentPort !== null) serve(parentPort, workerData as RuleThreadData);
