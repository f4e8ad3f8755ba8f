/**
 * Two mends of kafkajs 2.2.4 from outside; it has had no release since 2023.
 *
 * Idle loop (kafkajs #1704, #1751): once a connection has had an answer, its request queue looks for pending requests every
 * millisecond for ever, because the wait until the end of a throttling that never was is negative. That is 5 % of a core in
 * a daemon that does nothing, and `TimeoutNegativeWarning` since Node 24. Here a look is scheduled only where a request
 * waits: every other change of the queue looks by itself already.
 *
 * Lost socket: two requests that find a connection not yet open both open it, and the first socket is forgotten but stays
 * open; the process then never ends by itself. Here the second request waits for the first one's attempt.
 */
import { createRequire } from 'node:module';

type RequestQueue = {
  pending: readonly unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
};

type Connection = { connect: () => Promise<unknown> };

const pendingLookMs = 10;

const require = createRequire(import.meta.url);
const { prototype: queue } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
const { prototype: connection } = require('kafkajs/src/network/connection') as { prototype: Connection };

queue.scheduleCheckPendingRequests = function scheduleOnlyWhereNeeded(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
  const waitMs = Math.max(this.throttledUntil - Date.now(), pendingLookMs);
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null;
    this.checkPendingRequests();
  }, waitMs);
};

const openOne = connection.connect;
const opening = new WeakMap<Connection, Promise<unknown>>();

connection.connect = function connectOnce(this: Connection): Promise<unknown> {
  const under = opening.get(this);
  if (under !== undefined) return under;
  const attempt = openOne.call(this).finally(() => opening.delete(this));
  opening.set(this, attempt);
  return attempt;
};
