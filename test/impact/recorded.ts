/** What the tests of impact share: recorded requests of the sandbox's population, and the shipped rules with some more. */
import { auditLines } from '../../bench/audit-lines.ts';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { Policy } from '../../src/bidding/decide.ts';
import type { RecordedCase } from '../../src/impact/recorded-cases.ts';
import { policyOf } from '../../src/policy.ts';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import { readAuditLine } from '../../src/wire/audit-line.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { configOf } from '../bidding/house.ts';

export const config = configOf({
  baseUrl: 'http://127.0.0.1:1',
  dataDir: 'never-opened',
  accessToken: 'token-for-tests',
});
export const settings = config.bidding;
export const startsAt = Date.parse('2026-11-20T12:00:00Z');
export const pseudonymKey = 'a key for the tests of impact';
const vault = createVault(pseudonymKey);
export const shippedFiles = readRuleFiles(config.rulesDir);
const reading = readRequestMapping(mappingFile);
if (reading.kind === 'refused') throw new Error('the shipped mapping is refused');
export const { mapping } = reading;

export function policyWith(...more: RuleFile[]): Policy {
  return policyOf(config, [...shippedFiles, ...more]);
}

export function ruleFile(name: string, conditions: object, event: object): RuleFile {
  return { path: `${name}.json`, text: JSON.stringify({ name, description: 'of a test', conditions, event }) };
}

/** In batches of 10, every 12 s. */
export function linesOf(count: number): string[] {
  return [...auditLines({ count, seed: 'impact-test', startsAt, batchRequests: 10, everyMs: 12_000 })];
}

export function casesOf(
  count: number,
  change: (recorded: RecordedCase) => RecordedCase = (recorded) => recorded,
): RecordedCase[] {
  return linesOf(count).map((text) => {
    const read = readAuditLine(text, { mapping, vault });
    if (read.kind === 'refused') throw new Error(read.text);
    const { request, link, bids, control, acceptance } = read.line;
    const knownAt = request.receivedAt + settings.windowMs;
    return change({
      request,
      link,
      decidedAt: request.receivedAt,
      auction: { startedAt: null, endedAt: null, knownAt, rivals: bids ?? [] },
      control,
      acceptance,
    });
  });
}
