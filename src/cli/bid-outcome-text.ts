/** How a request ended, how its bid was sent, and the bids that were published: parts of the report in words. */

import { isDeepStrictEqual } from 'node:util';
import { limitingRules } from '../bidding/limiting-rules.ts';
import { isLikePublished } from '../bidding/react.ts';
import { differingBids } from '../bidding/settlement.ts';
import type { Ended } from '../domain/records.ts';
import type { AuctionResult, RequestState } from '../domain/states.ts';
import { type BidReport, isWon } from './bid-report.ts';
import { reasonText, wordOf } from './flows.ts';
import type { Format } from './format.ts';
import type { Page } from './page.ts';

/** A code in words; a rule's own codes are the risk team's, and the reason says the rest. */
export function codeText(code: string, format: Format): string {
  const { codes } = format.texts;
  if (code.startsWith('fact-missing:')) return codes.factMissing(code.slice('fact-missing:'.length));
  const words = Object.hasOwn(codes, code) ? codes[code as keyof typeof codes] : codes.rule;
  return typeof words === 'string' ? words : codes.rule;
}

export function resultSection(page: Page, report: BidReport, format: Format): void {
  const { show } = format.texts;
  const { state } = report;
  page.section(show.result);
  if (state.phase === 'passed' && state.pass !== null) {
    const { code } = state.pass;
    page.line(show.pass(code, codeText(code, format)));
    reasonLines(page, report, format);
  }
  // Why nobody bids for it (again), where it is not known whether a bid stands.
  if (state.phase === 'unknown' && state.pass !== null) {
    const { code } = state.pass;
    page.wrapped(`${codeText(code, format)} (${code})`);
    reasonLines(page, report, format);
  }
  const answered = state.answer?.outcome;
  if (state.phase === 'unknown') {
    const why = answered?.kind === 'unknown' ? unknownReason(answered.reason, format) : null;
    page.wrapped(show.unknown(state.requestId, why));
  }
  if (state.phase === 'rejected' && state.answer?.outcome.kind === 'rejected') {
    page.line(codeText(state.answer.outcome.code, format));
  }
  if (report.workerTold !== null) page.wrapped(show.workerTold(report.workerTold[format.language]));
  if (state.claim?.unread) {
    const { amountCents } = state.claim.offer;
    page.wrapped(show.claimUnread(amountCents === 0 ? null : format.money(amountCents)));
  } else if (state.claim !== null && state.phase !== 'passed') {
    const { rateHundredths, amountCents, installments } = state.claim.offer;
    page.line(
      `${format.rate(rateHundredths)} · ${format.money(amountCents)} · ${installments} ${format.texts.units.months}`,
    );
  }
  rivalLines(page, report, format);
  for (const error of report.winnerErrors) page.line(`✗ ${error}`);
  for (const kind of ['contemplated', 'proposed'] as const) {
    const event = state.unclaimed?.[kind];
    if (event !== undefined) page.line(show.unclaimed(format.texts.states[kind], event.sharedWith.join(', ')));
  }
  if (state.resolution !== null) {
    const { as, by, reason } = state.resolution;
    page.line(show.resolution(as, by, reason));
  }
}

/** Of a bid that may have landed: a code of the service, or a sentence of the desk. */
export function unknownReason(reason: string, { texts }: Format): string {
  const said = reasonText(texts.flows, reason);
  return said === reason ? texts.deskReason(reason) : said;
}

function reasonLines(page: Page, { reasons, replay, state }: BidReport, { texts }: Format): void {
  for (const { code, rule, text } of reasons) {
    const { request } = state;
    const limited = replay === null || request === null ? [] : limitingRules(code, replay.assessment.verdict, request);
    const by = rule === null ? limited : [rule];
    page.line(`• ${by.length === 0 ? code : `${code} – ${by.map((name) => `"${name}"`).join(', ')}`}`);
    page.wrapped(texts.deskReason(text));
  }
}

function rivalLines(page: Page, { state, hindsight }: BidReport, format: Format): void {
  const { show } = format.texts;
  const { auction } = state;
  if (auction === null || state.claim === null) return;
  if (auction.position !== null) page.line(show.position(auction.position, auction.bidCount));
  if (hindsight === null) return;
  const { bestRivalHundredths: rival, gapHundredths: gap } = hindsight;
  const offGrid = hindsight.bestRivalOffGrid ? ` ${show.offGrid}` : '';
  page.field(show.bestRival, rival === null ? show.noRival : `${format.rate(rival)}${offGrid}`);
  if (gap !== null) {
    const points = format.points(Math.abs(gap));
    page.field(show.gap, gap === 0 ? show.gapTie : gap > 0 ? show.gapAbove(points) : show.gapBelow(points));
  }
  const { bestWinningRate, forgoneCents } = hindsight;
  const words = isWon(state)
    ? { label: show.left, some: show.leftWords, nothing: show.leftNothing }
    : { label: show.missed, some: show.missedWords, nothing: show.missedNothing };
  const some = bestWinningRate !== null && forgoneCents > 0;
  page.field(words.label, some ? words.some(format.money(forgoneCents), format.rate(bestWinningRate)) : words.nothing);
}

const turnedAway: ReadonlySet<string> = new Set(['throttled', 'unauthorised', 'unreachable']);

export function sendingSection(page: Page, report: BidReport, format: Format): void {
  const { show } = format.texts;
  const { state } = report;
  const { claim } = state;
  if (claim === null) return;
  page.section(show.sending);
  if (!claim.unread) {
    page.field(show.claim, show.claimWords(claim.claimId, format.time(claim.at)));
    page.field(show.validUntil, format.time(claim.offer.validUntil));
  }
  if (state.lateClaims > 0) page.field(show.lateClaims, String(state.lateClaims));
  if (!claim.unread && claim.body === '') page.wrapped(show.bytesLost);
  else if (!claim.unread) {
    page.line(report.answers.length > 0 || state.phase !== 'passed' ? show.bytes : show.bytesUnsent);
    page.line(`  ${claim.body}`);
  }
  for (const { outcome, attempts, earlierAttemptPossible, firstByteAt, response, hindrances = [] } of report.answers) {
    // Those that were turned away, or reached nobody, brought nothing to the service: the record counts the others.
    const inVain = hindrances.filter(({ kind, cause }) => kind === 'attempt' && turnedAway.has(cause));
    const all = inVain.reduce((sum, { count }) => sum + count, attempts);
    const notes = [
      ...(all > attempts ? [show.delivered(attempts)] : []),
      ...(earlierAttemptPossible ? [show.earlier] : []),
    ];
    page.field(show.attempts, `${all}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`);
    page.field(show.firstByte, format.time(firstByteAt));
    const status = response === null ? show.noAnswer : show.httpStatus(response.status);
    page.field(show.answer, `${wordOf(format.texts.flows.factValues, outcome.kind)}, ${status}`);
    const body = response === null ? '' : report.scrubber.answer(response);
    if (body !== '') page.line(`  ${body}`);
  }
}

export function auctionSection(page: Page, report: BidReport, format: Format): void {
  const { show } = format.texts;
  const { state, ended, endedAgain } = report;
  if (ended === null) return;
  page.section(show.published);
  publishedTable(page, ended, state, state.auction, format);
  const again = state.auction?.again;
  if (endedAgain === null || again === undefined) return;
  page.wrapped(show.publishedAgain(format.time(again.toldAt)));
  publishedTable(page, endedAgain, state, again, format);
}

function publishedTable(
  page: Page,
  ended: Ended,
  state: RequestState,
  auction: Pick<AuctionResult, 'candidates'> | null,
  format: Format,
): void {
  const { show } = format.texts;
  // Without a claim that can be read each of them may be ours, so none is marked.
  const isTold = state.claim !== null && !state.claim.unread;
  const own = new Set(isTold ? auction?.candidates.map(({ bidId }) => bidId) : []);
  const mark = own.size > 1 || isLikePublished(state) ? show.maybeOurs : show.ours;
  const differing = differingBids(state, ended.bids);
  const rows = [...ended.bids]
    .sort((left, right) => left.position - right.position)
    .map((bid) => [
      String(bid.position),
      `${bid.offGrid ? '< ' : ''}${format.rate(bid.rateHundredths)}`,
      format.money(bid.amountCents),
      String(bid.installments),
      format.time(bid.placedAt),
      differing.some((other) => isDeepStrictEqual(other, bid)) ? show.oursDiffers : own.has(bid.bidId) ? mark : '',
    ]);
  page.table(show.publishedHeader, rows, [0, 1, 2, 3]);
}
