/**
 * Whether Kafka answers, asked all the time: while nobody appends, nothing else would tell. The leaders of a topic are asked how
 * far it goes, which costs them nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type SilenceWatch = {
  /** Since when an answer is missing; 0 where the last one came. */
  silentMs: () => number;
  stop: () => void;
};

const everyMs = 2_000;

/** `ask` may take as long as it likes, and reject. */
export function watchSilence(ask: () => Promise<unknown>, monotonicMs: () => number): SilenceWatch {
  const stopping = new AbortController();
  let missingSince: number | null = null;

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      missingSince ??= monotonicMs();
      await ask().then(
        () => {
          missingSince = null;
        },
        () => undefined,
      );
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  void watch();
  return {
    silentMs: () => (missingSince === null ? 0 : monotonicMs() - missingSince),
    stop: () => stopping.abort(),
  };
}
