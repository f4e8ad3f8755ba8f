/** Codes of what an employer does (CNAE 2): their classes and sectors, and what two codes have in common. */
import type { Sector } from './facts.ts';

/** First divisions (two leading digits of the CNAE 2 code) of each group, in ascending order; null: no such division. */
const divisions: readonly (readonly [first: number, sector: Sector | null])[] = [
  [1, 'agriculture'],
  [4, null],
  [5, 'industry'],
  [40, null],
  [41, 'construction'],
  [44, null],
  [45, 'commerce'],
  [48, null],
  [49, 'transport'],
  [54, null],
  [55, 'services'],
  [84, 'public'],
  [85, 'services'],
  [97, 'domestic'],
  [98, null],
  [99, 'services'],
  [100, null],
];

function isSubclass(activityCode: number): boolean {
  return activityCode >= 100_000;
}

/** A CNAE code arrives as a number, so leading zeros are lost: 7 or 6 digits are a subclass, 5 or 4 a class. */
function sectorOf(activityCode: number): Sector | undefined {
  let division = 0;
  if (isSubclass(activityCode)) division = Math.floor(activityCode / 100_000);
  else if (activityCode >= 1_000) division = Math.floor(activityCode / 1_000);
  let sector: Sector | null = null;
  for (const [first, name] of divisions) {
    if (division < first) break;
    sector = name;
  }
  return sector ?? undefined;
}

/** The class of a subclass, or the class that was told, in five digits; see `sectorOf` for the zeros. */
function activityClassOf(activityCode: number): string | undefined {
  if (activityCode < 1_000) return undefined;
  return (isSubclass(activityCode) ? String(activityCode).padStart(7, '0').slice(0, 5) : String(activityCode)).padStart(
    5,
    '0',
  );
}

export type Activity = { code: number | undefined; class: string | undefined; sector: Sector | undefined };

const unknown: Activity = { code: undefined, class: undefined, sector: undefined };

export function activityOf(code: number | null): Activity {
  return code === null ? unknown : { code, class: activityClassOf(code), sector: sectorOf(code) };
}

/** What two codes have in common. A class and one of its subclasses are told alike; the first one is taken. */
export function commonActivity(one: Activity, other: Activity): Activity {
  const isSameClass = one.class !== undefined && one.class === other.class;
  const isNarrower = isSubclass(one.code!) !== isSubclass(other.code!);
  return {
    code: isSameClass && isNarrower ? one.code : undefined,
    class: isSameClass ? one.class : undefined,
    sector: one.sector === other.sector ? one.sector : undefined,
  };
}
