/** Whether the desk did as it was ordered: no bid beyond a cap of the rules or by hand, none while it was paused. */
import { fullCap, noUsage, type Promised } from './exposure.ts';
import { capsOrdered, type Orders } from './orders.ts';
import type { RequestCase, Run } from './run.ts';
import { boundsOf } from './shared-caps.ts';
import type { AuditSettings, Report } from './violation.ts';

/**
 * What was surely promised while a bid went out leaves room for it under every cap that was ordered when it was decided. The
 * caps that the claim names are not looked at.
 */
export function checkOrderedCaps(
  run: Run,
  promised: readonly Promised[],
  orders: Orders,
  settings: AuditSettings,
  report: Report,
): void {
  const { clockToleranceMs } = settings;
  const capsOf = new Map(
    [...run.cases.values()].flatMap((known) => {
      const { claim } = known.evidence;
      return claim === null
        ? []
        : [[known.requestId, capsOrdered(orders, known, { decidedAt: claim.trace.decidedAt, at: claim.at }, settings)]];
    }),
  );
  const counted = promised.map((own) => {
    const keys = capsOf
      .get(own.requestId)!
      .flatMap(({ keys: [key] }) => (/\|hour \d+$/.test(key!) === (own.share === 'windows') ? [key!] : []));
    return { ...own, keys: [...new Set(keys)] };
  });
  const boundsFor = boundsOf(run, counted, clockToleranceMs);
  for (const { requestId, evidence, calls } of run.cases.values()) {
    const { claim } = evidence;
    if (claim === null || calls.length === 0) continue;
    const { decidedAt } = claim.trace;
    if (decidedAt > claim.at + clockToleranceMs) {
      report('over-cap', requestId, 'it says that it was decided after it was claimed');
    }
    const sentAt = Math.min(...calls.map(({ arrivedAt }) => arrivedAt)) + clockToleranceMs;
    const usedOf = (key: string) => boundsFor(key)?.least(claim.at - clockToleranceMs, sentAt) ?? noUsage;
    const own = { amountCents: claim.offer.amountCents, count: 1 };
    const full = fullCap(capsOf.get(requestId)!, own, usedOf);
    if (full !== null) report('over-cap', requestId, `its bid went out, and what was ordered left no room: ${full}`);
  }
}

/** A claim that is taken back for a cap by hand needs one that was ordered between its decision and its end. */
export function checkTakenBack(
  { requestId, evidence }: RequestCase,
  { caps }: Orders,
  { controlMaxAgeMs, clockToleranceMs }: AuditSettings,
  report: Report,
): void {
  const { claim, unsent } = evidence;
  if (claim === null || unsent?.code !== 'cap-lowered') return;
  const from = claim.trace.decidedAt - controlMaxAgeMs - clockToleranceMs;
  const until = unsent.at + clockToleranceMs;
  if (caps.some(({ at, limitCents }) => limitCents !== null && at >= from && at <= until)) return;
  report(
    'exposure',
    requestId,
    'taken back for a cap by hand; none was set or lowered between its decision and its end',
  );
}

/** Bytes that were on their way when the pause was heard arrive after it. */
export function checkPauses(
  { requestId, calls }: RequestCase,
  { pauses }: Orders,
  { controlMaxAgeMs, onTheWayMs, clockToleranceMs }: AuditSettings,
  report: Report,
): void {
  for (const { arrivedAt } of calls) {
    const pause = pauses.find(
      ({ from, until }) =>
        from + controlMaxAgeMs + onTheWayMs + clockToleranceMs < arrivedAt &&
        arrivedAt < (until ?? Number.POSITIVE_INFINITY) - clockToleranceMs,
    );
    if (pause === undefined) continue;
    report('sent-while-paused', requestId, `bytes arrived ${arrivedAt - pause.from} ms after a pause was ordered`);
  }
}
