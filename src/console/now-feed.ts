/**
 * What changes on the page *Now*, as server-sent events to the browsers that show it. All of them are told from one look at the facts
 * every second at most, however much happens in between; without a browser nothing is looked at.
 */
import { Readable } from 'node:stream';

/** A part of the page that changes by itself. */
export type LivePart = { id: string; className: string; html: string };

type Watcher<F> = {
  /** Of the person. */
  name: string;
  /** Watchers of one kind see the same. */
  kind: string;
  render: (facts: F) => readonly LivePart[];
  /** Whether the session still holds; `unheard`: that cannot be read just now. */
  look: () => 'let' | 'over' | 'unheard';
};

export type NowFeed<F> = {
  /** Null: there are too many, of this person or of all. */
  open: (watcher: Watcher<F>) => Readable | null;
  /** Ends all of them. */
  close: () => void;
};

type Stream<F> = Watcher<F> & { readable: Readable; sent: Map<string, string>; openedMs: number; heldMs: number };

/** What may wait for a slow reader; more is not made for it. */
const waitingBytes = 65_536;
/** Who reads nothing for so long is gone. */
const patienceMs = 30_000;
/** So often something is sent even if nothing changes, so that a connection that is dead is noticed. */
const beatMs = 15_000;

export function createNowFeed<F>({
  facts,
  onFault,
  most,
  mostOfOne,
  everyMs,
}: {
  facts: () => Promise<F>;
  /** Hears of failures of our own. */
  onFault: (fault: unknown) => void;
  most: number;
  mostOfOne: number;
  everyMs: number;
}): NowFeed<F> {
  const streams = new Set<Stream<F>>();
  let timer: NodeJS.Timeout | null = null;
  let beatAtMs = 0;

  function end(stream: Stream<F>, last: string | null): void {
    streams.delete(stream);
    if (last !== null) stream.readable.push(last);
    stream.readable.push(null);
  }

  function tell(stream: Stream<F>, parts: readonly LivePart[]): void {
    const news = parts.filter(({ id, className, html }) => stream.sent.get(id) !== `${className}\n${html}`);
    if (news.length === 0) return;
    for (const { id, className, html } of news) stream.sent.set(id, `${className}\n${html}`);
    // JSON has no line breaks of its own.
    stream.readable.push(`event: now\ndata: ${JSON.stringify(news)}\n\n`);
  }

  /** All who listen are told from one look. */
  async function round(): Promise<void> {
    const lookedAtMs = performance.now();
    const found = await facts();
    const made = new Map<string, readonly LivePart[]>();
    const nowMs = performance.now();
    const isBeat = nowMs - beatAtMs >= beatMs;
    if (isBeat) beatAtMs = nowMs;
    for (const stream of streams) {
      // Its page is younger than the look.
      if (stream.openedMs > lookedAtMs) continue;
      const look = stream.look();
      if (look !== 'let') {
        end(stream, look === 'over' ? 'event: over\ndata: \n\n' : null);
        continue;
      }
      if (stream.readable.readableLength > waitingBytes) {
        if (nowMs - stream.heldMs > patienceMs) stream.readable.destroy();
        continue;
      }
      stream.heldMs = nowMs;
      const parts = made.get(stream.kind) ?? stream.render(found);
      made.set(stream.kind, parts);
      tell(stream, parts);
      if (isBeat) stream.readable.push(': \n\n');
    }
  }

  async function again(): Promise<void> {
    timer = null;
    if (streams.size === 0) return;
    try {
      await round();
    } catch (fault) {
      onFault(fault);
      for (const stream of streams) end(stream, null);
    }
    schedule();
  }

  function schedule(): void {
    if (timer !== null || streams.size === 0) return;
    timer = setTimeout(() => void again(), everyMs);
    timer.unref();
  }

  return {
    open: (watcher) => {
      const own = [...streams].filter(({ name }) => name === watcher.name).length;
      if (streams.size >= most || own >= mostOfOne) return null;
      const readable = new Readable({ read: () => undefined });
      const openedMs = performance.now();
      const stream: Stream<F> = { ...watcher, readable, sent: new Map(), openedMs, heldMs: openedMs };
      streams.add(stream);
      readable.once('close', () => streams.delete(stream));
      // At once, so that the head of the answer is sent.
      readable.push(': \n\n');
      // A look of its own: what others were told may be older than the page that asks.
      facts()
        .then((found) => {
          if (streams.has(stream)) tell(stream, stream.render(found));
        })
        .catch((fault: unknown) => {
          onFault(fault);
          end(stream, null);
        });
      schedule();
      return readable;
    },
    close: () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      for (const stream of streams) end(stream, null);
    },
  };
}
