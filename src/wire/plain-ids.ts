/**
 * Which texts of the service may stand in a record in clear: identifiers, companies' numbers, codes. What does not look like one
 * might name a person; it is kept sealed or goes by a pseudonym.
 */
import { cnpj as cnpjRules, cpf as cpfRules } from 'cpf-cnpj-validator';
import { isCode } from '../domain/sealed-facts.ts';
import type { Vault } from '../domain/vault.ts';
import { type Reading, readText } from './values.ts';

const idPattern = /^[A-Za-z0-9][\w.:/=+-]{0,127}$/;
/** Digits alone, also with zeros in front. */
const bareCpf = /^0*\d{11}$/;
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

/**
 * A batch by its code; by a pseudonym, where that looks like anything else or may be a CPF. The same code always gives the same.
 * Ids that go back to the service stay as received.
 */
export function shownBatch(vault: Vault, batchId: string): string {
  const isCpf = bareCpf.test(batchId) && cpfRules.isValid(batchId.slice(-11), true);
  const isShown = !isCpf && isId(batchId);
  return isShown ? batchId : vault.pseudonym(`batch:${batchId}`);
}

const shortestCompanyNumber = 12;
/** Too long for a CPF, however it is padded; most employers are written like this. */
const surelyCompany = /^(?!000)\d{14}$/;

/** Whether an employer's number may be a CPF, however it is written: with blanks, dots or leading zeros. */
function mayBePerson(employerId: string, idType: number | null): boolean {
  if (idType === 2) return true;
  if (surelyCompany.test(employerId)) return false;
  const bare = employerId.replace(/[\s./-]/g, '');
  if (cnpjRules.isValid(bare)) return false;
  const digits = bare.replace(/^0+/, '').padStart(11, '0');
  if (cpfRules.isValid(digits, true)) return true;
  return idType === null && employerId.length < shortestCompanyNumber;
}

/** An employer's number as it was received; a pseudonym where the employer may be a person. */
export function shownEmployer(vault: Vault, employerId: string | null, idType: number | null): string | null {
  if (employerId === null || !mayBePerson(employerId, idType)) return employerId;
  return vault.pseudonym(`employer:${employerId}`);
}

/** In place of what the service said of an error, which stands sealed beside it. */
const sealedText = '(sealed)';

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
