/**
 * Which texts of the service may stand in a record in clear: identifiers, companies' numbers, codes. What does not look like one
 * might name a person; it is kept sealed or goes by a pseudonym.
 */
import { cnpj as cnpjRules } from 'cpf-cnpj-validator';
import { isCpf } from '../domain/cpf.ts';
import { canonicalCode, guidOf } from '../domain/request-codes.ts';
import { isCode } from '../domain/sealed-facts.ts';
import type { Vault } from '../domain/vault.ts';
import { mayHoldCpf } from './hidden-cpf.ts';
import { type Reading, readDigits, readText } from './values.ts';

const idPattern = /^[A-Za-z0-9][\w.:/=+-]{0,127}$/;
const writtenCpf = /\d{3}\.\d{3}\.\d{3}[-/]?\d{2}|\d{9}-\d{2}/;

export function isId(text: string): boolean {
  return idPattern.test(text) && !writtenCpf.test(text);
}

/** An identifier of the service: no blanks, nothing that is written like a CPF. */
export function readId(value: unknown): Reading<string> {
  const reading = readText(value);
  if (reading.kind !== 'value' || isId(reading.value)) return reading;
  return {
    kind: 'wrong',
    problem: 'does not look like an identifier; send letters, digits and ._:/=+- without blanks',
  };
}

/** The id of a request. Zero is what a number that was left out becomes: it names no request. */
export function readRequestId(value: unknown): Reading<string> {
  const reading = readDigits(value);
  if (reading.kind !== 'value' || !namesNothing(reading.value)) return reading;
  return { kind: 'wrong', problem: 'is zero, which names no request; send a whole number from 1' };
}

/** A code that correlates events with calls: as `readId`, a GUID in small letters and without braces. */
export function readCode(value: unknown): Reading<string> {
  const reading = readText(value);
  if (reading.kind !== 'value') return reading;
  const code = canonicalCode(reading.value);
  return code === reading.value ? readId(value) : { ...reading, value: code };
}

const emptyGuid = '00000000-0000-0000-0000-000000000000';

/** What stands where a code does and names nothing: nothing at all, or the default value of its type: zero, a GUID of zeros, an empty text. */
export function namesNothing(value: unknown): boolean {
  const reading = readText(value);
  if (reading.kind !== 'value') return reading.kind === 'missing';
  return /^[0{}()-]*$/.test(reading.value) || guidOf(reading.value) === emptyGuid;
}

/**
 * A batch by its code; by a pseudonym, where that looks like anything else or may be a CPF. The same code always gives the same.
 * Ids that go back to the service stay as received.
 */
export function shownBatch(vault: Vault, batchId: string): string {
  return !mayHoldCpf(batchId) && isId(batchId) ? batchId : vault.pseudonym(`batch:${batchId}`);
}

/** Under which names the requests of a batch may stand, whether it is asked for by its code or by its pseudonym. */
export function namesOfBatch(vault: Vault, asked: string): readonly string[] {
  return [...new Set([asked, shownBatch(vault, asked.trim())])];
}

/** A CNPJ or its root as people write it: groups of letters and digits. */
const writtenCompany = /^[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}(?:\/[0-9A-Z]{4}-\d{2})?$/;
const rootLength = 8;
const cpfLength = 11;
const cnpjLength = 14;
/** Since July 2026 a root may hold letters. One without two digits may be a name. */
const letteredRoot = /^(?=(?:[A-Z]*\d){2})[0-9A-Z]{8}$/;

/**
 * Whether it is the number of a company: a CNPJ with its check digits, or its root, both also without leading zeros, for the
 * service sends numbers (contract, Employment link). Where it is not said that it is one, only what is too long for a CPF counts.
 */
function isCompany(employerId: string, idType: number | null): boolean {
  if (idType === 2) return false;
  const bare = writtenCompany.test(employerId) ? employerId.replace(/[./-]/g, '') : employerId;
  if (bare.length === cnpjLength) return /^[0-9A-Z]{12}\d{2}$/.test(bare) && cnpjRules.isValid(bare);
  if (bare.length === rootLength && idType === 1 && letteredRoot.test(bare)) return true;
  if (!/^\d{1,13}$/.test(bare)) return false;
  if (bare.length > cpfLength) return cnpjRules.isValid(bare.padStart(cnpjLength, '0'));
  if (idType !== 1) return false;
  if (bare.length <= rootLength) return true;
  return cnpjRules.isValid(bare.padStart(cnpjLength, '0')) && !isCpf(bare.padStart(cpfLength, '0'));
}

/** The number of a company as it was received, a pseudonym of all else: it may be of a person, or name one. */
export function shownEmployer(vault: Vault, employerId: string | null, idType: number | null): string | null {
  if (employerId === null || isCompany(employerId, idType)) return employerId;
  return vault.pseudonym(`employer:${employerId}`);
}

/** In place of what the service said of an error, which stands sealed beside it. */
export const sealedText = '(sealed)';

/** Codes of our own for what the service did not name. */
const ownCode = /^(?:unclassified|status-\d{3})$/;

/** An identifier in an answer of the service, if it is one; the answer stands sealed beside it. */
export function shownId(id: string): string {
  return isId(id) ? id : sealedText;
}

/** The service's code of a rejection, if it is one. */
export function shownCode(code: string): string {
  return isCode(code) || ownCode.test(code) ? code : sealedText;
}

/** The code with which a line about an error begins, if it is one. */
export function shownError(line: string): string {
  const end = line.indexOf(':');
  const code = end < 0 ? line : line.slice(0, end);
  return isCode(code) ? code : sealedText;
}
