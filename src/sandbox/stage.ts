/** The stage: auctions, links and what is told of them; knows which batches are still playing. */
import type { Clock } from '../domain/clock.ts';
import type { Day } from '../domain/glossary.ts';
import { type AuctionBid, type AuctionEvent, type AuctionHouse, createAuctionHouse } from './auction-house.ts';
import { chanceOf } from './chance.ts';
import { type Contracts, createContracts } from './contracts.ts';
import type { Message } from './deliveries.ts';
import { createLinks, type Links } from './links.ts';
import { requestAt } from './population.ts';
import type { SandboxRecord } from './record.ts';
import type { Rivals } from './rivals.ts';
import type { SandboxSettings } from './settings.ts';
import { tellEvent } from './telling.ts';
import { createWithdrawals, type Withdrawals } from './withdrawals.ts';

export type Stage = {
  house: AuctionHouse;
  links: Links;
  contracts: Contracts;
  withdrawals: Withdrawals;
  /** Place of the next request in the world's stream. */
  nextIndex: () => number;
  /** Puts the next `count` requests to auction, of a stream of `planned`. */
  openBatch: (count: number, planned: number) => void;
  /** Resolves when every batch has ended and its winners were told everything. */
  ended: () => Promise<void>;
};

export function createStage(options: {
  settings: SandboxSettings;
  seed: string;
  clock: Clock;
  rivals: Rivals;
  record: SandboxRecord;
  send: (message: Message) => void;
}): Stage {
  const { settings, seed, clock, rivals, record, send } = options;
  let nextIndex = 0;
  let unfinished = 0;
  let waiting: (() => void)[] = [];

  const tell = (event: AuctionEvent) => {
    const won = tellEvent(event, settings, seed, rivals, record, send);
    if (won !== null && event.kind === 'proposed' && won.errors.length === 0) {
      contracts.propose(event.bid, event.request, won.choice.accepted);
    }
    if (event.kind === 'ended') for (const bids of event.ranked.values()) rivals.published?.(bids);
    if (event.kind === 'opened') unfinished += 1;
    else if (event.kind === 'ended') unfinished += winsOf(event.ranked) - 1;
    else if (!event.outside && (event.kind === 'proposed' || event.errors.length > 0)) unfinished -= 1;
    if (unfinished > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const house = createAuctionHouse({ settings: settings.auction, clock, chance: chanceOf(seed, 'auction'), tell });
  const links = createLinks({
    settings: settings.links,
    clock,
    chance: chanceOf(seed, 'links'),
    tell: ({ kind, requestCode, body }) => send({ what: kind, requestIds: [], batchId: null, requestCode, body }),
  });
  const contracts = createContracts({
    ...{ settings: settings.contracts, world: settings.world, links, clock, record },
    chance: chanceOf(seed, 'contracts'),
    tell: ({ kind, requestCode, body }) => send({ what: kind, requestIds: [], batchId: null, requestCode, body }),
  });
  const birthDates = new Map<string, Day>();
  const withdrawals = createWithdrawals({
    ...{ settings: settings.withdrawals, seed, clock, record, loans: contracts.loans },
    chance: chanceOf(seed, 'withdrawals'),
    birthDateOf: (cpf) => birthDates.get(cpf) ?? null,
  });

  return {
    house,
    links,
    contracts,
    withdrawals,
    nextIndex: () => nextIndex,
    openBatch: (count, planned) => {
      const places = Array.from({ length: count }, (_, place) => nextIndex + place);
      nextIndex += count;
      const requests = places.map((index) => requestAt(settings.world, seed, index, planned));
      for (const { worker } of requests) {
        links.learn(worker);
        birthDates.set(worker.cpf, worker.birthDate);
      }
      house.open(requests, (request) => rivals.bidsOn(request.index, request.segment, request.regime));
    },
    ended: () => (unfinished === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

function winsOf(ranked: ReadonlyMap<string, readonly AuctionBid[]>): number {
  let wins = 0;
  for (const bids of ranked.values()) if (bids[0]?.rival === null) wins += 1;
  return wins;
}
