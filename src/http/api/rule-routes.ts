/** `/v1/rules`: which set decides, what the store keeps, and how another one comes to be followed. Done where the commands do it. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { RuleWatch } from '../../bidding/ports.ts';
import type { Identity } from '../../domain/roles.ts';
import {
  type ApproveOutcome,
  activateSet,
  approveSet,
  diffSets,
  keptSet,
  proposeSet,
  type RollBackOutcome,
  type RuleOrderParts,
  rollBack,
  ruleHistory,
  ruleStanding,
  type SetUnknown,
  type Signed,
  setApproval,
  setStates,
  signed,
} from '../../operating/rule-orders.ts';
import { resumeRule, shownSnoozes, snoozeRule } from '../../operating/snoozes.ts';
import { codesIn, type OwnTexts, toldReasons } from '../../operating/worker-reasons.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { changeFailed, obeyedSchema, ordered, shortReason, silentSchema, via } from './control-routes.ts';
import { answered, answerNamed, measured, order, said, saidOfParts } from './described.ts';
import { problem, problemResponses } from './problems.ts';
import { exampleTime, time, wholeCount } from './schemas.ts';
import { type DaemonStatus, rollbackSchema, rulesFolderSchema } from './status.ts';

export type RuleRouteParts = {
  rules: RuleOrderParts;
  ruleWatch: Pick<RuleWatch, 'judge'>;
  guard: Guard;
  ownTexts: OwnTexts;
};

const exampleHash = `3f9c2a71b04e${'0'.repeat(52)}`;
const hash = said(z.string(), 'SHA-256 of the set', exampleHash);
const change = z.object({
  change: said(z.enum(['added', 'removed', 'changed']), 'What was done', 'changed'),
  what: said(
    z.enum([
      'rule',
      'list',
      'table',
      'codes',
      'conditions',
      'events',
      'bases',
      'facts',
      'holidays',
      'score',
      'values',
      'source',
      'tests',
    ]),
    'To what',
    'rule',
  ),
  name: said(z.string(), 'Its name', 'Desk cap'),
});
const changes = saidOfParts(z.array(change), 'Against the set that was followed when it was proposed');
const signature = z.object({
  by: said(z.string().nullable(), 'Who; null: nobody said, it was found in the folder', 'ana'),
  via,
  at: said(time, 'When', exampleTime),
});

const ruleStandingSchema = answerNamed(
  z.object({
    live: said(z.string().nullable(), 'SHA-256 of the set that is to be followed; null: none ever was', exampleHash),
    before: said(z.string().nullable(), 'Where a rollback goes; null: nowhere', null),
    folder: saidOfParts(rulesFolderSchema, 'The folder of rules of the process that answers'),
    approvalNeeded: said(z.boolean(), 'Two identities have to stand for a set', true),
    rollback: saidOfParts(
      rollbackSchema.nullable(),
      'The rollback that holds; null: none does. While it holds, the folder goes live only when somebody activates it',
    ),
    sets: saidOfParts(
      z.array(
        z.object({
          hash,
          state: said(
            z.enum(setStates),
            '`live`: it is to be followed. `former`: it was. `approved`: two identities stand for it. `proposed`: it is kept',
            'proposed',
          ),
          proposed: saidOfParts(z.array(signature), 'Who proposed it'),
          approved: saidOfParts(z.array(signature), 'Who approved it'),
          changes,
          mayFollow: said(z.boolean(), 'It may be activated', true),
        }),
      ),
      'Every set that the store keeps, the latest first',
    ),
  }),
  'Rules',
  'The set that decides, and those that the store keeps',
);

const entryKinds = ['proposed', 'approved', 'activated', 'approval-required', 'approval-lift'] as const;
export const ruleHistorySchema = answerNamed(
  z.object({
    entries: saidOfParts(
      z.array(
        z.looseObject({
          kind: said(z.enum(entryKinds), 'What became of it', 'activated'),
          at: said(time, 'When', exampleTime),
          by: said(z.string().nullable(), 'Who; null: the folder or the configuration', 'ana'),
          via: via.optional(),
          hash: said(z.string().optional(), 'SHA-256 of the set, where it is about one', exampleHash),
          refreshes: said(
            z.string().optional(),
            'Of a `proposed` set: SHA-256 of the one that it is but for refreshed rows of value tables; who stands for that one stands for it',
            exampleHash,
          ),
          of: said(
            z.enum(['caps', 'economics']).optional(),
            'Of an approval: it is about caps that are raised, or economics of the settings; absent: about sets',
            'caps',
          ),
          comment: said(z.string().optional(), 'Why, where somebody said so', 'novo teto'),
          until: said(
            time.optional(),
            'Of an `approval-lift`: so long it waits for another identity; one that asks for approval takes it back',
            exampleTime,
          ),
          followed: said(z.boolean(), 'It is the set that is to be followed now', true),
        }),
      ),
      'The latest first',
    ),
  }),
  'RuleHistory',
  'What became of which set',
);

export const keptSetSchema = answerNamed(
  z.object({
    hash,
    source: said(
      z.string(),
      'The set as it is kept: a JSON array of files, each with its `path` and its content as `value`',
      '[{"path":"codes.json","value":{"codes":[]}}]',
    ),
  }),
  'RuleSet',
  'A set that the store keeps',
);

const toldText = (language: string, example: string) =>
  said(z.string().nullable(), `In ${language}; null: nobody has written it`, example);
const toldReasonsSchema = answerNamed(
  z.object({
    hash,
    reasons: saidOfParts(
      z.array(
        z.object({
          code: said(z.string(), 'Code of a pass; of `fact-missing:<fact>` the part before the colon', 'tenure-short'),
          of: said(z.enum(['rules', 'desk']), 'Who gives it: a rule of the set, or the desk itself', 'rules'),
          pt: toldText('Portuguese', 'O seu vínculo de emprego é recente demais para este empréstimo.'),
          en: toldText('English', 'You have been in this employment for too short a time for this loan.'),
        }),
      ),
      'Those of the rules first',
    ),
  }),
  'WorkerReasons',
  'What a worker is told for each code',
);

const diffSchema = answerNamed(
  z.object({
    before: hash,
    after: hash,
    differences: saidOfParts(
      z.array(
        z.object({
          ...change.shape,
          values: saidOfParts(
            z.array(
              z.object({
                at: said(z.string(), 'Where it stands', 'conditions.all[0].value'),
                before: said(z.unknown(), 'What the first set says; null: nothing', 18),
                after: said(z.unknown(), 'What the second set says; null: nothing', 21),
              }),
            ),
            'Value by value; none for what was added or removed as a whole',
          ),
        }),
      ),
      'One for each part that is not the same',
    ),
  }),
  'RuleDiff',
  'What one set says otherwise than another',
);

export const proposedSchema = answerNamed(
  z.object({
    hash,
    changes,
    next: said(
      z.enum(['activate', 'approve']),
      'What makes it the set to follow: `approve` by another identity, or `activate`',
      'approve',
    ),
  }),
  'RuleSetProposed',
  'A set that is kept',
);

const followedKinds = ['announced', 'followed-already', 'one-more', 'reviewed'] as const;
export const followedSchema = answerNamed(
  z.object({
    kind: said(
      z.enum(followedKinds),
      '`announced`: every process follows it from `liveAt` on. `followed-already`. `one-more`: another identity has to approve it too. `reviewed`: the rollback to it was looked at',
      'announced',
    ),
    hash,
    liveAt: said(time.nullable(), 'From when on it decides', exampleTime),
    knownBy: said(wholeCount.nullable(), 'How many live processes know of it', 2),
    late: said(z.array(z.string()), 'Processes that live and do not know of it yet', []),
    silent: silentSchema,
    reviewBy: said(time.nullable(), 'Of a rollback: until when somebody else has to have looked at it', null),
  }),
  'RuleSetFollowed',
  'What became of the order',
);

const approvalKinds = ['approval-on', 'approval-off', 'approval-one-more', 'approval-configured'] as const;
export const approvalSchema = answerNamed(
  z.object({
    kind: said(
      z.enum(approvalKinds),
      '`approval-on`, `approval-off`. `approval-one-more`: another identity has to say the same within a day; `needed: true` takes it back. `approval-configured`: the configuration asks for it all the same',
      'approval-on',
    ),
  }),
  'RuleApproval',
  'Whether two identities have to stand for it',
);

const setWord = z.string().regex(/^(?:live|[0-9a-fA-F]{6,64})$/, "send live, or 6 to 64 characters of a set's hash");
const setText = "`live`, or the beginning of a kept set's SHA-256: 6 to 64 hexadecimal digits";
const setParams = z.object({ set: said(setWord, setText, '3f9c2a71b04e') });
const diffQuery = z.object({
  before: said(setWord.default('live'), `${setText}; left out: the live set`, 'live'),
  after: said(setWord, setText, '3f9c2a71b04e'),
});

const comment = said(
  shortReason.nullable().default(null),
  'Why, in 1 to 200 characters, kept with what became of the set; null: nobody says. A CPF in it is kept as `***`',
  'novo teto',
);
const proposeBody = order(
  z.strictObject({
    files: saidOfParts(
      z
        .array(
          z.strictObject({
            path: said(
              z
                .string()
                .max(200)
                .regex(
                  /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:json|values\.csv)$/,
                  'send a path below the folder, such as limits.json',
                ),
              'Path below the folder of rules',
              'codes.json',
            ),
            text: said(z.string().max(4_000_000), 'Content of the file: at most 4000000 characters', '{"codes": []}'),
          }),
        )
        .min(1, 'send at least one file')
        .max(1_000),
      'All files of the set, its tests too: 1 to 1000. Nothing of the set that is followed is taken over',
    ),
    comment,
  }),
  'RuleSetProposal',
  'A whole set of rules with its tests',
);
const rollBackBody = order(
  z.strictObject({
    set: said(
      setWord.nullable().default(null),
      `${setText}; left out or null: the set that was followed before the one of now, which takes one person`,
      null,
    ),
    comment,
  }),
  'RollbackOrder',
  'Goes back to an earlier set',
);
const approvalBody = order(
  z.strictObject({
    needed: said(z.boolean(), 'true: from now on two identities have to stand for it. Two have to say false', true),
    of: said(
      z.enum(['rules', 'caps', 'economics']).default('rules'),
      'For what: `rules`, a set that is to be followed; `caps`, a cap by hand that is raised or taken away; `economics`, other values in the sections `economics` and `pricing` of the settings',
      'caps',
    ),
    comment,
  }),
  'RuleApprovalOrder',
  'Whether two identities have to stand for a set',
);
const ruleName = said(z.string().min(1).max(160), 'Name of the rule: 1 to 160 characters', 'One alert');
const why = said(shortReason, 'Why, in 1 to 200 characters; a CPF in it is kept as `***`', 'falso alarme');
const snoozeBody = order(
  z.strictObject({
    rule: ruleName,
    until: said(
      measured(z.int().min(0).max(999_999_999_999_999), 'epoch ms'),
      'Until when it has no say: at most 30 days from now',
      exampleTime,
    ),
    reason: why,
  }),
  'SnoozeOrder',
  'Puts a rule to sleep',
);
const wakeBody = order(z.strictObject({ rule: ruleName, reason: why }), 'WakeOrder', 'Wakes a rule');

export const snoozesSchema = answerNamed(
  z.object({
    snoozes: saidOfParts(
      z.array(
        z.object({
          rule: ruleName,
          until: said(time, 'Until when', exampleTime),
          by: said(z.string(), 'Who put it to sleep', 'ana'),
          via,
          reason: said(z.string(), 'Why', 'falso alarme'),
          at: said(time, 'When', exampleTime),
          holds: said(
            z.boolean(),
            'false: the set that decides has another rule of this name, or none, so it is awake',
            true,
          ),
        }),
      ),
      'In the order in which they were put to sleep',
    ),
  }),
  'Snoozes',
  'Rules that are asleep',
);
export const commentBody = order(
  z.strictObject({ comment }),
  'CommentedOrder',
  'Why; an empty object says nothing of it',
  {},
);

export function addRuleRoutes(
  app: ApiApp,
  parts: RuleRouteParts & { status: () => Pick<DaemonStatus, 'rulesFolder'> },
): void {
  const { guard, rules, ruleWatch, ownTexts, status } = parts;
  const tags = ['rules'];
  const deciding = guard.only('risk', 'admin');
  const response = {
    200: answered(followedSchema, 'What became of it'),
    202: answered(followedSchema, 'It is announced, and processes in `late` do not know of it yet'),
    ...problemResponses,
  };
  const obeyedResponse = {
    200: answered(obeyedSchema, 'It is stored, and every live process obeys'),
    202: answered(obeyedSchema, 'It is stored, and processes in `late` have not acknowledged it within seconds'),
    ...problemResponses,
  };
  app.get(
    '/rules',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'Which set decides, which ones the store keeps, and who stands for them',
        response: { 200: answered(ruleStandingSchema, 'The set that decides, and the kept ones'), ...problemResponses },
      },
    },
    async () => ({ ...mutable(await ruleStanding(rules)), folder: status().rulesFolder }),
  );
  app.get(
    '/rules/history',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'What became of which set: who, when, what it changed; the latest first',
        response: { 200: answered(ruleHistorySchema, 'What became of the sets'), ...problemResponses },
      },
    },
    async () => ({ entries: mutable(await ruleHistory(rules)) }),
  );
  app.get(
    '/rules/sets/:set',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags,
        summary: 'A kept set with its files',
        params: setParams,
        response: { 200: answered(keptSetSchema, 'The set with its files'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const kept = await keptSet(rules, request.params.set);
      return kept.kind === 'found' ? { hash: kept.hash, source: kept.source } : unknownSet(reply, kept, 'set');
    },
  );
  app.get(
    '/rules/sets/:set/reasons',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'What a worker is told for each code of a kept set and of the desk, in Portuguese and English',
        params: setParams,
        response: { 200: answered(toldReasonsSchema, 'The texts by code'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const kept = await keptSet(rules, request.params.set);
      if (kept.kind !== 'found') return unknownSet(reply, kept, 'set');
      return { hash: kept.hash, reasons: toldReasons(codesIn(kept.source), ownTexts) };
    },
  );
  app.get(
    '/rules/diff',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags,
        summary: 'What one kept set says otherwise than another, value by value: before and after',
        querystring: diffQuery,
        response: { 200: answered(diffSchema, 'The differences'), ...problemResponses },
      },
    },
    async ({ query }, reply) => {
      const diff = await diffSets(rules, query.before, query.after);
      if (diff.kind !== 'compared') return unknownSet(reply, diff, 'after');
      const { before, after, differences } = diff;
      return {
        before,
        after,
        differences: differences.map(({ values, ...part }) => ({ ...part, values: [...values] })),
      };
    },
  );
  app.post(
    '/rules/sets',
    {
      onRequest: deciding,
      schema: {
        tags,
        summary: 'Propose a set: it is checked and tested as the folder is, and kept with its author',
        body: proposeBody,
        response: { 201: answered(proposedSchema, 'It is good, and kept'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const report = await ruleWatch.judge(request.body.files);
      const outcome = await proposeSet(rules, commented(guard.identityOf(request), request.body.comment), report);
      if (outcome.kind === 'rules-refused') {
        const lines = outcome.text.split('\n').map((line) => line.trim());
        const errors = lines.map((detail) => ({ field: 'files', rule: 'rules-good', detail }));
        return problem(reply, 'invalid', lines[0] ?? '', errors, outcome);
      }
      const { hash: kept, changes: made, next } = outcome;
      return reply.code(201).send({ hash: kept, changes: [...made], next });
    },
  );
  app.post(
    '/rules/sets/:set/approve',
    {
      onRequest: deciding,
      schema: {
        tags,
        summary: "Approve somebody else's set, which is followed then; or say that a rollback to it was looked at",
        params: setParams,
        body: commentBody,
        response,
      },
    },
    async (request, reply) =>
      answer(
        reply,
        await approveSet(rules, commented(guard.identityOf(request), request.body.comment), request.params.set),
      ),
  );
  app.post(
    '/rules/sets/:set/activate',
    {
      onRequest: deciding,
      schema: { tags, summary: 'Make a kept set the one to follow', params: setParams, body: commentBody, response },
    },
    async (request, reply) =>
      answer(
        reply,
        await activateSet(rules, commented(guard.identityOf(request), request.body.comment), request.params.set),
      ),
  );
  app.post(
    '/rules/rollback',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags,
        summary: 'Go back to the set that was followed before: takes one person, and another one has to look at it',
        body: rollBackBody,
        response,
      },
    },
    async (request, reply) =>
      answer(
        reply,
        await rollBack(rules, commented(guard.identityOf(request), request.body.comment), request.body.set),
      ),
  );
  app.post(
    '/rules/snoozes',
    {
      onRequest: deciding,
      schema: {
        tags,
        summary: 'Put a rule of the set that decides to sleep: until then it has no say, unless it is changed',
        body: snoozeBody,
        response: obeyedResponse,
      },
    },
    async (request, reply) => {
      const { rule, until, reason } = request.body;
      const wanted = { rule, until, reason: withoutCpf(reason) };
      const outcome = await snoozeRule(rules, guard.identityOf(request), wanted);
      switch (outcome.kind) {
        case 'rule-unknown': {
          const detail = 'no rule of the set that decides has this name; GET /v1/rules/sets/live shows them';
          return problem(reply, 'not-found', detail, [{ field: 'rule', rule: 'rule-known', detail }], outcome);
        }
        case 'until-outside': {
          const detail = 'send a time to come, at most 30 days from now; for longer propose a set without the rule';
          return problem(reply, 'invalid', detail, [{ field: 'until', rule: 'until-near', detail }], outcome);
        }
        case 'snooze-needs-approval': {
          const detail = 'two identities have to stand for rules here: propose a set without the rule';
          return problem(reply, 'not-allowed', detail, [{ field: 'rule', rule: 'set-approved', detail }], outcome);
        }
        default:
          return ordered(reply, outcome, changeFailed);
      }
    },
  );
  app.post(
    '/rules/snoozes/resume',
    {
      onRequest: deciding,
      schema: { tags, summary: 'Wake a rule before its time', body: wakeBody, response: obeyedResponse },
    },
    async (request, reply) => {
      const { rule, reason } = request.body;
      const outcome = await resumeRule(rules, guard.identityOf(request), { rule, reason: withoutCpf(reason) });
      if (outcome.kind !== 'rule-awake') return ordered(reply, outcome, changeFailed);
      const detail = 'this rule is not asleep; GET /v1/rules/snoozes shows those that are';
      return problem(reply, 'not-found', detail, [{ field: 'rule', rule: 'rule-asleep', detail }], outcome);
    },
  );
  app.get(
    '/rules/snoozes',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'Rules that are asleep: who put them to sleep, why, and until when',
        response: { 200: answered(snoozesSchema, 'Rules that are asleep'), ...problemResponses },
      },
    },
    async () => ({
      snoozes: (await shownSnoozes(rules)).map((snooze) => ({ ...snooze, via: snooze.via ?? null })),
    }),
  );
  app.post(
    '/rules/approval',
    {
      onRequest: deciding,
      schema: {
        tags,
        summary:
          'Whether two identities have to stand for a set, for a cap that is raised, or for other economics of the settings; one may ask for it, it takes two to end it',
        body: approvalBody,
        response: { 200: answered(approvalSchema, 'Whether they have to'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { needed, of, comment: text } = request.body;
      const who = commented(guard.identityOf(request), text);
      const outcome = await setApproval(rules, who, needed, of === 'rules' ? undefined : of);
      return outcome.kind === 'identity-needed' ? problem(reply, 'forbidden', identityNeeded, [], outcome) : outcome;
    },
  );
}

export function commented(who: Identity, text: string | null): Signed {
  return signed(who, text === null ? null : withoutCpf(text));
}

export const identityNeeded = 'Who approves has to be known by a token.';

/** What is answered is written out at once: nobody changes it. */
export function mutable<T>(value: T): Mutable<T> {
  return value as Mutable<T>;
}
type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

function unknownSet(reply: FastifyReply, outcome: SetUnknown, field: string): FastifyReply {
  if (outcome.kind === 'set-unknown') {
    const detail = 'no kept set begins like this; GET /v1/rules lists them';
    return problem(reply, 'not-found', detail, [{ field, rule: 'set-known', detail }], outcome);
  }
  const detail = `${outcome.count} sets begin like this; send more characters`;
  return problem(reply, 'conflict', detail, [{ field, rule: 'set-one', detail }], outcome);
}

function answer(reply: FastifyReply, outcome: ApproveOutcome | RollBackOutcome): FastifyReply {
  const none = { liveAt: null, knownBy: null, late: [], reviewBy: null };
  switch (outcome.kind) {
    case 'announced':
      return reply.code(outcome.late.length === 0 ? 200 : 202).send({ ...none, ...outcome });
    case 'followed-already':
    case 'one-more':
    case 'reviewed':
      return reply.send({ ...none, ...outcome });
    case 'set-unknown':
    case 'set-ambiguous':
      return unknownSet(reply, outcome, 'set');
    case 'same-person': {
      const detail = `${outcome.people.join(', ')} stood for it already; another identity has to approve it`;
      return problem(reply, 'not-allowed', detail, [{ field: 'set', rule: 'another-person', detail }], outcome);
    }
    case 'not-approved': {
      const detail = 'two identities have to stand for it first: approve it with the token of another person';
      return problem(reply, 'not-allowed', detail, [{ field: 'set', rule: 'set-approved', detail }], outcome);
    }
    case 'none-before': {
      const detail = 'no other set was followed before';
      return problem(reply, 'not-allowed', detail, [{ field: 'set', rule: 'set-before', detail }], outcome);
    }
    case 'identity-needed':
      return problem(reply, 'forbidden', identityNeeded, [], outcome);
    default:
      return outcome satisfies never;
  }
}
