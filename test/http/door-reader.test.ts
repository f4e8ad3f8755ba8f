/** The thread that reads webhooks says what reading them here would say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { type SealedPlace, sealedPlaces } from '../../src/domain/vault.ts';
import { createDoorReader, type DoorReaderParts } from '../../src/door-reader.ts';
import { type BodyReader, bodyReader } from '../../src/http/door.ts';
import { keepUnread, type WebhookReading } from '../../src/wire/webhook.ts';
import { limits, mapping, requestBody, terms } from './parts.ts';

const pseudonymKey = 'only-for-tests-0123456789abcdef-0123';
const vault = createVault(pseudonymKey);

const keep: DoorReaderParts['keep'] = (body, receivedAt, code) =>
  keepUnread(body, code, { vault, receivedAt, now: receivedAt });

/** Each sealing draws a nonce of its own: what was sealed is compared. */
function opened(reading: WebhookReading | null): unknown {
  assert.ok(reading !== null);
  const isSealed = (key: string) => key === 'sealed' || key === 'sealedPayload';
  const places = new Map<string, SealedPlace>();
  const seen = (place: SealedPlace, sealed: string) => places.set(sealed, place);
  for (const entry of reading.kind === 'entries' ? reading.entries : []) {
    if (entry.topic === 'auctions' && entry.record.kind === 'requested')
      seen(sealedPlaces.request(entry.key), entry.record.sealed);
    if (entry.topic === 'dead-letters') seen(sealedPlaces.letter(entry.key), entry.record.sealedPayload);
  }
  if (reading.kind === 'dead-letter' && reading.letter.topic === 'dead-letters')
    seen(sealedPlaces.letter(reading.letter.key), reading.letter.record.sealedPayload);
  return JSON.parse(
    JSON.stringify(reading, (key, value) =>
      isSealed(key) ? vault.open(places.get(value)!, value) : key === 'text' ? undefined : (value as unknown),
    ),
  );
}

test('bodies of every kind are read as they are here, in order, and each record is written out', async (context) => {
  const here = bodyReader({ vault, mapping, limits, terms });
  let readHere = 0;
  const counted: BodyReader = (body, receivedAt) => {
    readHere += 1;
    return here(body, receivedAt);
  };
  const there = createDoorReader({ data: { pseudonymKey, mapping, limits, terms }, here: counted, keep, restMs: 0 });
  context.after(there.close);
  const bodies = [
    requestBody('1234567890123456789'),
    requestBody(2, { dataNascimento: 'never', valorSolicitado: 1.5 }),
    Buffer.from('{"Solicitacoes":[{"cpf":1},{"numeroSolicitacao":3}]}'),
    Buffer.from('{"a":'),
    Buffer.from('{"nobody":"knows"}'),
    Buffer.alloc(0),
  ];
  const early = await there.read(bodies[0]!, 5_000);
  assert.deepEqual(opened(early), opened(await here(bodies[0]!, 5_000)));
  await there.up;
  const read = await Promise.all(bodies.map((body) => there.read(body, 5_000)));
  const kinds = new Set<string>();
  for (const [index, body] of bodies.entries()) {
    const reading = read[index];
    assert.ok(reading);
    assert.deepEqual(opened(reading), opened(await here(body, 5_000)));
    kinds.add(reading.kind);
    const entries = reading.kind === 'entries' ? reading.entries : [];
    for (const { record, text } of entries) assert.deepEqual(JSON.parse(text!), record);
  }
  assert.deepEqual([...kinds].sort(), ['dead-letter', 'entries', 'malformed']);
  assert.equal(readHere, 1, 'only what comes before the thread is up is read here');
});

test('a body that ends the thread costs itself alone; those behind it are read by the next one (defect line 8)', async (context) => {
  const there = createDoorReader({
    data: { pseudonymKey, mapping, limits, terms },
    here: bodyReader({ vault, mapping, limits, terms }),
    keep,
    restMs: 0,
    thread: new URL('./failing-thread.ts', import.meta.url),
  });
  context.after(there.close);
  await there.up;
  const killer = Buffer.from('{"ends-the-thread":1}');
  const bodies = [
    requestBody(1),
    killer,
    requestBody(2),
    killer,
    requestBody(3),
    requestBody(4),
    requestBody(5),
    requestBody(6),
  ];
  const readings = await Promise.all(bodies.map((body) => there.read(body, 5_000)));
  assert.deepEqual(
    readings.map((reading) => reading?.kind),
    ['entries', 'dead-letter', 'entries', 'dead-letter', 'entries', 'entries', 'entries', 'entries'],
  );
  const lost = readings[1]!;
  assert.ok(lost.kind === 'dead-letter' && lost.failed && lost.letter.topic === 'dead-letters');
  assert.match(lost.reason, /ERR_OF_THE_TEST/);
  const kept = vault.open(sealedPlaces.letter(lost.letter.key), lost.letter.record.sealedPayload);
  assert.equal(kept, killer.toString());
});

test('a short body waits for one or two long ones, not for all that came before it', async (context) => {
  const wider = { ...limits, bodyLimitBytes: 1_000_000 };
  const there = createDoorReader({
    data: { pseudonymKey, mapping, limits: wider, terms },
    here: bodyReader({ vault, mapping, limits: wider, terms }),
    keep,
    restMs: 0,
  });
  context.after(there.close);
  await there.up;
  const long = requestBody(1, { observacao: 'x'.repeat(300_000) });
  const done: string[] = [];
  const bodies = [...Array.from({ length: 8 }, () => long), requestBody(2)];
  const readings = bodies.map(async (body) => {
    const reading = await there.read(body, 5_000);
    assert.equal(reading?.kind, 'entries');
    done.push(body === long ? 'long' : 'short');
  });
  await Promise.all(readings);
  const place = done.indexOf('short');
  assert.ok(place <= 2, `the short one was read after ${place} long ones`);
  assert.equal(done.length, bodies.length);
});

test('short bodies do not wait for a long one, and each of its elements is read, in order (defect line 23)', async (context) => {
  const roomy = { ...limits, bodyLimitBytes: 33_554_432, appendTimeoutMs: 60_000 };
  const there = createDoorReader({
    data: { pseudonymKey, mapping, limits: roomy, terms },
    here: () => assert.fail('read here'),
    keep,
    restMs: 0,
  });
  context.after(there.close);
  await there.up;
  await there.read(requestBody(7), 5_000);
  const element = (id: number) => JSON.parse(requestBody(id).toString()).Solicitacoes[0] as object;
  const elements = Array.from({ length: 6_000 }, (_, index) => element(1_000 + index));
  const startedMs = performance.now();
  let longMs: number | null = null;
  const readLong = async () => {
    const reading = await there.read(Buffer.from(JSON.stringify({ Solicitacoes: elements })), 5_000);
    longMs = performance.now() - startedMs;
    return reading;
  };
  const long = readLong();
  const waits: number[] = [];
  while (longMs === null) {
    const sentMs = performance.now();
    assert.ok((await there.read(requestBody(8), 5_000))?.kind === 'entries');
    waits.push(performance.now() - sentMs);
  }
  assert.ok(waits.length > 5, `${waits.length} short bodies were read beside it`);
  assert.ok(Math.max(...waits) < 0.5 * longMs, `one waited ${Math.max(...waits)} ms of ${longMs} ms`);
  const reading = await long;
  assert.ok(reading?.kind === 'entries');
  const keys = reading.entries.filter(({ topic }) => topic === 'auctions').map(({ key }) => key);
  assert.deepEqual(
    keys,
    elements.map((_, index) => String(1_000 + index)),
  );
});
