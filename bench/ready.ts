/** When a daemon is ready, as it says itself. */
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 50;
const patienceMs = 1_200_000;

async function isReady(origin: string): Promise<boolean> {
  const answer = await fetch(`${origin}/readyz`);
  await answer.body?.cancel();
  return answer.ok;
}

/** Rejects when it is not ready after 20 minutes. */
export async function whenReady(origin: string): Promise<void> {
  const startedAt = performance.now();
  while (!(await isReady(origin))) {
    if (performance.now() - startedAt > patienceMs) throw new Error('the desk does not come back to bidding');
    await sleep(pollMs);
  }
}
