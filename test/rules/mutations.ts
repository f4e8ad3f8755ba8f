/** Mutations of rule files: the same in every run, each of one file, by all the ways in which people and machines spoil files. */
import { catalogue } from '../../src/rules/facts.ts';
import type { RuleFile } from '../../src/rules/rule-set.ts';

/** A small generator of its own (Lehmer), so that every run tries the same mutations. */
export function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Spot = { holder: Json[] | { [key: string]: Json }; key: string | number };

/** Every value inside, with what holds it. */
function spotsIn(value: Json): Spot[] {
  if (value === null || typeof value !== 'object') return [];
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [...keys].flatMap((key): Spot[] => [
    { holder: value, key },
    ...spotsIn((value as Record<string, Json>)[key]!),
  ]);
}

const get = ({ holder, key }: Spot) => (holder as Record<string | number, Json>)[key]!;
const set = ({ holder, key }: Spot, value: Json) => {
  (holder as Record<string | number, Json>)[key] = value;
};

function mutated(text: string, change: (root: Json, spots: Spot[]) => void): string {
  const root = JSON.parse(text) as Json;
  change(root, spotsIn(root));
  return JSON.stringify(root, null, 2);
}

const patterns = ['(a+)+$', '$..[?(@.a.match(/(a+)+$/))]', '^(([a-z])+.)+[A-Z]([a-z])+$', '\\'.repeat(50)];

/** Ways to spoil a file, each of which gives its text anew. */
function waysWith(chance: () => number): Readonly<Record<string, (text: string) => string>> {
  const below = (count: number) => Math.floor(chance() * count);
  const oneOf = <T>(values: readonly T[]) => values[below(values.length)]!;
  return {
    'bytes cut out': (text) => {
      const place = below(text.length);
      return text.slice(0, place) + text.slice(place + 1 + below(40));
    },
    'cut short': (text) => text.slice(0, below(text.length)),
    'a type changed': (text) =>
      mutated(text, (_root, spots) =>
        set(oneOf(spots), oneOf<Json>([null, true, 0, -1, 1e308, '', [], {}, 'x', [[]]])),
      ),
    'a key renamed': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ holder }) => !Array.isArray(holder)));
        const value = get(spot);
        delete (spot.holder as Record<string, Json>)[spot.key];
        (spot.holder as Record<string, Json>)[`${spot.key}${oneOf(['s', '_', ' '])}`] = value;
      }),
    'a number as a string': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter((one) => typeof get(one) === 'number'));
        if (spot !== undefined) set(spot, String(get(spot)));
      }),
    'a number changed': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter((one) => typeof get(one) === 'number'));
        if (spot !== undefined) set(spot, (get(spot) as number) * oneOf([0.01, 0.5, 2, 100, -1]));
      }),
    'an operator changed': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ key }) => key === 'operator'));
        const operators = [
          'equal',
          'notEqual',
          'lessThan',
          'greaterThanInclusive',
          'in',
          'notIn',
          'not:lessThan',
          'contains',
        ];
        if (spot !== undefined) set(spot, oneOf(operators));
      }),
    'a fact changed': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ key }) => key === 'fact'));
        if (spot !== undefined) set(spot, oneOf(catalogue).name);
      }),
    'a condition turned around': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ key }) => key === 'conditions'));
        if (spot !== undefined)
          set(spot, oneOf<Json>([{ not: get(spot) }, { any: [get(spot), get(spot)] }, { all: [] }]));
      }),
    'a key of the prototype': (text) =>
      text.replace(/"(fact|operator|value|all|rules|name)"/, () =>
        oneOf(['"__proto__"', '"constructor"', '"toString"']),
      ),
    'a prototype beside': (text) => text.replace('{', '{"__proto__": {"rules": []},'),
    'a catastrophic pattern': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ key }) => key === 'fact' || key === 'value' || key === 'operator'));
        if (spot !== undefined) set(spot, oneOf(patterns));
      }),
    'a path with a filter': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ key }) => key === 'fact'));
        if (spot === undefined) return;
        set(spot, 'extra');
        (spot.holder as Record<string, Json>).path = oneOf(patterns);
      }),
    'a part taken out': (text) =>
      mutated(text, (_root, spots) => {
        const { holder, key } = oneOf(spots);
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else delete holder[key];
      }),
    'a part doubled': (text) =>
      mutated(text, (_root, spots) => {
        const spot = oneOf(spots.filter(({ holder }) => Array.isArray(holder)));
        if (spot !== undefined) (spot.holder as Json[]).push(get(spot));
      }),
  };
}

export type Mutation = {
  /** How it was spoilt. */
  kind: string;
  /** Path of the file that was spoilt. */
  victim: string;
  /** The whole set with it. */
  files: RuleFile[];
};

const seed = 20_261_120;

/** One way after the other, each on a file drawn from all. */
export function mutationsOf(files: readonly RuleFile[], count: number): Mutation[] {
  const chance = chanceFrom(seed);
  const ways = Object.entries(waysWith(chance));
  return Array.from({ length: count }, (_, index) => {
    const [kind, spoil] = ways[index % ways.length]!;
    const victim = files[Math.floor(chance() * files.length)]!;
    const spoilt = { path: victim.path, text: spoil(victim.text) };
    return { kind, victim: victim.path, files: files.map((file) => (file === victim ? spoilt : file)) };
  });
}
