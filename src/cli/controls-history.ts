/** `lance controls history`: what people and desks ordered, who, why and when; beside a running daemon. */
import type { ControlHistory, OperatorChange, RuleBookEntry } from '../bidding/ports.ts';
import { activations } from '../bidding/rule-book.ts';
import { printable } from '../domain/printable.ts';
import type { Format } from './format.ts';
import { type CommandWorld, withReader } from './world.ts';

/** `by` null: the folder of rules; `reason` null: none was given. `liveAt` null: it is not known when the set began. */
type RulesOrdered = {
  kind: 'rules-ordered';
  at: number;
  by: string | null;
  reason: null;
  hash: string;
  liveAt: number | null;
};
type Order = OperatorChange | RulesOrdered;

const textWidth = 80;
const longestName = 24;
const shownHash = 12;
const indent = '    ';

/** Oldest first. The book says who ordered a set of rules and when, the controls from when on it decides. */
function ordersOf({ changes, ruleOrders }: ControlHistory, book: readonly RuleBookEntry[]): Order[] {
  const orders = activations(book).map(({ hash, at, by }): RulesOrdered => {
    const liveAt = ruleOrders.find((order) => order.hash === hash && order.liveAt >= at)?.liveAt ?? null;
    return { kind: 'rules-ordered', at, by, reason: null, hash, liveAt };
  });
  return [...changes, ...orders].sort((left, right) => left.at - right.at);
}

function shortened(text: string): string {
  const safe = printable(text).replaceAll('\n', ' ');
  return safe.length > longestName ? `${safe.slice(0, longestName - 1)}…` : safe;
}

/** Broken between words; a word longer than a line is broken too. */
function reasonLines(reason: string): string[] {
  const width = textWidth - indent.length;
  const lines = [''];
  for (const word of printable(reason).split(/\s+/)) {
    for (let from = 0; from < Math.max(1, word.length); from += width) {
      const piece = word.slice(from, from + width);
      const last = lines.at(-1)!;
      if (last !== '' && last.length + piece.length + 1 > width) lines.push(piece);
      else lines[lines.length - 1] = last === '' ? piece : `${last} ${piece}`;
    }
  }
  return lines.map((line) => `${indent}${line}`);
}

function whatText(order: Order, { texts, money, minute }: Format): string {
  const { what } = texts.controlHistory;
  switch (order.kind) {
    case 'paused':
      return what.paused;
    case 'resumed':
      return what.resumed;
    case 'cap-set':
      return what.capSet(order.name, money(order.limitCents));
    case 'cap-removed':
      return what.capRemoved(order.name);
    case 'rules-ordered': {
      const hash = order.hash.slice(0, shownHash);
      return order.liveAt === null ? what.rules(hash) : what.rulesFrom(hash, minute(order.liveAt));
    }
    default:
      return order satisfies never;
  }
}

/** When and who stand in columns; what was ordered and why stand below. */
function orderLines(order: Order, format: Format): string[] {
  const by = order.by ?? format.texts.controlHistory.folder;
  return [
    `${format.minute(order.at)}  ${shortened(by)}`,
    ...reasonLines(whatText(order, format)),
    ...(order.reason === null ? [] : reasonLines(`“${order.reason}”`)),
  ];
}

/** The latest first, at most `limit`. */
export async function tellControlHistory(
  world: CommandWorld,
  { json, limit }: { json: boolean; limit: number },
): Promise<void> {
  const { terminal, format } = world;
  const { controlHistory } = format.texts;
  await withReader(world, async ({ control, ruleBook }) => {
    const orders = ordersOf(await control.history(), await ruleBook.read());
    const shown = orders.slice(-limit).reverse();
    for (const order of shown) {
      if (json) terminal.write(JSON.stringify(order));
      else terminal.write(orderLines(order, format).join('\n'));
    }
    if (json) return;
    if (shown.length === 0) terminal.write(controlHistory.none);
    if (orders.length > limit) terminal.say(controlHistory.more(limit));
  });
}
