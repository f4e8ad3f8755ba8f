/**
 * Ends of requests on their way into the log, each with the cause that is true of it and with what the request had waited for. An end is
 * begun once; it counts when it is read back.
 */

import type { BiddingSettings } from '../config/sections.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Answered, AuctionRecord, Hindrance, Passed, ReviewAsked } from '../domain/records.ts';
import { comesWithLink } from '../rules/facts.ts';
import type { BiddingWatch, ServiceHealth } from './bidding-status.ts';
import { deadlineOf } from './evolve.ts';
import { hindered } from './hindrances.ts';
import type { Ledger } from './ledger.ts';
import type { LinkDesk } from './link-desk.ts';
import type { DeskObserver } from './observer.ts';
import { type OfferQueue, worthText } from './offer-queue.ts';
import type { Outbox } from './outbox.ts';
import type { Service } from './ports.ts';
import { type DeskCode, deskPass } from './react.ts';
import { cutoffOf } from './send-claim.ts';

export type EndDesk = {
  /** Also with the record on its way that asks a person. */
  isEnding: (requestId: RequestId) => boolean;
  /** Nothing where it is ending already, or its bid is being sent. `answer`: what is known of a bid beside the end. */
  end: (record: AuctionRecord, answer?: Answered) => void;
  /** Resolves when the log has it. */
  endDurably: (record: AuctionRecord | ReviewAsked, answer?: Answered) => Promise<void>;
  /** What was decided together is appended together, as it is. */
  passTogether: (records: readonly Passed[]) => void;
  /** Those that are not bid for yet. */
  passAll: (requestIds: readonly RequestId[], code: DeskCode, text: string) => void;
  /** Nothing more is done for it: the record says so to whoever owns it, now and later. */
  freeze: (requestId: RequestId, problem: string) => void;
  /** The end that `react` asks for, with the cause for which the request waited too long. */
  explained: (record: AuctionRecord) => AuctionRecord;
  /** A pass for what is missing, where the service or a closure is why it is missing: with that cause. Else as it is. */
  withTrueCause: (decided: Passed, waited: readonly Hindrance[]) => Passed;
  /** Its end was read back, or somebody else goes on with it. */
  forget: (requestId: RequestId) => void;
  clear: () => void;
};

export function createEndDesk(world: {
  clock: Clock;
  settings: BiddingSettings;
  service: Service;
  soleOwner: boolean;
  observer: DeskObserver;
  ledger: Pick<Ledger, 'get'>;
  links: Pick<LinkDesk, 'story' | 'waitingSince' | 'unpark'>;
  queue: Pick<OfferQueue, 'get' | 'remove'>;
  outbox: Pick<Outbox, 'keep'>;
  bidding: Pick<BiddingWatch, 'endCode' | 'causeAt' | 'closures'>;
  health: Pick<ServiceHealth, 'trouble'>;
  isSending: (requestId: RequestId) => boolean;
  spawn: (work: Promise<unknown>) => void;
}): EndDesk {
  const { clock, settings, observer, ledger, links, queue, outbox, bidding, health, spawn } = world;
  const ending = new Set<RequestId>();

  function end(record: AuctionRecord, answer?: Answered): void {
    if (world.isSending(record.requestId) || ending.has(record.requestId)) return;
    spawn(endDurably(record, answer));
  }

  async function endDurably(record: AuctionRecord, answer?: Answered): Promise<void> {
    ending.add(record.requestId);
    queue.remove(record.requestId);
    const records = answer === undefined ? [withWaits(record)] : [withWaits(record), answer];
    await outbox.keep(records.map((each) => ({ topic: 'auctions', key: each.requestId, record: each })));
    if (record.kind === 'passed') observer({ kind: 'step', step: 'pass-appended' });
    if (record.kind === 'answered') observer({ kind: 'step', step: 'answer-appended' });
  }

  function passTogether(records: readonly Passed[]): void {
    if (records.length === 0) return;
    for (const { requestId } of records) ending.add(requestId);
    const kept = outbox.keep(records.map((record) => ({ topic: 'auctions', key: record.requestId, record })));
    spawn(kept.then(() => observer({ kind: 'step', step: 'pass-appended' })));
  }

  function passAll(requestIds: readonly RequestId[], code: DeskCode, text: string): void {
    for (const requestId of requestIds) {
      if (ledger.get(requestId)?.state.phase !== 'requested') continue;
      // First, for its end tells what it waited for.
      end(deskPass(requestId, code, text, clock.now(), null));
      links.unpark(requestId);
    }
  }

  function freeze(requestId: RequestId, problem: string): void {
    if (ending.has(requestId)) return;
    links.unpark(requestId);
    spawn(endDurably({ kind: 'frozen', requestId, at: clock.now(), problem }));
  }

  /** With what it waited for. What a rule decided is no end of waiting. */
  function withWaits(record: AuctionRecord): AuctionRecord {
    if (record.kind !== 'answered' && (record.kind !== 'passed' || record.trace !== null)) return record;
    return hindered(record, waitsOf(record));
  }

  function waitsOf({ requestId, at }: AuctionRecord): readonly Hindrance[] {
    const receivedAt = ledger.get(requestId)?.state.request?.receivedAt;
    return receivedAt === undefined ? [] : [...bidding.closures(receivedAt, at), ...links.story(requestId, at)];
  }

  function withTrueCause(decided: Passed, waited: readonly Hindrance[]): Passed {
    const { requestId, at, code } = decided;
    const fact = /^fact-missing:(.*)$/.exec(code)?.[1];
    if (fact === undefined ? code !== 'margin-missing' : !comesWithLink(fact)) return decided;
    const trouble = health.trouble();
    const cause = trouble?.cause ?? bidding.endCode('margin-missing');
    if (cause === 'margin-missing') return decided;
    const text =
      trouble === null
        ? 'the detail of the link had not come when bidding was closed'
        : `the detail of the link was asked for in vain: ${trouble.detail}`;
    const record = deskPass(requestId, cause, text, at, null);
    return hindered(record, [...waitsOf(record), ...waited]);
  }

  function explained(record: AuctionRecord): AuctionRecord {
    if (record.kind !== 'passed') return record;
    if (record.claimId !== null) return world.soleOwner ? record : { ...record, maybeSent: true };
    if (record.code !== 'deadline' && record.code !== 'auction-ended') return record;
    const { requestId, at } = record;
    const text = record.reasons[0]!.text;
    // Whichever comes first, the end of its auction or its deadline: it ended for what kept it from being bid for then.
    const closed = closedAtEnd(requestId, at);
    if (closed !== null) return deskPass(requestId, closed, `${text} (${closed})`, at, null);
    if (record.code === 'auction-ended') return record;
    // What closes bidding now may have begun after the deadline, as a pause may that was ordered while no process ran.
    if (links.waitingSince(requestId) !== null)
      return deskPass(requestId, 'margin-missing', `${text} (margin-missing)`, at, null);
    const waiting = queue.get(requestId);
    if (waiting === null) return record;
    const code = bidding.causeAt(Math.min(at, cutoffOf(waiting.deadlineAt, world.service, settings))) ?? 'no-send-slot';
    return deskPass(requestId, code, `${text} (${code}); ${worthText(waiting)}`, at, null);
  }

  /** Why bidding was closed when the request could be bid for no more; what tells of it may be folded later. */
  function closedAtEnd(requestId: RequestId, at: EpochMs): DeskCode | null {
    const state = ledger.get(requestId)?.state;
    if (state === undefined) return null;
    const receivedAt = state.request?.receivedAt ?? at;
    return bidding.causeAt(
      Math.max(receivedAt, Math.min(at, state.auction?.endedAt ?? at, deadlineOf(state, settings))),
    );
  }

  return {
    isEnding: (requestId) => ending.has(requestId),
    ...{ end, endDurably, passTogether, passAll, freeze, explained, withTrueCause },
    forget: (requestId) => void ending.delete(requestId),
    clear: () => ending.clear(),
  };
}
