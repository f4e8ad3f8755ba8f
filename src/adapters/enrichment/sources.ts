/**
 * Asks external sources over HTTP: one POST of a JSON object, one JSON object back. No redirect is followed, no more is read than an
 * answer may be long, and nothing goes on once nobody waits for it. Whatever goes wrong is a reason, never an exception.
 */
import type { Endpoint, Enrichment, QueryBudget, SourceReply } from '../../bidding/ports.ts';
import { maxReplyLength } from '../../domain/offer.ts';

/** By the name of the endpoint. `token` null: none is sent. */
type Endpoints = Readonly<Record<string, EndpointSettings>>;
type EndpointSettings = { url: string; token: string | null; sendCpf: boolean; maxConcurrent: number };

export function createEnrichment(settings: Endpoints, budget: QueryBudget): Enrichment {
  const endpoints = new Map(Object.entries(settings).map(([name, own]) => [name, endpointAt(own)]));
  return { endpoint: (name) => endpoints.get(name) ?? null, take: budget.take };
}

function endpointAt({ url, token, sendCpf, maxConcurrent }: EndpointSettings): Endpoint {
  return {
    maySendCpf: sendCpf,
    mostAsked: maxConcurrent,
    ask: async (question, ended) => {
      try {
        return await ask(url, token, question, ended);
      } catch {
        return { kind: 'failed', reason: ended.aborted ? 'time-out' : 'unreachable' };
      }
    },
  };
}

async function ask(url: string, token: string | null, question: string, signal: AbortSignal): Promise<SourceReply> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'application/json' },
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: question,
    redirect: 'manual',
    signal,
  });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    const isElsewhere = answer.status >= 300 && answer.status < 400;
    return { kind: 'failed', reason: isElsewhere ? 'redirected' : 'refused' };
  }
  const bytes = answer.body === null ? new Uint8Array() : await readUpTo(answer.body, maxReplyLength);
  if (bytes === null) return { kind: 'failed', reason: 'too-long' };
  try {
    return { kind: 'reply', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { kind: 'failed', reason: 'unreadable' };
  }
}

/** Null: it is longer. */
async function readUpTo(body: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    // Leaving the loop cancels the body.
    if (length > most) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
