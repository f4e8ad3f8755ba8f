/**
 * What is known of an error of kafkajs: its name, the broker's error code, topic and broker. kafkajs wraps errors in one another and
 * logs only the outermost sentence ("Topic creation errors"), so the causes are looked up here.
 */

export type KafkaCause = {
  /** Name of the error's class, or the code's name of Kafka's protocol. */
  error: string;
  errorCode?: number;
  topic?: string;
  partition?: number;
  broker?: string;
  text: string;
};

type Known = {
  name?: unknown;
  message?: unknown;
  type?: unknown;
  code?: unknown;
  topic?: unknown;
  partition?: unknown;
  broker?: unknown;
  cause?: unknown;
  errors?: unknown;
};

const deepest = 10;

/** One for each error of an aggregate, else one. */
export function causesOf(error: unknown, depth = 0): readonly [KafkaCause, ...KafkaCause[]] {
  if (typeof error !== 'object' || error === null) return [{ error: 'Error', text: String(error) }];
  const { name, message, type, code, topic, partition, broker, cause, errors } = error as Known;
  if (depth < deepest) {
    if (Array.isArray(errors) && errors.length > 0) {
      return errors.flatMap((each) => causesOf(each, depth + 1)) as [KafkaCause, ...KafkaCause[]];
    }
    // An outer error says how often something was tried; the inner one says what failed.
    if (typeof type !== 'string' && cause instanceof Error) return causesOf(cause, depth + 1);
  }
  return [
    {
      error: typeof type === 'string' ? type : String(name ?? 'Error'),
      ...(typeof code === 'number' ? { errorCode: code } : {}),
      ...(typeof topic === 'string' ? { topic } : {}),
      ...(typeof partition === 'number' ? { partition } : {}),
      ...(typeof broker === 'string' ? { broker } : {}),
      text: String(message ?? ''),
    },
  ];
}

/** `text (ERROR_NAME 38, topic a, b, broker host:9092)`; errors that say the same are put together. */
export function causeText(error: unknown): string {
  const alike = Map.groupBy(causesOf(error), ({ error: name, text }) => `${name}\n${text}`);
  return [...alike.values()]
    .map((group) => {
      const [{ error: name, errorCode, broker, text }] = group as [KafkaCause, ...KafkaCause[]];
      const places = group.flatMap(({ topic, partition }) =>
        topic === undefined ? [] : [partition === undefined ? topic : `${topic}/${partition}`],
      );
      const parts = [errorCode === undefined ? name : `${name} ${errorCode}`];
      if (places.length > 0) parts.push(`topic ${places.join(', ')}`);
      if (broker !== undefined) parts.push(`broker ${broker}`);
      return `${text.replace(/\.$/, '')} (${parts.join(', ')})`;
    })
    .join('; ');
}

type Answer = Readonly<Record<string, unknown>>;

const topicFields = ['topic', 'topicName'] as const;

/** Where an answer of a broker carries this error code: kafkajs throws away which topic and partition it was about. */
export function placeOf(answer: unknown, code: number): { topic?: string; partition?: number } {
  const found = search(answer, code, {}, 0);
  return found ?? {};
}

function search(
  value: unknown,
  code: number,
  place: { topic?: string; partition?: number },
  depth: number,
): { topic?: string; partition?: number } | null {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value) || depth > deepest) return null;
  if (Array.isArray(value)) {
    for (const each of value) {
      const found = search(each, code, place, depth + 1);
      if (found !== null) return found;
    }
    return null;
  }
  const answer = value as Answer;
  const topic = topicFields.map((field) => answer[field]).find((name) => typeof name === 'string') ?? place.topic;
  const partition = [answer.partition, answer.partitionId, place.partition].find((each) => typeof each === 'number');
  const here = {
    ...(typeof topic === 'string' ? { topic } : {}),
    ...(typeof partition === 'number' ? { partition } : {}),
  };
  const codes = [answer.errorCode, answer.topicErrorCode, answer.partitionErrorCode];
  if (codes.includes(code)) return here;
  for (const inner of Object.values(answer)) {
    const found = search(inner, code, here, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
