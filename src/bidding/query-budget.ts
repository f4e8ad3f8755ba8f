/** Link queries within a day's budget: past the service's cache only so often, for that may be charged. */
import { type Clock, dayOf } from '../domain/clock.ts';
import type { LinkQuery, QueryBudget, Service } from './ports.ts';

type LinkQueries = Pick<Service, 'listLinks' | 'askLinkDetail'>;

/** A query beyond the budget, or while nobody knows how many there were, goes to the service's cache: no bid waits for money. */
export function withinBudget(options: {
  service: LinkQueries;
  budget: QueryBudget;
  clock: Clock;
  /** Of days in São Paulo. */
  perDay: number;
}): LinkQueries {
  const { service, budget, clock, perDay } = options;
  async function affordable(query: LinkQuery): Promise<LinkQuery> {
    if (query.cached) return query;
    const direct = await budget.take(dayOf(clock.now()), perDay).catch(() => false);
    return direct ? query : { ...query, cached: true };
  }
  return {
    listLinks: async (query) => service.listLinks(await affordable(query)),
    askLinkDetail: async (query) => service.askLinkDetail(await affordable(query)),
  };
}
