/** Prints the transition table for docs/states.md. */

import { type Transition, transitions, triggers } from '../../src/bidding/transitions.ts';
import { phases } from '../../src/domain/states.ts';

export const openingMark = '<!-- transitions -->';
export const closingMark = '<!-- /transitions -->';

function targetText({ to, exposure, timer }: Transition, from: string): string {
  const parts = [to === from ? 'stays' : `**${to}**`];
  if (exposure !== 'keep') parts.push(exposure);
  if (timer !== 'keep' && timer !== null) parts.push(`⏱ ${timer}`);
  return parts.join(', ');
}

/** One line a state; what leads to the same end stands together. Closing a timer is not said. */
export function transitionTable(): string {
  const lines = ['| State | What comes → state, exposure, timer |', '|---|---|'];
  for (const phase of ['unseen', ...phases] as const) {
    const byTarget = new Map<string, string[]>();
    for (const trigger of triggers) {
      const transition = transitions[phase][trigger];
      if (transition === undefined) continue;
      const target = targetText(transition, phase);
      byTarget.set(target, [...(byTarget.get(target) ?? []), trigger]);
    }
    const cells = [...byTarget].map(([target, names]) => `${names.join(', ')} → ${target}`);
    lines.push(`| ${phase} | ${cells.join('; ')} |`);
  }
  return lines.join('\n');
}
