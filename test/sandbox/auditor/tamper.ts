/** Tools to tamper with a copy of a clean run, and to ask what the auditor names. */
import assert from 'node:assert/strict';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { audit } from '../../../src/sandbox/auditor/audit.ts';
import type { AuditSettings, Violation, ViolationCode } from '../../../src/sandbox/auditor/violation.ts';
import type { SandboxEntry } from '../../../src/sandbox/record.ts';
import { type Evidence, runOf, type SmallRun } from './small-run.ts';

type Kind = SandboxEntry['kind'];
export const entryOf = <K extends Kind>(
  evidence: Evidence,
  kind: K,
  fits: (entry: Extract<SandboxEntry, { kind: K }>) => boolean = () => true,
) =>
  evidence.entries.find(
    (entry): entry is Extract<SandboxEntry, { kind: K }> =>
      entry.kind === kind && fits(entry as Extract<SandboxEntry, { kind: K }>),
  )!;
export const callOf = (evidence: Evidence) => entryOf(evidence, 'call', (call) => call.outcome === 'accepted');
export const recordOf = <K extends AuctionRecord['kind']>(evidence: Evidence, kind: K, requestId?: string) =>
  evidence.log.find(
    (record): record is Extract<AuctionRecord, { kind: K }> =>
      record.kind === kind && (requestId === undefined || record.requestId === requestId),
  )!;
export const without = <T>(list: T[], item: T) => void list.splice(list.indexOf(item), 1);
export const after = <T>(list: T[], item: T, more: T) => void list.splice(list.indexOf(item) + 1, 0, more);

/** The violations of the run after `tamper`, which gets a copy. */
export async function judged(
  small: SmallRun,
  tamper: (evidence: Evidence) => unknown,
  { withViews = false, ...changes }: Partial<AuditSettings> & { withViews?: boolean } = {},
): Promise<Violation[]> {
  const copy = structuredClone(small.evidence);
  tamper(copy);
  return audit(await runOf(copy), { ...small.settings, ...changes }, withViews ? copy.views : undefined).violations;
}

export function named(
  violations: readonly Violation[],
  code: ViolationCode,
  requestId: string | null,
  text: RegExp,
): void {
  const found = violations.filter((violation) => violation.code === code && violation.requestId === requestId);
  assert.ok(
    found.some((violation) => text.test(violation.text)),
    `${code} for ${requestId} in ${JSON.stringify(violations)}`,
  );
}
export function only(
  violations: readonly Violation[],
  code: ViolationCode,
  requestId: string | null,
  text: RegExp,
): void {
  named(violations, code, requestId, text);
  assert.deepEqual([...new Set(violations.map((violation) => violation.code))], [code]);
}
