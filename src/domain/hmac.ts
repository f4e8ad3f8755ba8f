/** HMAC-SHA256 for those who need it for every row or request. */
import { hash } from 'node:crypto';

/** Bytes that are kept to work in; a longer text gets room of its own. */
const roomBytes = 65_536;
/** UTF-8 takes at most so many for one character of a string. */
export const bytesPerCharacter = 3;

/** A function that gives a place to work in, with room for `bytes`. What the last call wrote there is overwritten. */
export function workingRoom(): (bytes: number) => Buffer {
  const kept = Buffer.allocUnsafeSlow(roomBytes);
  return (bytes) => (bytes <= roomBytes ? kept : Buffer.allocUnsafeSlow(bytes));
}

const hashBlockBytes = 64;
const digestBytes = 32;

/**
 * HMAC-SHA256 of a text, base64url, as the two digests that RFC 2104 makes it of. `createHmac` makes an object for each text, which
 * takes longer than both digests. `key` has 64 bytes at most.
 */
export function hmacOf(key: Uint8Array): (text: string) => string {
  const padded = (pad: number) => Buffer.alloc(hashBlockBytes).map((_, index) => (key[index] ?? 0) ^ pad);
  const innerPad = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(digestBytes)]);
  const room = workingRoom();
  return (text) => {
    const inner = room(hashBlockBytes + text.length * bytesPerCharacter);
    inner.set(innerPad);
    const end = hashBlockBytes + inner.write(text, hashBlockBytes);
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), hashBlockBytes, 'latin1');
    return hash('sha256', outer, 'base64url');
  };
}
