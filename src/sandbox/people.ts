/** The made-up workers of the simulated service, with what a person needs to order a flow by hand. */
import type { AmountCents, Day, RequestId } from '../domain/glossary.ts';
import { requestAt } from './population.ts';
import { holderOf } from './withdrawal-world.ts';
import type { WorldSettings } from './world.ts';

export type TestPerson = {
  requestId: RequestId;
  cpf: string;
  name: string;
  registration: string;
  employerId: string;
  /** 1 = CNPJ, 2 = CPF. */
  employerIdType: 1 | 2;
  birthDate: Day;
  /** Of the FGTS account, from which the yearly withdrawal comes. */
  balanceCents: AmountCents;
  /** NSU of the worker's authorisation: the first query about the worker needs it. */
  authorisationNumber: string;
};

/** The worker of the request at `index` of a stream of `planned`. */
export function testPerson(world: WorldSettings, seed: string, index: number, planned: number): TestPerson {
  const { requestId, worker } = requestAt(world, seed, index, planned);
  const { cpf, name, registration, employer, authorisationNumber } = worker;
  const { birthDate, balanceCents } = holderOf(seed, cpf, worker.birthDate);
  const { id: employerId, idType: employerIdType } = employer;
  return {
    ...{ requestId, cpf, name, registration, employerId, employerIdType },
    ...{ birthDate, balanceCents, authorisationNumber },
  };
}
