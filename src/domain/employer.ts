/** Employers as the service names them: the root of a CNPJ or all of it, with or without its leading zeros (contract, Employment link). */

/** `employerIdType`: 1 = CNPJ, 2 = CPF; null where it is not said. */
type EmployerNamed = { employerId: string; employerIdType: number | null };

/** The same for all identifiers of one employer: `cnpj:` and the root, or `cpf:` and 11 digits. */
export function employerKeyOf({ employerId, employerIdType }: EmployerNamed): string {
  const bare = employerId.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
  const isCpf = employerIdType === 2 || (employerIdType !== 1 && bare.length >= 9 && bare.length <= 11);
  if (isCpf) return `cpf:${bare.padStart(11, '0')}`;
  return `cnpj:${bare.length <= 8 ? bare.padStart(8, '0') : bare.padStart(14, '0').slice(0, 8)}`;
}
