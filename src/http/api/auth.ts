/** Bearer tokens of the operator API: known by their hashes, each with an owner and a role. From the settings, or given out by records. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../../domain/glossary.ts';
import type { ApiRole, ApiToken, Identity } from '../../domain/roles.ts';
import type { TokenWatch } from '../../operating/tokens.ts';
import { problem } from './problems.ts';

/** `name`: the identity. `token`: null for one of the settings. */
type Caller = { name: string; role: ApiRole; token: { id: string; expiresAt: EpochMs } | null };

/** What was shown for a login. */
type Look =
  | { kind: 'known'; caller: Caller }
  /** None, or none that was ever given out. */
  | { kind: 'unknown' }
  | { kind: 'expired' | 'revoked' }
  /** It was given out, and nobody has heard lately whether it was revoked. */
  | { kind: 'unheard' };

export type Guard = {
  /** False while there is no token at all: then there is no API either. */
  isOpen: () => boolean;
  /** Null: no token that is let in. `isWrong`: one was shown that is not known, or no longer. */
  identify: (request: FastifyRequest) => { caller: Caller | null; isWrong: boolean };
  /** For `onRequest`: lets in whoever has one of the roles. */
  only: (...roles: readonly ApiRole[]) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  /** Of a request that was let in. */
  callerOf: (request: FastifyRequest) => Caller;
  identityOf: (request: FastifyRequest) => Identity;
};

const everybody: readonly ApiRole[] = ['viewer', 'risk', 'operator', 'admin'];

type Known = { digest: Buffer; look: () => Look };

export function createGuard(
  configured: readonly ApiToken[],
  watch: Pick<TokenWatch, 'tokens' | 'isCurrent'>,
  now: () => EpochMs,
): Guard {
  const ofSettings = configured.map(({ sha256, name, role }): Known => {
    const look: Look = { kind: 'known', caller: { name, role, token: null } };
    return { digest: Buffer.from(sha256, 'hex'), look: () => look };
  });
  let read: ReturnType<TokenWatch['tokens']> = [];
  let ofBook: readonly Known[] = [];
  const looks = new WeakMap<FastifyRequest, Look>();

  function known(): readonly Known[] {
    const tokens = watch.tokens();
    if (tokens !== read) {
      read = tokens;
      ofBook = tokens.map(({ id, owner: name, role, sha256, expiresAt, isRevoked }): Known => {
        const look = (): Look => {
          if (isRevoked) return { kind: 'revoked' };
          if (expiresAt <= now()) return { kind: 'expired' };
          if (!watch.isCurrent()) return { kind: 'unheard' };
          return { kind: 'known', caller: { name, role, token: { id, expiresAt } } };
        };
        return { digest: Buffer.from(sha256, 'hex'), look };
      });
    }
    return [...ofSettings, ...ofBook];
  }

  function lookAt(request: FastifyRequest): Look {
    const look = looks.get(request) ?? find(request.headers.authorization);
    looks.set(request, look);
    return look;
  }

  /** Compares with all of them every time: where a difference lies does not show in the time it takes. */
  function find(header: string | undefined): Look {
    // The name of a scheme is in any case (RFC 9110, 11.1).
    const token = /^bearer +([^\s]{1,500})$/i.exec(header ?? '')?.[1];
    if (token === undefined) return { kind: 'unknown' };
    const given = createHash('sha256').update(token).digest();
    let found: Known | null = null;
    for (const candidate of known()) found = timingSafeEqual(candidate.digest, given) ? candidate : found;
    return found === null ? { kind: 'unknown' } : found.look();
  }

  function callerOf(request: FastifyRequest): Caller {
    const look = looks.get(request);
    if (look?.kind !== 'known') throw new Error('a request that was not let in has no caller');
    return look.caller;
  }

  return {
    isOpen: () => known().length > 0,
    identify: (request) => {
      const look = lookAt(request);
      return {
        caller: look.kind === 'known' ? look.caller : null,
        isWrong: look.kind !== 'known' && look.kind !== 'unheard',
      };
    },
    only:
      (...roles) =>
      async (request, reply) => {
        const look = lookAt(request);
        switch (look.kind) {
          case 'unknown':
            return problem(reply, 'unauthorised', 'Send Authorization: Bearer and a token that is known here.');
          case 'expired':
            return problem(reply, 'unauthorised', 'This token has expired: lance tokens create gives out another.');
          case 'revoked':
            return problem(reply, 'unauthorised', 'This token was revoked: lance tokens list says by whom.');
          case 'unheard':
            return problem(
              reply,
              'unavailable',
              'Whether this token was revoked cannot be read from the log just now.',
            );
          case 'known': {
            const allowed = roles.length === 0 ? everybody : roles;
            if (!allowed.includes(look.caller.role))
              return problem(reply, 'forbidden', `This is for the roles ${allowed.join(', ')}.`);
            return undefined;
          }
          default:
            return look satisfies never;
        }
      },
    callerOf,
    identityOf: (request) => ({ by: callerOf(request).name, via: 'api' }),
  };
}
