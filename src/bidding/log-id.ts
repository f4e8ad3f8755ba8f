/**
 * One id of the log, drawn at random once. Flows are numbered alike in every store, and the service tells what it has done by our
 * keys alone: with the id in them, the keys of two stores are never the same. It is a record as all others, so a store that is
 * exported, copied or put back keeps it.
 */
import { randomUUID } from 'node:crypto';
import { agree, readAgreed } from './first-said.ts';
import type { EventLog } from './ports.ts';

const name = 'log-id';

/** The id of this log, which has one from here on. `instance`: as of `agree`. */
export async function claimLogId(
  log: Pick<EventLog, 'read' | 'readKey' | 'ends' | 'append'>,
  instance: string,
): Promise<string> {
  const [known] = await readAgreed(log, name);
  return known ?? agree(log, name, randomUUID(), instance);
}
