/** The cache of the link queries as the sandbox plays it, on a clock of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { createLinks, defaultLinks } from '../../src/sandbox/links.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import { defaultWorld } from '../../src/sandbox/world.ts';
import { linkDetailPath, linkListPath } from '../../src/wire/link-queries.ts';
import { manualClock } from './clocks.ts';

const dayMs = 86_400_000;

test('what either link query kept is answered for 24 hours to whoever asks for the cache, and to nobody else', () => {
  for (const path of [linkListPath, linkDetailPath] as const) {
    const clock = manualClock(Date.UTC(2026, 10, 10, 15));
    const links = createLinks({ settings: defaultLinks, clock, chance: chanceOf('links'), tell: () => {} });
    const { worker } = requestAt(defaultWorld, 'seed', 3, 10);
    links.learn(worker);
    const link = {
      ...{ cpfTrabalhador: worker.cpf, matricula: worker.registration },
      ...{ codigoInscricaoEmpregador: worker.employer.idType, numeroInscricaoEmpregador: worker.employer.id },
    };
    const autorizacao = { nsuAutorizacaoDigital: Number(worker.authorisationNumber) };
    const sourceOf = (flag: object) => {
      const own = path === linkListPath ? { cpfTrabalhador: worker.cpf } : link;
      const answer = links.query(path, JSON.stringify({ ...own, ...flag, autorizacao }));
      assert.ok(answer.kind === 'acknowledged', JSON.stringify(answer));
      return answer.source;
    };
    assert.equal(sourceOf({ consultaCacheada: true }), 'processor', 'nothing is kept yet');
    clock.advance(dayMs);
    assert.equal(sourceOf({ consultaCacheada: true }), 'cache', path);
    clock.advance(1);
    assert.equal(sourceOf({ consultaCacheada: true }), 'processor', path);
    for (const direct of [{}, { consultaCacheada: false }]) assert.equal(sourceOf(direct), 'processor', path);
  }
});
