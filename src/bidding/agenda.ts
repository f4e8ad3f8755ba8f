/** When to look at a request again: one time a request, one timer of the clock for all. */
import TinyQueue from 'tinyqueue';
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';

export type Agenda = {
  /** Replaces an earlier time of the same request. */
  set: (requestId: RequestId, at: EpochMs) => void;
  remove: (requestId: RequestId) => void;
  close: () => void;
};

type Appointment = { requestId: RequestId; at: EpochMs };

export function createAgenda(clock: Clock, onDue: (requestIds: RequestId[]) => void): Agenda {
  const times = new Map<RequestId, EpochMs>();
  const queue = new TinyQueue<Appointment>([], (a, b) => a.at - b.at || (a.requestId < b.requestId ? -1 : 1));
  let timer: { at: EpochMs; handle: Timer } | null = null;

  function arm(): void {
    const next = queue.peek();
    if (next === undefined || (timer !== null && timer.at <= next.at)) return;
    timer?.handle.cancel();
    timer = { at: next.at, handle: clock.schedule(next.at, ring) };
  }

  function ring(): void {
    timer = null;
    const now = clock.now();
    const due: RequestId[] = [];
    for (let next = queue.peek(); next !== undefined && next.at <= now; next = queue.peek()) {
      queue.pop();
      // A time that was replaced or removed stays in the queue until it surfaces.
      if (times.get(next.requestId) !== next.at) continue;
      times.delete(next.requestId);
      due.push(next.requestId);
    }
    arm();
    if (due.length > 0) onDue(due);
  }

  return {
    set: (requestId, at) => {
      if (times.get(requestId) === at) return;
      times.set(requestId, at);
      queue.push({ requestId, at });
      arm();
    },
    remove: (requestId) => {
      times.delete(requestId);
    },
    close: () => {
      timer?.handle.cancel();
      times.clear();
      queue.length = 0;
    },
  };
}
