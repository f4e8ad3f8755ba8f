/** The pages of requests that wait for a person before a bid; pure. */
import type { EpochMs } from '../domain/glossary.ts';
import type { ReviewAnswer } from '../domain/offer.ts';
import type { ReviewPage, WaitingReview } from '../operating/reviews.ts';
import { type Html, html, outside } from './html.ts';
import { csrfField, layout, type Shown, secondText, timeText } from './pages.ts';

const addressOf = (requestId: string) => `/console/reviews/${encodeURIComponent(requestId)}`;

/** `found` null: the name of the queue is none. */
export function reviewsPage(
  shown: Shown,
  { queue, found, isFirst, now }: { queue: string; found: ReviewPage | null; isFirst: boolean; now: EpochMs },
): string {
  const { texts, format } = shown;
  const { reviews: words } = texts;
  const missing = (found?.missing ?? [])
    .map(({ partition, why }) => `${partition} (${format.texts.list.unaskedWhy[why]})`)
    .join(', ');
  const invalid = found === null && html` aria-invalid="true" aria-describedby="queue-fault"`;
  const older = new URLSearchParams({ ...(queue === '' ? {} : { queue }), before: found?.next ?? '' });
  const nothing = found?.next == null ? format.texts.review.empty : texts.requests.noneYet;
  const body = html`<h1>${words.title}</h1>
<p class="soft">${words.about}</p>
<form method="get" action="/console/reviews" class="row" role="search">
<div class="field"><label for="queue">${words.onlyQueue}</label><input id="queue" name="queue" value="${queue}" maxlength="40" autocomplete="off" spellcheck="false"${invalid}></div>
<button class="button">${words.show}</button>
${queue !== '' && html`<a href="/console/reviews">${words.all}</a>`}
</form>
${found === null && html`<p class="fault" role="alert" id="queue-fault">${words.queueWrong}</p>`}
${missing !== '' && html`<p class="fault" role="alert">${texts.requests.missing(missing)}</p>`}
${found !== null && (found.reviews.length === 0 ? html`<p class="soft">${nothing}</p>` : reviewTable(shown, found.reviews, now))}
<p class="actions">${found?.next != null && html`<a class="button plain" rel="next" href="/console/reviews?${older.toString()}">${words.older}</a>`}
${!isFirst && html`<a href="/console/reviews">${texts.requests.newest}</a>`}</p>`;
  return layout(shown, { title: words.title, body, place: 'reviews' });
}

function reviewTable({ texts, format }: Shown, reviews: readonly WaitingReview[], now: EpochMs): Html {
  const { reviews: words } = texts;
  const head = (text: string, isNumber = false) =>
    html`<th scope="col" role="columnheader"${isNumber && html` class="number"`}>${text}</th>`;
  const rows = reviews.map((review) => {
    const { requestId, queue, askedAt, until, otherwise } = review;
    return html`<tr role="row"><th scope="row" role="rowheader" class="word"><a href="${addressOf(requestId)}">${outside(requestId)}</a></th>
<td role="cell" class="word" data-name="${words.queue}">${outside(queue)}</td>
<td role="cell" data-name="${words.since}"><span>${timeText(askedAt, format)}, ${texts.now.ago((now - askedAt) / 1_000)}</span></td>
<td role="cell" data-name="${words.until}">${secondText(until, format)}</td>
<td role="cell" data-name="${words.otherwise}">${format.texts.review.decisions[otherwise]}</td>
<td role="cell" class="number" data-name="${words.amount}">${moneyText(review.requestedAmountCents, format)}</td>
<td role="cell" class="number" data-name="${words.term}">${review.requestedInstallments}</td>
<td role="cell" class="number" data-name="${words.margin}">${moneyText(review.availableMarginCents, format)}</td>
<td role="cell" data-name="${words.rules}">${outside(review.rules.join(', '))}</td></tr>`;
  });
  return html`<table class="cards" role="table" aria-label="${words.title}"><thead role="rowgroup"><tr role="row">
${head(texts.requests.request)}${head(words.queue)}${head(words.since)}${head(words.until)}${head(words.otherwise)}${head(words.amount, true)}${head(words.term, true)}${head(words.margin, true)}${head(words.rules)}
</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
}

function moneyText(cents: number | null | undefined, format: Shown['format']): string | null {
  return cents == null ? null : format.money(cents);
}

/** The form as it was sent, and what is wrong with it. `whole`: why the answer does not count. */
export type AnswerTried = {
  reason: string;
  decision: ReviewAnswer | null;
  faults: { reason?: string; decision?: string; whole?: string };
};

/** `review` null: it does not wait. */
export function reviewPage(
  shown: Shown,
  requestId: string,
  {
    review,
    tried,
    now,
    mayAnswer,
  }: { review: WaitingReview | null; tried: AnswerTried | null; now: EpochMs; mayAnswer: boolean },
): string {
  const { texts, format } = shown;
  const { reviews: words } = texts;
  const title = format.texts.show.title(requestId);
  const fault = tried?.faults.whole;
  const body = html`<p><a href="/console/reviews">${words.back}</a></p>
<h1>${title}</h1>
${tried !== null && html`<div class="fault" role="alert"><p>${words.refused}</p>${fault !== undefined && html`<p>${fault}</p>`}</div>`}
${review === null ? html`<p>${words.gone}.</p>` : reviewFacts(shown, review, now)}
<p><a href="/console/requests/${encodeURIComponent(requestId)}">${words.request}</a></p>
${review !== null && (mayAnswer ? answerForm(shown, review, tried) : html`<p class="help">${words.viewer}</p>`)}`;
  return layout(shown, { title, body, place: 'reviews' });
}

function reviewFacts({ texts, format }: Shown, review: WaitingReview, now: EpochMs): Html {
  const { reviews: words } = texts;
  const { none } = format.texts;
  const { queue, rules, askedAt, until, otherwise } = review;
  return html`<dl class="facts panel">
<dt>${words.queue}</dt><dd>${outside(queue)}</dd>
<dt>${words.since}</dt><dd>${timeText(askedAt, format)}, ${texts.now.ago((now - askedAt) / 1_000)}</dd>
<dt>${words.until}</dt><dd>${secondText(until, format)}</dd>
<dt>${words.otherwise}</dt><dd>${format.texts.review.decisions[otherwise]}</dd>
<dt>${words.rules}</dt><dd>${outside(rules.join(', '))}</dd>
<dt>${words.amount}</dt><dd>${moneyText(review.requestedAmountCents, format) ?? none}</dd>
<dt>${words.term}</dt><dd>${review.requestedInstallments ?? none}</dd>
<dt>${words.margin}</dt><dd>${moneyText(review.availableMarginCents, format) ?? none}</dd>
</dl>`;
}

function answerForm({ texts, person }: Shown, { requestId }: WaitingReview, tried: AnswerTried | null): Html {
  const { reviews: words, order } = texts;
  const faults = tried?.faults ?? {};
  const choice = (value: ReviewAnswer, text: string) =>
    html`<label class="check"><input type="radio" name="decision" value="${value}" required${tried?.decision === value && html` checked`}> ${text}</label>`;
  const described = faults.reason === undefined ? 'reason-help' : 'reason-fault reason-help';
  return html`<form method="post" action="${addressOf(requestId)}" class="panel">
${csrfField(person!.csrfToken)}
<fieldset${faults.decision !== undefined && html` aria-describedby="decision-fault"`}><legend>${words.question}</legend>${choice('bid', words.bid)}${choice('pass', words.pass)}
${faults.decision !== undefined && html`<p class="wrong" id="decision-fault">${faults.decision}</p>`}</fieldset>
<div class="field"><label for="reason">${order.reason}</label>
<textarea id="reason" name="reason" rows="3" maxlength="200" required aria-describedby="${described}"${faults.reason !== undefined && html` aria-invalid="true"`}>${tried?.reason ?? ''}</textarea>
${faults.reason !== undefined && html`<p class="wrong" id="reason-fault">${faults.reason}</p>`}
<p class="help" id="reason-help">${order.reasonHelp}</p></div>
<p class="actions"><button class="button">${words.confirm}</button></p>
</form>`;
}
