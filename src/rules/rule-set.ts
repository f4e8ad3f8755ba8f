/**
 * A rule set: the risk team's files at one moment, checked as a whole and compiled. It is immutable and named by the
 * hash of its canonical content; one fault anywhere and there is no rule set.
 */
import { createHash } from 'node:crypto';
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import { type CompiledCondition, compileCondition } from './compile.ts';
import { refuseConflicts } from './conflicts.ts';
import type { Facts, Stage } from './facts.ts';
import { canonicalJson, type Json, parseJson } from './json.ts';
import { type CompiledCap, compileCap, compileSegment } from './keys.ts';
import { isObject, type Place, type RuleFault, refuse, shown } from './place.ts';
import type { Rule, RuleEvent } from './rule.ts';
import { type PassCode, readCodes, readRuleFile } from './rule-file.ts';

/** `path` is relative to the folder of rules, with forward slashes. */
export type RuleFile = { path: string; text: string };

type RuleSummary = {
  name: string;
  description: string;
  owner: string | null;
  priority: number;
  stage: Stage;
  event: RuleEvent['type'];
};

type CompiledEvent =
  | { type: 'pass'; code: string; reason: string; ignoresMissing: boolean }
  | { type: 'limit'; limits: readonly (readonly [field: keyof Limits, value: number])[] }
  | { type: 'economics'; changes: readonly (readonly [field: keyof Economics, value: number])[] }
  | { type: 'segment'; keysOf: (facts: Facts) => readonly string[] }
  | { type: 'strategy'; strategy: Strategy }
  | { type: 'cap'; reserve: CompiledCap };

export type CompiledRule = CompiledCondition & { name: string; event: CompiledEvent };

export type RuleSet = {
  /** SHA-256 of `source`, hexadecimal. */
  hash: string;
  /** Canonical text from which `openRuleSet` makes the same set again; stored under the hash. */
  source: string;
  /** For display, in order of evaluation. */
  rules: readonly RuleSummary[];
  codes: readonly PassCode[];
  /** Compiled, highest priority first, then by name. Only `evaluate.ts` runs them. */
  requestRules: readonly CompiledRule[];
  offerRules: readonly CompiledRule[];
};

export type CompiledRuleSet =
  | { kind: 'compiled'; ruleSet: RuleSet }
  | { kind: 'refused'; faults: readonly RuleFault[] };

const maxFileLength = 1_000_000;
const maxTotalLength = 4_000_000;
const maxFiles = 500;
const maxRules = 2_000;
const codesPath = 'codes.json';

function entries<Key extends string>(fields: Partial<Record<Key, number | null>>): [Key, number][] {
  return Object.entries(fields) as [Key, number][];
}

function compileEvent({ event, onMissing }: Rule): CompiledEvent {
  switch (event.type) {
    case 'pass':
      return { ...event, ignoresMissing: onMissing === 'ignore' };
    case 'limit':
      return { type: 'limit', limits: entries(event.limits) };
    case 'economics':
      return { type: 'economics', changes: entries(event.changes) };
    case 'segment':
      return { type: 'segment', keysOf: compileSegment(event.dimensions) };
    case 'strategy':
      return event;
    case 'cap':
      return { type: 'cap', reserve: compileCap(event.cap) };
    default:
      return event satisfies never;
  }
}

function compileRule(rule: Rule): CompiledRule {
  return { ...compileCondition(rule.conditions), name: rule.name, event: compileEvent(rule) };
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
    if (text.length > maxFileLength) refuse(place, `The file is longer than ${maxFileLength} characters; split it.`);
    if (!path.endsWith('.json')) refuse(place, 'This is no .json file; keep only rules in this folder.');
    if (seen.has(path)) refuse(place, 'This path is given twice.');
    seen.add(path);
  }
  if (total > maxTotalLength)
    refuse(placeIn('', faults), `Longer than ${maxTotalLength} characters together; remove some.`);
}

type ParsedFile = { path: string; value: Json };

function parseFiles(files: readonly RuleFile[], faults: RuleFault[]): ParsedFile[] {
  const parsed: ParsedFile[] = [];
  for (const { path, text } of files) {
    const result = parseJson(text);
    if (result.kind === 'parsed') parsed.push({ path, value: result.value });
    else refuse({ file: path, pointer: result.pointer, faults }, result.text);
  }
  return parsed.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function readRules(parsed: readonly ParsedFile[], codes: readonly PassCode[], faults: RuleFault[]): Rule[] {
  const declared = new Set(codes.map((code) => code.code));
  const rules: Rule[] = [];
  for (const { path, value } of parsed) {
    if (path === codesPath) continue;
    rules.push(...readRuleFile(placeIn(path, faults), value, declared));
    if (rules.length <= maxRules) continue;
    refuse(placeIn(path, faults), `More than ${maxRules} rules; join some with lists ("in").`);
    return [];
  }
  return rules;
}

function byPrecedence(left: Rule, right: Rule): number {
  return right.priority - left.priority || (left.name < right.name ? -1 : 1);
}

function summarise({ name, description, owner, priority, stage, event }: Rule): RuleSummary {
  return { name, description, owner, priority, stage, event: event.type };
}

/**
 * Reads, checks and compiles a rule set. Never throws: whatever is wrong comes back as faults, up to 100 of them, each
 * with file, JSON pointer and what to write instead. A set without any rule is refused, since it would limit nothing.
 */
export function compileRuleSet(files: readonly RuleFile[]): CompiledRuleSet {
  const faults: RuleFault[] = [];
  refuseSizes(files, faults);
  if (faults.length > 0) return { kind: 'refused', faults };
  const parsed = parseFiles(files, faults);
  const codesFile = parsed.find((file) => file.path === codesPath);
  if (codesFile === undefined && !files.some((file) => file.path === codesPath)) {
    refuse(placeIn(codesPath, faults), 'This file is missing; declare the pass codes in it: {"codes": { … }}.');
  }
  const codes = codesFile === undefined ? [] : readCodes(placeIn(codesPath, faults), codesFile.value);
  const rules = readRules(parsed, codes, faults);
  refuseConflicts(rules);
  if (rules.length === 0 && faults.length === 0) refuse(placeIn('', faults), 'There is no rule at all; add one.');
  if (faults.length > 0) return { kind: 'refused', faults };
  rules.sort(byPrecedence);
  const source = canonicalJson(parsed.map(({ path, value }) => ({ path, value })));
  const inStage = (stage: Stage) => rules.filter((rule) => rule.stage === stage).map(compileRule);
  const ruleSet: RuleSet = {
    hash: createHash('sha256').update(source).digest('hex'),
    source,
    rules: rules.map(summarise),
    codes,
    requestRules: inStage('request'),
    offerRules: inStage('offer'),
  };
  return { kind: 'compiled', ruleSet };
}

/** Compiles again what `RuleSet.source` kept. */
export function openRuleSet(source: string): CompiledRuleSet {
  const faults: RuleFault[] = [];
  const place = placeIn('', faults);
  const result = parseSource(source);
  const files: RuleFile[] = [];
  for (const member of Array.isArray(result) ? result : []) {
    if (!isObject(member) || typeof member.path !== 'string' || member.value === undefined) {
      refuse(place, `The stored rule set holds ${shown(member)} instead of a file.`);
    } else files.push({ path: member.path, text: JSON.stringify(member.value) });
  }
  if (!Array.isArray(result)) refuse(place, 'The stored rule set is not a list of files.');
  return faults.length > 0 ? { kind: 'refused', faults } : compileRuleSet(files);
}

/** Written by us and up to two levels deeper than a file may be. */
function parseSource(source: string): Json {
  try {
    return JSON.parse(source) as Json;
  } catch {
    return null;
  }
}
