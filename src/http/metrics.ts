/** Metrics: closed lists as labels, series counted, units in the name. Fed by what the door and the desk tell their observers. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { closedCauses } from '../bidding/bidding-status.ts';
import type { DeskStatus } from '../bidding/desk-world.ts';
import type { DeskEvent } from '../bidding/observer.ts';
import { alarmCodes } from '../bidding/react.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { type FlowAlarm, flowAlarms } from '../origination/react.ts';
import type { DoorReport } from './door.ts';
import type { Lag } from './lag.ts';
import type { RefusalReport } from './server.ts';
import { storeUnreachable } from './waiting.ts';

/** Measured when `/metrics` is asked for. */
type GaugeSample = {
  now: EpochMs;
  /** Null: this process does not bid. */
  desk: GaugedDesk | null;
  doorInFlight: number;
  /** Of the topic `auctions`; null leaves the series out: the store did not tell. */
  lag: Lag | null;
  ruleSetRefused: boolean;
  /** Since the start. */
  logLinesLost: number;
  /** When the service last answered anything; null: not since the start. */
  serviceAnsweredAt: EpochMs | null;
  /** Requests in a row whose bids were refused in unknown words; 0: too few to tell. */
  unknownRefusals: number;
  linkQueryRefusals: number;
  /** Would-be bids of late that a cap ended, where that is told; 0: it is not. */
  cappedRequests: number;
  /** Of each check of readiness, whether it holds. */
  ready: Readonly<Record<string, boolean>>;
};

type GaugedDesk = Pick<
  DeskStatus,
  | 'queued'
  | 'oldestQueuedAt'
  | 'reviews'
  | 'sending'
  | 'sendLimit'
  | 'circuit'
  | 'unknown'
  | 'exposure'
  | 'gate'
  | 'bidding'
  | 'timeDoubt'
>;

/** Gauges without labels, by name: what each tells, and its value. Ages are 0 when nothing waits. */
const plainGauges: Readonly<Record<string, { help: string; of: (sample: GaugeSample) => number }>> = {
  queue_offers: { help: 'Offers waiting for a send slot.', of: ({ desk }) => desk?.queued ?? 0 },
  queue_oldest_age_seconds: {
    help: 'Age of the offer that has waited longest.',
    of: ({ desk, now }) => (now - (desk?.oldestQueuedAt ?? now)) / 1_000,
  },
  bids_in_flight: { help: 'Bids sent and not answered.', of: ({ desk }) => desk?.sending ?? 0 },
  send_limit: {
    help: 'Bids that may be under way at once, as learnt from the service.',
    of: ({ desk }) => desk?.sendLimit ?? 0,
  },
  circuit_open: {
    help: '1 while the service is left alone because it does not answer.',
    of: ({ desk }) => Number(desk !== null && desk.circuit !== 'closed'),
  },
  service_last_answer_timestamp_seconds: {
    help: 'When the service last answered anything at all, Unix time; 0: not since the start.',
    of: ({ serviceAnsweredAt }) => (serviceAnsweredAt ?? 0) / 1_000,
  },
  unknown_refusals: {
    help: 'Requests in a row whose bids were all refused in unknown words; 0: too few, or for too short a time.',
    of: ({ unknownRefusals }) => unknownRefusals,
  },
  link_query_refusals: {
    help: 'Employment links in a row whose queries were all refused in unknown words; 0: too few, or for too short a time.',
    of: ({ linkQueryRefusals }) => linkQueryRefusals,
  },
  capped_requests: {
    help: 'Of the last 20 would-be bids those that a cap ended, where it is half or more, or a cap by hand ended the last ones; 0: neither.',
    of: ({ cappedRequests }) => cappedRequests,
  },
  webhooks_in_flight: { help: 'Webhooks waiting for the log.', of: ({ doorInFlight }) => doorInFlight },
  unknown_bids: { help: 'Bids sent whose answer is not known.', of: ({ desk }) => desk?.unknown.count ?? 0 },
  unknown_oldest_age_seconds: {
    help: 'Age of the bid whose answer has been unknown longest.',
    of: ({ desk, now }) => (now - (desk?.unknown.oldestAt ?? now)) / 1_000,
  },
  paused: { help: '1 while an operator has paused bidding.', of: ({ desk }) => Number(desk?.gate === 'paused') },
  time_doubted: {
    help: '1 while the time of day is not believed and bidding is closed for it.',
    of: ({ desk }) => Number((desk?.timeDoubt ?? null) !== null),
  },
  rule_set_refused: {
    help: '1 while the rule files are refused and older rules are followed.',
    of: ({ ruleSetRefused }) => Number(ruleSetRefused),
  },
};

/** Alarms of neither desk: of the door, of the store, of the rules, and of the service's answers. */
export const furtherAlarms = [
  'webhook-failed',
  'anchor-unwritten',
  'log-changed',
  'views-unfit',
  'margins-unfit',
  'store-files-lost',
  'topics-unsafe',
  'rollback-unreviewed',
  'bids-refused',
  'link-queries-refused',
] as const;

export type Metrics = {
  observeDesk: (event: DeskEvent) => void;
  /** Of what follows a won bid, of the door, or of the store. */
  countAlarm: (code: FlowAlarm | 'record-undecodable' | (typeof furtherAlarms)[number]) => void;
  /** Of what is beside the desk: flows, snapshots, rules. */
  countFault: (code: string) => void;
  observeDoor: (report: DoorReport) => void;
  observeRefusal: (report: RefusalReport) => void;
  observeAppend: (durationMs: number) => void;
  setGauges: (sample: GaugeSample) => void;
  /** How often each alarm was raised since the start. */
  alarms: () => Promise<readonly { code: string; count: number }[]>;
  /** The exposition format of Prometheus. */
  text: () => Promise<string>;
};

/** Pass codes are declared by the risk team, at most 100; a list that grows past its limit counts as one `other`. */
const maxLabelValues = 100;
/** Each is told with every reason for a failure. */
const maxSources = 10;
const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How often the delay of the event loop is measured: each look wakes the process. The delay told has this in it. */
const loopLookMs = 50;

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopLookMs });
  // Gauges whose names end as a counter's must: Prometheus' own checker refuses them.
  for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const counters = makeCounters(registry);
  const durations = makeDurations(registry);
  const gauges = makeGauges(registry);
  // From 0 on: what a series begins with is no increase.
  // A process that waits for its store raises `store-unreachable` before there is a desk, and shows it by itself.
  for (const code of [...alarmCodes, ...flowAlarms, ...furtherAlarms, storeUnreachable])
    counters.alarms.inc({ code }, 0);
  const desk = deskObserver(counters, durations, gauges);
  return {
    observeDesk: desk.observe,
    countAlarm: (code) => counters.alarms.inc({ code }),
    countFault: desk.countFault,
    observeDoor: (report) => {
      counters.webhooks.inc({ event: report.event, status: String(report.status) });
      if (report.problem !== null) counters.webhookProblems.inc({ problem: report.problem });
      counters.requests.inc(report.requests);
      counters.deadLetters.inc(report.deadLetters);
      for (const { adjusted } of report.faults) {
        if (adjusted === undefined) counters.unreadableFacts.inc();
        else counters.adjustedMargins.inc({ how: adjusted });
      }
      if (report.status < 300) durations.stages.observe({ stage: 'received-to-durable' }, report.durationMs / 1_000);
    },
    observeRefusal: ({ problem, at }) => {
      counters.refusals.inc({ problem });
      if (problem === 'failed-login' || problem === 'too-many-failed-logins') {
        counters.failedLogins.inc({ at: at ?? 'none' });
      }
    },
    observeAppend: (durationMs) => durations.appends.observe(durationMs / 1_000),
    setGauges: (sample) => {
      setGauges(gauges, sample);
      counters.logLinesLost.reset();
      counters.logLinesLost.inc(sample.logLinesLost);
    },
    alarms: async () => {
      const { values } = await counters.alarms.get();
      return values.map(({ labels, value }) => ({ code: String(labels.code), count: value }));
    },
    text: () => {
      desk.tell();
      return registry.metrics();
    },
  };
}

type Counters = ReturnType<typeof makeCounters>;
type Durations = ReturnType<typeof makeDurations>;
type Gauges = ReturnType<typeof makeGauges>;

function makeCounters(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `lance_${name}_total`, help, labelNames: [...labelNames], registers });
  return {
    webhooks: counter('webhooks', 'Webhooks received, by event and status of our answer.', ['event', 'status']),
    webhookProblems: counter('webhook_problems', 'Webhooks refused or kept unread, by problem.', ['problem']),
    refusals: counter('http_refusals', 'HTTP requests and connections turned away, by problem.', ['problem']),
    failedLogins: counter('failed_logins', 'Requests with a token that is not known, by where it was shown.', ['at']),
    requests: counter('requests_received', 'Loan requests received and durable, repeats included.', []),
    deadLetters: counter('dead_letters', 'Webhooks or elements of them that were kept and not understood.', []),
    unreadableFacts: counter('unreadable_facts', 'Facts of requests that are null because they could not be read.', []),
    adjustedMargins: counter('adjusted_margins', 'Margins below zero, taken as none, or rounded down to cents.', [
      'how',
    ]),
    records: counter('records', 'Records of auctions folded, by kind.', ['kind']),
    phases: counter('phases', 'Requests that entered a phase.', ['phase']),
    passes: counter('passes', 'Requests that ended without a bid, by code.', ['code']),
    ruleEffects: counter('rule_effects', 'Decisions on which a rule had an effect, by rule.', ['rule']),
    rulePasses: counter('rule_passes', 'Requests that ended without a bid by a rule, by the rule told first.', [
      'rule',
    ]),
    attempts: counter('bid_attempts', 'Attempts to place a bid, by outcome.', ['outcome']),
    sources: counter('source_answers', 'Answers of external sources, and why there was none.', ['source', 'outcome']),
    lateClaims: counter('late_claims', 'Claims that lost to an earlier one in the log.', []),
    alarms: counter('alarms', 'Alarms raised, by code.', ['code']),
    steps: counter('steps', 'Durable steps taken, by step.', ['step']),
    logRefusals: counter('log_refusals', 'Appends that the log refused, by topic.', ['topic']),
    settled: counter('auctions_settled', 'Auctions that we bid in and that ended, by how likely winning was.', [
      'chance',
    ]),
    won: counter('auctions_won', 'Those of them that we won.', ['chance']),
    winsExpected: counter('wins_expected', 'Wins that the decisions had expected of them.', ['chance']),
    winsVariance: counter('wins_expected_variance', 'Variance of the wins expected, were the decisions right.', [
      'chance',
    ]),
    profitExpected: counter('profit_expected_reais', 'Profit that the bids settled were expected to bring.', []),
    profitWon: counter('profit_won_reais', 'Profit that the bids won were expected to bring once won.', []),
    surplus: counter(
      'surplus_percent',
      'Percentage points a month that the price would have earned, over break-evens.',
      [],
    ),
    hindsight: counter('surplus_hindsight_percent', 'The same for whoever had known the best rival.', []),
    logLinesLost: counter('log_lines_lost', 'Log lines that standard output did not take.', []),
    faults: counter('faults', 'Operational faults, by code.', ['code']),
  };
}

function makeDurations(registry: Registry) {
  const registers = [registry];
  return {
    stages: new Histogram({
      name: 'lance_stage_duration_seconds',
      help: 'Time that a request takes from one stage to another.',
      labelNames: ['stage'],
      buckets: latencyBuckets,
      registers,
    }),
    positions: new Histogram({
      name: 'lance_bid_position',
      help: 'Rank of our bid among the published ones.',
      buckets: [1, 2, 3, 5, 10],
      registers,
    }),
    gaps: new Histogram({
      name: 'lance_next_bid_gap_percent',
      help: 'Rate of the best rival less ours, percentage points a month.',
      buckets: [-1, -0.5, -0.2, -0.1, -0.05, -0.01, 0, 0.01, 0.05, 0.1, 0.2, 0.5, 1],
      registers,
    }),
    appends: new Histogram({
      name: 'lance_log_append_duration_seconds',
      help: 'Time until an append to the log is durable.',
      buckets: latencyBuckets,
      registers,
    }),
  };
}

function makeGauges(registry: Registry) {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> =>
    new Gauge({ name: `lance_${name}`, help, labelNames: [...labelNames], registers });
  const plain = Object.entries(plainGauges).map(([name, { help, of }]) => [gauge(name, help, []), of] as const);
  return {
    plain,
    exposure: gauge('exposure_reais', 'Money promised, by status.', ['status']),
    reviews: gauge('reviews_waiting', 'Requests that wait for a person before a bid, by queue.', ['queue']),
    lag: gauge('consumer_lag_records', 'Records not yet consumed, by topic.', ['topic']),
    lagAge: gauge('consumer_lag_seconds', 'How long the oldest record not yet consumed has waited, by topic.', [
      'topic',
    ]),
    readingWeight: gauge(
      'reading_weight',
      'How much a way to read the histograms counts, by window and smoothing, 0 to 1.',
      ['reading'],
    ),
    segmentWeight: gauge(
      'segment_weight',
      'How much segments along these dimensions count, 0 to 1, in the curve made last.',
      ['dimensions'],
    ),
    rivalsFollow: gauge(
      'rivals_follow_share',
      'How far the best rival moves with what we published, with the bounds that hold it with 99 %.',
      ['bound'],
    ),
    biddingStatus: gauge('bidding_status', '1 for why no bids flow just now; cause none: they do.', ['cause']),
    ready: gauge('ready', '1 while this check of readiness holds, as /readyz tells it.', ['check']),
  };
}

const topic = { topic: 'auctions' } as const;

function setGauges(gauges: Gauges, sample: GaugeSample): void {
  const { desk, lag } = sample;
  for (const [gauge, of] of gauges.plain) gauge.set(of(sample));
  for (const status of ['held', 'committed'] as const) {
    gauges.exposure.set({ status }, (desk?.exposure[status] ?? 0) / 100);
  }
  // Queues go with the rule set that named them.
  gauges.reviews.reset();
  for (const [queue, count] of Object.entries(desk?.reviews ?? {})) gauges.reviews.set({ queue }, count);
  if (lag === null) {
    gauges.lag.remove(topic);
    gauges.lagAge.remove(topic);
  } else {
    gauges.lag.set(topic, lag.records);
    gauges.lagAge.set(topic, lag.ageMs / 1_000);
  }
  const status = desk?.bidding ?? null;
  for (const cause of ['none', ...closedCauses]) {
    const isSo = status?.kind === 'closed' ? status.cause === cause : cause === 'none';
    if (status !== null) gauges.biddingStatus.set({ cause }, isSo ? 1 : 0);
  }
  for (const [check, holds] of Object.entries(sample.ready)) gauges.ready.set({ check }, holds ? 1 : 0);
}

const labelForm = /^[a-z][a-zA-Z0-9:.|_-]{0,199}$/;
/** As the risk team writes it: any text of one line. */
const ruleNameForm = /^\P{C}{1,80}$/u;

/** The label itself while the list is short and it has a label's form, else `other`. */
function limitedLabel(form = labelForm, most = maxLabelValues): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= most || !form.test(value)) return 'other';
    seen.add(value);
    return value;
  };
}

/** A series found once: by its labels each time, it costs more than counting. For closed lists of labels. */
function seriesOf<T>(find: (label: string) => T): (label: string) => T {
  const known = new Map<string, T>();
  return (label) => {
    const series = known.get(label) ?? find(label);
    known.set(label, series);
    return series;
  };
}

/** Counts by label, told to the series when somebody asks: a series takes ten times as long to count. */
function tallyOf(find: (label: string) => { inc: (count: number) => void }) {
  const counts = new Map<string, { count: number }>();
  return {
    add: (label: string): void => {
      const known = counts.get(label);
      if (known === undefined) counts.set(label, { count: 1 });
      else known.count += 1;
    },
    tell: (): void => {
      for (const [label, tally] of counts) if (tally.count > 0) find(label).inc(tally.count);
      for (const tally of counts.values()) tally.count = 0;
    },
  };
}

/** Fifths of how likely winning was: few series, and enough to see where the price is wrong. */
const chanceBands = ['0-20', '20-40', '40-60', '60-80', '80-100'] as const;

function chanceBand(winProbability: number): string {
  return chanceBands[Math.min(chanceBands.length - 1, Math.max(0, Math.floor(winProbability * chanceBands.length)))]!;
}

function settledObserver(counters: Counters, durations: Durations) {
  const seriesOfChance = seriesOf((chance) => ({
    settled: counters.settled.labels({ chance }),
    won: counters.won.labels({ chance }),
    expected: counters.winsExpected.labels({ chance }),
    variance: counters.winsVariance.labels({ chance }),
  }));
  // From 0 on: what a series begins with is no increase.
  for (const chance of chanceBands) for (const series of Object.values(seriesOfChance(chance))) series.inc(0);
  return (event: Extract<DeskEvent, { kind: 'settled' }>): undefined => {
    const { winProbability, position, gapHundredths, expectedCents, wonCents, surplus } = event;
    const series = seriesOfChance(chanceBand(winProbability));
    series.settled.inc();
    if (position === 1) series.won.inc();
    series.expected.inc(winProbability);
    series.variance.inc(winProbability * (1 - winProbability));
    // A counter never falls: a bid made at an expected loss, by a fixed rate, counts as nothing.
    counters.profitExpected.inc(Math.max(0, expectedCents) / 100);
    counters.profitWon.inc(Math.max(0, wonCents) / 100);
    durations.positions.observe(position);
    if (gapHundredths !== null) durations.gaps.observe(gapHundredths / 100);
    if (surplus === null) return;
    counters.surplus.inc(Math.max(0, surplus.earnedHundredths) / 100);
    counters.hindsight.inc(surplus.hindsightHundredths / 100);
  };
}

function deskObserver(
  counters: Counters,
  durations: Durations,
  gauges: Gauges,
): { observe: (event: DeskEvent) => void; countFault: (code: string) => void; tell: () => void } {
  const settled = settledObserver(counters, durations);
  const passCode = limitedLabel();
  const attemptOutcome = limitedLabel();
  const faultCode = limitedLabel();
  const dimensions = limitedLabel();
  const ruleName = limitedLabel(ruleNameForm);
  const sourceLabel = limitedLabel(labelForm, maxSources);
  const ruleEffect = tallyOf((rule) => counters.ruleEffects.labels({ rule }));
  const rulePass = tallyOf((rule) => counters.rulePasses.labels({ rule }));
  const step = tallyOf((name) => counters.steps.labels({ step: name }));
  const record = tallyOf((name) => counters.records.labels({ kind: name }));
  const phase = tallyOf((name) => counters.phases.labels({ phase: name }));
  const attempt = tallyOf((name) => counters.attempts.labels({ outcome: name }));
  const stage = seriesOf((name) => durations.stages.labels({ stage: name }));
  const countFault = (code: string): void => counters.faults.inc({ code: faultCode(code) });
  const observe: (event: DeskEvent) => void = (event) => {
    switch (event.kind) {
      case 'step':
        return step.add(event.step);
      case 'folded':
        record.add(event.record);
        if (event.from !== event.to) phase.add(event.to);
        if (event.to === 'passed' && event.from !== 'passed')
          counters.passes.inc({ code: passCode(event.code ?? 'none') });
        return undefined;
      case 'ruled':
        for (const rule of event.effects) ruleEffect.add(ruleName(rule));
        if (event.decidedBy !== null) rulePass.add(ruleName(event.decidedBy));
        return undefined;
      case 'duration':
        return stage(event.stage).observe(Math.max(0, event.durationMs) / 1_000);
      case 'alarm':
        return counters.alarms.inc({ code: event.code });
      case 'late-claim':
        return counters.lateClaims.inc();
      case 'time':
      case 'would-be':
      case 'earlier-bids':
      case 'link-query':
      case 'sending':
      case 'bidding':
        return undefined;
      case 'source':
        return counters.sources.inc({ source: sourceLabel(event.source), outcome: event.failure ?? 'answered' });
      case 'attempt':
        return attempt.add(attemptOutcome(event.outcome));
      case 'log-refused':
        return counters.logRefusals.inc({ topic: event.topic });
      case 'weights':
        for (const { name, weight } of event.readings) gauges.readingWeight.set({ reading: name }, weight);
        for (const { name, weight } of event.segments)
          gauges.segmentWeight.set({ dimensions: dimensions(name) }, weight);
        return undefined;
      case 'settled':
        return settled(event);
      case 'rivals': {
        const { low, slope, high } = event.following;
        for (const [bound, share] of Object.entries({ low, mean: slope, high }))
          gauges.rivalsFollow.set({ bound }, share);
        return undefined;
      }
      case 'fault':
        return countFault(event.code);
      default:
        return event satisfies never;
    }
  };
  return {
    observe,
    countFault,
    tell: () => {
      for (const { tell } of [step, record, phase, attempt, ruleEffect, rulePass]) tell();
    },
  };
}
