/**
 * Margins are kept where others may write, in a file or in Redis, and a bid is computed from them. So each is kept with a code that nobody
 * can compute without the key of the log.
 */
import { hash } from 'node:crypto';
import type { AuditKey } from './audit.ts';
import type { EpochMs } from './glossary.ts';

/** `json`: what is kept of the link, as text. */
export type MarginMac = (linkKey: string, receivedAt: EpochMs, json: string) => string;

/** The key is on both sides, so that nothing can be told of longer texts; with its length before it no part runs into the next one. */
export function createMarginMac({ secret }: AuditKey): MarginMac {
  const key = Buffer.from(secret).toString('hex');
  return (linkKey, receivedAt, json) =>
    hash('sha256', `${key}margin;${linkKey.length}:${linkKey}${receivedAt};${json}${key}`, 'base64url');
}

/** For operators. */
export const unfitMarginsText =
  'a kept margin is not what this desk wrote: somebody has edited the cache of margins, or an earlier version wrote to it; such margins are left out and asked for anew; see lance audit verify';
