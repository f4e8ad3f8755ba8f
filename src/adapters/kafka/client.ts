/** One kafkajs client for the process, and the fault that everything of Kafka's becomes here. */
import './kafkajs-mends.ts';
import { Kafka, logLevel } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { causeText } from './cause.ts';
import type { KafkaSettings } from './settings.ts';

/** A line that kafkajs would print, with its cause: never payloads, only what it does and with whom. */
export type LogLine = (level: 'info' | 'warn' | 'error', text: string) => void;

/** Fields of kafkajs' lines that say what is behind the message. */
type LoggedFields = { message: string; error?: unknown; broker?: unknown; topic?: unknown; groupId?: unknown };

export function lineOf({ message, error, broker, topic, groupId }: LoggedFields): string {
  const cause = typeof error === 'string' ? error : error instanceof Error ? causeText(error) : '';
  const text = cause === '' || message.includes(cause) ? message : `${message}: ${cause}`;
  const places = Object.entries({ topic, broker, group: groupId })
    .filter(([, place]) => typeof place === 'string' && place !== '' && !text.includes(place))
    .map(([name, place]) => `${name} ${place}`);
  return places.length === 0 ? text : `${text} (${places.join(', ')})`;
}

const repeatMs = 10_000;
const rememberedLines = 100;

/** What brokers answer while a group shares its partitions anew or a new topic gets its leaders: kafkajs asks again, and that is all. */
const passing =
  /\b(REBALANCE_IN_PROGRESS|NOT_LEADER_FOR_PARTITION|LEADER_NOT_AVAILABLE|UNKNOWN_TOPIC_OR_PARTITION|COORDINATOR_LOAD_IN_PROGRESS|GROUP_LOAD_IN_PROGRESS|GROUP_COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR_FOR_GROUP|UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION)\b|group is rebalancing|not aware of this member/;
/** Where it goes on for so long, without a rest of `restMs`, it is no longer normal. */
const passingMs = 30_000;
const restMs = 15_000;

/** The level of each line: `info` for what passes by itself, until it has lasted. */
function createLevels(now: () => number) {
  const seen = new Map<string, { sinceMs: number; lastMs: number }>();
  return (level: 'info' | 'warn' | 'error', text: string): typeof level => {
    const [code] = passing.exec(text) ?? [];
    if (code === undefined) return level;
    const at = now();
    const known = seen.get(code);
    const sinceMs = known === undefined || at - known.lastMs > restMs ? at : known.sinceMs;
    seen.set(code, { sinceMs, lastMs: at });
    return at - sinceMs > passingMs ? level : 'info';
  };
}

/** Lowers what passes by itself, and leaves out repetitions: while a broker is away kafkajs says so a hundred times a second. */
export function calmed(onLine: LogLine, now: () => number): LogLine {
  const levelOf = createLevels(now);
  const saidAt = new Map<string, number>();
  return (given, text) => {
    const at = now();
    const level = levelOf(given, text);
    if (at - (saidAt.get(text) ?? Number.NEGATIVE_INFINITY) < repeatMs) return;
    if (saidAt.size >= rememberedLines) saidAt.clear();
    saidAt.set(text, at);
    onLine(level, text);
  };
}

export function createClient(settings: KafkaSettings, onLine: LogLine): Kafka {
  return new Kafka({
    clientId: 'lance',
    brokers: [...settings.brokers],
    ssl: settings.ssl,
    ...(settings.sasl === null ? {} : { sasl: { ...settings.sasl } as never }),
    connectionTimeout: 2_000,
    requestTimeout: Math.max(1_000, settings.appendTimeoutMs - 500),
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ level, log }) =>
        onLine(level === logLevel.ERROR ? 'error' : 'warn', lineOf(log as LoggedFields)),
  });
}

export function unavailable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault('log-unavailable', `Kafka: ${causeText(cause)}.`, cause);
}
