/** One seed, one history: builds the world, lets everything go wrong for a while, lets it come to rest, and has it checked. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { type LedgerRow, type LinkQuery, type NewRuleBookEntry, withOrder } from '../../src/bidding/ports.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { Vault } from '../../src/domain/vault.ts';
import { type RequestMapping, readRequestMapping } from '../../src/wire/mapping-table.ts';
import { type AuctionHouse, createAuctionHouse, ranked, readBody, type Written } from './auction-house.ts';
import { checkAtRest, checkInTheEnd, type Violation } from './checker.ts';
import { createLogStore, type LogStore, partitionOf } from './event-log.ts';
import { createFaults, type FaultCounts, type Faults } from './faults.ts';
import * as messages from './messages.ts';
import { createRuleVariants, type RuleVariants, settings } from './policy.ts';
import { createLives, type Lives } from './process-lives.ts';
import type { Remote } from './remote.ts';
import { type SeededChance, seededChance } from './seeded-chance.ts';
import { type ControlStore, createControlStore, operate } from './small-ports.ts';
import { createViewStore, keepCopy, setBack, type ViewStore } from './views.ts';
import { createVirtualTime, type VirtualTime } from './virtual-time.ts';
import { createWebhookSender, type WebhookSender } from './webhook-sender.ts';
import { type Batch, drawId, drawWorkload, type HouseRequest } from './workload.ts';

export type History = {
  seed: number;
  requests: number;
  bids: number;
  events: number;
  faults: FaultCounts;
  violations: readonly Violation[];
  /** SHA-256 over the log, the service's record, the acknowledged webhooks and the final views. */
  hash: string;
};

/** What the checker may look at: the truth outside the desk, and what the desk left in its stores. */
export type Evidence = {
  now: EpochMs;
  log: LogStore;
  views: ViewStore;
  house: AuctionHouse;
  sender: WebhookSender;
  control: ControlStore;
  vault: Vault;
  /** When a process first saw a claim read back: `instance|claimId`. */
  seen: ReadonlyMap<string, EpochMs>;
  /** When a process had first taken in that an auction is over: `instance|requestId`. */
  endsHeard: ReadonlyMap<string, EpochMs>;
  /** Bids written while the views held nothing for them. */
  unreserved: readonly Written[];
  /** Bids written by a process that knew that the request's partition was not its own. */
  unowned: readonly Written[];
  rules: RuleVariants;
  /** Winner events with errors, by bid id. */
  failedWinners: ReadonlySet<string>;
};

const mapping: RequestMapping = loadMapping();
let rules: RuleVariants | null = null;

function loadMapping(): RequestMapping {
  const file = new URL('../../config/request-mapping.json', import.meta.url);
  const read = readRequestMapping(JSON.parse(readFileSync(file, 'utf8')));
  if (read.kind === 'refused') throw new Error('the request mapping of config/ does not load');
  return read.mapping;
}

/** Noon, an ordinary evening, and just before a day ends in São Paulo. */
const starts = ['2026-11-23T15:00:00Z', '2026-12-20T23:10:00Z', '2026-11-24T02:59:30Z'].map((text) => Date.parse(text));

type Stage = {
  seed: number;
  chance: SeededChance;
  faults: Faults;
  time: VirtualTime;
  remote: Remote;
  evidence: Omit<Evidence, 'now'> & {
    seen: Map<string, EpochMs>;
    endsHeard: Map<string, EpochMs>;
    unreserved: Written[];
    unowned: Written[];
    failedWinners: Set<string>;
  };
  ruleBook: NewRuleBookEntry[];
  fixedRules: boolean;
  lives: Lives;
  batches: readonly Batch[];
  endsAt: EpochMs;
  threw: string[];
};

/** Nonces that never repeat under the one key, without chance. */
function countedNonces(): () => Uint8Array {
  let count = 0;
  return () => {
    const nonce = new Uint8Array(12);
    count += 1;
    new DataView(nonce.buffer).setUint32(8, count);
    return nonce;
  };
}

function build(seed: number): Stage {
  const chance = seededChance(seed);
  const faults = createFaults(chance);
  const startAt = chance.pick(starts);
  const time = createVirtualTime(startAt);
  const { batches, endsAt } = drawWorkload(chance.fork('workload'), startAt);
  const remote: Remote = { chance, faults, time, crash: (process) => stage.lives.crash(process) };
  const log = createLogStore(chance.between(1, 4), chance.fork('ownership').happens(0.6));
  const views = createViewStore();
  const house = createAuctionHouse(chance.fork('house'));
  rules ??= createRuleVariants();
  const first = rules.all[0]!;
  const fixedRules = chance.fork('rules').happens(0.4);
  const control = createControlStore(startAt, first.hash);
  const ruleBook: NewRuleBookEntry[] = rules.all.map(({ hash, source }) => {
    return { kind: 'proposed', hash, at: startAt - 90_000, by: null, against: null, changes: [], source };
  });
  ruleBook.push({ kind: 'activated', hash: first.hash, at: startAt - 60_000, by: null });
  const vault = createVault('a secret for the simulation only', countedNonces());
  const seen = new Map<string, EpochMs>();
  const endsHeard = new Map<string, EpochMs>();
  const see = (instance: string, claimId: string) => {
    const name = `${instance}|${claimId}`;
    if (!seen.has(name)) seen.set(name, time.now());
  };
  const sender = createWebhookSender({
    ...remote,
    processes: () => stage.lives.processes(),
    knock: (process, body) => stage.lives.doorOf(process)?.receive(body) ?? null,
  });
  const lives = createLives({
    remote,
    log: {
      ...remote,
      store: log,
      onDelivered: (process, _topic, { record }) => {
        if ('claimId' in record && record.kind === 'claimed') see(process.id, record.claimId);
      },
      onHandled: (process, topic, { key, record }) => {
        const name = `${process.id}|${key}`;
        if (topic === 'auctions' && 'kind' in record && record.kind === 'ended' && !endsHeard.has(name))
          endsHeard.set(name, time.now());
      },
    },
    views: {
      ...remote,
      store: views,
      onRead: (process, rows: readonly LedgerRow[]) => {
        for (const { state } of rows) if (state.claim !== null) see(process.id, state.claim.claimId);
      },
    },
    service: {
      ...remote,
      house,
      exclusive: log.groups !== null,
      onWritten: (written) => {
        noteReservation(stage, written);
        noteOwner(stage, written);
      },
      onLanded: (written) => maybeCopyBid(stage, written),
      onQuery: (kind, query) => answerQuery(stage, kind, query),
    },
    control,
    margins: new Map(),
    vault,
    mapping,
    ruleBook,
    rules,
    fixedRules,
  });
  const evidence = {
    log,
    views,
    house,
    sender,
    control,
    vault,
    seen,
    endsHeard,
    unreserved: [],
    unowned: [],
    rules,
    failedWinners: new Set<string>(),
  };
  const stage: Stage = {
    seed,
    chance,
    faults,
    time,
    remote,
    evidence,
    ruleBook,
    fixedRules,
    lives,
    batches,
    endsAt,
    threw: [],
  };
  return stage;
}

function noteReservation({ evidence }: Stage, written: Written): void {
  const held = evidence.views.data.reservations.get(written.requestId ?? '');
  // Released is not counted: another instance may have folded an end that this one has not read yet.
  if (held === undefined || held.status === 'refused') evidence.unreserved.push(written);
}

function noteOwner({ evidence }: Stage, written: Written): void {
  const { log } = evidence;
  const owns = log.owners.get(written.instance);
  if (log.groups === null || written.requestId === null) return;
  if (owns?.(partitionOf(log, written.requestId)) !== true) evidence.unowned.push(written);
}

/** A rival that offers exactly what we do, right after us: who is who is then told by ids only. */
function maybeCopyBid({ chance, faults, time, evidence }: Stage, written: Written): void {
  const request = evidence.house.requests.get(written.requestId!)!;
  const content = readBody(written.body)!;
  const placedAt = time.now() + chance.between(0, 1_500);
  if (placedAt >= request.closesAt || !faults.strikes('equal-rival', 0.06)) return;
  const { rate, amountCents, installments } = content;
  request.bids.push({ bidId: drawId(chance), rate, amountCents, installments, placedAt, by: 'rival' });
}

function answerQuery({ chance, faults, time, evidence }: Stage, kind: 'list' | 'detail', query: LinkQuery): void {
  const worker = messages.queriedWorker(evidence.house.requests.values(), query);
  if (worker === null || faults.strikes('callback-lost', 0.08)) return;
  const requestCode = drawId(chance);
  const text = kind === 'list' ? messages.linkList(worker, requestCode) : messages.linkDetail(worker, requestCode);
  const webhook = { text, content: { kind: 'link', requestCode } } as const;
  const late = faults.strikes('callback-late', 0.08) ? chance.between(2_000, 12_000) : 0;
  time.after(chance.between(50, 800) + late, null, () => evidence.sender.send(webhook));
  if (!faults.strikes('callback-doubled', 0.08)) return;
  time.after(chance.between(50, 6_000), null, () => evidence.sender.send(webhook));
}

/** One auction after the other, as the service tells of it. */
function announce(stage: Stage, batch: Batch): void {
  const { chance, faults, time, evidence } = stage;
  const { house, sender } = evidence;
  for (const request of batch.requests) {
    house.requests.set(request.requestId, request);
    if (!faults.strikes('foreign-bid', 0.03)) continue;
    const placedAt = time.now() + chance.between(0, 3_000);
    const { amountCents, installments } = request;
    const rate = chance.between(200, 400);
    request.bids.push({ bidId: drawId(chance), rate, amountCents, installments, placedAt, by: 'our-other-system' });
  }
  // Soon enough that bids are still on their way, and told at once.
  const endsEarly = faults.strikes('ended-early', 0.05);
  if (endsEarly) {
    const closesAt = time.now() + chance.between(50, 1_500);
    for (const request of batch.requests) request.closesAt = closesAt;
  }
  const requestIds = batch.requests.map((request) => request.requestId);
  sender.send({ text: messages.newRequests(batch, batch.requests), content: { kind: 'requests', requestIds } });
  if (faults.strikes('webhook-changed', 0.08)) {
    const first = batch.requests[0]!;
    const changed = { ...first, amountCents: Math.max(10_000, first.amountCents - chance.between(1, 5_000) * 100) };
    const text = messages.newRequests(batch, [changed]);
    sender.send({ text, content: { kind: 'requests', requestIds: [first.requestId] } });
  }
  if (faults.strikes('webhook-not-understood', 0.08)) {
    sender.send({ text: JSON.stringify({ aviso: 'manutenção', numero: stage.seed }), content: { kind: 'nonsense' } });
  }
  // Requests that state no end run by the service's own window: those end apart.
  for (const closesAt of new Set(batch.requests.map((request) => request.closesAt))) {
    const group = batch.requests.filter((request) => request.closesAt === closesAt);
    const untoldMs = endsEarly ? chance.between(0, 100) : chance.between(200, 3_000);
    time.after(closesAt - time.now() + untoldMs, null, () => conclude(stage, batch, group));
  }
}

function conclude(stage: Stage, batch: Batch, group: readonly HouseRequest[]): void {
  const { chance, faults, time, evidence } = stage;
  const requestIds = group.map((request) => request.requestId);
  if (!faults.strikes('result-missing', 0.03)) {
    // A bid that was sent twice may have no id in the log yet: winner events then come before their bid is known.
    const sentTwice = (id: string) => evidence.house.written.filter(({ requestId }) => requestId === id).length > 1;
    const isLate = faults.strikes('end-told-late', requestIds.some(sentTwice) ? 0.4 : 0.02);
    const lateMs = isLate ? chance.between(5_000, 12_000) : 0;
    const tell = () =>
      evidence.sender.send({ text: messages.endOfAuction(batch, group), content: { kind: 'ended', requestIds } });
    if (isLate) time.after(lateMs, null, tell);
    else tell();
    if (isLate && chance.happens(0.4)) time.after(lateMs - chance.between(200, 2_000), null, () => crashAll(stage));
  }
  for (const request of group) {
    const best = ranked(request)[0];
    const bidId = best?.by === 'us' ? best.bidId : request.outside?.bidId;
    if (bidId !== undefined) crown(stage, bidId);
  }
}

function crashAll({ faults, lives }: Stage): void {
  if (!faults.strikes('all-crash', 0.9)) return;
  for (const process of lives.processes()) lives.crash(process);
}

function crown({ chance, faults, time, evidence }: Stage, bidId: string): void {
  const { sender, failedWinners } = evidence;
  const events = ['contemplated', 'proposed'] as const;
  const failsAt = faults.strikes('winner-errors', 0.06) ? chance.between(0, 1) : null;
  let delayMs = 0;
  for (const [index, event] of events.entries()) {
    delayMs += chance.between(100, 4_000);
    if (failsAt !== null && failsAt < index) return;
    if (faults.strikes('winner-event-lost', 0.05)) continue;
    const errors = failsAt === index ? ['margem insuficiente'] : [];
    if (errors.length > 0) failedWinners.add(bidId);
    time.after(delayMs, null, () => {
      const validUntil = time.now() + chance.between(180, 240) * 1_000;
      const text =
        event === 'proposed' ? messages.proposed(bidId, validUntil, errors) : messages.contemplated(bidId, errors);
      sender.send({ text, content: { kind: 'winner', event, bidId } });
    });
  }
}

const chaosEveryMs = 500;

/** Twice a second of the bad time, whatever may befall processes, views and operators. */
function chaos(stage: Stage): void {
  const { chance, faults, time, evidence, lives } = stage;
  if (faults.over()) return;
  time.after(chaosEveryMs, null, () => chaos(stage));
  const { views, control } = evidence;
  const process = chance.pick(lives.processes());
  if (chance.happens(0.25)) keepCopy(views);
  if (faults.strikes('freeze', 0.02)) lives.freeze(process, chance.pick([300, 2_000, 6_000, 15_000]));
  if (process.stepMs === 0) {
    const ahead = faults.strikes('clock-ahead', 0.002);
    const behind = !ahead && faults.strikes('clock-behind', 0.002);
    if (ahead) lives.step(process, chance.pick([3_000, 60_000, 300_000, 4 * 86_400_000]), chance.between(200, 2_000));
    if (behind) lives.step(process, -chance.pick([3_000, 60_000, 1_200_000]), chance.between(200, 3_000));
  }
  if (faults.strikes('crash', 0.012)) lives.crash(process);
  if (faults.strikes('graceful-restart', 0.006)) lives.restart(process);
  if (views.copies.length > 0 && faults.strikes('views-restored-older', 0.006))
    setBack(views, chance.pick(views.copies));
  if (faults.strikes('views-lost', 0.004)) setBack(views, null);
  if (control.state.pause === null && faults.strikes('control-paused', 0.012)) pause(stage);
  if (faults.strikes('control-cut', 0.02)) {
    control.cutUntil.set(process.id, time.now() + chance.pick([1_500, 6_000, 12_000]));
    // Operators pause when something is wrong: a process that does not hear them must not go on.
    if (chance.happens(0.7)) time.after(chance.between(0, 1_500), null, () => pause(stage));
  }
  for (const group of evidence.log.groups?.values() ?? []) {
    if (faults.strikes('partitions-moved', 0.012)) group.move(chance);
  }
  if (!stage.fixedRules && faults.strikes('rules-changed', 0.02))
    changeRules(stage, chance.pick(evidence.rules.all).hash);
  if (faults.strikes('control-cap', 0.012)) {
    operate(control, time.now(), { caps: { book: chance.between(500_000, 4_000_000) } });
  }
}

/** As `lance rules activate` does it: the book first, then the order, live in two seconds. */
function changeRules({ time, evidence, ruleBook }: Stage, hash: string): void {
  const { control } = evidence;
  const at = time.now();
  ruleBook.push({ kind: 'activated', hash, at, by: 'operator' });
  operate(control, at, { ruleOrders: withOrder(control.state.ruleOrders, { hash, liveAt: at + 2_000 }) });
}

function pause({ chance, faults, time, evidence: { control } }: Stage): void {
  if (faults.over() || control.state.pause !== null) return;
  operate(control, time.now(), { pause: { by: 'operator', reason: 'trial', at: time.now() } });
  time.after(chance.pick([500, 2_000, 5_000, 10_000]), null, () => operate(control, time.now(), { pause: null }));
}

function calm(stage: Stage): void {
  const { faults, time, evidence, lives } = stage;
  faults.end();
  lives.thaw();
  if (evidence.control.state.pause !== null) operate(evidence.control, time.now(), { pause: null });
}

function hashOf({ log, house, sender, views }: Stage['evidence']): string {
  const hash = createHash('sha256');
  for (const [topic, partitions] of Object.entries(log.topics)) {
    for (const entries of partitions) hash.update(`${topic}${JSON.stringify(entries)}`);
  }
  hash.update(JSON.stringify([house.written, sender.acknowledged, [...views.data.rows]]));
  return hash.digest('hex');
}

/** Histories of one thread are played one after the other: an unhandled fault belongs to the one being played. */
let playing: Stage | null = null;
process.on('unhandledRejection', (fault) => {
  const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  if (playing === null) throw fault;
  playing.threw.push(text);
});

/** `look` sees the evidence when all is over. */
export async function playHistory(seed: number, look: (evidence: Evidence) => void = () => {}): Promise<History> {
  const stage = build(seed);
  playing = stage;
  try {
    return await playThrough(stage, look);
  } finally {
    playing = null;
  }
}

async function playThrough(stage: Stage, look: (evidence: Evidence) => void): Promise<History> {
  const { seed, time, batches, endsAt, evidence, lives } = stage;
  lives.begin();
  for (const batch of batches) time.after(batch.announcedAt - time.now(), null, () => announce(stage, batch));
  time.after(chaosEveryMs, null, () => chaos(stage));
  const calmAt = endsAt + 12_000;
  await time.run(calmAt);
  calm(stage);
  const restAt = calmAt + 16_000 + settings.resultTimeoutMs + 10_000;
  await time.run(restAt);
  const violations = checkAtRest({ ...evidence, now: time.now() });
  await time.run(restAt + settings.bidValidityMs + 2 * settings.graceMs);
  violations.push(...checkInTheEnd({ ...evidence, now: time.now() }));
  look({ ...evidence, now: time.now() });
  for (const text of stage.threw) violations.push({ kind: 'threw', text });
  const landed = [...evidence.house.requests.values()].filter((request) => request.bids.some(({ by }) => by === 'us'));
  return {
    seed,
    requests: evidence.house.requests.size,
    bids: landed.length,
    events: time.events(),
    faults: stage.faults.counts,
    violations,
    hash: hashOf(evidence),
  };
}
