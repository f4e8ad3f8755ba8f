/**
 * Judges a history by the promises, from outside: the service's own record, the log as text, the acknowledged webhooks,
 * the stores behind the views. It imports nothing of the desk's logic and believes nothing the desk says of itself.
 */
import { checkBids } from './check-bids.ts';
import { checkEnds } from './check-ends.ts';
import { checkExposure, checkLoans, checkRest, checkStatistics } from './check-views.ts';
import { readTrails } from './log-trails.ts';
import type { Evidence } from './world.ts';

export const violationKinds = [
  'two-payloads',
  'no-claim',
  'not-first-claim',
  'unread-claim',
  'unreserved',
  'late',
  'after-end',
  'limit',
  'paused',
  'not-owner',
  'ack-before-commit',
  'lost',
  'unended',
  'unexplained',
  'expired-early',
  'truth',
  'exposure',
  'released-twice',
  'over-cap',
  'statistics',
  'view-behind',
  'threw',
] as const;
export type ViolationKind = (typeof violationKinds)[number];

export type Violation = { kind: ViolationKind; text: string };

export type Report = (kind: ViolationKind, text: string) => void;

function collect(run: (report: Report) => void): Violation[] {
  const violations: Violation[] = [];
  run((kind, text) => violations.push({ kind, text }));
  return violations;
}

/** All faults are over, every auction has ended and is told, but bids are still valid: exposure has to add up now. */
export function checkAtRest(evidence: Evidence): Violation[] {
  return collect((report) => {
    const trails = readTrails(evidence.log);
    checkRest(evidence, report);
    checkExposure(evidence, trails, report);
  });
}

/** Every time has run out. */
export function checkInTheEnd(evidence: Evidence): Violation[] {
  return collect((report) => {
    const trails = readTrails(evidence.log);
    checkBids(evidence, trails, report);
    checkEnds(evidence, trails, report);
    checkStatistics(evidence, trails, report);
    checkLoans(evidence, trails, report);
    checkRest(evidence, report);
  });
}
