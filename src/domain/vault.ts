/** How identities are kept: pseudonyms as keys, sealed text for what must be read again. */
import type { RequestId } from './glossary.ts';
import type { Topic } from './records.ts';

/**
 * Where a sealed value stands: the topic and key of the record that it was written in, and the part of it. A value opens only
 * under the place that it was sealed for. Whatever copies a sealed value into another record keeps the place of the first.
 */
export type SealedPlace = { readonly topic: Topic; readonly key: string; readonly field: string };

/** Every place where something is sealed, so that who seals and who opens cannot name it differently. */
export const sealedPlaces = {
  /** Identity and raw element of a request. */
  request: (requestId: RequestId): SealedPlace => ({ topic: 'auctions', key: requestId, field: 'sealed' }),
  /** The service's answer to a bid. */
  bidAnswer: (requestId: RequestId): SealedPlace => ({ topic: 'auctions', key: requestId, field: 'response' }),
  /** The whole body of a callback, under the key of its record: a worker's pseudonym or a request code. */
  callback: (key: string): SealedPlace => ({ topic: 'callbacks', key, field: 'sealed' }),
  /** Whose a row of a link list is. */
  link: (workerKey: string, linkKey: string): SealedPlace => ({
    topic: 'callbacks',
    key: workerKey,
    field: `links.${linkKey}`,
  }),
  letter: (key: string): SealedPlace => ({ topic: 'dead-letters', key, field: 'sealedPayload' }),
  /** What a flow was begun with, or amended to. */
  flowOrder: (flowId: string): SealedPlace => ({ topic: 'flows', key: flowId, field: 'order' }),
  /** What a step of a flow asks for. */
  flowStep: (flowId: string): SealedPlace => ({ topic: 'flows', key: flowId, field: 'step' }),
  /** Why somebody asked for a step. */
  flowReason: (flowId: string): SealedPlace => ({ topic: 'flows', key: flowId, field: 'sealedReason' }),
  /** The bytes of an operation. */
  flowBody: (flowId: string): SealedPlace => ({ topic: 'flows', key: flowId, field: 'sealedBody' }),
  /** The service's answer to an operation. */
  flowAnswer: (flowId: string): SealedPlace => ({ topic: 'flows', key: flowId, field: 'sealedAnswer' }),
} as const;

/** Synchronous on purpose: a few microseconds each, at the door and before a link query. */
export type Vault = {
  /** HMAC-SHA256 with the pseudonym key, base64url. The same text always gives the same pseudonym. */
  pseudonym: (text: string) => string;
  /** AES-256-GCM with a key derived from the pseudonym key, bound to `place`; says which key it was. */
  seal: (place: SealedPlace, text: string) => string;
  /** Throws the operational fault `sealed-unreadable` when the key or the place is another one. */
  open: (place: SealedPlace, sealed: string) => string;
};
