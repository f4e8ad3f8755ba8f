/** `lance bids show`: one request, in words or as one JSON object. */
import type { Decision } from '../http/api/bid-reader.ts';
import { codeText } from './bid-outcome-text.ts';
import { readBidReport, reportJson } from './bid-report.ts';
import { hindranceText, reportText } from './bid-text.ts';
import { remoteDesk } from './desk-control.ts';
import type { Format } from './format.ts';
import { createPage } from './page.ts';
import { type CommandWorld, withReader } from './world.ts';

export async function showBid(world: CommandWorld, requestId: string, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const desk = await remoteDesk(world, {});
  if (desk !== null) {
    const bid = await desk.bid(requestId);
    terminal.write(json ? JSON.stringify(bid) : toldText(bid, format));
    if (!json) terminal.say(format.texts.show.toldOnly);
    return;
  }
  await withReader(world, async (reader, { pseudonymKey }) => {
    const report = await readBidReport(world, reader, requestId, pseudonymKey);
    terminal.write(json ? JSON.stringify(reportJson(report)) : reportText(report, format));
  });
}

/** What a running desk tells of it: how it stands and why, and nothing that only the log says. */
function toldText(bid: Decision, format: Format): string {
  const { texts } = format;
  const { show } = texts;
  const page = createPage();
  page.line(show.title(bid.requestId));
  page.field(show.batch, bid.batchId ?? texts.none);
  page.field(show.state, `${texts.states[bid.state]} (${bid.state})`);
  if (bid.frozen !== undefined) page.field(texts.freeze.mark, texts.fault(bid.frozen));
  if (bid.decidedAt !== null) page.field(show.decided, format.time(bid.decidedAt));
  if (bid.next !== null) page.wrapped(show.contractNext(bid.requestId));
  page.section(show.result);
  if (bid.code !== null) {
    const words = codeText(bid.code, format);
    page.line(bid.state === 'passed' ? show.pass(bid.code, words) : words);
  }
  for (const { code, rule, text } of bid.reasons) {
    page.line(`• ${rule === null ? code : `${code} – "${rule}"`}`);
    page.wrapped(texts.deskReason(text));
  }
  if (bid.workerTold !== null) page.wrapped(show.workerTold(bid.workerTold[format.language]));
  if (bid.auction !== null && bid.auction.position !== null)
    page.line(show.position(bid.auction.position, bid.auction.bidCount));
  for (const { event, sharedWith } of bid.unclaimed)
    page.line(show.unclaimed(texts.states[event], sharedWith.join(', ')));
  for (const hindrance of bid.hindrances) page.field(format.time(hindrance.from), hindranceText(hindrance, format));
  const { offer } = bid;
  if (offer === null) return page.text();
  page.section(show.offer);
  page.field(show.rate, format.rate(offer.rateHundredths));
  page.field(show.amount, format.money(offer.amountCents));
  page.field(show.installments, String(offer.installments));
  page.field(show.installment, format.money(offer.installmentCents));
  page.field(show.financed, format.money(offer.financedCents));
  page.field(show.iof, format.money(offer.iofCents));
  page.field(show.cet, format.annualRate(offer.cetAnnualHundredths));
  page.field(show.winProbability, format.share(offer.winProbability));
  page.field(show.validUntil, format.time(offer.validUntil));
  return page.text();
}
