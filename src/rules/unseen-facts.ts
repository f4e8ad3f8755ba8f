/** Facts of `extra` that no request of late has brought: a rule by one is undecided for each of them. Whether it is misspelt nobody can know. */
import { nearestWord } from '../domain/nearest-word.ts';
import { basesOf } from './derived.ts';
import { factsIn } from './extents.ts';
import { extraPrefix } from './facts.ts';
import type { RuleFault } from './place.ts';
import type { RuleSet } from './rule-set.ts';

/** Fewer requests say nothing of what others bring. */
const leastRequests = 20;

/** `requests`: the names under `extra` that each of them has. */
export function unseenFacts(
  { rules, derived }: Pick<RuleSet, 'rules' | 'derived'>,
  requests: readonly (readonly string[])[],
): RuleFault[] {
  if (requests.length < leastRequests) return [];
  // One place in a list is as good as another one.
  const seen = new Set(requests.flat().map((name) => withoutPlaces(`${extraPrefix}${name}`)));
  return rules.flatMap(({ name, conditions, valueFacts, file, pointer }) => {
    const bases = [...factsIn(conditions), ...valueFacts].flatMap((fact) => basesOf(derived, fact));
    const unseen = [...new Set(bases)].filter((fact) => fact.startsWith(extraPrefix) && !seen.has(withoutPlaces(fact)));
    return unseen.map((fact) => {
      const meant = nearestWord(fact, [...seen]);
      const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
      const text = `"${name}" asks for "${fact}", which none of the latest ${requests.length} requests has brought: it was undecided for each of them.${hint}`;
      return { file, pointer, line: null, text };
    });
  });
}

function withoutPlaces(fact: string): string {
  return fact.replaceAll(/\.\d+(?=\.|$)/g, '.*');
}
