/**
 * Values from outside under a schema of zod. Where a text or a list is wanted, zod compares the `length` of an object that was
 * sent in its place, and the `size`, with the limits. An object there may not have an order, and the comparison throws.
 */

/** The sizes that zod compares with limits. */
const sizes: ReadonlySet<string> = new Set(['length', 'size']);

/** The value with null in place of every size that is neither a number nor a text. */
function withoutOddSizes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOddSizes);
  // Numbers that are kept as they were written have no prototype, and are no parts of anything.
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isOdd = sizes.has(key) && typeof inner === 'object';
      return [key, isOdd ? null : withoutOddSizes(inner)];
    }),
  );
}

/**
 * What `check` says of a value from outside, where the schema would throw as well: then it is a value that the schema refuses,
 * and it is refused with the same faults. `value` is plain JSON, nested no deeper than its reader allows.
 */
export function checkUntrusted<T>(value: unknown, check: (value: unknown) => T): T {
  try {
    return check(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return check(withoutOddSizes(value));
  }
}
