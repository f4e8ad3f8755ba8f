/** Pseudonyms of workers and links, made in one place: a request and the callbacks about it must give the same keys. */
import type { Vault } from '../domain/vault.ts';

/** `cpf`: 11 digits. */
export function workerKeyOf(vault: Vault, cpf: string): string {
  return vault.pseudonym(`worker:${cpf}`);
}

/**
 * Key of one employment link. The employer is taken by its root: the service returns root or full CNPJ as it likes
 * (contract, Employment link), as a number that has lost its leading zeros or as a text, and a registration is unique
 * within the root. Only the key is normalised; the employer id itself stays as received.
 */
export function linkKeyOf(
  vault: Vault,
  cpf: string,
  registration: string,
  employerIdType: number | null,
  employerId: string,
): string {
  return vault.pseudonym(`link:${cpf}:${registration.trim()}:${employerOf(employerIdType, employerId)}`);
}

type EmployerNamed = { employerId: string; employerIdType: number | null };

/** Whether two identifiers name one employer: the service returns the root of a CNPJ or all of it (contract, Employment link). */
export function isSameEmployer(one: EmployerNamed, other: EmployerNamed): boolean {
  return employerOf(one.employerIdType, one.employerId) === employerOf(other.employerIdType, other.employerId);
}

function employerOf(type: number | null, employerId: string): string {
  const bare = employerId.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
  const isCpf = type === 2 || (type !== 1 && bare.length >= 9 && bare.length <= 11);
  if (isCpf) return `cpf:${bare.padStart(11, '0')}`;
  return `cnpj:${bare.length <= 8 ? bare.padStart(8, '0') : bare.padStart(14, '0').slice(0, 8)}`;
}
