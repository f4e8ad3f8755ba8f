/** The pages of the rule sets: which one decides, what another says otherwise, and the forms that have one followed; pure. */
import type { Format } from '../cli/format.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { RuleRouteParts } from '../http/api/rule-routes.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import type {
  ApproveOutcome,
  DiffOutcome,
  RollBackOutcome,
  RuleHistoryEntry,
  RuleStanding,
} from '../operating/rule-orders.ts';
import type { ShownSnooze } from '../operating/snoozes.ts';
import type { ConditionChange } from '../rules/set-differences.ts';
import { conditionWords, writtenConditionWords } from './condition-words.ts';
import { type Html, html, outside } from './html.ts';
import { csrfField, layout, refusalText as ruleRefusal, type Shown, timeText } from './pages.ts';

type KnownSet = RuleStanding['sets'][number];
type Difference = Extract<DiffOutcome, { kind: 'compared' }>['differences'][number];
type Report = Awaited<ReturnType<RuleRouteParts['ruleWatch']['judge']>>;

export type RuleOrderKind = 'approve' | 'activate' | 'rollback';
/** What became of the order that led here. */
export type RuleNotice = 'announced' | 'late' | 'followed-already' | 'one-more' | 'reviewed';

const shownHash = 12;
const shownNames = 6;
/** `lance rules diff --json` has all. */
const shownParts = 100;
const shownValues = 20;
const shownUncovered = 40;

const short = (hash: string): Html => html`<code class="hash">${hash.slice(0, shownHash)}</code>`;
const head = (text: string) => html`<th scope="col" role="columnheader">${text}</th>`;

function table(name: string, header: readonly string[], rows: readonly Html[]): Html {
  return html`<table class="cards" role="table" aria-label="${name}"><thead role="rowgroup"><tr role="row">${header.map(head)}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
}

type OverviewFacts = {
  standing: RuleStanding;
  history: readonly RuleHistoryEntry[];
  snoozes: readonly ShownSnooze[];
  folder: DaemonStatus['rulesFolder'];
  at: EpochMs;
  notice: RuleNotice | null;
  /** Whether who looks may see what a set says. */
  opensSets: boolean;
  mayRollBack: boolean;
};

export function rulesPage(shown: Shown, facts: OverviewFacts): string {
  const words = shown.texts.rules;
  const { standing, history, snoozes, notice, opensSets, mayRollBack } = facts;
  const body = html`<h1>${words.title}</h1>
${notice !== null && html`<p class="notice" role="status">${words.notices[notice]}</p>`}
<section class="panel${standing.live === null ? ' shut' : ' live'}" aria-labelledby="live-title"><h2 id="live-title" class="state">${standing.live === null ? words.noneLive : words.isLive}</h2>
${standingFacts(shown, facts)}
${mayRollBack && standing.before !== null && html`<p class="actions"><a class="button danger" href="/console/rules/rollback">${words.orders.rollback.button}</a></p>`}
</section>
<section aria-labelledby="sets-title"><h2 id="sets-title">${words.sets}</h2>
${standing.sets.length === 0 ? html`<p class="soft">${words.noSets}</p>` : setTable(shown, standing, opensSets)}
<p class="help">${words.propose}</p><pre>lance rules propose rules --comment "…"</pre>
</section>
${
  snoozes.length > 0 &&
  html`<section aria-labelledby="snoozes-title"><h2 id="snoozes-title">${words.snoozes}</h2>${snoozeTable(shown, snoozes)}</section>`
}
<section aria-labelledby="history-title"><h2 id="history-title">${words.history}</h2>
${history.length === 0 ? html`<p class="soft">${words.noSets}</p>` : historyTable(shown, history)}
</section>`;
  return layout(shown, { title: words.title, body, place: 'rules' });
}

function standingFacts(
  shown: Shown,
  { standing, folder, at }: Pick<OverviewFacts, 'standing' | 'folder' | 'at'>,
): Html {
  const { texts, format } = shown;
  const words = texts.rules;
  const { live, before, approvalNeeded, rollback } = standing;
  const { refusal, heldBack, notFollowed } = folder;
  return html`<dl class="facts">
${live !== null && html`<dt>${words.set}</dt><dd>${short(live)}</dd>`}
<dt>${words.before}</dt><dd>${before === null ? format.texts.none : short(before)}</dd>
<dt>${words.approval}</dt><dd>${approvalNeeded ? words.twoPeople : words.onePerson}</dd>
${
  rollback !== null &&
  html`<dt>${words.rolledBack}</dt><dd>${words.from} ${short(rollback.from)}, ${outside(rollback.by ?? format.texts.none)}, ${timeText(rollback.at, format)}<br>
${rollback.reviewedBy === null ? html`<strong>${words[at > rollback.reviewBy ? 'reviewOverdue' : 'reviewBy']} ${timeText(rollback.reviewBy, format)}</strong>` : html`${words.reviewedBy} ${outside(rollback.reviewedBy)}`}</dd>`
}
${notFollowed !== null && html`<dt>${words.folder}</dt><dd>${words.folderOther} ${short(notFollowed)}</dd>`}
${heldBack != null && html`<dt>${words.folder}</dt><dd>${words.folderHeld} ${short(heldBack.hash)}</dd>`}
${heldBack == null && refusal !== null && html`<dt>${words.folder}</dt><dd>${texts.now.rulesRefused} ${outside(ruleRefusal(refusal, format))}</dd>`}
</dl>`;
}

function setTable(shown: Shown, standing: RuleStanding, opensSets: boolean): Html {
  const { texts, format } = shown;
  const words = texts.rules;
  const rows = standing.sets.map((set) => {
    const { hash, state, proposed, approved, changes } = set;
    const name = opensSets ? html`<a href="/console/rules/sets/${hash}">${short(hash)}</a>` : short(hash);
    return html`<tr role="row"><th scope="row" role="rowheader">${name}</th>
<td role="cell" class="word" data-name="${words.state}">${words.states[state]}</td>
<td role="cell" data-name="${words.proposedBy}"><span>${signatures(proposed.slice(0, 3), format)}</span></td>
<td role="cell" data-name="${words.approvedBy}">${approved.length > 0 && html`<span>${signatures(approved.slice(0, 3), format)}</span>`}</td>
<td role="cell" data-name="${words.changes}"><span>${changesText(changes, format)}</span></td></tr>`;
  });
  return table(words.sets, [words.set, words.state, words.proposedBy, words.approvedBy, words.changes], rows);
}

function signatures(list: KnownSet['proposed'], format: Format): Html[] {
  const { activation } = format.texts.rules;
  return list.map(
    ({ by, via, at }, place) =>
      html`${place > 0 && html`<br>`}${by === null ? activation.folder : outside(by)}${via === 'offline' && ' (offline)'}, ${timeText(at, format)}`,
  );
}

function changesText(changes: KnownSet['changes'], { texts }: Format): Html {
  const { activation } = texts.rules;
  const groups = [...Map.groupBy(changes, ({ change, what }) => `${change} ${what}`).values()];
  if (groups.length === 0) return html`${activation.noChange}`;
  return html`${groups.map((group, place) => {
    const { change, what } = group[0]!;
    const names = group.slice(0, shownNames).map(({ name }, at) => html`${at > 0 && ', '}${outside(name)}`);
    return html`${place > 0 && '; '}${activation.changes[change]} ${activation.parts[what]} ${names}${group.length > shownNames && '…'}`;
  })}`;
}

function snoozeTable({ texts, format }: Shown, snoozes: readonly ShownSnooze[]): Html {
  const words = texts.rules;
  const rows = snoozes.map(
    ({ rule, until, by, reason, holds }) => html`<tr role="row"><th scope="row" role="rowheader">${outside(rule)}</th>
<td role="cell" data-name="${words.until}"><span>${timeText(until, format)}${!holds && html` ${words.awake}`}</span></td>
<td role="cell" data-name="${words.who}">${outside(by)}</td>
<td role="cell" data-name="${words.comment}">${outside(reason)}</td></tr>`,
  );
  return table(words.snoozes, [words.rule, words.until, words.who, words.comment], rows);
}

function historyTable({ texts, format }: Shown, history: readonly RuleHistoryEntry[]): Html {
  const words = texts.rules;
  const { activation } = format.texts.rules;
  const rows = history.map((entry) => {
    const { kind, at, by } = entry;
    const nobody = kind === 'approval-required' ? activation.configuration : activation.folder;
    const isBack = kind === 'activated' && entry.rollback !== undefined;
    return html`<tr role="row"><td role="cell" data-name="${words.when}">${timeText(at, format)}</td>
<td role="cell" data-name="${words.set}">${'hash' in entry && short(entry.hash)}</td>
<td role="cell" data-name="${words.what}"><span>${isBack ? activation.rolledBack : activation.kinds[kind]}${'of' in entry && entry.of !== undefined && html` (${activation.about[entry.of]})`}</span></td>
<td role="cell" data-name="${words.who}"><span>${by === null ? nobody : outside(by)}${entry.via === 'offline' && ' (offline)'}</span></td>
<td role="cell" data-name="${words.comment}">${'comment' in entry && entry.comment !== undefined && outside(entry.comment)}</td></tr>`;
  });
  return table(words.history, [words.when, words.set, words.what, words.who, words.comment], rows);
}

/** `orders`: what the role of who looks may order. */
export type SetFacts = {
  hash: string;
  standing: RuleStanding;
  comments: readonly RuleHistoryEntry[];
  /** As it was asked for. */
  before: string;
  diff: DiffOutcome;
  /** Null: nobody asked for them. `busy`: the thread that runs them is. */
  tests: Report | 'busy' | null;
  orders: readonly Exclude<RuleOrderKind, 'rollback'>[];
};

export function setPage(shown: Shown, facts: SetFacts): string {
  const { texts, format } = shown;
  const words = texts.rules;
  const { hash, standing, comments, orders } = facts;
  const set = standing.sets.find((each) => each.hash === hash);
  const title = words.setTitle(hash.slice(0, shownHash));
  const isReview = standing.rollback?.hash === hash && standing.rollback.reviewedBy === null;
  const standsForIt = set !== undefined && !isReview && hasSigned(set, shown.person!.name);
  const mayApprove = isReview || (set?.state === 'proposed' && !standsForIt);
  const mayActivate = set?.mayFollow === true && hash !== standing.live;
  const fitting = orders.filter((kind) => (kind === 'approve' ? mayApprove : mayActivate));
  if (!standing.approvalNeeded && !isReview) fitting.reverse();
  const lacksOther = standing.approvalNeeded && set?.state === 'proposed' && standsForIt;
  const here = `/console/rules/sets/${hash}`;
  const body = html`<p><a href="/console/rules">${words.back}</a></p>
<h1>${title}</h1>
<section class="panel${set?.state === 'live' && ' live'}" aria-label="${words.state}">
${set !== undefined && html`<p class="state">${words.states[set.state]}</p>`}
<dl class="facts">
<dt>SHA-256</dt><dd><code>${hash}</code></dd>
${set !== undefined && html`<dt>${words.proposedBy}</dt><dd>${signatures(set.proposed, format)}</dd>`}
${set !== undefined && set.approved.length > 0 && html`<dt>${words.approvedBy}</dt><dd>${signatures(set.approved, format)}</dd>`}
${commentsOf(comments).map(({ text, by }) => html`<dt>${words.comment}</dt><dd>${outside(text)}${by !== null && html` (${outside(by)})`}</dd>`)}
</dl>
${fitting.length > 0 && html`<p class="actions">${fitting.map((kind, place) => html`<a class="button${place > 0 && ' plain'}" href="${here}/${kind}">${isReview && kind === 'approve' ? words.orders.review.button : words.orders[kind].button}</a>`)}</p>`}
${lacksOther && html`<p class="help">${words.lacksOther}</p>`}
</section>
<section aria-labelledby="diff-title"><h2 id="diff-title">${words.differences}</h2>${diffForm(shown, facts)}${diffBody(shown, facts.diff)}</section>
<section aria-labelledby="tests-title"><h2 id="tests-title">${words.tests}</h2>${testsBody(shown, facts.tests)}
<form method="get" action="${here}"><input type="hidden" name="before" value="${facts.before}"><input type="hidden" name="tests" value="run">
<p class="actions"><button class="button plain">${facts.tests === null ? words.runTests : words.runAgain}</button></p></form></section>
<section aria-labelledby="impact-title"><h2 id="impact-title">${words.impact}</h2><p class="soft">${words.impactWhere}</p>
<pre>lance rules checkout ${hash.slice(0, shownHash)} ${words.emptyFolder}
lance rules impact ${words.emptyFolder} --last 5000 --html impact.html</pre></section>`;
  return layout(shown, { title, body, place: 'rules' });
}

/** Names as people mean them; whether somebody may is said where the order is done. */
function hasSigned({ proposed, approved }: KnownSet, name: string): boolean {
  return [...proposed, ...approved].some(({ by }) => by?.toLowerCase() === name.toLowerCase());
}

function commentsOf(entries: readonly RuleHistoryEntry[]): { text: string; by: string | null }[] {
  return entries.flatMap((entry) =>
    'comment' in entry && entry.comment !== undefined ? [{ text: entry.comment, by: entry.by }] : [],
  );
}

function diffForm({ texts }: Shown, { hash, standing, before }: SetFacts): Html {
  const words = texts.rules;
  const option = ({ hash: other, state }: KnownSet) =>
    html`<option value="${other}"${before === other && html` selected`}>${other.slice(0, shownHash)} (${words.states[state]})</option>`;
  return html`<form method="get" action="/console/rules/sets/${hash}" class="row">
<div class="field"><label for="before">${words.against}</label><select id="before" name="before"><option value="live">${words.states.live}</option>${standing.sets.filter((set) => set.hash !== hash && set.state !== 'live').map(option)}</select></div>
<button class="button plain">${words.compare}</button></form>`;
}

function diffBody(shown: Shown, diff: DiffOutcome): Html {
  const { texts, format } = shown;
  const words = texts.rules;
  if (diff.kind !== 'compared') return html`<p class="fault" role="alert">${refusalText(shown, diff)}</p>`;
  const { before, after, differences, conditions } = diff;
  if (before === after) return html`<p class="soft">${words.sameSet}</p>`;
  if (differences.length === 0) return html`<p class="soft">${format.texts.rules.activation.noChange}</p>`;
  return html`<p class="soft">${words.between} ${short(before)} → ${short(after)}</p>
${differences.slice(0, shownParts).map((each) => differencePart(shown, each, conditions.get(`${each.what} ${each.name}`) ?? null))}
${differences.length > shownParts && html`<p class="help">${words.more(format.number(differences.length - shownParts))}</p>`}`;
}

/** Conditions are said in words, as a whole; all else value by value, as the files name it. */
function differencePart(
  shown: Shown,
  { what, name, change, values }: Difference,
  conditions: ConditionChange | null,
): Html {
  const { texts, format } = shown;
  const words = texts.rules;
  const { activation } = format.texts.rules;
  const isSaid = ({ at }: Difference['values'][number]) =>
    conditions !== null && (what === 'conditions' || /^conditions\b/.test(at));
  const others = values.filter((each) => !isSaid(each));
  const side = (said: ConditionChange['before']) =>
    said === null ? html`<i>${words.nothing}</i>` : html`<div>${conditionWords(shown, said)}</div>`;
  const ofConditions =
    conditions === null
      ? []
      : [
          html`<tr role="row"><th scope="row" role="rowheader">${texts.conditions.title}</th>
<td role="cell" data-name="${words.was}">${side(conditions.before)}</td>
<td role="cell" data-name="${words.is}">${side(conditions.after)}</td></tr>`,
        ];
  const ofValues = others.slice(0, shownValues).map(
    ({ at, before, after }) => html`<tr role="row"><th scope="row" role="rowheader"><code>${outside(at)}</code></th>
<td role="cell" data-name="${words.was}"><code>${valueText(before, words)}</code></td>
<td role="cell" data-name="${words.is}"><code>${valueText(after, words)}</code></td></tr>`,
  );
  const rows = [...ofConditions, ...ofValues];
  return html`<h3>${activation.changes[change]}: ${activation.parts[what]} ${outside(name)}</h3>
${rows.length > 0 && table(words.differences, [words.where, words.was, words.is], rows)}
${others.length > shownValues && html`<p class="help">${words.more(format.number(others.length - shownValues))}</p>`}`;
}

function valueText(value: unknown, words: Shown['texts']['rules']): Html {
  return value === null ? html`<i>${words.nothing}</i>` : outside(JSON.stringify(value));
}

function testsBody(shown: Shown, tests: SetFacts['tests']): Html {
  const { texts, format } = shown;
  const words = texts.rules;
  if (tests === null) return html`<p class="soft">${words.testsAbout}</p>`;
  if (tests === 'busy') return html`<p class="fault" role="alert">${words.testsBusy}</p>`;
  if (tests.kind === 'refused')
    return html`<p class="fault" role="alert">${tests.compiles === true ? words.testsFail : words.refusedNow}</p><ul class="reasons">${ruleRefusal(
      tests.text,
      format,
    )
      .split('\n')
      .map((line) => html`<li>${outside(line.trim())}</li>`)}</ul>`;
  const { tested } = tests;
  if (tested === undefined) return html`<p class="notice" role="status">${words.testsPass}</p>`;
  const { count, coverage, uncovered } = tested;
  const { rules } = format.texts;
  const gaps = uncovered.slice(0, shownUncovered).map(({ rule, condition, missing }) => {
    const truths = missing.map((truth) => rules.truths[truth]).join(', ');
    return html`<li>${outside(rule)}${condition !== null && html`, ${writtenConditionWords(shown, condition)}`}: ${words.neverShown} ${truths}</li>`;
  });
  return html`<p class="notice" role="status">${words.testsPass}</p>
<dl class="figures"><div><dt>${words.testCount}</dt><dd>${format.number(count)}</dd></div><div><dt>${words.coverage}</dt><dd>${format.share(coverage)}</dd></div></dl>
${gaps.length > 0 && html`<p>${words.uncovered}</p><ul class="reasons">${gaps}</ul>`}`;
}

/** The step between the button and the order. */
export function ruleOrderPage(
  shown: Shown,
  order: { kind: RuleOrderKind; hash: string; standing: RuleStanding; comment: string; problem: string | null },
): string {
  const { texts, person, format } = shown;
  const words = texts.rules;
  const { kind, hash, standing, comment, problem } = order;
  const { rollback, approvalNeeded, live } = standing;
  const isReview = kind === 'approve' && rollback?.hash === hash && rollback.reviewedBy === null;
  const { title, what, confirm } = words.orders[isReview ? 'review' : kind];
  const place = kind === 'rollback' ? '/console/rules/rollback' : `/console/rules/sets/${hash}/${kind}`;
  const set = standing.sets.find((each) => each.hash === hash);
  const body = html`<div class="narrow">
<h1>${title}</h1>
<p>${what}</p>
<dl class="facts panel"><dt>${words.set}</dt><dd>${short(hash)}${set !== undefined && html` (${words.states[set.state]})`}</dd>
${set !== undefined && html`<dt>${words.proposedBy}</dt><dd>${signatures(set.proposed.slice(0, 3), format)}</dd>`}
${live !== null && hash !== live && html`<dt>${words.insteadOf}</dt><dd>${short(live)} <a href="/console/rules/sets/${hash}">${words.differences}</a></dd>`}
<dt>${words.approval}</dt><dd>${approvalNeeded ? words.twoPeople : words.onePerson}</dd></dl>
${problem !== null && html`<p class="fault" role="alert">${problem}</p>`}
<form method="post" action="${place}">
${csrfField(person!.csrfToken)}${kind === 'rollback' && html`<input type="hidden" name="set" value="${hash}">`}
<div class="field">
<label for="comment">${words.comment}</label>
<textarea id="comment" name="comment" rows="3" maxlength="200" autofocus aria-describedby="comment-help">${comment}</textarea>
<p class="help" id="comment-help">${words.commentHelp}</p>
</div>
<p class="actions"><button class="button${kind === 'rollback' && ' danger'}">${confirm}</button>
<a class="button plain" href="${kind === 'rollback' ? '/console/rules' : `/console/rules/sets/${hash}`}">${texts.order.back}</a></p>
</form></div>`;
  return layout(shown, { title, body, place: 'rules' });
}

/** Why an order was not done, or no set is meant; null: it was done. */
export function refusalText(
  { texts }: Shown,
  outcome: ApproveOutcome | RollBackOutcome | Exclude<DiffOutcome, { kind: 'compared' }>,
): string | null {
  const { refused } = texts.rules;
  switch (outcome.kind) {
    case 'announced':
    case 'followed-already':
    case 'one-more':
    case 'reviewed':
      return null;
    case 'set-unknown':
      return refused.unknown;
    case 'set-ambiguous':
      return refused.ambiguous(String(outcome.count));
    case 'same-person':
      return refused.samePerson(outcome.people.slice(0, shownNames).join(', ').slice(0, 300));
    case 'not-approved':
      return refused.notApproved;
    case 'none-before':
      return refused.noneBefore;
    case 'identity-needed':
      return refused.identityNeeded;
    default:
      return outcome satisfies never;
  }
}
