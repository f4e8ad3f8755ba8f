/** Facts that no request can bring under a mapping: a rule that asks for one would be undecided for ever. */

import { nearestWord } from './domain/nearest-word.ts';
import { extraPrefix, scorePrefix } from './rules/facts.ts';
import { isPersonalKey, type RequestMapping } from './wire/mapping-table.ts';

/** Why the fact can have no value, and what to do; null: it can have one. Of the catalogue's own facts nothing is said. */
export function whyAbsentIn(mapping: RequestMapping): (fact: string) => string | null {
  return (fact) => {
    if (fact.startsWith(scorePrefix)) return whyNoScore(mapping, fact.slice(scorePrefix.length));
    return fact.startsWith(extraPrefix) ? whyNoExtra(mapping, fact.slice(extraPrefix.length)) : null;
  };
}

function whyNoScore({ scores }: RequestMapping, name: string): string | null {
  const names = scores.map(([known]) => known);
  if (names.includes(name)) return null;
  const meant = nearestWord(name, names);
  const known = names.length === 0 ? 'it maps no score' : `its scores are ${names.join(', ')}`;
  const hint = meant === null ? '' : ` Did you mean "${scorePrefix}${meant}"?`;
  return `the mapping knows no score of this name, ${known}; add it under "scores" (LANCE_MAPPING).${hint}`;
}

function whyNoExtra(mapping: RequestMapping, path: string): string | null {
  const personal = path.split('.').find((key) => isPersonalKey(mapping, key));
  if (personal !== undefined) {
    return `"${personal}" is the name of personal data, which no rule sees; if it is none, take its word out of "personal" in the mapping (LANCE_MAPPING).`;
  }
  const lower = path.toLowerCase();
  if (!mapping.mapped.has(lower)) return null;
  const reads = (aliases: readonly { path: readonly string[] }[]) =>
    aliases.some((alias) => alias.path.join('.') === lower);
  const scores = mapping.scores.filter(([, aliases]) => reads(aliases)).map(([name]) => `"${scorePrefix}${name}"`);
  if (scores.length > 0) return `the mapping reads that key as ${scores.join(' and ')}; write that.`;
  return 'the mapping reads that key as a fact of the catalogue; write that fact: rules/schema/facts.md lists them.';
}
