/** Loaded before a process (`--import`): kills it right before it writes its n-th Produce request to a broker, as `LANCE_TEST_KILL_AT` says. */
import { Socket } from 'node:net';

/** A request to a broker: its length, then what is asked. */
const apiKeyAt = 4;
const produce = 0;
const leastRequestBytes = 14;

let left = Number(process.env.LANCE_TEST_KILL_AT);

function isProduce(data: unknown): boolean {
  if (!Buffer.isBuffer(data) || data.length < leastRequestBytes) return false;
  return data.readInt32BE(0) === data.length - 4 && data.readInt16BE(apiKeyAt) === produce;
}

const written = Socket.prototype.write as (this: Socket, ...words: unknown[]) => boolean;
Socket.prototype.write = function killable(this: Socket, ...words: unknown[]) {
  if (isProduce(words[0])) left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  return written.apply(this, words);
} as typeof Socket.prototype.write;
