/** Bearer tokens of the operator API: known by their hashes, each with a role. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRole, ApiToken } from '../../domain/roles.ts';
import { problem } from './problems.ts';

type Caller = { name: string; role: ApiRole };

export type Guard = {
  /** Null: no token, or one that is not known. */
  identify: (request: FastifyRequest) => Caller | null;
  /** For `onRequest`: lets in whoever has one of the roles. */
  only: (...roles: readonly ApiRole[]) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  /** Of a request that was let in. */
  callerOf: (request: FastifyRequest) => Caller;
};

const everybody: readonly ApiRole[] = ['viewer', 'risk', 'operator', 'admin'];

export function createGuard(tokens: readonly ApiToken[]): Guard {
  const known = tokens.map(({ sha256, ...caller }) => ({ digest: Buffer.from(sha256, 'hex'), caller }));
  const callers = new WeakMap<FastifyRequest, Caller>();

  function identify(request: FastifyRequest): Caller | null {
    const caller = callers.get(request) ?? find(request.headers.authorization);
    if (caller !== null) callers.set(request, caller);
    return caller;
  }

  /** Compares with all of them every time: where a difference lies does not show in the time it takes. */
  function find(header: string | undefined): Caller | null {
    // The name of a scheme is in any case (RFC 9110, 11.1).
    const token = /^bearer +([^\s]{1,500})$/i.exec(header ?? '')?.[1];
    if (token === undefined) return null;
    const given = createHash('sha256').update(token).digest();
    let found: Caller | null = null;
    for (const { digest, caller } of known) found = timingSafeEqual(digest, given) ? caller : found;
    return found;
  }

  return {
    identify,
    only:
      (...roles) =>
      async (request, reply) => {
        const caller = identify(request);
        if (caller === null)
          return problem(reply, 'unauthorised', 'Send Authorization: Bearer and a token that is known here.');
        const allowed = roles.length === 0 ? everybody : roles;
        if (!allowed.includes(caller.role)) {
          return problem(reply, 'forbidden', `This is for the roles ${allowed.join(', ')}.`);
        }
        return undefined;
      },
    callerOf: (request) => callers.get(request)!,
  };
}
