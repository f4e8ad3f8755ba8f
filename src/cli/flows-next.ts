/** `lance contracts next`: every flow that waits for a person, the oldest first, with what it needs and the command to give it. */
import type { FlowKind, FlowRecord, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { stepBodies } from '../http/api/schemas.ts';
import { bidEndsOf, type DeadlineSettings, deadlinesOf } from '../origination/flow-deadlines.ts';
import { latestFlows } from '../origination/latest-flows.ts';
import { withLostBids } from '../origination/lost-bids.ts';
import { needsKnownPerson, type StepSettings, waitsFor, waitsForPerson } from '../origination/next-steps.ts';
import type { OpenSealed } from '../origination/shown-flows.ts';
import { needsCode } from '../origination/steps.ts';
import { readUnfolded } from '../origination/unfolded.ts';
import { withoutCpfs } from '../wire/hidden-cpf.ts';
import {
  commandOf,
  deadlineTexts,
  namedStep,
  openWith,
  phaseText,
  stepRequest,
  waitingText,
  whyText,
} from './flows.ts';
import type { Format } from './format.ts';
import { proseText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

/**
 * What one of them needs: a step, or `retry` and `cancel` where it is frozen. `command` null: only somebody who is known by a token
 * or a log-in may ask for it, over the API (`request`).
 */
type Need = { step: string; command: string; request: null } | { step: string; command: null; request: string };
/** What whoever looks may see, and by what a step is refused. */
type Seen = {
  open: OpenSealed;
  settings: StepSettings & DeadlineSettings;
  now?: EpochMs;
  /** When their bids expire, by the flow's id; absent: not known. */
  bidEnds?: ReadonlyMap<string, EpochMs>;
  /** What was handed in of each and no desk has read, and where the flow stands with it; absent: nothing. */
  handedIn?: ReadonlyMap<string, HandedIn>;
};
type HandedIn = { records: readonly FlowRecord[]; state: FlowState };
type Fields = Format['texts']['flows']['next']['fields'];

/** Where a flow is asked about; of events nothing is asked but to close them. */
function kindOf(flow: FlowKind): string {
  return flow === 'event' ? 'events' : commandOf[flow];
}

export async function listNext(world: CommandWorld, { limit, json }: { limit: number; json: boolean }): Promise<void> {
  const { terminal, format } = world;
  const { next: texts } = format.texts.flows;
  await withReader(world, async ({ flows: stored, log, views }, place) => {
    const flows = withLostBids(stored, views);
    const open = openWith(world, place);
    const settings = place.flows;
    const now = world.clock.now();
    const isShown = (state: FlowState) => waitsForPerson(state, settings, open, now);
    const unfolded = await readUnfolded({ flows, log });
    const begun = (await unfolded.begun()).filter(isShown);
    const all = { flow: null, phase: null, code: null, limit: Number.MAX_SAFE_INTEGER, before: null };
    const { states } = await latestFlows(flows, all, isShown);
    const waiting = [...states, ...begun].sort((one, other) => one.startedAt - other.startedAt);
    const shown = waiting.slice(0, limit);
    const handedIn = new Map<string, HandedIn>();
    for (const { flowId } of shown) {
      const { records, state } = await unfolded.read(flowId);
      if (records.length > 0 && state !== null) handedIn.set(flowId, { records, state });
    }
    const ahead = shown.map((state) => handedIn.get(state.flowId)?.state ?? state);
    const bidEnds = await bidEndsOf(views, ahead);
    const seen = { open, settings, now, handedIn, bidEnds };
    if (json) {
      for (const state of shown) {
        const { flowId, flow, phase, startedAt, changedAt, frozen } = state;
        const facts = {
          flowId: hidden(flowId, open),
          flow,
          phase,
          startedAt,
          changedAt,
          isFrozen: frozen !== undefined,
        };
        const asked = (handedIn.get(flowId)?.records ?? []).flatMap((record) =>
          record.kind === 'asked' ? [{ step: record.step, by: record.by, at: record.at }] : [],
        );
        const needs = needsOf(state, texts.fields, seen);
        const deadlines = deadlinesOf(handedIn.get(flowId)?.state ?? state, settings, bidEnds.get(flowId) ?? null);
        terminal.write(JSON.stringify({ ...facts, handedIn: asked, needs, deadlines }));
      }
      return;
    }
    terminal.write(shown.length === 0 ? texts.none : nextText(format, shown, seen));
    if (waiting.length > shown.length) terminal.say(texts.more(waiting.length - shown.length));
    if (shown.some(({ frozen }) => frozen === undefined)) terminal.say(texts.fieldsFrom);
  });
}

export function nextText(format: Format, states: readonly FlowState[], seen: Seen): string {
  const { open, handedIn, settings, now, bidEnds } = seen;
  const { flows: texts, freeze } = format.texts;
  const paragraphs = states.map((state) => {
    const { flowId, startedAt, changedAt } = state;
    const asked = handedIn?.get(flowId);
    const ahead = asked?.state ?? state;
    const phase = phaseText(texts, state, 'short');
    const [begun, changed] = [startedAt, changedAt].map(format.minute) as [string, string];
    const head = texts.next.head(
      hidden(flowId, open),
      state.frozen === undefined ? phase : `${phase} (${freeze.mark})`,
      changed,
      begun === changed ? null : begun,
    );
    const waiting = (asked?.records ?? [])
      .flatMap((record) => waitingText(format, record))
      .map((what) => proseText(`  ${texts.next.handedIn(what)}`, width));
    const needs = needsOf(state, texts.next.fields, seen).flatMap(({ step, command, request }) => {
      const named =
        ahead.frozen === undefined
          ? namedStep(texts, ahead, step as FlowStep)
          : texts.next.thaws[step as 'retry' | 'cancel'];
      if (command === null) return [proseText(`  ${named}: ${texts.knownPerson(request)}`, width)];
      return [proseText(`  ${named}:`, width), brokenCommand(command)];
    });
    const around = { settings, now: now ?? ahead.changedAt, bidEndsAt: bidEnds?.get(flowId) ?? null };
    const until = deadlineTexts(format, ahead, around).map((text) => proseText(`  ${text}`, width));
    const reason = ahead.frozen === undefined ? whyText(format, ahead, seen) : null;
    // A note that was told more than once has a line for each.
    const why =
      reason === null
        ? []
        : hidden(reason, open)
            .split('\n')
            .map((line) => proseText(`  ${line}`, width));
    return [proseText(head, width), ...why, ...waiting, ...until, ...needs].join('\n');
  });
  return paragraphs.join('\n\n');
}

/** Asked for without any field they do what is mostly meant. */
const fieldless: ReadonlySet<FlowStep> = new Set(['simulation', 'proposal', 'installments', 'finalisation']);

function needsOf(found: FlowState, fields: Fields, { open, settings, now, handedIn }: Seen): readonly Need[] {
  const state = handedIn?.get(found.flowId)?.state ?? found;
  const { flow, frozen } = state;
  const flowId = hidden(state.flowId, open);
  const { name, reason } = fields;
  if (frozen !== undefined) {
    return ['retry', 'cancel'].map((step) => {
      const command = `lance ${kindOf(flow)} ${step} ${flowId} --by ${name} --reason ${reason}`;
      return { step, command, request: null };
    });
  }
  return waitsFor(state, settings, open, now).map((step) => {
    if (needsKnownPerson(state, step)) return { step, command: null, request: hidden(stepRequest(state, step), open) };
    const needsFile = step === 'confirm' && needsCode(state);
    const takesReason = !needsFile && stepBodies[step].safeParse({ reason: 'x' }).success;
    const given = fieldless.has(step) ? '' : takesReason ? ` --reason ${reason}` : ` --file ${fields.file}`;
    return { step, command: `lance ${kindOf(flow)} step ${flowId} ${step}${given} --by ${name}`, request: null };
  });
}

function hidden(text: string, open: OpenSealed): string {
  return open === null ? withoutCpfs(text) : text;
}

/** Of the narrowest terminal that people use. */
const width = 80;

/** Broken before an option, so that it can be copied as it stands. */
function brokenCommand(command: string): string {
  const [indent, further] = ['    ', '      '];
  const lines: string[] = [];
  for (const part of command.split(/ (?=--)/)) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(indent + part);
    else if (last.length + part.length + 3 <= width) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(further + part);
  }
  return lines.join(' \\\n');
}
