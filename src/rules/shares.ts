/**
 * Rules for a share of the workers: `"share": 0.1` of a rule, always the same workers. Whether the worker is in is a fact that the
 * conditions of the rule ask for, so that it is seen, explained, tested and missed like any other.
 */
import type { DerivedFact } from './derived.ts';
import { listFact } from './facts.ts';
import type { Json } from './json.ts';
import { shareOf } from './keys.ts';
import { isObject, type Place, readNumber, refuse, within } from './place.ts';
import type { Comparison, Condition, RuleEvent, WorkerShare } from './rule.ts';

export const sharePrefix = 'share.';
const workerKey = 'worker.key';

/** What experiments draw by has a `/` and never a `:`, so no rule draws as an experiment does. */
function saltOf(name: string): string {
  return `rule:${name}`;
}

/** `given`: what the rule says; `salt` null: it has no name of its own. */
export function readShare(place: Place, given: Json, salt: string | null): WorkerShare | null {
  const at = within(place, 'share');
  const measure = { unit: 'share of the workers, 0.1 is 10 %', min: 0.001, max: 0.999, decimals: null };
  const share = readNumber(at, given, 'share', measure);
  if (salt === null)
    return refuse(at, 'A rule for a share of the workers draws them by its name; give the rule a "name".');
  return share === null ? null : { salt, share, fact: sharePrefix + salt };
}

/** A limit that lets more be offered, and what has a share of its own, are for all workers. */
export function refuseShared(place: Place, event: RuleEvent): void {
  if (event.type === 'experiment')
    refuse(
      within(place, 'share'),
      'An experiment has a share of its own; write it in its params, and remove this one.',
    );
  if (event.type === 'limit' && 'maxTermChange' in event.limits) {
    const text = 'maxTermChange lets more be offered, and a share may only limit; put it in a rule without a share.';
    refuse(within(place, 'share'), text);
  }
}

function inShare(fact: string): Comparison {
  return {
    ...{ kind: 'comparison', fact, written: 'equal', around: [], operator: 'equal' },
    ...{ types: { fact: 'boolean', value: 'boolean' }, value: true, valueFact: null },
  };
}

/** The conditions, and that the worker is in. */
export function sharedConditions({ fact }: WorkerShare, conditions: Condition): Condition {
  return { kind: 'all', parts: [inShare(fact), conditions] };
}

/** The same as json-rules-engine reads it. */
export function sharedText({ fact }: WorkerShare, written: Json): Json {
  const own: Json = { fact, operator: 'equal', value: true };
  return { all: isObject(written) ? [own, written] : [own] };
}

/** Unknown without a worker: then nobody knows who would always be treated alike. */
export function shareAsFact({ salt, share, fact }: WorkerShare): DerivedFact {
  const drawnBy = saltOf(salt);
  return {
    definition: { ...listFact(fact, workerKey), example: true },
    value: (facts) => {
      const worker = facts[workerKey];
      return typeof worker === 'string' ? shareOf(drawnBy, worker) < share : undefined;
    },
    uses: [workerKey],
    needed: [workerKey],
    lacking: () => [workerKey],
    isTotal: true,
    comesFirst: false,
    isSettable: true,
  };
}
