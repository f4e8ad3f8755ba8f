/**
 * Mends kafkajs 2.2.4 from outside: once a connection has had an answer, its request queue looks for pending requests
 * every millisecond for ever, because the wait until the end of a throttling that never was is negative (kafkajs #1704,
 * #1751). That is 5 % of a core in a daemon that does nothing, and `TimeoutNegativeWarning` since Node 24. Here a look is
 * scheduled only where a request waits: every other change of the queue looks by itself already.
 */
import { createRequire } from 'node:module';

type RequestQueue = {
  pending: readonly unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
};

const pendingLookMs = 10;

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };

prototype.scheduleCheckPendingRequests = function scheduleOnlyWhereNeeded(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
  const waitMs = Math.max(this.throttledUntil - Date.now(), pendingLookMs);
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null;
    this.checkPendingRequests();
  }, waitMs);
};
