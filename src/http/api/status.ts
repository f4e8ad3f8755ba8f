/** Of one process: why no bids flow, if they do not, and what it is about. The same for the API, `lance status` and `doctor`. */
import { z } from 'zod';
import { closedCauses } from '../../bidding/bidding-status.ts';
import { sourceFailures } from '../../domain/offer.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { answered, answerNamed, measured, said, saidOfParts } from './described.ts';
import { problemResponses } from './problems.ts';

const time = measured(z.number(), 'epoch ms');
const count = measured(z.int(), 'a count');
const cents = measured(z.int(), 'whole cents of a real');
const exampleTime = 1_772_550_000_000;

const bidding = z.object({
  kind: said(z.enum(['open', 'closed']), 'Whether bids may flow', 'closed'),
  cause: said(z.enum(closedCauses).nullable(), 'Why they do not; null: they do', 'service-unauthorised'),
  since: said(time, 'When the cause was first seen, or the pause was ordered; while open: when it opened', exampleTime),
  until: said(time.nullable().optional(), 'When the cause ends by itself; null: that is not known', null),
  by: said(z.string().nullable(), 'Who paused; null: nobody did', null),
  detail: said(z.string().nullable(), 'More of it, in words', 'unauthorised'),
  remedy: said(
    z.string().nullable(),
    'What to do about it, in words',
    'set a new LANCE_ACCESS_TOKEN and restart; where the token comes from LANCE_TOKEN_COMMAND, mend that program; once the service takes this one again, the desk opens by itself',
  ),
});

const requests = z.object({
  known: said(
    z.boolean().optional(),
    'False: the counts are not known, for the store is away or still being read; they are of what this process has seen',
    true,
  ),
  open: said(count, 'Requests that something is still to happen to', 41),
  queued: said(count, 'Offers that wait for a free slot', 3),
  oldestQueuedAt: said(time.nullable(), 'Since when the oldest of them waits', exampleTime),
  parked: said(count, 'Requests that wait for the margin of a link', 5),
  sending: said(count, 'Bids on their way', 2),
  sendLimit: said(count, 'How many may be, as learnt', 8),
  sendLimitMost: said(
    count.optional(),
    'How many may be at most (`bidding.sendLimit`); absent: an earlier version says it',
    64,
  ),
  unknown: said(count, 'Bids sent whose answer is not known', 0),
  frozen: said(count, 'Requests that wait for somebody to retry or cancel them', 0),
});

export const rollbackSchema = z.object({
  hash: said(z.string(), 'SHA-256 of the set that was gone back to', 'a'.repeat(64)),
  from: said(z.string(), 'The set that was followed until then', 'b'.repeat(64)),
  at: said(time, 'When', exampleTime),
  by: said(z.string().nullable(), 'Who went back; null: told only to those with a token', 'ana'),
  reviewBy: said(time, 'Until when somebody else has to have looked at it', exampleTime + 86_400_000),
  reviewedBy: said(
    z.string().nullable(),
    'Who has looked at it; null: nobody yet, or told only to those with a token',
    null,
  ),
  reviewedAt: said(time.nullable().optional(), 'When somebody else has looked at it; null: nobody yet', null),
});

export const rulesFolderSchema = z.object({
  refusal: said(
    z.string().nullable(),
    'Why the rule files in the folder are refused, each problem on a line; null: they are not',
    null,
  ),
  heldBack: saidOfParts(
    z
      .object({
        hash: said(z.string(), 'SHA-256 of the set in the folder, which is kept', 'a'.repeat(64)),
        caps: said(
          count,
          'All caps of the set that is followed, where none is left; 0: some are, or there were none',
          3,
        ),
        capNames: said(
          z.array(z.string()).optional(),
          'Caps of the set that is followed which are not in the folder; absent: an earlier version says it',
          ['employer-day', 'worker-day'],
        ),
        rules: said(count, 'Rules of the set that is followed', 49),
        left: said(count, 'Rules of the set in the folder', 9),
        files: said(z.array(z.string()), 'Files of the set that is followed whose rules are all gone', ['caps.json']),
      })
      .nullable()
      .optional(),
    'The folder is refused for what its set would take away: it is followed when somebody activates it; null: it is not',
  ),
  notFollowed: said(z.string().nullable(), 'SHA-256 of the set in the folder where another one is followed', null),
});

const lastHourSchema = z.object({
  from: said(
    time,
    'The first moment that counts: 60 minutes ago to the minute, or the start of the process. A record counts by the time at which it was written',
    exampleTime - 3_540_000,
  ),
  figures: saidOfParts(
    z
      .object({
        requests: said(count, 'Requests that came', 812),
        bids: said(count, 'Requests for which the service has taken a bid', 391),
        wins: said(count, 'Requests that were won', 96),
        expectedCents: said(
          cents.nullable(),
          'Profit that the bids whose auction ended were expected to bring; null: told only to those with a token',
          1_284_310,
        ),
        realisedCents: said(
          cents.nullable(),
          'Profit that those of them that were won are expected to bring now; no money received. Null: told only to those with a token',
          1_190_450,
        ),
      })
      .nullable(),
    'What was read from the log; null in a process that only takes webhooks',
  ),
  alarms: saidOfParts(
    z.array(
      z.object({
        code: said(z.string(), 'Code of the alarm; see the runbook LanceAlarm', 'result-missing'),
        count: said(count, 'How often it was raised', 3),
        lastAt: said(time, 'When it was raised last', exampleTime),
      }),
    ),
    'Alarms that the process raised, the latest first',
  ),
});

export const statusSchema = answerNamed(
  z.object({
    instance: said(z.string(), 'Name of the process, for as long as it runs', '0b6f3c52-7d43-4a41-9a39-5c7f8f1f2b11'),
    version: said(z.string(), 'Of the program', '0.1.0'),
    roles: said(z.array(z.string()), 'What the process does: door takes webhooks, desk bids', ['door', 'desk']),
    startedAt: said(time, 'When it started', exampleTime),
    at: said(time, 'When it answered', exampleTime),
    ready: said(z.boolean(), 'What `/readyz` says', false),
    webhooksRefused: said(
      z.string().nullable(),
      'Why webhooks are not stored just now; null: they are, or the process takes none',
      null,
    ),
    bidding: saidOfParts(
      bidding.nullable(),
      'Why no bids flow, if they do not; null in a process that only takes webhooks',
    ),
    ruleSet: said(z.string().nullable(), 'SHA-256 of the rule set that is followed', 'a'.repeat(64)),
    rulesFolder: saidOfParts(rulesFolderSchema, 'The folder of the rules against the set that is followed'),
    rollback: saidOfParts(
      rollbackSchema.nullable().optional(),
      'Somebody went back to the set that is followed; null: nobody did. While it holds, the folder goes live only when somebody activates it',
    ),
    partitions: saidOfParts(
      z.object({
        owned: said(
          z.array(measured(z.int(), 'a number as it stands, without a unit')),
          'Partitions that this process is answerable for',
          [0],
        ),
        closed: said(z.array(z.string()), 'Partitions that cannot be read any further, each with its cause', []),
      }),
      'Of the log',
    ),
    requests: saidOfParts(requests.nullable(), 'What is under way; null in a process that only takes webhooks'),
    lastBidAt: said(time.nullable(), 'When the service last took a bid of this process', exampleTime),
    lastSentAt: said(
      time.nullable().optional(),
      'When this process last wrote the first byte of a bid, also of one sent again; null: not since it started',
      exampleTime,
    ),
    economics: saidOfParts(
      z
        .object({
          hash: said(
            z.string(),
            "SHA-256 of the sections `economics` and `pricing` of the process's settings",
            'a'.repeat(64),
          ),
          used: said(z.string(), 'Of those that it decides by, which were used before', 'b'.repeat(64)),
          approved: said(z.boolean(), 'Two identities stand for them by now: they decide from a restart on', false),
        })
        .nullable()
        .optional(),
      'The settings have other economics than the process decides by, for two identities have to stand for a change; null: they have not',
    ),
    capRaises: saidOfParts(
      z
        .array(
          z.object({
            name: said(z.string(), 'Name of the cap', 'mesa'),
            limitCents: said(
              cents.nullable(),
              'What it is to be raised to; null: taken away, or not told without a token',
              50_000_000,
            ),
            by: said(z.string().nullable(), 'Who ordered it; null: told only to those with a token', 'ana'),
            until: said(time, 'How long it waits for another identity to order the same', exampleTime + 86_400_000),
          }),
        )
        .optional(),
      'Raises of caps by hand that wait for another identity, as read in the last seconds; absent: an earlier version says it',
    ),
    pausedAt: said(
      time.nullable().optional(),
      'When the pause was ordered that this process obeys; null: none holds, or the controls are not known',
      null,
    ),
    lastWinAt: said(time.nullable(), 'When this process last heard of a win', exampleTime),
    lastAnswerAt: said(
      time.nullable().optional(),
      'When the service last answered anything at all, also with a refusal; null: not since the process started',
      exampleTime,
    ),
    lastAnswerStatus: said(
      measured(z.int(), 'a number as it stands, without a unit').nullable().optional(),
      'Status of that answer; an idle process asks for the time alone, at the root; null: none yet',
      404,
    ),
    serviceAskedMs: said(
      measured(z.int(), 'ms').nullable().optional(),
      'How often an idle process asks the service for its time; null: it asks nothing',
      60_000,
    ),
    unknownRefusals: said(
      count.nullable().optional(),
      'Requests in a row whose bids were all refused in words that nobody knows (`unclassified`, or a refusal that leaves open whether the bid stands), where they are 5 or more over at least 30 s; null: they are not',
      null,
    ),
    linkQueryRefusals: said(
      count.nullable().optional(),
      'Employment links in a row whose queries were all refused in words that nobody knows, where they are 5 or more over at least 30 s; null: they are not',
      null,
    ),
    slowAnswers: saidOfParts(
      z
        .object({
          medianMs: said(measured(z.int(), 'ms'), 'Median of the time from sending a bid to its answer', 4_020),
          of: said(count, 'Of so many bids, the last ones', 20),
          windowMs: said(measured(z.int(), 'ms'), 'How long an auction is (`bidding.windowMs`)', 30_000),
        })
        .nullable()
        .optional(),
      'Where the answers to the last bids of this process, those of the last five minutes, took a tenth of an auction or more; null: they did not, or there were fewer than 10',
    ),
    failingSources: saidOfParts(
      z
        .array(
          z.object({
            source: said(z.string(), 'Name of the external source in the rule set', 'bureau'),
            failure: said(z.enum(sourceFailures), 'Why the last of them failed', 'time-out'),
            failed: said(count, 'How many failed', 12),
            of: said(count, 'Of so many answers, the last ones', 20),
          }),
        )
        .nullable()
        .optional(),
      'External sources of whose last answers to this process half or more failed, of the last ten minutes and at least five; null: none',
    ),
    caps: saidOfParts(
      z
        .object({
          cap: saidOfParts(
            z.object({
              name: said(z.string(), 'Name of the cap', 'noite'),
              byHand: said(z.boolean(), 'An operator set it; false: the rules did', true),
              usedCents: said(
                cents.nullable(),
                'Used when the last one ended by it; null: not told without a token',
                99_000,
              ),
              limitCents: said(cents.nullable(), 'Its limit; null: none in money', 100_000),
              usedCount: said(count.nullable(), 'Bids that counted under it; null: not told without a token', 3),
              limitCount: said(count.nullable(), 'Its limit; null: none in bids', null),
              windowHours: said(
                measured(z.int(), 'hours').nullable().optional(),
                'Length of its rolling window; null: it counts the calendar day in São Paulo',
                null,
              ),
            }),
            'The one that the last of them ended by',
          ),
          ended: said(count, 'How many ended by a cap', 11),
          of: said(count, 'Of so many', 20),
        })
        .nullable()
        .optional(),
      'Where half or more of the last 20 would-be bids of this process ended by a cap, the latest three by one set by hand, or three of them within ten minutes by one set by hand; null: they did not. What ended by a cap that is gone, was raised, or has begun a new day since is left out',
    ),
    lastHour: saidOfParts(
      lastHourSchema.optional(),
      'The last 60 minutes of the process that answers; others count their own. Absent: an earlier version says it',
    ),
  }),
  'Status',
  'One process of the desk, as it is now',
);
export type DaemonStatus = z.infer<typeof statusSchema>;

/** Statuses with which a network or a wall in front of the service turns a machine away, whatever it asks; a 404 at the root says nothing. */
export function isTurnedAway(status: number): boolean {
  return [401, 403, 407, 451].includes(status) || status >= 500;
}

/** Whether this answer says something of the token: what is in trouble itself looks at none. */
export function refusesToken(status: number): boolean {
  return status === 401 || status === 403;
}

export type StatusParts = { status: () => DaemonStatus; guard: Guard };

export function addStatus(app: ApiApp, { status, guard }: StatusParts): void {
  app.get(
    '/status',
    {
      onRequest: guard.only(),
      schema: {
        tags: ['status'],
        summary: 'Why no bids flow, since when and what to do, and what the process that answers is about',
        response: { 200: answered(statusSchema, 'The process that answers'), ...problemResponses },
      },
    },
    async () => status(),
  );
}
