/**
 * The schema registry: our schemas registered at the start under BACKWARD compatibility, others' fetched by id when a record
 * needs them. A registry that does not answer is waited for; it never makes a record unreadable.
 */
import { readFileSync } from 'node:fs';
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { readRecord } from '../../domain/record-shapes.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { fromAvro, type RecordSchema, toAvro } from './avro-shape.ts';
import { createOwnRecords } from './own-records.ts';
import { type KafkaSettings, recordTopics, topicNameOf } from './settings.ts';

type AvroType = {
  /** Returns where it ended; negative: how far it would have gone past the end of `bytes`. */
  encode: (value: unknown, bytes: Buffer, from: number) => number;
  fromBuffer: (bytes: Buffer) => unknown;
};

/**
 * A promise only where the registry is asked. Throws or rejects with `record-undecodable` where the bytes are at fault, rejects
 * with `log-unavailable` where the registry is.
 */
export type Decode = (bytes: Buffer | null) => object | Promise<object>;

export type Codec = {
  encode: (topic: Topic, record: object) => Buffer;
  decode: Decode;
  /** The record that this process has made these very bytes of, once; null where it did not. */
  takeOwn: (bytes: Buffer | null) => object | null;
};

type ReadBack<T extends Topic> = { record: Topics[T]; undecodable: Fault | null };

/** The record at this place, or what stands for it where its bytes or its content cannot be read. Own ones are not checked. */
export function decodeRecord<T extends Topic>(
  { decode, takeOwn }: Pick<Codec, 'decode'> & Partial<Pick<Codec, 'takeOwn'>>,
  topic: T,
  place: { partition: number; offset: number; key: string },
  value: Buffer | null,
): ReadBack<T> | Promise<ReadBack<T>> {
  const own = takeOwn?.(value) ?? null;
  if (own !== null) return { record: own as Topics[T], undecodable: null };
  const unread = (fault: unknown): ReadBack<T> => {
    if (!(fault instanceof Fault) || fault.code !== 'record-undecodable') throw fault;
    return { record: readRecord(topic, place, undefined, fault.message), undecodable: fault };
  };
  const found = (record: object): ReadBack<T> => ({ record: readRecord(topic, place, record), undecodable: null });
  try {
    const record = decode(value);
    return record instanceof Promise ? record.then(found).catch(unread) : found(record);
  } catch (fault) {
    return unread(fault);
  }
}

/** Confluent's wire format: a zero byte, the schema's id as a 32-bit integer, the Avro bytes. */
const headBytes = 5;
/** Records are put together in one place that grows as they do. */
const firstRoomBytes = 64 * 1024;
/** Topics that whoever writes them also reads. */
const readBack: ReadonlySet<Topic> = new Set(['auctions', 'callbacks', 'flows']);
/** Of records that were written here and are not read back yet; most come back within a moment. */
const ownRecordsBytes = 8 * 1024 * 1024;
const retryMs = 500;
/** Statuses that the registry itself gave; anything else, 400 included, may be the client's word for no answer. */
const conflict = 409;
/** For so long another instance may be on its way from a subject to what is compatible under it. */
const conflictPatienceMs = 5_000;
const notFound = 404;
const unknownSchemaMs = 5_000;
/** The client's error where a subject is compatible in another way than asked. */
const otherCompatibility = 'ConfluentSchemaRegistryCompatibilityError';
const answered = new Set([401, 403, notFound, 422]);

function clientOf(settings: KafkaSettings): SchemaRegistry {
  return new SchemaRegistry({
    host: settings.registryUrl,
    retry: { retries: 0 },
    ...(settings.registryAuth === null ? {} : { auth: settings.registryAuth }),
  });
}

/** Decodes with what the registry holds, and registers nothing. */
export function readSchemas(settings: KafkaSettings): Decode {
  const readerOf = createReaders(clientOf(settings), new Map());
  return (bytes) => decoded(readerOf, checked(bytes));
}

/** Waits for the registry up to `startTimeoutMs`. Rejects with `configuration-invalid` and the registry's reason. */
export async function registerSchemas(settings: KafkaSettings): Promise<Codec> {
  const registry = clientOf(settings);
  const giveUpAt = performance.now() + settings.startTimeoutMs;
  const writers = new Map<Topic, { id: number; schema: RecordSchema; type: AvroType }>();
  for (const topic of recordTopics) {
    const text = readFileSync(new URL(`./schemas/${topic}.avsc`, import.meta.url), 'utf8');
    const id = await register(registry, `${topicNameOf(settings, topic)}-value`, text, giveUpAt);
    writers.set(topic, { id, schema: JSON.parse(text), type: (await registry.getSchema(id)) as unknown as AvroType });
  }
  const readerOf = createReaders(registry, new Map([...writers.values()].map(({ id, type }) => [id, type])));
  let room: Buffer = Buffer.allocUnsafe(firstRoomBytes);
  const ownRecords = createOwnRecords(ownRecordsBytes);

  return {
    encode: (topic, record) => {
      const { id, schema, type } = writers.get(topic)!;
      const shaped = toAvro(record, schema);
      let end = type.encode(shaped, room, headBytes);
      if (end < 0) {
        room = Buffer.allocUnsafe(2 * (room.length - end));
        end = type.encode(shaped, room, headBytes);
      }
      room[0] = 0;
      room.writeInt32BE(id, 1);
      const bytes = Buffer.from(room.subarray(0, end));
      if (readBack.has(topic)) ownRecords.keep(bytes, record);
      return bytes;
    },
    decode: (bytes) => decoded(readerOf, checked(bytes)),
    takeOwn: (bytes) => (bytes === null ? null : ownRecords.take(bytes)),
  };
}

type Readers = (id: number) => AvroType | Promise<AvroType>;

function createReaders(registry: SchemaRegistry, readers: Map<number, AvroType | Promise<AvroType>>): Readers {
  /** One question an id at a time. That an id is unknown is remembered, that nobody answered is not. */
  return (id) => {
    const known = readers.get(id);
    if (known !== undefined) return known;
    const asked = registry.getSchema(id).then(
      (found) => {
        const type = found as unknown as AvroType;
        readers.set(id, type);
        return type;
      },
      (cause: unknown) => {
        if (statusOf(cause) === notFound) {
          // Remembered for a while only: somebody may put the schema back, and retry what was frozen for the lack of it.
          setTimeout(() => readers.delete(id), unknownSchemaMs).unref();
          throw undecodable(`the registry has no schema ${id}`, cause);
        }
        readers.delete(id);
        throw new Fault('log-unavailable', `The schema registry did not give schema ${id}.`, cause);
      },
    );
    readers.set(id, asked);
    return asked;
  };
}

function checked(bytes: Buffer | null): Buffer {
  if (bytes === null || bytes.length < headBytes || bytes[0] !== 0) {
    throw undecodable('it does not begin with the id of a schema');
  }
  return bytes;
}

function decoded(readerOf: Readers, bytes: Buffer): object | Promise<object> {
  const type = readerOf(bytes.readInt32BE(1));
  return type instanceof Promise ? type.then((known) => read(known, bytes)) : read(type, bytes);
}

function read(type: AvroType, bytes: Buffer): object {
  try {
    return fromAvro(type.fromBuffer(bytes.subarray(headBytes)));
  } catch (cause) {
    throw undecodable('its bytes do not fit its schema', cause);
  }
}

async function register(registry: SchemaRegistry, subject: string, schema: string, giveUpAt: number): Promise<number> {
  let firstConflictAt: number | null = null;
  for (;;) {
    try {
      const options = { subject, compatibility: COMPATIBILITY.BACKWARD };
      return (await registry.register({ type: SchemaType.AVRO, schema }, options)).id;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      // Of two instances that register at once, one may be told that it was done already, or find the subject before the
      // other has said what is compatible: only a no that stays is one.
      const isConflict =
        statusOf(cause) === conflict || (cause as { name?: unknown } | null)?.name === otherCompatibility;
      if (isConflict) firstConflictAt ??= performance.now();
      // Also where the instance that registered it was ended before it could say so.
      if (why.endsWith(`!= ${COMPATIBILITY.NONE})`)) await sayCompatibility(registry, subject);
      const isFinal = firstConflictAt !== null && performance.now() - firstConflictAt > conflictPatienceMs;
      if (isConflict ? isFinal : isRefusal(cause)) {
        throw new Fault('configuration-invalid', `The schema registry refuses the schema of ${subject}: ${why}`, cause);
      }
      if (performance.now() > giveUpAt) {
        throw new Fault('log-unavailable', `The schema registry does not answer: ${why}`, cause);
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

type SubjectApi = {
  updateConfig: (asked: { subject: string; body: { compatibility: COMPATIBILITY } }) => Promise<unknown>;
};

/** The client says it with the first registration alone. What the registry does not take is met again by the next attempt. */
async function sayCompatibility(registry: SchemaRegistry, subject: string): Promise<void> {
  const { Subject } = (registry as unknown as { api: { Subject: SubjectApi } }).api;
  await Subject.updateConfig({ subject, body: { compatibility: COMPATIBILITY.BACKWARD } }).catch(() => undefined);
}

/** An error without a status was found by the client in what the registry said, or in the schema. */
function isRefusal(cause: unknown): boolean {
  const status = statusOf(cause);
  return status === null || answered.has(status);
}

function statusOf(cause: unknown): number | null {
  const status = (cause as { status?: unknown } | null)?.status;
  return typeof status === 'number' ? status : null;
}

function undecodable(why: string, cause?: unknown): Fault {
  return new Fault('record-undecodable', `A record cannot be decoded: ${why}.`, cause);
}
