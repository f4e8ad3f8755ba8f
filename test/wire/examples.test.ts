/** Every payload under `test/examples` is read, and written again where we write it: documentation that cannot go stale. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import outcomeFile from '../../config/outcomes.json' with { type: 'json' };
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import type { Requested } from '../../src/domain/records.ts';
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces, type Vault } from '../../src/domain/vault.ts';
import { decodeBid, encodeBid, encodeBidAccepted } from '../../src/wire/bid.ts';
import type { Decoded } from '../../src/wire/casing.ts';
import { type CreditNoteEvent, decodeCreditNote, encodeCreditNote } from '../../src/wire/credit-notes.ts';
import {
  decodeContemplated,
  decodeEndOfAuction,
  decodeProposed,
  encodeContemplated,
  encodeEndOfAuction,
  encodeProposed,
} from '../../src/wire/events.ts';
import { type JsonValue, parseJson } from '../../src/wire/json.ts';
import {
  decodeLinkDetailQuery,
  decodeLinkListQuery,
  decodeRequestCode,
  encodeLinkDetailQuery,
  encodeLinkListQuery,
  encodeQueryAcknowledged,
  linkListPath,
} from '../../src/wire/link-queries.ts';
import { decodeLinkDetail, decodeLinkList, encodeLinkDetail, encodeLinkList } from '../../src/wire/links.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readBidAnswer, readOutcomeTable } from '../../src/wire/outcomes.ts';
import { readCode } from '../../src/wire/plain-ids.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { createTestVault } from './vault.ts';

const folder = new URL('../examples/', import.meta.url);
const receivedAt = Date.UTC(2026, 10, 21, 13, 30, 1);

function examples(kind: string): { name: string; content: Record<string, JsonValue> }[] {
  const names = readdirSync(new URL(`${kind}/`, folder));
  assert.ok(names.length > 0, `no examples in ${kind}`);
  return names.map((name) => {
    const parsed = parseJson(readFileSync(new URL(`${kind}/${name}`, folder)));
    assert.equal(parsed.kind, 'parsed', name);
    return { name, content: (parsed as { value: Record<string, JsonValue> }).value };
  });
}

const mapping = readRequestMapping(mappingFile);
assert.equal(mapping.kind, 'read');
const table = readOutcomeTable(outcomeFile);
assert.equal(table.kind, 'read');

/** What was expected must be there; more may be. Lists have to be complete. */
function assertHolds(actual: unknown, expected: unknown, path: string): void {
  if (typeof expected !== 'object' || expected === null) {
    assert.equal(actual, expected, path);
    return;
  }
  assert.ok(typeof actual === 'object' && actual !== null, `${path} is not there`);
  if (Array.isArray(expected))
    assert.equal((actual as unknown[]).length, expected.length, `${path} has another length`);
  for (const [key, value] of Object.entries(expected)) {
    assertHolds((actual as Record<string, unknown>)[key], value, `${path}/${key}`);
  }
}

function again<T>(decode: (value: JsonValue) => Decoded<T>, encode: (value: T) => string) {
  return (value: JsonValue): string => {
    const decoded = decode(value);
    assert.equal(decoded.kind, 'decoded');
    return encode((decoded as { value: T }).value);
  };
}

const encoders: Record<string, (value: JsonValue) => string> = {
  'end-of-auction': again(decodeEndOfAuction, encodeEndOfAuction),
  contemplated: again(decodeContemplated, encodeContemplated),
  proposed: again(decodeProposed, encodeProposed),
  'link-list': again(decodeLinkList, encodeLinkList),
  'link-detail': again(decodeLinkDetail, encodeLinkDetail),
  'credit-note-contract': again((value) => decodeCreditNote(value, 'contract'), writeNote),
  'credit-note-renegotiation': again((value) => decodeCreditNote(value, 'renegotiation'), writeNote),
};

function writeNote({ requestCode, of, note }: CreditNoteEvent): string {
  assert.ok(note !== null);
  return encodeCreditNote({ requestCode, of, note });
}

/** A requested record with the facts of its request that are sealed beside it. */
function wholeRecord(vault: Vault, value: unknown): unknown {
  const record = value as Requested | null;
  if (record?.kind !== 'requested' || record.requestId === undefined) return value;
  const { requestId, request, sealed } = record;
  return { ...record, request: joinRequest(request, vault.open(sealedPlaces.request(requestId), sealed), vault) };
}

for (const { name, content } of examples('webhooks')) {
  test(`webhook ${name}`, () => {
    assert.equal(mapping.kind, 'read');
    const body = Buffer.from(JSON.stringify(content.in));
    const vault = createTestVault();
    const deps = { mapping: mapping.mapping, vault, receivedAt, now: receivedAt };
    const reading = readWebhook(body, deps);
    const shown = reading.kind === 'entries' ? { ...reading, faults: reading.faults.length } : reading;
    assertHolds(JSON.parse(JSON.stringify(shown, (_key, value) => wholeRecord(vault, value))), content.out, name);
    if (typeof content.encoder === 'string') {
      assert.equal(encoders[content.encoder]!(content.in!), JSON.stringify(content.in));
    }
  });
}

for (const { name, content } of examples('messages')) {
  test(`message ${name}`, () => {
    const wire = JSON.stringify(content.wire);
    const value = content.value as never;
    if (content.encoder === 'bid') {
      const { requestId, contacts, ...offer } = value as Parameters<typeof encodeBid>[0] &
        Parameters<typeof encodeBid>[0]['offer'];
      assert.equal(encodeBid({ requestId, contacts, offer }), wire);
      assert.deepEqual(decodeBid(wire), { kind: 'bid', bid: { ...(value as object), offGrid: false } });
      return;
    }
    const isList = content.encoder === 'link-list-query';
    assert.equal(isList ? encodeLinkListQuery(value) : encodeLinkDetailQuery(value), wire);
    assert.deepEqual(isList ? decodeLinkListQuery(wire) : decodeLinkDetailQuery(wire), { kind: 'decoded', value });
  });
}

for (const { name, content } of examples('answers')) {
  test(`answer ${name}`, () => {
    assert.equal(table.kind, 'read');
    const body = typeof content.body === 'string' ? content.body : JSON.stringify(content.body);
    assert.deepEqual(readBidAnswer(table.table, content.status as number, body).outcome, {
      ...(content.outcome as object),
    });
  });
}

test('what the sandbox says of an accepted bid or a query is understood', () => {
  assert.equal(table.kind, 'read');
  const requestCode = '5f1d7f0e-8a55-4a0e-bb2c-0d9b3c1c7a01';
  const accepted = encodeBidAccepted({ requestCode, message: 'Lance incluído' });
  assert.deepEqual(readBidAnswer(table.table, 200, accepted).outcome, { kind: 'accepted', bidId: requestCode });
  const taken = encodeQueryAcknowledged({ requestCode, path: linkListPath, message: 'Recebido' });
  assert.equal(decodeRequestCode(taken), requestCode);
});

test('the codes of an answer and of events are the same with braces and without (integrator, session 49)', () => {
  assert(table.kind === 'read');
  const code = '5f1d7f0e-8a55-4a0e-bb2c-0d9b3c1c7a01';
  const body = { CodigoRequisicao: `{${code.toUpperCase()}}`, Conteudo: { CodigoLanceLeilao: `{${code}}` } };
  assert.deepEqual(readBidAnswer(table.table, 200, JSON.stringify(body)).codes, [code]);
  assert.deepEqual(readCode(`{${code}}`), { kind: 'value', value: code });
  for (const wrong of [`{${code}`, '{lance-1}', '{}']) assert.equal(readCode(wrong).kind, 'wrong', wrong);
});

test('a success whose error flag or list is of another kind is not believed to be one', () => {
  assert(table.kind === 'read');
  const content = '"Conteudo":{"CodigoLanceLeilao":"b-1"}';
  for (const flaw of ['"HasError":"true"', '"HasError":1', '"Erros":{"Codigo":"E1"}', '"errors":"E1"']) {
    const { outcome } = readBidAnswer(table.table, 200, `{${flaw},${content}}`);
    assert.deepEqual(outcome, { kind: 'unknown', reason: 'unreadable-success' }, flaw);
  }
  for (const fine of ['"HasError":false', '"HasError":null', '"Erros":null', '"Erros":[]']) {
    const { outcome } = readBidAnswer(table.table, 200, `{${fine},${content}}`);
    assert.deepEqual(outcome, { kind: 'accepted', bidId: 'b-1' }, fine);
  }
});

test('every code of an answer is read, whatever the answer means', () => {
  const [call, bid] = ['0a5f8f1e-1111-4a0e-bb2c-0d9b3c1c7a01', '0a5f8f1e-2222-4a0e-bb2c-0d9b3c1c7a02'];
  const outside = `{"CodigoRequisicao":"${call}","Origem":"/contrato/oferta-leilao/incluir-lance","Conteudo":{"CodigoLanceLeilao":"${bid}","Mensagem":"Lance incluído fora do leilão"}}`;
  assert(table.kind === 'read');
  assert.deepEqual(readBidAnswer(table.table, 200, outside), {
    outcome: { kind: 'accepted-outside', bidId: bid },
    codes: [call, bid],
    isHarmless: true,
  });
  const failed = `{"codigoRequisicao":"${call}","Conteudo":null,"Erros":[{"Mensagem":"?"}]}`;
  assert.deepEqual(readBidAnswer(table.table, 503, failed).codes, [call]);
  assert.deepEqual(readBidAnswer(table.table, 200, '{"CodigoRequisicao":"Maria da Silva"}').codes, []);
  assert.deepEqual(readBidAnswer(table.table, 200, 'no JSON').codes, []);
});
