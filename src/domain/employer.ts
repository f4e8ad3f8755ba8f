/** Employers as the service names them: the root of a CNPJ or all of it, with or without its leading zeros (contract, Employment link). */

/** `employerIdType`: 1 = CNPJ, 2 = CPF; null where it is not said. */
type EmployerNamed = { employerId: string; employerIdType: number | null };

const rootLength = 8;
const cnpjLength = 14;
const cpfLength = 11;
const companyPrefix = 'cnpj:';

/** The same for all identifiers of one employer: `cnpj:` and the root, or `cpf:` and 11 digits. */
export function employerKeyOf(employer: EmployerNamed): string {
  const bare = bareId(employer);
  if (isCpf(employer)) return `cpf:${bare.padStart(cpfLength, '0')}`;
  return `${companyPrefix}${bare.length <= rootLength ? bare.padStart(rootLength, '0') : rootOf(bare)}`;
}

/**
 * A number of eight digits or fewer may be a root, and as well a whole CNPJ that has lost at least six leading zeros. Where its check
 * digits hold as those of a whole one, this is the key of that employer; null: there is none, or it is the same.
 */
export function otherEmployerKeyOf(employer: EmployerNamed): string | null {
  if (!isShortNumber(employer)) return null;
  const whole = bareId(employer).padStart(cnpjLength, '0');
  const key = `cnpj:${rootOf(whole)}`;
  return hasCheckDigits(whole) && key !== employerKeyOf(employer) ? key : null;
}

/**
 * The root of a company's CNPJ, 8 characters: the same for all its establishments. Null for a person, and where in doubt: a number whose
 * kind nobody told may be a CPF, and a short one may be that of another company.
 */
export function companyRootOf(employer: EmployerNamed): string | null {
  const { length } = bareId(employer);
  const isCompany = employer.employerIdType === 1 || (employer.employerIdType === null && length > cpfLength);
  if (!isCompany || length === 0 || length > cnpjLength || otherEmployerKeyOf(employer) !== null) return null;
  return employerKeyOf(employer).slice(companyPrefix.length);
}

/** By the root of the CNPJ, or as one number where leading zeros may have been lost. */
export function isSameEmployer(one: EmployerNamed, other: EmployerNamed): boolean {
  const [key, otherKey] = [employerKeyOf(one), employerKeyOf(other)];
  if (key === otherKey || otherEmployerKeyOf(one) === otherKey || otherEmployerKeyOf(other) === key) return true;
  if (isCpf(one) || isCpf(other) || !(isShortNumber(one) || isShortNumber(other))) return false;
  return bareId(one).padStart(cnpjLength, '0') === bareId(other).padStart(cnpjLength, '0');
}

function bareId({ employerId }: EmployerNamed): string {
  return employerId.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
}

function isCpf(employer: EmployerNamed): boolean {
  const { length } = bareId(employer);
  const { employerIdType } = employer;
  return employerIdType === 2 || (employerIdType !== 1 && length >= 9 && length <= cpfLength);
}

/** Whether leading zeros may be missing that would tell a root from a whole CNPJ. */
function isShortNumber(employer: EmployerNamed): boolean {
  return !isCpf(employer) && /^(0|[1-9]\d{0,7})$/.test(bareId(employer));
}

function rootOf(bare: string): string {
  return bare.padStart(cnpjLength, '0').slice(0, rootLength);
}

/** Of 14 digits: the last two are made of those before (module 11). */
function hasCheckDigits(whole: string): boolean {
  const digits = Array.from(whole, Number);
  return [cnpjLength - 2, cnpjLength - 1].every((at) => {
    const sum = digits.slice(0, at).reduce((total, digit, index) => total + digit * (2 + ((at - 1 - index) % 8)), 0);
    return digits[at] === (sum % 11 < 2 ? 0 : 11 - (sum % 11));
  });
}
