/**
 * Reads what strace wrote of the daemon and asks of every webhook: was its 2xx written only after a sync of the
 * write-ahead log that began when the webhook's own request id had been written to it?
 *
 * strace writes one line an event, in the order of events; a call that others interrupt is written as two, its beginning
 * and its end. So line numbers tell what was over before what began.
 */

export type Call = {
  name: string;
  /** As written: descriptors with what they are, texts in quotes, escaped. */
  text: string;
  beganAt: number;
  /** Null: it never came back. */
  endedAt: number | null;
  /** What the call returned; null when it never did, or returned no number. */
  result: number | null;
};

export type Webhook = { requestId: string };

export type WebhookProof =
  | {
      kind: 'proven';
      requestId: string;
      syncs: number;
    }
  | { kind: 'not-proven'; requestId: string; text: string };

const lineForm = /^(\d+)\s+[\d:.]+\s(.*)$/s;
const beginForm = /^(\w+)\((.*) <unfinished \.\.\.>$/s;
const resumeForm = /^<\.\.\. (\w+) resumed>(.*)$/s;
const wholeForm = /^(\w+)\((.*)$/s;
const resultForm = /\)\s+= (-?\d+)[^=]*$/;

function resultOf(text: string): number | null {
  const found = resultForm.exec(text);
  return found === null ? null : Number(found[1]);
}

/** Calls in the order in which they began. */
export function readCalls(lines: Iterable<string>): Call[] {
  const calls: Call[] = [];
  const begun = new Map<string, Call>();
  let number = 0;
  for (const line of lines) {
    number += 1;
    const [, pid = '', event = ''] = lineForm.exec(line) ?? [];
    const resumed = resumeForm.exec(event);
    if (resumed !== null) {
      const call = begun.get(pid);
      begun.delete(pid);
      if (call === undefined) continue;
      call.text += resumed[2] ?? '';
      call.endedAt = number;
      call.result = resultOf(resumed[2] ?? '');
      continue;
    }
    const unfinished = beginForm.exec(event);
    const [, name, text] = unfinished ?? wholeForm.exec(event) ?? [];
    if (name === undefined || text === undefined) continue;
    const over = unfinished === null;
    const call = { name, text, beganAt: number, endedAt: over ? number : null, result: over ? resultOf(text) : null };
    calls.push(call);
    if (!over) begun.set(pid, call);
  }
  return calls;
}

const syncNames = ['fsync', 'fdatasync'];
const writeNames = ['write', 'writev', 'sendto', 'sendmsg'];

function isOnWal(call: Call): boolean {
  return /^\d+<[^>]*-wal>/.test(call.text);
}

export function walSyncs(calls: readonly Call[]): Call[] {
  return calls.filter((call) => syncNames.includes(call.name) && isOnWal(call) && call.result === 0);
}

/** The connection of a call, as strace writes it: `21<TCP:[127.0.0.1:8080->127.0.0.1:40122]>`. */
function connectionOf(call: Call): string | null {
  return /^\d+<TCP:\[[^\]]*\]>/.exec(call.text)?.[0] ?? null;
}

export function proveWebhooks(calls: readonly Call[], webhooks: readonly Webhook[]): WebhookProof[] {
  const syncs = walSyncs(calls);
  const reads = calls.filter((call) => call.name === 'read' && connectionOf(call) !== null);
  const walWrites = calls.filter((call) => call.name === 'pwrite64' && isOnWal(call));
  const answers = calls.filter((call) => writeNames.includes(call.name) && call.text.includes('HTTP/1.1 2'));
  return webhooks.map(({ requestId }) => prove({ requestId, syncs, reads, walWrites, answers }));
}

function prove(trace: {
  requestId: string;
  syncs: readonly Call[];
  reads: readonly Call[];
  walWrites: readonly Call[];
  answers: readonly Call[];
}): WebhookProof {
  const { requestId } = trace;
  const notProven = (text: string): WebhookProof => ({ kind: 'not-proven', requestId, text });
  const read = trace.reads.find((call) => call.text.includes(requestId));
  if (read?.endedAt == null) return notProven('the trace does not show that it was read');
  const readAt = read.endedAt;
  const connection = connectionOf(read);
  const answer = trace.answers.find((call) => call.beganAt > readAt && connectionOf(call) === connection);
  if (answer === undefined) return notProven('the trace does not show that it was answered with 2xx');
  const written = trace.walWrites.find((call) => call.beganAt > readAt && call.text.includes(requestId));
  if (written?.endedAt == null || written.endedAt > answer.beganAt) {
    return notProven('it was answered before its request id was written to the log');
  }
  const writtenAt = written.endedAt;
  const before = trace.syncs.filter(({ beganAt, endedAt }) => beganAt > writtenAt && endedAt! < answer.beganAt);
  if (before.length === 0)
    return notProven('it was answered and no sync lies between its write to the log and the answer');
  return { kind: 'proven', requestId, syncs: before.length };
}
