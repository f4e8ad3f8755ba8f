/**
 * Orders and steps that come at the same time under one key: the first is worked on, the others wait and then find it done. Other
 * keys are not held up. It is for this process alone; between processes the log decides what counts.
 */
import type { FrontResult } from '../../origination/front.ts';

/** `key`: of the order or step, and of what it is for. */
export type Turns = (key: string, work: () => Promise<FrontResult>) => Promise<FrontResult>;

export function createTurns(): Turns {
  const latest = new Map<string, Promise<FrontResult>>();
  return async (key, work) => {
    const mine = inTurn(latest.get(key), work);
    latest.set(key, mine);
    try {
      return await mine;
    } finally {
      if (latest.get(key) === mine) latest.delete(key);
    }
  };
}

/** Where the one before came to nothing, so does this one: each would wait for the log, or for a desk, as long as that one did. */
async function inTurn(
  before: Promise<FrontResult> | undefined,
  work: () => Promise<FrontResult>,
): Promise<FrontResult> {
  const earlier = await before;
  return earlier?.kind === 'written' ? earlier : work();
}
