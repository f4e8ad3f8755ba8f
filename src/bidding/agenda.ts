/** When to look at a request again: one time a request, one timer of the clock for all. */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { createHeap } from './heap.ts';

export type Agenda = {
  /** Replaces an earlier time of the same request. */
  set: (requestId: RequestId, at: EpochMs) => void;
  remove: (requestId: RequestId) => void;
  close: () => void;
};

type Appointment = { requestId: RequestId; at: EpochMs };

const nearestFirst = (one: Appointment, other: Appointment): number =>
  one.at - other.at || (one.requestId < other.requestId ? -1 : 1);
const idOf = ({ requestId }: Appointment): RequestId => requestId;

export function createAgenda(clock: Clock, onDue: (requestIds: RequestId[]) => void): Agenda {
  const times = new Map<RequestId, Appointment>();
  let queue = createHeap(nearestFirst, times, idOf);
  let timer: { at: EpochMs; handle: Timer } | null = null;

  function arm(): void {
    const next = queue.peek();
    if (next === null || (timer !== null && timer.at <= next.at)) return;
    timer?.handle.cancel();
    timer = { at: next.at, handle: clock.schedule(next.at, ring) };
  }

  function ring(): void {
    timer = null;
    const now = clock.now();
    const due: RequestId[] = [];
    for (let next = queue.peek(); next !== null && next.at <= now; next = queue.peek()) {
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
    queue = createHeap(nearestFirst, times, idOf);
  }

  clock.onJump(ringAll);
  return {
    set: (requestId, at) => {
      if (times.get(requestId)?.at === at) return;
      const appointment = { requestId, at };
      times.set(requestId, appointment);
      queue.push(appointment);
      arm();
    },
    remove: (requestId) => {
      times.delete(requestId);
    },
    close,
  };
}
