/**
 * How questions between processes of one desk and their answers are sealed: under keys derived from the pseudonym key, which all of them
 * have. Nobody else can read, forge or change them. A question is for one process and one moment, an answer for one question. And how much
 * of either is read.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Of what is sealed. Another version is not opened, and its sender is not answered. */
const version = 1;

export type PeerKeys = { question: KeyObject; answer: KeyObject };

export function createPeerKeys(secret: string): PeerKeys {
  const derive = (purpose: string) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'lance', purpose, 32)));
  return { question: derive('peer-question'), answer: derive('peer-answer') };
}

/** `boundTo` is authenticated and not sent: who opens it has to name the same. */
export function sealPeerText(key: KeyObject, boundTo: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const sealer = createCipheriv(cipher, key, nonce);
  sealer.setAAD(Buffer.from(boundTo));
  const sealed = sealer.update(text, 'utf8');
  return Buffer.concat([Buffer.from([version]), nonce, sealed, sealer.final(), sealer.getAuthTag()]);
}

/** Null: it was not sealed with this key for this. */
export function openPeerText(key: KeyObject, boundTo: string, bytes: Buffer): string | null {
  if (bytes[0] !== version || bytes.length < 1 + nonceBytes + tagBytes) return null;
  const opener = createDecipheriv(cipher, key, bytes.subarray(1, 1 + nonceBytes), { authTagLength: tagBytes });
  opener.setAAD(Buffer.from(boundTo));
  opener.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const opened = opener.update(bytes.subarray(1 + nonceBytes, -tagBytes));
    return Buffer.concat([opened, opener.final()]).toString('utf8');
  } catch {
    return null;
  }
}

export const peerPath = '/questions';
export const mostQuestionBytes = 262_144;
export const mostAnswerBytes = 16_777_216;

/** Null: there are more. What is left is not read. */
export async function readUpTo(chunks: AsyncIterable<Uint8Array>, mostBytes: number): Promise<Buffer | null> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > mostBytes) return null;
    read.push(chunk);
  }
  return Buffer.concat(read);
}

export const questionFor = (instance: string) => `question\n${instance}`;
export const answerTo = (instance: string, questionId: string) => `answer\n${instance}\n${questionId}`;
