/** Pseudonyms of workers, links and bodies, made in one place: a request and the callbacks about it must give the same keys. */
import { employerKeyOf, otherEmployerKeyOf } from '../domain/employer.ts';
import type { Vault } from '../domain/vault.ts';

type EmployerOfLink = { employerId: string; employerIdType: number | null };

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
  return keyOfLink(vault, cpf, registration, employerKeyOf({ employerId, employerIdType }));
}

/** The key that the link has as well, where its employer's number can be read as that of another; null where it cannot. */
export function otherLinkKeyOf(
  vault: Vault,
  cpf: string,
  registration: string,
  employer: EmployerOfLink,
): string | null {
  const employerKey = otherEmployerKeyOf(employer);
  return employerKey === null ? null : keyOfLink(vault, cpf, registration, employerKey);
}

function keyOfLink(vault: Vault, cpf: string, registration: string, employerKey: string): string {
  return vault.pseudonym(`link:${cpf}:${registration.trim()}:${employerKey}`);
}
