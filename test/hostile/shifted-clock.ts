/**
 * Loaded into a daemon before anything else (`--import`): moves its time of day, and nothing but that, by the milliseconds that
 * stand in the file named by `SHIFTED_CLOCK_FILE`. The monotonic clock and all other processes are left alone.
 */
import { readFileSync } from 'node:fs';

const path = process.env.SHIFTED_CLOCK_FILE!;
const lookEveryMs = 2;
const RealDate = Date;
let shiftMs = 0;
let lookedAtMs = Number.NEGATIVE_INFINITY;

function shifted(): number {
  const nowMs = performance.now();
  if (nowMs - lookedAtMs >= lookEveryMs) {
    lookedAtMs = nowMs;
    shiftMs = Number(readFileSync(path, 'utf8'));
  }
  return RealDate.now() + shiftMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [shifted()] : given, newTarget),
  apply: () => new RealDate(shifted()).toString(),
  get: (target, name) => (name === 'now' ? shifted : Reflect.get(target, name)),
});
