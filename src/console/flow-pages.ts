/** Pages of what follows a won bid: what waits for whom, flows by where they stand, one flow and the forms of its steps; pure. */

import type { UnknownWinners } from '../bidding/unknown-winners.ts';
import { resultText } from '../cli/flow-results.ts';
import {
  columnsOf,
  commandOf,
  deadlineTexts,
  factsText,
  flowFacts,
  lineOf,
  namedStep,
  namedWay,
  phasesOf,
  phaseText,
  saidText,
  whyText,
} from '../cli/flows.ts';
import type { Format } from '../cli/format.ts';
import type { FlowKind, FlowRecord, FlowStep } from '../domain/flow-records.ts';
import type { FlowPhase, FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { exampleOf } from '../http/api/described.ts';
import { stepBodies } from '../http/api/schemas.ts';
import type { DeadlineSettings } from '../origination/flow-deadlines.ts';
import { lateSuccessOf } from '../origination/late-successes.ts';
import { nextSteps, type StepSettings, waitsFor } from '../origination/next-steps.ts';
import { openedExample } from '../origination/placeholders.ts';
import type { OpenSealed } from '../origination/shown-flows.ts';
import { shownPayments } from '../origination/shown-payments.ts';
import {
  type AskedLast,
  askedLast,
  fieldless,
  isShownEndorsed,
  mayBeginAgain,
  needsCode,
} from '../origination/steps.ts';
import { isFinished } from '../origination/transitions.ts';
import type { UnorderedBid } from '../origination/unordered-bids.ts';
import { paymentsResult } from '../origination/worker-reading.ts';
import { withoutCpfs } from '../wire/hidden-cpf.ts';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import { type Html, html, outside } from './html.ts';
import { csrfField, layout, type Shown, timeText } from './pages.ts';

/** What a step is asked for with: fields of its body of the same name; `fields` is the whole body, as JSON. */
export type StepField =
  | 'reason'
  | 'requestCode'
  | 'signedAt'
  | 'content'
  | 'fields'
  | 'figures'
  | 'late'
  | 'despiteEvents'
  | 'despiteRenegotiation';
/** `field`: of the form; null: none of them. `name`: the part of it that is meant, where it is not all of it. */
export type StepFault = { field: StepField | null; name: string | null; text: string };
/** As it was sent, by the name of the field. */
export type Typed = Readonly<Partial<Record<string, string>>>;

/** What whoever looks may see, and by what a step is refused. */
type Seen = { open: OpenSealed; settings: StepSettings & DeadlineSettings; now: EpochMs };

const paths: Readonly<Record<FlowKind, string>> = { ...commandOf, event: 'events' };
const kinds = Object.keys(paths) as FlowKind[];

/** The kind of flow that has this part of an address; null: none has. */
export function flowAt(path: string): FlowKind | null {
  return kinds.find((flow) => paths[flow] === path) ?? null;
}

export function flowAddress({ flow, flowId }: Pick<FlowState, 'flow' | 'flowId'>): string {
  return `/console/flows/${paths[flow]}/${encodeURIComponent(flowId)}`;
}

export function stepFields(step: FlowStep): readonly StepField[] {
  switch (step) {
    case 'deny':
      return ['reason', 'despiteEvents', 'despiteRenegotiation'];
    case 'cancel':
    case 'regenerate':
      return ['reason', 'despiteEvents'];
    case 'accept':
      return ['reason', 'late', 'figures'];
    case 'confirm':
      return ['requestCode', 'reason', 'despiteEvents'];
    case 'sign':
      return ['signedAt', 'content', 'despiteEvents'];
    default:
      return ['fields'];
  }
}

/** Ids of events may be anything that the service wrote. */
function hidden(text: string, open: OpenSealed): string {
  return open === null ? withoutCpfs(text) : text;
}

/** Lines of ours that name what others wrote are longer than a name. */
const longestLine = 1_500;
/** In a list of many flows. */
const longestListed = 400;

function linesOf(text: string, most: number = longestLine): Html {
  const lines = text.split('\n');
  return html`${lines.map((line, index) => html`${index > 0 && html`<br>`}${outside(line, most)}`)}`;
}

const servicePhases: ReadonlySet<FlowPhase> = new Set(['waiting-proposal', 'awaiting-note', 'awaiting-answer']);

/** Whom or what a flow waits for, where it stands. */
function waitText({ texts, format }: Shown, state: FlowState, { open, settings, now }: Seen): string {
  const words = texts.flows;
  if (state.frozen !== undefined) return words.frozen.waits;
  const steps = waitsFor(state, settings, open, now);
  if (steps.length > 0) return steps.map((step) => namedStep(format.texts.flows, state, step)).join(', ');
  if (state.phase === 'endorsed' && !isShownEndorsed(state)) return format.texts.flows.awaitsEndorsement;
  if (isFinished(state.phase)) return format.texts.none;
  return servicePhases.has(state.phase) ? words.service : words.desk;
}

type Overview = {
  waiting: readonly FlowState[];
  moving: readonly FlowState[];
  unordered: { bids: readonly UnorderedBid[]; whole: boolean };
  /** Those that are not shown. */
  left: { waiting: number; moving: number };
  /** By kind, then by phase. */
  counts: ReadonlyMap<FlowKind, ReadonlyMap<string, number>>;
  bidEnds: ReadonlyMap<string, EpochMs>;
  /** How many were counted, where there are more; null: all were. */
  counted: number | null;
};

export function overviewPage(shown: Shown, overview: Overview, seen: Seen): string {
  const { texts, format } = shown;
  const words = texts.flows;
  const { waiting, moving, unordered, left, counts, bidEnds, counted } = overview;
  const list = (states: readonly FlowState[], none: string, more: number) =>
    states.length === 0
      ? html`<p class="soft">${none}</p>`
      : html`<ul class="list">${states.map((state) => waitingItem(shown, state, seen, bidEnds.get(state.flowId) ?? null))}</ul>
${more > 0 && html`<p class="help">${words.more(format.number(more))}</p>`}`;
  const total = (flow: FlowKind) => [...(counts.get(flow)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  const states = kinds.map((flow) => {
    const ofFlow = counts.get(flow) ?? new Map<string, number>();
    const items = phasesOf(flow).flatMap((phase) => {
      const count = ofFlow.get(phase) ?? 0;
      if (count === 0) return [];
      const address = `/console/flows/${paths[flow]}?phase=${phase}`;
      return html`<div><dt>${format.texts.flows.phases[phase as FlowPhase]}</dt><dd><a href="${address}">${format.number(count)}</a></dd></div>`;
    });
    return html`<h3><a href="/console/flows/${paths[flow]}">${words.kinds[flow]}</a> <span class="help">${format.number(total(flow))}</span></h3>
${items.length === 0 ? html`<p class="soft">${format.texts.flows.empty}</p>` : html`<dl class="figures">${items}</dl>`}`;
  });
  const body = html`<h1>${words.title}</h1>
<section aria-labelledby="waiting-title"><h2 id="waiting-title">${words.waiting}</h2>
<p class="soft">${words.waitingWho}</p>
${list(waiting, words.nothingWaits, left.waiting)}</section>
${unorderedSection(shown, unordered, seen.now)}
<section aria-labelledby="states-title"><h2 id="states-title">${words.states}</h2>${states}
${counted !== null && html`<p class="help">${words.counted(format.number(counted))}</p>`}</section>
<section aria-labelledby="moving-title"><h2 id="moving-title">${words.moving}</h2>
${list(moving, words.nothingMoves, left.moving)}</section>`;
  return layout(shown, { title: words.title, body, place: 'flows' });
}

/** Won bids whose contract nobody has ordered, or whose contract was cancelled; the first to expire first. */
function unorderedSection({ texts, format }: Shown, { bids, whole }: Overview['unordered'], now: EpochMs): Html {
  const { unordered: words } = texts.flows;
  const { request, amount, state } = texts.requests;
  const listed = bids.slice(0, mostUnordered);
  const rows = listed.map(({ requestId, phase, amountCents, endsAt, cancelled }) => {
    const where = `${format.texts.states[phase]}, ${cancelled === null ? words.never : words.cancelled}`;
    return html`<tr role="row"><th scope="row" role="rowheader"><a href="/console/requests/${encodeURIComponent(requestId)}">${outside(requestId)}</a></th>
<td role="cell" class="number" data-name="${amount}">${amountCents !== null && format.money(amountCents)}</td>
<td role="cell" data-name="${words.until}">${endsAt !== null && html`${timeText(endsAt, format)}${endsAt <= now && html` (${words.past})`}`}</td>
<td role="cell" data-name="${state}"><span>${where}</span></td></tr>`;
  });
  const head = (text: string, isNumber = false) =>
    html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${text}</th>`;
  const count = `${format.number(bids.length)}${whole ? '' : '+'}`;
  return html`<section aria-labelledby="unordered-title"><h2 id="unordered-title">${words.title} <span class="help">${count}</span></h2>
${rows.length === 0 && whole && html`<p class="soft">${words.none}</p>`}
${
  rows.length > 0 &&
  html`<p class="soft">${words.who}</p><table class="cards" role="table" aria-labelledby="unordered-title"><thead role="rowgroup"><tr role="row">
${head(request)}${head(amount, true)}${head(words.until)}${head(state)}
</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`
}
${!whole && html`<p class="help">${words.notAll}</p>`}
${bids.length > listed.length && html`<p class="help">${words.more(format.number(bids.length - listed.length))}</p>`}</section>`;
}

const mostUnordered = 20;

function waitingItem(shown: Shown, state: FlowState, seen: Seen, bidEndsAt: EpochMs | null): Html {
  const { texts, format } = shown;
  const words = texts.flows;
  const { open, settings, now } = seen;
  const flowId = hidden(state.flowId, open);
  const phase = phaseText(format.texts.flows, state, 'short');
  const why = state.frozen === undefined ? whyText(format, state, seen) : format.texts.fault(state.frozen.problem);
  const until = deadlineTexts(format, state, { settings, now, bidEndsAt });
  const row = (label: string, text: string | null) =>
    text !== null && html`<dt>${label}</dt><dd>${linesOf(hidden(text, open), longestListed)}</dd>`;
  return html`<li class="panel"><h3><a href="${flowAddress({ ...state, flowId })}">${outside(flowId)}</a></h3>
<dl class="facts">
${row(format.texts.flows.columns.phase, `${words.one[state.flow]}: ${phase}`)}
${row(format.texts.flows.columns.waits, waitText(shown, state, seen))}
${row(words.why, why)}
${row(format.texts.flows.labels.deadlines, until.length === 0 ? null : until.join('\n'))}
<dt>${format.texts.flows.labels.changed}</dt><dd>${timeText(state.changedAt, format)}, ${texts.now.ago((now - state.changedAt) / 1_000)}</dd>
</dl></li>`;
}

type Found = { states: readonly FlowState[]; next: string | null };

export function listPage(
  shown: Shown,
  {
    flow,
    given,
    found,
    winners,
    problem,
  }: {
    flow: FlowKind;
    given: Readonly<Partial<Record<'phase' | 'before' | 'waitsFor', string>>>;
    found: Found | null;
    winners: UnknownWinners | null;
    problem: string | null;
  },
  seen: Seen,
): string {
  const { texts, format } = shown;
  const words = texts.flows;
  const address = `/console/flows/${paths[flow]}`;
  const { before, ...others } = given;
  const option = (value: string, text: string) =>
    html`<option value="${value}"${(given.phase ?? '') === value && html` selected`}>${text}</option>`;
  const columns = columnsOf(flow);
  const heads = columns.map(
    (column) => html`<th scope="col" role="columnheader">${format.texts.flows.columns[column]}</th>`,
  );
  const rows = (found?.states ?? []).map((state) => {
    const [, ...cells] = lineOf(format, state, seen);
    const flowId = hidden(state.flowId, seen.open);
    return html`<tr role="row"><th scope="row" role="rowheader"><a href="${flowAddress({ ...state, flowId })}">${outside(flowId)}</a></th>
${cells.map((cell, index) => html`<td role="cell" data-name="${format.texts.flows.columns[columns[index + 1]!]}">${outside(cell)}</td>`)}</tr>`;
  });
  const first = flow === 'event' ? words.unclaimed : texts.requests.anyState;
  const older = new URLSearchParams({ ...others, before: found?.next ?? '' });
  const body = html`<p><a href="/console/flows">${words.back}</a></p>
<h1>${words.kinds[flow]}</h1>
<form method="get" action="${address}" class="row">
<div class="field"><label for="phase">${format.texts.flows.columns.phase}</label><select id="phase" name="phase">${option('', first)}${phasesOf(flow).map((phase) => option(phase, format.texts.flows.phases[phase as FlowPhase]))}</select></div>
<button class="button">${texts.requests.apply}</button>
</form>
${problem !== null && html`<p class="fault" role="alert">${problem}</p>`}
${
  found !== null &&
  (rows.length === 0
    ? html`<p class="soft">${found.next === null ? format.texts.flows.empty : texts.requests.noneYet}</p>`
    : html`<table class="cards" role="table" aria-label="${words.kinds[flow]}"><thead role="rowgroup"><tr role="row">${heads}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`)
}
<p class="actions">${found?.next != null && html`<a class="button plain" rel="next" href="${address}?${older.toString()}">${texts.requests.older}</a>`}
${before !== undefined && html`<a href="${address}?${new URLSearchParams(others).toString()}">${texts.requests.newest}</a>`}</p>
${winners !== null && (winners.winners.length > 0 || !winners.whole) && winnerTable(shown, winners)}`;
  return layout(shown, { title: words.kinds[flow], body, place: 'flows' });
}

/** Winner events whose bid nobody knows. */
function winnerTable({ texts, format }: Shown, { winners, whole }: UnknownWinners): Html {
  const { what, header, more } = format.texts.flows.unknownWinners;
  const rows = winners.slice(0, mostWinners).map(({ requestCode, kind, proposalCode, at, validUntil }) => {
    const cells = [kind, proposalCode ?? '', format.minute(at), validUntil === null ? '' : format.minute(validUntil)];
    return html`<tr role="row"><th scope="row" role="rowheader">${outside(requestCode)}</th>${cells.map((cell, index) => html`<td role="cell" data-name="${header[index + 1]!}">${cell !== '' && outside(cell)}</td>`)}</tr>`;
  });
  const heads = header.map((head) => html`<th scope="col" role="columnheader">${head}</th>`);
  return html`<section aria-labelledby="winners-title"><h2 id="winners-title">${texts.flows.winners}</h2><p>${what}</p>
${rows.length > 0 && html`<table class="cards" role="table" aria-labelledby="winners-title"><thead role="rowgroup"><tr role="row">${heads}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`}
${(!whole || winners.length > mostWinners) && html`<p class="help">${more}</p>`}</section>`;
}

const mostWinners = 50;
/** Records of one flow that a page shows, the latest ones. */
const mostRecords = 200;

type Tried = { step: FlowStep | 'thaw' | 'results'; typed: Typed; faults: readonly StepFault[]; key: string };

type Around = {
  /** As whoever looks may see them. */
  history: readonly Record<string, unknown>[];
  /** Codes of events of nobody that may tell of it. */
  events: readonly string[];
  bidEndsAt: EpochMs | null;
  /** A form that was refused; null: none was sent. */
  tried: Tried | null;
  notice: 'taken' | null;
  /** Of forms that were not sent yet: names the step, so that it is taken once. */
  freshKey: string;
};

export function flowPage(
  shown: Shown,
  state: FlowState,
  { history, events, bidEndsAt, tried, notice, freshKey }: Around,
  { mayStep, ...seen }: Seen & { mayStep: boolean },
): string {
  const { texts, format } = shown;
  const words = texts.flows;
  const { open, settings, now } = seen;
  const flowId = hidden(state.flowId, open);
  const until = deadlineTexts(format, state, { settings, now, bidEndsAt });
  const facts = flowFacts(format, state, seen);
  const steps = nextSteps(state, settings, open, now);
  const answers = Object.entries(state.results).flatMap(([what, kept]) => (kept?.sealedAnswer ? [what] : []));
  const results = [...answers, ...((shownPayments(state, open) ?? []).length > 0 ? [paymentsResult] : [])];
  const title = `${words.one[state.flow]} ${flowId.length > longestTitle ? `${flowId.slice(0, longestTitle)}…` : flowId}`;
  const isEnded = isFinished(state.phase) && state.phase !== 'cancelled';
  const fact = (label: string, text: string | null) =>
    text !== null && html`<dt>${label}</dt><dd>${linesOf(hidden(text, open))}</dd>`;
  const [phase, ...others] = facts;
  const { requestId } = state.subject;
  const body = html`<p><a href="/console/flows/${paths[state.flow]}">${words.kinds[state.flow]}</a></p>
<h1>${title}</h1>
${notice === 'taken' && html`<p class="notice" role="status">${words.taken}</p>`}
${tried !== null && refusedText(shown, state, tried, steps.includes(tried.step as FlowStep) || tried.step === 'thaw' || tried.step === 'results')}
<section class="panel${isEnded ? ' live' : state.frozen !== undefined ? ' shut' : ''}" aria-label="${format.texts.flows.labels.phase}">
<p class="state">${phase?.[1] ?? ''}</p>
<dl class="facts">
${fact(format.texts.flows.columns.waits, waitText(shown, state, seen))}
${fact(format.texts.flows.labels.deadlines, until.length === 0 ? null : until.join('\n'))}
</dl>
${requestId !== null && html`<p><a href="/console/requests/${encodeURIComponent(requestId)}">${format.texts.show.title(requestId)}</a></p>`}
</section>
${limitsOf(shown, state)}
<section aria-labelledby="steps-title"><h2 id="steps-title">${format.texts.flows.labels.next}</h2>
${events.length > 0 && html`<p class="fault">${words.events} ${events.map((code, index) => html`${index > 0 && ', '}<a href="${flowAddress({ flow: 'event', flowId: `event:${code}` })}">${outside(code)}</a>`)}</p>`}
${stepList(shown, state, { steps, events, tried, freshKey, mayStep }, seen)}
${state.frozen !== undefined && mayStep && thawForm(shown, state, tried)}</section>
<section aria-labelledby="facts-title"><h2 id="facts-title">${words.facts}</h2>
<dl class="facts">${others.map(([label, text]) => fact(label, text))}</dl></section>
${mayStep && results.length > 0 && html`<section aria-labelledby="results-title"><h2 id="results-title">${format.texts.flows.labels.answers}</h2><p class="soft">${words.recorded}</p>${results.map((what) => resultForm(shown, state, what, tried))}</section>`}
<section aria-labelledby="history-title"><h2 id="history-title">${texts.request.history}</h2>${historyTable(shown, history)}</section>`;
  return layout(shown, { title, body, place: 'flows' });
}

const longestTitle = 60;

/** Said at the top; beside its field each fault stands in the form, where that is still there. */
function refusedText({ texts, format }: Shown, state: FlowState, { step, faults }: Tried, isThere: boolean): Html {
  const words = texts.flows;
  const flows = format.texts.flows;
  const named =
    step === 'thaw' ? words.frozen.waits : step === 'results' ? flows.labels.answers : namedStep(flows, state, step);
  const beside = faults.filter(({ field }) => field !== null);
  const here = isThere ? faults.filter(({ field }) => field === null) : faults;
  return html`<div class="fault" role="alert" id="refused"><p>${words.refused(named)}</p>
${here.length > 0 && html`<ul class="reasons">${here.map((each) => html`<li>${faultText(format, each)}</li>`)}</ul>`}
${isThere && beside.length > 0 && html`<p><a href="#step-${step}">${words.seeForm}</a></p>`}</div>`;
}

/** In the language of the page; most of them are sentences of ours with figures in them. */
function faultText(format: Format, { field, name, text }: StepFault): Html {
  const said = saidText(format, name ?? field ?? '', text);
  return html`${name !== null && field !== null && html`<code>${outside(name)}</code>: `}${outside(said, longestLine)}`;
}

/** What may not be exceeded, whatever is ordered; the server refuses what does. */
function limitsOf({ texts, format }: Shown, { subject }: FlowState): Html | false {
  const { rateLimitHundredths, amountLimitCents, installmentLimitCents } = subject;
  const { facts } = format.texts.flows;
  const rows = [
    ...(rateLimitHundredths === null ? [] : [[facts.rateLimitHundredths!, format.rate(rateLimitHundredths)] as const]),
    ...(amountLimitCents === undefined ? [] : [[facts.amountLimitCents!, format.money(amountLimitCents)] as const]),
    ...(installmentLimitCents === undefined
      ? []
      : [[facts.installmentLimitCents!, format.money(installmentLimitCents)] as const]),
  ];
  if (rows.length === 0) return false;
  return html`<section aria-labelledby="limits-title"><h2 id="limits-title">${texts.flows.limits}</h2>
<dl class="figures">${rows.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl></section>`;
}

type Forms = {
  steps: readonly FlowStep[];
  events: readonly string[];
  tried: Tried | null;
  freshKey: string;
  mayStep: boolean;
};

function stepList(
  shown: Shown,
  state: FlowState,
  { steps, events, tried, freshKey, mayStep }: Forms,
  { settings, now }: Seen,
): Html {
  const words = shown.texts.flows;
  if (steps.length === 0) {
    const isBegunAgain = mayBeginAgain(state, now, settings);
    return html`<p class="soft">${words.noStep}${isBegunAgain && html` ${words.beginAgain}`}</p>`;
  }
  const names = steps.map((step) => namedWay(shown.format.texts.flows, state, step));
  if (!mayStep)
    return html`<ul class="reasons">${names.map((name) => html`<li>${name}</li>`)}</ul><p class="help">${words.stepRoles}</p>`;
  return html`${steps.map((step, index) => {
    const own = tried?.step === step ? tried : null;
    return html`<details class="panel" id="step-${step}"${(own !== null || steps.length === 1) && html` open`}><summary>${names[index]!}</summary>
${stepForm(shown, state, step, { events, tried: own, freshKey: `${freshKey}-${step}` })}</details>`;
  })}`;
}

function stepForm(
  shown: Shown,
  state: FlowState,
  step: FlowStep,
  { events, tried, freshKey }: { events: readonly string[]; tried: Tried | null; freshKey: string },
): Html {
  const { texts, format, person } = shown;
  const words = texts.flows;
  const { note, generations } = state;
  const keeps = step === 'cancel' && generations > 0;
  const other = step === 'cancel' ? askedByOther(state, person!.name) : null;
  const isHarmful = step === 'cancel' || step === 'deny';
  const isOfBoth = lateSuccessOf(state) === null && state.lateNote != null && state.phase !== 'cancelled';
  const isAsked = (field: StepField): boolean => {
    switch (field) {
      case 'despiteEvents':
        return events.length > 0;
      case 'despiteRenegotiation':
        return (tried?.faults ?? []).some((fault) => fault.field === field);
      case 'late':
      case 'figures':
        return isOfBoth;
      default:
        return true;
    }
  };
  const fields = stepFields(step).filter(isAsked);
  return html`<form method="post" action="${flowAddress(state)}/steps/${step}">
${csrfField(person!.csrfToken)}<input type="hidden" name="key" value="${tried?.key ?? freshKey}">
${keeps && html`<p class="help">${format.texts.flows.serviceWillKeep(note?.noteNumber ?? null)}</p>`}
${fields.map((field) => stepFieldOf(shown, state, step, field, tried))}
${other !== null && confirmsOther(shown, state, other)}
<p class="actions"><button class="button${isHarmful ? ' danger' : ''}">${words.ask(namedStep(format.texts.flows, state, step))}</button></p>
</form>`;
}

/** Who asked for something last, where it is not whoever is logged in; null: it is, or nobody has. */
export function askedByOther(state: FlowState, name: string): AskedLast | null {
  const last = askedLast(state);
  return last === null || last.by === name ? null : last;
}

function confirmsOther({ texts, format }: Shown, state: FlowState, { by, at, step }: AskedLast): Html {
  const { flows } = format.texts;
  const asked = flows.askedLast(by, format.minute(at), step === null ? flows.ordered : namedStep(flows, state, step));
  return html`<p class="help">${texts.flows.cancelsOther(asked)}</p>
<p><label class="check"><input type="checkbox" name="of" value="${by}" required> ${texts.flows.cancelsOf(by)}</label></p>`;
}

function stepFieldOf(shown: Shown, state: FlowState, step: FlowStep, field: StepField, tried: Tried | null): Html {
  const words = shown.texts.flows;
  const id = `${step}-${field}`;
  const typed = tried?.typed[field];
  const faults = (tried?.faults ?? []).filter((fault) => fault.field === field);
  const invalid = faults.length > 0 && html` aria-invalid="true"`;
  const label = html`<label for="${id}">${words.fields[field]}</label>`;
  const isBox =
    field === 'despiteEvents' || field === 'despiteRenegotiation' || field === 'late' || field === 'figures';
  const help = isBox ? null : words.help[field];
  const under = html`${help !== null && html`<p class="help" id="${id}-help">${help}</p>`}${faultList(shown.format, id, faults)}`;
  const described = html` aria-describedby="${faults.length > 0 ? `${id}-fault ` : ''}${id}-help"${invalid}`;
  switch (field) {
    case 'reason':
      return html`<div class="field">${label}<textarea id="${id}" name="reason" rows="2" maxlength="2000" required${described}>${typed ?? ''}</textarea>${under}</div>`;
    case 'requestCode':
      return html`<div class="field">${label}<input id="${id}" name="requestCode" maxlength="200" autocomplete="off" value="${typed ?? ''}"${needsCode(state) && html` required`}${described}>${under}</div>`;
    case 'signedAt':
      return html`<div class="field">${label}<input id="${id}" name="signedAt" type="datetime-local" step="1" required value="${typed ?? ''}"${described}>${under}</div>`;
    case 'content':
      return html`<div class="field">${label}<textarea id="${id}" name="content" rows="8" class="code" spellcheck="false" required${described}>${typed ?? JSON.stringify({ numeroContrato: state.note?.noteNumber ?? '' }, null, 2)}</textarea>${under}</div>`;
    case 'fields':
      return html`<div class="field">${label}<textarea id="${id}" name="fields" rows="10" class="code" spellcheck="false"${described}>${typed ?? exampleFields(state, step)}</textarea>${under}</div>`;
    case 'figures':
    case 'late':
    case 'despiteEvents':
    case 'despiteRenegotiation':
      return html`<p><label class="check"><input type="checkbox" id="${id}" name="${field}" value="yes"> ${words.fields[field]}</label></p>${under}`;
    default:
      return field satisfies never;
  }
}

function faultList(format: Format, id: string, faults: readonly StepFault[]): Html | false {
  if (faults.length === 0) return false;
  return html`<ul class="reasons wrong" id="${id}-fault">${faults.map((each) => html`<li>${faultText(format, each)}</li>`)}</ul>`;
}

/** As the API takes them, with what only the asker knows left open: the server refuses it. */
function exampleFields({ flow }: FlowState, step: FlowStep): string {
  if (fieldless.has(step)) return '{}';
  const example = Object.fromEntries(
    Object.entries(exampleOf(stepBodies[step]) as JsonObject).filter(([name]) => !name.startsWith('despite')),
  );
  const { rateHundredths: _rate, ...terms } = exampleOf(stepBodies.amend.shape.renegotiation) as Record<
    string,
    unknown
  >;
  const fields = step === 'amend' && flow === 'renegotiation' ? { renegotiation: terms } : example;
  return JSON.stringify(
    openedExample(fields as JsonObject, () => false),
    null,
    2,
  );
}

function thawForm(shown: Shown, state: FlowState, tried: Tried | null): Html {
  const { texts, person } = shown;
  const { frozen } = texts.flows;
  const own = tried?.step === 'thaw' ? tried : null;
  const choice = (value: 'retry' | 'cancel') =>
    html`<p><label class="check"><input type="radio" name="action" value="${value}" required${own?.typed.action === value && html` checked`}> ${frozen[value]}</label></p>`;
  return html`<form method="post" action="${flowAddress(state)}/thaw" class="panel" id="step-thaw">
${csrfField(person!.csrfToken)}
<fieldset><legend>${frozen.waits}</legend>${choice('retry')}${choice('cancel')}</fieldset>
${reasonField(shown, 'thaw', own)}
<p class="actions"><button class="button">${frozen.send}</button></p></form>`;
}

function reasonField({ texts, format }: Shown, of: string, tried: Tried | null): Html {
  const words = texts.flows;
  const id = `${of}-reason`;
  const faults = (tried?.faults ?? []).filter(({ field }) => field === 'reason');
  return html`<div class="field"><label for="${id}">${words.fields.reason}</label>
<textarea id="${id}" name="reason" rows="2" maxlength="2000" required aria-describedby="${faults.length > 0 ? `${id}-fault ` : ''}${id}-help"${faults.length > 0 && html` aria-invalid="true"`}>${tried?.typed.reason ?? ''}</textarea>
<p class="help" id="${id}-help">${words.help.reason}</p>${faultList(format, id, faults)}</div>`;
}

function resultForm(shown: Shown, state: FlowState, what: string, tried: Tried | null): Html {
  const { texts, format, person } = shown;
  return html`<details class="panel"><summary>${texts.flows.read(format.texts.flows.step(what))}</summary>
<form method="post" action="${flowAddress(state)}/results/${encodeURIComponent(what)}">
${csrfField(person!.csrfToken)}
${reasonField(shown, `result-${what}`, tried?.step === 'results' ? tried : null)}
<p class="actions"><button class="button">${texts.flows.read(format.texts.flows.step(what))}</button></p></form></details>`;
}

function historyTable({ texts, format }: Shown, history: readonly Record<string, unknown>[]): Html {
  const { historyHeader, records } = format.texts.flows;
  const shown = history.slice(-mostRecords);
  const rows = shown.map(
    ({
      kind,
      flowId: _,
      at,
      ...facts
    }) => html`<tr role="row"><td role="cell" data-name="${historyHeader[0]!}">${timeText(Number(at), format)}</td>
<td role="cell" data-name="${historyHeader[1]!}">${records[kind as FlowRecord['kind']] ?? outside(String(kind))}</td>
<td role="cell" data-name="${historyHeader[2]!}">${outside(factsText(format, facts), longestLine)}</td></tr>`,
  );
  const heads = historyHeader.map((head) => html`<th scope="col" role="columnheader">${head}</th>`);
  return html`<table class="cards records" role="table" aria-labelledby="history-title"><thead role="rowgroup"><tr role="row">${heads}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>
${history.length > shown.length && html`<p class="help">${texts.flows.moreRecords(format.number(history.length - shown.length))}</p>`}`;
}

/** What the service answered, to somebody whose reading is recorded. */
export function resultPage(
  shown: Shown,
  state: FlowState,
  { what, at, refused, answer }: { what: string; at: EpochMs; refused: boolean; answer: JsonValue },
  { situations }: StepSettings,
): string {
  const { texts, format } = shown;
  const title = format.texts.flows.step(what);
  const said = refused ? JSON.stringify(answer, null, 2) : resultText(format, answer, { what, at, situations });
  const body = html`<p><a href="${flowAddress(state)}">${texts.flows.backToFlow}</a></p>
<h1>${title}</h1>
<p>${format.texts.flows.answeredAt(format.time(at), refused)}</p>
<pre class="wide" tabindex="0">${said}</pre>
<p class="help">${texts.flows.readIsRecorded}</p>`;
  return layout(shown, { title, body, place: 'flows' });
}
