/** What the `rules` commands share: the folder of rules read, compiled, and its faults told. */
import { Fault } from '../errors.ts';
import { faultText, type RuleFault } from '../rules/place.ts';
import { compileRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { CommandWorld } from './world.ts';

export function tellFaults(world: CommandWorld, title: string, faults: readonly RuleFault[]): void {
  if (faults.length === 0) return;
  world.terminal.say(title);
  for (const fault of faults) world.terminal.say(`  ${faultText(fault)}`);
}

/** Throws `rules-refused` with every fault. */
export function requireRules(world: CommandWorld, directory: string): RuleSet {
  const compiled = compileRuleSet(world.readRules(directory));
  if (compiled.kind === 'compiled') return compiled.ruleSet;
  const lines = compiled.faults.map((fault) => `  ${faultText(fault)}`);
  throw new Fault('rules-refused', `${world.format.texts.rules.refused(compiled.faults.length)}\n${lines.join('\n')}`);
}
