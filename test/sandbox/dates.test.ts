/** What the sandbox says of a person is the same in every message, on either side of midnight and after a new start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkDetailCallback, requestsWebhook } from '../../src/sandbox/messages.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { defaultWorld, worldOn } from '../../src/sandbox/world.ts';
import { manualClock } from './clocks.ts';

const dayMs = 86_400_000;
/** In São Paulo a minute before midnight. */
const evening = Date.parse('2026-11-28T02:59:00Z');
const morning = evening + 120_000;

type Dates = { dataNascimento: string; dataAdmissao: string; dataInicioAtividadeEmpregador: string };

function datesIn({ dataNascimento, dataAdmissao, dataInicioAtividadeEmpregador }: Dates): Dates {
  return { dataNascimento, dataAdmissao, dataInicioAtividadeEmpregador };
}

/** As a request and the detail of its link say them, sent at these times. */
function datesOf(world: typeof defaultWorld, index: number, requestAtMs: number, detailAtMs: number): [Dates, Dates] {
  const request = requestAt(world, 'dates', index, 100);
  const lot = { batchId: 'b', startsAt: requestAtMs, endsAt: requestAtMs, expiresAt: requestAtMs, requests: [request] };
  const told = JSON.parse(requestsWebhook(lot)).Payload.Solicitacoes[0];
  const detail = JSON.parse(linkDetailCallback('code', request.worker, 1, detailAtMs)).Payload;
  return [datesIn(told), datesIn(detail)];
}

test('a person has the same dates before and after midnight, in the request and in the detail of the link', () => {
  const world = worldOn(defaultWorld, evening);
  for (let index = 0; index < 50; index += 1) {
    const [told, detail] = datesOf(world, index, evening, morning);
    assert.deepEqual(detail, told);
    assert.deepEqual(datesOf(world, index, morning, morning)[0], told, 'a worker who comes again');
  }
});

test('a sandbox started anew on the next day, or a month later, has the same people', () => {
  const count = 400;
  const peopleOn = (at: number) =>
    Array.from({ length: count }, (_, i) => requestAt(worldOn(defaultWorld, at), 'dates', i, count).worker);
  const before = peopleOn(evening);
  for (const later of [morning, evening + 30 * dayMs]) {
    const after = peopleOn(later);
    let renewed = 0;
    for (const [index, worker] of before.entries()) {
      const again = after[index]!;
      assert.equal(again.cpf, worker.cpf);
      assert.equal(again.tenure, worker.tenure);
      // One who has the next job by then has another link.
      if (again.registration !== worker.registration) {
        assert.ok(again.admissionDate > worker.admissionDate);
        renewed += 1;
      } else if (again.employer.startDate === worker.employer.startDate) {
        assert.equal(again.birthDate, worker.birthDate);
        assert.equal(again.admissionDate, worker.admissionDate);
      } else renewed += 1;
    }
    assert.ok(renewed <= count * (later === morning ? 0.01 : 0.06), `${renewed} of ${count} have changed`);
  }
});

test('on any day ages and tenures are spread over their whole range', () => {
  for (const at of ['2024-02-29', '2026-11-28', '2041-07-01'].map((day) => Date.parse(`${day}T12:00:00Z`))) {
    const world = worldOn(defaultWorld, at);
    const workers = Array.from({ length: 1_500 }, (_, index) => requestAt(world, 'dates', index, 1_500).worker);
    const years = workers.map(({ ageDays }) => ageDays / 365.25);
    assert.ok(Math.min(...years) > 18 && Math.min(...years) < 22, String(Math.min(...years)));
    assert.ok(Math.max(...years) < 65 && Math.max(...years) > 60, String(Math.max(...years)));
    const mean = years.reduce((sum, each) => sum + each, 0) / years.length;
    assert.ok(mean > 40 && mean < 45, `a mean age of ${mean}`);
    const bounds = { short: [1, 364], middle: [366, 1_094], long: [1_000, 9_000] } as const;
    for (const tenure of ['short', 'middle', 'long'] as const) {
      const days = workers.filter((worker) => worker.tenure === tenure).map(({ tenureDays }) => tenureDays);
      const [least, most] = bounds[tenure];
      assert.ok(
        Math.min(...days) >= least && Math.max(...days) <= most,
        `${tenure}: ${Math.min(...days)}–${Math.max(...days)}`,
      );
      assert.ok(Math.max(...days) > 0.9 * most);
    }
    for (const { ageDays, tenureDays, birthDate } of workers) {
      assert.ok(ageDays >= tenureDays + 6_000);
      assert.equal(
        Math.round((Date.parse(new Date(at).toISOString().slice(0, 10)) - Date.parse(birthDate)) / dayMs),
        ageDays,
      );
    }
  }
});

test('a sandbox that runs over midnight keeps the day of its start', () => {
  const clock = manualClock(evening);
  const sandbox = createSandbox({ settings: sandboxSettings({}), seed: 7, clock });
  const before = sandbox.people(20, 20);
  clock.advance(5 * dayMs);
  assert.deepEqual(sandbox.people(20, 20), before);
});
