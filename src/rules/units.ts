/** Units of facts as they multiply and divide: R$ by R$ is a share, R$ a month by months is R$. */

/** Exponents by unit, only those that are not 0; none at all: a share, or a plain number. */
export type Unit = ReadonlyMap<string, number>;

export const plainUnit: Unit = new Map();

/** Numbers that only look like such: nobody adds two of them. */
const labels = ['code', 'CBO', 'CNAE', 'eSocial category', '1 = Monday … 7 = Sunday'];

/** What of a unit follows a comma only explains. Null: a label, which is in no arithmetic. */
export function unitOf(written: string | null): Unit | null {
  if (written === null) return plainUnit;
  if (labels.includes(written)) return null;
  const [name = ''] = written.split(',');
  if (name.startsWith('share')) return plainUnit;
  if (name === 'R$ a month')
    return new Map([
      ['R$', 1],
      ['months', -1],
    ]);
  return new Map([[name, 1]]);
}

/** `sign` 1: multiplied, -1: divided. */
export function combine(left: Unit, right: Unit, sign: 1 | -1): Unit {
  const exponents = new Map(left);
  for (const [unit, exponent] of right) {
    const sum = (exponents.get(unit) ?? 0) + sign * exponent;
    if (sum === 0) exponents.delete(unit);
    else exponents.set(unit, sum);
  }
  return exponents;
}

export function unitText(unit: Unit): string {
  const parts = (sign: number) =>
    [...unit]
      .filter(([, exponent]) => Math.sign(exponent) === sign)
      .map(([name, exponent]) => (Math.abs(exponent) === 1 ? name : `${name}^${Math.abs(exponent)}`))
      .sort();
  const [above, below] = [parts(1), parts(-1)];
  if (above.length === 0 && below.length === 0) return 'share';
  if (below.length === 0) return above.join(' · ');
  if (above.join() === 'R$' && below.join() === 'months') return 'R$ a month';
  return `${above.length === 0 ? '1' : above.join(' · ')} / ${below.join(' / ')}`;
}

export function isSameUnit(left: Unit, right: Unit): boolean {
  return left.size === right.size && [...left].every(([name, exponent]) => right.get(name) === exponent);
}
