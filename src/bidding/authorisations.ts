/** Whether the service may be asked about a worker's links: the same rule for bids and for contracts. */
import type { LinkQuery, Service } from './ports.ts';

export type Authorisations = {
  /**
   * The first query about a worker needs the number of the authorisation (contract, `autorizacao.nsuAutorizacaoDigital`); a
   * later one does not. First is every query until this process has seen the service take one with a number.
   */
  mayAsk: (workerKey: string, authorisationNumber: string | null) => boolean;
  /** The service took a query about this worker. */
  taken: (workerKey: string, authorisationNumber: string | null) => void;
};

/** Workers remembered at once: the oldest go first, and are asked about with a number again. */
const workersKept = 100_000;

/** `always`: queries without a number are sent in any case, for a service that takes them. */
export function createAuthorisations({ always }: { always: boolean }): Authorisations {
  const known = new Set<string>();
  return {
    mayAsk: (workerKey, authorisationNumber) => always || authorisationNumber !== null || known.has(workerKey),
    taken: (workerKey, authorisationNumber) => {
      if (authorisationNumber === null) return;
      known.delete(workerKey);
      known.add(workerKey);
      if (known.size > workersKept) known.delete(known.values().next().value!);
    },
  };
}

/** Link queries that are remembered where the service took them. `keyOf`: a worker's pseudonym. */
export function noting(
  service: Pick<Service, 'listLinks' | 'askLinkDetail'>,
  authorisations: Authorisations,
  keyOf: (cpf: string) => string,
): Pick<Service, 'listLinks' | 'askLinkDetail'> {
  const noted = (send: Service['listLinks']) => async (query: LinkQuery) => {
    const answer = await send(query);
    const { cpf } = query.identity;
    if (answer.kind === 'acknowledged' && cpf !== null) authorisations.taken(keyOf(cpf), query.authorisationNumber);
    return answer;
  };
  return { listLinks: noted(service.listLinks), askLinkDetail: noted(service.askLinkDetail) };
}
