/** Faults on request: each with a probability, drawn from a seeded stream, and counted when it has happened. */
import type { Chance } from '../domain/clock.ts';

export type AnswerFaults = {
  /** Every answer waits this long, uniformly between. */
  delayMinMs: number;
  delayMaxMs: number;
  /** Shares of calls; at most one of them befalls a call. */
  throttled: number;
  retryAfterSeconds: number;
  errorBefore: number;
  errorAfter: number;
  /** The bid lands and the connection breaks. */
  dropAfter: number;
  /** The bid lands and no answer ever comes. */
  halfOpen: number;
  /** The bid lands and the answer is 200 with bytes that mean nothing. */
  garbage: number;
  /** 401 although the token is good. */
  unauthorised: number;
};

export type WebhookFaults = {
  duplicate: number;
  /** Held back until the next webhook has gone out. */
  reorder: number;
  late: number;
  lateMs: number;
  missing: number;
  /** A missing webhook comes after this time; null: never. */
  redeliverMissingMs: number | null;
};

/** Shares of the questions to the played source; at most one of them befalls a question. */
export type SourceFaults = {
  /** Answered after `slowMs`. */
  slow: number;
  slowMs: number;
  silent: number;
  /** The connection breaks without an answer, as where nobody listens. */
  dropped: number;
  error: number;
  malformed: number;
  /** A number as a text. */
  wrongType: number;
  oversized: number;
};

/** `operations`: everything after a bid. */
export type FaultSettings = {
  bids: AnswerFaults;
  queries: AnswerFaults;
  operations: AnswerFaults;
  webhooks: WebhookFaults;
  sources: SourceFaults;
};

const noAnswerFaults: AnswerFaults = {
  delayMinMs: 0,
  delayMaxMs: 0,
  throttled: 0,
  retryAfterSeconds: 1,
  errorBefore: 0,
  errorAfter: 0,
  dropAfter: 0,
  halfOpen: 0,
  garbage: 0,
  unauthorised: 0,
};

export const noFaults: FaultSettings = {
  bids: noAnswerFaults,
  queries: noAnswerFaults,
  operations: noAnswerFaults,
  webhooks: { duplicate: 0, reorder: 0, late: 0, lateMs: 500, missing: 0, redeliverMissingMs: null },
  sources: {
    ...{ slow: 0, slowMs: 5_000, silent: 0, dropped: 0 },
    ...{ error: 0, malformed: 0, wrongType: 0, oversized: 0 },
  },
};

export const answerKinds = [
  'throttled',
  'errorBefore',
  'errorAfter',
  'dropAfter',
  'halfOpen',
  'garbage',
  'unauthorised',
] as const;
export type AnswerFault = (typeof answerKinds)[number];
export const webhookKinds = ['duplicate', 'reorder', 'late', 'missing'] as const;
export type WebhookFault = (typeof webhookKinds)[number];
export const sourceKinds = ['slow', 'silent', 'dropped', 'error', 'malformed', 'wrongType', 'oversized'] as const;
export type SourceFault = (typeof sourceKinds)[number];

/** At most one fault, by the shares of the settings. */
export function drawFault<Kind extends string>(
  kinds: readonly Kind[],
  settings: Readonly<Record<Kind, number>>,
  chance: Chance,
): Kind | null {
  let left = chance();
  for (const kind of kinds) {
    left -= settings[kind];
    if (left < 0) return kind;
  }
  return null;
}

export function drawDelay(settings: AnswerFaults, chance: Chance): number {
  return settings.delayMinMs + chance() * (settings.delayMaxMs - settings.delayMinMs);
}
