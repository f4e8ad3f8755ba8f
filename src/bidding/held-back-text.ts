/** What a set in the folder would take away, in words: apart, so that a command which only shows it need not load what judges it. */
import type { HeldBack } from './held-back.ts';

const shownHash = 12;

export function takenAwayText({ caps, capNames = [], rules, left, files }: Omit<HeldBack, 'hash'>): string {
  const names = capNames.join(', ');
  const gone = files.join(', ');
  const parts = [
    ...(caps > 0 ? [`every cap (${caps}${names === '' ? '' : `: ${names}`})`] : []),
    ...(caps === 0 && names !== '' ? [`the cap${capNames.length === 1 ? '' : 's'} ${names}`] : []),
    ...(left < rules ? [`${rules - left} of ${rules} rules${gone === '' ? '' : ` (${gone})`}`] : []),
    ...(left >= rules && gone !== '' ? [`all rules of ${gone}`] : []),
  ];
  return parts.join(' and ');
}

/** With what to do. */
export function heldBackText({ hash, ...taken }: HeldBack): string {
  const name = hash.slice(0, shownHash);
  return `the set in the folder, ${name}, would take away ${takenAwayText(taken)}: where that is meant, lance rules activate ${name} --by NAME --reason TEXT; else put the files back`;
}
