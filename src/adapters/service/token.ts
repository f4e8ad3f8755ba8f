/**
 * The access token: one renewal at a time, whoever asks. A second 401 in a row blocks sending until a later renewal
 * works; a token without a program has nothing to renew and is tried again after a pause. While sending is blocked the token is shown
 * by a query that means nothing: one request that is refused for a reason of its own must not keep the others from being sent.
 */
import { execFile } from 'node:child_process';
import type { Clock, Timer } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';

/** A token that was refused is shown again after pauses that double up to this, however often the program prints it. */
const longestSamePauseMs = 60_000;
/** Requests that were refused last are remembered, so that one that is refused alone is known again. */
const mostRefused = 256;

/** Gets a new token. Rejects when there is none; the reason never holds the token. */
export type RenewToken = () => Promise<string>;

/** What RFC 6750 (section 2.1) lets stand in a header. */
const tokenPattern = /^[\w.~+/-]+=*$/;

/**
 * Runs a program without a shell; the token is the only line it prints. What it prints to stderr goes nowhere. It gets PATH, HOME and
 * the `variables` of this process, not our secrets.
 */
export function renewByCommand(
  command: readonly string[],
  timeoutMs: number,
  variables: readonly string[],
): RenewToken {
  const [file = '', ...parameters] = command;
  const env = Object.fromEntries(
    ['PATH', 'HOME', ...variables].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const options = { env, timeout: timeoutMs, maxBuffer: 65_536, encoding: 'utf8' } as const;
  return () =>
    new Promise((resolve, reject) => {
      execFile(file, parameters, options, (error, stdout) => {
        const token = stdout.trim();
        if (error !== null) {
          // The message of execFile repeats the arguments and stderr: secrets may stand there.
          const why = error.killed === true ? `did not end within ${timeoutMs} ms` : `failed (${String(error.code)})`;
          reject(new Error(`the token command ${why}`));
        } else if (tokenPattern.test(token)) resolve(token);
        else reject(new Error('the token command printed no single token'));
      });
    });
}

export type TokenEvent =
  | { kind: 'token-renewed' }
  | { kind: 'token-renewal-failed'; reason: string }
  /** Sending has stopped; the next renewal is tried at `retryAt`. */
  | { kind: 'token-refused'; retryAt: EpochMs };

/** The token as it was when a request was written; `generation` tells whether it has changed since. */
export type Token = { header: string; bare: string; generation: number };

/** `sentAtMs` is on the monotonic clock; `subject` is the same for each attempt of one request. */
export type Attempt = { sentAtMs: number; subject: () => string };

export type TokenKeeper = {
  /** The token at hand, if it may be used at once. */
  current: () => Token | null;
  /** Waits for a renewal under way; null when sending is blocked. */
  ready: () => Promise<Token | null>;
  /**
   * A request with this token got 401. Gives the token for one more attempt, or null when there is none to try: sending is blocked,
   * or the refusal is the request's own, as others are let in.
   */
  refused: (token: Token, attempt: Attempt) => Promise<Token | null>;
  /** A request with this token was let in. */
  confirmed: (token: Token, attempt: Attempt) => void;
  /** When sending is blocked: the time of the next renewal. */
  blockedUntil: () => EpochMs | null;
  close: () => void;
};

export function createTokenKeeper(options: {
  token: string | null;
  /** Null: nothing to renew. */
  renew: RenewToken | null;
  retryMs: number;
  clock: Clock;
  observe: (event: TokenEvent) => void;
  /** Shows the token to the service by what is no bid, whether sending is blocked or not. Null: the answer does not tell. */
  show: (token: Token) => Promise<'let-in' | 'refused' | null>;
}): TokenKeeper {
  const { renew, retryMs, clock, observe, show } = options;
  let token: Token | null = options.token === null ? null : tokenOf(options.token, 1);
  /** A 401 is the first in a row only after an answer that was none, or with the first token of all. */
  let firstRefusal = true;
  let blockedUntil: EpochMs | null = null;
  let renewing: Promise<Token | null> | null = null;
  let retry: Timer | null = null;
  let closed = false;
  /** For how long the token that was refused last is not shown again; since when, on the monotonic clock. */
  let samePauseMs = 0;
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  /** When the request was sent whose refusal blocked sending. */
  let refusedSentAtMs = Number.POSITIVE_INFINITY;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  /** By subject, when it was refused first since it was let in; on the monotonic clock. */
  const refusedSubjects = new Map<string, number>();

  const tryLater = (pauseMs: number): void => {
    blockedUntil = clock.now() + pauseMs;
    retry = clock.after(pauseMs, () => {
      if (renew !== null) void renewOnce();
      else void showAgain();
    });
  };

  /** While the token is shown; those that come meanwhile wait for what it says. */
  let showing: Promise<unknown> | null = null;
  const showNow = (shown: Token): Promise<'let-in' | 'refused' | null> => {
    const said = show(shown).finally(() => {
      if (showing === said) showing = null;
    });
    showing = said;
    return said;
  };

  /** Those that wait for the end of the block come after it. What does not tell leaves it to them. */
  const showAgain = async (): Promise<void> => {
    const shown = token === null ? null : await showNow(token);
    if (closed || blockedUntil === null) return;
    if (shown === 'refused') return refuse();
    blockedUntil = null;
    firstRefusal = false;
  };

  /** The token is not shown by a bid for a while, longer each time in a row. A program is cheap to ask for another one. */
  const refuse = (): void => {
    refusedAtMs = clock.monotonicMs();
    samePauseMs = Math.min(Math.max(retryMs, longestSamePauseMs), samePauseMs === 0 ? retryMs : 2 * samePauseMs);
    tryLater(renew === null ? samePauseMs : retryMs);
    observe({ kind: 'token-refused', retryAt: blockedUntil! });
  };

  const block = (sentAtMs: number): void => {
    if (blockedUntil !== null || closed) return;
    refusedSentAtMs = sentAtMs;
    refuse();
    // It may be that request alone which is refused. What lets the token in ends the block.
    if (token !== null && sentAtMs !== Number.POSITIVE_INFINITY) void showNow(token);
  };

  const renewNow = async (run: RenewToken): Promise<Token | null> => {
    try {
      const text = await run();
      const pausesFor = refusedAtMs + samePauseMs - clock.monotonicMs();
      if (blockedUntil !== null && text === token?.bare && pausesFor > 0 && !closed) {
        tryLater(Math.min(retryMs, pausesFor));
        return null;
      }
      // Fetched for the first time, or after a 401: only then does the next 401 in a row block.
      if (token !== null) firstRefusal = false;
      token = tokenOf(text, (token?.generation ?? 0) + 1);
      blockedUntil = null;
      observe({ kind: 'token-renewed' });
      return token;
    } catch (error) {
      observe({ kind: 'token-renewal-failed', reason: error instanceof Error ? error.message : 'unknown' });
      blockedUntil = null;
      block(Number.POSITIVE_INFINITY);
      return null;
    }
  };

  const renewOnce = (sentAtMs = Number.POSITIVE_INFINITY): Promise<Token | null> => {
    if (renew === null) {
      block(sentAtMs);
      return Promise.resolve(null);
    }
    renewing ??= renewNow(renew).finally(() => {
      renewing = null;
    });
    return renewing;
  };

  const current = (): Token | null => (renewing === null && blockedUntil === null ? token : null);

  return {
    current,
    ready: async () => {
      if (blockedUntil !== null && showing !== null) await showing;
      if (blockedUntil !== null) return null;
      if (renewing !== null) return renewing;
      return token ?? renewOnce();
    },
    refused: async (used, { sentAtMs, subject }) => {
      const request = subject();
      const refusedFirstAtMs = refusedSubjects.get(request) ?? null;
      // Between two refusals of it, or since it was sent with a token that nobody can renew, another one was let in: its 401 says
      // nothing about the token.
      const isItsOwn = confirmedAtMs > (refusedFirstAtMs ?? (renew === null ? sentAtMs : Number.POSITIVE_INFINITY));
      if (refusedFirstAtMs === null) {
        refusedSubjects.set(request, clock.monotonicMs());
        const [oldest] = refusedSubjects.keys();
        if (refusedSubjects.size > mostRefused) refusedSubjects.delete(oldest!);
      }
      if (blockedUntil !== null || isItsOwn) return null;
      if (renewing !== null) return renewing;
      if (token !== null && token.generation !== used.generation) return token;
      if (firstRefusal) return renewOnce(sentAtMs);
      block(sentAtMs);
      return null;
    },
    confirmed: (used, { sentAtMs, subject }) => {
      if (refusedSubjects.size > 0) refusedSubjects.delete(subject());
      if (used.generation !== token?.generation) return;
      confirmedAtMs = clock.monotonicMs();
      firstRefusal = true;
      samePauseMs = 0;
      // Sent no earlier than the one that was refused: what was refused was that request, and not the token.
      if (blockedUntil !== null && renewing === null && sentAtMs >= refusedSentAtMs) {
        retry?.cancel();
        blockedUntil = null;
      }
    },
    blockedUntil: () => blockedUntil,
    close: () => {
      closed = true;
      retry?.cancel();
    },
  };
}

function tokenOf(text: string, generation: number): Token {
  return { header: `Bearer ${text}`, bare: text, generation };
}
