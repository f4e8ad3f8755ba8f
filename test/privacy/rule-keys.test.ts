/** Caps may be keyed by what the service says beside its fields: their keys are stored in clear, and name nobody. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import type { LoanRequest } from '../../src/domain/request.ts';
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { factsOf } from '../../src/rules/facts-of.ts';
import { encodeAuditLine, readAuditLine } from '../../src/wire/audit-line.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { always, at, compiled, ruleOf } from '../rules/sample-request.ts';
import { plantedIn } from '../wire/planted.ts';
import { createTestVault } from '../wire/vault.ts';

const vault = createTestVault();
const read = readRequestMapping(mappingFile);
assert.ok(read.kind === 'read');
const { mapping } = read;
const cap = { name: 'by-sector', keyFacts: ['extra.setor', 'extra.filial'], window: 'day', maxAmountReais: 1_000 };
const ruleSet = compiled([
  ruleOf({ name: 'by-sector', conditions: always, event: { type: 'cap', params: cap } }),
  ruleOf({
    name: 'segments',
    conditions: { all: [{ fact: 'extra.setor', operator: 'equal', value: 'Zulmira Plantada' }] },
    event: { type: 'segment', params: { dimensions: [{ fact: 'extra.filial', cuts: [1_000] }] } },
  }),
]);

/** As it stands in the log, and as rules read it. */
function received(fields: object): { stored: LoanRequest; whole: LoanRequest; raw: object } {
  const raw = { numeroSolicitacao: 7, valorLiberado: 1_000, ...fields };
  const reading = readWebhook(JSON.stringify([raw]), { mapping, vault, receivedAt: at, now: at });
  assert.ok(reading.kind === 'entries');
  const [entry] = reading.entries;
  assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
  const { request, sealed } = entry.record;
  assert.deepEqual(plantedIn(JSON.stringify(entry.record)), []);
  return {
    stored: request,
    whole: joinRequest(request, vault.open(sealedPlaces.request(request.requestId), sealed), vault),
    raw,
  };
}

function keysOf(request: LoanRequest) {
  const { caps, segmentKeys } = evaluateRequest(ruleSet, factsOf({ request, link: null, marginCents: null, at }), at);
  return { caps: caps.flatMap(({ keys }) => keys), segments: segmentKeys };
}

test('a text goes into the key of a cap by a pseudonym, a code as it is (defect line 13)', () => {
  const { caps, segments } = keysOf(received({ setor: 'Zulmira Plantada', filial: 'SP' }).whole);
  assert.deepEqual(plantedIn(JSON.stringify([caps, segments])), []);
  assert.match(caps[0]!, /^by-sector\|extra\.setor=[\w-]{43}\|extra\.filial=SP\|/);
  // The condition saw the text itself.
  assert.deepEqual(segments, ['all', 'all|extra.filial=?']);
});

test('the same text gives the same keys, now and when it is replayed; another one others (defect line 13)', () => {
  const fields = { setor: 'Zulmira Plantada', filial: 'Rua da Zulmira, 7' };
  const first = keysOf(received(fields).whole);
  assert.deepEqual(keysOf(received({ ...fields, numeroSolicitacao: 8 }).whole), first);
  const other = keysOf(received({ ...fields, filial: 'Rua da Zulmira, 8' }).whole);
  assert.notDeepEqual(other.caps, first.caps);
  // Texts that are too long for a key share one cap, as before.
  assert.match(keysOf(received({ setor: 'S', filial: 'f'.repeat(81) }).whole).caps[0]!, /\|extra\.filial=\?\|/);
});

test('a file of requests is judged under the keys of the desk (defect line 13)', () => {
  const { whole, raw } = received({ setor: 'Zulmira Plantada', filial: 12_345_678 });
  const line = {
    ...{ request: whole, link: null, bids: null, ownBidId: null, startedAt: null, endedAt: null, knownAt: null },
    ...{ decidedAt: at, control: { paused: false, caps: {} }, acceptance: null },
  };
  const written = encodeAuditLine(line, JSON.parse(JSON.stringify(raw)), null);
  const again = readAuditLine(written, { mapping, vault });
  assert.ok(again.kind === 'line', JSON.stringify(again));
  assert.deepEqual(keysOf(again.line.request), keysOf(whole));
  assert.doesNotMatch(JSON.stringify(keysOf(whole)), /12345678/);
  assert.deepEqual(keysOf(whole).segments, ['all', 'all|extra.filial=1000+']);
});

test('a request of an earlier version, stored with its texts, keeps the keys that it had (defect line 13)', () => {
  const { stored } = received({});
  const { caps } = keysOf({ ...stored, extra: { setor: 'Sul e Sudeste', filial: 3 } });
  assert.match(caps[0]!, /^by-sector\|extra\.setor=Sul%20e%20Sudeste\|extra\.filial=3\|/);
});
