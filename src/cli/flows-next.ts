/**
 * `lance contracts next`: every flow and event that waits for a person, the oldest first, and won bids whose contract nobody has
 * ordered, each with what it needs and the command to give it.
 */
import { type UnknownWinners, unknownWinners } from '../bidding/unknown-winners.ts';
import type { FlowKind, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { stepBodies, waitsForAnybody } from '../http/api/schemas.ts';
import { living } from '../operating/living.ts';
import { bidEndsOf, type DeadlineSettings, deadlinesOf } from '../origination/flow-deadlines.ts';
import { lateSuccessOf } from '../origination/late-successes.ts';
import { latestFlows } from '../origination/latest-flows.ts';
import { withLostBids } from '../origination/lost-bids.ts';
import {
  kindsToAccept,
  needsKnownPerson,
  type StepSettings,
  waitsFor,
  waitsForPerson,
} from '../origination/next-steps.ts';
import type { OpenSealed } from '../origination/shown-flows.ts';
import { fieldless, needsCode } from '../origination/steps.ts';
import { isFinished } from '../origination/transitions.ts';
import { askedIn, readUnfolded, type UnreadFlow } from '../origination/unfolded.ts';
import { type UnorderedBid, unorderedBids } from '../origination/unordered-bids.ts';
import { withoutCpfs } from '../wire/hidden-cpf.ts';
import { type FlowShown, type FlowsTold, type RemoteDesk, remoteDesk } from './desk-control.ts';
import {
  commandOf,
  deadlineTexts,
  namedWay,
  openWith,
  phaseText,
  stepRequest,
  waitingText,
  whyText,
  wordOf,
} from './flows.ts';
import { mostAtOnce } from './flows-remote.ts';
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
  handedIn?: ReadonlyMap<string, Pick<UnreadFlow, 'records' | 'state'> & { row?: FlowState | null }>;
};
type Fields = Format['texts']['flows']['next']['fields'];

/** Where a flow is asked about; of events nothing is asked but to close them. */
function kindOf(flow: FlowKind): string {
  return flow === 'event' ? 'events' : commandOf[flow];
}

export async function listNext(world: CommandWorld, { limit, json }: { limit: number; json: boolean }): Promise<void> {
  const { terminal, format } = world;
  const { next: texts } = format.texts.flows;
  const desk = await remoteDesk(world, {});
  if (desk !== null) return nextThere(world, desk, { limit, json });
  await withReader(world, async ({ flows: stored, log, views, control }, place) => {
    const flows = withLostBids(stored, views);
    const open = openWith(world, place);
    const settings = place.flows;
    const now = world.clock.now();
    const unfolded = await readUnfolded({ flows, log });
    const unread = await unfolded.unread();
    const asked = [...unread.values()].filter(({ records }) => askedIn(records).length > 0);
    const isAsked = new Set(asked.map(({ state }) => state.flowId));
    const isWaiting = (state: FlowState) =>
      waitsForPerson(unread.get(state.flowId)?.state ?? state, settings, open, now);
    const moving: FlowState[] = [];
    const all = { flow: null, phase: null, code: null, limit: Number.MAX_SAFE_INTEGER, before: null };
    const { states } = await latestFlows(flows, all, (state) => {
      if (isAsked.has(state.flowId)) return false;
      const isShown = isWaiting(state);
      if (!isShown && state.flow !== 'event' && !isFinished(state.phase)) moving.push(state);
      return isShown;
    });
    const found = [...states, ...asked.map(({ row, state }) => row ?? state)];
    const listed = found.sort((one, other) => one.startedAt - other.startedAt);
    const shown = listed.slice(0, limit);
    const isRunning = (await living(control, world.clock)).length > 0;
    const ids = moving.slice(0, limit).map(({ flowId }) => hidden(flowId, open));
    const standing = isRunning ? null : texts.noDesk(asked.length, moving.length, ids.join(', '));
    const { bids, whole } = await unorderedBids({ views, flows: stored }, { unfolded, settings, open, now });
    const shownBids = bids.slice(0, limit - shown.length);
    const winners = await unknownWinners({ log, views });
    const ahead = shown.map((state) => unread.get(state.flowId)?.state ?? state);
    const bidEnds = await bidEndsOf(views, ahead);
    const seen = { open, settings, now, handedIn: unread, bidEnds };
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
        const needs = needsOf(state, texts.fields, seen);
        const deadlines = deadlinesOf(unread.get(flowId)?.state ?? state, settings, bidEnds.get(flowId) ?? null);
        const handedIn = askedIn(unread.get(flowId)?.records ?? []);
        terminal.write(JSON.stringify({ ...facts, handedIn, needs, deadlines }));
      }
      for (const bid of shownBids) terminal.write(JSON.stringify(wonBidJson(bid, texts.fields)));
      for (const winner of winners.winners.slice(0, limit)) terminal.write(JSON.stringify({ unknownWinner: winner }));
      if (standing !== null) terminal.say(standing);
      return;
    }
    const parts = [
      ...(shown.length === 0 ? [] : [nextText(format, shown, seen)]),
      ...shownBids.map((bid) => unorderedText(format, bid, now)),
      ...winnersText(format, winners),
    ];
    const counted = whole ? String(bids.length) : `${bids.length}+`;
    const waiting = states.length + asked.filter(({ state }) => isWaiting(state)).length;
    const summary = proseText(texts.summary(waiting, counted, !whole || bids.length !== 1), width);
    const still = standing === null ? [] : [proseText(standing, width)];
    terminal.write([...(parts.length === 0 ? [texts.none] : [summary]), ...still, ...parts].join('\n\n'));
    const left = listed.length - shown.length + bids.length - shownBids.length;
    if (left > 0) terminal.say(texts.more(left));
    if (!whole) terminal.say(texts.moreBids);
    if (shown.some(({ flow, frozen }) => flow !== 'event' && frozen === undefined)) terminal.say(texts.fieldsFrom);
  });
}

function wonBidJson(bid: UnorderedBid, fields: Fields): object {
  const { phase: state, ...facts } = bid;
  const [example, start] = orderCommands(bid, fields);
  const needs: readonly Need[] = [
    { step: 'example', command: example, request: null },
    { step: 'start', command: start, request: null },
    ...(bid.cancelled === null ? [] : [{ step: 'close', command: closeCommand(bid, fields), request: null }]),
  ];
  return { wonBid: { ...facts, state, needs } };
}

const kindsWithPersons = ['contract', 'renegotiation', 'withdrawal', 'lookup', 'event'] as const;

/**
 * What waits for a person, as the desk tells it: the oldest first, each with what it needs and the command to give it in the name of the
 * token, and won bids whose contract nobody has ordered.
 */
async function nextThere(
  { terminal, format, clock }: CommandWorld,
  desk: RemoteDesk,
  { limit, json }: { limit: number; json: boolean },
): Promise<void> {
  const { flows: texts, freeze } = format.texts;
  const { next } = texts;
  const found: FlowShown[] = [];
  const winners: unknown[] = [];
  const bids: UnorderedBid[] = [];
  let whole: boolean | null = null;
  for (const flow of kindsWithPersons) {
    // All of them: the oldest come last, and are told first.
    for (let before: string | null = null; ; ) {
      const waitsFor = flow === 'event' ? undefined : waitsForAnybody;
      const page: FlowsTold = await desk.flows(flow, { phase: undefined, waitsFor, limit: mostAtOnce, before });
      found.push(...page.flows.filter((told) => flow !== 'event' || told.waitsFor.length > 0 || told.frozen !== null));
      winners.push(...(page.unknownWinners ?? []));
      bids.push(...(page.wonBids ?? []).map(({ state: phase, ...bid }) => ({ ...bid, phase })));
      whole ??= page.wonBidsWhole ?? null;
      before = page.next;
      if (before === null) break;
    }
  }
  found.sort((one, other) => one.startedAt - other.startedAt);
  const shown = found.slice(0, limit);
  const shownBids = bids.slice(0, limit - shown.length);
  // It is of an earlier version.
  if (whole === null) terminal.say(proseText(next.withoutBids, width));
  if (json) {
    for (const told of shown) terminal.write(JSON.stringify({ ...told, needs: needsThere(format, told) }));
    for (const bid of shownBids) terminal.write(JSON.stringify(wonBidJson(bid, next.fields)));
    for (const winner of winners.slice(0, limit)) terminal.write(JSON.stringify({ unknownWinner: winner }));
    return;
  }
  const paragraphs = shown.map((told) => {
    const { flowId, phase, frozen, startedAt, changedAt } = told;
    const name = `${texts.phases[phase]}${frozen === null ? '' : ` (${freeze.mark})`}`;
    const [begun, changed] = [format.minute(startedAt), format.minute(changedAt)];
    const needs = needsThere(format, told).flatMap(({ step, command }) => {
      const named =
        frozen !== null
          ? next.thaws[step as 'retry' | 'cancel']
          : told.flow === 'event'
            ? next.closes
            : texts.step(step as FlowStep);
      return [proseText(`  ${named}:`, width), brokenCommand(command)];
    });
    return [proseText(next.head(flowId, name, changed, begun === changed ? null : begun), width), ...needs].join('\n');
  });
  paragraphs.push(...shownBids.map((bid) => unorderedText(format, bid, clock.now())));
  terminal.write(paragraphs.length === 0 ? next.none : paragraphs.join('\n\n'));
  if (winners.length > 0) terminal.say(proseText(texts.winnersThere(winners.length), width));
  const left = found.length - shown.length + bids.length - shownBids.length;
  if (left > 0) terminal.say(next.more(left));
  if (whole === false) terminal.say(next.moreBids);
  if (shown.some(({ flow, frozen }) => flow !== 'event' && frozen === null)) terminal.say(next.fieldsFrom);
}

/** What a flow needs, with the command: `retry` and `cancel` where it is frozen. */
function needsThere({ texts }: Format, { flow, flowId, frozen, waitsFor }: FlowShown) {
  const { reason, file } = texts.flows.next.fields;
  const kind = kindOf(flow);
  if (frozen !== null)
    return ['retry', 'cancel'].map((step) => {
      return { step: step as string, command: `lance ${kind} ${step} ${flowId} --reason ${reason}` };
    });
  return waitsFor.map((step) => {
    if (flow === 'event') return { step, command: `lance events close ${flowId} --reason ${reason}` };
    const takesReason = stepBodies[step].safeParse({ reason: 'x' }).success;
    const given = fieldless.has(step) ? '' : takesReason ? ` --reason ${reason}` : ` --file ${file}`;
    return { step, command: `lance ${kind} step ${flowId} ${step}${given}` };
  });
}

/** A won bid whose contract nobody has ordered, and the commands that order it. */
export function unorderedText(format: Format, bid: UnorderedBid, now: EpochMs): string {
  const { requestId, phase, decidedAt, endsAt, cancelled } = bid;
  const { states, flows } = format.texts;
  const { fields, unordered } = flows.next;
  const decided = decidedAt === null ? null : format.minute(decidedAt);
  const until = endsAt === null ? unordered.order : unordered.until(format.minute(endsAt), endsAt <= now);
  const again = cancelled === null ? null : unordered.cancelled(cancelled.by, format.minute(cancelled.at));
  return [
    proseText(unordered.head(requestId, states[phase], decided, cancelled !== null), width),
    ...(again === null ? [] : [proseText(`  ${again}`, width)]),
    proseText(`  ${until}`, width),
    proseText(`  ${cancelled === null ? unordered.step : unordered.again}:`, width),
    ...orderCommands(bid, fields).map(brokenCommand),
    ...(cancelled === null
      ? []
      : [proseText(`  ${unordered.close}:`, width), brokenCommand(closeCommand(bid, fields))]),
  ].join('\n');
}

function closeCommand({ requestId }: UnorderedBid, { name, reason }: Fields): string {
  return `lance bids resolve ${requestId} --as cancelled --by ${name} --reason ${reason}`;
}

/** What was cancelled is begun again under another key. */
function orderCommands(
  { requestId, cancelled }: UnorderedBid,
  { name }: Fields,
): readonly [example: string, start: string] {
  const key = `order-${requestId}${cancelled === null ? '' : `-${cancelled.orders + 1}`}`;
  return [
    `lance contracts example ${requestId} > order.json`,
    `lance contracts start --file order.json --key ${key} --by ${name}`,
  ];
}

/** Winner events of bids that nobody knows: their list says what to do. */
function winnersText({ texts }: Format, { winners, whole }: UnknownWinners): string[] {
  if (winners.length === 0 && whole) return [];
  const { next } = texts.flows;
  return [[proseText(next.unknownWinners(winners.length, whole), width), '    lance events list'].join('\n')];
}

export function nextText(format: Format, states: readonly FlowState[], seen: Seen): string {
  const { open, handedIn, settings, now, bidEnds } = seen;
  const { flows: texts, freeze } = format.texts;
  const paragraphs = states.map((state) => {
    const { flowId, startedAt, changedAt } = state;
    const asked = handedIn?.get(flowId);
    const ahead = asked?.state ?? state;
    const phase = asked?.row === null ? texts.unreadOrder.phase : phaseText(texts, state, 'short');
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
        ahead.frozen !== undefined
          ? texts.next.thaws[step as 'retry' | 'cancel']
          : ahead.flow === 'event'
            ? texts.next.closes
            : namedWay(texts, ahead, step as FlowStep);
      if (command === null) return [proseText(`  ${named}: ${texts.knownPerson(request)}`, width)];
      return [proseText(`  ${named}:`, width), brokenCommand(command)];
    });
    const around = { settings, now: now ?? ahead.changedAt, bidEndsAt: bidEnds?.get(flowId) ?? null };
    const until = deadlineTexts(format, ahead, around).map((text) => proseText(`  ${text}`, width));
    const needed = ahead.frozen === undefined ? whyText(format, ahead, seen) : null;
    const told = ahead.frozen === undefined ? eventText(format, ahead) : null;
    const reason = told ?? (needed === null ? null : texts.why(needed));
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

/** What the service told under a code that no flow knows; null: it is no event. */
function eventText({ texts }: Format, { told, note }: FlowState): string | null {
  if (told === null) return null;
  const { next, factValues } = texts.flows;
  return next.told(wordOf(factValues, told.of), note?.noteNumber ?? null);
}

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
    if (flow === 'event')
      return { step, command: `lance events close ${flowId} --by ${name} --reason ${reason}`, request: null };
    if (needsKnownPerson(state, step)) return { step, command: null, request: hidden(stepRequest(state, step), open) };
    const needsFile = step === 'confirm' && needsCode(state);
    const takesReason = !needsFile && stepBodies[step].safeParse({ reason: 'x' }).success;
    // A late note is looked at by itself, and before the other one, as `whyText` says it.
    const isLateFirst = step === 'accept' && lateSuccessOf(state) === null && kindsToAccept(state, settings).length > 1;
    const late = isLateFirst ? ' --late' : '';
    const given = fieldless.has(step) ? '' : takesReason ? `${late} --reason ${reason}` : ` --file ${fields.file}`;
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
