/**
 * Every rule that the contract sets for an operation, checked before anything is sent. The sandbox enforces the same rules
 * with code of its own and may not import this room: a misreading must not be shared.
 */
import { cpf as cpfRules } from 'cpf-cnpj-validator';
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

export const leastInstallmentCents: number = least.installment.cents;

/** What is left out is not checked. */
export function leastCents(of: keyof typeof least, field: string, value: number | null | undefined): Check {
  if (value === null || value === undefined || value >= least[of].cents) return null;
  return breach('amount-least', field, least[of].text);
}

/** Three digits (contract, Lookup tables). Its name, or a branch in its place, would have the service lend to nobody. */
export function bankNumber(value: string | null | undefined): Check {
  if (value === null || value === undefined || /^\d{3}$/.test(value)) return null;
  return breach('bank-number', 'account.bankNumber', 'send the three digits of the bank, such as 341');
}

/** Eleven digits, of which the last two are right check digits. A missing CPF is refused too. */
export function validCpf(field: string, value: string | null | undefined): Check {
  return cpfRules.isValid(value ?? '', true) ? null : breach('cpf-valid', field, 'send the 11 digits of a valid CPF');
}
