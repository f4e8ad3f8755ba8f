/** `lance review list | decide`: requests that wait for a person before a bid, and the answer. */
import { type Command, InvalidArgumentError } from 'commander';
import { searchBids } from '../bidding/bid-search.ts';
import { queueShape, type ReviewAnswer } from '../domain/offer.ts';
import { Fault } from '../errors.ts';
import { type BidFinder, type ReviewPage, type WaitingReview, waitingReviews } from '../operating/reviews.ts';
import { type Orderer, remoteDesk, withOrderer } from './desk-control.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;
type ListOptions = { queue?: string; limit: number; json: boolean };
type DecideOptions = Orderer & { bid: boolean; pass: boolean; reason: string };

const defaultLimit = 50;
const mostAtOnce = 200;

export function registerReview(
  program: Command,
  world: CommandWorld,
  add: Add,
  read: { said: (word: string) => string; count: (word: string) => number },
): void {
  const { help, review } = world.format.texts;
  const parent = add(program, 'review', review.help.review, 'lance review list');
  add(parent, 'list', review.help.list, 'lance review list --queue large-amounts')
    .option('--queue <name>', review.help.queue, (word: string) => {
      if (!queueShape.test(word)) throw new InvalidArgumentError(review.queueForm);
      return word;
    })
    .option('--limit <n>', help.limit, read.count, defaultLimit)
    .option('--json', help.json, false)
    .action((options: ListOptions) => listReviews(world, options));
  add(
    parent,
    'decide',
    review.help.decide,
    'lance review decide 37400000012 --bid --by ana --reason "holerite conferido"',
  )
    .argument('<id>', help.requestId)
    .option('--bid', review.help.bid, false)
    .option('--pass', review.help.pass, false)
    .option('--by <name>', help.orderer, read.said)
    .requiredOption('--reason <text>', help.reason, read.said)
    .action(async (requestId: string, { bid, pass, ...order }: DecideOptions, command: Command) => {
      if (bid === pass) command.error(review.oneOfTwo);
      await decide(world, requestId, { decision: bid ? 'bid' : 'pass', ...order });
    });
}

async function listReviews(world: CommandWorld, { queue, limit, json }: ListOptions): Promise<void> {
  const { terminal, format } = world;
  const { review: texts, list, none } = format.texts;
  const { reviews, missing, more } = await reviewsIn(world, queue, limit);
  if (json) {
    for (const review of reviews) terminal.write(JSON.stringify(review));
    if (missing.length > 0) terminal.write(JSON.stringify({ missing }));
    return;
  }
  if (reviews.length === 0) terminal.write(texts.empty);
  else {
    const rows = reviews.map((review) => [
      review.requestId,
      review.queue,
      format.second(review.until),
      texts.decisions[review.otherwise],
      review.requestedAmountCents === null ? none : format.money(review.requestedAmountCents),
      review.requestedInstallments === null ? none : String(review.requestedInstallments),
      review.rules.join(', '),
    ]);
    terminal.write(tableText(texts.header, rows, { right: [4, 5], whole: [0, 1, 2], spare: [6, 5] }));
  }
  if (more) terminal.say(list.more(limit));
  for (const { partition, instance, why } of missing) {
    terminal.say(list.unasked(partition, list.unaskedWhy[why], instance));
  }
}

type Found = { reviews: WaitingReview[]; missing: NonNullable<ReviewPage['missing']>; more: boolean };

async function reviewsIn(world: CommandWorld, queue: string | undefined, limit: number): Promise<Found> {
  const desk = await remoteDesk(world, {});
  if (desk !== null) return inPages(limit, (page) => desk.reviews({ queue, ...page }));
  return withReader(world, ({ views, askedBids }) => {
    const find: BidFinder = (...asked) =>
      askedBids == null ? searchBids(views, ...asked) : askedBids.search(...asked);
    return inPages(limit, (page) => waitingReviews(find, { queue, ...page }, world.clock.now()));
  });
}

async function inPages(
  limit: number,
  ask: (page: { limit: number; before: string | null }) => Promise<ReviewPage>,
): Promise<Found> {
  const found: Found = { reviews: [], missing: [], more: false };
  let before: string | null = null;
  do {
    const page: ReviewPage = await ask({ limit: Math.min(mostAtOnce, limit - found.reviews.length), before });
    found.reviews.push(...page.reviews);
    if (found.missing.length === 0) found.missing = page.missing ?? [];
    before = page.next;
  } while (before !== null && found.reviews.length < limit);
  return { ...found, more: before !== null };
}

/**
 * Throws `not-found`, `not-allowed` where the request does not wait, was answered or waits no longer, `not-acknowledged` when a live desk
 * does not fold it.
 */
async function decide(
  world: CommandWorld,
  requestId: string,
  { decision, reason, by }: Orderer & { decision: ReviewAnswer; reason: string },
): Promise<void> {
  const { terminal, format } = world;
  const { review: texts, show, states } = format.texts;
  const outcome = await withOrderer(world, { by }, (desk) => desk.review({ requestId, decision, reason }));
  switch (outcome.kind) {
    case 'done':
      terminal.write(texts.done[decision](requestId));
      return;
    case 'stored':
      terminal.write(texts.stored(requestId));
      return;
    case 'late':
      throw new Fault('not-acknowledged', texts.late(requestId));
    case 'unknown':
      throw new Fault('not-found', show.notFound(requestId));
    case 'not-waiting':
      throw new Fault('not-allowed', texts.notWaiting(requestId, states[outcome.phase]));
    case 'answered':
      throw new Fault('not-allowed', texts.answered(requestId, outcome.by, texts.decisions[outcome.decision]));
    case 'over':
      throw new Fault(
        'not-allowed',
        texts.over(requestId, format.time(outcome.until), texts.decisions[outcome.otherwise]),
      );
    case 'overtaken':
      throw new Fault('not-allowed', texts.overtaken(requestId, states[outcome.phase]));
    default:
      outcome satisfies never;
  }
}
