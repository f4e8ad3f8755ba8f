/** What the `rules` commands share: the folder of rules read, compiled, and its faults told. */
import { whyAbsentIn } from '../absent-facts.ts';
import type { RuleReport } from '../bidding/ports.ts';
import { defaultRulesDir } from '../config.ts';
import { Fault } from '../errors.ts';
import { faultText, type RuleFault } from '../rules/place.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../rules/rule-set.ts';
import { confirmRules, type ReasonTexts, reasonsAgainst } from '../rules/verdict.ts';
import type { CommandWorld } from './world.ts';

/** The folder that is named, else the desk's. */
export function folderOf(named: string | undefined): string {
  return named ?? process.env.LANCE_RULES_DIR ?? defaultRulesDir;
}

/** In the language of the command's texts. */
export function faultLine({ format }: CommandWorld, fault: RuleFault): string {
  return faultText({ ...fault, text: format.texts.rules.fault(fault.text) });
}

export function tellFaults(world: CommandWorld, title: string, faults: readonly RuleFault[]): void {
  if (faults.length === 0) return;
  world.terminal.say(title);
  for (const fault of faults) world.terminal.say(`  ${faultLine(world, fault)}`);
}

/** How `reasonsAgainst` says it in the language of the command. */
export function reasonTexts({ texts, share }: CommandWorld['format']): ReasonTexts {
  const { fault, testFailed, uncovered, tooLittle, truths } = texts.rules;
  return {
    ...{ fault, testFailed },
    uncovered: (rule, condition, missing) =>
      uncovered(rule, condition, missing.map((truth) => truths[truth]).join(', ')),
    tooLittle: (coverage) => tooLittle(share(coverage)),
  };
}

/** What the thread of a desk would say of these files. */
export async function judgeOf(
  world: CommandWorld,
  files: readonly RuleFile[],
  leastCoveragePercent: number,
): Promise<RuleReport> {
  const absent = whyAbsentIn(world.mapping(null));
  const verdict = await confirmRules(files, leastCoveragePercent, world.clock.now(), absent);
  if (verdict.kind === 'good') return { kind: 'good', hash: verdict.ruleSet.hash, source: verdict.ruleSet.source };
  const text = reasonsAgainst(verdict, reasonTexts(world.format))
    .map((reason) => `  ${reason}`)
    .join('\n');
  return { kind: 'refused', text, ...(verdict.kind === 'refused' ? {} : { compiles: true }) };
}

/** Throws `rules-refused` with every fault. */
export function requireRules(world: CommandWorld, directory: string): RuleSet {
  const compiled = compileRuleSet(world.readRules(directory));
  if (compiled.kind === 'compiled') return compiled.ruleSet;
  const lines = compiled.faults.map((fault) => `  ${faultLine(world, fault)}`);
  throw new Fault('rules-refused', `${world.format.texts.rules.refused(compiled.faults.length)}\n${lines.join('\n')}`);
}
