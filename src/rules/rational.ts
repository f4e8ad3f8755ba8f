/**
 * Exact arithmetic for computed facts: fractions of whole numbers, so that a third of R$ 100 and three of them are R$ 100 again.
 * Whole numbers up to 2^53 are plain numbers; what goes beyond is worked out once more with big ones.
 */

/** The value is `n / d`; `d` above zero, both whole. */
export type Fraction<N> = { n: N; d: N };

/** `null` as a result: cannot be told, such as a division by zero. */
export type Arithmetic<N> = {
  from: (value: number) => Fraction<N> | null;
  add: (left: Fraction<N>, right: Fraction<N>) => Fraction<N>;
  sub: (left: Fraction<N>, right: Fraction<N>) => Fraction<N>;
  mul: (left: Fraction<N>, right: Fraction<N>) => Fraction<N>;
  div: (left: Fraction<N>, right: Fraction<N>) => Fraction<N> | null;
  /** Whether `left` is below `right`. */
  less: (left: Fraction<N>, right: Fraction<N>) => boolean;
  /** Half a unit goes away from zero. */
  round: (value: Fraction<N>, decimals: number) => Fraction<N>;
  /** The nearest number. */
  value: (value: Fraction<N>) => number;
};

/** A whole number left the range that plain numbers hold exactly. */
export class Overflow extends Error {}

const scales = [1, 100, 10_000, 1_000_000, 1_000_000_000];

function whole(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new Overflow();
}

export const plainArithmetic: Arithmetic<number> = {
  from: (value) => {
    for (const d of scales) {
      const n = Math.round(value * d);
      if (n / d === value && Number.isSafeInteger(n)) return { n, d };
    }
    throw new Overflow();
  },
  add: (left, right) =>
    left.d === right.d
      ? { n: whole(left.n + right.n), d: left.d }
      : { n: whole(whole(left.n * right.d) + whole(right.n * left.d)), d: whole(left.d * right.d) },
  sub: (left, right) =>
    left.d === right.d
      ? { n: whole(left.n - right.n), d: left.d }
      : { n: whole(whole(left.n * right.d) - whole(right.n * left.d)), d: whole(left.d * right.d) },
  mul: (left, right) => ({ n: whole(left.n * right.n), d: whole(left.d * right.d) }),
  div: (left, right) => {
    if (right.n === 0) return null;
    const sign = right.n < 0 ? -1 : 1;
    return { n: whole(sign * left.n * right.d), d: whole(sign * left.d * right.n) };
  },
  less: (left, right) => whole(left.n * right.d) < whole(right.n * left.d),
  round: ({ n, d }, decimals) => {
    const scale = 10 ** decimals;
    const size = Math.floor(whole(2 * Math.abs(whole(n * scale)) + d) / whole(2 * d));
    return { n: n < 0 ? -size : size, d: scale };
  },
  value: ({ n, d }) => n / d,
};

function sizeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** The nearest number to a fraction of big ones: 64 bits of the quotient, the last of which says whether more follows. */
function nearest(n: bigint, d: bigint): number {
  if (n === 0n) return 0;
  const size = sizeOf(n);
  const bits = (value: bigint) => value.toString(2).length;
  const shift = BigInt(Math.max(0, 66 - bits(size) + bits(d)));
  const scaled = size << shift;
  const quotient = scaled / d;
  const odd = scaled % d === 0n ? quotient : quotient | 1n;
  return ((n < 0n ? -1 : 1) * Number(odd)) / 2 ** Number(shift);
}

export const bigArithmetic: Arithmetic<bigint> = {
  from: (value) => {
    const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
    if (match === null) return null;
    const [, sign, ones, decimals = '', exponent = '0'] = match;
    const power = Number(exponent) - decimals.length;
    if (Math.abs(power) > 400) return null;
    const digits = BigInt(`${sign}${ones}${decimals}`);
    return power >= 0 ? { n: digits * 10n ** BigInt(power), d: 1n } : { n: digits, d: 10n ** BigInt(-power) };
  },
  add: (left, right) => ({ n: left.n * right.d + right.n * left.d, d: left.d * right.d }),
  sub: (left, right) => ({ n: left.n * right.d - right.n * left.d, d: left.d * right.d }),
  mul: (left, right) => ({ n: left.n * right.n, d: left.d * right.d }),
  div: (left, right) => {
    if (right.n === 0n) return null;
    const sign = right.n < 0n ? -1n : 1n;
    return { n: sign * left.n * right.d, d: sign * left.d * right.n };
  },
  less: (left, right) => left.n * right.d < right.n * left.d,
  round: ({ n, d }, decimals) => {
    const scale = 10n ** BigInt(decimals);
    const size = (2n * sizeOf(n * scale) + d) / (2n * d);
    return { n: n < 0n ? -size : size, d: scale };
  },
  value: ({ n, d }) => nearest(n, d),
};
