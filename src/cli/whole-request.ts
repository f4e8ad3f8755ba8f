/** A stored request with the facts that are sealed beside it, where the key of the desk is at hand. */
import type { LoanRequest } from '../domain/request.ts';
import { joinRequest } from '../domain/sealed-facts.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { CommandWorld } from './world.ts';

/** Without the key, or with another one, the request stays as it is stored: whoever needs more of it says so (`lacksSealed`). */
export function wholeRequests(
  world: Pick<CommandWorld, 'createVault'>,
  pseudonymKey: string | null,
): (request: LoanRequest, sealed: string | null) => LoanRequest {
  return wholeWith(pseudonymKey === null ? null : world.createVault(pseudonymKey));
}

/** The same in a process that holds the vault. */
export function wholeWith(vault: Vault | null): (request: LoanRequest, sealed: string | null) => LoanRequest {
  return (request, sealed) => {
    if (vault === null || sealed === null || request.sealedGroups === undefined) return request;
    try {
      return joinRequest(request, vault.open(sealedPlaces.request(request.requestId), sealed), vault);
    } catch (fault) {
      if (fault instanceof Fault && fault.code === 'sealed-unreadable') return request;
      throw fault;
    }
  };
}
