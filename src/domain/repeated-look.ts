/** Something that is looked at again and again, one look after the other. */
import type { Clock, Timer } from './clock.ts';

export type RepeatedLook = {
  /** Resolves when the first look is done. */
  start: () => Promise<void>;
  /** The first look is a period later. */
  startLater: () => void;
  /** Resolves when the look under way is done: what it reads may be closed then. */
  stop: () => Promise<void>;
};

/** `look` resolves to false when there is nothing more to be seen. Where it rejects, the process ends. */
export function lookAgain(clock: Pick<Clock, 'after'>, everyMs: number, look: () => Promise<boolean>): RepeatedLook {
  let timer: Timer | null = null;
  let underWay: Promise<void> = Promise.resolve();
  let stopped = false;

  async function lookOnce(): Promise<void> {
    if ((await look()) && !stopped) startLater();
  }

  function startLater(): void {
    timer = clock.after(everyMs, begin);
  }

  function begin(): void {
    underWay = lookOnce();
  }

  return {
    start: () => {
      begin();
      return underWay;
    },
    startLater,
    stop: () => {
      stopped = true;
      timer?.cancel();
      return underWay;
    },
  };
}
