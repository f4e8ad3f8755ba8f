/** What the doctor has found of one thing that it tried. */
import type { DoctorFigures, Texts } from './texts.ts';

type Check = keyof Texts['doctor']['checks'];
export type FindingName = keyof Texts['doctor']['findings'];
/** A failure keeps a desk from bidding or from starting, and makes the exit code 1. */
export type Level = 'ok' | 'warn' | 'fail';
export type Finding = { check: Check; level: Level; finding: FindingName; figures: DoctorFigures };

export function found(check: Check, level: Level, finding: FindingName, figures: DoctorFigures = {}): Finding {
  return { check, level, finding, figures };
}

export const hashLength = 12;
