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

function emptyQueue(): TinyQueue<Appointment> {
  return new TinyQueue<Appointment>([], (a, b) => a.at - b.at || (a.requestId < b.requestId ? -1 : 1));
}

export function createAgenda(clock: Clock, onDue: (requestIds: RequestId[]) => void): Agenda {
  const times = new Map<RequestId, EpochMs>();
  let queue = emptyQueue();
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

  /** Whether an appointment is due was said by a clock that has been corrected since: all are looked at, and made anew. */
  function ringAll(): void {
    const due = [...times.keys()];
    close();
    if (due.length > 0) onDue(due);
  }

  function close(): void {
    timer?.handle.cancel();
    timer = null;
    times.clear();
    queue = emptyQueue();
  }

  clock.onJump(ringAll);
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
    close,
  };
}
