/** The report on one request in words that a risk analyst reads, why it ended so first. */
import { listedBid } from '../bidding/bid-list.ts';
import { hindrancesIn } from '../bidding/hindrances.ts';
import { isLimiting, usageUnder } from '../domain/cap-book.ts';
import type { Limits } from '../domain/policy.ts';
import type { AuctionRecord, Hindrance } from '../domain/records.ts';
import type { FactValue } from '../rules/facts.ts';
import { auctionSection, resultSection, sendingSection, unknownReason } from './bid-outcome-text.ts';
import { type BidAccount, type BidReport, shownFacts } from './bid-report.ts';
import { wordOf } from './flows.ts';
import type { Format } from './format.ts';
import { limitText } from './limit-text.ts';
import { createPage, type Page, type Sections } from './page.ts';
import { ruleLines } from './rules-account.ts';
import { plotText } from './value-plot.ts';

const around = [-40, -20, -10, -5, 0, 5, 10, 20, 40];
const plotWidth = 64;
const plotHeight = 6;
const hashLength = 12;

export function reportText(report: BidReport, format: Format): string {
  const { texts } = format;
  const { state } = report;
  const page = createPage();
  page.line(texts.show.title(state.requestId));
  page.field(texts.show.batch, state.batchId ?? texts.none);
  page.field(texts.show.state, `${texts.states[state.phase]} (${state.phase})`);
  if (state.frozen !== undefined) page.field(texts.freeze.mark, texts.fault(state.frozen.problem));
  const { contract } = report;
  if (contract !== null) page.field(texts.show.contract, contractText(contract, format));
  else if (listedBid(state).next !== null) page.wrapped(texts.show.contractNext(state.requestId));
  page.field(texts.show.exposure, texts.show.exposures[report.reservation === 'refused' ? 'refused' : state.exposure]);
  resultSection(page, report, format);
  nearestSection(page, report, format);
  whySections(page, report, format);
  reviewSection(page, report, format);
  accountsSection(page, report, format);
  statisticsSection(page, report, format);
  offerSection(page, report, format);
  capsSection(page, report, format);
  sendingSection(page, report, format);
  auctionSection(page, report, format);
  historySection(page, report, format);
  replaySection(page, report, format);
  return page.text();
}

/** What was asked for, the facts that the rules saw, the rules that held and their limits. */
export function whySections(page: Sections, account: BidAccount, format: Format): void {
  askedSection(page, account, format);
  rulesSection(page, account, format);
}

function contractText({ flowId, phase, shownDone }: NonNullable<BidReport['contract']>, { texts }: Format): string {
  const isReceived = phase === 'endorsed' && !shownDone;
  const where = isReceived ? texts.flows.received.whole : texts.flows.phases[phase];
  return `${flowId}: ${where} (lance contracts show ${flowId})`;
}

function nearestSection(page: Page, { decision, nearest }: BidReport, format: Format): void {
  const { show, facts, units } = format.texts;
  if (decision?.kind !== 'passed') return;
  page.section(show.nearest);
  const value = (fact: string, amount: FactValue) => {
    if (typeof amount === 'number' && (fact === 'margin' || fact === 'amount')) return format.money(amount);
    if (fact === 'age') return `${amount} ${units.years}`;
    return String(amount);
  };
  for (const { fact, from, to, rateHundredths } of nearest) {
    const rate = format.rate(rateHundredths);
    if (typeof fact !== 'string') {
      const was = from === null ? format.texts.rules.absent : String(from);
      page.line(show.nearestTo(fact.catalogue, was, String(to), rate));
    } else if (from === null || to === null) page.line(show.nearestOnly(facts[fact], rate));
    else page.line(show.nearestTo(facts[fact], value(fact, from), value(fact, to), rate));
  }
  if (nearest.length === 0) page.line(show.nearestNone);
  if (nearest.some(({ byPrior }) => byPrior)) page.line(show.byPrior);
}

function askedSection(page: Sections, { state, decision, replay }: BidAccount, format: Format): void {
  const { texts } = format;
  const { show } = texts;
  const { request } = state;
  if (request === null) return;
  const money = (cents: number | null) => (cents === null ? texts.none : format.money(cents));
  page.section(show.asked);
  page.field(show.received, format.time(request.receivedAt));
  if (request.closesAt !== null) page.field(show.closes, format.time(request.closesAt));
  page.field(show.amount, money(request.requestedAmountCents));
  page.field(show.installments, String(request.requestedInstallments ?? texts.none));
  page.field(show.margin, money(replay === null ? request.availableMarginCents : replay.assessment.marginCents));
  if (state.repeats + state.conflicts > 0) page.field(show.repeats, show.repeatsWords(state.repeats, state.conflicts));
  if (replay === null) return;
  const { link, facts } = replay.assessment;
  const wait = decision?.trace.linkAsked;
  const answered = link === null ? null : show.linkAt(format.time(link.receivedAt));
  page.field(show.link, wait === undefined ? (answered ?? show.linkNone) : show.linkAskedAt(format.time(wait.from)));
  if (wait !== undefined) {
    const seconds = format.number((wait.until - wait.from) / 1_000, 1);
    page.field('', answered ?? show.linkUnanswered(format.time(wait.until), seconds));
  }
  if (request.unread !== undefined) {
    page.line(show.requestUnread);
    page.wrapped(request.unread.join(', '));
  }
  if (link?.contradicted !== undefined) {
    page.line(show.linkContradicted);
    page.wrapped(link.contradicted.join(', '));
  }
  if (link?.unread !== undefined) {
    page.line(show.linkUnread);
    page.wrapped(link.unread.join(', '));
  }
  const contradicted = decision?.trace.contradicted;
  if (contradicted !== undefined) {
    page.line(show.linkDiffers);
    page.wrapped(contradicted.join(', '));
  }
  page.section(show.factsTitle);
  for (const [name, value] of shownFacts(facts)) page.field(name, factText(name, value, format));
}

function factText(name: string, value: string | number | boolean | null, format: Format): string {
  const { show, yes, no, none } = format.texts;
  if (value === null) return show.hiddenText;
  if (value === '') return none;
  if (typeof value === 'boolean') return value ? yes : no;
  // Codes are no amounts.
  if (/code|codigo/i.test(name)) return String(value);
  return typeof value === 'number' ? format.number(value, Number.isInteger(value) ? 0 : 2) : value;
}

function rulesSection(page: Sections, { decision, replay }: BidAccount, format: Format): void {
  if (decision === null || replay === null) return;
  const { show, events, limits } = format.texts;
  const rules = new Map(replay.policy.ruleSet.rules.map((rule) => [rule.name, rule]));
  page.section(show.rules);
  for (const name of decision.trace.rulesFired) {
    const rule = rules.get(name);
    page.line(`${name} [${rule === undefined ? '?' : events[rule.event]}]`);
    if (rule !== undefined) page.wrapped(rule.description);
  }
  const { verdict, worse } = replay.assessment;
  const limited = Object.entries(verdict.limits) as [keyof Limits, number | null][];
  if (limited.some(([, value]) => value !== null)) page.section(show.limitsTitle);
  for (const [field, value] of limited) {
    if (value === null) continue;
    page.field(limits[field], `${limitText(field, value, format)}  ${show.limitBy(verdict.limitRules[field] ?? '?')}`);
  }
  const changes = Object.entries(verdict.economics);
  if (changes.length > 0) page.section(show.economicsTitle);
  for (const [field, value] of changes) {
    const before = replay.policy.economics[field as keyof typeof verdict.economics];
    page.field(field, `${before} → ${value}`);
  }
  if (worse.length > 0) page.line(show.worseWord);
  for (const { field, value, word, rule } of worse) {
    page.field(field, `${value}  ${show.wordOf[word]}${rule === null ? '' : `  ${show.limitBy(rule)}`}`);
  }
}

/** Every rule, whether it fired or not: the question is often why one did not. */
export function accountsSection(page: Sections, { accounts }: BidAccount, format: Format): void {
  if (accounts.length === 0) return;
  page.section(format.texts.rules.conditions);
  for (const account of accounts) for (const line of ruleLines(account, format)) page.line(line);
}

function statisticsSection(page: Page, { decision, replay, price, learnt }: BidReport, format: Format): void {
  const curve = replay?.curve ?? null;
  if (decision === null || curve === null) return;
  const { show } = format.texts;
  page.section(show.statistics);
  page.field(show.segment, decision.trace.segmentKeys.at(-1) ?? '');
  page.field(show.learnt, String(learnt));
  page.field(show.median, format.rate(curve.medianHundredths));
  page.field(show.noRivalShare, format.share(curve.noRivalShare));
  if (price === null || price.rates.length === 0) return;
  const chosen = centreOf(price.rates, price.choice.kind === 'offer' ? price.choice.offer.rateHundredths : null);
  const rows = around.flatMap((step) => {
    const rate = price.rates.find(({ rateHundredths }) => rateHundredths === chosen + step);
    if (rate === undefined) return [];
    const mark = price.choice.kind === 'offer' && step === 0 ? show.chosen : '';
    return [
      [
        format.rate(rate.rateHundredths),
        format.share(rate.winProbability),
        format.share(rate.acceptance),
        format.money(rate.amountCents),
        format.money(rate.installmentCents),
        format.annualRate(rate.cetAnnualHundredths),
        format.money(rate.valueIfReleasedCents),
        format.money(rate.expectedValueCents),
        rate.forbidden === null ? mark : show.forbidden[rate.forbidden],
      ],
    ];
  });
  page.table(show.aroundHeader, rows, [0, 1, 2, 3, 4, 5, 6, 7]);
}

type Rates = NonNullable<BidReport['price']>['rates'];

/** Where nothing was chosen: of the rates inside the limits, the one that came nearest to earning something. */
function centreOf(rates: Rates, chosen: number | null): number {
  if (chosen !== null) return chosen;
  const inside = rates.filter(({ forbidden }) => forbidden !== 'range');
  const best = (inside.length > 0 ? inside : rates).reduce((left, right) =>
    right.expectedValueCents > left.expectedValueCents ? right : left,
  );
  return best.rateHundredths;
}

function offerSection(page: Page, { price }: BidReport, format: Format): void {
  if (price?.choice.kind !== 'offer' || price.stack === null) return;
  const { show, stack: names } = format.texts;
  const { offer, totalCents, breakEvenHundredths, acceptance, cetMonthlyHundredths } = price.choice;
  page.section(show.offer);
  page.field(show.rate, format.rate(offer.rateHundredths));
  page.field(show.amount, format.money(offer.amountCents));
  page.field(show.installments, String(offer.installments));
  page.field(show.installment, format.money(offer.installmentCents));
  page.field(show.total, format.money(totalCents));
  page.field(show.financed, format.money(offer.financedCents));
  page.field(show.iof, format.money(offer.iofCents));
  page.field(show.cet, `${format.annualRate(offer.cetAnnualHundredths)} (${format.rate(cetMonthlyHundredths)})`);
  page.field(show.breakEven, format.rate(breakEvenHundredths));
  page.field(show.winProbability, format.share(offer.winProbability));
  page.field(show.acceptance, format.share(acceptance));
  page.section(show.stackTitle);
  const rows: [string, string][] = [];
  let running = 0;
  for (const { name, cents } of price.stack.rows) {
    if (name === 'not-won') rows.push([`= ${names.valueIfReleased}`, format.money(running)]);
    running += cents;
    if (cents !== 0 || name === 'interest') rows.push([`  ${names[name]}`, format.money(cents)]);
  }
  rows.push([`= ${names.expected}`, format.money(running)]);
  page.amounts(rows);
  const shown = price.rates.filter(({ expectedValueCents, forbidden }) => expectedValueCents > 0 || forbidden === null);
  if (shown.length < 2) return;
  page.section(show.curveTitle);
  const points = price.rates
    .filter(({ rateHundredths: x }) => x >= shown[0]!.rateHundredths && x <= shown.at(-1)!.rateHundredths)
    .map((rate) => ({ x: rate.rateHundredths, y: rate.expectedValueCents, forbidden: rate.forbidden !== null }));
  const options = { width: plotWidth, height: plotHeight, mark: offer.rateHundredths };
  page.drawn(plotText(points, { ...options, label: format.rate, top: format.money }));
}

/** As the decision saw it, where there is one. */
function reviewSection(page: Page, { decision, state }: BidReport, format: Format): void {
  const review = decision?.trace.review ?? state.review;
  if (review === undefined) return;
  const { texts } = format;
  const { decisions, ...words } = texts.review;
  const { queue, rules, askedAt, until, otherwise, answer } = review;
  page.section(`${words.title}: ${queue}`);
  page.field(words.rules, rules.join(', '));
  page.field(words.asked, format.time(askedAt));
  page.field(words.until, format.time(until));
  page.field(words.otherwise, decisions[otherwise]);
  if (answer !== null) page.field(words.answer, words.said(decisions[answer.decision], answer.by, answer.reason));
  else if (decision === null && state.phase === 'requested') page.field(words.answer, words.waits);
  else page.field(words.answer, (until > askedAt ? words.unanswered : words.noTime)(decisions[otherwise]));
}

function capsSection(page: Page, { decision }: BidReport, format: Format): void {
  if (decision === null || decision.trace.caps.length === 0) return;
  const { show } = format.texts;
  page.section(show.capsTitle);
  for (const cap of decision.trace.caps.filter(isLimiting)) {
    const { keys, limitAmountCents, limitCount } = cap;
    const { amountCents, count } = usageUnder(cap, (key) => decision.trace.usage[key]);
    const limit = limitAmountCents === null ? null : format.money(limitAmountCents);
    const key = withoutPseudonym(keys[0] ?? '');
    page.line(show.capUsage({ key, amount: format.money(amountCents), limit, count, countLimit: limitCount }));
  }
}

/** Pseudonyms say nothing to a reader, and an employer that is a person goes by the link's. */
function withoutPseudonym(key: string): string {
  return key.replace(/=[A-Za-z0-9_-]{43}(?=\||$)/g, '=…');
}

function historySection(page: Page, account: BidReport, format: Format): void {
  page.section(format.texts.show.history);
  for (const { at, text } of historyLines(account, format)) page.field(format.time(at), text);
}

/** Records, and what kept the request from its end between them. */
export function historyLines(
  { history, shownCodes }: Pick<BidAccount, 'history' | 'shownCodes'>,
  format: Format,
): { at: number; text: string }[] {
  const lines = history.map((record) => ({ at: record.at, text: historyText(shownCodes(record), format) }));
  for (const hindrance of hindrancesIn(history)) {
    const line = { at: hindrance.from, text: hindranceText(hindrance, format) };
    const place = lines.findIndex(({ at }) => at > line.at);
    lines.splice(place < 0 ? lines.length : place, 0, line);
  }
  return lines;
}

export function hindranceText({ kind, cause, count, from, until }: Hindrance, format: Format): string {
  const { show, bidding } = format.texts;
  if (kind !== 'wait') return show.attemptInVain(kind, cause, count, format.time(until));
  const words = Object.hasOwn(bidding.causes, cause) ? bidding.causes[cause as keyof typeof bidding.causes] : null;
  return show.waitedFor(format.number((until - from) / 1_000, 1), words, cause);
}

export function historyText(record: AuctionRecord, format: Format): string {
  const word = format.texts.kinds[record.kind];
  switch (record.kind) {
    case 'requested':
      return word;
    case 'claimed':
      return `${word}: ${format.rate(record.offer.rateHundredths)} (${record.claimId})`;
    case 'passed':
      return `${word}: ${record.code}`;
    case 'answered': {
      const { factValues } = format.texts.flows;
      const { outcome } = record;
      const why = outcome.kind === 'unknown' ? ` (${unknownReason(outcome.reason, format)})` : '';
      return `${word}: ${wordOf(factValues, outcome.kind)}${why}`;
    }
    case 'ended':
      return `${word}: ${record.bids.length}`;
    case 'contemplated':
    case 'proposed':
      return `${word}: ${record.requestCode}${record.errors.length > 0 ? ' ✗' : ''}`;
    case 'resolved':
      return format.texts.show.resolution(record.as, record.by, record.reason);
    case 'frozen':
    case 'unreadable':
      return `${word}: ${record.problem}`;
    case 'review-asked': {
      const { review } = format.texts;
      return `${word}: ${review.historyAsked(record.queue, format.time(record.until), review.decisions[record.otherwise])}`;
    }
    case 'review-answered': {
      const { review } = format.texts;
      return `${word}: ${review.said(review.decisions[record.decision], record.by, record.reason)}`;
    }
    case 'source-asked':
      return `${word}: ${record.source} (${record.attempt})`;
    case 'source-answered': {
      const said = Object.entries(record.found).map(([field, value]) => `${field} ${value}`);
      return `${word}: ${[record.source, ...(record.failure === null ? [] : [record.failure]), ...said].join(', ')}`;
    }
    case 'worker-read':
      return `${word}: ${record.by}, ${record.reason}`;
    case 'unfrozen':
      return `${word} (${record.action}): ${record.by}, ${record.reason}`;
    default:
      return record satisfies never;
  }
}

function replaySection(page: Page, { decision, differences, rulesSealed }: BidReport, format: Format): void {
  const { show, none } = format.texts;
  page.section(show.replay);
  if (decision === null) {
    page.line(show.replayNone);
    return;
  }
  if (rulesSealed) page.line(show.replaySealed);
  else if (differences.length > 0) page.line(show.replayDiffers(differences.join(', ')));
  else page.line(decision.kind === 'claimed' ? show.replaySame : show.replaySamePass);
  const { ruleSetHash, settingsHash, curveHash } = decision.trace;
  const short = (hash: string | null) => hash?.slice(0, hashLength) ?? none;
  page.line(show.inputs(short(ruleSetHash), short(settingsHash), short(curveHash)));
}
