/** From configuration and rule files to the policy that decisions follow. */
import type { Policy } from './bidding/decide.ts';
import type { Config } from './config.ts';
import { Fault } from './errors.ts';
import { createRateTables } from './pricing/terms.ts';
import { priorDistribution } from './pricing/win-curve.ts';
import { faultText } from './rules/place.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from './rules/rule-set.ts';

/** Tables kept: terms asked for on one day, under the economics of all segments. */
const tableLimit = 2_048;

type PolicyConfig = Pick<Config, 'economics' | 'pricing' | 'settings'>;

/** Throws the fault `rules-refused`, naming every problem by file and pointer. */
export function policyOf(config: PolicyConfig, files: readonly RuleFile[]): Policy {
  const compiled = compileRuleSet(files);
  if (compiled.kind === 'refused') {
    const lines = compiled.faults.map((fault) => `  ${faultText(fault)}`);
    throw new Fault('rules-refused', `The rule set is refused:\n${lines.join('\n')}`);
  }
  return createPolicyMaker(config)(compiled.ruleSet);
}

/** Policies of one configuration share what does not hang on rules. */
export function createPolicyMaker({ economics, pricing, settings }: PolicyConfig): (ruleSet: RuleSet) => Policy {
  const common = {
    economics,
    tables: createRateTables(pricing, tableLimit),
    prior: priorDistribution(pricing.winCurve.prior),
    settingsHash: settings.hash,
  };
  return (ruleSet) => ({
    ...common,
    ruleSet,
    stored: [
      { kind: 'rule-set', hash: ruleSet.hash, content: ruleSet.source },
      { kind: 'settings', hash: settings.hash, content: settings.content },
    ],
  });
}
