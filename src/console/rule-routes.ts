/** Pages of the rule sets, and their forms: done where the API and the commands do it, which alone says who may. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRole } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import { shortReason } from '../http/api/control-routes.ts';
import { createLine } from '../http/api/line.ts';
import type { RuleRouteParts } from '../http/api/rule-routes.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import {
  activateSet,
  approveSet,
  diffSets,
  judgeKept,
  keptSet,
  rollBack,
  ruleHistory,
  ruleStanding,
  type SetUnknown,
  signed,
} from '../operating/rule-orders.ts';
import { shownSnoozes } from '../operating/snoozes.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type ConsoleRoutes, forbidden, type PageWorld, queryOf, send } from './answers.ts';
import type { RuleNotice, RuleOrderKind, SetFacts } from './rule-pages.ts';

export type RulePageParts = Omit<RuleRouteParts, 'guard'>;

const mostEntries = 50;
/** Running the tests of a large set takes seconds of the thread that also looks at the folder. */
const judging = { atOnce: 1, longestWaitMs: 5_000 };
const notices: readonly RuleNotice[] = ['announced', 'late', 'followed-already', 'one-more', 'reviewed'];
const setForm = /^(?:live|[0-9a-fA-F]{6,64})$/;

/** As in the API. */
const reading: readonly ApiRole[] = ['risk', 'operator', 'admin'];
const ordering: Readonly<Record<RuleOrderKind, readonly ApiRole[]>> = {
  approve: ['risk', 'admin'],
  activate: ['risk', 'admin'],
  rollback: ['risk', 'operator', 'admin'],
};

export function addRulePages(
  { page, action }: ConsoleRoutes,
  { rules, ruleWatch, status }: RulePageParts & { status: () => Pick<DaemonStatus, 'rulesFolder' | 'at'> },
): void {
  const line = createLine(judging);
  /** Loaded when the first of them is asked for. */
  const made = () => import('./rule-pages.ts');
  const mayOrder = (role: ApiRole) => (kind: RuleOrderKind) => ordering[kind].includes(role);

  page('/console/rules', async ({ shown, session }, request, reply) => {
    const { notice } = queryOf(request);
    const { rulesFolder: folder, at } = status();
    const facts = {
      standing: await ruleStanding(rules),
      history: (await ruleHistory(rules)).slice(0, mostEntries),
      snoozes: await shownSnoozes(rules),
      ...{ folder, at },
      notice: notices.find((each) => each === notice) ?? null,
      opensSets: reading.includes(session.role),
      mayRollBack: mayOrder(session.role)('rollback'),
    };
    return send(reply, (await made()).rulesPage(shown, facts), 200);
  });

  page('/console/rules/sets/:set', async (world, request, reply) => {
    const { shown, session } = world;
    if (!reading.includes(session.role)) return forbidden(reply, world.pages, world.shown, reading);
    const word = wordIn(request);
    const kept = word === null ? unknown : await keptSet(rules, word);
    if (kept.kind !== 'found') return setUnknown(reply, world, kept);
    const { hash } = kept;
    const { before = 'live', tests } = queryOf(request);
    const standing = await ruleStanding(rules);
    const facts: SetFacts = {
      hash,
      standing,
      comments: (await ruleHistory(rules)).filter((entry) => 'hash' in entry && entry.hash === hash),
      before,
      diff: setForm.test(before) ? await diffSets(rules, before, hash) : unknown,
      tests: tests === 'run' ? await testsOf(session.name, hash) : null,
      orders: (['approve', 'activate'] as const).filter(mayOrder(session.role)),
    };
    return send(reply, (await made()).setPage(shown, facts), 200);
  });

  /** A thread that has ended, or is busy, says nothing of the set. */
  async function testsOf(name: string, hash: string): Promise<NonNullable<SetFacts['tests']>> {
    try {
      const judged = await line(name, () => judgeKept(rules, ruleWatch.judge, hash));
      if (judged.kind === 'not-done' || judged.result.kind !== 'judged') return 'busy';
      return judged.result.report;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return 'busy';
    }
  }

  for (const kind of ['approve', 'activate', 'rollback'] as const) {
    const path = kind === 'rollback' ? '/console/rules/rollback' : `/console/rules/sets/:set/${kind}`;
    page(path, async (world, request, reply) => {
      if (!mayOrder(world.session.role)(kind)) return forbidden(reply, world.pages, world.shown, ordering[kind]);
      const named = await setOf(kind, request);
      if (named.kind !== 'found') return setUnknown(reply, world, named);
      return orderPage(world, reply, { kind, hash: named.hash });
    });
    action(path, async (world, request, reply) => {
      const { shown, session, form } = world;
      if (!mayOrder(session.role)(kind)) return forbidden(reply, world.pages, world.shown, ordering[kind]);
      const named = await setOf(kind, request);
      if (named.kind !== 'found') return setUnknown(reply, world, named);
      const { hash } = named;
      const comment = form.comment?.replaceAll('\r\n', '\n') ?? '';
      const { rules: words } = shown.texts;
      const again = (problem: string, code: number) => orderPage(world, reply, { kind, hash, comment, problem }, code);
      const said = comment.trim() === '' ? null : shortReason.safeParse(comment);
      if (said?.success === false) return again(words.commentLong, 422);
      // Who read the page meant that set: meanwhile another may stand there.
      if (kind === 'rollback' && form.set !== hash) return again(words.moved, 409);
      const who = signed({ by: session.name, via: 'api' }, said === null ? null : withoutCpf(said.data));
      try {
        const outcome = await { approve: approveSet, activate: activateSet, rollback: rollBack }[kind](
          rules,
          who,
          hash,
        );
        const { refusalText } = await made();
        const refusal = refusalText(shown, outcome);
        if (refusal !== null) return again(refusal, 409);
        const isLate = outcome.kind === 'announced' && outcome.late.length > 0;
        return reply.redirect(`/console/rules?notice=${isLate ? 'late' : outcome.kind}`, 303);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        return again(words.unsure, 503);
      }
    });
  }

  async function orderPage(
    { shown }: PageWorld,
    reply: FastifyReply,
    order: { kind: RuleOrderKind; hash: string; comment?: string; problem?: string },
    code = 200,
  ): Promise<FastifyReply> {
    const standing = await ruleStanding(rules);
    return send(reply, (await made()).ruleOrderPage(shown, { comment: '', problem: null, ...order, standing }), code);
  }

  /** The set that an order is about: the one that the address names, or where a rollback goes. */
  async function setOf(
    kind: RuleOrderKind,
    request: FastifyRequest,
  ): Promise<{ kind: 'found'; hash: string } | SetUnknown | { kind: 'none-before' }> {
    if (kind === 'rollback') {
      const { before } = await ruleStanding(rules);
      return before === null ? { kind: 'none-before' } : { kind: 'found', hash: before };
    }
    const word = wordIn(request);
    return word === null ? unknown : keptSet(rules, word);
  }

  async function setUnknown(
    reply: FastifyReply,
    { pages, shown }: PageWorld,
    outcome: SetUnknown | { kind: 'none-before' },
  ): Promise<FastifyReply> {
    const { refusalText } = await made();
    const text = refusalText(shown, outcome) ?? '';
    const isUnknown = outcome.kind === 'set-unknown';
    const title = isUnknown ? shown.texts.problem.unknown : shown.texts.rules.failed;
    return send(reply, pages.problemPage(shown, { title, text }), isUnknown ? 404 : 409);
  }
}

const unknown: SetUnknown = { kind: 'set-unknown' };

/** Null: nothing that names a set. */
function wordIn(request: FastifyRequest): string | null {
  const { set } = request.params as { set: string };
  return setForm.test(set) ? set : null;
}
