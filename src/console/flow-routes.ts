/** Pages of what follows a won bid, and the forms of its steps: read, checked, done and recorded as the API does it. */
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { unknownWinners } from '../bidding/unknown-winners.ts';
import type { FlowKind, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { ApiRole } from '../domain/roles.ts';
import { checkUntrusted } from '../domain/untrusted-value.ts';
import { createFlowReader, mostRead } from '../http/api/flow-reader.ts';
import type { FlowRouteParts } from '../http/api/flow-routes.ts';
import { createLine } from '../http/api/line.ts';
import { issueTexts, wholeFile } from '../http/api/remedies.ts';
import { readJson, stepAsked, withCarriedNumbers } from '../http/api/requests.ts';
import { eventParams, eventQuery, flowParams, flowQuery, stepBodies, workerBody } from '../http/api/schemas.ts';
import { createTurns } from '../http/api/turns.ts';
import { type EndingParts, thaw } from '../operating/endings.ts';
import { bidEndsOf, type DeadlineSettings } from '../origination/flow-deadlines.ts';
import { latestFlows } from '../origination/latest-flows.ts';
import { type StepSettings, waitsForPerson } from '../origination/next-steps.ts';
import { storedKey } from '../origination/orders.ts';
import { openedOnce } from '../origination/shown-flows.ts';
import { stepsOf } from '../origination/steps.ts';
import { isFinished } from '../origination/transitions.ts';
import { type QueriedBids, unorderedBids } from '../origination/unordered-bids.ts';
import { readResult } from '../origination/worker-reading.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.ts';
import {
  type ConsoleRoutes,
  type Form,
  forbidden,
  queryOf,
  type Session,
  send,
  unknownPage,
  wallTime,
} from './answers.ts';
import type { StepFault, StepField, Typed } from './flow-pages.ts';
import type { Shown } from './pages.ts';

export type FlowPagesParts = Omit<FlowRouteParts, 'guard'> &
  Pick<EndingParts, 'control' | 'partitionOf'> & {
    /** Bids of all partitions, for one look. `missing`: partitions that could not be asked by then; left out: all were. */
    bidsOfAll: () => QueriedBids & { missing?: () => readonly number[] };
    /** Of a step's form, which may carry a signature. */
    bodyLimitBytes: number;
    flowSettings: StepSettings & DeadlineSettings;
  };

const pageFlows = 50;
/** Of the flows that wait, on one page. */
const mostWaiting = 50;
/** The overview looks at as many flows as a page of the API may: one at a time, so that nobody keeps the process busy. */
const overviews = { atOnce: 1, longestWaitMs: 3_000 };
/** So long an answer waits for what becomes of a step. */
const stepPatienceMs = 2_000;
const stepPollMs = 50;
/** As in the API. */
const stepping: readonly ApiRole[] = ['operator', 'admin'];
const thawActions = ['retry', 'cancel'] as const;
const keyForm = /^[\w-]{1,100}$/;

export function addFlowPages({ page, action }: ConsoleRoutes, parts: FlowPagesParts): void {
  const { vault, clock, flowSettings: settings, front } = parts;
  const reader = createFlowReader(parts);
  const line = createLine(overviews);
  const turns = createTurns();
  const identityOf = ({ name }: Session) => ({ by: name, via: 'api' as const });

  page('/console/flows', async ({ pages, shown, session }, _request, reply) => {
    const { overviewPage } = await import('./flow-pages.ts');
    const looked = await line(session.name, overview);
    if (looked.kind === 'done') {
      const seen = { open: reader.openFor(session.role), settings, now: clock.now() };
      return send(reply, overviewPage(shown, looked.result, seen), 200);
    }
    const { unavailable } = shown.texts.problem;
    return send(reply, pages.problemPage(shown, { title: unavailable, text: shown.texts.requests.busy }), 503);
  });

  async function overview() {
    const query = { flow: null, phase: null, code: null, limit: mostRead, before: null };
    const { states, next } = await latestFlows(reader.flows, query, () => true, mostRead);
    const now = clock.now();
    const open = openedOnce(vault.open);
    const oldestFirst = states.sort((one, other) => one.startedAt - other.startedAt);
    const waiting = oldestFirst.filter((state) => waitsForPerson(state, settings, open, now));
    const isWaiting = new Set(waiting);
    const moving = oldestFirst.filter((state) => !isWaiting.has(state) && !isFinished(state.phase));
    const shown = { waiting: waiting.slice(0, mostWaiting), moving: moving.slice(0, mostWaiting) };
    const counts = new Map<FlowKind, Map<string, number>>();
    for (const { flow, phase } of states) {
      const ofFlow = counts.get(flow) ?? new Map<string, number>();
      counts.set(flow, ofFlow.set(phase, (ofFlow.get(phase) ?? 0) + 1));
    }
    const left = { waiting: waiting.length - shown.waiting.length, moving: moving.length - shown.moving.length };
    const bidEnds = await bidEndsOf(parts.views, [...shown.waiting, ...shown.moving]);
    const all = parts.bidsOfAll();
    const around = { unfolded: null, settings, open, now };
    const { bids, whole } = await unorderedBids({ views: all, flows: reader.flows }, around);
    const unordered = { bids, whole: whole && (all.missing?.() ?? []).length === 0 };
    return { ...shown, unordered, left, counts, bidEnds, counted: next === null ? null : states.length };
  }

  page('/console/flows/:kind', async ({ pages, shown, session }, request, reply) => {
    const { flowAt, listPage } = await import('./flow-pages.ts');
    const flow = flowAt((request.params as { kind: string }).kind);
    if (flow === null) return send(reply, unknownPage(pages, shown), 404);
    const query = queryOf(request);
    const given = Object.fromEntries(
      (['phase', 'before', 'waitsFor'] as const).flatMap((name) => (query[name] ? [[name, query[name]]] : [])),
    );
    const schema = flow === 'event' ? eventQuery : flowQuery(flow);
    const asked = schema.safeParse({ ...given, limit: pageFlows });
    const seen = { open: reader.openFor(session.role), settings, now: clock.now() };
    if (!asked.success) {
      const problem = shown.texts.flows.invalid;
      return send(reply, listPage(shown, { flow, given, found: null, winners: null, problem }, seen), 422);
    }
    const phase = asked.data.phase ?? (flow === 'event' ? 'unclaimed' : undefined);
    const found = await reader.page({ ...asked.data, flow, phase });
    const isFirst = flow === 'event' && phase === 'unclaimed' && given.before === undefined;
    const winners = isFirst ? await unknownWinners(parts) : null;
    return send(reply, listPage(shown, { flow, given, found, winners, problem: null }, seen), 200);
  });

  type Tried = { step: FlowStep | 'thaw' | 'results'; typed: Typed; faults: readonly StepFault[]; key: string };

  async function shownFlow(
    reply: FastifyReply,
    shown: Shown,
    { role }: Session,
    state: FlowState,
    { status, tried = null, notice = null }: { status: number; tried?: Tried | null; notice?: 'taken' | null },
  ): Promise<FastifyReply> {
    const { flowPage } = await import('./flow-pages.ts');
    const history = await reader.history(state, role);
    const events = await reader.waitingEvents(state, role);
    const bidEndsAt = (await bidEndsOf(parts.views, [state])).get(state.flowId) ?? null;
    const seen = { open: reader.openFor(role), settings, now: clock.now() };
    const around = { history, events, bidEndsAt, tried, notice, freshKey: randomUUID() };
    return send(reply, flowPage(shown, state, around, { ...seen, mayStep: stepping.includes(role) }), status);
  }

  /** Null: there is none of this kind with this id. */
  async function named(request: FastifyRequest): Promise<{ flow: FlowKind; state: FlowState } | null> {
    const { flowAt } = await import('./flow-pages.ts');
    const { kind } = request.params as { kind: string };
    const flow = flowAt(kind);
    if (flow === null) return null;
    const asked = (flow === 'event' ? eventParams : flowParams).safeParse(request.params);
    const state = asked.success ? await reader.find(flow, asked.data.flowId) : null;
    return state === null ? null : { flow, state };
  }

  page('/console/flows/:kind/:flowId', async ({ pages, shown, session }, request, reply) => {
    const found = await named(request);
    if (found === null) return noFlow(reply, pages, shown);
    const notice = queryOf(request).notice === 'taken' ? 'taken' : null;
    return shownFlow(reply, shown, session, found.state, { status: 200, notice });
  });

  action(
    '/console/flows/:kind/:flowId/steps/:step',
    async ({ pages, shown, session, form }, request, reply) => {
      if (!stepping.includes(session.role)) return forbidden(reply, pages, shown, stepping);
      const { askedByOther, flowAddress, stepFields } = await import('./flow-pages.ts');
      const found = await named(request);
      if (found === null) return noFlow(reply, pages, shown);
      const { flow, state } = found;
      const step = stepsOf(flow).find((each) => each === (request.params as { step: string }).step);
      if (step === undefined) return send(reply, unknownPage(pages, shown), 404);
      const key = form.key !== undefined && keyForm.test(form.key) ? form.key : randomUUID();
      const fields = stepFields(step);
      const again = (faults: readonly StepFault[], status: number, next: string = randomUUID()) =>
        shownFlow(reply, shown, session, state, { status, tried: { step, typed: typedIn(form), faults, key: next } });
      const read = readStep(step, fields, form, shown.texts.flows);
      if (read.kind === 'faults') return again(read.faults, 422);
      const other = step === 'cancel' ? askedByOther(state, session.name) : null;
      const isRepeated = state.steps.some(({ stepId }) => stepId === storedKey(vault, key));
      if (other !== null && form.of !== other.by && !isRepeated)
        return again([{ field: null, name: null, text: shown.texts.flows.needsOf(other.by) }], 422);
      const who = identityOf(session);
      const asked = stepAsked(step, read.body as never);
      const result = await turns(`${state.flowId}\n${key}`, () => front.ask(state.flowId, { ...who, key }, asked));
      switch (result.kind) {
        case 'written':
          // Sent again with the same key it says what became of it.
          return again([{ field: null, name: null, text: shown.texts.flows.late }], 503, key);
        case 'refused': {
          const faults = result.breaches.map(({ field, problem }) => faultAt(fields, field, problem));
          return again(faults, result.problem === 'breach' ? 422 : result.problem === 'not-found' ? 404 : 409);
        }
        case 'taken':
        case 'known':
          await ended(flow, state.flowId, storedKey(vault, key));
          return reply.redirect(`${flowAddress(state)}?notice=taken`, 303);
        default:
          return result satisfies never;
      }
    },
    parts.bodyLimitBytes,
  );

  /** What becomes of most steps is known at once; what is not is shown as under way. */
  async function ended(flow: FlowKind, flowId: string, stepId: string): Promise<void> {
    for (const untilMs = clock.monotonicMs() + stepPatienceMs; clock.monotonicMs() < untilMs; ) {
      const step = (await reader.find(flow, flowId))?.steps.find((each) => each.stepId === stepId);
      if (step === undefined || step.outcome !== 'pending') return;
      await new Promise<void>((resolve) => void clock.after(stepPollMs, resolve));
    }
  }

  action('/console/flows/:kind/:flowId/thaw', async ({ pages, shown, session, form }, request, reply) => {
    if (!stepping.includes(session.role)) return forbidden(reply, pages, shown, stepping);
    const { flowAddress } = await import('./flow-pages.ts');
    const found = await named(request);
    if (found === null) return noFlow(reply, pages, shown);
    const { flow, state } = found;
    const again = (fault: StepFault, status: number) =>
      shownFlow(reply, shown, session, state, {
        status,
        tried: { step: 'thaw', typed: typedIn(form), faults: [fault], key: '' },
      });
    const reason = reasonIn(form);
    if (reason.kind === 'faults') return again(reason.faults[0]!, 422);
    const { frozen } = shown.texts.flows;
    const action = thawActions.find((each) => each === form.action);
    if (action === undefined) return again({ field: null, name: null, text: frozen.choose }, 422);
    const order = { of: flow, id: state.flowId, action, reason: withoutCpf(reason.reason) };
    const outcome = await thaw(parts, identityOf(session), order);
    if (outcome.kind === 'done' || outcome.kind === 'stored' || outcome.kind === 'late')
      return reply.redirect(`${flowAddress(state)}?notice=taken`, 303);
    if (outcome.kind === 'unknown') return noFlow(reply, pages, shown);
    const text = outcome.kind === 'still' ? frozen.still(outcome.problem) : frozen.not;
    return again({ field: null, name: null, text }, 409);
  });

  /** Recorded before it is shown: who cannot be recorded sees nothing. */
  action('/console/flows/:kind/:flowId/results/:operation', async ({ pages, shown, session, form }, request, reply) => {
    if (!stepping.includes(session.role)) return forbidden(reply, pages, shown, stepping);
    const { resultPage } = await import('./flow-pages.ts');
    const found = await named(request);
    if (found === null) return noFlow(reply, pages, shown);
    const { state } = found;
    const reason = reasonIn(form);
    if (reason.kind === 'faults') {
      const tried = { step: 'results', typed: typedIn(form), faults: reason.faults, key: '' } as const;
      return shownFlow(reply, shown, session, state, { status: 422, tried });
    }
    const what = (request.params as { operation: string }).operation;
    const result = await readResult(parts, state, { what, who: identityOf(session), reason: reason.reason });
    if (result === null) return send(reply, unknownPage(pages, shown), 404);
    return send(reply, resultPage(shown, state, { what, ...result }, settings), 200);
  });
}

function noFlow(reply: FastifyReply, pages: typeof import('./pages.ts'), shown: Shown): FastifyReply {
  const { unknown } = shown.texts.problem;
  return send(reply, pages.problemPage(shown, { title: unknown, text: shown.texts.flows.unknown }), 404);
}

/** Why something is ordered or read: as the API takes it. */
function reasonIn(form: Form): { kind: 'reason'; reason: string } | { kind: 'faults'; faults: readonly StepFault[] } {
  const body = { reason: withLineEnds(form.reason ?? '') };
  const read = workerBody.safeParse(body);
  if (read.success) return { kind: 'reason', reason: read.data.reason };
  return {
    kind: 'faults',
    faults: issueTexts(read.error, body, workerBody).map(([, text]) => ({ field: 'reason', name: null, text })),
  };
}

/** The body of a step as the API takes it, from what was typed into its form; checked by the same schema. */
function readStep(
  step: FlowStep,
  fields: readonly StepField[],
  form: Form,
  words: Shown['texts']['flows'],
): { kind: 'body'; body: unknown } | { kind: 'faults'; faults: readonly StepFault[] } {
  const schema = stepBodies[step];
  const faults: StepFault[] = [];
  let body: Record<string, unknown> = {};
  for (const field of fields) {
    const typed = withLineEnds(form[field] ?? '');
    if (typed.trim() === '' && field !== 'reason') continue;
    switch (field) {
      case 'reason':
        body.reason = typed;
        break;
      case 'requestCode':
        body.requestCode = typed.trim();
        break;
      case 'figures':
      case 'late':
      case 'despiteEvents':
      case 'despiteRenegotiation':
        body[field] = true;
        break;
      case 'signedAt': {
        const at = wallTime(typed);
        body.signedAt = Number.isNaN(at) ? typed : new Date(at).toISOString();
        break;
      }
      case 'content':
      case 'fields': {
        const read = readJson(typed);
        if (read.kind === 'unreadable') faults.push({ field, name: null, text: words.notJson });
        else if (field === 'content') body.content = carried(read.value, typed);
        else if (isJsonObject(read.value)) body = { ...read.value };
        else faults.push({ field, name: null, text: words.notJson });
        break;
      }
      default:
        field satisfies never;
    }
  }
  if (faults.length > 0) return { kind: 'faults', faults };
  const checked = checkUntrusted(body, (given) => schema.safeParse(given));
  if (checked.success) return { kind: 'body', body: checked.data };
  const texts = issueTexts(checked.error, body, schema);
  return { kind: 'faults', faults: texts.map(([field, text]) => faultAt(fields, field, text)) };
}

/** What goes to the service as it came keeps every digit. */
function carried(content: JsonValue, text: string): JsonValue {
  const wrapped = withCarriedNumbers({ content }, `{"content":${text}}`) as JsonObject;
  return wrapped.content!;
}

/** Beside the field of the form that the refused part was typed into; null: it is in none of them. */
function faultAt(fields: readonly StepField[], path: string, text: string): StepFault {
  const [first = ''] = path.split(/[.[]/, 1);
  const field = fields.find((each) => each === first) ?? fields.find((each) => each === 'fields') ?? null;
  return { field, name: path === field || path === wholeFile ? null : path, text };
}

/** As it goes into the form again. */
function typedIn(form: Form): Typed {
  return Object.fromEntries(Object.entries(form).map(([name, text = '']) => [name, withLineEnds(text)]));
}

/** A browser sends the ends of lines as CR and LF. */
function withLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
