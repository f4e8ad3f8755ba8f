/**
 * Compares the settings of the topics with what a start demands, while a process runs. Whoever may alter a topic may make it lose
 * records: bidding is closed as long as that holds, and webhooks are still stored.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { topicsUnsafe } from '../../domain/audit.ts';
import { causesOf, causeText } from './cause.ts';
import type { LogLine } from './client.ts';

export type SettingsWatch = {
  /** What is wrong with the topics, for people; null: nothing is known against them. */
  trouble: () => string | null;
  stop: () => Promise<void>;
};

const everyMs = 15_000;
/** A broker that has just started may not know every setting yet: what is found is looked at once more before it counts. */
const againMs = 2_000;

const notAllowed = new Set(['TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED']);

/** `look` resolves to the faults of all topics; where it rejects, what was known last holds. `onUnsafe` hears of each change to a fault. */
export function watchSettings(options: {
  look: () => Promise<readonly string[]>;
  onUnsafe: (text: string) => void;
  onLine: LogLine;
  pausesMs?: { every: number; again: number };
}): SettingsWatch {
  const { look, onUnsafe, onLine, pausesMs = { every: everyMs, again: againMs } } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let known: string | null = null;
  let isRefusalTold = false;

  async function lookOnce(): Promise<string | null> {
    const faults = await look();
    return faults.length === 0
      ? null
      : `The settings of the topics are not safe (${topicsUnsafe}): ${faults.join(' ')}`;
  }

  async function compare(): Promise<void> {
    let found = await lookOnce();
    if (found !== null && found !== known) {
      await sleep(pausesMs.again, undefined, { signal });
      found = await lookOnce();
    }
    if (found === known || signal.aborted) return;
    const before = known;
    known = found;
    if (found !== null) onUnsafe(found);
    else if (before !== null) onLine('info', 'The settings of the topics are safe again.');
  }

  function onFailed(cause: unknown): void {
    // Brokers that are away are told elsewhere.
    if (isRefusalTold || !causesOf(cause).some(({ error }) => error !== null && notAllowed.has(error))) return;
    isRefusalTold = true;
    onLine(
      'warn',
      `The settings of the topics cannot be watched: the brokers do not let this process describe them. An unsafe change is noticed by the next start alone. Kafka: ${causeText(cause)}.`,
    );
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await sleep(pausesMs.every, undefined, { signal });
      await compare().catch(onFailed);
    }
  }

  const watching = watch().catch(() => undefined);
  return {
    trouble: () => known,
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}
