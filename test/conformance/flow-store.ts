/** What any store of flows must do: rows as they were folded last, in the order that people page through, begun anew when lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FlowState, flowPhases } from '../../src/domain/flow-states.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { type FlowRow, flowCursor } from '../../src/origination/ports.ts';
import { settings, started } from '../origination/orders.ts';
import { type Backend, type FlowsKind, rowsAt, withBackend } from './backend.ts';

const at = 1_763_700_000_000;
const kinds = ['contract', 'renegotiation', 'withdrawal'] as const;

function flowOf(id: number, phase: number, strays = 0): FlowState {
  const flow = kinds[id % kinds.length]!;
  const state = evolve(null, started(flow), settings)!;
  const phases = flowPhases[flow];
  const odd = 'çÿ\u2028"\\\t|';
  return {
    ...state,
    flowId: `f${id}`,
    phase: phases[phase % phases.length]!,
    startedAt: at + (id % 5),
    strays,
    by: odd,
  };
}

function rowOf(id: number, phase: number, strays = 0): FlowRow {
  return {
    state: flowOf(id, phase, strays),
    open: phase % 2 === 0,
    codes: [`code:${id}`, `worker:${id % 4}`],
    givenUp: [],
  };
}

/** The rows that a store at the end of these batches has. */
function expected(batches: readonly (readonly FlowRow[])[]): Map<string, FlowRow> {
  return new Map(batches.flat().map((row) => [row.state.flowId, row]));
}

const latestFirst = (states: readonly FlowState[]) =>
  [...states].sort((one, other) => (flowCursor(one) < flowCursor(other) ? 1 : -1));
const byId = (states: readonly FlowState[]) => [...states].sort((one, other) => (one.flowId < other.flowId ? -1 : 1));

async function assertSame(
  { flows }: Pick<Backend, 'flows'>,
  rows: ReadonlyMap<string, FlowRow>,
  applied: number,
): Promise<void> {
  const states = [...rows.values()].map(({ state }) => state);
  const read = await flows.read([...rows.keys(), 'nobody']);
  assert.deepEqual(byId([...read.values()]), byId(states));
  assert.deepEqual(byId(await rowsAt(flows.readAt(0, [...rows.keys(), 'nobody']), applied)), byId(states));
  assert.deepEqual(
    byId(await rowsAt(flows.open(0), applied)),
    byId([...rows.values()].filter(({ open }) => open).map(({ state }) => state)),
  );
  const everything = { flow: null, phase: null, code: null, before: null };
  assert.deepEqual(await flows.query({ ...everything, limit: 100 }), latestFirst(states));
  for (const flow of kinds) {
    for (const phase of [null, ...flowPhases[flow]]) {
      const fitting = latestFirst(
        states.filter((state) => state.flow === flow && (phase === null || state.phase === phase)),
      );
      const first = await flows.query({ ...everything, flow, phase, limit: 2 });
      assert.deepEqual(first, fitting.slice(0, 2));
      const before = first.length < 2 ? null : flowCursor(first[1]!);
      if (before !== null)
        assert.deepEqual(await flows.query({ ...everything, flow, phase, limit: 50, before }), fitting.slice(2));
    }
  }
  for (const worker of [0, 1, 2, 3]) {
    const code = `worker:${worker}`;
    const named = latestFirst([...rows.values()].filter(({ codes }) => codes.includes(code)).map(({ state }) => state));
    assert.deepEqual(await flows.query({ ...everything, code, limit: 50 }), named);
    assert.equal((await flows.findByCode([code, 'nothing'])).get(code), named[0]?.flowId);
  }
}

const rows = fc
  .uniqueArray(fc.nat(11), { maxLength: 6 })
  .chain((ids) =>
    fc.tuple(...ids.map((id) => fc.tuple(fc.nat(14), fc.nat(3)).map(([phase, strays]) => rowOf(id, phase, strays)))),
  );

export function testFlowStore(kind: FlowsKind): void {
  test(`${kind.name}: flows are found as they were folded last, by id, code, kind and phase, after a restart too`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(rows, { minLength: 1, maxLength: 6 }), fc.boolean(), async (batches, restarts) => {
        const place = await kind.createPlace();
        let backend = await kind.open(place);
        try {
          for (const [index, batch] of batches.entries()) {
            const applied = await backend.flows.apply({ partition: 0, first: index, next: index + 1, rows: batch });
            assert.deepEqual(applied, { kind: 'applied' });
          }
          if (restarts) {
            await backend.close();
            backend = await kind.open(place);
          }
          assert.equal(await backend.flows.applied(0), batches.length);
          await assertSame(backend, expected(batches), batches.length);
        } finally {
          await backend.close();
        }
      }),
      { numRuns: 12 },
    ));

  test(`${kind.name}: a batch of flows applies only where the store stands, and whole`, () =>
    withBackend(kind, async (backend) => {
      const { flows } = backend;
      const first = { partition: 0, first: 0, next: 5, rows: [rowOf(1, 0), rowOf(2, 1)] };
      await flows.apply(first);
      for (const wrong of [0, 4, 6]) {
        const late = { partition: 0, first: wrong, next: 9, rows: [rowOf(1, 3), rowOf(3, 1)] };
        assert.deepEqual(await flows.apply(late), { kind: 'out-of-step', applied: 5 });
      }
      await assertSame(backend, expected([first.rows]), 5);
      assert.deepEqual(await flows.apply({ partition: -1, first: 0, next: 7, rows: [] }), { kind: 'applied' });
      assert.deepEqual([await flows.applied(-1), await flows.applied(0), await flows.applied(3)], [7, 5, 0]);
    }));

  test(`${kind.name}: a flow is found no more under a code that it gave up, and another one is`, () =>
    withBackend(kind, async ({ flows }) => {
      const [one, other] = [rowOf(1, 0), rowOf(2, 0)];
      const both = { partition: 0, first: 0, next: 1 };
      await flows.apply({
        ...both,
        rows: [
          { ...one, codes: ['q'] },
          { ...other, codes: ['q'] },
        ],
      });
      const last = { ...other, codes: ['r'], givenUp: ['q', 'never'] };
      await flows.apply({ partition: 0, first: 1, next: 2, rows: [last] });
      const found = await flows.findByCode(['q', 'r', 'never']);
      assert.deepEqual(
        [...found],
        [
          ['q', 'f1'],
          ['r', 'f2'],
        ],
      );
      const under = { flow: null, phase: null, code: 'q', limit: 5, before: null };
      assert.deepEqual(
        (await flows.query(under)).map(({ flowId }) => flowId),
        ['f1'],
      );
      await flows.apply({ partition: 0, first: 2, next: 3, rows: [{ ...other, codes: ['q'], givenUp: [] }] });
      assert.equal((await flows.query(under)).length, 2);
    }));

  test(`${kind.name}: flows that were lost are begun anew, and nothing of before is left`, async () => {
    const place = await kind.createPlace();
    const before = await kind.open(place);
    await before.flows.apply({ partition: 0, first: 0, next: 2, rows: [rowOf(1, 0), rowOf(2, 1)] });
    await before.close();
    await kind.burnViews(place);
    const after = await kind.open(place);
    try {
      assert.equal(await after.flows.applied(0), 0);
      const again = [rowOf(1, 4)];
      await after.flows.apply({ partition: 0, first: 0, next: 1, rows: again });
      await assertSame(after, expected([again]), 1);
    } finally {
      await after.close();
    }
  });
}
