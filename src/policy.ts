/** From configuration and rule files to the policy that decisions follow. */
import type { Policy } from './bidding/decide.ts';
import type { Config } from './config.ts';
import type { Economics } from './domain/policy.ts';
import { Fault } from './errors.ts';
import type { PricingSettings } from './pricing/settings.ts';
import { createRateTables } from './pricing/terms.ts';
import { priorDistribution } from './pricing/win-curve.ts';
import { faultText } from './rules/place.ts';
import { compileRuleSet, type RuleFile } from './rules/rule-set.ts';

/** Tables kept: terms asked for on one day, under the economics of all segments. */
const tableLimit = 2_048;

/** Throws the fault `rules-refused`, naming every problem by file and pointer. */
export function policyOf(
  config: Pick<Config, 'economics' | 'pricing' | 'settings'>,
  files: readonly RuleFile[],
): Policy {
  const compiled = compileRuleSet(files);
  if (compiled.kind === 'refused') {
    const lines = compiled.faults.map((fault) => `  ${faultText(fault)}`);
    throw new Fault('rules-refused', `The rule set is refused:\n${lines.join('\n')}`);
  }
  const { ruleSet } = compiled;
  return {
    ...pricingPolicy(config.economics, config.pricing),
    ruleSet,
    settingsHash: config.settings.hash,
    stored: [
      { kind: 'rule-set', hash: ruleSet.hash, content: ruleSet.source },
      { kind: 'settings', hash: config.settings.hash, content: config.settings.content },
    ],
  };
}

/** Whether the rule files as they are now would be refused at a start. Compiles them only when they have changed. */
export function createRuleCheck(readFiles: () => readonly RuleFile[]): () => boolean {
  let last: { text: string; refused: boolean } | null = null;
  return () => {
    let files: readonly RuleFile[];
    try {
      files = readFiles();
    } catch (fault) {
      if (fault instanceof Fault) return true;
      throw fault;
    }
    const text = JSON.stringify(files);
    if (last?.text !== text) last = { text, refused: compileRuleSet(files).kind === 'refused' };
    return last.refused;
  };
}

function pricingPolicy(economics: Economics, pricing: PricingSettings): Pick<Policy, 'economics' | 'tables' | 'prior'> {
  return {
    economics,
    tables: createRateTables(pricing, tableLimit),
    prior: priorDistribution(pricing.winCurve.prior),
  };
}
