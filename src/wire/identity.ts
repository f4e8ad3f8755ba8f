/** Pseudonyms of workers, links and bodies, made in one place: a request and the callbacks about it must give the same keys. */
import { employerKeyOf } from '../domain/employer.ts';
import type { Vault } from '../domain/vault.ts';

/** `cpf`: 11 digits. */
export function workerKeyOf(vault: Vault, cpf: string): string {
  return vault.pseudonym(`worker:${cpf}`);
}

/** `body`: of an operation, as it is sent. It names a person, so that a bare hash of it could be guessed. */
export function bodyKeyOf(vault: Vault, body: string): string {
  return vault.pseudonym(`body:${body}`);
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
  return vault.pseudonym(`link:${cpf}:${registration.trim()}:${employerKeyOf({ employerId, employerIdType })}`);
}
