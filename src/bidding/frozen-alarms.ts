/**
 * The alarms of what is frozen: one for each request or flow as long as it stays frozen, however often it is looked at. What is found
 * frozen already, after a start or when a partition comes, is told together.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';

export type FrozenAlarms = {
  /** `isFresh`: it was just folded. */
  found: (id: string, mark: { at: EpochMs; problem: string }, isFresh: boolean) => void;
  thawed: (id: string) => void;
  stop: () => void;
};

/** What is found comes in slices. */
const togetherMs = 5_000;
const namedIds = 5;

/** `id`: null in an alarm of several. */
export function createFrozenAlarms(options: {
  clock: Pick<Clock, 'after'>;
  /** For the texts: of what, and how they are found. */
  of: { plural: string; list: string };
  tell: (id: string | null, text: string) => void;
}): FrozenAlarms {
  const { clock, of, tell } = options;
  /** When each was frozen that was told: frozen again it is told again. */
  const told = new Map<string, EpochMs>();
  const waiting = new Map<string, string>();
  let timer: Timer | null = null;

  function tellWaiting(): void {
    timer = null;
    const all = [...waiting];
    waiting.clear();
    const [first] = all;
    if (first === undefined) return;
    if (all.length === 1) {
      tell(...first);
      return;
    }
    const ids = all.slice(0, namedIds).map(([id]) => id);
    const rest = all.length > ids.length ? ` and ${all.length - ids.length} more` : '';
    tell(null, `${all.length} ${of.plural} are frozen: ${ids.join(', ')}${rest}; ${of.list}`);
  }

  return {
    found: (id, { at, problem }, isFresh) => {
      if (told.get(id) === at) return;
      told.set(id, at);
      if (isFresh) {
        waiting.delete(id);
        tell(id, problem);
        return;
      }
      waiting.set(id, problem);
      timer ??= clock.after(togetherMs, tellWaiting);
    },
    thawed: (id) => {
      told.delete(id);
      waiting.delete(id);
    },
    stop: () => timer?.cancel(),
  };
}
