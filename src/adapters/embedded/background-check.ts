/**
 * The chains of a running store, walked once after its start. A start itself compares the ends of the tables with what was anchored,
 * which takes no time; that a record in the middle was changed is found here, minutes later for a long log.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../errors.ts';
import type { AnchorPlace } from './anchor.ts';
import { brokenText } from './changed-texts.ts';
import { damageIn } from './damage.ts';
import { databasePath, openReadOnly } from './database.ts';
import { verifyStore } from './verify.ts';

/** A page takes about a millisecond of the event loop. */
const pageRows = 100;
/** For each millisecond of work so many of rest: the walk takes a tenth of the time of one core at most. */
const restShare = 9;
const shortestRestMs = 5;
/** Before each attempt; at first the desk has its own work. What cannot be read for another cause than damage may be readable later. */
const pausesMs = [1_000, 10_000, 60_000];

type BackgroundCheck = {
  directory: string;
  anchor: AnchorPlace;
  /** Why the files are not where they were; null: they are. What stands in their place is not the log. */
  filesLost: () => string | null;
  /** Hears what differs, for an operator, or why the log could not be read to its end. Not called where nothing differs. */
  onChanged: (text: string) => void;
  /** A page of the file cannot be read. */
  onDamage: (fault: Fault) => void;
};

/** `stop` ends it half way. */
export function checkInBackground(options: BackgroundCheck): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const checking = checkAgain(options, signal);
  return {
    stop: () => {
      stopping.abort();
      return checking;
    },
  };
}

async function checkAgain(options: BackgroundCheck, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; ; ) {
    try {
      await sleep(pausesMs[attempt], undefined, { signal, ref: false });
      if (options.filesLost() === null) return await check(options, signal);
    } catch (fault) {
      if (signal.aborted) return;
      if (options.filesLost() !== null) continue;
      const damage = damageIn(databasePath(options.directory), fault);
      if (damage !== null) return options.onDamage(damage);
      attempt += 1;
      if (attempt < pausesMs.length) continue;
      const why = fault instanceof Error ? fault.message : String(fault);
      return options.onChanged(`the log could not be read to its end: ${why}; see lance doctor`);
    }
  }
}

async function check({ directory, anchor, onChanged }: BackgroundCheck, signal: AbortSignal): Promise<void> {
  const database = openReadOnly(databasePath(directory));
  try {
    let workingSince = performance.now();
    const rest = async () => {
      const restMs = Math.max(shortestRestMs, restShare * (performance.now() - workingSince));
      await sleep(restMs, undefined, { signal, ref: false });
      workingSince = performance.now();
    };
    const verdict = await verifyStore(database, anchor, () => undefined, { rows: pageRows, rest });
    if (verdict.kind !== 'intact') onChanged(brokenText(verdict));
  } finally {
    database.close();
  }
}
