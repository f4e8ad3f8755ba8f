/**
 * Loaded into a desk before anything else. From SIGUSR2 on, its heartbeats do not reach the group, and it answers them itself:
 * all is well. So others get its partitions, and it never learns of it.
 */
import { Socket } from 'node:net';

/** Kafka's protocol: size, then the key of the request, its version and its number. */
const heartbeatKey = 12;
const keyAt = 4;
const numberAt = 8;
const headBytes = 12;

let deaf = false;
process.on('SIGUSR2', () => {
  deaf = true;
});

const write = Socket.prototype.write as (this: Socket, chunk: unknown, ...rest: unknown[]) => boolean;

Socket.prototype.write = function writeUnlessHeartbeat(this: Socket, chunk: unknown, ...rest: unknown[]): boolean {
  if (!deaf || !isHeartbeat(chunk)) return write.call(this, chunk, ...rest);
  // Number of the request, throttled for 0 ms, no error.
  const answer = Buffer.alloc(4 + 4 + 4 + 2);
  answer.writeInt32BE(answer.length - 4, 0);
  chunk.copy(answer, 4, numberAt, numberAt + 4);
  setImmediate(() => this.emit('data', answer));
  return true;
} as typeof Socket.prototype.write;

/** Redis and HTTP have letters where Kafka has the first bytes of a length. */
function isHeartbeat(chunk: unknown): chunk is Buffer {
  return (
    Buffer.isBuffer(chunk) &&
    chunk.length > headBytes &&
    chunk.readInt32BE(0) === chunk.length - 4 &&
    chunk.readInt16BE(keyAt) === heartbeatKey
  );
}
