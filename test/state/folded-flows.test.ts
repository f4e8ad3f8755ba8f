/** Flows that a command folds for itself from a log of several partitions. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { EventLog, LogEntry } from '../../src/bidding/ports.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import { createFoldedFlows } from '../../src/folded-flows.ts';
import { asked, started, stepRequests } from '../origination/orders.ts';

const at = 1_763_700_000_000;
const query = { flow: null, phase: null, code: null, limit: 5_000, before: null };
const directories = () => readdirSync(tmpdir()).filter((name) => name.startsWith('lance-folded-flows-'));

/** Two partitions; the first one has lost its oldest records. */
function createLog() {
  const stored: LogEntry<FlowRecord>[][] = [[], []];
  const ends = [7, 0];
  const put = (partition: number, record: FlowRecord) => {
    stored[partition]!.push({ partition, offset: ends[partition]!, key: record.flowId, record });
    ends[partition]! += 1;
  };
  const read = async (_topic: string, partition: number, from: number, limit: number) =>
    stored[partition]!.filter(({ offset }) => offset >= from).slice(0, limit);
  const log = { read, readKey: async () => [], ends: async () => new Map(ends.entries()) };
  return { log: log as unknown as Pick<EventLog, 'read' | 'readKey' | 'ends'>, put };
}

test('each question is answered as of the end of the log, and nothing is left behind', async () => {
  const { log, put } = createLog();
  for (let index = 0; index < 1_200; index += 1) {
    put(index % 2, { ...started('withdrawal', undefined, at + index), flowId: `w-${index}`, key: `k-${index}` });
  }
  const before = directories();
  const { flows, close } = createFoldedFlows(log, createSystemClock());
  assert.deepEqual(directories(), before, 'nothing was asked yet');
  const rows = await flows.query(query);
  assert.deepEqual([rows.length, rows[0]!.flowId, rows[1]!.flowId], [1_200, 'w-1199', 'w-1198']);
  assert.deepEqual([await flows.applied(0), await flows.applied(1)], [607, 600]);
  put(1, asked('w-1', 'simulation', 'simulation', at + 9_999, { request: stepRequests.simulation }));
  assert.equal((await flows.read(['w-1'])).get('w-1')?.operation?.status, 'asked');
  await assert.rejects(flows.apply({ partition: 0, first: 607, next: 608, rows: [] }), { code: 'not-allowed' });
  await close();
  assert.deepEqual(directories(), before);
});
