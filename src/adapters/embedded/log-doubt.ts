/**
 * Why bidding is closed on a log that is not what was written. A record in its middle that differs stays different: a person who has
 * looked says with a resumption that bids may go out by it. Where records were taken away under the process, nobody can before the
 * next start, which is refused until the restore is accepted.
 */
import type { ControlState } from '../../bidding/ports.ts';

export type LogDoubt = {
  /** `lasting`: until the process ends. */
  meet: (text: string, lasting: boolean) => void;
  /** What operators have said, each time that it was read. */
  hear: (state: ControlState) => void;
  /** Null: nothing that was met is against bidding. */
  text: () => string | null;
};

export function createLogDoubt(): LogDoubt {
  let lasting: string | null = null;
  /** `since`: a resumption of a later revision ends it; null: nothing was heard of the controls before. */
  let passing: { text: string; since: number | null } | null = null;
  let revision: number | null = null;
  return {
    meet: (text, lasts) => {
      if (lasts) lasting ??= text;
      else passing = { text, since: revision };
    },
    hear: (state) => {
      revision = state.revision;
      if (passing === null) return;
      const since = passing.since ?? revision;
      const isResumed = state.changes.some(({ kind, revision: at }) => kind === 'resumed' && at > since);
      passing = isResumed ? null : { ...passing, since };
    },
    text: () => lasting ?? passing?.text ?? null,
  };
}
