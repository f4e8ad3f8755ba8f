/** A stream of server-sent events, read as it comes. */
import type { Person } from './person.ts';

export type HeardEvent = { name: string; data: string; atMs: number };

export type HeardStream = {
  status: number;
  headers: Headers;
  events: readonly HeardEvent[];
  /** Resolves when the other side has ended it. */
  ended: Promise<void>;
  leave: () => void;
};

export async function listen(origin: string, path: string, { jar }: Pick<Person, 'jar'>): Promise<HeardStream> {
  const left = new AbortController();
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { accept: 'text/event-stream', 'accept-language': 'pt-BR', ...(cookie === '' ? {} : { cookie }) };
  const answer = await fetch(`${origin}${path}`, { headers, signal: left.signal });
  const events: HeardEvent[] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n');
        text = text.slice(end + 2);
        const of = (field: string) =>
          lines.flatMap((line) => (line.startsWith(`${field}: `) ? [line.slice(field.length + 2)] : [])).join('\n');
        if (of('event') !== '') events.push({ name: of('event'), data: of('data'), atMs: performance.now() });
      }
    }
  };
  const ended = read().catch((fault: unknown) => {
    if (!left.signal.aborted) throw fault;
  });
  return { status: answer.status, headers: answer.headers, events, ended, leave: () => left.abort() };
}
