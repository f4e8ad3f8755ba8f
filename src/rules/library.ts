/**
 * `lance/rules`: rule sets read, checked, tested and evaluated, for programs other than this one. All functions are pure;
 * files come in as texts. What is not exported here may change without notice.
 */
export type { CapReservation, Reason } from '../domain/offer.ts';
export type { Economics, Limits, Strategy } from '../domain/policy.ts';
export { evaluateOffer, evaluateRequest, type OfferVerdict, type RequestVerdict } from './evaluate.ts';
export { catalogue, type FactDefinition, type Facts, type FactValue } from './facts.ts';
export { faultText, type RuleFault } from './place.ts';
export { type CompiledRuleSet, compileRuleSet, type RuleFile, type RuleSet, type RuleSummary } from './rule-set.ts';
export { junitOf, runTests, type TestReport } from './rule-tests.ts';
export { schemaFiles } from './schema.ts';
export { judgeRules, type RuleVerdict, reasonsAgainst } from './verdict.ts';
