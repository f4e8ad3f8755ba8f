/**
 * What is known of a log outside of it is kept as signed lines, in a file or as records: the HMAC-SHA256 of a JSON text in
 * base64url, a space, the text. The text names the key, so that another key is told from a forgery.
 */
import { createHmac, createSecretKey, type Hmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { AuditKey } from './audit.ts';

/** `unchecked`: there was no key to check with. */
type Signature = 'ours' | 'other-key' | 'forged' | 'unchecked';

export type SignedLine<Content> = { content: Content; mac: string; signature: Signature };

const keyObjects = new WeakMap<AuditKey, KeyObject>();

/** HMAC-SHA256 with the key. Given as bytes, Node would check and copy the key at each call, which takes longer than the rest. */
export function hmacWith(key: AuditKey): Hmac {
  const known = keyObjects.get(key) ?? createSecretKey(key.secret);
  keyObjects.set(key, known);
  return createHmac('sha256', known);
}

export function signLine(key: AuditKey, content: object): { line: string; mac: string } {
  const body = JSON.stringify({ ...content, key: key.id });
  const mac = macOf(key, body);
  return { line: `${mac} ${body}`, mac };
}

/** Null: it is no signed line, or what it says is not of the shape that `fits` checks. Blanks after it do not count. */
export function readSignedLine<Content extends object>(
  line: string,
  key: AuditKey | null,
  fits: (content: Readonly<Record<string, unknown>>) => boolean,
): SignedLine<Content> | null {
  const space = line.indexOf(' ');
  const mac = line.slice(0, space);
  const body = line.slice(space + 1).trimEnd();
  const content = objectIn(body);
  if (content === null || typeof content.key !== 'string' || !fits(content)) return null;
  return { content: content as Content, mac, signature: signatureOf(mac, body, content.key, key) };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function signatureOf(mac: string, body: string, keyId: string, key: AuditKey | null): Signature {
  if (key === null) return 'unchecked';
  if (keyId !== key.id) return 'other-key';
  const [right, given] = [Buffer.from(macOf(key, body)), Buffer.from(mac)];
  return right.length === given.length && timingSafeEqual(right, given) ? 'ours' : 'forged';
}

function macOf(key: AuditKey, body: string): string {
  return hmacWith(key).update(body).digest('base64url');
}
