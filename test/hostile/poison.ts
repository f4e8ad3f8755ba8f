/** Poisoned records for every kind of the topics that the desk folds: other types, missing fields, no JSON, wild numbers. */
import type { NewEntry } from '../../src/bidding/ports.ts';

type Planted = { topic: 'auctions' | 'callbacks' | 'flows'; key: string; kind: string; how: string; entry: NewEntry };

const kinds = {
  auctions: ['requested', 'claimed', 'passed', 'answered', 'ended', 'contemplated', 'proposed', 'resolved'],
  callbacks: ['link-detail', 'link-list', 'contemplated', 'proposed', 'credit-note', 'operation-event'],
  flows: [
    ...['started', 'asked', 'intended', 'withheld', 'answered', 'told', 'proposed', 'margin-asked', 'turned'],
    ...['claimed-by', 'frozen', 'unfrozen'],
  ],
} as const;

/** Names of all fields that records of any kind have, so that a body can have each of them, and each wrong. */
const fields = [
  ...['request', 'sealed', 'rawHash', 'claimId', 'instance', 'body', 'offer', 'trace', 'code', 'reasons', 'outcome'],
  ...['attempts', 'response', 'batchId', 'bids', 'requestCode', 'errors', 'as', 'by', 'reason', 'detail', 'links'],
  ...['workerKey', 'note', 'of', 'endpoint', 'flow', 'key', 'subject', 'terms', 'step', 'stepId', 'intentId', 'slot'],
  ...['operation', 'sealedBody', 'breaches', 'result', 'owner', 'refusal', 'problem', 'action'],
];

const bodies: Readonly<Record<string, (head: Record<string, unknown>) => string>> = {
  'other types': (head) =>
    JSON.stringify({ ...head, ...Object.fromEntries([...fields, 'at'].map((name) => [name, [7]])) }),
  'missing fields': ({ kind, at }) => JSON.stringify({ kind, at }),
  'no JSON': ({ kind }) => `{"kind":"${String(kind)}",`,
  'leading zeros': ({ kind }) => `{"kind":"${String(kind)}","at":0123}`,
  'enormous numbers': (head) =>
    JSON.stringify({ ...head, at: 0 }).replace(
      '"at":0',
      `"at":1e308,${fields.map((name) => `"${name}":9e999`).join(',')}`,
    ),
};

/** One for each kind of record and each way to spoil it; `keyOf` says under which key it stands. */
export function poisonedEntries(keyOf: (topic: Planted['topic'], number: number) => string, at: number): Planted[] {
  const planted: Planted[] = [];
  for (const topic of ['auctions', 'callbacks', 'flows'] as const) {
    for (const kind of kinds[topic]) {
      for (const [how, body] of Object.entries(bodies)) {
        const key = keyOf(topic, planted.length);
        const head = { kind, at, ...(topic === 'auctions' ? { requestId: key } : { flowId: key }) };
        const record = head as never;
        planted.push({ topic, key, kind, how, entry: { topic, key, record, text: body(head) } });
      }
    }
  }
  return planted;
}
