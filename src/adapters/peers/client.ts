/** Asks another process of the desk: one sealed question, one sealed answer, within a time limit and so many bytes. */
import { randomUUID } from 'node:crypto';
import type { Owner, UnaskedReason } from '../../bidding/ports.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import {
  answerTo,
  mostAnswerBytes,
  openPeerText,
  type PeerKeys,
  peerPath,
  questionFor,
  readUpTo,
  sealPeerText,
} from './seal.ts';

export type PeerClient = (
  owner: Owner,
  question: object,
) => Promise<{ kind: 'answered'; answer: unknown } | { kind: 'failed'; why: UnaskedReason }>;

export function createPeerClient({
  keys,
  now,
  timeoutMs = 3_000,
}: {
  keys: PeerKeys;
  now: () => EpochMs;
  timeoutMs?: number;
}): PeerClient {
  return async ({ instance, host, port }, question) => {
    const id = randomUUID();
    const body = sealPeerText(keys.question, questionFor(instance), JSON.stringify({ id, at: now(), question }));
    const name = host.includes(':') ? `[${host}]` : host;
    try {
      const answer = await fetch(`http://${name}:${port}${peerPath}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(body),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (answer.status !== 200) {
        await answer.body?.cancel();
        return { kind: 'failed', why: answer.status === 503 ? 'busy' : 'refused' };
      }
      const bytes = answer.body === null ? null : await readUpTo(answer.body, mostAnswerBytes);
      const text = bytes === null ? null : openPeerText(keys.answer, answerTo(instance, id), bytes);
      return text === null ? { kind: 'failed', why: 'refused' } : { kind: 'answered', answer: JSON.parse(text) };
    } catch (fault) {
      const isLate = fault instanceof Error && fault.name === 'TimeoutError';
      return { kind: 'failed', why: isLate ? 'time-limit' : 'gone' };
    }
  };
}
