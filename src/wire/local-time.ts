/** Date-times without a zone are São Paulo's, both ways. The zone's rules come from the platform: they may change again. */
import type { EpochMs } from '../domain/glossary.ts';

const format = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'America/Sao_Paulo',
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** Offsets change on whole hours of UTC, and formatting costs microseconds: one answer per hour is kept. */
const offsets = new Map<number, number>();
const maxOffsets = 5_000;

/** Milliseconds to add to UTC for the wall clock in São Paulo; negative. */
function offsetAt(at: EpochMs): number {
  const hour = Math.floor(at / 3_600_000);
  const known = offsets.get(hour);
  if (known !== undefined) return known;
  const parts: Record<string, number> = {};
  const start = hour * 3_600_000;
  for (const part of format.formatToParts(start)) parts[part.type] = Number(part.value);
  const wall = Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!, parts.second!);
  if (offsets.size >= maxOffsets) offsets.clear();
  offsets.set(hour, wall - start);
  return wall - start;
}

/** `wallMs`: the wall clock's reading as if it were UTC. An hour that happens twice means its first time. */
export function fromWallClock(wallMs: number): EpochMs {
  const dayBefore = offsetAt(wallMs - 86_400_000);
  const candidate = wallMs - dayBefore;
  if (offsetAt(candidate) === dayBefore) return candidate;
  return wallMs - offsetAt(candidate);
}

/** `YYYY-MM-DDTHH:mm:ss` on São Paulo's wall clock; parts of a second are cut off. */
export function formatWallClock(at: EpochMs): string {
  return new Date(at + offsetAt(at)).toISOString().slice(0, 19);
}

/** `ddMMyyyyHHmmss` on São Paulo's wall clock. */
export function formatDigits(at: EpochMs): string {
  const text = formatWallClock(at);
  return `${text.slice(8, 10)}${text.slice(5, 7)}${text.slice(0, 4)}${text.slice(11, 13)}${text.slice(14, 16)}${text.slice(17, 19)}`;
}
