/**
 * The one writer, in a thread of its own so that no disk stalls the desk. It takes every message that waits, stores them in one
 * transaction and answers them all: under load the cost of a sync is shared by hundreds of entries.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createControlRows } from './control-rows.ts';
import { inTransaction, openWritable } from './database.ts';
import { createFlowWriter } from './flow-rows.ts';
import { createLogWriter } from './log-rows.ts';
import { createDirectQueryCounter, createMarginWriter } from './margin-rows.ts';
import { createViewWriter } from './view-rows.ts';
import type { TaskResult, WriterReply, WriterRequest, WriterRuns, WriterTask } from './writer-messages.ts';

/** Keeps the wait of the first message of a transaction short when the queue is long. */
const groupLimit = 256;

function serve(port: MessagePort, path: string): void {
  const reply = (message: WriterReply) => port.postMessage(message);
  const database = openWritable(path);
  const writeLog = createLogWriter(database);
  const writeViews = createViewWriter(database);
  const writeFlows = createFlowWriter(database);
  const writeMargins = createMarginWriter(database);
  const takeDirectQuery = createDirectQueryCounter(database);
  const control = createControlRows(database);

  const runs: WriterRuns = {
    append: ({ entries }) => writeLog(entries),
    views: ({ flush }) => {
      const startedAt = performance.now();
      writeViews(flush);
      return performance.now() - startedAt;
    },
    flows: ({ flush }) => writeFlows(flush),
    margins: ({ flush }) => writeMargins(flush),
    'direct-query': ({ day, limit }) => takeDirectQuery(day, limit),
    control: ({ change }) => control.change(change),
    acknowledge: ({ acknowledgement }) => control.acknowledge(acknowledgement),
    house: ({ mark }) => control.setHouse(mark),
    'rule-book': ({ entry }) => control.addToRuleBook(entry),
  };
  const run = (task: WriterTask) => (runs[task.kind] as (task: WriterTask) => TaskResult)(task);

  const store = (group: { id: number; task: WriterTask }[]) => {
    if (group.length === 0) return;
    try {
      const results = inTransaction(database, () => group.map(({ id, task }) => ({ id, result: run(task) })));
      reply({ kind: 'committed', results });
    } catch (fault) {
      const message = fault instanceof Error ? fault.message : String(fault);
      reply({ kind: 'failed', ids: group.map(({ id }) => id), message });
    }
  };

  port.on('message', (first: WriterRequest) => {
    const group: { id: number; task: WriterTask }[] = [];
    let request: WriterRequest | undefined = first;
    while (request !== undefined) {
      const { id, task } = request;
      if (task.kind === 'close') {
        store(group);
        database.close();
        reply({ kind: 'committed', results: [{ id, result: undefined }] });
        port.close();
        return;
      }
      group.push({ id, task });
      request =
        group.length < groupLimit ? (receiveMessageOnPort(port)?.message as WriterRequest | undefined) : undefined;
    }
    store(group);
  });
  reply({ kind: 'ready' });
}

if (parentPort !== null) {
  try {
    serve(parentPort, (workerData as { path: string }).path);
  } catch (fault) {
    const message = fault instanceof Error ? fault.message : String(fault);
    parentPort.postMessage({ kind: 'unusable', message } satisfies WriterReply);
    parentPort.close();
  }
}
