/**
 * What the fold takes for records of versions that recorded no terms: stated once in the log itself, by the first process of this
 * version that begins on it, as its own settings say. So whoever folds the log comes to the same rows, whatever its settings are.
 */
import type { FoldTerms } from '../domain/records.ts';
import { agree, readAgreed } from './first-said.ts';
import type { EventLog } from './ports.ts';

const name = 'fold-terms';

const secondMs = 1_000;
const dayMs = 86_400_000;
/** What the configuration takes (`config/sections.ts`): nothing else was stated by a process. */
const bounds: Readonly<Record<keyof FoldTerms, readonly [least: number, most: number]>> = {
  windowMs: [secondMs, dayMs],
  graceMs: [0, 30 * dayMs],
  resultTimeoutMs: [secondMs, 30 * dayMs],
  contemplationTimeoutMs: [secondMs, 30 * dayMs],
  halfLifeMs: [secondMs, 10 * 366 * dayMs],
};

/** Null: no process has begun on this log since versions state them, or what one stated cannot be read. Reads only. */
export async function readEarlierTerms(log: Pick<EventLog, 'readKey'>): Promise<FoldTerms | null> {
  for (const text of await readAgreed(log, name)) {
    const terms = termsIn(text);
    if (terms !== null) return terms;
  }
  return null;
}

/** The terms of this log, which states them from here on. `own`: of this process; `instance`: as of `agree`. */
export async function claimEarlierTerms(
  log: Pick<EventLog, 'read' | 'readKey' | 'ends' | 'append'>,
  own: FoldTerms,
  instance: string,
): Promise<FoldTerms> {
  const known = await readEarlierTerms(log);
  return known ?? termsIn(await agree(log, name, textOf(own), instance)) ?? own;
}

function textOf({ windowMs, resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs }: FoldTerms): string {
  return JSON.stringify({ windowMs, resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs });
}

/** Null for what no process has stated. A record that was changed has no text. */
function termsIn(text: string | undefined): FoldTerms | null {
  try {
    const { windowMs, resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs } = JSON.parse(text ?? '');
    const terms = { windowMs, resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs };
    const isStated = Object.entries(bounds).every(([term, [least, most]]) => {
      const ms: unknown = terms[term as keyof FoldTerms];
      return typeof ms === 'number' && Number.isInteger(ms) && ms >= least && ms <= most;
    });
    return isStated ? terms : null;
  } catch {
    return null;
  }
}
