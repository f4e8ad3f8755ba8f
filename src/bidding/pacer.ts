/**
 * Spends a day's budget over the day: keeps, for each paced cap, what the requests of the last hours would have held at
 * every price, and prices the budget so that the rest of it lasts for the rest of the day. The cap itself still holds.
 */
import { usageUnder } from '../domain/cap-book.ts';
import { hourOfDay } from '../domain/clock.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import type { CapReservation, Usage } from '../domain/offer.ts';
import { holdAtPrices } from '../pricing/choose.ts';
import type { ChoiceInput } from '../pricing/mask.ts';
import { budgetPrices, priceThatFits } from '../pricing/pacing.ts';

type BudgetPrice = { perCent: number; version: string };

export type Pacer = {
  /** Brings the prices up to date with what is used under the keys of paced caps. */
  update: (caps: readonly CapReservation[], usage: ReadonlyMap<string, Usage>, now: EpochMs) => void;
  /** The highest price among the paced caps; null where none is paced. */
  priceUnder: (caps: readonly CapReservation[]) => BudgetPrice | null;
  /** A request under these caps has been priced: `choice` is what the optimiser was asked, `heldCents` what its offer is expected to hold. */
  observe: (caps: readonly CapReservation[], choice: ChoiceInput, heldCents: AmountCents, now: EpochMs) => void;
};

/** Shares of a day's demand: what is further back than this counts half. */
const halfLifeShare = 0.12;
/** Less than two minutes of an even day say nothing of the rest. */
const leastShare = 0.0014;
/** The forecast's error is measured against this part of the budget, so that a few auctions do not move it. */
const calibrationShare = 0.03;
const solveEveryMs = 250;
/** Requests that come faster than this are sampled, each standing for those before it. */
const sampleEveryMs = 20;
const sampleAtLeast = 8;

type Budget = {
  /** Key of the cap without its day, and with it. */
  name: string;
  key: string;
  /** Decayed sums over the share of demand that they stand for. */
  demand: Float64Array;
  share: number;
  predicted: number;
  held: number;
  usedCents: AmountCents;
  updatedAt: EpochMs;
  solvedAt: EpochMs;
  sampledAt: EpochMs;
  waiting: number;
  price: BudgetPrice;
  solved: number;
};

function pacedOf(caps: readonly CapReservation[]): readonly CapReservation[] {
  return caps.filter((cap) => cap.paced === true && cap.limitAmountCents !== null);
}

/** `name|…|2026-11-21` without the day. */
function nameOf(key: string): string {
  return key.slice(0, key.lastIndexOf('|'));
}

/** `demandByHour`: 24 weights. */
export function createPacer(demandByHour: readonly number[]): Pacer {
  const budgets = new Map<string, Budget>();
  const held = new Float64Array(budgetPrices.length);
  const total = demandByHour.reduce((sum, weight) => sum + weight, 0);
  const before = demandByHour.map((_, hour) => demandByHour.slice(0, hour).reduce((sum, weight) => sum + weight, 0));

  /** Share of a day's demand that lies before this moment. */
  function shareAt(at: EpochMs): number {
    const hours = hourOfDay(at);
    const hour = Math.floor(hours);
    return ((before[hour] ?? total) + (hours - hour) * (demandByHour[hour] ?? 0)) / total;
  }

  function budgetOf(key: string, now: EpochMs): Budget {
    const name = nameOf(key);
    const known = budgets.get(name);
    if (known !== undefined) return known;
    const budget: Budget = {
      name,
      key,
      demand: new Float64Array(budgetPrices.length),
      share: 0,
      predicted: 0,
      held: 0,
      usedCents: -1,
      updatedAt: now,
      solvedAt: Number.NEGATIVE_INFINITY,
      sampledAt: Number.NEGATIVE_INFINITY,
      waiting: 0,
      price: { perCent: 0, version: `${name}#0` },
      solved: 0,
    };
    budgets.set(name, budget);
    return budget;
  }

  /** Lets time pass: what was seen fades, and the share of the day that it stands for grows. */
  function advance(budget: Budget, key: string, usedCents: AmountCents, now: EpochMs): void {
    const passed = shareAt(now) - shareAt(budget.updatedAt) + (key === budget.key ? 0 : 1);
    const kept = 2 ** (-Math.max(0, passed) / halfLifeShare);
    for (let index = 0; index < budget.demand.length; index += 1) budget.demand[index]! *= kept;
    budget.share = budget.share * kept + Math.max(0, passed);
    budget.predicted *= kept;
    // What others under the same cap hold, and what the forecast missed, shows in what is used.
    const since = key === budget.key ? Math.max(0, budget.usedCents) : 0;
    budget.held = budget.held * kept + (budget.usedCents < 0 ? 0 : usedCents - since);
    budget.usedCents = usedCents;
    budget.key = key;
    budget.updatedAt = now;
  }

  function solve(budget: Budget, limitCents: AmountCents, now: EpochMs): void {
    if (now - budget.solvedAt < solveEveryMs) return;
    budget.solvedAt = now;
    const left = Math.max(0, limitCents - budget.usedCents);
    const remaining = 1 - shareAt(now);
    const prior = calibrationShare * limitCents;
    const missed = Math.max(0, budget.held + prior) / (budget.predicted + prior);
    // Demand of the rest of the day is `demand · missed · remaining / share`.
    const perCent =
      budget.share < leastShare
        ? 0
        : priceThatFits(budget.demand, (left * budget.share) / (missed * remaining + 1e-12));
    const rounded = Number(perCent.toPrecision(6));
    if (rounded === budget.price.perCent) return;
    budget.solved += 1;
    budget.price = { perCent: rounded, version: `${budget.name}#${budget.solved}` };
  }

  return {
    update: (caps, usage, now) => {
      for (const cap of pacedOf(caps)) {
        const key = cap.keys[0]!;
        const budget = budgetOf(key, now);
        advance(budget, key, usageUnder(cap, (each) => usage.get(each)).amountCents, now);
        solve(budget, cap.limitAmountCents ?? 0, now);
      }
    },
    priceUnder: (caps) => {
      let highest: BudgetPrice | null = null;
      for (const { keys } of pacedOf(caps)) {
        const price = budgets.get(nameOf(keys[0]!))?.price;
        if (price !== undefined && price.perCent >= (highest?.perCent ?? 0)) highest = price;
      }
      return highest;
    },
    observe: (caps, choice, heldCents, now) => {
      for (const { keys } of pacedOf(caps)) {
        const budget = budgetOf(keys[0]!, now);
        budget.predicted += heldCents;
        budget.waiting += 1;
        if (now - budget.sampledAt < sampleEveryMs && budget.waiting < sampleAtLeast) continue;
        holdAtPrices(choice, budgetPrices, held);
        for (let index = 0; index < held.length; index += 1) budget.demand[index]! += budget.waiting * held[index]!;
        budget.waiting = 0;
        budget.sampledAt = now;
      }
    },
  };
}
