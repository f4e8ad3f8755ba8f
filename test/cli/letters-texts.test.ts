/** What `lance letters replay` says: how many were read, what became of them, what remains and what to do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restOf } from '../../src/cli/letters.ts';
import { lettersEn } from '../../src/cli/letters-texts-en.ts';
import { lettersPt } from '../../src/cli/letters-texts-pt.ts';

const lines = (text: string) => text.split('\n');

test('a replay says in sentences of their own what is understood now, what remains with its remedy, and what is left', () => {
  const mixed = { read: 3, understood: 1, stillNot: 2 };
  assert.deepEqual(lines(lettersEn.replayed(mixed, null)), [
    '3 dead letters were read again.',
    '1 is understood now: it is taken as a webhook of the time when it came.',
    '2 are still not understood, and stay dead letters: lance letters list says why. Mend the mapping (lance mapping try SAMPLE), restart the desk and replay them again.',
    'No other one is left to read.',
  ]);
  assert.deepEqual(lines(lettersPt.replayed(mixed, null)), [
    '3 mensagens mortas foram relidas.',
    '1 foi entendida agora: vale como um webhook da hora em que chegou.',
    '2 ainda não foram entendidas e continuam mortas: lance letters list diz por quê. Corrija o mapeamento (lance mapping try AMOSTRA), reinicie a mesa e releia-as.',
    'Não resta outra a reler.',
  ]);
});

test('one dead letter is told in the singular, and nothing is said of what did not happen', () => {
  const understood = { read: 1, understood: 1, stillNot: 0 };
  const not = { read: 1, understood: 0, stillNot: 1 };
  assert.match(
    lettersEn.replayed(understood, null),
    /^1 dead letter was read again\.\n1 is understood now: it is taken .*\nNo other/,
  );
  assert.match(
    lettersEn.replayed(not, null),
    /^1 dead letter was read again\.\n1 is still not understood, and stays a dead letter: .* replay it again\.\nNo other/,
  );
  assert.match(
    lettersPt.replayed(understood, null),
    /^1 mensagem morta foi relida\.\n1 foi entendida agora: vale .*\nNão/,
  );
  assert.match(
    lettersPt.replayed(not, null),
    /^1 mensagem morta foi relida\.\n1 ainda não foi entendida e continua morta: .* releia-a\.\nNão resta/,
  );
  const all = { read: 12, understood: 12, stillNot: 0 };
  assert.match(
    lettersEn.replayed(all, { partition: 0, from: 40 }),
    /12 are understood now: they are taken .* they came\.\nThere may be more: /,
  );
  assert.match(
    lettersPt.replayed(all, { partition: 0, from: 40 }),
    /12 foram entendidas agora: valem .* chegaram\.\nPode haver mais: /,
  );
});

test('where no dead letter waits, that is all that is said', () => {
  const none = { read: 0, understood: 0, stillNot: 0 };
  assert.equal(lettersEn.replayed(none, null), '0 dead letters were read again: none waits here.');
  assert.equal(lettersPt.replayed(none, null), '0 mensagens mortas foram relidas: nenhuma espera aqui.');
});

test('where there may be more, the command that reads it is named whole', () => {
  const result = { read: 50, understood: 3, stillNot: 47 };
  for (const { replayed } of [lettersEn, lettersPt]) {
    assert.match(replayed(result, { partition: 2, from: 61 }), /: lance letters replay --partition 2 --from 61\.$/);
    assert.doesNotMatch(replayed(result, null), /--from/);
  }
});

test('where a replay goes on is where the desk says, in the partition that was asked for', () => {
  const result = { read: 50, understood: 0, stillNot: 50, next: 61 };
  const more = { partition: 1, from: 7 };
  assert.deepEqual(restOf({ ...result, more }, { partition: null, count: 50 }), more);
  assert.equal(restOf(result, { partition: null, count: 50 }), null, 'the last one of all was read');
  assert.deepEqual(restOf(result, { partition: 3, count: 50 }), { partition: 3, from: 61 });
  assert.equal(restOf(result, { partition: 3, count: 51 }), null);
});
