/**
 * Operators of json-rules-engine with its decorators (`everyFact:in`, `not:equal`, `swap:contains`), and two of our own for the
 * beginning of a text, each with the types that it compares. The library lets any pair of types meet at run time; here a pair that cannot be meant does not load.
 */

export const operators = [
  'equal',
  'notEqual',
  'in',
  'notIn',
  'lessThan',
  'lessThanInclusive',
  'greaterThan',
  'greaterThanInclusive',
  'contains',
  'doesNotContain',
  'startsWith',
  'doesNotStartWith',
] as const;
export type Operator = (typeof operators)[number];

/** Signs that other languages have for them. */
export const operatorSigns: Readonly<Record<string, Operator>> = {
  '<': 'lessThan',
  '<=': 'lessThanInclusive',
  '≤': 'lessThanInclusive',
  '>': 'greaterThan',
  '>=': 'greaterThanInclusive',
  '≥': 'greaterThanInclusive',
  '=': 'equal',
  '==': 'equal',
  '===': 'equal',
  '!=': 'notEqual',
  '!==': 'notEqual',
  '<>': 'notEqual',
  '≠': 'notEqual',
};

export const decorators = ['someFact', 'everyFact', 'someValue', 'everyValue', 'swap', 'not'] as const;
export type Decorator = (typeof decorators)[number];

const scalarTypes = ['number', 'string', 'boolean'] as const;
const listTypes = ['number-list', 'string-list', 'boolean-list'] as const;
export const valueTypes = [...scalarTypes, ...listTypes] as const;
export type ValueType = (typeof valueTypes)[number];
export type ScalarType = (typeof scalarTypes)[number];

export const complements: Readonly<Record<Operator, Operator>> = {
  equal: 'notEqual',
  notEqual: 'equal',
  in: 'notIn',
  notIn: 'in',
  lessThan: 'greaterThanInclusive',
  greaterThanInclusive: 'lessThan',
  lessThanInclusive: 'greaterThan',
  greaterThan: 'lessThanInclusive',
  contains: 'doesNotContain',
  doesNotContain: 'contains',
  startsWith: 'doesNotStartWith',
  doesNotStartWith: 'startsWith',
};

export function memberType(type: ValueType): ScalarType | null {
  switch (type) {
    case 'number-list':
      return 'number';
    case 'string-list':
      return 'string';
    case 'boolean-list':
      return 'boolean';
    case 'number':
    case 'string':
    case 'boolean':
      return null;
    default:
      return type satisfies never;
  }
}

function baseAccepts(operator: Operator, left: ValueType, right: ValueType): boolean {
  switch (operator) {
    case 'equal':
    case 'notEqual':
      return left === right && memberType(left) === null;
    case 'in':
    case 'notIn':
      return left !== 'boolean' && memberType(right) === left;
    case 'contains':
    case 'doesNotContain':
      return memberType(left) === right;
    case 'startsWith':
    case 'doesNotStartWith':
      return left === 'string' && right === 'string';
    case 'lessThan':
    case 'lessThanInclusive':
    case 'greaterThan':
    case 'greaterThanInclusive':
      return left === 'number' && right === 'number';
    default:
      return operator satisfies never;
  }
}

/** Whether the operator compares a fact of type `left` with a value of type `right`. Decorators are outermost first. */
export function accepts(around: readonly Decorator[], operator: Operator, left: ValueType, right: ValueType): boolean {
  const [first, ...rest] = around;
  if (first === undefined) return baseAccepts(operator, left, right);
  switch (first) {
    case 'someFact':
    case 'everyFact': {
      const member = memberType(left);
      return member !== null && accepts(rest, operator, member, right);
    }
    case 'someValue':
    case 'everyValue': {
      const member = memberType(right);
      return member !== null && accepts(rest, operator, left, member);
    }
    case 'swap':
      return accepts(rest, operator, right, left);
    case 'not':
      return accepts(rest, operator, left, right);
    default:
      return first satisfies never;
  }
}

type Compare = (left: unknown, right: unknown) => boolean;

function baseCompare(operator: Operator): Compare {
  switch (operator) {
    case 'equal':
      return (left, right) => left === right;
    case 'notEqual':
      return (left, right) => left !== right;
    case 'in':
      return (left, right) => (right as readonly unknown[]).includes(left);
    case 'notIn':
      return (left, right) => !(right as readonly unknown[]).includes(left);
    case 'lessThan':
      return (left, right) => (left as number) < (right as number);
    case 'lessThanInclusive':
      return (left, right) => (left as number) <= (right as number);
    case 'greaterThan':
      return (left, right) => (left as number) > (right as number);
    case 'greaterThanInclusive':
      return (left, right) => (left as number) >= (right as number);
    case 'contains':
      return (left, right) => (left as readonly unknown[]).includes(right);
    case 'doesNotContain':
      return (left, right) => !(left as readonly unknown[]).includes(right);
    case 'startsWith':
      return (left, right) => (left as string).startsWith(right as string);
    case 'doesNotStartWith':
      return (left, right) => !(left as string).startsWith(right as string);
    default:
      return operator satisfies never;
  }
}

/** The comparison of two values of types that `accepts` has let through. */
export function compareWith(around: readonly Decorator[], operator: Operator): Compare {
  const [first, ...rest] = around;
  if (first === undefined) return baseCompare(operator);
  const next = compareWith(rest, operator);
  switch (first) {
    case 'someFact':
      return (left, right) => (left as readonly unknown[]).some((member) => next(member, right));
    case 'everyFact':
      return (left, right) => (left as readonly unknown[]).every((member) => next(member, right));
    case 'someValue':
      return (left, right) => (right as readonly unknown[]).some((member) => next(left, member));
    case 'everyValue':
      return (left, right) => (right as readonly unknown[]).every((member) => next(left, member));
    case 'swap':
      return (left, right) => next(right, left);
    case 'not':
      return (left, right) => !next(left, right);
    default:
      return first satisfies never;
  }
}

/** `{ around: ['everyFact', 'not'], operator: 'in' }` of `everyFact:not:in`; or the part that nobody knows. */
export function readOperatorName(
  name: string,
):
  | { kind: 'known'; around: readonly Decorator[]; operator: Operator }
  | { kind: 'unknown'; part: string; isLast: boolean } {
  const parts = name.split(':');
  const last = parts.pop() ?? '';
  const around: Decorator[] = [];
  for (const part of parts) {
    const decorator = decorators.find((known) => known === part);
    if (decorator === undefined) return { kind: 'unknown', part, isLast: false };
    around.push(decorator);
  }
  const operator = operators.find((known) => known === last);
  if (operator === undefined) return { kind: 'unknown', part: last, isLast: true };
  // `not` next to the operator is the operator's complement, which the checks between rules understand.
  let plain = operator;
  while (around.at(-1) === 'not') {
    around.pop();
    plain = complements[plain];
  }
  return { kind: 'known', around, operator: plain };
}
