/** `lance rules new`: a small whole rule, table or scorecard with its tests, in files of its own, to be edited from there. */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../errors.ts';
import { readRegularBytes } from '../regular-files.ts';
import { codeShape } from '../rules/rule-file.ts';
import { compileRuleSet, type RuleFile } from '../rules/rule-set.ts';
import { writeBelow } from './named-file.ts';
import { tellFaults } from './rules-files.ts';
import type { Texts } from './texts.ts';
import type { CommandWorld } from './world.ts';

export const draftKinds = ['pass', 'limit', 'table', 'score'] as const;
export type DraftKind = (typeof draftKinds)[number];

const codesPath = 'codes.json';

/** The desk may follow the folder at once, so a draft holds from such a day on: until somebody has edited it, it does nothing. */
const heldBack = { validFrom: '2099-01-01' };
const at = '2099-01-01T09:00:00-03:00';

function fileOf(path: string, schema: string, content: object): RuleFile {
  return { path, text: `${JSON.stringify({ $schema: `./schema/${schema}.schema.json`, ...content }, null, 2)}\n` };
}

/** `young-workers` as people write it: `Young workers`. */
function titleOf(name: string): string {
  return `${name[0]!.toUpperCase()}${name.slice(1).replaceAll('-', ' ')}`;
}

/** As a fact is named: `youngWorkers`. */
function factNameOf(name: string): string {
  return name.replace(/-+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

type Comparison = readonly [fact: string, operator: string, value: number | string];

function ruleOf(title: string, description: string, [fact, operator, value]: Comparison, event: object) {
  return { name: title, description, ...heldBack, conditions: { all: [{ fact, operator, value }] }, event };
}

/**
 * Three tests show all that a comparison can be. They ask for the rule alone, whatever else the set says of the same facts.
 * `fact` undecided: the rule has its effect.
 */
function testsOf(title: string, fact: string, [inside, outside]: readonly [number, number], { draft }: Texts['rules']) {
  return [
    { name: draft.holds(fact, inside), at, facts: { [fact]: inside }, expect: { fired: [title] } },
    { name: draft.doesNotHold(fact, outside), at, facts: { [fact]: outside }, expect: { silent: [title] } },
    { name: draft.isUnknown(fact), at, facts: { [fact]: null }, expect: { fired: [title] } },
  ];
}

function passFiles(name: string, texts: Texts['rules']): RuleFile[] {
  const { draft } = texts;
  const [title, fact] = [titleOf(name), 'request.installments'];
  const event = { type: 'pass', params: { code: name, reason: draft.passReason } };
  const rule = ruleOf(title, draft.passDescription, [fact, 'lessThan', 6], event);
  return [
    fileOf(`${name}.json`, 'rules', { rules: [rule] }),
    fileOf(`${name}.test.json`, 'tests', { base: { [fact]: 24 }, tests: testsOf(title, fact, [5, 6], texts) }),
  ];
}

function limitFiles(name: string, texts: Texts['rules']): RuleFile[] {
  const [title, fact] = [titleOf(name), 'worker.tenureMonths'];
  const event = { type: 'limit', params: { maxAmountReais: 3_000, maxInstallments: 18 } };
  const rule = ruleOf(title, texts.draft.limitDescription, [fact, 'lessThan', 12], event);
  return [
    fileOf(`${name}.json`, 'rules', { rules: [rule] }),
    fileOf(`${name}.test.json`, 'tests', { base: { [fact]: 30 }, tests: testsOf(title, fact, [11, 12], texts) }),
  ];
}

function tableFiles(name: string, { draft }: Texts['rules']): RuleFile[] {
  const [title, age] = [titleOf(name), 'employer.ageMonths'];
  const rows = [
    { when: [{ below: 12 }], set: [3_000, 18] },
    { when: [{ from: 12, below: 36 }], set: [12_000, 36] },
    { when: [{ from: 36 }], set: [30_000, 60] },
  ];
  const table = { name: title, description: draft.tableDescription, ...heldBack, event: 'limit' };
  const row = (number: number) => `${title} #${number}`;
  const others = (number: number) => [1, 2, 3].filter((other) => other !== number).map(row);
  const edges = [11, 12, 35, 36].map((months) => {
    const own = months < 12 ? 1 : months < 36 ? 2 : 3;
    const expect = { fired: [row(own)], silent: others(own) };
    return { name: draft.inRow(age, months, own), at, facts: { [age]: months }, expect };
  });
  const unknown = { name: draft.isUnknown(age), at, facts: { [age]: null }, expect: { fired: [1, 2, 3].map(row) } };
  return [
    fileOf(`${name}.table.json`, 'table', {
      ...table,
      inputs: [age],
      outputs: ['maxAmountReais', 'maxInstallments'],
      rows,
    }),
    fileOf(`${name}.test.json`, 'tests', { base: { [age]: 84 }, tests: [...edges, unknown] }),
  ];
}

function scoreFiles(name: string, { draft }: Texts['rules']): RuleFile[] {
  const [title, score, tenure, age] = [titleOf(name), factNameOf(name), 'worker.tenureMonths', 'employer.ageMonths'];
  const [points, band] = [`score.${score}`, `score.${score}.band`];
  const card = {
    description: draft.scoreDescription,
    start: 500,
    characteristics: [
      {
        fact: tenure,
        unknown: 'unknown',
        bins: [
          { below: 12, points: -40 },
          { from: 12, below: 36, points: 0 },
          { from: 36, points: 30 },
        ],
      },
      {
        fact: age,
        unknown: -20,
        bins: [
          { below: 24, points: -30 },
          { from: 24, points: 10 },
        ],
      },
    ],
    bands: [
      { name: 'B', below: 480 },
      { name: 'A', from: 480 },
    ],
  };
  const event = { type: 'limit', params: { maxAmountReais: 3_000, maxInstallments: 18 } };
  const rule = ruleOf(title, draft.scoreRuleDescription, [band, 'equal', 'B'], event);
  const case_ = (text: string, facts: object, [sum, ownBand]: readonly [number | null, string | null]) => {
    const fires = ownBand === 'A' ? { silent: [title] } : { fired: [title] };
    return { name: text, at, facts, expect: { facts: { [points]: sum, [band]: ownBand }, ...fires } };
  };
  const tests = [
    case_(draft.inBand('A', 510), {}, [510, 'A']),
    case_(draft.inBand('B', 430), { [tenure]: 11, [age]: 23 }, [430, 'B']),
    case_(draft.withoutPoints(age, -20), { [age]: null }, [480, 'A']),
    case_(draft.withoutScore(tenure), { [tenure]: null }, [null, null]),
  ];
  return [
    fileOf(`${score}.score.json`, 'score', card),
    fileOf(`${name}.json`, 'rules', { rules: [rule] }),
    fileOf(`${name}.test.json`, 'tests', { base: { [tenure]: 30, [age]: 84 }, tests }),
  ];
}

const filesOf: Readonly<Record<DraftKind, (name: string, texts: Texts['rules']) => RuleFile[]>> = {
  pass: passFiles,
  limit: limitFiles,
  table: tableFiles,
  score: scoreFiles,
};

/** `codes.json` with the code in it, all else as it stands; null: nothing has to be written. */
function codesFile(directory: string, code: string | null, { draft }: Texts['rules']): RuleFile | null {
  const path = join(directory, codesPath);
  if (!existsSync(path)) {
    return fileOf(codesPath, 'codes', { codes: code === null ? {} : { [code]: draft.codeMeaning } });
  }
  const text = readRegularBytes(path).toString();
  const entry = JSON.stringify(code);
  // What is no such file is told by the loader.
  const head = /"codes"\s*:\s*\{(\s*\})?/.exec(text);
  if (code === null || head === null || text.includes(`${entry}:`)) return null;
  const end = head.index + head[0].length;
  const said = `${entry}: ${JSON.stringify(draft.codeMeaning)}`;
  const opened = `${text.slice(0, head.index)}"codes": {\n    ${said}`;
  return { path: codesPath, text: `${opened}${head[1] === undefined ? ',' : '\n  }'}${text.slice(end)}` };
}

/** Resolves to the exit code: 65 when the set with the new files would be refused. Throws `not-allowed` where a file is there already. */
export function newRule(world: CommandWorld, directory: string, kind: DraftKind, name: string): number {
  const { terminal, format } = world;
  const { rules } = format.texts;
  if (!codeShape.test(name)) throw new Fault('configuration-invalid', rules.badName(name));
  const own = filesOf[kind](name, rules);
  const there = own.find(({ path }) => existsSync(join(directory, path)));
  if (there !== undefined) throw new Fault('not-allowed', rules.draft.exists(join(directory, there.path)));
  const codes = codesFile(directory, kind === 'pass' ? name : null, rules);
  const files = codes === null ? own : [codes, ...own];
  const others = world.readRules(directory).filter(({ path }) => files.every((file) => file.path !== path));
  const compiled = compileRuleSet([...others, ...files]);
  if (compiled.kind === 'refused') {
    tellFaults(world, rules.refused(compiled.faults.length), compiled.faults);
    terminal.say(rules.importRefused(compiled.faults.length));
    return 65;
  }
  for (const { path, text } of files) {
    const target = join(directory, path);
    // Whole or not at all, for the desk may be looking.
    writeBelow(world, directory, `${target}.new`, text);
    renameSync(`${target}.new`, target);
    terminal.write(target);
  }
  terminal.write(rules.draft.next[kind](directory));
  return 0;
}
