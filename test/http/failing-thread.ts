/** A thread of the door that ends over bodies that say so; the others it reads as the real one does. */
import { parentPort, workerData } from 'node:worker_threads';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { BodyAnswer, BodyQuestion, DoorThreadData } from '../../src/door-reader.ts';
import { bodyReader } from '../../src/http/door.ts';

const { pseudonymKey, ...reading } = workerData as DoorThreadData;
const read = bodyReader({ vault: createVault(pseudonymKey), ...reading });
parentPort!.on('message', async ({ id, body, receivedAt }: BodyQuestion) => {
  const text = Buffer.from(body).toString();
  if (text.includes('ends-the-thread')) throw Object.assign(new Error('ended'), { code: 'ERR_OF_THE_TEST' });
  const reading = await read(Buffer.from(text), receivedAt);
  const entries = reading.kind === 'entries' ? reading.entries : [];
  const answer: BodyAnswer = {
    id,
    reading: reading.kind === 'entries' ? { ...reading, entries: [] } : { kind: 'malformed', text: 'of the test' },
    topics: entries.map(({ topic }) => topic),
    keys: entries.map(({ key }) => key),
    texts: entries.map(({ record }) => JSON.stringify(record)),
  };
  parentPort!.postMessage(answer);
});
parentPort!.postMessage('up');
