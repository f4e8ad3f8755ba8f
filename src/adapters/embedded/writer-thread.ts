/**
 * The one writer of a file, in a thread of its own so that no disk stalls the desk. It takes every message that waits, stores them in one
 * transaction and answers them all: under load the cost of a sync is shared by hundreds of entries.
 */

import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createControlRows } from './control-rows.ts';
import { fitViews, inTransaction, openViews, openWritable } from './database.ts';
import { createLogWriter } from './log-rows.ts';
import { createMarginWriter } from './margin-rows.ts';
import { createViewWriter } from './view-rows.ts';
import type { TaskResult, WriterData, WriterReply, WriterRequest, WriterTask } from './writer-messages.ts';

/** Keeps the wait of the first message of a transaction short when the queue is long. */
const groupLimit = 256;

type OpenFile = { database: DatabaseSync; run: (task: WriterTask) => TaskResult };

function openLog(directory: string): OpenFile {
  const database = openWritable(directory);
  const writeLog = createLogWriter(database);
  const writeMargins = createMarginWriter(database);
  const control = createControlRows(database);
  const run = (task: WriterTask): TaskResult => {
    switch (task.kind) {
      case 'append':
        return writeLog(task.entries);
      case 'views':
        throw new Error('the views are in a file of their own');
      case 'margins':
        writeMargins(task.flush);
        return null;
      case 'control':
        return control.change(task.change);
      case 'acknowledge':
        control.acknowledge(task.acknowledgement);
        return null;
      case 'house':
        control.setHouse(task.mark);
        return null;
      case 'rule-book':
        control.addToRuleBook(task.entry);
        return null;
      default:
        return task satisfies never;
    }
  };
  return { database, run };
}

function openViewFile(directory: string): OpenFile {
  const database = openViews(directory);
  fitViews(database, directory);
  const writeViews = createViewWriter(database);
  const run = (task: WriterTask): TaskResult => {
    if (task.kind !== 'views') throw new Error('only views are in this file');
    writeViews(task.flush);
    return null;
  };
  return { database, run };
}

function serve(port: MessagePort, { directory, file }: WriterData): void {
  const reply = (message: WriterReply) => port.postMessage(message);
  const { database, run } = file === 'log' ? openLog(directory) : openViewFile(directory);

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
        reply({ kind: 'committed', results: [{ id, result: null }] });
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
    serve(parentPort, workerData as WriterData);
  } catch (fault) {
    const message = fault instanceof Error ? fault.message : String(fault);
    parentPort.postMessage({ kind: 'unusable', message } satisfies WriterReply);
    parentPort.close();
  }
}
