/** `lance controls history`: what people and desks ordered, and who read personal data of many, why and when; beside a running daemon. */
import { printable } from '../domain/printable.ts';
import type { OrderGiven } from '../operating/controls.ts';
import { withDesk } from './desk-control.ts';
import type { Format } from './format.ts';
import type { CommandWorld } from './world.ts';

const textWidth = 80;
const longestName = 24;
const shownHash = 12;
const indent = '    ';

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

export function whatText(order: OrderGiven, { texts, money, minute, number }: Format): string {
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
    case 'rule-snoozed':
      return what.snoozed(order.name, minute(order.until));
    case 'rule-resumed':
      return what.woken(order.name);
    case 'rules-ordered': {
      const hash = order.hash.slice(0, shownHash);
      return order.liveAt === null ? what.rules(hash) : what.rulesFrom(hash, minute(order.liveAt));
    }
    case 'personal-read': {
      const { what: read, file, requests } = order;
      const where = file === undefined ? [] : [file];
      const many = requests === undefined ? [] : [texts.controlHistory.requests(number(requests))];
      return [texts.controlHistory.read[read], ...many, ...where].join(', ');
    }
    default:
      return order satisfies never;
  }
}

/** When and who stand in columns; what was ordered and why stand below. */
function orderLines(order: OrderGiven, format: Format): string[] {
  const by = order.by ?? format.texts.controlHistory.folder;
  return [
    `${format.minute(order.at)}  ${shortened(by)}${order.via === 'offline' ? ' (offline)' : ''}`,
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
  const { orders, more } = await withDesk(world, (desk) => desk.history(limit));
  for (const order of orders) {
    if (json) terminal.write(JSON.stringify(order));
    else terminal.write(orderLines(order, format).join('\n'));
  }
  if (json) return;
  if (orders.length === 0) terminal.write(controlHistory.none);
  if (more) terminal.say(controlHistory.more(limit));
}
