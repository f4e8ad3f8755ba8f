/**
 * Every rule that the contract sets for an operation, checked before anything is sent. The sandbox enforces the same rules
 * with code of its own and may not import this room: a misreading must not be shared.
 */
import { isCpf } from '../../domain/cpf.ts';
import { type OperationName, type Prepared, type RequestOf, writeOperation } from '../operations.ts';

/** `field` is the request's own name for it, with dots; `rule` is stable and made for programs; `problem` says the remedy. */
export type Breach = { rule: string; field: string; problem: string };

export type Preparation<N extends OperationName> =
  | { kind: 'prepared'; prepared: Prepared<N> }
  /** Nothing may be sent. All breaches at once. */
  | { kind: 'withheld'; breaches: readonly Breach[] };

/** A row of a check: null where the rule holds. */
export type Check = Breach | null;

export function breach(rule: string, field: string, problem: string): Breach {
  return { rule, field, problem };
}

export function prepared<N extends OperationName>(
  operation: N,
  operationId: string,
  request: RequestOf<N>,
  checks: readonly Check[],
): Preparation<N> {
  const breaches = checks.filter((check) => check !== null);
  if (breaches.length > 0) return { kind: 'withheld', breaches };
  return { kind: 'prepared', prepared: writeOperation(operation, operationId, request) };
}

/** Below these an amount was typed in reais, or by mistake: nobody lends so little. */
const least = {
  amount: { cents: 2_000, text: 'send at least 2000 cents (R$ 20.00): amounts are in cents' },
  installment: { cents: 100, text: 'send at least 100 cents (R$ 1.00): amounts are in cents' },
} as const;

/** Down from this part of what is known a value was typed in another unit: a digit lost, reais for cents, a rate with its comma. */
const leastShareOfKnown = 0.1;

export function isOfOtherUnit(value: number, known: number): boolean {
  return value <= known * leastShareOfKnown;
}

export const leastInstallmentCents: number = least.installment.cents;

/** What is left out is not checked. */
export function leastCents(of: keyof typeof least, field: string, value: number | null | undefined): Check {
  if (value === null || value === undefined || value >= least[of].cents) return null;
  return breach('amount-least', field, least[of].text);
}

/** What several banks of the table have in place of a number of their own (contract, Lookup tables). */
const sharedBankNumber = '000';

/** Three digits (contract, Lookup tables). Its name, or a branch in its place, would have the service lend to nobody. */
export function bankNumber(value: string | null | undefined): Check {
  if (value === null || value === undefined) return null;
  const field = 'account.bankNumber';
  if (!/^\d{3}$/.test(value)) return breach('bank-number', field, 'send the three digits of the bank, such as 341');
  if (value !== sharedBankNumber) return null;
  return breach(
    'bank-number',
    field,
    'send the three digits of one bank, such as 341: several have 000, and this order has no other field for the bank',
  );
}

/** Number and code of a bank, where an order may give both: what is left out, or blank, is not checked. */
export function bankFormed(bank: { bankNumber?: string | null; bankCode?: number | string | null }): Check[] {
  const [number, code] = [bank.bankNumber, bank.bankCode].map((value) => String(value ?? '').trim());
  const byNumber =
    number === sharedBankNumber
      ? breach(
          'bank-number',
          'account.bankNumber',
          'send the code of the bank too (bankCode, codigoBanco), or the three digits of one bank, such as 341: several have 000',
        )
      : bankNumber(number === '' ? null : number);
  return [
    number === sharedBankNumber && code !== '' ? null : byNumber,
    code === '' || /^0*[1-9]\d{0,8}$/.test(code!)
      ? null
      : breach(
          'bank-code',
          'account.bankCode',
          "send the service's own code of the bank, a whole number from 1, or leave it out and send the three digits of its number",
        ),
  ];
}

/** Digits of a branch or an account and what checks them; some banks have none of a branch, and letters of a check digit stand for ten. */
const accountParts = {
  branch: { form: /^\d{1,6}$/, text: 'send the 1 to 6 digits of the branch, without its check digit' },
  branchDigit: { form: /^[\dA-Za-z]{1,2}$/, text: 'send the check digit of the branch alone: a digit or a letter' },
  account: {
    form: /^\d{1,20}$/,
    text: 'send the 1 to 20 digits of the account, without blanks, points and its check digit',
  },
  accountDigit: { form: /^[\dA-Za-z]{1,2}$/, text: 'send the check digit of the account alone: a digit or a letter' },
} as const;

/** What is left out, or blank, is not checked. */
export function accountFormed(account: { readonly [N in keyof typeof accountParts]?: string | null }): Check[] {
  const names = Object.keys(accountParts) as (keyof typeof accountParts)[];
  return names.map((name) => {
    const value = account[name]?.trim() ?? '';
    const { form, text } = accountParts[name];
    return value === '' || form.test(value) ? null : breach('account-formed', `account.${name}`, text);
  });
}

/** The contract requires it: left out or blank it is refused. */
export function given(field: string, value: string | null | undefined): Check {
  return (value ?? '').trim() === '' ? breach('field-given', field, 'send it; the contract requires it') : null;
}

/** Of a company the CNPJ or its root, of a person the CPF; leading zeros may be missing or too many, as the service sends them. */
export function employerFormed(field: string, employerId: string, employerIdType: number): Check {
  const id = employerId.trim();
  if (id === '' || (employerIdType !== 1 && employerIdType !== 2)) return null;
  const isCompany = /^[\dA-Z]{7,14}$/.test(id) && /\d{2}$/.test(id);
  const digits = id.replace(/^0+/, '').padStart(cpfDigits, '0');
  const isPerson = /^\d{1,14}$/.test(id) && isCpf(digits);
  if (employerIdType === 1 ? isCompany : isPerson) return null;
  const text =
    employerIdType === 1
      ? 'send the CNPJ of the employer or its root, without points and with all its leading zeros, or employerIdType 2 for a CPF'
      : 'send the CPF of the employer, digits alone and with all its leading zeros, or employerIdType 1 for a CNPJ';
  return breach('employer-formed', field, text);
}

export const cpfDigits = 11;

/** As the employer writes it: anything that can be printed. */
export function registrationFormed(field: string, registration: string): Check {
  if (registration.isWellFormed() && !/\p{Cc}/u.test(registration)) return null;
  return breach('registration-formed', field, 'send the registration as the link shows it: without control characters');
}

/** Eleven digits, of which the last two are right check digits. A missing CPF is refused too. */
export function validCpf(field: string, value: string | null | undefined): Check {
  return isCpf(value ?? '') ? null : breach('cpf-valid', field, 'send the 11 digits of a valid CPF');
}
