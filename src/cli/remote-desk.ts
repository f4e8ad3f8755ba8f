/** A running desk, ordered over its operator API with a token: what comes back is what the store would have said. */
import { z } from 'zod';
import { Fault, type FaultCode } from '../errors.ts';
import { capUseSchema, obeyedSchema, orderPage, standingSchema } from '../http/api/control-routes.ts';
import { economicsApprovedSchema, economicsSchema } from '../http/api/economics-routes.ts';
import { recordedSchema, resolvedSchema, thawedSchema } from '../http/api/ending-routes.ts';
import { reviewPageSchema } from '../http/api/review-routes.ts';
import {
  approvalSchema,
  followedSchema,
  keptSetSchema,
  proposedSchema,
  ruleHistorySchema,
  snoozesSchema,
} from '../http/api/rule-routes.ts';
import {
  bidPage,
  contractPage,
  decisionSchema,
  dismissedSchema,
  flowSchema,
  historySchema,
  letterPage,
  replaySchema,
  workerSchema,
} from '../http/api/schemas.ts';
import { tokenCreated, tokenPage, tokenRevoked } from '../http/api/token-routes.ts';
import type { ControlOutcome } from '../operating/controls.ts';
import type { ThawOrder } from '../operating/endings.ts';
import type { Followed } from '../operating/rule-orders.ts';
import type { DaemonPlace } from './daemon.ts';
import { reasonOf } from './daemon.ts';
import type { RemoteDesk } from './desk-control.ts';

export type RemoteTexts = {
  silent: (url: string, reason: string) => string;
  refused: (url: string, status: number, detail: string) => string;
  foreign: (url: string, status: number) => string;
  otherIdentity: (token: string, by: string) => string;
};

/** Longer than a process waits for others to obey, or for a frozen request to be read again. */
const timeoutMs = 20_000;

/** What a process says without an outcome, by its status. */
const codes: ReadonlyMap<number, FaultCode> = new Map([
  [401, 'token-refused'],
  [403, 'token-refused'],
  [404, 'not-found'],
  [503, 'log-unavailable'],
]);

type Answer = { status: number; body: unknown };
/** Null: it was done. */
type Outcome = { kind: string } | null;

/** `by`: as it was typed; it has to be the token's owner then. */
export async function reachDesk(place: DaemonPlace, by: string | null, texts: RemoteTexts): Promise<RemoteDesk> {
  const { url, token } = place;

  /** `body`: a text is JSON already. `key`: of what is done once. */
  async function send(method: 'GET' | 'POST', path: string, body?: unknown, key?: string): Promise<Answer> {
    try {
      const answer = await fetch(new URL(`v1/${path}`, url), {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await answer.text();
      return { status: answer.status, body: jsonIn(text) };
    } catch (fault) {
      throw new Fault('desk-unreachable', texts.silent(url, reasonOf(fault, timeoutMs)), fault);
    }
  }

  function foreign({ status }: Answer): Fault {
    return new Fault('desk-unreachable', texts.foreign(url, status));
  }

  /** What was not done and why, as the process says it; throws where it says nothing that a command knows. */
  function outcomeOf(answer: Answer): NonNullable<Outcome> {
    const { detail, outcome } = (answer.body ?? {}) as { detail?: unknown; outcome?: Outcome };
    if (typeof outcome?.kind === 'string') return outcome;
    if (typeof detail !== 'string') throw foreign(answer);
    throw new Fault(codes.get(answer.status) ?? 'not-allowed', texts.refused(url, answer.status, detail));
  }

  async function asked<S extends z.ZodType>(
    schema: S,
    ...sent: Parameters<typeof send>
  ): Promise<{ done: z.infer<S>; status: number } | { done: null; outcome: NonNullable<Outcome> }> {
    const answer = await send(...sent);
    if (answer.status < 200 || answer.status > 299) return { done: null, outcome: outcomeOf(answer) };
    const read = schema.safeParse(answer.body);
    if (!read.success) throw foreign(answer);
    return { done: read.data, status: answer.status };
  }

  /** Of what has no outcome but one. */
  async function read<S extends z.ZodType>(schema: S, path: string): Promise<z.infer<S>> {
    const answer = await asked(schema, 'GET', path);
    if (answer.done === null) throw new Fault('not-allowed', texts.refused(url, 409, JSON.stringify(answer)));
    return answer.done;
  }

  async function flowAsked(path: string, key: string, body: string) {
    const answer = await asked(flowTold, 'POST', path, body, key);
    if (answer.done === null) throw new Fault('not-allowed', answer.outcome.kind);
    return { told: answer.done as never, isNew: answer.status !== 200 };
  }

  async function controlled<Refusal = never>(path: string, body: unknown): Promise<ControlOutcome | Refusal> {
    const answer = await asked(obeyedSchema, 'POST', path, body);
    return answer.done === null ? (answer.outcome as ControlOutcome | Refusal) : { kind: 'stored', ...answer.done };
  }

  async function followed<O extends { kind: string }>(path: string, body: unknown): Promise<O> {
    const answer = await asked(followedSchema, 'POST', path, body);
    if (answer.done === null) return answer.outcome as O;
    const { kind, hash, liveAt, knownBy, late, silent, reviewBy } = answer.done;
    if (kind !== 'announced') return { kind, hash } as unknown as O;
    const more = { ...(reviewBy === null ? {} : { reviewBy }), ...(silent === undefined ? {} : { silent }) };
    const announced: Followed = { kind, hash, liveAt: liveAt ?? 0, knownBy: knownBy ?? 0, late, ...more };
    return announced as unknown as O;
  }

  const part = encodeURIComponent;
  const desk: RemoteDesk = {
    pause: (reason) => controlled('controls/pause', { reason }),
    resume: (reason) => controlled('controls/resume', { reason }),
    setCap: ({ name, limitCents, reason }) => controlled(`controls/caps/${part(name)}`, { limitCents, reason }),
    capUse: async (name) => {
      const answer = await asked(capUseSchema, 'GET', `controls/caps/${part(name)}`);
      return answer.done;
    },
    snooze: (order) => controlled('rules/snoozes', order),
    wake: (order) => controlled('rules/snoozes/resume', order),
    snoozes: async () => (await read(snoozesSchema, 'rules/snoozes')).snoozes as never,
    standing: async () => {
      const { raises = [], ...standing } = await read(standingSchema, 'controls');
      return { ...standing, raises } as never;
    },
    history: async (limit) => {
      const { orders, more } = await read(orderPage, `controls/history?limit=${Math.min(limit, 500)}`);
      return { orders: orders as never, more };
    },
    resolve: async ({ requestId, as, reason }) => {
      const answer = await asked(resolvedSchema, 'POST', `bids/${part(requestId)}/resolve`, { as, reason });
      if (answer.done === null) return answer.outcome as never;
      const { kind, state } = answer.done;
      return kind === 'done' && state !== null ? { kind, phase: state } : { kind: kind === 'done' ? 'stored' : kind };
    },
    thaw: async ({ of, id, action, reason }) => {
      const answer = await asked(thawedSchema, 'POST', `${pathOf[of]}/${part(id)}/thaw`, { action, reason });
      return answer.done === null ? (answer.outcome as never) : answer.done;
    },
    review: async ({ requestId, decision, reason }) => {
      const answer = await asked(recordedSchema, 'POST', `reviews/${part(requestId)}`, { decision, reason });
      return answer.done === null ? (answer.outcome as never) : answer.done;
    },
    reviews: async (query) => {
      const given = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value != null) given.set(name, String(value));
      return read(reviewPageSchema, `reviews?${given}`);
    },
    propose: async (files, comment) => {
      const answer = await asked(proposedSchema, 'POST', 'rules/sets', {
        files: files.map(({ path, text }) => ({ path, text })),
        ...commented(comment),
      });
      return answer.done === null ? (answer.outcome as never) : { kind: 'proposed', ...answer.done };
    },
    approve: (set, comment) => followed(`rules/sets/${part(set)}/approve`, commented(comment)),
    activate: (set, comment) => followed(`rules/sets/${part(set)}/activate`, commented(comment)),
    rollBack: (set, comment) => followed('rules/rollback', { set, ...commented(comment) }),
    setApproval: async (needed, comment, of) => {
      const answer = await asked(approvalSchema, 'POST', 'rules/approval', {
        needed,
        ...(of === undefined ? {} : { of }),
        ...commented(comment),
      });
      return answer.done === null ? (answer.outcome as never) : answer.done;
    },
    economics: async () => (await read(economicsSchema, 'economics')) as never,
    approveEconomics: async (hash, comment) => {
      const answer = await asked(
        economicsApprovedSchema,
        'POST',
        `economics/${part(hash)}/approve`,
        commented(comment),
      );
      return answer.done === null ? (answer.outcome as never) : answer.done;
    },
    ruleHistory: async () => (await read(ruleHistorySchema, 'rules/history')).entries as never,
    keptSet: async (set) => {
      const answer = await asked(keptSetSchema, 'GET', `rules/sets/${part(set)}`);
      return answer.done === null ? (answer.outcome as never) : { kind: 'found', ...answer.done };
    },
    createToken: async (order) => {
      const answer = await asked(tokenCreated, 'POST', 'tokens', order);
      if (answer.done === null) throw new Fault('not-allowed', answer.outcome.kind);
      return { kind: 'created', ...answer.done };
    },
    tokens: async () => (await read(tokenPage, 'tokens')).tokens as never,
    revokeToken: async (id, reason) => {
      const body = reason === null ? {} : { reason };
      const answer = await asked(tokenRevoked, 'POST', `tokens/${part(id)}/revoke`, body);
      if (answer.done === null) return answer.outcome as never;
      const { before, ...revoked } = answer.done;
      return { kind: before ? 'revoked-before' : 'revoked', ...revoked };
    },
    bids: async (query) => {
      const given = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
      return read(bidPage, `bids?${given}`);
    },
    bid: (requestId) => read(decisionSchema, `bids/${part(requestId)}`),
    worker: async (requestId, reason) => {
      const answer = await asked(workerSchema, 'POST', `bids/${part(requestId)}/worker`, { reason });
      if (answer.done === null) throw new Fault('not-allowed', answer.outcome.kind);
      return answer.done as never;
    },
    owner: async () => ({ owner: (await read(identityTold, 'identity')).name }),
    startFlow: (flow, key, body) => flowAsked(pathOf[flow], key, body),
    stepFlow: (flow, { flowId, step }, key, body) => flowAsked(`${pathOf[flow]}/${part(flowId)}/${step}`, key, body),
    flow: async (flow, flowId) => (await read(flowTold, `${pathOf[flow]}/${part(flowId)}`)) as never,
    flows: async (flow, { limit, ...asked }) => {
      const query = new URLSearchParams({ limit: String(limit) });
      for (const [name, value] of Object.entries(asked)) if (value != null) query.set(name, value);
      return (await read(flowsTold, `${pathOf[flow]}?${query}`)) as never;
    },
    shownFlow: async (flow, flowId) => (await read(flowTold, `${pathOf[flow]}/${part(flowId)}`)) as never,
    flowHistory: async (flow, flowId) => (await read(historySchema, `${pathOf[flow]}/${part(flowId)}/history`)).records,
    result: async (flow, { flowId, what }, reason) => {
      const path = `${pathOf[flow]}/${part(flowId)}/results/${part(what)}`;
      const answer = await asked(resultTold, 'POST', path, { reason });
      if (answer.done === null) throw new Fault('not-allowed', answer.outcome.kind);
      return answer.done as never;
    },
    letters: async ({ partition, from, count }) => {
      const which = partition === null ? '' : `&partition=${partition}`;
      return (await read(letterPage, `dead-letters?from=${from}&limit=${count}${which}`)) as never;
    },
    dismiss: async ({ partition, offset }, reason) => {
      const answer = await asked(dismissedSchema, 'POST', `dead-letters/${partition}/${offset}/dismiss`, { reason });
      return answer.done === null ? (answer.outcome as never) : { kind: 'dismissed', ...answer.done };
    },
    replay: async ({ partition, from, count }, reason) => {
      const answer = await asked(replaySchema, 'POST', 'dead-letters/replay', {
        ...{ partition, from, count },
        // Earlier versions take none.
        ...(reason === null ? {} : { reason }),
      });
      if (answer.done === null) throw new Fault('not-allowed', answer.outcome.kind);
      return answer.done as never;
    },
  };

  if (by !== null) {
    const { status, body } = await send('GET', 'identity');
    const name = (body as { name?: unknown } | null)?.name;
    if (typeof name !== 'string') outcomeOf({ status, body });
    else if (name.toLowerCase() !== by.toLowerCase()) throw new Fault('not-allowed', texts.otherIdentity(name, by));
  }
  return desk;
}

/** Left out where there is none, so that a process of an earlier version takes the order. */
function commented(comment: string | null): { comment?: string } {
  return comment === null ? {} : { comment };
}

/** What the command line reads of a flow; the rest of it is passed on as it came. */
const { flowId, phase, startedAt, by: begunBy, steps } = flowSchema.shape;
const flowTold = z.looseObject({ flowId, phase, startedAt, by: begunBy, steps });
const flowsTold = z.looseObject({
  flows: z.array(flowTold),
  next: z.string().nullable(),
  unknownWinners: z.array(z.json()).optional(),
  wonBids: contractPage.shape.wonBids,
  wonBidsWhole: z.boolean().optional(),
});
const resultTold = z.object({ at: z.number(), refused: z.boolean(), answer: z.json() });
const identityTold = z.object({ name: z.string() });

const pathOf: Readonly<Record<ThawOrder['of'], string>> = {
  bid: 'bids',
  contract: 'contracts',
  renegotiation: 'renegotiations',
  withdrawal: 'withdrawals',
  lookup: 'lookups',
  event: 'events',
};

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
