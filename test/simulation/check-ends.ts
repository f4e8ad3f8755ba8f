/** Promise 2: nothing acknowledged is lost, every request ends once and explained, and its end agrees with the truth. */
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { Claim, RequestState } from '../../src/domain/states.ts';
import { ranked } from './auction-house.ts';
import type { Report } from './checker.ts';
import { partitionOf } from './event-log.ts';
import { type Entry, ofKind, type Trails } from './log-trails.ts';
import { settings } from './policy.ts';
import { rowOf } from './views.ts';
import type { Acknowledged } from './webhook-sender.ts';
import type { HouseRequest } from './workload.ts';
import type { Evidence } from './world.ts';

/** A process looks for the bids of waiting winner events this often, after what befalls it meanwhile. */
const orphanLookMs = 15_000;

const ends = ['passed', 'rejected', 'lost', 'not-landed', 'winner-failed', 'cancelled', 'expired', 'foreign-bid'];

export function checkEnds(evidence: Evidence, trails: Trails, report: Report): void {
  const promised = new Set<string>();
  const toldEnd = new Set<string>();
  for (const acknowledged of evidence.sender.acknowledged) {
    checkDurable(evidence, trails, acknowledged, report);
    checkWinner(evidence, trails, acknowledged, report);
    const { content } = acknowledged.webhook;
    if (content.kind === 'requests') for (const requestId of content.requestIds) promised.add(requestId);
    if (content.kind === 'ended') for (const requestId of content.requestIds) toldEnd.add(requestId);
  }
  for (const [requestId, trail] of trails) {
    checkEarlier(evidence, requestId, trail, report);
    checkEnder(evidence, requestId, trail, report);
  }
  for (const requestId of promised) {
    const row = rowOf(evidence.views.data, requestId);
    if (row === null) {
      report('lost', `${requestId}: acknowledged, and the views know nothing of it`);
      continue;
    }
    checkEnd(row.state, report);
    checkExpiry(requestId, trails, report);
    const request = evidence.house.requests.get(requestId)!;
    checkTruth(evidence, request, row.state, toldEnd.has(requestId), report);
  }
}

/**
 * An answer that takes bytes of others for impossible: whoever wrote the claim, or had the request in between, may have sent them
 * before the answer was given. Here the service says that somebody had. Where all processes act for all requests at once, no
 * writer of a claim can tell.
 */
function checkEarlier({ house, log }: Evidence, requestId: string, trail: readonly Entry[], report: Report): void {
  const claim = ofKind(trail, 'claimed')[0]?.record;
  for (const { record, by, triedAt } of ofKind(trail, 'answered')) {
    const { kind } = record.outcome;
    if (record.earlierAttemptPossible || (kind !== 'duplicate' && kind !== 'rejected')) continue;
    if (claim?.claimId !== record.claimId || (claim.instance === by && log.groups === null)) continue;
    const written = house.written.filter((entry) => entry.requestId === requestId);
    const judgedAt = Math.max(
      0,
      ...written
        .filter(({ instance }) => instance === by)
        .flatMap(({ arrivals }) => arrivals.map(({ at }) => at).filter((at) => at <= triedAt)),
    );
    const other = written.find((entry) => entry.instance !== by && entry.writtenAt < judgedAt);
    if (other === undefined) continue;
    report(
      'truth',
      `${requestId}: ${by} ruled out an earlier attempt for the claim of ${claim.instance}; ${other.instance} had written it`,
    );
  }
}

/**
 * A process that has lost the partition says nothing of a claim but what the service answered: its owner goes on with it, and
 * would stop at an end that it did not bring about.
 */
function checkEnder({ log }: Evidence, requestId: string, trail: readonly Entry[], report: Report): void {
  const partition = partitionOf(log, requestId);
  for (const { record, by, triedAt } of trail) {
    const isUnsent = record.kind === 'passed' && record.claimId !== null;
    const isUnanswered = record.kind === 'answered' && record.outcome.kind === 'unknown' && record.response === null;
    if (!isUnsent && !isUnanswered) continue;
    const lost = log.lost.find(
      (span) =>
        span.instance === by &&
        span.partition === partition &&
        span.from < triedAt &&
        triedAt < (span.until ?? Number.POSITIVE_INFINITY),
    );
    if (lost === undefined) continue;
    const text = `${by} ended the claim ${triedAt - lost.from} ms after it had lost the partition`;
    report('not-owner', `${requestId}: ${text}`);
  }
}

/** A winner event that was acknowledged reaches its request when the log names the bid before the desk may give it up. */
function checkWinner(evidence: Evidence, trails: Trails, { webhook }: Acknowledged, report: Report): void {
  const { content } = webhook;
  if (content.kind !== 'winner') return;
  const { bidId, event } = content;
  const told = evidence.log.topics.callbacks
    .flat()
    .find(({ key, text }) => key === bidId && text.includes(`"${event}"`));
  if (told === undefined) return;
  const giveUpAt = told.landedAt + settings.graceMs - orphanLookMs;
  for (const [requestId, trail] of trails) {
    const naming = trail.find(({ record }) => namesBid(record, bidId));
    if (naming === undefined || naming.landedAt > giveUpAt) continue;
    const reached = ofKind(trail, event).some(({ record }) => record.requestCode === bidId);
    if (!reached) report('lost', `${requestId}: its ${event} event was acknowledged and never reached it`);
  }
}

function namesBid(record: AuctionRecord, bidId: string): boolean {
  if (record.kind === 'ended') return record.bids.some((bid) => bid.bidId === bidId);
  return record.kind === 'answered' && record.outcome.kind === 'accepted' && record.outcome.bidId === bidId;
}

/** When each thing that a webhook holds came into the log; null: never. */
function landingsOf(evidence: Evidence, trails: Trails, { webhook }: Acknowledged): (number | null)[] {
  const { content, text } = webhook;
  const { log, vault } = evidence;
  const first = (times: readonly number[]) => (times.length === 0 ? null : Math.min(...times));
  const inTopic = (topic: 'callbacks' | 'dead-letters', fits: (key: string, text: string) => boolean) =>
    log.topics[topic].flat().flatMap((stored) => (fits(stored.key, stored.text) ? [stored.landedAt] : []));
  switch (content.kind) {
    case 'requests':
    case 'ended': {
      const kind = content.kind === 'ended' ? 'ended' : 'requested';
      return content.requestIds.map((id) => first(ofKind(trails.get(id), kind).map(({ landedAt }) => landedAt)));
    }
    case 'winner':
      return [
        first(inTopic('callbacks', (key, stored) => key === content.bidId && stored.includes(`"${content.event}"`))),
      ];
    case 'link':
      return [first(inTopic('callbacks', (_, stored) => stored.includes(content.requestCode)))];
    case 'nonsense': {
      const letter = vault.pseudonym(JSON.stringify(JSON.parse(text)));
      return [first(inTopic('dead-letters', (key) => key === letter))];
    }
    default:
      return content satisfies never;
  }
}

function checkDurable(evidence: Evidence, trails: Trails, acknowledged: Acknowledged, report: Report): void {
  const { webhook, at, instance, status } = acknowledged;
  for (const landedAt of landingsOf(evidence, trails, acknowledged)) {
    const what = `${webhook.content.kind} answered ${status} by ${instance} at ${at}`;
    if (landedAt === null) report('lost', `${what} is not in the log`);
    else if (landedAt > at) report('ack-before-commit', `${what} was durable ${landedAt - at} ms later`);
  }
}

/** What a bid promised is not over before its validity is, by true time; a winner event may make it shorter. */
function checkExpiry(requestId: string, trails: Trails, report: Report): void {
  const trail = trails.get(requestId);
  const promised = [
    ...ofKind(trail, 'claimed').map(({ record }) => record.offer.validUntil),
    ...ofKind(trail, 'proposed').flatMap(({ record }) => record.validUntil ?? []),
  ];
  const validUntil = Math.min(...promised);
  for (const { record, landedAt } of ofKind(trail, 'resolved')) {
    if (record.as === 'expired' && landedAt < validUntil)
      report('expired-early', `${requestId}: expired ${validUntil - landedAt} ms before its bid did`);
  }
}

function checkEnd(state: RequestState, report: Report): void {
  const { requestId, phase, timer, pass, answer, claim, winner } = state;
  if (!ends.includes(phase) || timer !== null) {
    report(
      'unended',
      `${requestId}: ${phase} with ${timer === null ? 'no timer' : `a timer for ${timer.due}`} when all time has run out`,
    );
  }
  if (phase === 'passed' && (pass === null || pass.code === '' || pass.reasons.length === 0)) {
    report('unexplained', `${requestId}: passed without a code or a reason`);
  }
  // A claim that its writer never sent may be found among the published bids, sent by an instance that died; and that a bid has
  // won may be told before any answer to it.
  if (phase !== 'passed' && (claim === null || (answer === null && pass === null && winner === null))) {
    report('unexplained', `${requestId}: ${phase} without a claim, or without an answer, a pass or a winner event`);
  }
}

/** The phases it went through must fit what the service knows. */
function checkTruth(
  evidence: Evidence,
  request: HouseRequest,
  state: RequestState,
  toldEnd: boolean,
  report: Report,
): void {
  const { requestId, claim, phase } = state;
  const trail = new Set(evidence.views.trails.get(requestId));
  const order = ranked(request);
  const ours = order.findIndex((bid) => bid.by === 'us');
  const bid = order[ours];
  const terms = bid ?? (claim === null ? null : { ...claim.offer, rate: claim.offer.rateHundredths });
  const twins = order.filter(
    (other) => other !== bid && terms !== null && other.rate === terms.rate && other.amountCents === terms.amountCents,
  );
  const wrong = (text: string) => report('truth', `${requestId}: ${text}; went through ${[...trail].join(', ')}`);
  const won = ['won', 'contemplated', 'proposed', 'winner-failed'].some((name) => trail.has(name));
  if (bid !== undefined) {
    if (phase === 'passed' && !toldEnd && landedElsewhere(evidence, requestId, claim)) return;
    if (['passed', 'rejected', 'not-landed', 'foreign-bid'].includes(phase))
      wrong(`a bid of ours landed, and it ended as ${phase}`);
    if (trail.has('foreign-bid') && isOnlyOurs(evidence, request)) wrong('nobody else bid in our name');
    if (twins.length > 0 || !toldEnd) return;
    if (ours === 0 && (!won || trail.has('lost'))) wrong('we won');
    if (ours > 0 && (won || !trail.has('lost'))) wrong(`we lost at position ${ours + 1}`);
    return;
  }
  if (request.outside !== null) {
    if (phase === 'passed') wrong('a bid of ours was accepted outside the auction');
    return;
  }
  if (trail.has('accepted') || trail.has('accepted-outside')) wrong('no bid of ours landed');
  if (twins.length === 0 && (won || trail.has('lost'))) wrong('no bid of ours landed, and none looks like it');
}

/** One process wrote, nothing on the way doubled it, and no other system of ours took part: a duplicate can only be our own. */
function isOnlyOurs({ house }: Evidence, { requestId, bids }: HouseRequest): boolean {
  const written = house.written.filter((entry) => entry.requestId === requestId);
  const writers = new Set(written.map((entry) => entry.instance));
  return (
    writers.size === 1 &&
    written.every((entry) => entry.arrivals.length < 2) &&
    bids.every((bid) => bid.by !== 'our-other-system')
  );
}

/**
 * Sent by an instance that did not write the claim and died before it could tell: no record and no result will ever say
 * so, and the claim's writer has said in good faith that it never sent it.
 */
export function landedElsewhere({ house }: Evidence, requestId: string, claim: Claim | null): boolean {
  const landed = house.written.find(
    (entry) => entry.requestId === requestId && entry.arrivals.some(({ verdict }) => verdict === 'accepted'),
  );
  return landed !== undefined && claim !== null && landed.instance !== claim.instance;
}
