/**
 * Why no bids flow: one value for log, readiness, metric, alert, commands and the reason code of each request that ends meanwhile.
 * The gate decides what may be written; this value also knows what stops bids without closing the gate, for attempts have to
 * go on while the service does not answer.
 */

import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Hindrance } from '../domain/records.ts';
import type { Gate } from './gate.ts';
import type { DeskObserver } from './observer.ts';
import {
  type BidAnswer,
  type LinkQuery,
  type QueryAnswer,
  type Service,
  type ServiceReason,
  type TimeAnswer,
  toldPause,
} from './ports.ts';
import type { DeskCode } from './react.ts';

/** The first that holds, in this order, is the cause. All but `stopping` are reason codes as well. */
export const closedCauses = [
  'stopping',
  'clock-step',
  'clock-skew',
  'log-changed',
  'control-stale',
  'paused',
  'rule-set-missing',
  'views-incomplete',
  'partitions-not-live',
  'log-refused',
  'service-unauthorised',
  'service-unreachable',
  'service-throttled',
  'restored',
] as const;
export type ClosedCause = (typeof closedCauses)[number];

/**
 * `since`: when the cause was first seen, or the pause was ordered. `by`: who paused. `detail`: for people, without personal data.
 * `until`: when the cause ends by itself, where that is known.
 */
export type BiddingStatus =
  | { kind: 'open'; since: EpochMs }
  | {
      kind: 'closed';
      cause: ClosedCause;
      since: EpochMs;
      by: string | null;
      detail: string | null;
      until?: EpochMs;
    };

export type BiddingWatch = {
  start: () => void;
  stop: () => void;
  /** Takes the same time however many requests there are. Tells the observer of a change. */
  status: () => BiddingStatus;
  /**
   * The reason code of a request that ends now: the cause while bidding is closed, or was at `lastChanceAt`, when it could be bid for
   * last; else what it waited for.
   */
  endCode: (otherwise: DeskCode, lastChanceAt?: EpochMs) => DeskCode;
  logRefused: (message: string) => void;
  /** Why bidding was closed at that time, as a reason code; null: it was open, or nobody knows it any more. */
  causeAt: (at: EpochMs) => Exclude<ClosedCause, 'stopping'> | null;
  /** When bidding was closed between these times, and why: what a request of that time waited for. No two overlap. */
  closures: (from: EpochMs, until: EpochMs) => Hindrance[];
};

const lookMs = 250;
/** Closures that are kept: an auction is shorter than so many changes of the cause. */
const keptClosures = 64;
/** The outbox tries again sooner than this, so a log that still refuses is heard of again in time. */
const refusalMs = 5_000;

export function createBiddingWatch(options: {
  clock: Clock;
  gate: Pick<Gate, 'closedBecause' | 'control' | 'controlTrouble'>;
  health: Pick<ServiceHealth, 'trouble' | 'lookAgain'>;
  /** Why the log takes nothing at all just now. */
  logTrouble?: () => string | null;
  /** Why the log is not what was written. */
  logChanged?: () => string | null;
  /** Why the log does not answer just now; null: it does. */
  logSilence?: () => string | null;
  /** Partitions that are not bid for, in words; null when some are. */
  partitionsNotLive: () => string | null;
  /** After an accepted restore: nothing received before this time is bid for. */
  noBidReceivedBefore?: EpochMs;
  observer: DeskObserver;
}): BiddingWatch {
  const { clock, gate, health, observer, noBidReceivedBefore: until = 0 } = options;
  let told: BiddingStatus | null = null;
  let refusal: { atMs: number; message: string } | null = null;
  let timer: Timer | null = null;
  /** Those that are over, the oldest first. None begins before the one before it is over: a pause may have been ordered earlier. */
  const past: { cause: ClosedCause; from: EpochMs; until: EpochMs }[] = [];
  /** When the cause that holds now began to. */
  let from: EpochMs = 0;

  function closure(): Closure | null {
    const atGate = gate.closedBecause();
    const control = atGate === 'paused' ? gate.control() : null;
    const pause = control === null ? null : toldPause(control);
    if (pause !== null) return { cause: 'paused', detail: pause.reason, by: pause.by, since: pause.at };
    if (atGate === 'log-refused') return closedBy(atGate, options.logTrouble?.() ?? null);
    if (atGate === 'log-changed') return closedBy(atGate, options.logChanged?.() ?? null);
    if (atGate === 'control-stale') return closedBy(atGate, gate.controlTrouble());
    const hangsOnLog = atGate === 'views-incomplete';
    if (atGate !== null && atGate !== 'service-unauthorised' && !hangsOnLog) return closedBy(atGate, null);
    // Without a log that answers no partition is live and no cap book can be kept: they are not the cause.
    const silence = options.logSilence?.() ?? null;
    if (silence !== null) return closedBy('log-refused', silence);
    if (hangsOnLog) return closedBy(atGate, options.partitionsNotLive());
    const partitions = options.partitionsNotLive();
    if (partitions !== null) return closedBy('partitions-not-live', partitions);
    if (refusal !== null && clock.monotonicMs() - refusal.atMs < refusalMs)
      return closedBy('log-refused', refusal.message);
    const trouble = health.trouble();
    if (atGate !== null) return closedBy(atGate, null);
    if (trouble !== null) return closedBy(trouble.cause, trouble.detail);
    // Last, for it ends by itself, and whatever else keeps the desk from bidding can be mended meanwhile.
    return clock.now() < until ? { ...closedBy('restored', null), until } : null;
  }

  function status(): BiddingStatus {
    const found = closure();
    const cause = found?.cause ?? null;
    if (told !== null && cause === causeOf(told)) {
      // A pause may be ordered again, by another person and for another reason.
      if (told.kind === 'closed' && found !== null)
        told = { kind: 'closed', ...found, since: found.since ?? told.since };
      return told;
    }
    const now = clock.now();
    const next: BiddingStatus =
      found === null ? { kind: 'open', since: now } : { kind: 'closed', ...found, since: found.since ?? now };
    const before = told;
    told = next;
    if (before?.kind === 'closed') past.push({ cause: before.cause, from, until: now });
    if (past.length > keptClosures) past.shift();
    from = Math.max(next.since, past.at(-1)?.until ?? next.since);
    observer({ kind: 'bidding', status: next, before });
    if (cause === 'service-unauthorised') observer({ kind: 'alarm', code: cause, requestId: null });
    return next;
  }

  /** With the one that holds now, as far as `until`. */
  function closuresUntil(until: EpochMs): readonly { cause: ClosedCause; from: EpochMs; until: EpochMs }[] {
    const now = status();
    return now.kind === 'open' ? past : [...past, { cause: now.cause, from, until }];
  }

  function causeAt(at: EpochMs): ReturnType<BiddingWatch['causeAt']> {
    const found = closuresUntil(at).findLast((each) => each.from <= at && at <= each.until);
    return found === undefined || found.cause === 'stopping' ? null : found.cause;
  }

  function look(): void {
    health.lookAgain();
    status();
    timer = clock.after(lookMs, look);
  }

  return {
    start: look,
    stop: () => timer?.cancel(),
    status,
    endCode: (otherwise, lastChanceAt) => {
      const cause = causeOf(status());
      if (cause !== null && cause !== 'stopping') return cause;
      return (lastChanceAt === undefined ? null : causeAt(lastChanceAt)) ?? otherwise;
    },
    causeAt,
    closures: (begin, end) =>
      closuresUntil(end)
        .map((each) => ({ ...each, from: Math.max(begin, each.from), until: Math.min(end, each.until) }))
        .filter((each) => each.cause !== 'stopping' && each.from < each.until)
        .map((each) => ({ kind: 'wait', count: 1, ...each })),
    logRefused: (message) => {
      refusal = { atMs: clock.monotonicMs(), message };
    },
  };
}

/** `since`: null where it counts from when it was first seen. */
type Closure = {
  cause: ClosedCause;
  detail: string | null;
  by: string | null;
  since: EpochMs | null;
  until?: EpochMs;
};

function closedBy(cause: ClosedCause, detail: string | null): Closure {
  return { cause, detail, by: null, since: null };
}

function causeOf(status: BiddingStatus): ClosedCause | null {
  return status.kind === 'open' ? null : status.cause;
}

export type ServiceHealth = {
  /** The service, heard by this. */
  heard: (service: Service) => Service;
  trouble: () => { cause: ServiceTrouble; detail: string } | null;
  /**
   * Shows a token that nobody has tried yet, and after a refusal shows it again as soon as it may be used; asks a service that is away
   * again. So what both are worth is seen without traffic. Never by a bid.
   */
  lookAgain: () => void;
};

type ServiceTrouble = Extract<ClosedCause, `service-${string}`>;

/**
 * One lost answer is the network's; so many in a row, for so long and none answered between, are the service, when they are of at least
 * two requests: one may be answered without meaning for a reason of its own. Where only one fails, a probe is asked as well.
 */
const leastFailures = 3;
const leastFailingMs = 2_000;
/** What nobody has tried for so long is not known any more. */
const forgottenMs = 60_000;

/** Between two probes of one token that nobody has refused or taken meanwhile; a refused one waits for `service.ready`. */
const probeEveryMs = 2_000;
/** Between two probes of a token while no answer says anything of it. */
const firstProbeEveryMs = 60_000;
/** Before a service that is away is asked by a probe, since it was last tried: doubled each time. Bids are tried again sooner. */
const awayProbeFirstMs = 5_000;
const awayProbeMaxMs = 10_000;
/** A time request shows no token. Where it is answered with this, the token may be refused as well: without traffic nobody else would find out. */
const unauthorisedStatus = 401;
const leastUntriedMs = 30_000;
/**
 * Two time requests without an answer, at least this far apart and with no other answer between them, suggest that the service is away:
 * without traffic nothing else shows it. Some servers never answer a HEAD, so a probe has to fail as well before it counts.
 */
const leastSilentMs = 30_000;
/**
 * Where bids fail, an answer to a query or probe ends that only when no bid or query has failed for so long. When one fails soon after,
 * the service answers these and fails bids: from then on it takes longer, doubled each time, until a bid is answered.
 */
const firstQuietMs = awayProbeFirstMs;
const deniedQuietMs = 60_000;
const longestQuietMs = 600_000;
const deniedWithinMs = 600_000;

/** What was asked, by how much the answer says of the service: that a query is answered does not say that a bid is. */
const weights = { probe: 0, query: 1, bid: 2 } as const;
type Asked = keyof typeof weights;

/** Failures in a row of one kind, and the pause before the next probe; times on the monotonic clock. */
type FailureRun = {
  cause: ServiceTrouble;
  reason: string;
  count: number;
  sinceMs: number;
  lastMs: number;
  probeAfterMs: number;
  /** The weightiest among them. */
  asked: Asked;
  /** When a bid or query failed last; -∞: only probes did. */
  trafficAtMs: number;
  /** The first bid and the first query that failed. A bid and a query may be of one request, so they are not compared. */
  first: { bid: string | null; query: string | null };
  /** Two different bids or two different queries have failed, or a probe has. */
  isOfSeveral: boolean;
};

/** What was asked, and the same for each attempt of one request; null: by a probe. */
type Question = { asked: Asked; subject: string | null };
const probeQuestion: Question = { asked: 'probe', subject: null };

/**
 * What the answers to bids and link queries say of the service, whoever asks. A run of failures ends with an answer to what failed, or
 * to something weightier: where bids fail, with that to a bid. A lighter one ends it on trial (`firstQuietMs`).
 */
export function createServiceHealth(clock: Clock): ServiceHealth {
  let service: Service | null = null;
  let probing = false;
  /** Whether any answer has said whether the token is let in. */
  let isTried = false;
  let probedAtMs = Number.NEGATIVE_INFINITY;
  /** When an answer last said whether the token is let in. */
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** Bids and queries that have no answer yet. */
  let underWay = 0;
  let run: FailureRun | null = null;
  /** The run that something lighter has ended, until what it was of is answered. */
  let onTrial: { run: FailureRun; atMs: number } | null = null;
  let quietMs = firstQuietMs;
  /** Since when time requests have gone unanswered, with no other answer meanwhile. */
  let silentSinceMs: number | null = null;

  function hear(answer: BidAnswer | QueryAnswer, question: Question): void {
    const cause = troubleOf(answer);
    if (cause === null) return;
    if (cause === 'none' || cause === 'service-unauthorised') {
      isTried = true;
      triedAtMs = clock.monotonicMs();
    }
    if (cause === 'none') hearWell(answer, question.asked);
    else hearTrouble(cause, 'reason' in answer ? answer.reason : cause, question);
  }

  function hearWell(answer: BidAnswer | QueryAnswer, asked: Asked): void {
    if (onTrial !== null && weights[asked] >= weights[onTrial.run.asked]) {
      onTrial = null;
      quietMs = firstQuietMs;
    }
    if (run === null) return;
    // A token that is let in is let in for all.
    if (run.cause === 'service-unauthorised' || weights[asked] >= weights[run.asked]) {
      if (run.cause !== 'service-unauthorised') quietMs = firstQuietMs;
      run = null;
      return;
    }
    const nowMs = clock.monotonicMs();
    if (nowMs - run.trafficAtMs < quietMs || isWithoutCode(answer)) return;
    if (isSure()) onTrial = { run, atMs: nowMs };
    run = null;
  }

  function hearTrouble(cause: ServiceTrouble, reason: string, question: Question): void {
    const { asked } = question;
    const nowMs = clock.monotonicMs();
    if (onTrial !== null && weights[asked] >= weights[onTrial.run.asked] && cause !== 'service-unauthorised') {
      const isDenied = nowMs - onTrial.atMs < deniedWithinMs;
      if (isDenied) ({ run } = onTrial);
      quietMs = isDenied ? Math.min(longestQuietMs, Math.max(deniedQuietMs, 2 * quietMs)) : firstQuietMs;
      onTrial = null;
    }
    if (run?.cause !== cause) run = begun(cause, reason, asked, nowMs);
    if (weights[asked] > weights[run.asked]) run.asked = asked;
    if (asked !== 'probe') run.trafficAtMs = nowMs;
    noteSubject(run, question);
    run.count += 1;
    run.reason = reason;
    run.lastMs = nowMs;
  }

  function noteSubject(failing: FailureRun, { asked, subject }: Question): void {
    if (asked === 'probe') failing.isOfSeveral ||= failing.cause === 'service-unreachable';
    else {
      failing.first[asked] ??= subject;
      failing.isOfSeveral ||= failing.first[asked] !== subject;
    }
  }

  /** A service that fails in another way than before is no better: what was closed stays closed. */
  function begun(cause: ServiceTrouble, reason: string, asked: Asked, nowMs: number): FailureRun {
    const before = trouble() === null ? null : run;
    return {
      ...{ cause, reason, asked: before?.asked ?? asked, trafficAtMs: before?.trafficAtMs ?? Number.NEGATIVE_INFINITY },
      ...{ lastMs: nowMs, probeAfterMs: awayProbeFirstMs },
      ...{ first: before?.first ?? { bid: null, query: null }, isOfSeveral: before !== null },
      ...(before === null ? { count: 0, sinceMs: nowMs } : { count: leastFailures, sinceMs: nowMs - leastFailingMs }),
    };
  }

  /** Where the token may be used all the same, it was that request alone which was refused. */
  async function hearOf<A extends BidAnswer | QueryAnswer>(
    service: Service,
    question: Question,
    answering: Promise<A>,
  ): Promise<A> {
    underWay += 1;
    try {
      const answer = await answering;
      if (troubleOf(answer) !== 'service-unreachable') silentSinceMs = null;
      if (troubleOf(answer) !== 'service-unauthorised' || !service.ready()) hear(answer, question);
      return answer;
    } finally {
      underWay -= 1;
    }
  }

  function isSure(): boolean {
    if (run === null) return false;
    // A refused token is certain at once: it was renewed in vain.
    return run.cause === 'service-unauthorised' || (isLong(run) && run.isOfSeveral);
  }

  function isLong({ count, lastMs, sinceMs }: FailureRun): boolean {
    return count >= leastFailures && lastMs - sinceMs >= leastFailingMs;
  }

  async function showToken(asked: Service): Promise<QueryAnswer> {
    probing = true;
    probedAtMs = clock.monotonicMs();
    const answer = await asked.askToken();
    probing = false;
    return answer;
  }

  /**
   * What says nothing of the token leaves it refused, unless the service is away: what was heard last is the cause. A service that was
   * away is heard whatever it answers.
   */
  async function probe(asked: Service): Promise<void> {
    const answer = await showToken(asked);
    const cause = troubleOf(answer);
    if (run?.cause === 'service-unreachable') run.probeAfterMs = Math.min(awayProbeMaxMs, run.probeAfterMs * 2);
    if (cause === 'none' || cause === 'service-unauthorised') hear(answer, probeQuestion);
    else if (run?.cause === 'service-unauthorised') {
      if (cause === 'service-unreachable') becomeAway(answer);
      else run.lastMs = clock.monotonicMs();
    } else if (run?.cause === 'service-unreachable') {
      hear(answer, probeQuestion);
      // A page is of somebody in front of the service, which is away still; an acknowledgement in other words may be its own.
      if (answer.kind === 'refused' && answer.isDoubtful && isSure()) run.lastMs = clock.monotonicMs();
    }
  }

  /** Passes the answer on. A service that is known to fail already is probed by `lookAgain`. */
  async function hearTime(service: Service, asking: Promise<TimeAnswer>): Promise<TimeAnswer> {
    const answer = await asking;
    const nowMs = clock.monotonicMs();
    if (answer.kind !== 'unanswered') silentSinceMs = null;
    else if (silentSinceMs === null) silentSinceMs = nowMs;
    else if (nowMs - silentSinceMs >= leastSilentMs && trouble() === null && !probing && service.ready()) {
      silentSinceMs = null;
      const probed = await showToken(service);
      if (troubleOf(probed) === 'service-unreachable') becomeAway(probed);
      else hear(probed, probeQuestion);
    }
    if (answer.kind !== 'unanswered' && answer.status === unauthorisedStatus) await showIdleToken(service, nowMs);
    return answer;
  }

  /** Where nobody has tried it of late. A service that does not let in a query about nobody is known to refuse the token. */
  async function showIdleToken(service: Service, nowMs: number): Promise<void> {
    const isIdle = nowMs - Math.max(triedAtMs, probedAtMs) >= leastUntriedMs && underWay === 0;
    if (isIdle && trouble() === null && !probing && service.ready()) hear(await showToken(service), probeQuestion);
  }

  /** It is closed already, or known to be away, so nothing has to be sure first. */
  function becomeAway(answer: QueryAnswer): void {
    hear(answer, probeQuestion);
    if (run === null) return;
    run.count = leastFailures;
    run.sinceMs = run.lastMs - leastFailingMs;
    run.isOfSeveral = true;
  }

  function trouble(): ReturnType<ServiceHealth['trouble']> {
    if (run === null || !isSure()) return null;
    // One that is away is asked until it answers, so what is known of it is not old.
    const isAsked = run.cause === 'service-unreachable';
    if (!isAsked && clock.monotonicMs() - run.lastMs > forgottenMs) return null;
    return { cause: run.cause, detail: run.reason };
  }

  return {
    heard: (asked) => {
      service = asked;
      return {
        ...asked,
        placeBid: (attempt) => hearOf(asked, { asked: 'bid', subject: attempt.body }, asked.placeBid(attempt)),
        listLinks: (query) => hearOf(asked, questionOf(query), asked.listLinks(query)),
        askLinkDetail: (query) => hearOf(asked, questionOf(query), asked.askLinkDetail(query)),
        askTime: () => hearTime(asked, asked.askTime()),
      };
    },
    lookAgain: () => {
      if (service === null || probing || !service.ready()) return;
      const nowMs = clock.monotonicMs();
      if (run?.cause === 'service-unauthorised') {
        // Those whose bids and queries are on their way are heard anyway.
        if (nowMs - Math.max(probedAtMs, run.lastMs) >= probeEveryMs) void probe(service);
      } else if (run?.cause === 'service-unreachable' && isSure()) {
        // One on its way says more than a probe: the service may answer this one and still fail bids.
        if (underWay > 0 || nowMs - run.trafficAtMs < quietMs) return;
        if (nowMs - Math.max(probedAtMs, run.lastMs) >= run.probeAfterMs) void probe(service);
      } else if (run?.cause === 'service-unreachable' && isLong(run)) {
        // One request alone fails. The probe says whether the service does; again only when the request has failed again since.
        if (run.lastMs >= probedAtMs && nowMs - probedAtMs >= run.probeAfterMs) void probe(service);
      } else if (!isTried && nowMs - probedAtMs >= firstProbeEveryMs) void probe(service);
    },
    trouble,
  };
}

/** Both queries about one worker are of one request. */
function questionOf({ identity }: LinkQuery): Question {
  return { asked: 'query', subject: identity.cpf };
}

/**
 * The contract tells of a query under a code that its acknowledgement gives: without one it says little where bids fail, as that of a
 * service that answers all alike.
 */
function isWithoutCode(answer: BidAnswer | QueryAnswer): boolean {
  return answer.kind === 'acknowledged' && answer.requestCode === null;
}

/** `none`: the service did its work. Null: the answer says nothing of the service. */
function troubleOf(answer: BidAnswer | QueryAnswer): ServiceTrouble | 'none' | null {
  switch (answer.kind) {
    case 'answered':
      return 'none';
    case 'acknowledged':
    case 'refused':
      return answer.isDoubtful === true ? null : 'none';
    case 'unwritable':
      return null;
    case 'unknown':
      return 'service-unreachable';
    case 'not-landed':
    case 'failed':
      break;
    default:
      return answer satisfies never;
  }
  return troubleOfReason(answer.reason);
}

/** Null: nobody was asked. */
export function troubleOfReason(reason: ServiceReason): ServiceTrouble | null {
  switch (reason) {
    case 'unauthorised':
      return 'service-unauthorised';
    case 'throttled':
      return 'service-throttled';
    case 'deadline':
    case 'stopped':
    case 'worker-not-identified':
    case 'too-many-queries':
      return null;
    case 'unreachable':
    case 'headers-timeout':
    case 'body-timeout':
    case 'connection-lost':
    case 'answer-too-large':
    case 'answer-too-slow':
    case 'answer-unreadable':
    case 'unreadable-success':
      return 'service-unreachable';
    default:
      // A status that is neither a success nor a refusal: the service did not do its work.
      reason satisfies `status-${number}`;
      return 'service-unreachable';
  }
}
