/** One kafkajs client for the process, and the fault that everything of Kafka's becomes here. */
import './kafkajs-mends.ts';
import { Kafka, logLevel } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { causeText } from './cause.ts';
import type { KafkaSettings } from './settings.ts';

/** A line that kafkajs would print, with its cause: never payloads, only what it does and with whom. */
export type LogLine = (level: 'warn' | 'error', text: string) => void;

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

/** While a broker is away kafkajs says so a hundred times a second. */
export function withoutRepeats(onLine: LogLine, now: () => number): LogLine {
  const saidAt = new Map<string, number>();
  return (level, text) => {
    const at = now();
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
