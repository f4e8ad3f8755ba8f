/** Says which partitions this process owns and where it is asked, again and again while it lives, and at once when that changes. */
import type { Owner, OwnerBook } from '../bidding/ports.ts';

export type Announcing = {
  start: () => void;
  /** Other partitions are owned than before. */
  changed: () => void;
  /** From now on nobody is sent here. */
  stop: () => Promise<void>;
};

/** Known for several such times: one that is missed does not matter. */
const everyMs = 1_000;

export function createAnnouncing(parts: {
  book: Pick<OwnerBook, 'announce' | 'withdraw'>;
  owner: () => Owner;
  lifeMs: number;
  onFault: (fault: unknown) => void;
}): Announcing {
  const { book, owner, lifeMs, onFault } = parts;
  let timer: NodeJS.Timeout | null = null;
  let saying: Promise<void> | null = null;
  let isDue = false;

  async function sayAll(): Promise<void> {
    while (isDue) {
      isDue = false;
      await book.announce(owner(), lifeMs).catch(onFault);
    }
    saying = null;
  }

  function changed(): void {
    if (timer === null) return;
    isDue = true;
    saying ??= sayAll();
  }

  return {
    start: () => {
      timer ??= setInterval(changed, everyMs);
      changed();
    },
    changed,
    stop: async () => {
      if (timer !== null) clearInterval(timer);
      timer = null;
      isDue = false;
      await saying;
      await book.withdraw(owner().instance).catch(onFault);
    },
  };
}
