/** Pages of how the process runs: its checks, its place in the log, refused rules, alarms, dead letters, tokens and runbooks; pure. */
import type { OperatorChange } from '../bidding/ports.ts';
import { causeText, detailText, remedyOf } from '../cli/bidding-remedy.ts';
import { whatText } from '../cli/controls-history.ts';
import type { Format } from '../cli/format.ts';
import { fullCapsText } from '../cli/full-caps.ts';
import { backText, economicsText, folderText, refusalLine, serviceText } from '../cli/status-text.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import type { Letter, Replay } from '../http/letters.ts';
import type { KnownToken } from '../operating/tokens.ts';
import { type Html, html, outside } from './html.ts';
import { alarmText, csrfField, layout, type Shown, timeText, withLocalTimes } from './pages.ts';

/** As `/readyz?verbose` says them. `missing` null: nothing is. `isIll`: what the note says has to be put right all the same. */
export type CheckShown = { name: string; missing: string | null; note: string | null; isIll: boolean };
/** `orders`: the latest of operators; null: they are not read yet. `flows`: partitions that are closed, and how many are frozen. */
export type StandingShown = {
  orders: readonly OperatorChange[] | null;
  ordersCurrent: boolean;
  flows: { closed: readonly string[]; frozen: number };
};
/** Raised by this process since it started. */
export type AlarmCount = { code: string; count: number };
/** `applied`: the place up to which it is folded; null: not known. */
export type PartitionShown = { topic: string; partition: number; end: number; applied: number | null; isHere: boolean };

const longestText = 1_500;

const runbook = (anchor: string) => `/console/runbooks#${anchor}`;

function head(...texts: readonly (readonly [text: string, isNumber?: boolean])[]): Html {
  return html`<thead role="rowgroup"><tr role="row">${texts.map(([text, isNumber]) => html`<th scope="col" role="columnheader"${isNumber === true && html` class="number"`}>${text}</th>`)}</tr></thead>`;
}

export function operationsPage(
  shown: Shown,
  facts: {
    status: DaemonStatus;
    checks: readonly CheckShown[];
    standing: StandingShown;
    alarms: readonly AlarmCount[];
    /** Null: the log does not tell. */
    partitions: readonly PartitionShown[] | null;
    seesLetters: boolean;
    seesTokens: boolean;
  },
): string {
  const { texts } = shown;
  const words = texts.operations;
  const { seesLetters, seesTokens } = facts;
  const links = html`<p class="actions">${seesLetters && html`<a class="button plain" href="/console/operations/letters">${words.letters.title}</a>`}
${seesTokens && html`<a class="button plain" href="/console/operations/tokens">${words.tokens.title}</a>`}
<a class="button plain" href="/console/runbooks">${words.runbooks}</a></p>`;
  const body = html`<h1>${words.title}</h1>
${links}
<section aria-labelledby="checks-title"><h2 id="checks-title">${words.checks}</h2>${checkTable(shown, facts)}</section>
<section aria-labelledby="partitions-title"><h2 id="partitions-title">${words.partitions}</h2>${partitionTable(shown, facts.status, facts.partitions)}</section>
<section aria-labelledby="rules-title"><h2 id="rules-title">${words.rules}</h2>${refusedRules(shown, facts.status)}</section>
<section aria-labelledby="alarms-title"><h2 id="alarms-title">${words.alarms}</h2>${alarmTable(shown, facts.alarms)}</section>`;
  return layout(shown, { title: words.title, body, place: 'operations' });
}

function checkTable(
  shown: Shown,
  { status, checks, standing }: { status: DaemonStatus; checks: readonly CheckShown[]; standing: StandingShown },
): Html {
  const { texts, format } = shown;
  const words = texts.operations;
  const { unknownRefusals, linkQueryRefusals, slowAnswers, caps } = status;
  const { status: found } = format.texts;
  const rows: readonly { name: string; isGood: boolean; text: string }[] = [
    // What is shown under it is said once.
    ...checks.map((check) =>
      check.name === 'caps' && caps != null
        ? { name: check.name, isGood: false, text: fullCapsText(format, caps) }
        : {
            name: check.name,
            isGood: check.missing === null && !check.isIll,
            text: checkText(shown, status, standing, check),
          },
    ),
    ...(unknownRefusals == null
      ? []
      : [{ name: 'outcomes', isGood: false, text: found.unknownRefusals(unknownRefusals) }]),
    ...(linkQueryRefusals == null
      ? []
      : [{ name: 'queries', isGood: false, text: found.linkQueryRefusals(linkQueryRefusals) }]),
    ...(slowAnswers == null ? [] : [{ name: 'answers', isGood: false, text: found.slowAnswers(slowAnswers) }]),
  ];
  const named: Readonly<Record<string, string>> = words.checkNames;
  return html`<p class="soft">${words.checksAbout} <a href="${runbook('lancenotready')}">${words.runbook}</a></p>
<table class="cards" role="table" aria-labelledby="checks-title">${head([words.check], [words.state], [words.detail])}<tbody role="rowgroup">
${rows.map(
  ({
    name,
    isGood,
    text,
  }) => html`<tr role="row"><th scope="row" role="rowheader">${Object.hasOwn(named, name) ? named[name]! : outside(name)}</th>
<td role="cell" data-name="${words.state}"><span class="${isGood ? 'right' : 'wrong'}">${isGood ? words.good : words.bad}</span></td>
<td role="cell" data-name="${words.detail}">${text !== '' && html`<span>${outside(withLocalTimes(text, format), longestText)}</span>`}</td></tr>`,
)}
</tbody></table>
<p class="help">${words.doctor} <code>lance doctor</code></p>`;
}

const hashLength = 12;

/** What a check says in `/readyz?verbose`, in the language of the page. What is not told in figures is translated where it is known. */
function checkText(
  { texts, format }: Shown,
  status: DaemonStatus,
  { orders, ordersCurrent, flows }: StandingShown,
  { name, missing, note }: CheckShown,
): string {
  const { checkTexts: words } = texts.operations;
  const { bidding, partitions, requests } = status;
  const { fault } = format.texts;
  const joined = (parts: readonly (string | null)[]) => parts.filter((part) => part !== null && part !== '').join('; ');
  switch (name) {
    case 'partitions': {
      const closed = [...partitions.closed, ...flows.closed].map(fault);
      const frozen = requests?.known === true ? words.frozen(requests.frozen, flows.frozen) : words.frozenUnknown;
      return joined([...(closed.length === 0 ? [words.noneClosed] : closed), frozen]);
    }
    case 'gate':
      return bidding === null ? '' : gateText(texts, format, bidding);
    case 'service':
      return serviceText(format, status) ?? '';
    case 'caps':
      return words.noCaps;
    case 'sources':
      return joined(status.failingSources?.map(format.texts.status.failingSource) ?? [words.noneFails]);
    case 'rules': {
      const { ruleSet } = status;
      const followed = ruleSet === null ? words.noSet : words.followed(ruleSet.slice(0, hashLength));
      const why = missing === null ? null : fault(missing.replace(/^rule set \S+: /, ''));
      const [back, economics] = [backText(format, status), economicsText(format, status)];
      const went = back === null ? null : `${format.texts.status.labels.back} ${back}`;
      return joined([followed, why, went, folderText(format, status), economics]);
    }
    case 'control': {
      if (orders === null) return words.ordersUnread;
      const said = orders.map((order) =>
        words.order(whatText(order, format), order.by, format.minute(order.at), order.reason ?? ''),
      );
      if (ordersCurrent) return said.length === 0 ? words.noOrder : joined(said);
      return joined([words.ordersStale, ...said]);
    }
    default:
      return fault(missing ?? note ?? '');
  }
}

function gateText(
  { now, operations }: Shown['texts'],
  format: Format,
  { cause, since, until, by, detail }: NonNullable<DaemonStatus['bidding']>,
): string {
  const { bidding: texts } = format.texts;
  const at = format.minute(since);
  if (cause === null) return operations.checkTexts.open(at);
  const isPaused = cause === 'paused';
  const parts = [
    `${now.closed}: ${causeText(texts, cause, detail)} (${cause})`,
    `${now.since.toLowerCase()} ${at}`,
    until == null ? null : `${now.until.toLowerCase()} ${format.minute(until)}`,
    by === null ? null : `${now.by.toLowerCase()} ${by}`,
    detail === null ? null : isPaused ? detail : detailText(format.texts, detail),
    isPaused ? now.pausedRemedy : remedyOf(texts, cause, detail),
  ];
  return parts.filter((part) => part !== null).join('; ');
}

function partitionTable(
  { texts, format }: Shown,
  status: DaemonStatus,
  partitions: readonly PartitionShown[] | null,
): Html {
  const words = texts.operations;
  const { closed } = status.partitions;
  const table =
    partitions === null
      ? html`<p class="fault">${words.logSilent}</p>`
      : html`<table class="cards" role="table" aria-labelledby="partitions-title">${head([words.partition], [words.here], [words.end, true], [words.applied, true], [words.behind, true])}<tbody role="rowgroup">
${partitions.map(
  ({
    topic,
    partition,
    end,
    applied,
    isHere,
  }) => html`<tr role="row"><th scope="row" role="rowheader">${topic}/${partition}</th>
<td role="cell" data-name="${words.here}">${isHere ? format.texts.yes : format.texts.no}</td>
<td role="cell" class="number" data-name="${words.end}">${format.number(end)}</td>
<td role="cell" class="number" data-name="${words.applied}">${applied === null ? format.texts.none : format.number(applied)}</td>
<td role="cell" class="number" data-name="${words.behind}">${applied === null ? format.texts.none : format.number(Math.max(0, end - applied))}</td></tr>`,
)}
</tbody></table>`;
  return html`${table}
${closed.map((text) => html`<p class="fault">${outside(withLocalTimes(format.texts.fault(text), format), longestText)}</p>`)}
<p class="help"><a href="${runbook('lancelag')}">${words.runbook}</a></p>`;
}

/** Each problem names its file and where it is in it. */
function refusedRules({ texts, format }: Shown, { rulesFolder }: DaemonStatus): Html {
  const words = texts.operations;
  const { refusal } = rulesFolder;
  if (refusal === null) return html`<p class="soft">${words.rulesGood}</p>`;
  const lines = refusal.split('\n');
  return html`<p class="fault">${texts.now.rulesRefused}</p>
<ul class="reasons">${lines.slice(0, mostProblems).map((line) => html`<li>${outside(refusalLine(format, line), longestText)}</li>`)}</ul>
${lines.length > mostProblems && html`<p class="help">${words.moreProblems(String(lines.length - mostProblems))}</p>`}
<p class="help"><a href="${runbook('lancerulesetrefused')}">${words.runbook}</a></p>`;
}

const mostProblems = 100;

function alarmTable({ texts, format }: Shown, alarms: readonly AlarmCount[]): Html {
  const words = texts.operations;
  const raised = alarms.filter(({ count }) => count > 0);
  if (raised.length === 0) return html`<p class="soft">${words.noAlarms}</p>`;
  return html`<p class="soft">${words.alarmsAbout}</p>
<table class="cards" role="table" aria-labelledby="alarms-title">${head([words.alarm], [words.count, true], [words.runbook])}<tbody role="rowgroup">
${raised.map(
  ({
    code,
    count,
  }) => html`<tr role="row"><th scope="row" role="rowheader"><span>${alarmText(texts, code)} <code>${code}</code></span></th>
<td role="cell" class="number" data-name="${words.count}">${format.number(count)}</td>
<td role="cell" data-name="${words.runbook}"><a href="${runbook(`alarm-${code}`)}">${words.whatToDo(code)}</a></td></tr>`,
)}
</tbody></table>`;
}

export type LettersShown = {
  partition: number | null;
  from: number;
  letters: readonly Letter[];
  more: { partition: number; from: number } | null;
};
/** The form that reads them again, as it was sent. */
export type ReplayTried = {
  typed: Readonly<Partial<Record<string, string>>>;
  faults: readonly { field: 'partition' | 'from' | 'count' | 'reason' | null; text: string }[];
};

export function lettersPage(
  shown: Shown,
  { partition, from, letters, more }: LettersShown,
  {
    replay,
    tried,
    mayReplay,
    most,
  }: {
    replay: Pick<Replay, 'read' | 'understood' | 'stillNot'> | null;
    tried: ReplayTried | null;
    mayReplay: boolean;
    most: number;
  },
): string {
  const { texts, format } = shown;
  const words = texts.operations.letters;
  const header = format.texts.letters.header;
  const rows = letters.map((letter) => {
    const { replayedAt, replayedBy, dismissedAt, dismissedBy, keys, unreadable } = letter;
    const facts = unreadable.flatMap(({ fact }) => fact ?? []).join(', ');
    const who = replayedBy === undefined ? null : html` (${outside(replayedBy.by)})`;
    return html`<tr role="row"><th scope="row" role="rowheader">${letter.partition}/${letter.offset}</th>
<td role="cell" data-name="${header[2]!}">${timeText(letter.receivedAt, format)}</td>
<td role="cell" data-name="${header[3]!}">${outside(format.texts.deskReason(letter.reason))}</td>
<td role="cell" data-name="${header[4]!}">${letter.pointer !== null && letter.pointer !== '' && outside(letter.pointer)}</td>
<td role="cell" data-name="${header[5]!}">${replayedAt !== null && html`<span>${timeText(replayedAt, format)}${who}</span>`}${dismissedAt !== undefined && html`<span>${outside(format.texts.letters.dismissedBy(format.minute(dismissedAt), dismissedBy?.by ?? '', dismissedBy?.reason ?? ''))}</span>`}</td>
<td role="cell" data-name="${header[6]!}">${keys !== null && outside(keys.join(', '))}</td>
<td role="cell" data-name="${header[7]!}">${facts !== '' && outside(facts)}</td></tr>`;
  });
  const heads = [`${header[0]}/${header[1]}`, ...header.slice(2)].map((text) => [text] as const);
  const body = html`<p><a href="/console/operations">${texts.operations.back}</a></p>
<h1>${words.title}</h1>
<p class="soft">${words.about} <a href="${runbook('lancedeadletters')}">${texts.operations.runbook}</a></p>
${replay !== null && html`<p class="notice" role="status">${words.replayed(format.number(replay.read), format.number(replay.understood), format.number(replay.stillNot))}</p>`}
${rows.length === 0 ? html`<p class="soft">${format.texts.letters.empty}</p>` : html`<table class="cards" role="table" aria-label="${words.title}">${head(...heads)}<tbody role="rowgroup">${rows}</tbody></table>`}
<p class="actions">${more !== null && html`<a class="button plain" rel="next" href="/console/operations/letters?partition=${more.partition}&amp;from=${more.from}">${words.next}</a>`}
${(partition !== null || from > 0) && html`<a href="/console/operations/letters">${words.first}</a>`}</p>
${mayReplay ? replayForm(shown, { partition, from, tried, most }) : html`<p class="help">${words.adminOnly}</p>`}`;
  return layout(shown, { title: words.title, body, place: 'operations' });
}

function replayForm(
  { texts, person }: Shown,
  { partition, from, tried, most }: { partition: number | null; from: number; tried: ReplayTried | null; most: number },
): Html {
  const words = texts.operations.letters;
  const faultsOf = (field: string) => (tried?.faults ?? []).filter((fault) => fault.field === field);
  const list = (id: string, field: string) =>
    faultsOf(field).length > 0 &&
    html`<ul class="reasons wrong" id="${id}-fault">${faultsOf(field).map(({ text }) => html`<li>${text}</li>`)}</ul>`;
  const invalid = (id: string, field: string) =>
    faultsOf(field).length > 0 && html` aria-invalid="true" aria-describedby="${id}-fault"`;
  const number = (field: 'partition' | 'from' | 'count', usual: string) =>
    html`<div class="field"><label for="replay-${field}">${words.fields[field]}</label><input id="replay-${field}" name="${field}" inputmode="numeric" maxlength="16" autocomplete="off" value="${tried?.typed[field] ?? usual}"${invalid(`replay-${field}`, field)}>${list(`replay-${field}`, field)}</div>`;
  const others = (tried?.faults ?? []).filter(({ field }) => field === null);
  return html`<section aria-labelledby="replay-title"><h2 id="replay-title">${words.replay}</h2>
<p class="soft">${words.replayAbout(String(most))}</p>
${tried !== null && html`<div class="fault" role="alert"><p>${words.refused}</p>${others.map(({ text }) => html`<p>${text}</p>`)}</div>`}
<form method="post" action="/console/operations/letters/replay" class="panel">
${csrfField(person!.csrfToken)}
<div class="fields">${number('partition', partition === null ? '' : String(partition))}${number('from', String(from))}${number('count', String(Math.min(most, usualCount)))}</div>
<div class="field"><label for="replay-reason">${texts.flows.fields.reason}</label>
<textarea id="replay-reason" name="reason" rows="2" maxlength="2000" required${invalid('replay-reason', 'reason')}>${tried?.typed.reason ?? ''}</textarea>${list('replay-reason', 'reason')}
<p class="help">${texts.flows.help.reason}</p></div>
<p class="actions"><button class="button">${words.replay}</button></p>
</form></section>`;
}

const usualCount = 50;
/** Of tokens and sessions, the latest. */
const mostTokens = 200;

export function tokensPage(
  shown: Shown,
  tokens: readonly KnownToken[],
  { now, notice }: { now: EpochMs; notice: 'revoked' | 'revoked-before' | null },
): string {
  const { texts, format, person } = shown;
  const words = texts.operations.tokens;
  const rows = tokens.slice(0, mostTokens).map((token) => {
    const { id, kind, owner, role, createdAt, createdBy, expiresAt, revoked } = token;
    const isLive = revoked === null && expiresAt > now;
    const state = revoked === null ? (isLive ? words.live : words.expired) : words.revoked;
    const form = html`<details><summary>${words.revoke} <span class="skip">${id}</span></summary>
<form method="post" action="/console/operations/tokens/${id}/revoke">${csrfField(person!.csrfToken)}
<p>${words.revokeWhat}</p><button class="button danger">${words.confirm(id)}</button></form></details>`;
    return html`<tr role="row"><th scope="row" role="rowheader" class="word"><code>${id}</code></th>
<td role="cell" class="word" data-name="${words.kind}">${words.kinds[kind]}</td>
<td role="cell" data-name="${words.owner}">${outside(owner)}</td>
<td role="cell" class="word" data-name="${words.role}">${texts.roles[role]}</td>
<td role="cell" data-name="${words.created}"><span>${timeText(createdAt, format)} (${outside(createdBy)})</span></td>
<td role="cell" data-name="${words.expires}">${timeText(expiresAt, format)}</td>
<td role="cell" data-name="${texts.operations.state}"><span>${state}${revoked !== null && html` ${timeText(revoked.at, format)} (${outside(revoked.by)})`}</span></td>
<td role="cell" data-name="">${isLive && form}</td></tr>`;
  });
  const heads = [
    words.id,
    words.kind,
    words.owner,
    words.role,
    words.created,
    words.expires,
    texts.operations.state,
    words.revoke,
  ];
  const body = html`<p><a href="/console/operations">${texts.operations.back}</a></p>
<h1>${words.title}</h1>
<p class="soft">${words.about}</p>
${notice !== null && html`<p class="notice" role="status">${notice === 'revoked' ? words.done : words.before}</p>`}
${rows.length === 0 ? html`<p class="soft">${words.none}</p>` : html`<table class="cards" role="table" aria-label="${words.title}">${head(...heads.map((text) => [text] as const))}<tbody role="rowgroup">${rows}</tbody></table>`}
${tokens.length > mostTokens && html`<p class="help">${words.more(String(tokens.length - mostTokens))}</p>`}`;
  return layout(shown, { title: words.title, body, place: 'operations' });
}

/** `text`: of `docs/runbooks.md`; null: it is not installed beside the program. */
export function runbookPage(shown: Shown, text: string | null): string {
  const { operations: words } = shown.texts;
  const body = html`<p><a href="/console/operations">${words.back}</a></p>
<h1>${words.runbooks}</h1>
${text === null ? html`<p>${words.noRunbooks} <code>docs/runbooks.md</code></p>` : html`<div lang="en">${runbookSections(text)}</div>`}`;
  return layout(shown, { title: words.runbooks, body, place: 'operations' });
}

/** Sections with the ids that alerts link to; within them, the first line about an alarm has the id of its code. */
function runbookSections(text: string): Html {
  const named = new Set<string>();
  const [, ...sections] = text.split(/^## /m);
  return html`${sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const anchor = title.toLowerCase().replaceAll(/[^\w]+/g, '-');
    const paragraphs = lines.map((line) => {
      if (line.trim() === '') return html``;
      const codes = [...line.matchAll(/`([a-z][a-z-]+)`(?=[:,])/g)].map(([, code]) => code!);
      const fresh = title === 'LanceAlarm' ? codes.filter((code) => !named.has(code)) : [];
      for (const code of fresh) named.add(code);
      return html`${fresh.map((code) => html`<span id="alarm-${code}"></span>`)}${plainLine(line)}\n`;
    });
    return html`<section aria-labelledby="${anchor}"><h2 id="${anchor}">${title}</h2><div class="prose">${paragraphs}</div></section>`;
  })}`;
}

/** Code spans as such; of links the words stay. */
function plainLine(line: string): Html {
  const parts = line.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
