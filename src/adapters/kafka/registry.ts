/**
 * The schema registry: our schemas registered at the start under BACKWARD compatibility, others' fetched by id when a record
 * needs them. A registry that does not answer is waited for; it never makes a record unreadable.
 */
import { readFileSync } from 'node:fs';
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import type { Topic } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { fromAvro, type RecordSchema, toAvro } from './avro-shape.ts';
import { type KafkaSettings, recordTopics, topicNameOf } from './settings.ts';

type AvroType = { toBuffer: (value: unknown) => Buffer; fromBuffer: (bytes: Buffer) => unknown };

export type Codec = {
  encode: (topic: Topic, record: object) => Buffer;
  /** Rejects with `record-undecodable` where the bytes are at fault, with `log-unavailable` where the registry is. */
  decode: (bytes: Buffer | null) => Promise<object>;
};

/** Confluent's wire format: a zero byte, the schema's id as a 32-bit integer, the Avro bytes. */
const headBytes = 5;
const retryMs = 500;
/** Statuses that the registry itself gave; anything else, 400 included, may be the client's word for no answer. */
const conflict = 409;
/** The client's error where a subject is compatible in another way than asked. */
const otherCompatibility = 'ConfluentSchemaRegistryCompatibilityError';
const answered = new Set([401, 403, 404, 422]);

/** Waits for the registry up to `startTimeoutMs`. Rejects with `configuration-invalid` and the registry's reason. */
export async function registerSchemas(settings: KafkaSettings): Promise<Codec> {
  const registry = new SchemaRegistry({
    host: settings.registryUrl,
    retry: { retries: 0 },
    ...(settings.registryAuth === null ? {} : { auth: settings.registryAuth }),
  });
  const giveUpAt = Date.now() + settings.startTimeoutMs;
  const writers = new Map<Topic, { id: number; schema: RecordSchema; type: AvroType }>();
  for (const topic of recordTopics) {
    const text = readFileSync(new URL(`./schemas/${topic}.avsc`, import.meta.url), 'utf8');
    const id = await register(registry, `${topicNameOf(settings, topic)}-value`, text, giveUpAt);
    writers.set(topic, { id, schema: JSON.parse(text), type: (await registry.getSchema(id)) as AvroType });
  }
  const readers = new Map<number, Promise<AvroType>>();
  for (const { id, type } of writers.values()) readers.set(id, Promise.resolve(type));

  /** One question an id at a time. That an id is unknown is remembered, that nobody answered is not. */
  function readerOf(id: number): Promise<AvroType> {
    const known = readers.get(id);
    if (known !== undefined) return known;
    const asked = registry.getSchema(id).then(
      (type) => type as AvroType,
      (cause: unknown) => {
        if (statusOf(cause) === 404) throw undecodable(`the registry has no schema ${id}`, cause);
        readers.delete(id);
        throw new Fault('log-unavailable', `The schema registry did not give schema ${id}.`, cause);
      },
    );
    readers.set(id, asked);
    return asked;
  }

  return {
    encode: (topic, record) => {
      const { id, schema, type } = writers.get(topic)!;
      const head = Buffer.alloc(headBytes);
      head.writeInt32BE(id, 1);
      return Buffer.concat([head, type.toBuffer(toAvro(record, schema))]);
    },
    decode: async (bytes) => {
      if (bytes === null || bytes.length < headBytes || bytes[0] !== 0) {
        throw undecodable('it does not begin with the id of a schema');
      }
      const type = await readerOf(bytes.readInt32BE(1));
      try {
        return fromAvro(type.fromBuffer(bytes.subarray(headBytes)));
      } catch (cause) {
        throw undecodable('its bytes do not fit its schema', cause);
      }
    },
  };
}

async function register(registry: SchemaRegistry, subject: string, schema: string, giveUpAt: number): Promise<number> {
  let conflicts = 0;
  for (;;) {
    try {
      const options = { subject, compatibility: COMPATIBILITY.BACKWARD };
      return (await registry.register({ type: SchemaType.AVRO, schema }, options)).id;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      // Of two instances that register at once, one may be told that it was done already, or find the subject before the
      // other has said what is compatible: only a second no is one.
      const isConflict =
        statusOf(cause) === conflict || (cause as { name?: unknown } | null)?.name === otherCompatibility;
      if (isConflict) conflicts += 1;
      if (isConflict ? conflicts > 1 : isRefusal(cause)) {
        throw new Fault('configuration-invalid', `The schema registry refuses the schema of ${subject}: ${why}`, cause);
      }
      if (Date.now() > giveUpAt) {
        throw new Fault('log-unavailable', `The schema registry does not answer: ${why}`, cause);
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
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
