/**
 * A rule set: the risk team's files at one moment, checked as a whole and compiled. It is immutable and named by the
 * hash of its canonical content; one fault anywhere and there is no rule set.
 */
import { createHash } from 'node:crypto';
import type { TableLook } from '../domain/offer.ts';
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import type { SealedGroup } from '../domain/sealed-facts.ts';
import { joinFiles } from '../domain/set-source.ts';
import { type CompiledCondition, createFrame, type Frame } from './compile.ts';
import { readComputed } from './computed.ts';
import { readVocabulary } from './conditions.ts';
import { refuseConflicts, shadowedRules } from './conflicts.ts';
import { basesOf, type DerivedFact, type DerivedFacts, numberOf } from './derived.ts';
import { factsIn } from './extents.ts';
import {
  extraPrefix,
  type Facts,
  factNamed,
  type LedgerFact,
  ledgerFacts,
  listPrefix,
  marketFacts,
  type Stage,
} from './facts.ts';
import { holidayAsFact, holidayFact, readHolidays } from './holidays.ts';
import { canonicalJson, type Json, type JsonObject, linesOf, parseJson } from './json.ts';
import { type CompiledCap, compileCap, compileSegment, type ReadNumber } from './keys.ts';
import { listAsFact, listNameOf, type RuleList, readList } from './lists.ts';
import { isObject, type Place, type RuleFault, refuse, refuseGrouped, shown, within } from './place.ts';
import type { Condition, ExperimentRule, LimitByFact, Rule, RuleEvent, Validity } from './rule.ts';
import { type Known, type PassCode, readCodes, readEventWords, readRuleFile, readTableFile } from './rule-file.ts';
import { readScorecard, scoreAsFacts, testsOfBins } from './scorecards.ts';
import { shareAsFact } from './shares.ts';
import { maxSources, readSource, type Source, sourceAsFacts, sourcePrefix, sourcesUsed } from './sources.ts';
import { testsOfTable } from './table-tests.ts';
import { namesUnknownRule, type RuleTest, readBases, readTests, testOfBin, testOfCell } from './test-file.ts';
import { openTable, type RowsFile, readValueTable, valuesPrefix } from './value-tables.ts';
import { definitionOf, isOfferFact } from './vocabulary.ts';

/** `path` is relative to the folder of rules, with forward slashes. */
export type RuleFile = { path: string; text: string };

export type RuleSummary = {
  name: string;
  description: string;
  owner: string | null;
  priority: number;
  stage: Stage;
  event: RuleEvent['type'];
  validity: Validity;
  /** Of the workers; null: it is for all. */
  share: number | null;
  conditions: Condition;
  /** Facts that tell the values of a limit or cap. */
  valueFacts: readonly string[];
  /** Name of the cap that it sets; absent: it sets none. */
  cap?: string;
  /** Where it stands: file and JSON pointer. */
  file: string;
  pointer: string;
};

/** `min…` fields are tight when high, `max…` fields when low. */
export type CompiledLimit = { field: keyof Limits; value: number; tightWhenHigh: boolean };

type CompiledLimitByFact = LimitByFact & { tightWhenHigh: boolean };

type CompiledEvent =
  | { type: 'pass'; code: string; reason: string; ignoresMissing: boolean }
  | { type: 'limit'; limits: readonly CompiledLimit[]; byFact: readonly CompiledLimitByFact[] }
  | { type: 'economics'; changes: readonly (readonly [field: keyof Economics, value: number])[] }
  | { type: 'segment'; keysOf: (facts: Facts) => readonly string[] }
  | { type: 'strategy'; strategy: Strategy }
  | { type: 'cap'; reserve: CompiledCap; keyFacts: readonly string[]; byFact: readonly string[] }
  | { type: 'experiment'; experiment: CompiledExperiment }
  | Extract<RuleEvent, { type: 'review' }>;

/** `changes`: of the economics of those treated. */
export type CompiledExperiment = ExperimentRule & {
  changes: readonly (readonly [field: keyof Economics, value: number])[];
};

/** `validity` null: always. */
export type CompiledRule = CompiledCondition & { name: string; event: CompiledEvent; validity: Validity | null };

/** The rules of one stage, highest priority first, then by name, and the frame that their conditions look at. */
export type StageRules = {
  rules: readonly CompiledRule[];
  frame: Frame;
  /** Where in the frame's truths the condition of each rule is. */
  places: Int32Array;
};

export type RuleSet = {
  /** SHA-256 of `source`, hexadecimal. */
  hash: string;
  /** Canonical text from which `openRuleSet` makes the same set again; stored under the hash. */
  source: string;
  /** For display, in order of evaluation. */
  rules: readonly RuleSummary[];
  /** Names of the caps, each once. */
  caps: readonly string[];
  /** Names of the queues of reviews, each once. */
  queues: readonly string[];
  codes: readonly PassCode[];
  /** What is looked up, computed or summed up, by the name of the fact. */
  derived: DerivedFacts;
  /** One for each value table that some rule looks at. */
  tables: readonly ((facts: Facts) => TableLook)[];
  /** External sources that some rule looks at. */
  sources: readonly Source[];
  /** Tells whether a rule of this name is still the same; null: there is none. */
  digestOf: (name: string) => string | null;
  /** Facts of the ledger that some rule looks at. */
  ledgerFacts: readonly LedgerFact[];
  /** Facts sealed beside the request that some rule looks at. */
  sealedGroups: ReadonlySet<SealedGroup>;
  /** Whether some rule of the offer looks at facts of the request as well. */
  offerLooksBack: boolean;
  tests: readonly RuleTest[];
  /** Only `evaluate.ts` runs them. */
  request: StageRules;
  offer: StageRules;
};

/** Conditions as the files write them: those with a name, and those of each rule, by its name. */
export type WrittenConditions = { named: JsonObject; rules: ReadonlyMap<string, Json> };

export type CompiledRuleSet =
  /** `warnings`: it may be activated, but somebody should look. */
  | { kind: 'compiled'; ruleSet: RuleSet; warnings: readonly RuleFault[]; written: WrittenConditions }
  | { kind: 'refused'; faults: readonly RuleFault[] };

const maxFileLength = 1_000_000;
/** Lists are longer than what people write by hand. */
const maxListLength = 3_000_000;
/** Rows of a value table: with what JSON adds they have to fit into a record of the log. */
const maxRowsLength = 6_000_000;
const maxTotalLength = 8_000_000;
const maxFiles = 500;
const maxRules = 2_000;
const codesPath = 'codes.json';
const conditionsPath = 'conditions.json';
const rowsEnding = '.values.csv';

function entries<Key extends string>(fields: Partial<Record<Key, number | null>>): [Key, number][] {
  return Object.entries(fields) as [Key, number][];
}

function compileEvent({ event, onMissing }: Rule, read: ReadNumber): CompiledEvent {
  switch (event.type) {
    case 'pass':
      return { ...event, ignoresMissing: onMissing === 'ignore' };
    case 'limit':
      return {
        type: 'limit',
        limits: entries(event.limits).map(([field, value]) => ({
          field,
          value,
          tightWhenHigh: field.startsWith('min'),
        })),
        byFact: event.byFact.map((limit) => ({ ...limit, tightWhenHigh: limit.field.startsWith('min') })),
      };
    case 'economics':
      return { type: 'economics', changes: entries(event.changes) };
    case 'segment':
      return { type: 'segment', keysOf: compileSegment(event.dimensions) };
    case 'strategy':
    case 'review':
      return event;
    case 'cap':
      return {
        type: 'cap',
        reserve: compileCap(event.cap, read),
        keyFacts: event.cap.keyFacts,
        byFact: valueFactsOf(event),
      };
    case 'experiment': {
      const { economics } = event.experiment;
      const changes = economics === null ? [] : entries(economics);
      return { type: 'experiment', experiment: { ...event.experiment, changes } };
    }
    default:
      return event satisfies never;
  }
}

/** Facts that tell the values of a limit or cap. */
function valueFactsOf(event: RuleEvent): readonly string[] {
  if (event.type === 'limit') return event.byFact.map(({ fact }) => fact);
  if (event.type !== 'cap') return [];
  return [event.cap.amountFact, event.cap.countFact].flatMap((fact) => fact ?? []);
}

function compileRule(rule: Rule, frame: Frame, read: ReadNumber): CompiledRule {
  const { from, until } = rule.validity;
  const validity = from === null && until === null ? null : rule.validity;
  return { ...frame.condition(rule.conditions), name: rule.name, event: compileEvent(rule, read), validity };
}

function compileStage(rules: readonly Rule[], stage: Stage, derived: DerivedFacts): StageRules {
  const own = rules.filter((rule) => rule.stage === stage);
  const conditions = own.map((rule) => rule.conditions);
  const frame = createFrame(derived, conditions);
  const places = Int32Array.from(conditions, frame.indexOf);
  const read: ReadNumber = (fact, facts, offerFacts) => numberOf(derived, fact, facts, offerFacts);
  return { rules: own.map((rule) => compileRule(rule, frame, read)), frame, places };
}

function placeIn(file: string, faults: RuleFault[]): Place {
  return { file, pointer: '', faults };
}

/** Files that cannot be meant, before a byte of them is read. */
function refuseSizes(files: readonly RuleFile[], faults: RuleFault[]): void {
  if (files.length > maxFiles) refuse(placeIn('', faults), `${files.length} files; keep a rule set to ${maxFiles}.`);
  let total = 0;
  const seen = new Set<string>();
  for (const { path, text } of files.slice(0, maxFiles)) {
    total += text.length;
    const place = placeIn(path, faults);
    const isRows = path.endsWith(rowsEnding);
    const most = isRows ? maxRowsLength : listNameOf(path) === null ? maxFileLength : maxListLength;
    if (text.length > most) refuse(place, `The file is longer than ${most} characters; split it.`);
    if (!path.endsWith('.json') && !isRows) refuse(place, 'This is no .json file; keep only rules in this folder.');
    if (seen.has(path)) refuse(place, 'This path is given twice.');
    seen.add(path);
  }
  if (total > maxTotalLength)
    refuse(placeIn('', faults), `Longer than ${maxTotalLength} characters together; remove some.`);
}

type ParsedFile = { path: string; value: Json; kind: FileKind };

function fileOf(path: string, value: Json): ParsedFile {
  return { path, value, kind: kindOf(path, () => value) };
}

function parseFiles(files: readonly RuleFile[], faults: RuleFault[]): ParsedFile[] {
  const parsed: ParsedFile[] = [];
  for (const { path, text } of files) {
    const result: ReturnType<typeof parseJson> = path.endsWith(rowsEnding)
      ? { kind: 'parsed', value: text }
      : parseJson(text);
    if (result.kind === 'parsed') {
      parsed.push(fileOf(path, result.value));
      if (!path.endsWith(rowsEnding)) refuseGrouped(placeIn(path, faults), text);
    } else refuse({ file: path, pointer: result.pointer, faults }, result.text);
  }
  return parsed.sort((left, right) => (left.path < right.path ? -1 : 1));
}

export type FileKind =
  | 'codes'
  | 'conditions'
  | 'events'
  | 'bases'
  | 'facts'
  | 'holidays'
  | 'score'
  | 'values'
  | 'value-rows'
  | 'source'
  | 'list'
  | 'table'
  | 'test'
  | 'rules';

/** Names that earlier versions knew as those of rules: what looks like rules still counts as such. */
const laterNames: Readonly<Record<string, FileKind>> = {
  'events.json': 'events',
  'bases.json': 'bases',
  'facts.json': 'facts',
  'holidays.json': 'holidays',
};

function looksLikeRules(value: Json): boolean {
  return Array.isArray(value) || (isObject(value) && ('rules' in value || 'conditions' in value));
}

/** By the name, so that nobody has to open a file to know what it is. `content` is asked for where the name alone does not say it. */
export function kindOf(path: string, content: () => Json): FileKind {
  if (path === codesPath) return 'codes';
  const later = laterNames[path];
  if (later !== undefined) return looksLikeRules(content()) ? 'rules' : later;
  if (path === conditionsPath) return 'conditions';
  if (path.startsWith('lists/')) return 'list';
  if (path.endsWith('.score.json')) return looksLikeRules(content()) ? 'rules' : 'score';
  if (path.endsWith('.values.json')) return looksLikeRules(content()) ? 'rules' : 'values';
  if (path.endsWith(rowsEnding)) return 'value-rows';
  if (path.endsWith('.source.json')) return looksLikeRules(content()) ? 'rules' : 'source';
  if (path.endsWith('.table.json')) return 'table';
  return path.endsWith('.test.json') ? 'test' : 'rules';
}

function readLists(parsed: readonly ParsedFile[], faults: RuleFault[], checked: boolean): RuleList[] {
  return parsed.flatMap(({ path, value, kind }) => {
    if (kind !== 'list') return [];
    const name = listNameOf(path);
    if (name !== null) return readList(placeIn(path, faults), value, name, checked) ?? [];
    refuse(
      placeIn(path, faults),
      'A list is named in lower-case words; call the file like "lists/blocked-workers.json".',
    );
    return [];
  });
}

type ReadTables = { opened: readonly OpenedTable[]; texts: ReadonlyMap<string, string> };
type OpenedTable = ReturnType<typeof openTable> & { name: string; path: string };

/** `texts`: by path, the rows of files of their own as the set keeps them. */
function readTables(parsed: readonly ParsedFile[], faults: RuleFault[], checked: boolean): ReadTables {
  const rows = new Map<string, RowsFile>();
  for (const { path, value, kind } of parsed) {
    if (kind !== 'value-rows') continue;
    const place = placeIn(path, faults);
    const declaration = path.replace(/csv$/, 'json');
    const isDeclared = parsed.some((file) => file.path === declaration && file.kind === 'values');
    if (typeof value !== 'string') refuse(place, `The rows are ${shown(value)} instead of a text.`);
    else if (!isDeclared && faults.some(({ file }) => file === declaration)) continue;
    else if (!isDeclared)
      refuse({ ...place, line: 1 }, `Nothing declares these rows; write key and columns in ${declaration}.`);
    else rows.set(declaration, { place, text: value });
  }
  const opened: OpenedTable[] = [];
  const texts = new Map<string, string>();
  for (const { path, value, kind } of parsed) {
    if (kind !== 'values') continue;
    const beside = rows.get(path) ?? null;
    const table = readValueTable(placeIn(path, faults), value, beside, checked);
    if (table === null) continue;
    if (beside !== null) texts.set(beside.place.file, table.text);
    opened.push({ ...openTable(table), name: table.name, path });
  }
  return { opened, texts };
}

/** Facts of tables and sources that the rule looks at, itself or through what is made of them. */
function readsOf(rule: Rule, derived: DerivedFacts): readonly string[] {
  return factsUsed(rule).flatMap((fact) => derived.get(fact)?.reads ?? []);
}

/** What the rules look at of each table, themselves or through what is made of it. */
function looksOf(tables: readonly OpenedTable[], used: ReadonlySet<string>): RuleSet['tables'] {
  return tables.flatMap(({ name, look }) => {
    const start = `${valuesPrefix}${name}.`;
    const columns = new Set([...used].flatMap((fact) => (fact.startsWith(start) ? [fact.slice(start.length)] : [])));
    return columns.size === 0 ? [] : [(facts: Facts) => look(facts, columns)];
  });
}

/** A table that nothing looks at says nothing, whatever it holds. */
function unusedTables(tables: readonly OpenedTable[], facts: ReadonlySet<string>): RuleFault[] {
  const used = [...facts];
  return tables
    .filter(({ name }) => !used.some((fact) => fact.startsWith(`${valuesPrefix}${name}.`)))
    .map(({ name, path }) => ({
      file: path,
      pointer: '',
      line: null,
      text: `No rule looks at the value table "${name}" (facts ${valuesPrefix}${name}.…); remove it or use it.`,
    }));
}

function unusedSources(sources: readonly Source[], used: ReadonlySet<string>): RuleFault[] {
  const asked = sourcesUsed(sources, used);
  return sources
    .filter((source) => !asked.includes(source))
    .map(({ name }) => ({
      file: `${name}.source.json`,
      pointer: '',
      line: null,
      text: `No rule looks at the source "${name}" (facts ${sourcePrefix}${name}.…); remove it or use it.`,
    }));
}

type ReadRules = { rules: Rule[]; tables: (readonly Rule[])[] };

function readRules(parsed: readonly ParsedFile[], known: Known, faults: RuleFault[]): ReadRules {
  const rules: Rule[] = [];
  const tables: (readonly Rule[])[] = [];
  for (const { path, value, kind } of parsed) {
    if (kind === 'rules') rules.push(...readRuleFile(placeIn(path, faults), value, known));
    if (kind === 'table') {
      const rows = readTableFile(placeIn(path, faults), value, known);
      tables.push(rows);
      rules.push(...rows);
    }
    if (rules.length <= maxRules) continue;
    refuse(placeIn(path, faults), `More than ${maxRules} rules; join some with lists ("in") or tables.`);
    return { rules: [], tables: [] };
  }
  return { rules, tables };
}

/** How faults in other files say that what a file makes is not there, by file and pointer of the fault that took it away. */
const madeBy: readonly (readonly [place: RegExp, missed: (name: string) => string])[] = [
  [/^([\w-]+)\.values\.(?:json|csv)/, (name) => `"${valuesPrefix}${name}.`],
  [/^lists\/([\w-]+)\.json/, (name) => `"${listPrefix}${name}"`],
  [/^([\w-]+)\.source\.json/, (name) => `"${sourcePrefix}${name}.`],
  [/^([\w-]+)\.score\.json/, (name) => `"score.${name}"`],
  [/^facts\.json\/facts\/([^/]+)/, (name) => `"${name}"`],
  [/^holidays\.json/, () => `There is no fact "${holidayFact}"`],
  // A fault at the front is of all that stands in the file.
  [/^(codes|conditions|bases)\.json(?:\/[^/]*)?$/, (name) => ` is not declared in ${name}.json`],
  [/^events\.json(?:\/[^/]*)?$/, () => 'There is no event "'],
  [/^codes\.json\/codes\/([^/]+)/, (name) => ` code "${name}" is not declared`],
  [/^events\.json\/events\/([^/]+)/, (name) => ` no event "${name}"`],
];

/** Without those that only say that something of a refused file is not there: they go with it. `isRead`: its JSON could be read. */
function withoutConsequences(faults: readonly RuleFault[], isRead: (file: string) => boolean): readonly RuleFault[] {
  const declaring = (file: string) => file.replace(/\.csv$/, '.json');
  const lost = faults.flatMap(({ file, pointer }) =>
    madeBy.flatMap(([place, missed]) => {
      const found = place.exec(isRead(file) ? `${file}${pointer}` : file);
      return found === null ? [] : [{ maker: declaring(file), missed: missed(found[1] ?? '') }];
    }),
  );
  const own = faults.filter(
    ({ file, text }) => !lost.some(({ maker, missed }) => declaring(file) !== maker && text.includes(missed)),
  );
  return own.length === 0 ? faults : own;
}

/** Finds the line of each fault, reading a file with faults once more. */
export function withLines(faults: readonly RuleFault[], files: readonly RuleFile[]): RuleFault[] {
  const texts = new Map(files.map((file) => [file.path, file.text]));
  const lines = new Map<string, ReadonlyMap<string, number>>();
  for (const [path, own] of Map.groupBy(faults, (fault) => fault.file)) {
    const text = texts.get(path);
    if (text === undefined || text.length > maxListLength || path.endsWith(rowsEnding)) continue;
    lines.set(
      path,
      linesOf(
        text,
        own.map((fault) => fault.pointer),
      ),
    );
  }
  return faults.map((fault) => ({ ...fault, line: fault.line ?? lines.get(fault.file)?.get(fault.pointer) ?? null }));
}

function byPrecedence(left: Rule, right: Rule): number {
  return right.priority - left.priority || (left.name < right.name ? -1 : 1);
}

function summarise(rule: Rule): RuleSummary {
  const { name, description, owner, priority, stage, event, validity, share, conditions, place } = rule;
  const { file, pointer } = place;
  const valueFacts = valueFactsOf(event);
  return {
    name,
    description,
    owner,
    priority,
    stage,
    event: event.type,
    validity,
    share: share?.share ?? null,
    conditions,
    valueFacts,
    ...(event.type === 'cap' && { cap: event.cap.name }),
    file,
    pointer,
  };
}

/** Facts of requests and offers that the rule looks at, itself or through what is made of them. */
function basesUsed(rule: Rule, derived: DerivedFacts): readonly string[] {
  return factsUsed(rule).flatMap((fact) => basesOf(derived, fact));
}

function ledgerFactsOf(rules: readonly Rule[], derived: DerivedFacts): LedgerFact[] {
  const used = new Set(rules.flatMap((rule) => basesUsed(rule, derived)));
  return ledgerFacts.filter((fact) => used.has(fact));
}

function sealedGroupsOf(rules: readonly Rule[], derived: DerivedFacts): ReadonlySet<SealedGroup> {
  const used = rules.flatMap((rule) => basesUsed(rule, derived));
  const groups = new Set<SealedGroup>();
  if (used.some((fact) => fact.startsWith(extraPrefix))) groups.add('extra');
  if (used.some((fact) => fact.startsWith('alerts.'))) groups.add('alerts');
  return groups;
}

/** Facts of the conditions, and those that name segments and caps. */
function factsUsed({ conditions, event }: Rule): readonly string[] {
  const own = [...factsIn(conditions), ...valueFactsOf(event)];
  if (event.type === 'segment') return [...own, ...event.dimensions.map(({ fact }) => fact)];
  return event.type === 'cap' ? [...own, ...event.cap.keyFacts] : own;
}

function looksBack({ stage, conditions }: Rule): boolean {
  return stage === 'offer' && factsIn(conditions).some((fact) => !isOfferFact(fact));
}

/** SHA-256 of what the rule says: its own text, and the named conditions and events where it refers to any. Made when it is asked for. */
function createDigests(
  rules: readonly Rule[],
  conditions: Json | undefined,
  events: Json | undefined,
): RuleSet['digestOf'] {
  const byName = new Map(rules.map((rule) => [rule.name, rule]));
  const made = new Map<string, string>();
  return (name) => {
    const rule = byName.get(name);
    if (rule === undefined) return null;
    const known = made.get(name);
    if (known !== undefined) return known;
    const own = canonicalJson(rule.whole);
    const words = [own.includes('"condition":') ? (conditions ?? null) : null, events ?? null];
    const digest = createHash('sha256')
      .update(`${own}${canonicalJson(words)}`)
      .digest('hex');
    made.set(name, digest);
    return digest;
  };
}

function unusedNames(names: readonly string[]): RuleFault[] {
  return names.map((name) => ({
    file: conditionsPath,
    pointer: `/conditions/${name}`,
    line: null,
    text: `No rule refers to the condition "${name}"; remove it or use it.`,
  }));
}

/** A list that nothing looks at blocks nobody, whatever it holds. */
function unusedLists(lists: readonly RuleList[], rules: readonly Rule[]): RuleFault[] {
  const used = new Set(rules.flatMap(factsUsed));
  return lists
    .filter(({ name }) => !used.has(listPrefix + name))
    .map(({ name }) => ({
      file: `lists/${name}.json`,
      pointer: '',
      line: null,
      text: `No rule looks at the list "${name}" (fact ${listPrefix}${name}); remove it or use it.`,
    }));
}

/**
 * Reads, checks and compiles a rule set. Never throws: whatever is wrong comes back as faults, up to 100 of them, each
 * with file, JSON pointer and what to write instead. A set without any rule is refused, since it would limit nothing.
 */
export function compileRuleSet(files: readonly RuleFile[], whyAbsent: WhyAbsent = () => null): CompiledRuleSet {
  return compileFiles(files, whyAbsent);
}

/** Why a fact can never have a value where the rules are to run, and what to write instead; null: it can have one. */
export type WhyAbsent = (fact: string) => string | null;

/** `whyAbsent` null: the set comes from the store. */
function compileFiles(files: readonly RuleFile[], whyAbsent: WhyAbsent | null): CompiledRuleSet {
  const faults: RuleFault[] = [];
  refuseSizes(files, faults);
  const parsed = faults.length > 0 ? [] : parseFiles(files, faults);
  return compileParsed(parsed, files, faults, null, whyAbsent);
}

/** Facts that rules for a share of the workers ask for. The rows of a table ask for one. */
function addShares(rules: readonly Rule[], derived: Map<string, DerivedFact>): void {
  const owners = new Map<string, Rule>();
  for (const rule of rules) {
    const { share, place } = rule;
    if (share === null) continue;
    const owner = owners.get(share.fact);
    if (owner !== undefined && owner.place.file !== place.file) {
      const where = `${owner.place.file}${owner.place.pointer}`;
      refuse(within(place, 'share'), `"${share.salt}" draws workers at ${where} as well; choose another name.`);
    } else if (owner === undefined) {
      owners.set(share.fact, rule);
      derived.set(share.fact, shareAsFact(share));
    }
  }
}

/** How the desk fares in a segment is known once the segment is. */
function refuseSegmentsOfStanding(rules: readonly Rule[], derived: DerivedFacts): void {
  for (const rule of rules) {
    if (rule.event.type !== 'segment') continue;
    const fact = basesUsed(rule, derived).find((each) => (marketFacts as readonly string[]).includes(each));
    if (fact === undefined) continue;
    refuse(
      rule.place,
      `"${rule.name}" makes segments of "${fact}", which is told by the segment itself; make them of other facts.`,
    );
  }
}

/** A pass rule on such a fact would pass every request, a limit would hold for every one. */
function refuseAbsent(rules: readonly Rule[], derived: DerivedFacts, whyAbsent: WhyAbsent): void {
  for (const rule of rules) {
    for (const fact of new Set(basesUsed(rule, derived))) {
      const why = whyAbsent(fact);
      if (why !== null) refuse(rule.place, `"${rule.name}" asks for "${fact}", which can never come: ${why}`);
    }
  }
}

/**
 * `checkedSource`: this very content has passed it once, so what costs time and could find no fault in it is left out, and so are
 * its tests. `files` are for the lines of faults.
 */
function compileParsed(
  parsed: readonly ParsedFile[],
  files: readonly RuleFile[],
  faults: RuleFault[],
  checkedSource: string | null,
  whyAbsent: WhyAbsent | null,
): CompiledRuleSet {
  const isRead = (file: string) => parsed.some(({ path }) => path === file);
  const refused = (): CompiledRuleSet => ({
    kind: 'refused',
    faults: withLines(withoutConsequences(faults, isRead), files),
  });
  if (parsed.length === 0 && faults.length > 0) return refused();
  const checked = checkedSource !== null;
  const contentOf = (kind: FileKind) => parsed.find((file) => file.kind === kind)?.value;
  const codesValue = contentOf('codes');
  if (codesValue === undefined && !checked && !files.some((file) => file.path === codesPath)) {
    refuse(placeIn(codesPath, faults), 'This file is missing; declare the pass codes in it: {"codes": { … }}.');
  }
  const codes = codesValue === undefined ? [] : readCodes(placeIn(codesPath, faults), codesValue);
  const lists = readLists(parsed, faults, checked);
  const looks = readTables(parsed, faults, checked);
  const sources = parsed.flatMap(({ path, value, kind }) =>
    kind === 'source' ? (readSource(placeIn(path, faults), value) ?? []) : [],
  );
  if (sources.length > maxSources)
    refuse(
      placeIn(`${sources[maxSources]!.name}.source.json`, faults),
      `A set asks ${sources.length} sources; ${maxSources} are the most. Let one of them answer more.`,
    );
  const facts = [...looks.opened.flatMap((table) => table.facts), ...sources.flatMap(sourceAsFacts)];
  const looked: DerivedFacts = new Map(facts.map((fact) => [fact.definition.name, fact] as const));
  const factsValue = contentOf('facts');
  const lookedUp = (name: string) => looked.get(name)?.definition ?? factNamed(name);
  const computed: DerivedFacts =
    factsValue === undefined ? new Map() : readComputed(placeIn('facts.json', faults), factsValue, lookedUp, looked);
  const made: DerivedFacts = new Map([...looked, ...computed]);
  const cards = parsed.flatMap(({ path, value, kind }) => {
    const definitionIn = (name: string) => made.get(name)?.definition ?? factNamed(name);
    return kind === 'score' ? (readScorecard(placeIn(path, faults), value, definitionIn) ?? []) : [];
  });
  const holidaysValue = contentOf('holidays');
  const holidays = holidaysValue === undefined ? null : readHolidays(placeIn('holidays.json', faults), holidaysValue);
  const scores = cards.flatMap((card) => scoreAsFacts(card, made));
  const derived = new Map<string, DerivedFact>([
    ...lists.map((list) => [listPrefix + list.name, listAsFact(list)] as const),
    ...made,
    ...(holidays === null ? [] : [[holidayFact, holidayAsFact(holidays)] as const]),
    ...scores.map((score) => [score.definition.name, score] as const),
  ]);
  const vocabulary = readVocabulary(
    placeIn(conditionsPath, faults),
    contentOf('conditions'),
    derived,
    whyAbsent === null,
  );
  const declared = new Set(codes.map((code) => code.code));
  const eventsValue = contentOf('events');
  const events = eventsValue === undefined ? new Map() : readEventWords(placeIn('events.json', faults), eventsValue);
  const { rules, tables } = readRules(parsed, { codes: declared, events, vocabulary }, faults);
  addShares(rules, derived);
  if (!checked) refuseConflicts(rules, tables);
  if (!checked) refuseSegmentsOfStanding(rules, derived);
  if (whyAbsent !== null) refuseAbsent(rules, derived, whyAbsent);
  if (rules.length === 0 && faults.length === 0) refuse(placeIn('', faults), 'There is no rule at all; add one.');
  if (faults.length > 0) return refused();
  // Tests name rules, so they are read once those are right.
  const basesValue = checked ? undefined : contentOf('bases');
  const bases = basesValue === undefined ? new Map() : readBases(placeIn('bases.json', faults), basesValue, vocabulary);
  const named = { vocabulary, rules, codes: declared, bases };
  const tests = parsed
    .filter(({ kind }) => kind === 'test' && !checked)
    .flatMap(({ path, value }) => {
      const found: RuleFault[] = [];
      const read = readTests(placeIn(path, found), value, named);
      const tested = path.replace(/\.test\.json$/, '.json');
      // Before what follows from it: mended in the tests, the rules would stay away.
      if (namesUnknownRule(found) && !parsed.some((file) => file.path === tested))
        refuse(placeIn(tested, faults), missingRules(tested, path));
      faults.push(...found);
      return read;
    });
  if (faults.length > 0) return refused();
  const ofBins = checked
    ? []
    : cards.flatMap((card) => testsOfBins(card, computed).map((one) => testOfBin(one, `score.${card.name}`)));
  const ofCells = checked
    ? []
    : parsed.flatMap(({ path, value, kind }) => {
        if (kind !== 'table') return [];
        const table = value as JsonObject;
        const rows = tables.find(([row]) => row?.place.file === path) ?? [];
        const inputs = (table.inputs as string[]).map((fact) => {
          const made = derived.get(fact);
          const isSet = made === undefined || made.isSettable === true;
          return { fact, definition: fact.startsWith(extraPrefix) ? null : definitionOf(fact, vocabulary), isSet };
        });
        return testsOfTable(table, rows, inputs).map(testOfCell);
      });
  rules.sort(byPrecedence);
  const usedFacts = new Set(rules.flatMap((rule) => readsOf(rule, derived)));
  const source =
    checkedSource ??
    joinFiles(parsed.map(({ path, value }) => ({ path, text: canonicalJson(looks.texts.get(path) ?? value) })));
  const ruleSet: RuleSet = {
    hash: createHash('sha256').update(source).digest('hex'),
    source,
    rules: rules.map(summarise),
    caps: [...new Set(rules.flatMap(({ event }) => (event.type === 'cap' ? event.cap.name : [])))],
    queues: [...new Set(rules.flatMap(({ event }) => (event.type === 'review' ? event.queue : [])))],
    codes,
    derived,
    tables: looksOf(looks.opened, usedFacts),
    sources: sourcesUsed(sources, usedFacts),
    digestOf: createDigests(rules, contentOf('conditions'), eventsValue),
    ledgerFacts: ledgerFactsOf(rules, derived),
    sealedGroups: sealedGroupsOf(rules, derived),
    offerLooksBack: rules.some(looksBack),
    tests: [...tests, ...ofBins, ...ofCells],
    request: compileStage(rules, 'request', derived),
    offer: compileStage(rules, 'offer', derived),
  };
  const unused = () => [
    ...unusedNames(vocabulary.unused()),
    ...unusedLists(lists, rules),
    ...unusedTables(looks.opened, usedFacts),
    ...unusedSources(sources, usedFacts),
  ];
  const warnings = checked ? [] : [...shadowedRules(rules), ...unused()];
  const conditions = contentOf('conditions');
  const written: WrittenConditions = {
    named: isObject(conditions) && isObject(conditions.conditions) ? conditions.conditions : {},
    rules: new Map(rules.map((rule) => [rule.name, rule.written])),
  };
  return { kind: 'compiled', ruleSet, warnings: withLines(warnings, files), written };
}

function missingRules(tested: string, path: string): string {
  return `This file is missing, and ${path} tests rules that no file has; put ${tested} back, or remove ${path} as well.`;
}

/**
 * Compiles again what `RuleSet.source` kept. `checked`: the very same text has passed this program's check elsewhere, in another
 * thread; what is left is fast enough to be done between two decisions, and the set has no tests.
 */
export function openRuleSet(source: string, checked = false): CompiledRuleSet {
  const faults: RuleFault[] = [];
  const place = placeIn('', faults);
  const result = parseSource(source);
  const parsed: ParsedFile[] = [];
  for (const member of Array.isArray(result) ? result : []) {
    if (!isObject(member) || typeof member.path !== 'string' || member.value === undefined) {
      refuse(place, `The stored rule set holds ${shown(member)} instead of a file.`);
    } else parsed.push(fileOf(member.path, member.value));
  }
  if (!Array.isArray(result)) refuse(place, 'The stored rule set is not a list of files.');
  if (faults.length > 0) return { kind: 'refused', faults };
  if (checked) return compileParsed(parsed, [], faults, source, null);
  const files = parsed.map(({ path, value, kind }) => ({
    path,
    text: kind === 'value-rows' ? String(value) : JSON.stringify(value),
  }));
  return compileFiles(files, null);
}

/** Written by us and up to two levels deeper than a file may be. */
function parseSource(source: string): Json {
  try {
    return JSON.parse(source) as Json;
  } catch {
    return null;
  }
}
