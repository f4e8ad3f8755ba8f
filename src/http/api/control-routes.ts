/** `/v1/controls` and `/v1/identity`: pause, resumption, caps by hand, and who ordered what. All of it is done where the commands do it. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { personalReadings } from '../../domain/kept-book.ts';
import { apiRoles } from '../../domain/roles.ts';
import {
  type ControlOutcome,
  type ControlParts,
  capUse,
  controlHistory,
  controlStanding,
  pause,
  resume,
  setCap,
} from '../../operating/controls.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { answered, answerNamed, measured, order, said, saidOfParts } from './described.ts';
import { problem, problemResponses } from './problems.ts';
import { exampleTime, time, wholeCount } from './schemas.ts';

export type ControlRouteParts = ControlParts & { guard: Guard };

const revision = measured(z.int(), 'a count');
const cents = measured(z.int(), 'whole cents of a real');
const exampleInstance = '0b6f3c52-7d43-4a41-9a39-5c7f8f1f2b11';
/** Kept in the controls, which every process reads several times a second. */
export const shortReason = z.string().trim().min(1, 'is blank; say why, in 1 to 200 characters').max(200);

const by = said(z.string(), 'Who ordered it: the owner of the token, or the name that was typed', 'ana');
export const via = said(
  z.enum(['api', 'offline']).nullable(),
  'How that is known: `api` by a token or a log-in, `offline` by a name that was typed beside the store; null: it was written before that was kept',
  'api',
);
const at = said(time, 'When it was ordered', exampleTime);

const identitySchema = answerNamed(
  z.object({
    name: said(z.string(), 'Who the token is of, or who logged in: the identity of all that is ordered', 'ana'),
    role: said(z.enum(apiRoles), 'What it may do', 'operator'),
    tokenId: said(z.string().nullable(), 'Which token or session it is; null: one of LANCE_API_TOKENS', '3f9c2a71b0'),
    expiresAt: said(time.nullable(), 'When it expires; null: it does not', exampleTime),
    csrfToken: said(
      z.string().nullable(),
      'Of a session: what each order has to carry as X-CSRF-Token; null: a token was shown, and nothing is needed',
      null,
    ),
  }),
  'Identity',
  'Whose token or session was shown',
);

/** Of an order that is not acknowledged by all. */
export const silentSchema = saidOfParts(
  z
    .array(
      z.object({
        instance: said(z.string(), 'Name of the process', exampleInstance),
        at: said(time, 'When it last showed that it lives', exampleTime),
      }),
    )
    .optional(),
  'Those of `late` that have shown no life for seconds: they may be gone; absent: none',
);

export const obeyedSchema = answerNamed(
  z.object({
    revision: said(revision, 'Of the controls: it grows with each change', 17),
    wasPaused: said(z.boolean(), 'Whether bidding was paused before', false),
    restoredUntil: said(
      time.nullable().optional(),
      'Of a resumption: after a restore nothing received before this time is bid for; null: it is',
      null,
    ),
    obeyedBy: said(z.array(z.string()), 'Processes that have acknowledged it', [exampleInstance]),
    late: said(
      z.array(z.string()),
      'Processes that lived when it was ordered or later, and have not acknowledged it: late, dead or hung',
      [],
    ),
    silent: silentSchema,
  }),
  'Obeyed',
  'An order that is stored, and who obeys it',
);

export const standingSchema = answerNamed(
  z.object({
    revision: said(revision, 'Of the controls: it grows with each change', 17),
    pause: saidOfParts(
      z.object({ by, via, reason: said(z.string(), 'Why', 'taxas estranhas'), at }).nullable(),
      'The pause that holds; null: bidding is not paused',
    ),
    caps: saidOfParts(
      z.array(
        z.object({
          name: said(z.string(), 'Name of the cap', 'mesa'),
          limitCents: said(cents, 'What may be promised a day', 25_000_000),
          by: said(z.string().nullable(), 'Who set it; null: that was too many orders ago', 'ana'),
          reason: said(z.string().nullable(), 'Why; null: nobody said', 'fim do mês'),
          at: said(time.nullable(), 'When it was set', exampleTime),
        }),
      ),
      'Caps set by hand',
    ),
    raises: saidOfParts(
      z
        .array(
          z.object({
            name: said(z.string(), 'Name of the cap', 'mesa'),
            limitCents: said(cents.nullable(), 'What it is to be raised to; null: it is to be taken away', 50_000_000),
            by: said(z.string(), 'Who ordered it first; another identity has to order the same', 'ana'),
            reason: said(z.string().nullable(), 'Why; null: nobody said', 'fim do mês'),
            at: said(time, 'When it was ordered', exampleTime),
            until: said(time, 'How long it waits for another identity', exampleTime + 86_400_000),
          }),
        )
        .optional(),
      'Caps that somebody wants raised while two identities have to, the oldest first; absent: an earlier version says it',
    ),
    processes: saidOfParts(
      z.array(
        z.object({
          instance: said(z.string(), 'Name of the process', exampleInstance),
          revision: said(revision, 'What it has acknowledged', 17),
          at: said(time, 'When it was last heard of', exampleTime),
          obeys: said(z.boolean(), 'It has acknowledged the newest revision', true),
        }),
      ),
      'Processes that live',
    ),
  }),
  'Controls',
  'What operators have ordered, as it holds now',
);

const historyKinds = [
  'paused',
  'resumed',
  'cap-set',
  'cap-removed',
  'rule-snoozed',
  'rule-resumed',
  'rules-ordered',
  'personal-read',
] as const;
export const orderPage = answerNamed(
  z.object({
    orders: saidOfParts(
      z.array(
        z.object({
          kind: said(z.enum(historyKinds), 'What was ordered', 'paused'),
          at,
          by: said(z.string().nullable(), 'Who ordered it; null: the folder of rules', 'ana'),
          via,
          reason: said(z.string().nullable(), 'Why; null: none was given', 'taxas estranhas'),
          revision: said(revision.nullable(), 'Of the controls; null for rules', 17),
          name: said(z.string().nullable(), 'Name of the cap or of the rule', null),
          limitCents: said(cents.nullable(), 'Limit of the cap a day', null),
          until: said(time.nullable(), 'Until when the rule is asleep', null),
          hash: said(z.string().nullable(), 'SHA-256 of the rule set', null),
          liveAt: said(time.nullable(), 'From when on the rule set decides; null: that is not known', null),
          what: said(z.enum(personalReadings).nullable(), 'How personal data was read; null: it was not', null),
          file: said(z.string().nullable(), 'File that the personal data was written to', null),
          requests: said(wholeCount.nullable(), 'Of how many requests; null: that was not known yet', null),
        }),
      ),
      'The latest first',
    ),
    more: said(z.boolean(), 'There are older ones', false),
  }),
  'Orders',
  'What people and the folder of rules ordered, and who read personal data of many requests',
);

export const capUseSchema = answerNamed(
  z.object({
    name: said(z.string(), 'Name of the cap', 'mesa'),
    limitCents: said(
      cents.nullable(),
      'Limit a day; null: it is a cap of the rules, where its limit stands',
      25_000_000,
    ),
    usedCents: said(cents, 'Promised today (Brasília); of a cap by hand: while one of this name was set', 1_250_000),
    bids: said(wholeCount, 'Bids that it is promised for', 12),
  }),
  'CapUse',
  'What is promised today under a cap',
);

const reasonBody = (title: string, text: string) =>
  order(
    z.strictObject({
      reason: said(shortReason, 'Why, in 1 to 200 characters; a CPF in it is kept as `***`', 'taxas estranhas'),
    }),
    title,
    text,
  );
const capName = z.string().regex(/^[A-Za-zÀ-ÖØ-öø-ÿ\d.-]{1,60}$/, 'send letters, digits, hyphens or dots, at most 60');
const capParams = z.object({
  name: said(capName, 'Name of the cap: letters, digits, hyphens or dots, at most 60', 'mesa'),
});
const capBody = order(
  z.strictObject({
    limitCents: said(
      measured(z.int().min(0).max(1e14), 'whole cents of a real').nullable(),
      'What may be promised a day, for bids that begin while it is set; null takes the cap away',
      25_000_000,
    ),
    reason: said(shortReason, 'Why, in 1 to 200 characters; a CPF in it is kept as `***`', 'fim do mês'),
  }),
  'CapOrder',
  'A daily cap by hand',
);
const historyQuery = z.object({
  limit: said(
    measured(z.coerce.number().int().min(1).max(500), 'a count').default(50),
    'How many at most: 1 to 500',
    50,
  ),
});

export function addControlRoutes(app: ApiApp, parts: ControlRouteParts): void {
  const { guard } = parts;
  const tags = ['controls'];
  const operating = guard.only('risk', 'operator', 'admin');
  const response = {
    200: answered(obeyedSchema, 'It is stored, and every live process obeys'),
    202: answered(obeyedSchema, 'It is stored, and processes in `late` have not acknowledged it within seconds'),
    ...problemResponses,
  };
  app.get(
    '/identity',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'Whose token or session this is, and what it may do',
        response: { 200: answered(identitySchema, 'Whose token was shown'), ...problemResponses },
      },
    },
    async (request) => {
      const { name, role, token, csrfToken } = guard.callerOf(request);
      return { name, role, tokenId: token?.id ?? null, expiresAt: token?.expiresAt ?? null, csrfToken };
    },
  );
  app.get(
    '/controls',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'The pause, the caps by hand, raises of caps that wait for another identity, and which processes obey',
        response: { 200: answered(standingSchema, 'What holds now'), ...problemResponses },
      },
    },
    async () => {
      const { pause: held, caps, raises, processes, ...rest } = await controlStanding(parts);
      const shown = held === null ? null : { ...held, via: held.via ?? null };
      return { ...rest, pause: shown, caps: [...caps], raises: [...raises], processes: [...processes] };
    },
  );
  app.get(
    '/controls/history',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary:
          'Who paused, resumed, set a cap, put a rule set in force or read personal data of many requests, the latest first',
        querystring: historyQuery,
        response: { 200: answered(orderPage, 'The latest orders'), ...problemResponses },
      },
    },
    async ({ query }) => {
      const { orders, more } = await controlHistory(parts, query.limit);
      const ofOthers = { revision: null, name: null, limitCents: null, until: null, hash: null, liveAt: null };
      const none = { ...ofOthers, what: null, file: null, requests: null };
      const shown = orders.map((given) => {
        const { digest: _, ...order } = { digest: null, ...none, ...given, via: given.via ?? null };
        return order;
      });
      return { orders: shown, more };
    },
  );
  app.post(
    '/controls/pause',
    {
      onRequest: operating,
      schema: {
        tags,
        summary: 'Stop bidding on every process. Webhooks are taken, and answers to bids that were sent count',
        body: reasonBody('PauseOrder', 'Stops bidding'),
        response,
      },
    },
    async (request, reply) => {
      const who = guard.identityOf(request);
      return ordered(reply, await pause(parts, who, withoutCpf(request.body.reason)), pauseFailed);
    },
  );
  app.post(
    '/controls/resume',
    {
      onRequest: operating,
      schema: {
        tags,
        summary: 'Resume bidding: takes the pause away',
        body: reasonBody('ResumeOrder', 'Bids again'),
        response,
      },
    },
    async (request, reply) => {
      const who = guard.identityOf(request);
      return ordered(reply, await resume(parts, who, withoutCpf(request.body.reason)), changeFailed);
    },
  );
  app.get(
    '/controls/caps/:name',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'What is promised today under a cap by hand, or under one of the rules that has no facts',
        params: capParams,
        response: { 200: answered(capUseSchema, 'Its limit and its use'), ...problemResponses },
      },
    },
    async (request, reply) => (await capUse(parts, request.params.name)) ?? noCap(reply),
  );
  app.post(
    '/controls/caps/:name',
    {
      onRequest: operating,
      schema: { tags, summary: 'Set a daily cap by hand, or take it away', params: capParams, body: capBody, response },
    },
    async (request, reply) => {
      const { limitCents, reason } = request.body;
      const change = { name: request.params.name, limitCents, reason: withoutCpf(reason) };
      return ordered(reply, await setCap(parts, guard.identityOf(request), change), changeFailed);
    },
  );
}

type FailedTexts = { notStored: string; unsure: string };

const unkept = 'It holds, but the log does not keep it yet: put Kafka right, and do not empty Redis before it is kept.';
const pauseFailed: FailedTexts = {
  notStored: 'Bidding is not paused. Put the store right and pause again, or stop the processes (SIGTERM).',
  unsure:
    'It is not known whether bidding is paused; count on it not being so. Put Redis right and pause again, or stop the processes (SIGTERM).',
};
export const changeFailed: FailedTexts = {
  notStored: 'Nothing was changed: put the store right and order it again.',
  unsure: 'It is not known whether it was changed: put Redis right, and order it again if needed.',
};

function noCap(reply: FastifyReply, nearest?: string): FastifyReply {
  const meant = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  const detail = `no cap of this name is set by hand${meant}`;
  const outcome = { kind: 'cap-unknown', ...(nearest === undefined ? {} : { nearest }) };
  return problem(reply, 'not-found', detail, [{ field: 'name', rule: 'cap-known', detail }], outcome);
}

export function ordered(reply: FastifyReply, outcome: ControlOutcome, texts: FailedTexts): FastifyReply {
  switch (outcome.kind) {
    case 'stored': {
      const { kind: _, ...stored } = outcome;
      return reply.code(stored.late.length === 0 ? 200 : 202).send(stored);
    }
    case 'cap-unknown':
      return noCap(reply, outcome.nearest);
    case 'cap-one-more': {
      const detail =
        'Written down and not done: it raises the cap, so another identity has to order the same within a day.';
      return problem(reply, 'not-allowed', detail, [{ field: 'limitCents', rule: 'another-person', detail }], outcome);
    }
    case 'identity-needed':
      return problem(reply, 'forbidden', 'Who raises a cap has to be known by a token or a log-in.', [], outcome);
    case 'not-stored':
      return problem(reply, 'unavailable', `${outcome.why} ${texts.notStored}`, [], outcome);
    case 'unsure':
      return problem(reply, 'unavailable', `${outcome.why} ${texts.unsure}`, [], outcome);
    case 'unkept':
      return problem(reply, 'unavailable', `${outcome.why} ${unkept}`, [], outcome);
    case 'unseen': {
      const seen = `Stored as revision ${outcome.revision}, but it is not known whether the processes obey: order it again.`;
      return problem(reply, 'unavailable', `${outcome.why} ${seen}`, [], outcome);
    }
    default:
      return outcome satisfies never;
  }
}
