/** Each field table of the operations after a bid has an example under `test/examples/operations`, read and written again. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Decoded } from '../../src/wire/casing.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue, parseJson } from '../../src/wire/json.ts';
import {
  accountUpdateMessage,
  finalisationMessage,
  proposalAnswer,
  signersMessage,
  splitsMessage,
} from '../../src/wire/proposals.ts';
import {
  inclusionAnswer,
  inclusionMessage,
  installmentsAnswer,
  installmentsMessage,
  proposalQueryMessage,
  proposalRecord,
  simulationAnswer,
  simulationMessage,
} from '../../src/wire/withdrawals.ts';
import {
  acknowledgementMessage,
  ccbEvent,
  contractMessage,
  renegotiatedEvent,
  renegotiationMessage,
} from '../../src/wire/worker-credit.ts';

type Table = { decode: (value: JsonValue) => Decoded<unknown>; write: (value: unknown) => JsonObject };

function table<I, O extends I>(message: {
  decode: (value: JsonValue) => Decoded<O>;
  encode: (value: I) => JsonObject;
}): Table {
  return { decode: message.decode, write: (value) => message.encode(value as I) };
}

const tables: Readonly<Record<string, Table>> = {
  contract: table(contractMessage),
  renegotiation: table(renegotiationMessage),
  acknowledgement: table(acknowledgementMessage),
  ccb: table(ccbEvent),
  renegotiated: table(renegotiatedEvent),
  simulation: table(simulationMessage),
  'simulation-answer': table(simulationAnswer),
  inclusion: table(inclusionMessage),
  'inclusion-answer': table(inclusionAnswer),
  'proposal-query': table(proposalQueryMessage),
  'proposal-record': table(proposalRecord),
  installments: table(installmentsMessage),
  'installments-answer': table(installmentsAnswer),
  splits: table(splitsMessage),
  signers: table(signersMessage),
  finalisation: table(finalisationMessage),
  'account-update': table(accountUpdateMessage),
  'proposal-answer': table(proposalAnswer),
};

type Example = { message: string; wire: JsonValue; value: JsonValue };

const folder = new URL('../examples/operations/', import.meta.url);
const examples = readdirSync(folder).map((name) => {
  const parsed = parseJson(readFileSync(new URL(name, folder)));
  assert.equal(parsed.kind, 'parsed', name);
  return { name, example: (parsed as { value: unknown }).value as Example };
});

/** Long numbers as texts, so that they compare by their digits. */
function plain(value: unknown): unknown {
  if (isRawNumber(value)) return `number ${value.rawJSON}`;
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** The same body with its keys in another case; what a table does not name keeps its own. */
function recased(value: JsonValue, change: (key: string) => string, kept: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) return value.map((item) => recased(item, change, kept));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      kept.has(key) ? key : change(key),
      kept.has(key) ? (inner as JsonValue) : recased(inner as JsonValue, change, kept),
    ]),
  );
}

/** Keys that stand in `extra` somewhere: of what the contract does not name, the case is part of it. */
function extraKeys(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) extraKeys(item, found);
  if (!isJsonObject(value)) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'extra' && isJsonObject(inner)) for (const name of Object.keys(inner)) found.add(name);
    extraKeys(inner, found);
  }
  return found;
}

function read(example: Example, wire: JsonValue): unknown {
  const decoded = tables[example.message]!.decode(wire);
  assert.ok(decoded.kind === 'decoded', JSON.stringify(decoded));
  return decoded.value;
}

for (const { name, example } of examples) {
  test(`operation ${name}`, () => {
    const value = read(example, example.wire);
    assert.deepEqual(plain(value), plain(example.value));
    assert.equal(JSON.stringify(tables[example.message]!.write(value)), JSON.stringify(example.wire));
  });

  test(`operation ${name}, in another case`, () => {
    // The content of this one is passed through whole, keys and all.
    const kept = example.message === 'proposal-query' ? new Set(['dto']) : extraKeys(example.value);
    for (const change of [(key: string) => key.toLowerCase(), (key: string) => key.toUpperCase()]) {
      assert.deepEqual(plain(read(example, recased(example.wire, change, kept))), plain(example.value));
    }
  });
}

/** `body` as the service writes it, by one of the tables above. */
function told(name: string, body: string): Record<string, unknown> {
  const parsed = parseJson(body);
  assert.ok(parsed.kind === 'parsed');
  const decoded = tables[name]!.decode(parsed.value);
  assert.ok(decoded.kind === 'decoded', JSON.stringify(decoded));
  return decoded.value as Record<string, unknown>;
}

test('amounts that the service computed finer than a cent are rounded to the nearest one', () => {
  const record = told(
    'proposal-record',
    '{"VlrFinanciado":1800.105,"VlrIOF":47.309999999999995,"VlrTotalDivida":-0.125}',
  );
  assert.deepEqual([record.financedCents, record.iofCents, record.totalDebtCents], [180_011, 4_731, -13]);
  assert.deepEqual(record.extra, {});
  const payload =
    '{"NumeroCCB":"1","ValorParcela":100.96999999999999,"ValorEmprestimo":1019.8500000000001,"ValorSeguro":0.999}';
  const { note } = told('ccb', `{"CodigoRequisicao":"c","Payload":${payload}}`) as { note: Record<string, unknown> };
  assert.deepEqual([note.installmentCents, note.loanCents, note.insuranceCents], [10_097, 101_985, 100]);
  const unread = told('proposal-record', '{"VlrFinanciado":"muito","VlrIOF":1e99}');
  assert.deepEqual([unread.financedCents, unread.iofCents], [null, null]);
  assert.deepEqual(unread.extra, { VlrFinanciado: 'muito', VlrIOF: 1e99 });
  assert.equal(
    tables.splits!.decode({ dto: {}, lancamentos: [{ vlrTransacao: 10.005 }] }).kind,
    'refused',
    'we send cents',
  );
});

test('numbers of 32 bits are read whole, with their sign', () => {
  for (const number of [-2_147_483_648, -1, 0, 999_999_999, 1_000_000_000, 2_147_483_647]) {
    const body = `{"Situacao":${number},"QtdeParcelas":null,"PropostaLancamentos":[{"Situacao":${number}}]}`;
    const { situation, entries } = told('proposal-record', body);
    assert.deepEqual([situation, (entries as { situation: number }[])[0]!.situation], [number, number]);
    const simulation = told('simulation-answer', `{"PeriodoMin":${number},"PeriodoMax":${number}}`);
    assert.deepEqual([simulation.leastPeriod, simulation.mostPeriod], [number, number]);
  }
  const { situation, extra } = told('proposal-record', '{"Situacao":2147483648}');
  assert.deepEqual([situation, extra], [null, { Situacao: 2_147_483_648 }]);
});

test('every table has an example', () => {
  assert.deepEqual(
    Object.keys(tables).toSorted(),
    [...new Set(examples.map(({ example }) => example.message))].toSorted(),
  );
});
