/** Anybody may ask whether the desk is alive and ready, at any rate: what an answer costs does not grow with the open requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { createKeptRows } from '../../src/bidding/kept-rows.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { Fault } from '../../src/errors.ts';
import { openHouse } from './house.ts';

const probes = 1_000;
const rows = 20_000;

/** Milliseconds of processor time that `probes` of them take, server and client together; the least of three rounds. */
async function costMs(url: string): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = process.cpuUsage();
    for (let index = 0; index < probes / 3; index += 1) await (await fetch(url)).arrayBuffer();
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / 1_000);
  }
  return Math.min(...rounds);
}

test('1,000 probes of a desk with 20,000 open requests cost what those of an idle one do (defect line 8)', async () => {
  const house = await openHouse({ seed: 1, sandbox: {}, bidding: {} });
  try {
    const desk = house.engine.desk!;
    const urls = ['/livez', '/readyz', '/readyz?verbose'].map((path) => `${house.engine.url}${path}`);
    const idle: number[] = [];
    await costMs(urls[0]!);
    for (const url of urls) idle.push(await costMs(url));
    const at = Date.now();
    const entries = Array.from({ length: rows }, (_, index): NewEntry => {
      const requestId = String(900_000 + index);
      return { topic: 'auctions', key: requestId, record: { kind: 'frozen', requestId, at, problem: 'seen by hand' } };
    });
    await house.store.log.append(entries);
    while (desk.status().frozen < rows) await setTimeout(50);
    const loaded: number[] = [];
    for (const url of urls) loaded.push(await costMs(url));
    const figures = urls.map((url, index) => `${url}: ${idle[index]} ms idle, ${loaded[index]} ms loaded`).join('; ');
    for (const [index, ms] of loaded.entries()) assert.ok(ms < 2.5 * idle[index]! + 50, figures);
    const verbose = await (await fetch(urls[2]!)).text();
    assert.match(verbose, /20000 requests and 0 flows are frozen/);
  } finally {
    await house.close();
  }
});

test('what is counted of the rows at hand is what a look at all of them would count (defect line 8)', () => {
  type Row = { id: string; frozen: boolean; open: boolean };
  const id = fc.constantFrom('a', 'b', 'c', 'd');
  const partition = fc.integer({ min: 0, max: 1 });
  const step = fc.oneof(
    fc.record({ row: fc.record({ id, frozen: fc.boolean(), open: fc.boolean() }), partition }),
    fc.record({ lose: partition }),
    fc.constant('clear' as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const kept = createKeptRows<Row, string, 'frozen'>({
        readAt: async () => [],
        idOfRow: (row) => row.id,
        idOf: (record) => record,
        isOpen: ({ open }) => open,
        tallies: { frozen: ({ frozen }) => frozen },
      });
      for (const taken of steps) {
        if (taken === 'clear') kept.clear();
        else if ('lose' in taken) kept.lose(taken.lose);
        else kept.put(taken.row, taken.partition, 1);
        assert.equal(kept.countOf('frozen'), kept.all().filter(({ frozen }) => frozen).length);
      }
    }),
  );
});

test('orders that cannot be read just now are unknown, not none', async () => {
  const house = await openHouse({ seed: 2, sandbox: {}, bidding: { controlMaxAgeMs: 600, controlPollMs: 100 } });
  const verbose = async () => (await fetch(`${house.engine.url}/readyz?verbose`)).text();
  try {
    while (!/control: no order yet/.test(await verbose())) await setTimeout(50);
    house.store.control.read = () => Promise.reject(new Fault('views-unavailable', 'the server is away'));
    while (!/control-stale/.test(await verbose())) await setTimeout(50);
    assert.match(await verbose(), /control: unknown: the orders cannot be read\n/);
    const status = (await (await fetch(`${house.engine.url}/status`)).json()) as { requests: { known: boolean } };
    assert.equal(status.requests.known, true);
  } finally {
    await house.close();
  }
});
