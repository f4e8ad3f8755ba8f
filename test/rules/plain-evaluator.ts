/**
 * Conditions evaluated straight from the files' JSON, as plainly as they can be written: the second opinion that the
 * compiled form is compared with. It shares no code with src/rules.
 */

type Json = unknown;
type Facts = Readonly<Record<string, unknown>>;
export type Verdict = 'true' | 'false' | 'unknown';

const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number' && Number.isNaN(value)) return 'nothing';
  return value === undefined || value === null ? 'nothing' : typeof value;
}

function apply(operator: string, left: unknown, right: unknown): boolean | null {
  const colon = operator.indexOf(':');
  if (colon >= 0) {
    const rest = operator.slice(colon + 1);
    const decorator = operator.slice(0, colon);
    if (decorator === 'not') {
      const inner = apply(rest, left, right);
      return inner === null ? null : !inner;
    }
    if (decorator === 'swap') return apply(rest, right, left);
    const list = decorator.endsWith('Fact') ? left : right;
    if (!Array.isArray(list)) return null;
    const each = list.map((member) =>
      decorator.endsWith('Fact') ? apply(rest, member, right) : apply(rest, left, member),
    );
    if (each.includes(null)) return null;
    return decorator.startsWith('some') ? each.includes(true) : !each.includes(false);
  }
  const [l, r] = [typeOf(left), typeOf(right)];
  if (operator === 'startsWith' || operator === 'doesNotStartWith') {
    if (l !== 'string' || r !== 'string') return null;
    return ((left as string).slice(0, (right as string).length) === right) === (operator === 'startsWith');
  }
  if (operator === 'equal' || operator === 'notEqual') {
    if (l !== r || l === 'list' || l === 'nothing') return null;
    return (left === right) === (operator === 'equal');
  }
  if (operator === 'in' || operator === 'notIn')
    return apply(operator === 'in' ? 'contains' : 'doesNotContain', right, left);
  if (operator === 'contains' || operator === 'doesNotContain') {
    if (!Array.isArray(left) || r === 'nothing' || r === 'list') return null;
    if (left.length > 0 && typeOf(left[0]) !== r) return null;
    let found = false;
    for (const member of left) if (member === right) found = true;
    return found === (operator === 'contains');
  }
  if (l !== 'number' || r !== 'number') return null;
  const difference = (left as number) - (right as number);
  if (operator === 'lessThan') return difference < 0;
  if (operator === 'lessThanInclusive') return difference <= 0;
  return operator === 'greaterThan' ? difference > 0 : difference >= 0;
}

function factName(node: Record<string, Json>): string {
  if (typeof node.path !== 'string') return String(node.fact);
  return `${node.fact}.${node.path.replace(/^\$?\.?/, '')}`;
}

export type Surroundings = {
  conditions: Readonly<Record<string, Json>>;
  facts: Facts;
  types: Readonly<Record<string, string>>;
};

/** Nothing when it is absent or of another type than it is meant to be. */
function lookUp(name: string, { facts, types }: Surroundings): unknown {
  const value = facts[name];
  return types[name] === undefined || types[name] === typeOf(value) ? value : undefined;
}

export function plainVerdict(node: Json, world: Surroundings): Verdict {
  if (!isObject(node)) throw new Error('a condition that is no object was let through');
  if (Array.isArray(node.all) || Array.isArray(node.any)) {
    const parts = (node.all ?? node.any) as Json[];
    const verdicts = parts.map((part) => plainVerdict(part, world));
    const [decisive, other]: [Verdict, Verdict] = node.all ? ['false', 'true'] : ['true', 'false'];
    if (verdicts.includes(decisive)) return decisive;
    return verdicts.includes('unknown') ? 'unknown' : other;
  }
  if (typeof node.atLeast === 'number') {
    const verdicts = (node.of as Json[]).map((part) => plainVerdict(part, world));
    const count = (verdict: Verdict) => verdicts.filter((one) => one === verdict).length;
    if (count('true') >= node.atLeast) return 'true';
    return verdicts.length - count('false') >= node.atLeast ? 'unknown' : 'false';
  }
  if ('not' in node) {
    const inner = plainVerdict(node.not, world);
    if (inner === 'unknown') return inner;
    return inner === 'true' ? 'false' : 'true';
  }
  if (typeof node.condition === 'string') return plainVerdict(world.conditions[node.condition], world);
  const left = lookUp(factName(node), world);
  const right = isObject(node.value) ? lookUp(factName(node.value), world) : node.value;
  const result =
    typeOf(left) === 'nothing' || typeOf(right) === 'nothing' ? null : apply(String(node.operator), left, right);
  return result === null ? 'unknown' : result ? 'true' : 'false';
}
