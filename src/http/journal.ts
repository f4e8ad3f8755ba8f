/**
 * The journal: one line of JSON per event, with allow-listed fields only. Redaction by path leaks (a CPF got through in
 * seven places of nine), so it is the other way round: what is not on the list is not written, and each field has a form.
 */

import { type DestinationStream, pino } from 'pino';
import { printable } from '../domain/printable.ts';
import { withoutBareCpf, withoutCpf } from '../wire/hidden-cpf.ts';
import { createLineSink } from './line-sink.ts';

/** Ids and names of things: no spaces, so no names of people. One may be a CPF: it is blotted out. */
const word = /^[\w:./@+-]{1,128}$/;
/** Values of closed lists. */
const code = /^[a-z0-9][a-z0-9:._-]{0,79}$/;
/** Of a text; what is longer is cut off. */
export const maxTextLength = 500;

type Form = 'word' | 'words' | 'code' | 'number' | 'boolean' | 'text';

/** `text` is for messages of faults, which are written for people and hold no personal data; CPFs are blotted out all the same. */
const fields = {
  requestId: 'word',
  /** Of requests as well: in a sentence, an id of 11 digits would be taken for a CPF. */
  sharedWith: 'words',
  flowId: 'word',
  batchId: 'word',
  claimId: 'word',
  instance: 'word',
  ruleSet: 'word',
  host: 'word',
  address: 'word',
  pointer: 'word',
  path: 'word',
  version: 'word',
  phase: 'code',
  from: 'code',
  kind: 'code',
  code: 'code',
  stage: 'code',
  outcome: 'code',
  topic: 'code',
  problem: 'code',
  signal: 'word',
  backend: 'code',
  check: 'code',
  status: 'number',
  durationMs: 'number',
  count: 'number',
  leftOut: 'number',
  requests: 'number',
  deadLetters: 'number',
  partition: 'number',
  offset: 'number',
  attempts: 'number',
  port: 'number',
  bytes: 'number',
  revision: 'number',
  limitCents: 'number',
  until: 'number',
  exitCode: 'number',
  ready: 'boolean',
  retryable: 'boolean',
  cap: 'text',
  rule: 'text',
  by: 'text',
  text: 'text',
} as const satisfies Record<string, Form>;

type FieldName = keyof typeof fields;
type ValueOf<F extends Form> = F extends 'number'
  ? number
  : F extends 'boolean'
    ? boolean
    : F extends 'words'
      ? readonly string[]
      : string;
export type JournalFields = { [Name in FieldName]?: ValueOf<(typeof fields)[Name]> | null | undefined };

export type Journal = {
  /** `event`: kebab-case, never built from input. */
  info: (event: string, fields?: JournalFields) => void;
  warn: (event: string, fields?: JournalFields) => void;
  error: (event: string, fields?: JournalFields) => void;
  /** Lines that could not be written since the start. */
  lost: () => number;
};

export type JournalLevel = 'info' | 'warn' | 'error' | 'silent';

/** Writes to standard output, beside the event loop, unless it is given a destination. */
export function createJournal(level: JournalLevel, destination?: DestinationStream): Journal {
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const sink = destination === undefined ? createLineSink(1, lostLine) : null;
  const logger = pino(settings, destination ?? sink!);
  const write =
    (severity: 'info' | 'warn' | 'error') =>
    (event: string, given: JournalFields = {}) => {
      if (!logger.isLevelEnabled(severity)) return;
      logger[severity](allowed(given), code.test(event) ? event : 'unnamed-event');
    };
  return { info: write('info'), warn: write('warn'), error: write('error'), lost: () => sink?.lost() ?? 0 };
}

/** The same as any other line, made where none is being written. */
function lostLine(count: number): string {
  const lines: string[] = [];
  createJournal('warn', { write: (line) => void lines.push(line) }).warn('lines-lost', {
    count,
    text: 'standard output did not take these log lines: its disk was full, or its reader did not read',
  });
  return lines.join('');
}

const repeatMs = 5_000;
/** Causes that are told apart; texts of faults are few, but nothing says so. */
const mostCauses = 100;

/** Lets what comes again and again be told once every few seconds for each cause: `tell` hears how many were left out since. */
export function createRepeatLimit(monotonicMs: () => number): (cause: string, tell: (leftOut: number) => void) => void {
  const told = new Map<string, { atMs: number; leftOut: number }>();
  return (cause, tell) => {
    const before = told.get(cause);
    const nowMs = monotonicMs();
    if (before !== undefined && nowMs - before.atMs < repeatMs) {
      before.leftOut += 1;
      return;
    }
    if (before === undefined && told.size >= mostCauses) told.clear();
    told.set(cause, { atMs: nowMs, leftOut: 0 });
    tell(before?.leftOut ?? 0);
  };
}

/** What the list allows, at run time too: callers may hand on objects that hold more than their type says. */
function allowed(given: JournalFields): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const form = Object.hasOwn(fields, name) ? fields[name as FieldName] : undefined;
    const safe = form === undefined ? undefined : inForm(value, form);
    if (safe !== undefined) written[name] = safe;
  }
  return written;
}

function inForm(value: unknown, form: Form): unknown {
  if (value === null || value === undefined) return undefined;
  switch (form) {
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'word':
      return typeof value === 'string' && word.test(value) ? withoutBareCpf(value) : undefined;
    case 'words':
      return Array.isArray(value) ? value.flatMap((each) => inForm(each, 'word') ?? []) : undefined;
    case 'code':
      return typeof value === 'string' && code.test(value) ? value : undefined;
    case 'text':
      return typeof value === 'string' ? printable(withoutCpf(value, maxTextLength)) : undefined;
    default:
      return form satisfies never;
  }
}
