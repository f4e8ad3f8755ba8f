/**
 * CPFs in texts and ids that stand in clear, however their digits are grouped. Eleven digits in a row are a valid CPF by chance once
 * in a hundred, so what is done about them depends on what it costs to be wrong.
 */
import { isCpf } from '../domain/cpf.ts';

const cpfLength = 11;

/** `digits`: as ASCII writes them, also of full width. */
type Group = { start: number; end: number; digits: string };

const digitRun = /\p{Nd}+/gu;
/** What may stand between two groups of one number. */
const separator = /^[^\p{L}\p{N}]{1,3}$/u;

/**
 * Whether so many digits stand with no ASCII letter between them: most texts and ids have too few for a CPF. What is not ASCII may be
 * a digit.
 */
function hasDigitsEnough(text: string): boolean {
  let digits = 0;
  for (let index = 0; index < text.length && digits < cpfLength; index += 1) {
    const code = text.charCodeAt(index);
    if ((code >= 0x30 && code <= 0x39) || code > 0x7f) digits += 1;
    else if (isAsciiLetter(code)) digits = 0;
  }
  return digits >= cpfLength;
}

function isAsciiLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function groupsIn(text: string): Group[] {
  const groups: Group[] = [];
  if (!hasDigitsEnough(text)) return groups;
  for (const { 0: run, index } of text.matchAll(digitRun)) {
    const digits = run.normalize('NFKC');
    if (/^\d+$/.test(digits)) groups.push({ start: index, end: index + run.length, digits });
  }
  return groups;
}

function areJoined(text: string, one: Group, next: Group): boolean {
  return next.start - one.end <= 3 && separator.test(text.slice(one.end, next.start));
}

/** Zeros in front of eleven digits are not part of a CPF. */
function withoutPadding(digits: string): string {
  const more = digits.length - cpfLength;
  return more > 0 && /^0+$/.test(digits.slice(0, more)) ? digits.slice(more) : digits;
}

/** The groups from `first` on that are a valid CPF together, whole, and their end; null: they are none. */
function cpfFrom(text: string, groups: readonly Group[], first: number): { cpf: string; end: number } | null {
  let digits = withoutPadding(groups[first]!.digits);
  for (let last = first; digits.length <= cpfLength; last += 1) {
    if (digits.length === cpfLength) return isCpf(digits) ? { cpf: digits, end: groups[last]!.end } : null;
    const next = groups[last + 1];
    if (next === undefined || !areJoined(text, groups[last]!, next)) return null;
    digits += next.digits;
  }
  return null;
}

const blot = '***';

/**
 * With each valid CPF blotted out that is made of whole groups of digits: `604-629-148-87`, `60 4629148 87`. A longer number is
 * left alone, for lines of the log are searched by ids, and the longer they are the more often they would be blotted by chance.
 */
export function withoutBareCpf(text: string): string {
  const groups = groupsIn(text);
  let kept = '';
  let done = 0;
  for (let first = 0; first < groups.length; first += 1) {
    const { start } = groups[first]!;
    const found = start < done ? null : cpfFrom(text, groups, first);
    if (found === null) continue;
    kept += text.slice(done, start) + blot;
    done = found.end;
  }
  return done === 0 ? text : kept + text.slice(done);
}

/** Without what cannot be seen, and with the digits that ASCII has. */
export function plainlyWritten(text: string): string {
  return text.normalize('NFKC').replaceAll(/\p{Cf}/gu, '');
}

/** The valid CPFs that are made of whole groups of digits, also of digits of another width and with unseen characters between them. */
export function cpfsIn(text: string): readonly string[] {
  const plain = plainlyWritten(text);
  const groups = groupsIn(plain);
  return groups.flatMap((_, first) => cpfFrom(plain, groups, first)?.cpf ?? []);
}

/**
 * What is shown to those who see no persons, with the CPFs blotted out that stand in its texts, codes of the service among them. The
 * ids of requests stay as they are, for they are how a request is asked for.
 */
export function withoutCpfs<T>(shown: T): T {
  if (typeof shown === 'string') return withoutBareCpf(shown) as T;
  if (Array.isArray(shown)) return shown.map(withoutCpfs) as T;
  if (typeof shown !== 'object' || shown === null) return shown;
  const fields = Object.entries(shown).map(([name, value]) => [
    name,
    name === 'requestId' ? value : withoutCpfs(value),
  ]);
  return Object.fromEntries(fields) as T;
}

/** As people write it, right or mistyped. */
const typedCpf = /(?<!\d)\d{3}[. ]?\d{3}[. ]?\d{3}[-/. ]?\d{2}(?!\d)/g;

/** The valid CPFs that stand in a text as people write them, also beside letters. A row of times or of amounts is none by chance. */
export function typedCpfsIn(text: string): readonly string[] {
  if (!hasDigitsEnough(text)) return [];
  const typed = [...plainlyWritten(text).matchAll(typedCpf)].flatMap(([each]) => (isAddress(each) ? [] : [each]));
  return typed.map((each) => each.replaceAll(/\D/g, '')).filter(isCpf);
}

/** Whether a text that was typed for one number has a CPF in it: a valid one, or as many digits as one has, as of one mistyped. */
export function looksLikeCpf(typed: string): boolean {
  const digits = plainlyWritten(typed).replaceAll(/\D/g, '');
  return withoutPadding(digits).length === cpfLength || typedCpfsIn(typed).length > 0 || cpfsIn(typed).length > 0;
}

/** Of a machine (IPv4): nobody writes the last part of a CPF behind a point. */
function isAddress(typed: string): boolean {
  const parts = typed.split('.');
  return parts.length === 4 && parts.every((part) => Number(part) <= 255);
}

/**
 * Free text of the service or of an operator may quote a CPF; what is kept in clear does not. It is cut after the CPFs are out, for
 * the first half of one is not known as such.
 */
export function withoutCpf(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  return withoutBareCpf(text.replace(typedCpf, blot)).slice(0, maxLength);
}

/** Of a CPF that a service sent as a number, so many digits are left at least without its zeros in front. */
const fewestDigits = 8;

/**
 * Without the CPF of a person that is known, in any grouping, also where it is not valid, stands inside of a longer number, or has
 * lost its zeros in front.
 */
export function withoutKnownCpf(text: string, cpf: string): string {
  if (!/^\d{11}$/.test(cpf)) return text;
  const between = '[^\\p{L}\\p{N}]{0,3}';
  const zeros = Math.min(cpf.search(/[1-9]|$/), cpfLength - fewestDigits);
  const digits = [...cpf].map((digit) => `[${digit}${String.fromCharCode(0xff10 + Number(digit))}]`);
  const inFront = digits.slice(0, zeros).map((digit) => `(?:${digit}${between})?`);
  return text.replaceAll(new RegExp(inFront.join('') + digits.slice(zeros).join(between), 'gu'), blot);
}

/** The digits and separators with which a text ends, as many as a CPF may have before its last digit. */
const lastDigits = /(?:\p{Nd}[^\p{L}\p{N}]{0,3}){1,10}$/u;
const mostBeforeCut = 80;

/** The beginning of a text from which nothing is taken out yet: never with a part of a CPF at its end. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength);
  const last = kept.slice(-mostBeforeCut);
  // The number goes on behind the cut, or may.
  if (!/^[^\p{L}\p{N}]{0,3}\p{Nd}/u.test(text.slice(maxLength))) return kept;
  return kept.slice(0, kept.length - (lastDigits.exec(last)?.[0].length ?? 0));
}

/**
 * Whether any eleven digits in a row are a valid CPF, also inside of a longer number and across separators: `1604629148-87`. Only
 * for what goes by a pseudonym then and is found by the one as by the other, for of ids of 19 digits one in eleven has such a row
 * by chance.
 */
export function mayHoldCpf(id: string): boolean {
  const groups = groupsIn(id);
  let row = '';
  for (const [index, group] of groups.entries()) {
    row = index > 0 && areJoined(id, groups[index - 1]!, group) ? row.slice(1 - cpfLength) : '';
    row += group.digits;
    for (let start = 0; start + cpfLength <= row.length; start += 1) {
      if (isCpf(row.slice(start, start + cpfLength))) return true;
    }
  }
  return false;
}
