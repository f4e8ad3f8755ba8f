/** The pages of the console, made of what the API tells; pure. */

import { codeText } from '../cli/bid-outcome-text.ts';
import type { BidAccount } from '../cli/bid-report.ts';
import { accountsSection, hindranceText, historyLines, historyText, whySections } from '../cli/bid-text.ts';
import { causeText, detailText, remedyOf } from '../cli/bidding-remedy.ts';
import { raiseText } from '../cli/cap-raise-text.ts';
import { whatText } from '../cli/controls-history.ts';
import { phaseText } from '../cli/flows.ts';
import { createFormat, type Format } from '../cli/format.ts';
import { fullCapsText } from '../cli/full-caps.ts';
import { refusalLine } from '../cli/status-text.ts';
import type { Language } from '../cli/texts.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { type ApiRole, seeingPersons } from '../domain/roles.ts';
import { phases } from '../domain/states.ts';
import type { BidPage, Decision } from '../http/api/bid-reader.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import { type Plot, plotData } from '../impact/page.ts';
import type { CapUse, ControlOutcome, OrderGiven, WaitingRaise } from '../operating/controls.ts';
import type { OperatorResolution } from '../operating/endings.ts';
import { type Html, html, outside } from './html.ts';
import type { LivePart } from './now-feed.ts';
import { createSections } from './sections.ts';
import { consoleEn } from './texts-en.ts';
import { type ConsoleTexts, consolePt } from './texts-pt.ts';

/** What every page of one answer has in common. */
export type Shown = {
  texts: ConsoleTexts;
  format: Format;
  language: Language;
  /** The same page in the other language. */
  otherHref: string;
  /** Of the files that pages load: changes when they do. */
  assetVersion: string;
  /** Null: nobody is logged in. */
  person: { name: string; role: ApiRole; csrfToken: string } | null;
};

type Place = keyof ConsoleTexts['pages'];
const addresses: Readonly<Record<Place, string>> = {
  now: '/',
  requests: '/console/requests',
  reviews: '/console/reviews',
  flows: '/console/flows',
  rules: '/console/rules',
  market: '/console/market',
  controls: '/console/controls',
  operations: '/console/operations',
};

const formats = { pt: createFormat('pt'), en: createFormat('en') };
const texts = { pt: consolePt, en: consoleEn };

export function wordsIn(language: Language): Pick<Shown, 'texts' | 'format' | 'language'> {
  return { language, texts: texts[language], format: formats[language] };
}

/** Who may stop bidding and resume it, as in the API. */
export const ordering: readonly ApiRole[] = ['risk', 'operator', 'admin'];

export function mayOrder({ person }: Shown): boolean {
  return person !== null && ordering.includes(person.role);
}

/** Who may know whose request it is, as in the API. */
export function mayKnowWorker({ person }: Shown): boolean {
  return person !== null && seeingPersons.includes(person.role);
}

export const csrfField = (token: string) => html`<input type="hidden" name="csrf" value="${token}">`;

/** `refreshes`: without scripts the page is loaded again now and then. `plots`: drawn where the body has a place for each. */
export function layout(
  shown: Shown,
  page: { title: string; body: Html; place?: Place | null; refreshes?: boolean; plots?: readonly Plot[] },
): string {
  const { texts, language, otherHref, assetVersion, person } = shown;
  const { title, body, place = null, refreshes = false, plots = [] } = page;
  const other = language === 'pt' ? 'en' : 'pt';
  const places = (Object.keys(addresses) as Place[]).filter((each) => each !== 'market' || mayOrder(shown));
  const links = places.map(
    (each) =>
      html`<a href="${addresses[each]}"${each === place ? html` aria-current="page"` : null}>${texts.pages[each]}</a>`,
  );
  return html`<!doctype html>
<html lang="${language === 'pt' ? 'pt-BR' : 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Lance</title>
<link rel="icon" href="/console/assets/icon.svg?v=${assetVersion}" type="image/svg+xml">
<link rel="stylesheet" href="/console/assets/style.css?v=${assetVersion}">
${
  refreshes &&
  html`<script src="/console/assets/in-page.js?v=${assetVersion}" defer></script>
<noscript><meta http-equiv="refresh" content="15"></noscript>`
}
${
  plots.length > 0 &&
  html`<link rel="stylesheet" href="/console/assets/uplot.css?v=${assetVersion}">
<script src="/console/assets/uplot.js?v=${assetVersion}" defer></script>
<script src="/console/assets/plots.js?v=${assetVersion}" defer></script>`
}
</head>
<body data-page="${place ?? 'none'} ${person?.name ?? ''}">
<a class="skip" href="#content">${texts.skip}</a>
<header class="bar"><div>
<span class="brand">Lance</span>
${person !== null && html`<nav aria-label="${texts.menu}">${links}</nav>`}
<div class="more">
<a href="${otherHref}" hreflang="${other}" lang="${other === 'pt' ? 'pt-BR' : 'en'}">${texts.otherLanguage}</a>
${
  person !== null &&
  html`<span>${outside(person.name)} (${texts.roles[person.role]})</span>
<form method="post" action="/console/logout">${csrfField(person.csrfToken)}<button class="link">${texts.logOut}</button></form>`
}
</div>
</div></header>
<main id="content" tabindex="-1">
${body}
</main>
${plots.length > 0 && html`<div id="plots" hidden>${JSON.stringify(plots.map(plotData))}</div>`}
</body>
</html>
`.text;
}

export function logInPage(
  shown: Shown,
  {
    csrfToken,
    to,
    hasProvider,
    hasStartToken,
    problem,
    left,
  }: {
    csrfToken: string;
    to: string;
    hasProvider: boolean;
    /** The process has shown one at its start, which nobody has used. */
    hasStartToken: boolean;
    problem: 'wrong' | 'limited' | 'unheard' | 'stale' | null;
    /** Somebody has just logged out; `out-here`: and may be logged in at the provider still. */
    left: 'out' | 'out-here' | null;
  },
): string {
  const { logIn, problem: problems } = shown.texts;
  const said = problem === null ? null : problem === 'stale' ? problems.staleText : logIn[problem];
  const body = html`<div class="narrow">
<h1>${logIn.title}</h1>
${left !== null && html`<p class="notice" role="status">${left === 'out' ? logIn.out : logIn.outHere}</p>`}
${said !== null && html`<p class="fault" role="alert" id="problem">${said}</p>`}
<form method="post" action="/console/login" class="panel">
${csrfField(csrfToken)}<input type="hidden" name="to" value="${to}">
<div class="field">
<label for="token">${logIn.token}</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required autofocus aria-describedby="token-help">
<p class="help" id="token-help">${hasStartToken && html`${logIn.startHelp} `}${logIn.tokenHelp}</p>
</div>
<button class="button">${logIn.enter}</button>
</form>
${hasProvider && html`<p>${logIn.or} <a class="button plain" href="/v1/login?to=/">${logIn.provider}</a></p>`}
</div>`;
  return layout(shown, { title: logIn.title, body });
}

export function closedPage(shown: Shown): string {
  const { closed } = shown.texts;
  const body = html`<div class="narrow">
<h1>${closed.title}</h1>
<p>${closed.why}</p>
<p>${closed.how}</p>
<pre>lance tokens create --owner ana --role operator --days 90 --by ana</pre>
<p>${closed.afterwards}</p>
<p class="actions"><a class="button plain" href="/">${closed.reload}</a></p>
</div>`;
  return layout(shown, { title: closed.title, body });
}

/** `caps` null: they cannot be read now. */
export type LiveFacts = {
  status: DaemonStatus;
  caps: readonly CapUse[] | null;
  moreCaps: number;
  /** Null: not of this process. */
  reviewsWaiting: number | null;
  /** No other process does a part of the work. */
  isAlone: boolean;
  now: number;
};
export type NowFacts = LiveFacts & { notice: 'stopped' | 'resumed' | 'late' | null };

/** Sentences that the process says of itself have times in UTC, for programs read them too. */
export function withLocalTimes(text: string, { minute }: Format): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*Z/g, (written) => {
    const at = Date.parse(written);
    return Number.isNaN(at) ? written : minute(at);
  });
}

export const timeText = (at: number, format: Format) =>
  html`<time datetime="${new Date(at).toISOString()}">${format.minute(at)}</time>`;

/** Where a minute may be all the time that there is. */
export const secondText = (at: number, format: Format) =>
  html`<time datetime="${new Date(at).toISOString()}">${format.second(at)}</time>`;

function partsOf(shown: Shown, facts: LiveFacts) {
  const { texts } = shown;
  const { status } = facts;
  const { bidding, requests } = status;
  const isPaused = bidding?.cause === 'paused';
  const buttons = html`<a class="button danger" href="/console/stop">${texts.now.stop}</a>`;
  const resume = html`<a class="button" href="/console/resume">${texts.now.resume}</a>`;
  const isLost =
    bidding?.kind === 'closed' ||
    status.unknownRefusals != null ||
    status.linkQueryRefusals != null ||
    status.failingSources != null ||
    status.caps != null;
  const tone = isLost ? 'panel shut' : 'panel live';
  const words = bidding === null ? texts.now.doorOnly : bidding.kind === 'open' ? texts.now.open : texts.now.closed;
  return {
    words,
    tone,
    bidding: html`<h2 id="state" class="state">${words}</h2>
${bidding !== null && biddingFacts(shown, bidding, status, facts.now)}
${mayOrder(shown) && bidding !== null && html`<p class="actions">${isPaused ? resume : buttons}</p>`}`,
    spoken: html`${words}`,
    work: requests === null ? null : workFigures(shown, requests, facts),
    hour: hourFigures(shown, status, facts.isAlone),
    alarms: hourAlarms(shown, status),
    caps: capTable(shown, facts),
    process: processFacts(shown, status),
  };
}

/** What changes on the page by itself, as it stands there. Told to a browser that shows the page. */
export function liveParts(shown: Shown, facts: LiveFacts): LivePart[] {
  const parts = partsOf(shown, facts);
  return (['bidding', 'spoken', 'hour', 'alarms', 'work', 'caps', 'process'] as const).flatMap((id) => {
    const part = parts[id];
    if (part === null) return [];
    return [{ id, className: id === 'bidding' ? parts.tone : id === 'spoken' ? 'skip' : '', html: part.text }];
  });
}

export function nowPage(shown: Shown, facts: NowFacts): string {
  const { texts } = shown;
  const { notice } = facts;
  const { words, tone, bidding, spoken, hour, alarms, work, caps, process } = partsOf(shown, facts);
  const body = html`<h1>${texts.pages.now}</h1>
<p id="away" class="fault" role="alert" hidden>${texts.away}</p>
${notice !== null && html`<p class="notice" role="status">${texts.order[notice]}</p>`}
<section id="bidding" data-live class="${tone}" aria-labelledby="state">${bidding}</section>
<p class="skip" role="status" id="spoken" data-live>${spoken}</p>
${
  hour !== null &&
  html`<section aria-labelledby="hour-title"><h2 id="hour-title">${texts.now.hour.title}</h2>
<div id="hour" data-live>${hour}</div></section>`
}
<section aria-labelledby="alarms-title"><h2 id="alarms-title">${texts.now.hour.alarms}</h2>
<div id="alarms" data-live>${alarms}</div></section>
${
  work !== null &&
  html`<section aria-labelledby="work-title"><h2 id="work-title">${texts.now.work}</h2>
<div id="work" data-live>${work}</div></section>`
}
<section aria-labelledby="caps-title"><h2 id="caps-title">${texts.now.caps}</h2>
<div id="caps" data-live>${caps}</div></section>
<section aria-labelledby="process-title"><h2 id="process-title">${texts.now.process}</h2>
<div id="process" data-live>${process}</div></section>`;
  return layout(shown, { title: words, body, place: 'now', refreshes: true });
}

function biddingFacts(
  shown: Shown,
  bidding: NonNullable<DaemonStatus['bidding']>,
  { unknownRefusals, linkQueryRefusals, slowAnswers, failingSources, caps }: DaemonStatus,
  now: number,
): Html {
  const { format } = shown;
  const { status } = format.texts;
  const words = shown.texts.now;
  const { cause, since, until, by, detail } = bidding;
  const isPaused = cause === 'paused';
  const texts = format.texts.bidding;
  const pausedRemedy = mayOrder(shown) ? words.pausedRemedy : words.pausedViewer;
  const remedy = cause === null ? null : isPaused ? pausedRemedy : remedyOf(texts, cause, detail);
  const row = (label: string, value: Html | string | null) =>
    value !== null && value !== '' && html`<dt>${label}</dt><dd>${value}</dd>`;
  return html`<dl class="facts">
${row(words.cause, cause === null ? null : html`${causeText(texts, cause, detail)} <code>${cause}</code>`)}
${row(words.since, html`${timeText(since, format)}, ${words.ago((now - since) / 1_000)}`)}
${row(words.until, until == null ? null : timeText(until, format))}
${row(words.by, by === null ? null : outside(by))}
${row(isPaused ? words.reason : words.detail, detail === null ? null : outside(isPaused ? detail : detailText(format.texts, detail)))}
${row(words.remedy, remedy)}
${row(words.warning, unknownRefusals == null ? null : status.unknownRefusals(unknownRefusals))}
${row(words.warning, linkQueryRefusals == null ? null : status.linkQueryRefusals(linkQueryRefusals))}
${row(words.warning, slowAnswers == null ? null : status.slowAnswers(slowAnswers))}
${(failingSources ?? []).map((failing) => row(words.warning, outside(status.failingSource(failing))))}
${row(words.warning, caps == null ? null : outside(fullCapsText(format, caps), longestWarning))}
</dl>`;
}

function workFigures(
  { texts: { now: words }, format }: Shown,
  requests: NonNullable<DaemonStatus['requests']>,
  { status: { lastBidAt, lastWinAt }, reviewsWaiting, now }: LiveFacts,
): Html {
  const figure = (label: string, value: Html | string, isSmall = false) =>
    html`<div><dt>${label}</dt><dd${isSmall && html` class="small"`}>${value}</dd></div>`;
  const linked = (count: number, address: string) =>
    count === 0 ? '0' : html`<a href="${address}">${format.number(count)}</a>`;
  const last = (at: number | null, none: string) =>
    at === null ? none : html`${timeText(at, format)}, ${words.ago((now - at) / 1_000)}`;
  const { oldestQueuedAt } = requests;
  return html`${requests.known === false && html`<p class="help">${words.countsUnknown}</p>`}
<dl class="figures">
${figure(words.requests, format.number(requests.open))}
${figure(words.oldest, last(oldestQueuedAt, format.texts.none), true)}
${figure(words.queued, format.number(requests.queued))}
${figure(words.sending, html`${format.number(requests.sending)} <span class="help">${words.sendLimit(format.number(requests.sendLimit))}</span>`)}
${figure(words.parked, format.number(requests.parked))}
${reviewsWaiting !== null && figure(words.reviews, linked(reviewsWaiting, addresses.reviews))}
${figure(words.unknown, linked(requests.unknown, '/console/requests?state=unknown'))}
${figure(words.frozen, format.number(requests.frozen))}
${figure(words.lastBid, last(lastBidAt, words.notSinceStart), true)}
${figure(words.lastWin, last(lastWinAt, words.notSinceStart), true)}
</dl>`;
}

/** Null: the process folds nothing. */
function hourFigures(
  { texts: { now }, format }: Shown,
  { lastHour, startedAt }: DaemonStatus,
  isAlone: boolean,
): Html | null {
  if (lastHour?.figures == null) return null;
  const { hour: words } = now;
  const { from, figures } = lastHour;
  const { requests, bids, wins, expectedCents, realisedCents } = figures;
  const figure = (label: string, value: string, help: string | null = null) =>
    html`<div><dt>${label}</dt><dd>${value}${help !== null && html` <span class="help">${help}</span>`}</dd></div>`;
  const money = (cents: number | null) => (cents === null ? format.texts.none : format.money(cents));
  return html`<dl class="figures">
${figure(words.requests, format.number(requests))}
${figure(words.bids, format.number(bids))}
${figure(words.wins, format.number(wins))}
${figure(words.expected, money(expectedCents), words.expectedHelp)}
${figure(words.realised, money(realisedCents), words.realisedHelp)}
</dl>
<p class="help">${from === startedAt ? words.sinceStart : words.since} ${timeText(from, format)}. ${isAlone ? '' : words.others}</p>`;
}

function hourAlarms({ texts, format }: Shown, { lastHour, startedAt }: DaemonStatus): Html {
  const { hour: words } = texts.now;
  const { operations } = texts;
  if (lastHour === undefined) return html`<p class="soft">${format.texts.none}</p>`;
  const { from, alarms } = lastHour;
  const since = html`${from === startedAt ? words.alarmsSinceStart : words.alarmsSince} ${timeText(from, format)}.`;
  if (alarms.length === 0) return html`<p class="soft">${words.noAlarms} ${since}</p>`;
  const rows = alarms.map(
    ({
      code,
      count,
      lastAt,
    }) => html`<tr role="row"><th scope="row" role="rowheader"><span>${alarmText(texts, code)}</span></th>
<td role="cell" data-name="${words.code}"><code>${outside(code)}</code></td>
<td role="cell" class="number" data-name="${operations.count}">${format.number(count)}</td>
<td role="cell" data-name="${words.lastAt}">${timeText(lastAt, format)}</td>
<td role="cell" data-name="${operations.runbook}"><a href="/console/runbooks#alarm-${code}">${outside(operations.whatToDo(code))}</a></td></tr>`,
  );
  const head = (text: string, isNumber = false) =>
    html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${text}</th>`;
  return html`<table class="cards" role="table" aria-labelledby="alarms-title"><thead role="rowgroup"><tr role="row">
${head(operations.alarm)}${head(words.code)}${head(operations.count, true)}${head(words.lastAt)}${head(operations.runbook)}
</tr></thead><tbody role="rowgroup">${rows}</tbody></table>
<p class="help">${since}</p>`;
}

/** What an alarm says; of a code of another version, the code. */
export function alarmText({ alarms }: ConsoleTexts, code: string): Html | string {
  const texts: Readonly<Record<string, string>> = alarms;
  return Object.hasOwn(texts, code) ? texts[code]! : outside(code);
}

function capTable({ texts: { now: words }, format }: Shown, { caps, moreCaps }: LiveFacts): Html {
  if (caps === null) return html`<p class="help">${words.capsUnread}</p>`;
  if (caps.length === 0) return html`<p class="soft">${words.noCaps}</p>`;
  const rows = caps.map(({ name, usedCents, limitCents, bids }) => {
    const limit = limitCents ?? 0;
    const bar = html`<progress max="${Math.max(1, limit)}" value="${Math.min(usedCents, limit)}" aria-label="${name}"></progress>`;
    return html`<tr role="row"><th scope="row" role="rowheader">${outside(name)}</th>
<td role="cell" data-name="${words.used}"><span>${format.money(usedCents)}${bar}</span></td>
<td role="cell" class="number" data-name="${words.limit}">${format.money(limit)}</td>
<td role="cell" class="number" data-name="${words.bids}">${format.number(bids)}</td></tr>`;
  });
  return html`<table class="cards" role="table" aria-labelledby="caps-title"><thead role="rowgroup"><tr role="row">
<th scope="col" role="columnheader">${words.cap}</th><th scope="col" role="columnheader">${words.used}</th>
<th scope="col" role="columnheader" class="number">${words.limit}</th><th scope="col" role="columnheader" class="number">${words.bids}</th>
</tr></thead><tbody role="rowgroup">${rows}</tbody></table>
${moreCaps > 0 && html`<p class="help">${words.moreCaps(String(moreCaps))}</p>`}`;
}

const hashLength = 12;
const longestWarning = 600;

function processFacts({ texts: { now: words }, format }: Shown, status: DaemonStatus): Html {
  const { version, roles, startedAt, instance, ready, ruleSet, rulesFolder, partitions } = status;
  const { yes, no, none } = format.texts;
  return html`<dl class="facts">
<dt>${words.version}</dt><dd>${version} (${format.texts.status.roles(roles)})</dd>
<dt>${words.started}</dt><dd>${timeText(startedAt, format)}</dd>
<dt>${words.instance}</dt><dd><code>${instance}</code></dd>
<dt>${words.ready}</dt><dd>${ready ? yes : no} <code>/readyz</code></dd>
<dt>${words.rules}</dt><dd><code>${ruleSet?.slice(0, hashLength) ?? none}</code>${rulesFolder.refusal !== null && html`<br>${words.rulesRefused} ${outside(refusalText(rulesFolder.refusal, format))}`}</dd>
<dt>${words.partitions}</dt><dd>${partitions.owned.join(', ') || none}${partitions.closed.map((text) => html`<br>${outside(format.texts.fault(text))}`)}</dd>
</dl>`;
}

/** Problems of refused rules, one to a line. */
export function refusalText(refusal: string, format: Format): string {
  return refusal
    .split('\n')
    .map((line) => refusalLine(format, line))
    .join('\n');
}

/** The step between the button and the order. `pause`: the one that holds. */
export function orderPage(
  shown: Shown,
  kind: 'stop' | 'resume',
  {
    pause,
    reason,
    problem,
  }: {
    pause: { by: string | null; reason: string | null; since: number } | null;
    reason: string;
    problem: string | null;
  },
): string {
  const { texts, format, person } = shown;
  const { order } = texts;
  const title = kind === 'stop' ? order.stopTitle : order.resumeTitle;
  const body = html`<div class="narrow">
<h1>${title}</h1>
<p>${kind === 'stop' ? order.stopWhat : order.resumeWhat}</p>
${
  kind === 'resume' &&
  pause !== null &&
  html`<dl class="facts panel"><dt>${order.pausedBy}</dt><dd>${outside(pause.by ?? format.texts.none)}, ${timeText(pause.since, format)}</dd>
<dt>${texts.now.reason}</dt><dd>${outside(pause.reason ?? format.texts.none)}</dd></dl>`
}
${problem !== null && html`<p class="fault" role="alert">${problem}</p>`}
<form method="post" action="/console/${kind}">
${csrfField(person!.csrfToken)}
<div class="field">
<label for="reason">${order.reason}</label>
<textarea id="reason" name="reason" rows="3" maxlength="200" required autofocus aria-describedby="reason-help">${reason}</textarea>
<p class="help" id="reason-help">${order.reasonHelp}</p>
</div>
<p class="actions"><button class="button${kind === 'stop' ? ' danger' : ''}">${kind === 'stop' ? order.stop : order.resume}</button>
<a class="button plain" href="/">${order.back}</a></p>
</form></div>`;
  return layout(shown, { title, body });
}

/** Why an order was not done, or is not known to be; null: it is stored. */
export function orderProblem(
  { format }: Shown,
  kind: 'stop' | 'resume',
  outcome: Exclude<ControlOutcome, { kind: 'stored' }>,
): string {
  const { control, fault } = format.texts;
  const isStop = kind === 'stop';
  switch (outcome.kind) {
    case 'not-stored':
      return (isStop ? control.pauseNotStored : control.changeNotStored)(fault(outcome.why));
    case 'unsure':
      return (isStop ? control.pauseUnsure : control.changeUnsure)(fault(outcome.why));
    case 'unkept':
      return (isStop ? control.pauseUnkept : control.changeUnkept)(fault(outcome.why));
    case 'unseen':
      return control.unseen(outcome.revision, fault(outcome.why));
    case 'cap-unknown':
    case 'cap-one-more':
    case 'identity-needed':
      throw new Error('a pause has no cap');
    default:
      return outcome satisfies never;
  }
}

const filterNames = ['state', 'code', 'batchId', 'segment', 'since', 'until'] as const;
/** As they stand in the form. */
export type Filters = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;
export { filterNames };

export function requestsPage(
  shown: Shown,
  {
    filters,
    found,
    isFirst,
    worker,
    problem,
    isCpfWrong = false,
    isCpfAsId = false,
  }: {
    filters: Filters;
    found: BidPage | null;
    isFirst: boolean;
    /** A search by CPF, which goes on with other filters; null: there is none. */
    worker: string | null;
    problem: string | null;
    isCpfWrong?: boolean;
    /** Something that looks like a CPF was typed where the number of a request belongs. */
    isCpfAsId?: boolean;
  },
): string {
  const { texts, format, person } = shown;
  const words = texts.requests;
  const isFiltered = filterNames.some((name) => filters[name] !== undefined);
  const option = (value: string, text: string) =>
    html`<option value="${value}"${(filters.state ?? '') === value && html` selected`}>${text}</option>`;
  const field = (name: (typeof filterNames)[number], label: string, type = 'text') =>
    html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${filters[name] ?? ''}" maxlength="200" autocomplete="off"></div>`;
  const kept = { ...filters, ...(worker === null ? {} : { worker }) };
  const older = new URLSearchParams({ ...kept, before: found?.next ?? '' });
  const missing = (found?.missing ?? [])
    .map(({ partition, why }) => `${partition} (${format.texts.list.unaskedWhy[why]})`)
    .join(', ');
  const isNarrowed = isFiltered || worker !== null;
  const nothing = isNarrowed
    ? found?.next == null
      ? words.none
      : html`${words.noneYet} ${timeText(timeOfCursor(found.next), format)}.`
    : words.empty;
  const idFault = words.cpfAsId(mayKnowWorker(shown));
  const body = html`<h1>${words.title}</h1>
<form method="post" action="/console/requests/find" class="row" role="search">${csrfField(person!.csrfToken)}
<div class="field"><label for="id">${words.id}</label><input id="id" name="id" inputmode="numeric" maxlength="40" required autocomplete="off"${isCpfAsId && html` aria-invalid="true" aria-describedby="id-fault"`}></div>
<button class="button">${words.open}</button>
${isCpfAsId && html`<p class="fault" role="alert" id="id-fault">${idFault}</p>`}
</form>
${
  mayKnowWorker(shown) &&
  html`<form method="post" action="/console/requests/worker" class="row" role="search">${csrfField(person!.csrfToken)}
<div class="field"><label for="cpf">${words.cpf}</label><input id="cpf" name="cpf" inputmode="numeric" maxlength="14" required autocomplete="off"${isCpfWrong && html` aria-invalid="true"`} aria-describedby="${isCpfWrong && 'cpf-fault '}cpf-help"></div>
<button class="button">${words.findWorker}</button>
${isCpfWrong && html`<p class="fault" role="alert" id="cpf-fault">${words.noCpf}</p>`}
<p class="help" id="cpf-help">${words.cpfHelp}</p>
</form>`
}
${worker !== null && html`<p class="notice" role="status">${words.ofWorker} <a href="/console/requests">${words.clear}</a></p>`}
<details${isFiltered && html` open`}><summary>${words.filter}</summary>
<form method="post" action="/console/requests/filter" class="panel">${csrfField(person!.csrfToken)}${worker !== null && html`<input type="hidden" name="worker" value="${worker}">`}
<div class="fields">
<div class="field"><label for="state">${words.state}</label><select id="state" name="state">${option('', words.anyState)}${phases.map((phase) => option(phase, format.texts.states[phase]))}</select></div>
${field('code', words.code)}${field('batchId', words.batch)}${field('segment', words.segment)}
${field('since', words.since, 'datetime-local')}${field('until', words.until, 'datetime-local')}
</div>
<p class="actions"><button class="button">${words.apply}</button><a href="/console/requests">${words.clear}</a></p>
</form></details>
${problem !== null && html`<p class="fault" role="alert">${problem}</p>`}
${missing !== '' && html`<p class="fault" role="alert">${words.missing(missing)}</p>`}
${found !== null && (found.bids.length === 0 ? html`<p class="soft">${nothing}</p>` : requestTable(shown, found))}
<p class="actions">${found?.next != null && html`<a class="button plain" rel="next" href="/console/requests?${older.toString()}">${found.bids.length === 0 ? words.goOn : words.older}</a>`}
${!isFirst && html`<a href="/console/requests?${new URLSearchParams(kept).toString()}">${words.newest}</a>`}</p>`;
  return layout(shown, { title: words.title, body, place: 'requests' });
}

/** Where a search goes on: behind what was received, or decided, at this time (`cursorOf`). */
function timeOfCursor(cursor: string): number {
  return Number(cursor.split(':', 1)[0]);
}

function requestTable({ texts, format }: Shown, { bids }: BidPage): Html {
  const words = texts.requests;
  const rows = bids.map((bid) => {
    const { requestId, state, code, rateHundredths, amountCents, installments, position, decidedAt, frozen } = bid;
    const mark = frozen !== undefined && html` (${words.frozen})`;
    return html`<tr role="row"><th scope="row" role="rowheader"><a href="/console/requests/${encodeURIComponent(requestId)}">${outside(requestId)}</a></th>
<td role="cell" data-name="${words.state}"><span>${format.texts.states[state]}${mark}</span></td>
<td role="cell" data-name="${words.code}">${code !== null && outside(code)}</td>
<td role="cell" class="number" data-name="${words.rate}">${rateHundredths !== null && format.rate(rateHundredths)}</td>
<td role="cell" class="number" data-name="${words.amount}">${amountCents !== null && format.money(amountCents)}</td>
<td role="cell" class="number" data-name="${words.term}">${installments}</td>
<td role="cell" class="number" data-name="${words.position}">${position}</td>
<td role="cell" data-name="${words.decided}">${decidedAt !== null && timeText(decidedAt, format)}</td></tr>`;
  });
  const head = (text: string, isNumber = false) =>
    html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${text}</th>`;
  return html`<table class="cards" role="table" aria-label="${words.title}"><thead role="rowgroup"><tr role="row">
${head(words.request)}${head(words.state)}${head(words.code)}${head(words.rate, true)}${head(words.amount, true)}${head(words.term, true)}${head(words.position, true)}${head(words.decided)}
</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
}

/** What became of an answer to the review of a request, or of what a person said of it. */
export const requestNotices = ['answered', 'answer-late', 'resolved', 'resolved-late'] as const;
export type RequestNotice = (typeof requestNotices)[number];
/** The form that says how a request ended, as it was sent, and why that does not count. */
export type ResolveTried = { as: string; reason: string; problem: string };

/** Who may say how a request ended, as in the API. */
export const resolving: readonly ApiRole[] = ['operator', 'admin'];

export function mayResolve({ person }: Shown): boolean {
  return person !== null && resolving.includes(person.role);
}

/** `contract`: the flow that was ordered for its bid; null: none was. `account`: why, for those who see decisions. */
export function requestPage(
  shown: Shown,
  decision: Decision,
  {
    contract,
    notice,
    now,
    resolve,
    account = null,
  }: {
    contract: FlowState | null;
    notice: RequestNotice | null;
    now: number;
    /** `allowed`: what who looks may say of it. */
    resolve: { allowed: readonly OperatorResolution[]; tried: ResolveTried | null };
    account?: BidAccount | null;
  },
): string {
  const { texts, format, language } = shown;
  const words = texts.request;
  const { requestId, batchId, state, code, position, auction, offer, next, frozen } = decision;
  const title = format.texts.show.title(requestId);
  const won = ['won', 'contemplated', 'proposed'].includes(state);
  const best = auction?.bestRivalCell ?? null;
  const mayBeOrdered = contract === null || contract.phase === 'cancelled';
  const body = html`<p><a href="/console/requests">${words.back}</a></p>
<h1>${title}</h1>
${notice !== null && html`<p class="notice" role="status">${noticeText(texts, notice)}</p>`}
<section class="panel${won ? ' live' : ''}" aria-label="${words.result}">
<p class="state">${format.texts.states[state]}</p>
${frozen !== undefined && html`<p class="fault">${texts.requests.frozen}: ${outside(format.texts.fault(frozen))}</p>`}
${code !== null && html`<p>${codeText(code, format)} <code>${outside(code)}</code></p>`}
${decision.workerTold !== null && html`<p>${words.workerTold}: ${outside(decision.workerTold[language], 300)}</p>`}
${auction !== null && position !== null && html`<p>${words.position(String(position), String(auction.bidCount))}</p>`}
${auction !== null && best !== null && html`<p>${words.bestRival}: ${best > 497 ? words.noRival : format.rate(best)}</p>`}
${contract !== null && html`<p>${words.contract}: ${phaseText(format.texts.flows, contract)}</p>`}
${next !== null && mayBeOrdered && html`<p>${words.next}</p>`}
${batchId !== null && html`<p class="help">${words.batch} ${outside(batchId)}</p>`}
</section>
<section aria-labelledby="offer-title"><h2 id="offer-title">${offer !== null && state === 'passed' ? words.notSent : words.offer}</h2>${offer === null ? html`<p class="soft">${words.noOffer}</p>` : offerFacts(shown, offer)}</section>
${decision.reasons.length > 0 && html`<section aria-labelledby="why-title"><h2 id="why-title">${words.why}</h2><ul class="reasons">${decision.reasons.map((reason) => reasonItem(shown, reason))}</ul></section>`}
${decision.review != null && reviewSection(shown, decision, decision.review, now)}
${(resolve.allowed.length > 0 || resolve.tried !== null) && resolveForm(shown, requestId, resolve)}
${account !== null && accountSections(shown, account)}
<section aria-labelledby="history-title"><h2 id="history-title">${words.history}</h2>${historyList(shown, decision, account)}</section>
<section aria-labelledby="attempts-title"><h2 id="attempts-title">${words.attempts}</h2>${attemptList(shown, decision, account)}</section>`;
  return layout(shown, { title, body, place: 'requests' });
}

function noticeText({ reviews, request }: ConsoleTexts, notice: RequestNotice): string {
  if (notice === 'answered') return reviews.done;
  if (notice === 'answer-late') return reviews.late;
  return notice === 'resolved' ? request.resolve.done : request.resolve.late;
}

function resolveForm(
  { texts, format, person }: Shown,
  requestId: string,
  { allowed, tried }: { allowed: readonly OperatorResolution[]; tried: ResolveTried | null },
): Html {
  const { resolve: words } = texts.request;
  const choice = (as: OperatorResolution) =>
    html`<label class="check"><input type="radio" name="as" value="${as}" required${tried?.as === as && html` checked`}> ${format.texts.states[as]}</label>`;
  return html`<details class="panel" id="resolve"${tried !== null && html` open`}><summary>${words.title}</summary>
<p>${words.about}</p>
${tried !== null && tried.problem !== '' && html`<p class="fault" role="alert" id="resolve-fault">${outside(tried.problem)}</p>`}
<form method="post" action="/console/requests/${encodeURIComponent(requestId)}/resolve">${csrfField(person!.csrfToken)}
<fieldset><legend>${words.as}</legend>${allowed.map(choice)}</fieldset>
<div class="field"><label for="resolve-reason">${texts.order.reason}</label>
<textarea id="resolve-reason" name="reason" rows="3" maxlength="2000" required aria-describedby="${tried !== null && 'resolve-fault '}resolve-help">${tried?.reason ?? ''}</textarea>
<p class="help" id="resolve-help">${texts.flows.help.reason}</p></div>
<p class="actions"><button class="button">${words.confirm}</button></p>
</form></details>`;
}

function offerFacts({ texts, format }: Shown, offer: NonNullable<Decision['offer']>): Html {
  const words = texts.request;
  const figure = (label: string, value: string) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`<dl class="figures">
${figure(words.rate, format.rate(offer.rateHundredths))}
${figure(words.amount, format.money(offer.amountCents))}
${figure(words.term, format.number(offer.installments))}
${figure(words.installment, format.money(offer.installmentCents))}
${figure(words.cet, format.annualRate(offer.cetAnnualHundredths))}
${figure(words.expected, format.money(offer.expectedValueCents))}
${figure(words.chance, format.share(offer.winProbability))}
<div><dt>${words.validUntil}</dt><dd class="small">${timeText(offer.validUntil, format)}</dd></div>
</dl>`;
}

/** What a rule says is the risk team's own text; of our own reasons the code says it in each language. */
function reasonItem({ texts, format, language }: Shown, { code, rule, text }: Decision['reasons'][number]): Html {
  if (rule !== null)
    return html`<li>${texts.request.rule} ${outside(rule)}: ${outside(format.texts.deskReason(text))} <code>${outside(code)}</code></li>`;
  const words = codeText(code, format);
  const said = format.texts.deskReason(text);
  const isSaid = language === 'en' || said !== text;
  return html`<li>${words}${isSaid && said !== words && html`: ${outside(said)}`} <code>${outside(code)}</code></li>`;
}

/** As the command line tells it. Who answered, and why, is for those who see decisions. */
function reviewSection(
  { texts, format, person }: Shown,
  { requestId, state }: Decision,
  { queue, rules, askedAt, until, otherwise, answer }: NonNullable<Decision['review']>,
  now: number,
): Html {
  const { title, decisions, ...words } = format.texts.review;
  const isWaiting = state === 'requested' && answer === null && now < until;
  const said = (): Html | string | null => {
    if (answer !== null) return html`${decisions[answer.decision]} (${outside(answer.by)}): ${outside(answer.reason)}`;
    if (isWaiting) return html`<a href="/console/reviews/${encodeURIComponent(requestId)}">${texts.reviews.look}</a>`;
    // Others may have an answer that this role does not see.
    if (person?.role === 'viewer') return null;
    return (until > askedAt ? words.unanswered : words.noTime)(decisions[otherwise]);
  };
  const told = said();
  return html`<section aria-labelledby="review-title"><h2 id="review-title">${title}</h2><dl class="facts">
<dt>${texts.reviews.queue}</dt><dd>${outside(queue)}</dd>
<dt>${texts.reviews.rules}</dt><dd>${outside(rules.join(', '))}</dd>
<dt>${texts.reviews.since}</dt><dd>${timeText(askedAt, format)}</dd>
<dt>${texts.reviews.until}</dt><dd>${secondText(until, format)}</dd>
<dt>${texts.reviews.otherwise}</dt><dd>${decisions[otherwise]}</dd>
${told !== null && html`<dt>${texts.reviews.answer}</dt><dd>${told}</dd>`}
</dl></section>`;
}

/** In the words of `lance bids show`. */
function accountSections({ format }: Shown, account: BidAccount): Html {
  const { page, made } = createSections();
  whySections(page, account, format);
  if (account.rulesSealed) page.wrapped(format.texts.show.replaySealed);
  accountsSection(page, account, format);
  return made();
}

/** Who looked at the worker is for those who may look as well. */
function historyList(shown: Shown, decision: Decision, account: BidAccount | null): Html {
  const { texts, format } = shown;
  const words = texts.request;
  const { decidedAt, auction, unclaimed } = decision;
  const seen = account?.history.filter(({ kind }) => kind !== 'worker-read' || mayKnowWorker(shown));
  const records = seen === undefined ? null : historyLines({ ...account!, history: seen }, format);
  const events = [
    ...(records?.map(({ at, text }) => ({ at, text: outside(text) })) ?? [
      { at: decidedAt, text: html`${words.decided}` },
    ]),
    { at: auction?.startedAt ?? null, text: html`${words.auctionStarted}` },
    { at: auction?.endedAt ?? null, text: html`${words.auctionEnded}` },
    ...unclaimed.map(({ event, at, sharedWith }) => ({
      at,
      text: html`${words.told(format.texts.states[event])} ${outside(sharedWith.join(', '))}`,
    })),
  ]
    .flatMap(({ at, text }) => (at === null ? [] : [{ at, text }]))
    .sort((one, other) => one.at - other.at);
  if (events.length === 0) return html`<p class="soft">${words.notDecided}</p>`;
  return html`<ol class="events">${events.map(({ at, text }) => html`<li><time datetime="${new Date(at).toISOString()}">${format.time(at)}</time> ${text}</li>`)}</ol>`;
}

/** A source that did not answer is a question that failed. */
function attemptList({ texts, format, person }: Shown, { hindrances }: Decision, account: BidAccount | null): Html {
  const words = texts.request;
  if (person?.role === 'viewer') return html`<p class="soft">${words.attemptsHidden}</p>`;
  const sources = (account?.history ?? []).flatMap((record) =>
    record.kind === 'source-answered' && record.failure !== null
      ? { from: record.at, text: historyText(record, format) }
      : [],
  );
  const told = [...hindrances.map((each) => ({ from: each.from, text: hindranceText(each, format) })), ...sources];
  if (told.length === 0) return html`<p class="soft">${words.noAttempts}</p>`;
  const sorted = told.sort((one, other) => one.from - other.from);
  return html`<ol class="events">${sorted.map(({ from, text }) => html`<li>${timeText(from, format)} ${outside(text)}</li>`)}</ol>`;
}

export function controlsPage(
  shown: Shown,
  { orders, more, raises }: { orders: readonly OrderGiven[]; more: boolean; raises: readonly WaitingRaise[] },
): string {
  const { texts, format } = shown;
  const words = texts.controls;
  const rows = orders.map(
    (order) => html`<tr role="row"><td role="cell" data-name="${words.at}">${timeText(order.at, format)}</td>
<td role="cell" data-name="${words.by}">${order.by === null ? words.folder : outside(order.by)}</td>
<td role="cell" data-name="${words.what}">${outside(whatText(order, format))}</td>
<td role="cell" data-name="${words.reason}">${order.reason !== null && outside(order.reason)}</td></tr>`,
  );
  const head = (text: string) => html`<th scope="col" role="columnheader">${text}</th>`;
  const table = html`<table class="cards" role="table" aria-label="${words.title}"><thead role="rowgroup"><tr role="row">${head(words.at)}${head(words.by)}${head(words.what)}${head(words.reason)}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
  const body = html`<h1>${words.title}</h1>
<p class="soft">${words.about}</p>
${raises.length > 0 && html`<section aria-labelledby="waits-title"><h2 id="waits-title">${words.waits}</h2><ul class="reasons">${raises.map((raise) => html`<li>${outside(raiseText(format, raise))}</li>`)}</ul></section>`}
${orders.length === 0 ? html`<p class="soft">${words.none}</p>` : table}
${more && html`<p class="help">${words.more}</p>`}`;
  return layout(shown, { title: words.title, body, place: 'controls' });
}

/** Goes on by itself to the provider, which asks whether to log out there too. */
export function leavingPage(shown: Shown, address: string): string {
  const { out, outThere, toProvider } = shown.texts.logIn;
  const body = html`<div class="narrow"><h1>${out}</h1><p>${outThere}</p>
<p class="actions"><a class="button plain" href="${address}">${toProvider}</a></p></div>`;
  return layout({ ...shown, person: null }, { title: out, body });
}

export function problemPage(shown: Shown, { title, text }: { title: string; text: string }): string {
  const body = html`<div class="narrow"><h1>${title}</h1><p>${text}</p>
<p class="actions"><a class="button plain" href="/">${shown.texts.problem.home}</a></p></div>`;
  return layout(shown, { title, body });
}
