/**
 * The token that a desk on somebody's own machine shows at its start, so that its console can be opened where no token was created and no
 * provider is set. Whoever sees it sees the process: it opens one session, within minutes.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export type StartToken = {
  /** A new one; the one before counts no more. */
  give: () => string;
  /** One was given, and counts still. */
  isOpen: () => boolean;
  /** For the one that was given, which then counts no more; else null. `giveBack`: nothing came of it, so it counts again. */
  spend: (typed: string) => { giveBack: () => void } | null;
};

export const startTokenMs = 10 * 60_000;
/** Whose session it opens. */
export const startPerson = { owner: 'local', role: 'admin', issuer: 'start-token' } as const;
const secretBytes = 18;
const digestOf = (text: string) => createHash('sha256').update(text).digest();

/** `monotonicMs` never goes back. */
export function createStartToken(monotonicMs: () => number): StartToken {
  let given: { digest: Buffer; untilMs: number } | null = null;
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
      given = null;
      return {
        giveBack: () => {
          given ??= spent;
        },
      };
    },
  };
}
