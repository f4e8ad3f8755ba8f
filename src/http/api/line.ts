/**
 * A line for calls that keep the main thread busy: a few are worked on at once, for all tokens together, and the others wait for a
 * bounded time. Without it every connection adds its share to each turn of the event loop, and webhooks wait for all of them.
 */

export type Line = <R>(
  name: string,
  work: () => Promise<R>,
) => Promise<{ kind: 'done'; result: R } | { kind: 'not-done' }>;

export type LineLimits = { atOnce: number; longestWaitMs: number };

type Place = { name: string; begin: () => void };

/** `name`: of the token. A place that comes free goes to a token that has none, however many calls of others came before. */
export function createLine({ atOnce, longestWaitMs }: LineLimits): Line {
  const working: string[] = [];
  const waiting: Place[] = [];

  function placeFor(name: string): Promise<boolean> {
    if (working.length < atOnce) {
      working.push(name);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(place), 1);
        resolve(false);
      }, longestWaitMs);
      const place: Place = {
        name,
        begin: () => {
          clearTimeout(timer);
          working.push(name);
          resolve(true);
        },
      };
      waiting.push(place);
    });
  }

  function leave(name: string): void {
    working.splice(working.indexOf(name), 1);
    const next = Math.max(
      0,
      waiting.findIndex((place) => !working.includes(place.name) && place.name !== name),
    );
    waiting.splice(next, 1)[0]?.begin();
  }

  return async (name, work) => {
    if (!(await placeFor(name))) return { kind: 'not-done' };
    try {
      return { kind: 'done', result: await work() };
    } finally {
      leave(name);
    }
  };
}
