/** Somebody who has the console's first page open, and a monitoring system that reads the metrics: what a desk has beside it all day. */
import { setTimeout as sleep } from 'node:timers/promises';

const metricsEveryMs = 1_000;

export type ConsoleWatch = {
  /** Resolves to how many events came until it was stopped. */
  stop: () => Promise<number>;
};

/** Logs in with a token as a browser does. Null: this version of the desk tells no page of changes. */
export async function watchConsole(origin: string, token: string): Promise<ConsoleWatch | null> {
  const cookie = await sessionOf(origin, token);
  const left = new AbortController();
  const headers = { cookie, accept: 'text/event-stream' };
  const stream = await fetch(`${origin}/console/now/events`, { headers, signal: left.signal });
  if (stream.status === 404) return null;
  if (stream.status !== 200) throw new Error(`the events of the page Now answered ${stream.status}`);
  let events = 0;
  let fault: unknown = null;
  const quietly = (work: Promise<void>) =>
    work.catch((reason: unknown) => {
      if (!left.signal.aborted) fault = reason;
    });
  const reading = quietly(
    (async () => {
      for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream()))
        events += chunk.split('event: now\n').length - 1;
    })(),
  );
  const scraping = quietly(
    (async () => {
      while (!left.signal.aborted) {
        const answer = await fetch(`${origin}/metrics`, { signal: left.signal });
        await answer.text();
        await sleep(metricsEveryMs, null, { signal: left.signal });
      }
    })(),
  );
  return {
    stop: async () => {
      left.abort();
      await Promise.all([reading, scraping]);
      if (fault !== null) throw fault;
      return events;
    },
  };
}

/** The cookie of a session of the console. */
async function sessionOf(origin: string, token: string): Promise<string> {
  const cookiesIn = (answer: Response) =>
    answer.headers
      .getSetCookie()
      .filter((each) => !/Max-Age=0(;|$)/.test(each))
      .map((each) => each.split(';')[0]!);
  const page = await fetch(`${origin}/`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const answer = await fetch(`${origin}/console/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, cookie: cookiesIn(page).join('; '), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf, token, to: '/' }).toString(),
  });
  if (answer.status !== 303) throw new Error(`the log-in answered ${answer.status}`);
  return cookiesIn(answer).join('; ');
}
