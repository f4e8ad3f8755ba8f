/** How requests end: each once, explained, nothing acknowledged lost, and as it really was. */
import type { PublishedBid } from '../../domain/offer.ts';
import type { AuctionRecord } from '../../domain/records.ts';
import type { Phase } from '../../domain/states.ts';
import type { AuctionEnd } from '../record.ts';
import { landedBid, type RequestCase, type Run, type Telling } from './run.ts';
import type { Report, ViewsRead } from './violation.ts';

/** Every 2xx is a promise: what it acknowledged is in the log. */
export function checkAcknowledged(run: Run, report: Report): void {
  const codes = new Set(run.callbacks.map((record) => `${record.kind} ${record.requestCode}`));
  for (const { delivery, acknowledgedSentAt } of run.tellings) {
    if (acknowledgedSentAt === null) continue;
    const { what, requestIds, requestCode } = delivery;
    switch (what) {
      case 'requests':
        for (const requestId of requestIds) {
          const evidence = run.cases.get(requestId)?.evidence;
          if (evidence?.requested) continue;
          report('acknowledged-lost', requestId, 'its request was acknowledged and is not in the log');
        }
        break;
      case 'ended':
        for (const requestId of requestIds) {
          if (run.cases.get(requestId)?.evidence.ended) continue;
          report('acknowledged-lost', requestId, 'the end of its auction was acknowledged and is not in the log');
        }
        break;
      case 'contemplated':
      case 'proposed':
        if (codes.has(`${what} ${requestCode}`)) checkRekeyed(run, delivery, report);
        else
          report(
            'acknowledged-lost',
            requestIds[0] ?? null,
            `its ${what} event was acknowledged and is not in the log`,
          );
        break;
      case 'link-list':
      case 'link-detail':
        if (codes.has(`${what} ${requestCode}`)) break;
        report('acknowledged-lost', null, `the ${what} callback ${requestCode} was acknowledged and is not in the log`);
        break;
      case 'contract':
      case 'renegotiation':
        if (codes.has(`credit-note ${requestCode}`)) break;
        report('acknowledged-lost', null, `the ${what} webhook ${requestCode} was acknowledged and is not in the log`);
        break;
      case 'endorsement':
        if (codes.has(`operation-event ${requestCode}`)) break;
        report('acknowledged-lost', null, `the ${what} webhook ${requestCode} was acknowledged and is not in the log`);
        break;
      default:
        what satisfies never;
    }
  }
}

/** A winner event reaches its request as soon as the log knows which bid it is about. */
function checkRekeyed(run: Run, { what, requestIds, requestCode }: Telling['delivery'], report: Report): void {
  const known = run.cases.get(requestIds[0] ?? '');
  if (known === undefined || !known.records.some((record) => answeredCodes(record).includes(requestCode))) return;
  const isThere = known.records.some((record) => record.kind === what && codeOf(record) === requestCode);
  if (!isThere) report('acknowledged-lost', known.requestId, `its ${what} event never reached the request`);
}

/** Of a bid that was taken, inside the auction or outside. */
function answeredCodes(record: AuctionRecord): readonly (string | null)[] {
  if (record.kind !== 'answered') return [];
  const { outcome, codes = [] } = record;
  return outcome.kind === 'accepted' || outcome.kind === 'accepted-outside' ? [outcome.bidId, ...codes] : [];
}

function codeOf(record: AuctionRecord): string | null {
  return record.kind === 'contemplated' || record.kind === 'proposed' ? record.requestCode : null;
}

export function checkEnd(known: RequestCase, report: Report): void {
  const { requestId, evidence, standing } = known;
  if (evidence.requested === null) return;
  if (standing.end === 'requested' || standing.end === 'claimed') {
    report('request-without-end', requestId, `the log leaves it as ${standing.end}`);
  }
  const outcome = evidence.answer?.outcome;
  if (outcome?.kind === 'unknown' && outcome.reason === '') {
    report('request-without-end', requestId, 'its bid ended unknown and no reason is given');
  }
}

export function checkReasons({ requestId, evidence }: RequestCase, report: Report): void {
  for (const pass of [evidence.pass, evidence.unsent]) {
    if (pass === null) continue;
    const explained = pass.reasons.length > 0 && pass.reasons.every(({ code, text }) => code !== '' && text !== '');
    if (pass.code === '') report('pass-without-reason', requestId, 'it was passed without a code');
    else if (!explained)
      report('pass-without-reason', requestId, `it was passed as ${pass.code} and no reason is given`);
  }
}

/** Written twice the same is one end: an append that was refused may have been written all the same. */
export function checkTwoEnds(known: RequestCase, owners: 'one' | 'many', report: Report): void {
  const { requestId, records, evidence, calls } = known;
  const bidIds = new Set(records.flatMap((record) => acceptedIdOf(record)));
  if (bidIds.size > 1) report('two-ends', requestId, `the log has ${bidIds.size} accepted bids`);
  const landed = calls.filter((call) => call.outcome === 'accepted' || call.outcome === 'accepted-outside');
  if (landed.length > 1) report('two-ends', requestId, `the service accepted ${landed.length} bids`);
  if (owners === 'many') return;
  // What could not be read ends nothing where the request could be read after all.
  const passes = records.filter(
    (record) => record.kind === 'passed' && !(record.unread && evidence.requested !== null),
  );
  const ends = new Set(passes.map((record) => (record.kind === 'passed' ? `pass ${record.code}` : '')));
  if (evidence.claim !== null && evidence.unsent === null) ends.add('a bid');
  if (ends.size > 1) report('two-ends', requestId, `the log ends it as ${[...ends].join(' and as ')}`);
}

function acceptedIdOf(record: AuctionRecord): string[] {
  return record.kind === 'answered' && record.outcome.kind === 'accepted' ? [record.outcome.bidId] : [];
}

const standingBid: readonly Phase[] = ['accepted', 'won', 'lost', 'contemplated', 'proposed', 'winner-failed'];
const noBid: readonly Phase[] = ['passed', 'rejected', 'not-landed', 'foreign-bid'];

/** The log's last word against what really happened. */
export function checkTruth(known: RequestCase, report: Report): void {
  const { requestId, standing, evidence, auctionEnd, wins } = known;
  const landed = landedBid(known);
  const { end } = standing;
  const wrong = (text: string) => report('wrong-end', requestId, text);
  if (landed === null) {
    // Without an answer the desk goes by what was published, and a rival may have bid the very same.
    const mistaken = evidence.answer?.proof !== 'landed' && (end === 'won' || end === 'lost');
    if (standingBid.includes(end) && !mistaken) wrong(`the log says ${end}; the service never took a bid for it`);
    return;
  }
  if (noBid.includes(end)) {
    wrong(`the service took the bid ${landed.requestCode}; the log says ${end}`);
    return;
  }
  const outcome = evidence.answer?.outcome;
  if (outcome?.kind === 'accepted' && outcome.bidId !== landed.requestCode) {
    wrong(`the service took the bid ${landed.requestCode}; the log has ${outcome.bidId}`);
  }
  if (end === 'proposed' && wins.length > 0 && wins.every((win) => win.errors.length > 0)) {
    wrong('the win came with errors; the log says proposed');
  }
  if (auctionEnd !== null && evidence.ended !== null) checkPosition(known, auctionEnd, evidence.ended.bids, wrong);
}

function checkPosition(
  { standing, evidence }: RequestCase,
  { ranked }: AuctionEnd,
  published: readonly PublishedBid[],
  wrong: (text: string) => void,
): void {
  const ours = ranked.find((bid) => bid.ours);
  if (ours === undefined) return;
  const told = published.find((bid) => bid.bidId === ours.bidId)?.position ?? null;
  if (told !== ours.position) wrong(`our bid came in at position ${ours.position}; the log has ${told ?? 'none'}`);
  // Without the id of our bid a rival's twin may have been taken for it, or be told from it only later.
  if (evidence.answer?.proof !== 'landed') return;
  const shouldBe: readonly Phase[] =
    ours.position === 1 ? ['won', 'contemplated', 'proposed', 'winner-failed', 'cancelled', 'expired'] : ['lost'];
  if (!shouldBe.includes(standing.end)) {
    wrong(`our bid came in at position ${ours.position}; the log says ${standing.end}`);
  }
}

/** The ledger, which people look at, against the log. */
export function checkLedger(run: Run, views: ViewsRead, report: Report): void {
  const rows = new Map(views.ledger.map(({ state }) => [state.requestId, state]));
  for (const { requestId, standing, auctionEnd, records } of run.cases.values()) {
    if (records.length === 0) continue;
    const state = rows.get(requestId);
    if (state === undefined) {
      report('wrong-end', requestId, `the log says ${standing.end}; the ledger does not know it`);
      continue;
    }
    if (state.phase !== standing.end) {
      report('wrong-end', requestId, `the ledger says ${state.phase}, the log says ${standing.end}`);
    }
    const position = state.auction?.position ?? null;
    const ours = auctionEnd?.ranked.find((bid) => bid.ours);
    if (
      ours !== undefined &&
      position !== null &&
      position !== ours.position &&
      state.answer?.outcome.kind === 'accepted'
    ) {
      report('wrong-end', requestId, `our bid came in at position ${ours.position}; the ledger says ${position}`);
    }
  }
}
