/** Pages of how the process runs, and the orders of them: dead letters read again, tokens revoked; read and done as the API does it. */
import { readFile } from 'node:fs/promises';
import type { FastifyReply } from 'fastify';
import type { EventLog, Views } from '../bidding/ports.ts';
import type { ApiRole } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import type { BidRouteParts } from '../http/api/bid-routes.ts';
import { createLine } from '../http/api/line.ts';
import { issueTexts } from '../http/api/remedies.ts';
import { letterQuery, replayBody } from '../http/api/schemas.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import { listLetters, type Replay, replayLetters } from '../http/letters.ts';
import { listTokens, revokeToken, type TokenParts, type TokenWatch } from '../operating/tokens.ts';
import type { FlowStore } from '../origination/ports.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type ConsoleRoutes, type Form, forbidden, queryOf, type Session, send, unknownPage } from './answers.ts';
import type { AlarmCount, CheckShown, PartitionShown, ReplayTried, StandingShown } from './operations-pages.ts';
import type { Shown } from './pages.ts';

export type OperationsParts = TokenParts &
  Pick<BidRouteParts, 'append' | 'vault' | 'mapping' | 'readBody' | 'replayLimit' | 'onReplay'> & {
    log: Pick<EventLog, 'read' | 'ends'>;
    /** Of the partitions that are folded here. */
    heldBids: Pick<Views, 'applied' | 'missing'>;
    /** How far others are folded, as far as could be asked. */
    appliedElsewhere: () => Promise<ReadonlyMap<number, number>>;
    flows: Pick<FlowStore, 'applied' | 'own'>;
    tokenWatch: Pick<TokenWatch, 'look'>;
    status: () => DaemonStatus;
    /** What `/readyz` asks, with what is said where nothing is missing. */
    checksNow: () => readonly CheckShown[];
    /** What the checks say in words, as figures. */
    standingNow: () => StandingShown;
    alarms: () => Promise<readonly AlarmCount[]>;
  };

/** As in the API. */
const seeingLetters: readonly ApiRole[] = ['risk', 'operator', 'admin'];
const administering: readonly ApiRole[] = ['admin'];
/** A letter may be as long as a webhook: one page at a time is opened and parsed. */
const lettersLooks = { atOnce: 1, longestWaitMs: 10_000 };
const pageLetters = 50;
const runbooks = new URL('../../docs/runbooks.md', import.meta.url);
const replayFields = ['partition', 'from', 'count', 'reason'] as const;

export function addOperationsPages({ page, action }: ConsoleRoutes, parts: OperationsParts): void {
  const { log, heldBids, flows, vault, mapping, clock, status, checksNow, alarms } = parts;
  const line = createLine(lettersLooks);
  const identityOf = ({ name }: Session) => ({ by: name, via: 'api' as const });

  page('/console/operations', async ({ shown, session }, _request, reply) => {
    const { operationsPage } = await import('./operations-pages.ts');
    const facts = {
      ...{
        status: status(),
        checks: checksNow(),
        standing: parts.standingNow(),
        alarms: await alarms(),
        partitions: await partitionsNow(),
      },
      seesLetters: seeingLetters.includes(session.role),
      seesTokens: administering.includes(session.role),
    };
    return send(reply, operationsPage(shown, facts), 200);
  });

  /** Null where the store is away: the rest of the page is what is needed then. */
  async function partitionsNow(): Promise<readonly PartitionShown[] | null> {
    const elsewhere = new Set(heldBids.missing?.());
    const topics = [
      { topic: 'auctions', applied: heldBids.applied, elsewhere },
      // Whoever has files of flows has those of all partitions.
      { topic: 'flows', applied: flows.applied, elsewhere: flows.own === undefined ? elsewhere : new Set<number>() },
    ] as const;
    try {
      const found: PartitionShown[] = [];
      const others = elsewhere.size === 0 ? null : await parts.appliedElsewhere();
      for (const { topic, applied, elsewhere } of topics) {
        const ends = [...(await log.ends(topic))].sort(([one], [other]) => one - other);
        for (const [partition, end] of ends) {
          const isHere = !elsewhere.has(partition);
          const known = topic === 'auctions' ? (others?.get(partition) ?? null) : null;
          found.push({ topic, partition, end, applied: isHere ? await applied(partition) : known, isHere });
        }
      }
      return found;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return null;
    }
  }

  page('/console/runbooks', async ({ shown }, _request, reply) => {
    const { runbookPage } = await import('./operations-pages.ts');
    const text = await readFile(runbooks, 'utf8').catch(() => null);
    return send(reply, runbookPage(shown, text), 200);
  });

  type Around = { status: number; replay?: Replay | null; tried?: ReplayTried | null };

  async function shownLetters(
    reply: FastifyReply,
    { shown, session, pages }: { shown: Shown; session: Session; pages: typeof import('./pages.ts') },
    asked: { partition: number | null; from: number },
    { status: code, replay = null, tried = null }: Around,
  ): Promise<FastifyReply> {
    const { lettersPage } = await import('./operations-pages.ts');
    const looked = await line(session.name, () =>
      listLetters(log, { ...asked, count: pageLetters }, { vault, mapping }),
    );
    if (looked.kind === 'not-done') {
      const { unavailable } = shown.texts.problem;
      return send(reply, pages.problemPage(shown, { title: unavailable, text: shown.texts.requests.busy }), 503);
    }
    const { letters, next, end, more } = looked.result;
    const goesOn =
      asked.partition === null ? (more ?? null) : next < end ? { partition: asked.partition, from: next } : null;
    const mayReplay = administering.includes(session.role);
    const around = { replay, tried, mayReplay, most: parts.replayLimit };
    return send(reply, lettersPage(shown, { ...asked, letters, more: goesOn }, around), code);
  }

  page('/console/operations/letters', async (world, request, reply) => {
    const { pages, shown, session } = world;
    if (!seeingLetters.includes(session.role)) return forbidden(reply, pages, shown, seeingLetters);
    const { partition, from } = queryOf(request);
    const given = { ...(partition ? { partition } : {}), ...(from ? { from } : {}) };
    const asked = letterQuery.safeParse(given);
    if (!asked.success) return send(reply, unknownPage(pages, shown), 404);
    return shownLetters(reply, world, asked.data, { status: 200 });
  });

  action('/console/operations/letters/replay', async ({ form, ...world }, _request, reply) => {
    const { pages, shown, session } = world;
    if (!administering.includes(session.role)) return forbidden(reply, pages, shown, administering);
    const first = { partition: null, from: 0 };
    const again = (faults: ReplayTried['faults']) =>
      shownLetters(reply, world, first, { status: 422, tried: { typed: form, faults } });
    const body = replayIn(form);
    const asked = replayBody.safeParse(body);
    if (!asked.success) {
      const texts = issueTexts(asked.error, body, replayBody);
      const { saidText } = await import('../cli/flows.ts');
      return again(
        texts.map(([path, text]) => ({
          field: replayFields.find((each) => each === path) ?? null,
          text: saidText(shown.format, path, text),
        })),
      );
    }
    const { partition, from, count, reason } = asked.data;
    if (count > parts.replayLimit)
      return again([{ field: 'count', text: shown.texts.operations.letters.tooMany(String(parts.replayLimit)) }]);
    const order = { ...identityOf(session), reason: reason === null ? null : withoutCpf(reason) };
    const replay = await replayLetters({ ...parts, log }, { partition, from, count }, order);
    parts.onReplay(order, replay);
    return shownLetters(reply, world, { partition, from }, { status: 200, replay });
  });

  page('/console/operations/tokens', async ({ pages, shown, session }, request, reply) => {
    if (!administering.includes(session.role)) return forbidden(reply, pages, shown, administering);
    const { tokensPage } = await import('./operations-pages.ts');
    const { notice: told } = queryOf(request);
    const notice = told === 'revoked' || told === 'revoked-before' ? told : null;
    return send(reply, tokensPage(shown, await listTokens(parts), { now: clock.now(), notice }), 200);
  });

  action('/console/operations/tokens/:id/revoke', async ({ pages, shown, session }, request, reply) => {
    if (!administering.includes(session.role)) return forbidden(reply, pages, shown, administering);
    const { id } = request.params as { id: string };
    const outcome = await revokeToken(parts, identityOf(session), id);
    if (outcome.kind === 'token-unknown') return send(reply, unknownPage(pages, shown), 404);
    await parts.tokenWatch.look();
    return reply.redirect(`/console/operations/tokens?notice=${outcome.kind}`, 303);
  });
}

/** The body as the API takes it; what is no number stays a text, which the schema refuses. The reason is asked for here. */
function replayIn(form: Form): Record<string, unknown> {
  const number = (text: string) => (/^\d{1,16}$/.test(text.trim()) ? Number(text.trim()) : text);
  const { partition = '', from = '', count = '', reason = '' } = form;
  return {
    ...(partition.trim() === '' ? {} : { partition: number(partition) }),
    ...{ from: number(from), count: number(count), reason: reason.replaceAll('\r\n', '\n') },
  };
}
