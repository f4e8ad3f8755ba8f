/**
 * How often each rule of one set shaped what became of requests, counted from what the decisions recorded. The first decision of a
 * request counts, as in the log; a claim that was given up before it was sent is a pass.
 */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Reason } from '../domain/offer.ts';
import type { AuctionRecord, Passed } from '../domain/records.ts';
import type { RuleSet, RuleSummary } from './rule-set.ts';

export type RuleHits = Pick<RuleSummary, 'stage' | 'event'> & {
  rule: string;
  /** Decisions on which it had an effect; of an undecided pass, limit or cap as well. */
  effects: number;
  /** Passes whose first reason it is. */
  decided: number;
  /** Those of them with no reason of another rule. */
  alone: number;
  /** Passes among whose reasons it is because a fact was missing. */
  unknown: number;
  /** Passes for want of room under its cap; only a rule that sets one has any. */
  full: number;
  /** Passes because nothing that could be offered was within the limits, of which its were among the tightest; only of a rule that sets any. */
  limited: number;
  /** Decisions in which it was asleep. */
  asleep: number;
};

export type HitsReport = {
  hash: string;
  /** By this set, in the span. */
  decisions: number;
  bids: number;
  /** Among the decisions; `byRules`: those whose first reason is a rule's. */
  passes: number;
  byRules: number;
  /** Decisions in the span by other sets, which count for nothing else. */
  byOtherSets: number;
  /** Those with most effects first. */
  rules: readonly RuleHits[];
};

type Span = { since: EpochMs; until: EpochMs };

/** `capOf`: the name of the rules' cap that had no room, of a pass with these reasons; null: none, or not told. */
type CapOf = (reasons: readonly Reason[]) => string | null;

/** Rules whose limits the pass goes back to; none: not told, or it goes back to something else. */
type LimitersOf = (pass: Passed) => readonly string[];

/** `add` is given the records of each request in the order of the log. Days and times are those of the decisions; both ends included. */
export function createHitCount(
  { hash, rules }: Pick<RuleSet, 'hash' | 'rules'>,
  { since, until }: Span,
  capOf: CapOf,
  limitersOf: LimitersOf,
): { add: (record: AuctionRecord) => void; report: () => HitsReport } {
  const none = { effects: 0, decided: 0, alone: 0, unknown: 0, full: 0, limited: 0, asleep: 0 };
  const hits = new Map<string, RuleHits>(
    rules.map(({ name, stage, event }) => [name, { rule: name, stage, event, ...none }]),
  );
  const ofCaps = new Map(
    rules.flatMap(({ name, cap }) => (cap === undefined ? [] : [[cap, hits.get(name)!] as const])),
  );
  const total = { decisions: 0, bids: 0, passes: 0, byRules: 0, byOtherSets: 0 };
  /** Requests that were decided: by which claim of this set in the span; null: by something else. */
  const claims = new Map<RequestId, string | null>();

  const pass = (record: Passed): void => {
    const { reasons } = record;
    total.passes += 1;
    const first = hits.get(reasons[0]?.rule ?? '');
    if (first !== undefined) {
      total.byRules += 1;
      first.decided += 1;
      if (reasons.every(({ rule }) => rule === first.rule)) first.alone += 1;
    }
    const full = capOf(reasons);
    const cap = full === null ? undefined : ofCaps.get(full);
    if (cap !== undefined) cap.full += 1;
    for (const rule of limitersOf(record)) if (hits.has(rule)) hits.get(rule)!.limited += 1;
    const lacking = reasons.filter(({ code }) => code.startsWith('fact-missing:')).map(({ rule }) => rule);
    for (const rule of new Set(lacking)) if (hits.has(rule ?? '')) hits.get(rule!)!.unknown += 1;
  };

  const decide = (record: Extract<AuctionRecord, { kind: 'claimed' | 'passed' }>): boolean => {
    const { trace } = record;
    if (trace === null || trace.decidedAt < since || trace.decidedAt > until) return false;
    if (trace.ruleSetHash !== hash) {
      total.byOtherSets += 1;
      return false;
    }
    total.decisions += 1;
    for (const name of trace.rulesFired) if (hits.has(name)) hits.get(name)!.effects += 1;
    for (const { rule } of trace.snoozed ?? []) if (hits.has(rule)) hits.get(rule)!.asleep += 1;
    return true;
  };

  return {
    add: (record) => {
      if (record.kind !== 'claimed' && record.kind !== 'passed') return;
      const { requestId } = record;
      const claim = claims.get(requestId);
      if (record.kind === 'claimed') {
        if (claim !== undefined) return;
        const counts = decide(record);
        claims.set(requestId, counts ? record.claimId : null);
        if (counts) total.bids += 1;
      } else if (claim === undefined) {
        claims.set(requestId, null);
        if (decide(record)) pass(record);
      } else if (claim !== null && record.claimId === claim) {
        claims.set(requestId, null);
        total.bids -= 1;
        pass(record);
      }
    },
    report: () => ({
      hash,
      ...total,
      rules: [...hits.values()].sort(
        (left, right) => right.effects - left.effects || (left.rule < right.rule ? -1 : 1),
      ),
    }),
  };
}
