/** What the service wrote is shown without the worker's name and CPF, however it writes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { createFormat } from '../../src/cli/format.ts';
import { createScrubber } from '../../src/cli/scrub.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { pseudonymKey } from './desk.ts';

const cpf = '40585708908';
const name = 'José Gonçalves Conceição';
const requestId = '7001';

function scrubberOf(identity: { cpf: string; name: string }, id = requestId) {
  const world = { format: createFormat('en'), createVault } as unknown as CommandWorld;
  const sealed = createVault(pseudonymKey).seal(sealedPlaces.request(id), JSON.stringify({ identity }));
  return createScrubber(world, id, sealed, pseudonymKey);
}

test('the CPF of the worker goes in any grouping, also where it is not valid or stands inside of a longer number', () => {
  for (const own of [cpf, '40585708900']) {
    const { text } = scrubberOf({ cpf: own, name });
    const [a, b, c, d] = [own.slice(0, 3), own.slice(3, 6), own.slice(6, 9), own.slice(9)];
    for (const written of [
      own,
      `${a} ${b} ${c} ${d}`,
      `${a}-${b}-${c}-${d}`,
      `${a}.${b}.${c}-${d}`,
      `${a} . ${b} . ${c} - ${d}`,
      own.replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
      own.replaceAll(/\d/g, (digit) => `\\u003${digit}`),
    ]) {
      assert.equal(text(`do cliente ${written}, recusado`), 'do cliente ***, recusado', written);
    }
    assert.equal(text(`lote 77${own}88`), 'lote 77***88');
  }
});

test('the name of the worker goes in capitals, without its accents, and as JSON may escape it', () => {
  const { text } = scrubberOf({ cpf, name });
  for (const written of [
    name,
    'JOSE GONCALVES CONCEICAO',
    'jose goncalves conceicao',
    'JOSÉ GONÇALVES CONCEIÇÃO',
    name.normalize('NFD'),
    'Jos\\u00e9 Gon\\u00c7alves Concei\\u00e7\\u00e3o',
  ]) {
    assert.equal(text(`de ${written}, recusado`), 'de ***, recusado', written);
  }
  assert.equal(text('SR CONCEICAO, GONCALVES JOSE'), 'SR ***, *** ***');
  // And a name that was registered without accents, where the service writes them.
  assert.equal(scrubberOf({ cpf, name: 'JOSE CONCEICAO' }).text('José da Conceição'), '*** da ***');
  assert.equal(text('situação: "ação negada"\\n'), 'situação: "ação negada"\\n');
});

test('no part of a CPF or of a name stays where the text is cut', () => {
  const { text } = scrubberOf({ cpf, name });
  for (const written of [cpf, '405.857.089-08', '405 857 089 08', name, name.normalize('NFD')]) {
    for (let before = 560; before <= 600; before += 1) {
      const shown = text(`${'x'.repeat(before - 1)} ${written} ${'y'.repeat(80)}`);
      assert.match(shown, /^x+ [*]{0,3}(?: y*)? …$/, `${before} ${written}`);
      assert.ok(shown.length <= 602);
    }
  }
});

test('the code of the request stays, also where it looks like a CPF', () => {
  assert.equal(scrubberOf({ cpf, name }, '60462914887').text(`60462914887 de ${cpf}`), '60462914887 de ***');
});
