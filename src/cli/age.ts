/** How long ago something was, in the largest unit that it fills. */
export type Age = { count: number; unit: 's' | 'min' | 'h' | 'd' };

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** A time that another clock has put into the future was just now. */
export function ageOf(ms: number): Age {
  for (const [unit, unitMs] of units) if (ms >= unitMs) return { count: Math.floor(ms / unitMs), unit };
  return { count: Math.max(0, Math.floor(ms / 1_000)), unit: 's' };
}
