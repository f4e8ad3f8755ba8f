/**
 * Views that are kept apart from their log may be ahead of it: the end of the log was lost, or they are of another log. What is
 * stored from then on would be taken for records that were folded long ago, and nobody would look at it.
 */
import type { Clock } from '../domain/clock.ts';
import { Fault } from '../errors.ts';
import { callbackPartition, type EventLog, type Views } from './ports.ts';
import { sleep } from './sleep.ts';

/** A broker that has just become the leader of a partition may not know at once how far it reaches. */
const looks = 10;
const lookAgainMs = 500;

/** Rejects with `store-set-back` where views hold records that the log does not have. Beside desks that run as well. */
export async function refuseViewsAhead(
  { log, views, flows }: { log: Pick<EventLog, 'ends'>; views: Pick<Views, 'applied'>; flows: Pick<Views, 'applied'> },
  clock: Clock,
): Promise<void> {
  const streams = [
    { topic: 'auctions', applied: views.applied },
    { topic: 'callbacks', applied: (partition: number) => views.applied(callbackPartition(partition)) },
    { topic: 'flows', applied: flows.applied },
  ] as const;
  for (const { topic, applied } of streams) {
    for (const partition of (await log.ends(topic)).keys()) {
      const position = await applied(partition);
      // Asked after the position: others append and fold meanwhile.
      const end = async () => (await log.ends(topic)).get(partition) ?? 0;
      let reached = await end();
      for (let look = 1; reached < position && look < looks; look += 1) {
        await sleep(clock, lookAgainMs);
        reached = await end();
      }
      if (reached < position) throw ahead(`${topic}/${partition}`, position, reached);
    }
  }
}

function ahead(place: string, position: number, end: number): Fault {
  return new Fault(
    'store-set-back',
    `The log lacks records that were dealt with: its views have read ${place} up to ${position}, and it ends at ${end}. A bid that was sent since would be sent again with other bytes. Put the topic back, or the Redis that belongs to it (LANCE_REDIS_URL, redis.keyPrefix); where that cannot be, accept what is there with: lance audit accept-restore --by NAME --reason TEXT.`,
  );
}
