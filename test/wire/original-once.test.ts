/** Whatever stands around the elements of a webhook is kept once: what is stored grows with the body, not with its square. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sealedPlaces } from '../../src/domain/vault.ts';
import type { JsonObject } from '../../src/wire/json.ts';
import { readWebhook, type WebhookEntry } from '../../src/wire/webhook.ts';
import { mapping } from '../http/parts.ts';
import { createTestVault } from './vault.ts';

const vault = createTestVault();
const receivedAt = Date.UTC(2026, 10, 21, 13);
const long = 'x'.repeat(1_000_000);
const many = 400;

function entriesOf(body: unknown): readonly WebhookEntry[] {
  const reading = readWebhook(JSON.stringify(body), { mapping, vault, receivedAt, now: receivedAt });
  assert.ok(reading.kind === 'entries', reading.kind);
  return reading.entries;
}

function storedBytes(entries: readonly WebhookEntry[]): number {
  return entries.reduce((sum, { record }) => sum + JSON.stringify(record).length, 0);
}

function letterOf(entries: readonly WebhookEntry[]): JsonObject {
  const letters = entries.flatMap((entry) => (entry.topic === 'dead-letters' ? [entry] : []));
  assert.equal(letters.length, 1);
  return JSON.parse(vault.open(sealedPlaces.letter(letters[0]!.key), letters[0]!.record.sealedPayload));
}

/** CPFs whose check digits hold. */
function cpfOf(index: number): string {
  const digits = [...String(100_000_000 + index)].map(Number);
  for (const length of [9, 10]) {
    const sum = digits.slice(0, length).reduce((total, digit, at) => total + digit * (length + 1 - at), 0);
    digits.push(((sum * 10) % 11) % 10);
  }
  return digits.join('');
}

const link = (index: number) => ({
  cpf: cpfOf(index),
  matricula: String(index),
  inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' },
  numeroInscricaoEmpregador: '12345678000195',
  elegivel: true,
  motivoInelegibilidade: null,
});

test('400 elements that cannot be used, in a wrapper of 1 MB, are one letter (defect line 8)', () => {
  const empty = Array.from({ length: many }, () => ({}));
  const body = { observacao: long, CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: 1 }, ...empty] };
  const entries = entriesOf(body);
  assert.ok(storedBytes(entries) < 2_000_000, `${storedBytes(entries)} bytes`);
  assert.deepEqual(letterOf(entries), { observacao: long, CodigoLote: 'L', Solicitacoes: empty });
});

test('elements in lists of lists keep their places in the letter (defect line 8)', () => {
  const bad = { numeroSolicitacao: 7, DataHoraFimLeilao: 'logo' };
  const good = { numeroSolicitacao: 6 };
  const body = {
    aviso: long,
    Payload: { Solicitacoes: [{ lote: 1, propostas: [good, bad] }, { lote: 2, propostas: [good] }, bad], outro: 1 },
    data: [good],
  };
  assert.deepEqual(letterOf(entriesOf(body)), {
    aviso: long,
    Payload: { Solicitacoes: [{ lote: 1, propostas: [bad] }, bad], outro: 1 },
  });
});

test('a link list of 400 workers keeps what is around the rows once (defect line 8)', () => {
  const vinculos = Array.from({ length: many }, (_, index) => link(index));
  const body = { codigoRequisicao: 'R', aviso: long, payload: { vinculos } };
  const entries = entriesOf(body);
  assert.equal(entries.length, many);
  assert.ok(storedBytes(entries) < 2_500_000, `${storedBytes(entries)} bytes`);
  const [first, second] = entries.map((entry) => {
    assert.ok(entry.topic === 'callbacks' && entry.record.kind === 'link-list');
    return JSON.parse(vault.open(sealedPlaces.callback(entry.key), entry.record.sealed));
  });
  assert.deepEqual(first, { codigoRequisicao: 'R', aviso: long, payload: { vinculos: [vinculos[0]] } });
  assert.deepEqual(second, { originalUnder: entries[0]!.key, vinculos: [vinculos[1]] });
});

test('rows and auctions that cannot be read are one letter a webhook (defect line 8)', () => {
  const empty = Array.from({ length: many }, () => ({}));
  const list = entriesOf({ codigoRequisicao: 'R', aviso: long, payload: { vinculos: [link(1), ...empty] } });
  assert.ok(storedBytes(list) < 3_500_000);
  assert.deepEqual(letterOf(list), { codigoRequisicao: 'R', aviso: long, payload: { vinculos: empty } });
  const ended = entriesOf({
    Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
    aviso: long,
    Payload: { CodigoLote: 'L', Solicitacoes: [{ NumeroSolicitacao: '1', Lances: [] }, ...empty] },
  });
  assert.ok(storedBytes(ended) < 2_000_000);
  assert.equal((letterOf(ended).Payload as { Solicitacoes: unknown[] }).Solicitacoes.length, many);
});

test('facts of a wrapper that are too long for so many requests, and too many requests, are one letter (defect line 8)', () => {
  const facts = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`fato${index}`, 'y'.repeat(190)]));
  const requests = Array.from({ length: 2_000 }, (_, index) => ({ id: index + 1 }));
  for (const body of [
    { ...facts, Solicitacoes: requests },
    Array.from({ length: 100_001 }, () => ({ id: 1 })),
    { payload: { vinculos: Array.from({ length: 100_001 }, () => ({})) } },
  ]) {
    const text = JSON.stringify(body);
    const reading = readWebhook(text, { mapping, vault, receivedAt, now: receivedAt });
    assert.ok(reading.kind === 'dead-letter');
    assert.match(reading.reason, /send (them in several webhooks|fewer at once)/);
  }
});

test('where little stands around them, each element has a letter of its own (defect line 8)', () => {
  const body = { CodigoLote: 'L', Solicitacoes: [{}, { numeroSolicitacao: 1 }, { numeroSolicitacao: 'x' }] };
  const letters = entriesOf(body).filter(({ topic }) => topic === 'dead-letters');
  assert.equal(letters.length, 2);
});

test('a key that is said twice in one object makes the webhook a dead letter, kept as it came (defect line 19)', () => {
  const once = '{"CodigoLote":"L","Solicitacoes":[{"numeroSolicitacao":1234567890123456789,"valorLiberado":1}]}';
  const read = (text: string) => readWebhook(text, { mapping, vault, receivedAt, now: receivedAt });
  assert.equal(read(once).kind, 'entries');
  for (const [found, twice] of [
    ['"valorLiberado":1', '"valorLiberado":1,"valorLiberado":9000'],
    ['"valorLiberado":1', '"valorLiberado":1,"valor\\u004ciberado":1'],
    ['"CodigoLote"', '"CodigoLote":"M","CodigoLote"'],
    ['"CodigoLote"', '"__proto__":1,"__proto__":2,"CodigoLote"'],
  ] as const) {
    const text = once.replace(found, twice);
    const reading = read(text);
    assert.ok(reading.kind === 'dead-letter' && reading.letter.topic === 'dead-letters', text);
    assert.match(reading.reason, /says a key twice/);
    assert.equal(vault.open(sealedPlaces.letter(reading.letter.key), reading.letter.record.sealedPayload), text);
  }
  assert.equal(
    read(once.replace('"valorLiberado":1', '"nota":"a:b\\":c","outra":{"x":{}},"valorLiberado":1')).kind,
    'entries',
  );
});

test('the other lists of an object are not kept with each of its elements, and not read again (defect line 8)', () => {
  const body = {
    lote: 'L',
    conteudo: { aviso: 'A', propostas: [{ id: 5 }] },
    data: Array.from({ length: 25 }, () => ({ id: -1 })),
    propostas: [{ id: 123, z: long }],
  };
  const entries = entriesOf(body);
  assert.ok(storedBytes(entries) < 2_000_000, `${storedBytes(entries)} bytes`);
  const letters = entries.flatMap((entry) => (entry.topic === 'dead-letters' ? [entry] : []));
  assert.equal(letters.length, 25);
  for (const { key, record } of letters) {
    const kept = JSON.parse(vault.open(sealedPlaces.letter(key), record.sealedPayload)) as JsonObject;
    assert.deepEqual(kept, { lote: 'L', conteudo: { aviso: 'A' }, data: [{ id: -1 }] });
    const again = readWebhook(JSON.stringify(kept), { mapping, vault, receivedAt, now: receivedAt });
    assert.ok(again.kind === 'entries' && again.entries.every(({ topic }) => topic === 'dead-letters'));
  }
});

test('a letter for several elements keeps the fields of containers beside their lists (defect line 8)', () => {
  const empty = Array.from({ length: many }, () => ({}));
  const body = { conteudo: { CodigoLote: 'L', data: [{ id: 5 }] }, aviso: long, propostas: [{ id: 1 }, ...empty] };
  assert.deepEqual(letterOf(entriesOf(body)), { conteudo: { CodigoLote: 'L' }, aviso: long, propostas: empty });
});

test('the path of a nested fact is not written before each of many values (defect line 8)', () => {
  const key = 'k'.repeat(190);
  const ones = Array.from({ length: 100 }, () => 1);
  const extraOf = (element: object): Record<string, unknown> => {
    const [entry] = entriesOf({ data: [{ id: 1, ...element }] });
    assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
    return JSON.parse(vault.open(sealedPlaces.request('1'), entry.record.sealed)).facts?.extra ?? {};
  };
  for (const facts of [
    { [key]: { [key]: { [key]: ones } } },
    { [key]: ones },
    { ['k'.repeat(100)]: { a: ones, b: ones } },
  ]) {
    const body = { data: Array.from({ length: 1_000 }, (_, index) => ({ id: index + 1, ...facts })) };
    const size = JSON.stringify(body).length;
    const stored = storedBytes(entriesOf(body));
    assert.ok(stored < 8 * size + 7_000 * 1_000, `${stored} bytes of ${size}`);
  }
  assert.deepEqual(extraOf({ [key]: { [key]: 1 }, convenio: { tipo: 2 } }), { 'convenio.tipo': 2 });
  assert.equal(Object.keys(extraOf({ parcelasEmAberto: { porContrato: ones } })).length, 100);
  assert.deepEqual(extraOf({ [key]: ones.slice(0, 9), z: 3 }).z, 3);
});

const asRequests = (items: readonly unknown[]) => ({ CodigoLote: 'L', Solicitacoes: items });

/** Shapes of a webhook with so many elements, and so long a text around them or in them. */
const shapes: readonly ((count: number, text: string) => unknown)[] = [
  (count, text) => ({ aviso: text, ...asRequests(Array.from({ length: count }, (_, id) => ({ id }))) }),
  (count, text) => ({ aviso: text, ...asRequests(Array(count).fill({})) }),
  (count, text) => ({ [text || 'a']: 1, ...asRequests([1, null, [], ...Array(count).fill({ id: -1 })]) }),
  (count, text) => ({ data: Array(count).fill({ id: -1 }), propostas: [{ id: 123, z: text }], Data: [{ id: 1 }] }),
  (count, text) =>
    asRequests(Array.from({ length: 4 }, () => ({ aviso: text, propostas: Array(count).fill({ id: 7, x: {} }) }))),
  (count, text) => ({
    Payload: { data: { conteudo: { aviso: text, propostas: [{ id: 1 }, ...Array(count).fill(0)] } } },
  }),
  (count, text) => ({ ...factsLike(text), ...asRequests(Array.from({ length: count }, (_, id) => ({ id }))) }),
  (count, text) => ({
    data: Array(count).fill({ id: 5, ['k'.repeat(150)]: { [text.slice(0, 40)]: Array(100).fill(1) } }),
  }),
  (count, text) => ({ data: Array(count).fill({ numeroSolicitacao: 7, DataHoraFimLeilao: text || 'logo' }) }),
  (count, text) => ({
    codigoRequisicao: 'R',
    aviso: text,
    payload: { vinculos: Array.from({ length: count }, (_, at) => link(at)) },
  }),
  (count, text) => ({
    codigoRequisicao: 'R',
    aviso: text,
    payload: { vinculos: [link(1), ...Array(count).fill({ x: text })] },
  }),
  (count, text) => ({
    Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
    aviso: text,
    Payload: { CodigoLote: 'L', Solicitacoes: [{ NumeroSolicitacao: '1', Lances: [] }, ...Array(count).fill({})] },
  }),
];

/** Many facts around the requests, each as long as a fact may be. */
function factsLike(text: string): object {
  return Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`fato${index}`, text.slice(0, 190)]));
}

test('what is written of a webhook is bounded by its bytes and its elements, or it is one letter (defect line 8)', () => {
  const kinds = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.constantFrom(...shapes),
      fc.integer({ min: 0, max: 400 }),
      fc.constantFrom(0, 90, 2_000, 9_000),
      (shape, count, length) => {
        const body = JSON.stringify(shape(count, 'y'.repeat(length)));
        let seals = 0;
        const seal: typeof vault.seal = (place, sealed) => {
          seals += 1;
          return vault.seal(place, sealed);
        };
        const reading = readWebhook(body, { mapping, vault: { ...vault, seal }, receivedAt, now: receivedAt });
        assert.ok(reading.kind !== 'malformed' && !('failed' in reading), body.slice(0, 200));
        const entries = reading.kind === 'entries' ? reading.entries : [reading.letter];
        const stored = storedBytes(entries);
        const allowed = 16 * body.length + 8_192 * seals + 2_048 * entries.length;
        assert.ok(stored <= allowed, `${stored} characters of ${body.length}, ${entries.length} entries`);
        if (reading.kind === 'dead-letter')
          assert.equal(JSON.stringify(JSON.parse(body)), openedLetter(reading.letter));
        kinds.set(reading.kind, (kinds.get(reading.kind) ?? 0) + 1);
      },
    ),
    { numRuns: 300, seed: 8 },
  );
  assert.ok((kinds.get('entries') ?? 0) > 100, `${[...kinds]}`);
});

function openedLetter({ topic, key, record }: WebhookEntry): string {
  assert.ok(topic === 'dead-letters');
  return vault.open(sealedPlaces.letter(key), record.sealedPayload);
}

test('facts around 400 requests that would be written 400 times make the webhook one letter (defect line 8)', () => {
  const requests = Array.from({ length: 400 }, (_, index) => ({ id: index + 1 }));
  const body = JSON.stringify({ ...factsLike('y'.repeat(190)), ...asRequests(requests) });
  const reading = readWebhook(body, { mapping, vault, receivedAt, now: receivedAt });
  assert.ok(reading.kind === 'dead-letter' && reading.failed === undefined);
  assert.match(reading.reason, /too long to be kept with each of them; send fewer at once/);
  assert.equal(openedLetter(reading.letter), body);
});
