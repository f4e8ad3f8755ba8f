/** Requests that one rule set bids on and the other passes, or that are passed for another reason, and which codes and rules did it. */
import type { RequestId } from '../domain/glossary.ts';
import type { SetDecision } from './desk-replay.ts';

type Turn = 'to-pass' | 'to-bid' | 'other-code';

export type Flip = {
  requestId: RequestId;
  segment: string;
  turn: Turn;
  /** `bid`, or the code of the pass. */
  from: string;
  to: string;
  /** Rules that the pass names, of the set that passes (of the candidate where both do). */
  rules: readonly string[];
  /** Caps without room, of the same set; absent: none. */
  caps?: readonly string[];
};

export type FlipCause = {
  turn: Turn;
  from: string;
  to: string;
  rules: readonly string[];
  caps?: readonly string[];
  count: number;
};

function wordOf(decision: SetDecision): string {
  return decision.kind === 'bid' ? 'bid' : decision.code;
}

function rulesOf(decision: SetDecision): string[] {
  if (decision.kind === 'bid') return [];
  const named = decision.reasons.flatMap(({ rule }) => (rule === null ? [] : [rule]));
  return [...new Set([...named, ...(decision.limitRules ?? [])])];
}

function turnOf(was: SetDecision, is: SetDecision): Turn | null {
  if (was.kind === 'bid') return is.kind === 'pass' ? 'to-pass' : null;
  if (is.kind === 'bid') return 'to-bid';
  return was.code === is.code ? null : 'other-code';
}

export type Flips = {
  add: (
    requestId: RequestId,
    segmentKeys: readonly string[],
    decisions: readonly [current: SetDecision, candidate: SetDecision],
  ) => void;
  /** Causes by how many requests they turned. */
  close: () => { flips: readonly Flip[]; causes: readonly FlipCause[] };
};

export function createFlips(): Flips {
  const flips: Flip[] = [];
  const causes = new Map<string, FlipCause & { count: number }>();
  return {
    add: (requestId, segmentKeys, [was, is]) => {
      const turn = turnOf(was, is);
      if (turn === null) return;
      const [from, to] = [wordOf(was), wordOf(is)];
      const passing = is.kind === 'pass' ? is : was;
      const rules = rulesOf(passing);
      const caps = passing.kind === 'pass' && passing.caps !== undefined ? { caps: passing.caps } : {};
      flips.push({ requestId, segment: segmentKeys.at(-1) ?? '', turn, from, to, rules, ...caps });
      const key = JSON.stringify([turn, from, to, rules, caps]);
      const cause = causes.get(key) ?? { turn, from, to, rules, ...caps, count: 0 };
      cause.count += 1;
      causes.set(key, cause);
    },
    close: () => ({
      flips,
      causes: [...causes]
        .sort(([one, more], [other, less]) => less.count - more.count || (one < other ? -1 : 1))
        .map(([, cause]) => cause),
    }),
  };
}
