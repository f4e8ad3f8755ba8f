/** What the tests of refusals share: one rule file, and the one fault that it must have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleFault } from '../../src/rules/place.ts';
import { compileRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { always, filesOf, ruleOf } from './sample-request.ts';

function faultsOf(files: readonly RuleFile[]): readonly RuleFault[] {
  const result = compileRuleSet(files);
  return result.kind === 'refused' ? result.faults : [];
}

export function refused(name: string, rules: readonly unknown[], pointer: string, says: RegExp): void {
  test(`refused: ${name}`, () => {
    const faults = faultsOf(filesOf(rules));
    assert.equal(faults.length, 1, JSON.stringify(faults));
    assert.deepEqual({ file: faults[0]!.file, pointer: faults[0]!.pointer }, { file: 'rules.json', pointer });
    assert.match(faults[0]!.text, says);
  });
}

export const test1 = (fact: string, operator: string, value: unknown, more: object = {}) =>
  ruleOf({ conditions: { all: [{ fact, operator, value, ...more }] } });
export const event = (type: string, params: unknown, more: object = {}) =>
  ruleOf({ conditions: always, event: { type, params }, ...more });
export const inCondition = '/rules/0/conditions/all/0';
export const inParams = '/rules/0/event/params';
