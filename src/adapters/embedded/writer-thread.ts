/**
 * The one writer, in a thread of its own so that no disk stalls the desk. It takes every message that waits, stores them in one
 * transaction and answers them all: under load the cost of a sync is shared by hundreds of entries.
 */
import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createFlowWriter } from '../../state/flow-rows.ts';
import { writeOne } from '../../state/schema.ts';
import { inTransaction } from '../../state/sqlite.ts';
import { createViewWriter } from '../../state/view-rows.ts';
import { type AnchorWriter, createAnchorWriter } from './anchor.ts';
import { claimLostText } from './changed-texts.ts';
import { createControlRows } from './control-rows.ts';
import { watchDamage } from './damage.ts';
import { openWritable } from './database.ts';
import { ClaimRepeated, createLogWriter, type EncodedEntries, logTables } from './log-rows.ts';
import { createDirectQueryCounter, createMarginWriter } from './margin-rows.ts';
import { signAppend } from './signed-commits.ts';
import { watchSchema } from './tables.ts';
import { createSumsWriter, discardViews, emptyUnfit, rowDigest } from './view-sums.ts';
import {
  storeFaultOf,
  type TaskResult,
  type WriterOptions,
  type WriterReply,
  type WriterRequest,
  type WriterRuns,
  type WriterTask,
} from './writer-messages.ts';

/** Keeps the wait of the first message of a transaction short when the queue is long. */
const groupLimit = 256;

/** After these people have said something, or the desk has just read what they said. */
const toldWith: ReadonlySet<WriterTask['kind']> = new Set([
  'control',
  'acknowledge',
  'rule-book',
  'origin',
  'token-book',
]);
/** What the transaction itself signs: also a mark of a move. */
const writesBook = (kind: WriterTask['kind']): boolean => kind === 'house' || toldWith.has(kind);

class AnchorUnusable extends Error {}

function serve(port: MessagePort, { path, anchor: place, appendKey, lockIdentity }: WriterOptions): void {
  const reply = (message: WriterReply) => port.postMessage(message);
  /** Until it is ready a damaged file is told with `unusable`. */
  let isReady = false;
  const database = watchDamage(openWritable(path), path, ({ code, message }) => {
    if (isReady) reply({ kind: 'damaged', code, message });
  });
  reply({ kind: 'opened' });
  let anchor: AnchorWriter | null = null;
  try {
    if (place !== null) {
      anchor = createAnchorWriter(database, place, {
        storeFiles: [path, `${path}-wal`],
        restored: place.restored,
        onFault: ({ message }) => reply({ kind: 'anchor-failed', message }),
        onChanged: (text) => reply({ kind: 'anchor-changed', text }),
        onSetBack: (text) => reply({ kind: 'log-changed', text, lasting: true }),
        onListEdited: (text) => reply({ kind: 'log-changed', text, lasting: false }),
      });
    }
  } catch (cause) {
    database.close();
    throw cause instanceof Error && 'syscall' in cause ? new AnchorUnusable(cause.message, { cause }) : cause;
  }
  writeOne(database.prepare('INSERT OR REPLACE INTO lock_file (id, identity) VALUES (1, ?)'), lockIdentity ?? '');
  const viewKey = place?.key ?? null;
  const unfitViews = inTransaction(database, () => emptyUnfit(database, viewKey));
  const log = createLogWriter(database);
  const viewSums = createSumsWriter(database, 'views', viewKey);
  const digest = viewKey === null ? null : rowDigest(viewKey);
  const writeViews = createViewWriter(database, digest, (applied, added, addedDigest) =>
    viewSums.add(applied, added, false, addedDigest),
  );
  // Of what follows a win no money counts under a cap: it is not signed.
  const flowSums = createSumsWriter(database, 'flows', null);
  const writeFlows = createFlowWriter(database, 0, flowSums.add);
  const writeMargins = createMarginWriter(database);
  const takeDirectQuery = createDirectQueryCounter(database);
  const control = createControlRows(database);
  control.forgetOthers();

  const runs: WriterRuns = {
    append: ({ entries }) => log.write(entries),
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
    'rule-book': ({ text }) => control.addToRuleBook(text),
    origin: ({ entry }) => control.addOrigin(entry),
    'token-book': ({ entry }) => control.addToTokenBook(entry),
  };
  const altered = watchSchema(database);
  let toldAltered: string | null = null;
  /** Inside of each transaction. Throws where somebody has altered what the file is made of. */
  const refuseAltered = () => {
    const text = altered();
    if (text !== toldAltered) reply({ kind: 'schema-altered', text });
    toldAltered = text;
    if (text !== null) throw new Error(text);
  };
  const run = (task: WriterTask) => (runs[task.kind] as (task: WriterTask) => TaskResult)(task);

  const settle = (isStored: boolean) => {
    for (const sums of [viewSums, flowSums, anchor]) sums?.settle(isStored);
  };
  const store = (group: { id: number; task: WriterTask }[]) => {
    if (group.length === 0) return;
    try {
      const { results, heads } = inTransaction(database, () => {
        refuseAltered();
        let stored: { id: number; result: TaskResult }[] = [];
        const write = () => {
          stored = group.map(({ id, task }) => ({ id, result: run(task) }));
        };
        if (appendKey === null) write();
        else signAppend(database, { key: appendKey, tables: logTables }, write);
        const written = log.takeHeads();
        anchor?.sign(
          written,
          group.some(({ task }) => writesBook(task.kind)),
        );
        return { results: stored, heads: written };
      });
      settle(true);
      if (anchor !== null && Object.keys(heads).length > 0) {
        const claims = group.flatMap(({ task }) => (task.kind === 'append' ? task.entries.claims : []));
        const ids = group.flatMap(({ task }) => (task.kind === 'append' ? task.entries.firstClaims : []));
        anchor.note(heads, claims, ids);
      }
      if (group.some(({ task }) => toldWith.has(task.kind))) anchor?.noteBooks();
      reply({ kind: 'committed', results });
    } catch (fault) {
      settle(false);
      log.takeHeads();
      const ids = group.map(({ id }) => id);
      if (fault instanceof ClaimRepeated) {
        inTransaction(database, () => discardViews(database));
        reply({ kind: 'views-unfit', ids, requestId: fault.requestId });
      } else reply({ kind: 'failed', ids, fault: storeFaultOf(fault) });
    }
  };

  /** Null: it may be stored, as far as is known outside of the store. */
  const refusalOf = ({ firstClaims }: EncodedEntries): string | null => {
    if (anchor === null) return null;
    const { hasClaim, keptClaims } = anchor;
    const again = firstClaims.filter((requestId) => hasClaim(requestId) && !log.isClaimed(requestId));
    if (again.length === 0) return anchor.changed();
    reply({ kind: 'claims-lost', claims: [...keptClaims(again)] });
    const text = claimLostText(again[0]!);
    reply({ kind: 'log-changed', text, lasting: false });
    return text;
  };

  port.on('message', (first: WriterRequest) => {
    const group: { id: number; task: WriterTask }[] = [];
    let request: WriterRequest | undefined = first;
    while (request !== undefined) {
      const { id, task } = request;
      if (task.kind === 'close') {
        store(group);
        anchor?.close();
        database.close();
        reply({ kind: 'committed', results: [{ id, result: undefined }] });
        port.close();
        return;
      }
      const refusal = task.kind === 'append' ? refusalOf(task.entries) : null;
      if (refusal === null) group.push({ id, task });
      else reply({ kind: 'failed', ids: [id], fault: storeFaultOf(new Error(refusal)) });
      request =
        group.length < groupLimit ? (receiveMessageOnPort(port)?.message as WriterRequest | undefined) : undefined;
    }
    store(group);
  });
  isReady = true;
  reply({ kind: 'ready', unfitViews });
  // While the desk begins, and before it has anything to write.
  anchor?.readNames();
  // A thread keeps what it alone has loaded; see `main.ts`.
  flushCompileCache();
}

if (parentPort !== null) {
  try {
    serve(parentPort, workerData as WriterOptions);
  } catch (fault) {
    const what = fault instanceof AnchorUnusable ? 'anchor' : 'store';
    parentPort.postMessage({ kind: 'unusable', what, fault: storeFaultOf(fault) } satisfies WriterReply);
    parentPort.close();
  }
}
