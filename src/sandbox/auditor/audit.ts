/**
 * The auditor: judges a run from the sandbox's record and the log alone, with code of its own. What it finds is a list of
 * violations, each with a code, the request and a text; an empty list is the desk's good name.
 */
import type { RequestId } from '../../domain/glossary.ts';
import { checkCapKeys } from './cap-keys.ts';
import { checkAcknowledged, checkEnd, checkLedger, checkReasons, checkTruth, checkTwoEnds } from './ending.ts';
import { checkReservations, checkViewsExposure, foldExposure } from './exposure.ts';
import { checkOrderedCaps, checkPauses, checkTakenBack } from './obedience.ts';
import { checkReview } from './review.ts';
import type { Run } from './run.ts';
import { checkAfterEnds, checkClaimed, checkDeadline, checkLimits, checkNameless, checkPayloads } from './sending.ts';
import { checkSharedCaps } from './shared-caps.ts';
import { checkSources } from './sources.ts';
import { checkStatistics, expectedCounts } from './statistics.ts';
import type { AuditSettings, Report, ViewsRead, Violation } from './violation.ts';

type AuditCounts = {
  /** Requests that the world emitted, and those of a webhook that was acknowledged. */
  requests: number;
  acknowledged: number;
  records: number;
  calls: number;
  /** Requests by what the log says of them in the end. */
  ends: Readonly<Record<string, number>>;
  /** Claims that came after the one that counts, or after a pass. */
  laterClaims: number;
};

type AuditReport = { violations: Violation[]; counts: AuditCounts };

/** Pure. `views` left out: only the log and the record are judged. */
export function audit(run: Run, settings: AuditSettings, views?: ViewsRead): AuditReport {
  const violations: Violation[] = [];
  const report: Report = (code, requestId, text) => void violations.push({ code, requestId, text });
  for (const known of run.cases.values()) {
    checkPayloads(known, report);
    checkClaimed(known, settings.clockToleranceMs, report);
    checkDeadline(known, settings, report);
    checkLimits(known, settings, report);
    checkEnd(known, report);
    checkReasons(known, report);
    checkTwoEnds(known, settings.owners, report);
    checkTruth(known, report);
    checkReview(known, settings, report);
    checkSources(known, report);
  }
  checkAfterEnds(run, settings, report);
  checkNameless(run, report);
  checkAcknowledged(run, report);
  const exposure = foldExposure(run, settings.graceMs);
  if (run.partitions > 1) checkSharedCaps(run, exposure.promised, settings.clockToleranceMs, report);
  else checkReservations(run, exposure, report);
  const { orders } = settings;
  if (orders !== null) {
    checkOrderedCaps(run, exposure.promised, orders, settings, report);
    for (const known of run.cases.values()) {
      checkCapKeys(known, orders, settings, report);
      checkPauses(known, orders, settings, report);
      checkTakenBack(known, orders, settings, report);
    }
  }
  if (views !== undefined) {
    checkViewsExposure(run, exposure, views, report);
    checkStatistics(run, views, settings.rootSegment, report);
    checkLedger(run, views, report);
  }
  return { violations, counts: countsOf(run) };
}

/** What to ask the views for, so that `audit` can judge them. */
export function viewKeysOf(
  run: Run,
  settings: Pick<AuditSettings, 'graceMs' | 'rootSegment'>,
): { requestIds: RequestId[]; capKeys: string[]; statisticKeys: string[] } {
  return {
    requestIds: [...run.cases.values()].filter(({ records }) => records.length > 0).map(({ requestId }) => requestId),
    capKeys: [...foldExposure(run, settings.graceMs).keys],
    statisticKeys: [...expectedCounts(run, settings.rootSegment).keys()],
  };
}

function countsOf(run: Run): AuditCounts {
  const ends: Record<string, number> = {};
  let requests = 0;
  let calls = run.nameless.length;
  let laterClaims = 0;
  for (const { truth, records, standing, evidence, calls: own } of run.cases.values()) {
    if (truth !== null) requests += 1;
    calls += own.length;
    if (records.length > 0) ends[standing.end] = (ends[standing.end] ?? 0) + 1;
    laterClaims += records.filter((record) => record.kind === 'claimed' && record !== evidence.claim).length;
  }
  const acknowledged = new Set(
    run.tellings.flatMap(({ delivery, acknowledgedSentAt }) =>
      delivery.what === 'requests' && acknowledgedSentAt !== null ? delivery.requestIds : [],
    ),
  ).size;
  return { requests, acknowledged, records: run.log.length, calls, ends, laterClaims };
}
