/**
 * What the first process says holds for all that follow, in every reading of the log: a value that is agreed once and stands in the
 * log itself, so that it moves with the desk and lasts as long.
 *
 * On Kafka several processes may begin at once, and of the records of one key compaction leaves the last. So each proposes its
 * value under a key of its own, all in one partition: none of them is compacted away, and the first one is the same in every
 * reading. What it says is then written under the key that is looked up. Nothing else is ever written there, so it does not
 * matter which of these records is left.
 */
import type { AgreedInput, StoredInput } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import type { EventLog } from './ports.ts';
import { readTopic } from './read-topic.ts';

function proposalsOf(name: AgreedInput): string {
  return `${name}:`;
}

export async function readAgreed(log: Pick<EventLog, 'readKey'>, name: AgreedInput): Promise<readonly string[]> {
  return (await log.readKey('inputs', name)).map(({ record }) => (record as StoredInput).content);
}

export async function writeAgreed(log: Pick<EventLog, 'append'>, name: AgreedInput, content: string): Promise<void> {
  await write(log, name, name, content);
}

/**
 * Proposes a value, and resolves to the one that was proposed first, which now stands under its name. `instance`: of this process and
 * no other, not even of the same one when it begins again.
 */
export async function agree(
  log: Pick<EventLog, 'read' | 'readKey' | 'ends' | 'append'>,
  name: AgreedInput,
  proposed: string,
  instance: string,
): Promise<string> {
  await write(log, name, `${proposalsOf(name)}${instance}`, proposed);
  const first = await firstProposal(log, name);
  await writeAgreed(log, name, first);
  // A log without an index of keys notes where it finds it, while there is little to look through.
  await readAgreed(log, name);
  return first;
}

async function write(log: Pick<EventLog, 'append'>, name: AgreedInput, key: string, content: string): Promise<void> {
  await log.append([{ topic: 'inputs', key, beside: name, record: { kind: name, hash: key, content } }]);
}

async function firstProposal(log: Pick<EventLog, 'read' | 'ends'>, name: AgreedInput): Promise<string> {
  for await (const { key, record } of readTopic(log, 'inputs')) {
    if (key.startsWith(proposalsOf(name))) return (record as StoredInput).content;
  }
  throw new Fault('log-unavailable', 'What was just written to the topic of the inputs is not there yet.');
}
