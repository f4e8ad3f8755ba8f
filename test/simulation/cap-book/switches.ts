/**
 * The rules of the cap book, each switched off in one or more ways: by texts of the program that are changed as its files are
 * loaded. So the program knows of no switch, and what is simulated is the program.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';

type Edit = {
  file: 'src/state/cap-owner' | 'src/state/cap-book' | 'src/state/memory-cap-book' | 'test/simulation/cap-book/world';
  search: string;
  replacement: string;
};

/** It is caught within so many seeds from `from` on. */
export type Switch = { rule: 1 | 2 | 3 | 4 | 5 | 6 | 7; from?: number; seeds: number; edits: readonly Edit[] };

const owner = (search: string, replacement: string): Edit => ({ file: 'src/state/cap-owner', search, replacement });
const book = (search: string, replacement: string): Edit => ({
  file: 'src/state/memory-cap-book',
  search,
  replacement,
});
const common = (search: string, replacement: string): Edit => ({ file: 'src/state/cap-book', search, replacement });
const world = (search: string, replacement: string): Edit => ({
  file: 'test/simulation/cap-book/world',
  search,
  replacement,
});

/** By what is left out. */
export const switches = {
  'operations-not-stored': {
    rule: 1,
    seeds: 300,
    edits: [
      owner(
        'add(part, operations);\n      parts.set',
        'add(part, operations);\n      part.operations = [];\n      parts.set',
      ),
    ],
  },
  'operations-without-offset': {
    rule: 1,
    seeds: 300,
    edits: [book('if (operation.offset >= part.at) takeIn', 'takeIn')],
  },
  'refusals-forgotten': {
    rule: 2,
    seeds: 300,
    edits: [book("kind === 'reserve' && data.refused.has(", "kind === 'reserve' && data.refused.delete(")],
  },
  'refused-hold-not-counted': {
    rule: 3,
    from: 60,
    seeds: 30,
    edits: [
      book('if (wasRefused || !operation.reserved) addUsage', 'if (!wasRefused && !operation.reserved) addUsage'),
    ],
  },
  'refused-release-subtracted': {
    rule: 3,
    seeds: 300,
    edits: [book('if (!refused.delete(requestId)) addUsage', 'refused.delete(requestId);\n      addUsage')],
  },
  'half-a-call-kept': { rule: 3, seeds: 300, edits: [book('data.book = null;\n    work();', 'work();')] },
  'asked-while-filling': {
    rule: 4,
    seeds: 300,
    edits: [
      owner('if (own.length === 0) return lookAgain(nowMs);', 'if (own.length === 0) return applyOr(id, nowMs);'),
      owner('(book?.isOpen && isFresh(nowMs) ? claim.verdict : null)', 'claim.verdict'),
      book('|| !book.isOpen || isBehind', '|| isBehind'),
    ],
  },
  'verdict-ahead-of-the-fold': { rule: 4, seeds: 300, edits: [owner('stands.at <= part.applied', 'stands.at >= 0')] },
  'no-answer-is-a-yes': {
    rule: 4,
    seeds: 300,
    edits: [
      owner(
        'isAnswering = false;\n    },',
        "isAnswering = false;\n      for (const part of parts.values()) for (const claim of part.claims.values()) claim.verdict ??= 'granted';\n    },",
      ),
    ],
  },
  'server-unchecked': {
    rule: 5,
    from: 150,
    seeds: 50,
    edits: [
      owner('answer.server !== newest.server', 'newest.epoch === 0'),
      book('call.server === server && call.id', 'call.id'),
      book('call.server !== server || epoch', 'epoch'),
    ],
  },
  'book-behind-unnoticed': {
    rule: 5,
    from: 140,
    seeds: 30,
    edits: [owner('at < least', 'at < 0'), book('?? -1) < acknowledged', '?? -1) < 0')],
  },
  'last-loss-counts': { rule: 5, seeds: 300, edits: [common('epoch === newest.epoch + 1', 'epoch > 0')] },
  'stale-controls-obeyed': {
    rule: 4,
    from: 190,
    seeds: 30,
    edits: [owner('book?.isOpen && isFresh(nowMs) ? claim', 'book?.isOpen ? claim')],
  },
  'stale-refusal-obeyed': {
    rule: 4,
    from: 700,
    seeds: 40,
    edits: [
      owner(
        'book?.isOpen && isFresh(nowMs) ? claim',
        "book?.isOpen && (isFresh(nowMs) || claim.verdict === 'refused') ? claim",
      ),
    ],
  },
  'age-limit-not-awaited': {
    rule: 6,
    from: 420,
    seeds: 40,
    edits: [owner('newest.readAtMs + settings.ageLimitMs', 'newest.readAtMs')],
  },
  'committed-behind-the-ends': {
    rule: 6,
    from: 180,
    seeds: 30,
    edits: [owner('applied >= (ends!.get(partition) ?? 0)', 'applied >= 0')],
  },
  'unanswered-claims-not-counted': {
    rule: 6,
    seeds: 300,
    edits: [
      world(
        'sumsOf([...owner.parts.get(partition)!.rows.values()])',
        'sumsOf([...owner.parts.get(partition)!.rows.values()].filter(({ phase }) => phase !== "claimed"))',
      ),
    ],
  },
  'committed-twice': { rule: 6, from: 30, seeds: 30, edits: [book('if (data.parts.has(partition)) continue;', '')] },
  'opened-by-the-first-commit': {
    rule: 6,
    seeds: 300,
    edits: [book('data.parts.size === book.partitions', 'data.parts.size > 0')],
  },
  'claim-below-the-base-sent': {
    rule: 7,
    seeds: 300,
    edits: [
      owner(
        "if (claim.reservation.offset < part.base) return 'forfeited';",
        "if (claim.reservation.offset < part.base) return 'granted';",
      ),
    ],
  },
} as const satisfies Record<string, Switch>;

export type SwitchName = keyof typeof switches;

/** From now on the files are loaded with the rule left out. Each text must stand exactly once in its file. */
export function leaveOut(name: SwitchName): void {
  const edits: readonly Edit[] = switches[name].edits;
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      const own = edits.filter(({ file }) => url.endsWith(`/${file}.ts`));
      if (own.length === 0) return loaded;
      const source = own.reduce((text, { file, search, replacement }) => {
        const pieces = text.split(search);
        assert.equal(pieces.length, 2, `the text to change must stand exactly once in ${file}.ts: ${search}`);
        return pieces.join(replacement);
      }, String(loaded.source));
      return { ...loaded, source };
    },
  });
}
