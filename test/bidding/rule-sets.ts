/** What the tests of activation share: small rule sets told apart by one rule, their folders, and a policy that only names its set. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Policy } from '../../src/bidding/decide.ts';
import type { RuleReport, RuleWatch } from '../../src/bidding/ports.ts';
import { createRuleWatch } from '../../src/rule-watch.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { always, codesFile, ruleOf } from '../rules/sample-request.ts';

/** A set whose rule `Marker NAME` always fires; the tests beside it show all of it. */
export function filesNamed(name: string, others: readonly object[] = []): RuleFile[] {
  const rules = [
    ruleOf({ name: `Marker ${name}`, conditions: always, event: { type: 'limit', params: { maxInstallments: 90 } } }),
    ...others,
  ];
  const tests = [{ name: 'it fires', facts: {}, expect: { fired: [`Marker ${name}`] } }];
  return [
    codesFile,
    { path: 'rules.json', text: JSON.stringify({ rules }) },
    { path: 'rules.test.json', text: JSON.stringify({ base: {}, tests }) },
  ];
}

export function setNamed(name: string, others: readonly object[] = []): RuleSet {
  const compiled = compileRuleSet(filesNamed(name, others));
  if (compiled.kind === 'refused') throw new Error(JSON.stringify(compiled.faults));
  return compiled.ruleSet;
}

export type Folder = {
  path: string;
  /** Each file whole, one after the other. */
  put: (files: readonly RuleFile[]) => void;
  remove: () => void;
};

export function createFolder(files: readonly RuleFile[]): Folder {
  const path = mkdtempSync(join(tmpdir(), 'lance-folder-'));
  const put = (given: readonly RuleFile[]) => {
    for (const { path: name, text } of given) {
      const target = join(path, name);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(`${target}.new`, text);
      renameSync(`${target}.new`, target);
    }
  };
  put(files);
  return { path, put, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function shippedMapping() {
  const read = readRequestMapping(
    JSON.parse(readFileSync(new URL('../../config/request-mapping.json', import.meta.url), 'utf8')),
  );
  assert(read.kind === 'read');
  return read.mapping;
}

/** So that tests are soon over; whoever writes slowly needs more. */
export const shortRestMs = 120;
/** From the start of the thread to what it says of a folder that holds what is followed. */
export const shortFollowedRestMs = 3_000;

/** The thread that the daemon has, on this folder; `reports` is what it has told. */
export function watchFolder(
  { path }: Folder,
  restMs = shortRestMs,
  leastCoveragePercent = 100,
): RuleWatch & { reports: RuleReport[] } {
  const data = { directory: path, restMs, followedRestMs: shortFollowedRestMs, leastCoveragePercent };
  const watch = createRuleWatch({ ...data, mapping: shippedMapping() });
  const reports: RuleReport[] = [];
  return {
    ...watch,
    reports,
    start: (onReport, afterMs, followedHash) =>
      watch.start(
        (report, asFound) => {
          reports.push(report);
          onReport(report, asFound);
        },
        afterMs,
        followedHash,
      ),
  };
}

/** Whoever only asks which set is followed needs no more of a policy. */
export function policyNaming(ruleSet: RuleSet): Policy {
  return { ruleSet } as Policy;
}
