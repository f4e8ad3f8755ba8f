/**
 * Margins are kept where others may write, in a file or in Redis, and a bid is computed from them. So each is kept with a code that nobody
 * can compute without the key of the log.
 */
import type { AuditKey } from './audit.ts';
import type { EpochMs } from './glossary.ts';
import { hmacOf } from './hmac.ts';

/** `json`: what is kept of the link, as text. */
export type MarginMac = (linkKey: string, receivedAt: EpochMs, json: string) => string;

/** With its length before it the key of the link does not run into the time. */
export function createMarginMac({ secret }: AuditKey): MarginMac {
  const hmac = hmacOf(secret);
  return (linkKey, receivedAt, json) => hmac(`margin;${linkKey.length}:${linkKey}${receivedAt};${json}`);
}

/** For operators. */
export const unfitMarginsText =
  'a kept margin is not what this desk wrote: somebody has edited the cache of margins, or an earlier version wrote to it; such margins are left out and asked for anew; see lance audit verify';
