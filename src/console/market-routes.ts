/** The page of what the desk has learnt of its market. */
import type { ApiRole } from '../domain/roles.ts';
import { createLine } from '../http/api/line.ts';
import type { Market } from '../impact/market.ts';
import { type ConsoleRoutes, forbidden, send } from './answers.ts';

export type MarketPageParts = { market: () => Promise<Market> };

/** Those who see in a decision what it was priced by. */
const reading: readonly ApiRole[] = ['risk', 'operator', 'admin'];
/** Reads up to 2,000 rows on the main thread: for all who look within this time once. */
const keptMs = 60_000;
const readings = { atOnce: 1, longestWaitMs: 5_000 };

export function addMarketPage({ page }: Pick<ConsoleRoutes, 'page'>, { market }: MarketPageParts): void {
  const line = createLine(readings);
  let kept: { market: Market; untilMs: number } | null = null;

  async function read(): Promise<Market> {
    if (kept !== null && performance.now() < kept.untilMs) return kept.market;
    const made = await market();
    kept = { market: made, untilMs: performance.now() + keptMs };
    return made;
  }

  page('/console/market', async (world, _request, reply) => {
    const { pages, shown, session } = world;
    if (!reading.includes(session.role)) return forbidden(reply, pages, shown, reading);
    const found = await line(session.name, read);
    if (found.kind === 'done') {
      const { marketPage } = await import('./market-pages.ts');
      return send(reply, marketPage(shown, found.result), 200);
    }
    const { unavailable } = shown.texts.problem;
    return send(reply, pages.problemPage(shown, { title: unavailable, text: shown.texts.requests.busy }), 503);
  });
}
