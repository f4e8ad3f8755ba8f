/**
 * The token that a desk on somebody's own machine shows at its start, so that its console can be opened where no token was created and no
 * provider is set. Whoever sees it sees the process: it opens one session, within minutes, that ends with the process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { startOwner } from '../domain/roles.ts';

export type StartToken = {
  /** A new one; the one before counts no more. */
  give: () => string;
  /** One was given, and counts still. */
  isOpen: () => boolean;
  /** For the one that was given, which then counts no more; else null. `giveBack`: nothing came of it, so it counts again. */
  spend: (typed: string) => { sha256: string; giveBack: () => void } | null;
  /** In hex, of those that opened a session: another process knows none of them, nor does the next start. */
  spent: () => readonly string[];
};

export const startTokenMs = 10 * 60_000;
/** Whose session it opens. */
export const startPerson = { owner: startOwner, role: 'admin' } as const;
const secretBytes = 18;
const digestOf = (text: string) => createHash('sha256').update(text).digest();

/** `monotonicMs` never goes back. */
export function createStartToken(monotonicMs: () => number): StartToken {
  let given: { digest: Buffer; untilMs: number } | null = null;
  const opened = new Set<string>();
  const isOpen = () => given !== null && monotonicMs() < given.untilMs;
  return {
    give: () => {
      const token = `lance_start_${randomBytes(secretBytes).toString('base64url')}`;
      given = { digest: digestOf(token), untilMs: monotonicMs() + startTokenMs };
      return token;
    },
    isOpen,
    spend: (typed) => {
      if (given === null || !isOpen() || !timingSafeEqual(given.digest, digestOf(typed))) return null;
      const spent = given;
      const sha256 = spent.digest.toString('hex');
      given = null;
      opened.add(sha256);
      return {
        sha256,
        giveBack: () => {
          opened.delete(sha256);
          given ??= spent;
        },
      };
    },
    spent: () => [...opened],
  };
}
