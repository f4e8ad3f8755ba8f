/** Whether the service may be asked about a worker's links: the same rule for bids and for contracts. */
import type { LinkQuery, Service } from './ports.ts';

export type Authorisations = {
  /**
   * The first query about a worker needs the number of the authorisation (contract, `autorizacao.nsuAutorizacaoDigital`); a
   * later one does not. First is every query until this process has seen the service take one with a number.
   */
  mayAsk: (workerKey: string, authorisationNumber: string | null) => boolean;
  /** The service took this query. */
  taken: (query: LinkQuery) => void;
};

/** Workers remembered at once: the oldest go first, and are asked about with a number again. */
const workersKept = 100_000;

/** `keyOf`: a worker's pseudonym. `always`: queries without a number are sent in any case, for a service that takes them. */
export function createAuthorisations({
  keyOf,
  always,
}: {
  keyOf: (cpf: string) => string;
  always: boolean;
}): Authorisations {
  const known = new Set<string>();
  return {
    mayAsk: (workerKey, authorisationNumber) => always || authorisationNumber !== null || known.has(workerKey),
    taken: ({ identity: { cpf }, authorisationNumber }) => {
      if (cpf === null || authorisationNumber === null) return;
      const key = keyOf(cpf);
      known.delete(key);
      known.add(key);
      if (known.size > workersKept) known.delete(known.values().next().value!);
    },
  };
}

/** Link queries that are remembered where the service took them. */
export function noting(
  service: Pick<Service, 'listLinks' | 'askLinkDetail'>,
  authorisations: Authorisations,
): Pick<Service, 'listLinks' | 'askLinkDetail'> {
  const noted = (send: Service['listLinks']) => async (query: LinkQuery) => {
    const answer = await send(query);
    if (answer.kind === 'acknowledged') authorisations.taken(query);
    return answer;
  };
  return { listLinks: noted(service.listLinks), askLinkDetail: noted(service.askLinkDetail) };
}
