/** Flows through the operator API of a running desk, in the name of the token: started, taken a step, listed and shown. */
import { randomUUID } from 'node:crypto';
import type { FlowKind, FlowStep } from '../domain/flow-records.ts';
import { flowPhases } from '../domain/flow-states.ts';
import { Fault } from '../errors.ts';
import { waitsForAnybody } from '../http/api/schemas.ts';
import { wait } from '../operating/living.ts';
import { askedLast } from '../origination/steps.ts';
import type { FlowShown, FlowsTold, FlowToldByDesk, RemoteDesk } from './desk-control.ts';
import type { StartedKind } from './flows.ts';
import type { Format } from './format.ts';
import { labelledText, proseText, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

/** How long a command waits for what becomes of its step. */
const patienceMs = 5_000;
const pollMs = 250;

/** A key of its own where none is given: then asking again is asking anew. */
type Asked = { key: string | undefined; json: boolean };

/** `text`: the order as JSON. */
export async function startThere(
  { terminal, format }: CommandWorld,
  desk: RemoteDesk,
  flow: StartedKind,
  { text, key, json }: Asked & { text: string },
): Promise<void> {
  const { flows: texts } = format.texts;
  const { told, isNew } = await desk.startFlow(flow, key ?? randomUUID(), text);
  if (json) terminal.write(JSON.stringify(told));
  else terminal.write(proseText(texts[isNew ? 'taken' : 'known'](told.flowId, texts.phases[told.phase])));
}

/** `text`: the fields as JSON. `of`: whose flow is cancelled. Sets the exit code where the step failed. */
export async function stepThere(
  world: CommandWorld,
  desk: RemoteDesk,
  flow: StartedKind | 'event',
  {
    flowId,
    step,
    of,
    text,
    key = randomUUID(),
    json,
  }: Asked & { flowId: string; step: FlowStep; of: string | undefined; text: string },
): Promise<void> {
  const { terminal, format, clock } = world;
  const { flows: texts } = format.texts;
  // An event has no page of its own.
  if (step === 'cancel' && flow !== 'event')
    refuseOther(world, await desk.flow(flow, flowId), { key, of, ...(await desk.owner()) });
  let { told, isNew } = await desk.stepFlow(flow, { flowId, step }, key, text);
  const stepId = told.steps.some((taken) => taken.stepId === key)
    ? key
    : told.steps.findLast((taken) => taken.step === step)?.stepId;
  const outcome = () => told.steps.find((taken) => taken.stepId === stepId)?.outcome ?? 'pending';
  const untilMs = clock.monotonicMs() + patienceMs;
  while (isNew && flow !== 'event' && outcome() === 'pending' && clock.monotonicMs() < untilMs) {
    await wait(clock, pollMs);
    told = await desk.flow(flow, flowId);
  }
  const ended = outcome();
  if (ended !== 'pending' && ended !== 'done') process.exitCode = 1;
  const phase = texts.phases[told.phase];
  if (json) terminal.write(JSON.stringify(told));
  else if (!isNew) terminal.write(proseText(texts.known(flowId, phase)));
  else if (ended === 'pending') terminal.write(proseText(texts.underWay(flowId, step, phase)));
  else terminal.write(proseText(texts.ended(flowId, step, texts.outcomes[ended], phase)));
}

/** As beside the store: one name that is typed wrongly must not end what a colleague is working on. */
function refuseOther(
  { format }: CommandWorld,
  told: FlowToldByDesk,
  { key, of, owner }: { key: string; of: string | undefined; owner: string },
): void {
  const { flows: texts } = format.texts;
  if (told.steps.some((taken) => taken.stepId === key)) return;
  const last = askedLast(told);
  if (last === null || last.by === owner || last.by === of) return;
  const asked = last.step === null ? texts.ordered : texts.step(last.step);
  const said = texts.askedLast(last.by, format.minute(last.at), asked);
  const typed = /^[\w.@-]+$/.test(last.by) ? last.by : JSON.stringify(last.by);
  throw new Fault('not-allowed', `${texts.cancelsOther(told.flowId, texts.phases[told.phase], said)} --of ${typed}`);
}

/** The latest first, at most `limit`. Throws `not-allowed` for a search by CPF, which no address carries. */
export async function listThere(
  { terminal, format }: CommandWorld,
  desk: RemoteDesk,
  flow: FlowKind,
  asked: { json: boolean; limit: number; phase: string | null; waiting: boolean; cpf?: string },
): Promise<void> {
  const { flows: texts, list } = format.texts;
  if (asked.cpf !== undefined) throw new Fault('not-allowed', list.cpfNotAsked);
  const found: FlowShown[] = [];
  const winners: unknown[] = [];
  for (let before: string | null = null; found.length < asked.limit; ) {
    const limit = Math.min(asked.limit - found.length, mostAtOnce);
    const phase = asked.phase ?? undefined;
    // Events wait for nobody but for the one who closes them.
    const waitsFor = asked.waiting && flow !== 'event' ? waitsForAnybody : undefined;
    const page: FlowsTold = await desk.flows(flow, { phase, waitsFor, limit, before });
    found.push(...page.flows.filter((told) => flow !== 'event' || !asked.waiting || told.waitsFor.length > 0));
    winners.push(...(page.unknownWinners ?? []));
    before = page.next;
    if (before === null) break;
  }
  if (asked.json) {
    for (const told of found) terminal.write(JSON.stringify(told));
    for (const winner of winners.slice(0, asked.limit)) terminal.write(JSON.stringify({ unknownWinner: winner }));
    return;
  }
  if (found.length === 0) terminal.write(flow === 'event' ? texts.noEvents : texts.empty);
  else {
    const { columns } = texts;
    const names = ['flow', 'phase', 'waits', 'begun', 'by', 'worker', 'amount', 'about'] as const;
    const rows = found.map((told) => {
      const cells = cellsOf(format, told);
      return names.map((name) => cells[name] ?? format.texts.none);
    });
    terminal.write(
      tableText(
        names.map((name) => columns[name]),
        rows,
        { whole: [0], spare: [4, 7] },
      ),
    );
  }
  if (winners.length > 0) terminal.say(proseText(texts.winnersThere(winners.length)));
}

/** Of the narrowest terminal that people use. */
const shownWidth = 80;

/** `said`: a problem in the words of the reader. Of events there is a list alone, so one is looked for in it. Throws `not-found`. */
export async function showThere(
  { terminal, format }: CommandWorld,
  desk: RemoteDesk,
  flow: FlowKind,
  { flowId, json, said }: { flowId: string; json: boolean; said: (field: string, problem: string) => string },
): Promise<void> {
  const { flows: texts } = format.texts;
  const told = flow === 'event' ? await eventThere(format, desk, flowId) : await desk.shownFlow(flow, flowId);
  if (json) return terminal.write(JSON.stringify(told));
  const cells = cellsOf(format, told);
  const { columns, facts } = texts;
  terminal.write(
    labelledText(
      [
        ...(['flow', 'phase', 'waits', 'begun', 'by', 'worker', 'amount', 'about'] as const).map(
          (name) => [columns[name], cells[name]] as const,
        ),
        [facts.errors!, told.errors.join('; ') || null],
        [
          facts.breaches!,
          told.breaches.map(({ field, rule, problem }) => `${field} (${rule}): ${said(field, problem)}`).join('; ') ||
            null,
        ],
        ...told.steps.map(
          ({ step, by, at, outcome }) =>
            [
              format.minute(at),
              `${texts.step(step)}, ${by}: ${texts.endings[outcome as keyof typeof texts.endings]}`,
            ] as const,
        ),
      ],
      shownWidth,
    ),
  );
  terminal.say(proseText(texts.toldThere));
}

async function eventThere(format: Format, desk: RemoteDesk, flowId: string): Promise<FlowShown> {
  for (const phase of flowPhases.event) {
    for (let before: string | null = null; ; ) {
      const page: FlowsTold = await desk.flows('event', { phase, waitsFor: undefined, limit: mostAtOnce, before });
      const found = page.flows.find((told) => told.flowId === flowId);
      if (found !== undefined) return found;
      before = page.next;
      if (before === null) break;
    }
  }
  throw new Fault('not-found', format.texts.flows.notFound(flowId));
}

/** What the API takes at most. */
export const mostAtOnce = 200;

/** Null: nothing is to be said. */
function cellsOf(format: Format, told: FlowShown) {
  const { flows: texts } = format.texts;
  const cents = told.releasedCents ?? told.amountCents;
  return {
    flow: told.flowId,
    phase:
      told.frozen === null ? texts.phases[told.phase] : `${texts.phases[told.phase]} (${format.texts.freeze.mark})`,
    waits: told.waitsFor.map((step) => texts.step(step)).join(', ') || null,
    begun: format.minute(told.startedAt),
    by: told.by,
    worker: told.worker,
    amount: cents === null ? null : format.money(cents),
    about: told.requestId ?? told.closedContract ?? told.proposalCode ?? told.requestCode,
  };
}
