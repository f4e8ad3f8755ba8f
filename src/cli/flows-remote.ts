/** Starts and steps of flows, and what the service answered, through the operator API of a running desk: in the name of the token. */
import { randomUUID } from 'node:crypto';
import type { FlowStep } from '../domain/flow-records.ts';
import { Fault } from '../errors.ts';
import { wait } from '../operating/living.ts';
import { askedLast } from '../origination/steps.ts';
import type { FlowToldByDesk, RemoteDesk } from './desk-control.ts';
import type { StartedKind } from './flows.ts';
import { proseText } from './terminal.ts';
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
