/** Dead letters on the embedded log: read again once the mapping is mended, in bounds, as received when they came. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { sealedPlaces } from '../../src/domain/vault.ts';
import { bodyReader } from '../../src/http/door.ts';
import { countLetters, dismissLetter, type LetterRange, listLetters, replayLetters } from '../../src/http/letters.ts';
import { type RequestMapping, readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { withBackend } from '../conformance/backend.ts';
import { kind } from '../conformance/embedded-backend.ts';
import { manualClock } from '../sandbox/clocks.ts';
import { createTestVault } from '../wire/vault.ts';
import { limits, terms } from './parts.ts';

const cameAt = Date.UTC(2026, 10, 21, 13, 0, 0);
const clock = manualClock(cameAt + 3_600_000);
const vault = createTestVault();

function mappingOf(file: unknown): RequestMapping {
  const read = readRequestMapping(file);
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  return read.mapping;
}

test('letters read again after the mapping was mended, so many at once, count from when they came', () =>
  withBackend(kind, async ({ log }) => {
    const old = mappingOf(mappingFile);
    const facts = { ...mappingFile.facts, requestId: [...mappingFile.facts.requestId, 'pedidoNovo'] };
    const mended = mappingOf({ ...mappingFile, facts });
    for (let index = 0; index < 5; index += 1) {
      const strange = index === 2 ? { estranho: index } : { pedidoNovo: 70 + index, valorLiberado: 1_000 };
      const receivedAt = cameAt + index;
      const reading = readWebhook(JSON.stringify([strange]), { mapping: old, vault, receivedAt, now: receivedAt });
      if (reading.kind === 'malformed') throw new Error(reading.text);
      await log.append(reading.kind === 'entries' ? reading.entries : [reading.letter]);
    }
    const listed = await listLetters(log, { partition: 0, from: 1, count: 3 });
    assert.deepEqual(
      [listed.letters.map(({ offset, receivedAt }) => [offset, receivedAt - cameAt]), listed.next, listed.end],
      [
        [
          [1, 1],
          [2, 2],
          [3, 3],
        ],
        4,
        5,
      ],
    );
    const order = { by: 'ana', via: 'offline', reason: 'mapeamento corrigido' } as const;
    const replay = (mapping: RequestMapping, range: LetterRange, who: typeof order | null = null) =>
      replayLetters(
        { log, append: log.append, vault, clock, readBody: bodyReader({ vault, mapping, limits, terms }) },
        range,
        who,
      );
    const whole = { partition: 0, from: 0, count: 10 };
    assert.deepEqual(await replay(old, whole), { read: 5, understood: 0, stillNot: 5, next: 5 });
    assert.deepEqual(await replay(mended, { ...whole, from: 1, count: 3 }), {
      ...{ read: 3, understood: 2, stillNot: 1, next: 4 },
    });
    const found = await log.read('auctions', 0, 0, 10);
    assert.deepEqual(
      found.map(({ record }) => record.kind === 'requested' && [record.requestId, record.request.receivedAt - cameAt]),
      [
        ['71', 1],
        ['73', 3],
      ],
    );
    const marks = 2;
    const past = await replay(mended, { ...whole, from: 9 });
    assert.deepEqual(past, { read: 0, understood: 0, stillNot: 0, next: 5 + marks });
    // Those that were understood are marked, and the marks are no letters.
    const again = await listLetters(log, whole);
    const replayedAt = clock.now();
    assert.deepEqual(
      again.letters.map((letter) => [letter.offset, letter.replayedAt]),
      [
        [0, null],
        [1, replayedAt],
        [2, null],
        [3, replayedAt],
        [4, null],
      ],
    );
    assert.deepEqual(await countLetters(log), { letters: 5, closed: 2 });
    assert.deepEqual(await replay(mended, { ...whole, from: 5 }), { read: 0, understood: 0, stillNot: 0, next: 7 });
    assert.deepEqual(await replay(mended, { ...whole, partition: 7 }), {
      read: 0,
      understood: 0,
      stillNot: 0,
      next: 0,
    });
    // What was understood is not read again and does not count.
    const rest = await replay(mended, { ...whole, from: 1, count: 2 });
    assert.deepEqual([rest.read, rest.next], [2, 5]);
    assert.equal((await replay(mended, whole, order)).read, 3 - rest.understood);
    // Who had it read again stands beside those that were understood then.
    const named = await listLetters(log, whole);
    assert.deepEqual(
      named.letters.map(({ replayedBy }) => replayedBy),
      [order, undefined, undefined, undefined, undefined],
    );
  }));

test('a letter that is dismissed is kept with who closed it and why, and is open and read again no more', () =>
  withBackend(kind, async ({ log }) => {
    const whole = { partition: 0, from: 0, count: 10 };
    for (let each = 0; each < 3; each += 1) {
      const payload = vault.seal(sealedPlaces.letter(`k${each}`), '{"x":1}');
      const record = { at: each, receivedAt: each, reason: 'x', pointer: null, sealedPayload: payload };
      await log.append([{ topic: 'dead-letters', key: `k${each}`, record }]);
    }
    const order = { by: 'ana', via: 'offline', reason: 'teste do serviço' } as const;
    const parts = { log, append: log.append, vault, clock };
    const dismiss = (offset: number, partition = 0) => dismissLetter(parts, { partition, offset }, order);
    assert.deepEqual(await dismiss(1), { kind: 'dismissed', partition: 0, offset: 1 });
    const { letters } = await listLetters(log, whole);
    assert.deepEqual(
      letters.map(({ offset, replayedAt, dismissedAt, dismissedBy }) => [offset, replayedAt, dismissedAt, dismissedBy]),
      [
        [0, null, undefined, undefined],
        [1, null, clock.now(), order],
        [2, null, undefined, undefined],
      ],
    );
    assert.deepEqual(await countLetters(log), { letters: 3, closed: 1 });
    assert.deepEqual(await dismiss(1), { kind: 'letter-closed', how: 'dismissed', at: clock.now() });
    assert.deepEqual(await dismiss(3), { kind: 'letter-unknown' }, 'the mark is no letter');
    assert.deepEqual(await dismiss(99), { kind: 'letter-unknown' });
    assert.deepEqual(await dismiss(0, 77), { kind: 'letter-unknown' });
    const readBody = bodyReader({ vault, mapping: mappingOf(mappingFile), limits, terms });
    assert.equal((await replayLetters({ ...parts, readBody }, whole)).read, 2);
  }));

test('a letter shows its keys and the facts that could not be read, and none of its values', () =>
  withBackend(kind, async ({ log }) => {
    const mapping = mappingOf(mappingFile);
    const values = ['Fulana Plantada', '52998224725', 'depois de amanhã', '987654.32'];
    const request = {
      numeroSolicitacao: 71,
      nomeTrabalhador: values[0],
      cpf: values[1],
      DataHoraFimLeilao: values[2],
      valorLiberado: values[3],
      oferta: { prazo: 'x' },
      pedidoNumero: 'x',
      'numero-externo_2': 1,
      mariaSilva: 1,
      mariaDeSouza: 1,
      maria_dos_santos: 1,
      pedidoId: 1,
      Maria: 1,
      [values[0]!]: values[1],
      josé: 1,
      rua7apto12345: 1,
      p52998224725: 1,
    };
    const event = {
      CodigoRequisicao: 'c',
      Endpoint: '/contrato/oferta-leilao/gerar-contrato',
      Payload: { NumeroCCB: [] },
    };
    for (const body of [{ Solicitacoes: [request] }, event]) {
      const reading = readWebhook(JSON.stringify(body), { mapping, vault, receivedAt: cameAt, now: cameAt });
      if (reading.kind === 'malformed') throw new Error(reading.text);
      const entries = reading.kind === 'entries' ? reading.entries : [reading.letter];
      await log.append(entries.filter(({ topic }) => topic === 'dead-letters'));
    }
    const range = { partition: 0, from: 0, count: 10 };
    const { letters } = await listLetters(log, range, { vault, mapping });
    const [ofRequest, ofEvent] = letters;
    assert.deepEqual(
      new Set(ofRequest?.keys),
      new Set(
        [
          'numeroSolicitacao',
          'nomeTrabalhador',
          'cpf',
          'DataHoraFimLeilao',
          'valorLiberado',
          'oferta.prazo',
          'pedidoNumero',
          'numero-externo_2',
          'pedidoId',
          '***',
        ].map((key) => `Solicitacoes.${key}`),
      ),
    );
    assert.deepEqual(
      ofRequest?.unreadable.map(({ fact, pointer }) => [fact, pointer]),
      [['closesAt', '/Solicitacoes/0/DataHoraFimLeilao']],
    );
    assert.match(ofRequest!.unreadable[0]!.problem, /send/);
    assert.ok(ofEvent?.keys?.includes('Payload.NumeroCCB'));
    assert.equal(ofEvent!.unreadable[0]?.pointer, '/Payload/NumeroCCB');
    const text = JSON.stringify(letters);
    for (const value of [...values, 'Fulana', 'Plantada']) assert.ok(!text.includes(value), value);
    // Without the key nothing is opened.
    const sealed = await listLetters(log, range);
    assert.deepEqual(
      sealed.letters.map(({ keys }) => keys),
      [null, null],
    );
  }));

test('a letter that would keep others waiting while it is parsed is listed without being opened', () =>
  withBackend(kind, async ({ log }) => {
    const mapping = mappingOf(mappingFile);
    for (const elements of [10, 300_000]) {
      const body = `{"estranho":[${'{},'.repeat(elements)}{}]}`;
      const reading = readWebhook(body, { mapping, vault, receivedAt: cameAt, now: cameAt });
      if (reading.kind === 'malformed') throw new Error(reading.text);
      await log.append(reading.kind === 'entries' ? reading.entries : [reading.letter]);
    }
    const opened: number[] = [];
    const open: typeof vault.open = (place, sealed) => {
      opened.push(sealed.length);
      return vault.open(place, sealed);
    };
    const { letters } = await listLetters(log, { partition: 0, from: 0, count: 10 }, { vault: { open }, mapping });
    assert.deepEqual([letters.map(({ keys }) => keys !== null), opened.length], [[true, false], 1]);
  }));
