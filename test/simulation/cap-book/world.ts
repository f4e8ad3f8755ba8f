/**
 * The cap book among owners that know little of each other: one seed plays one history. The protocol is the program's own
 * (`cap-owner.ts`, the book in memory in the place of the script); log, controls, servers, clocks and the service are played here.
 * A partition may have two owners or none, replies are lost, appends land late, servers are emptied, set back, or two at a time,
 * and owners are frozen or killed at any moment, also between the last check and the first byte.
 */
import TinyQueue from 'tinyqueue';
import { addUsage, type CapOperation, capOperationOf, reservedKeysOf } from '../../../src/domain/cap-book.ts';
import type { CapReservation, Usage } from '../../../src/domain/offer.ts';
import type { BookAnswer, CapBookLost } from '../../../src/state/cap-book.ts';
import { type CapOwner, type CapStep, createCapOwner } from '../../../src/state/cap-owner.ts';
import { type BookAtHand, type BookData, createBookAtHand, emptyBook } from '../../../src/state/memory-cap-book.ts';
import { type SeededChance, seededChance } from '../seeded-chance.ts';
import { checkHistory, type Violation } from './checker.ts';

const settings = { ageLimitMs: 2_000, pollMs: 500, maxOperations: 6 };
const commandTimeoutMs = 1_000;
const faultsUntilMs = 60_000;
/** Long enough for the last deadline and for what comes after it. */
const quietMs = 120_000;

export const lossKinds = [
  'emptied',
  'set-back-restarted',
  'set-back-running',
  'set-back-unnoticed',
  'fail-over',
  'two-masters',
  'script-died',
] as const;
export type LossKind = (typeof lossKinds)[number];

export type PlayedRequest = {
  id: string;
  partition: number;
  amountCents: number;
  caps: readonly CapReservation[];
  deadlineAt: number;
};

export type PlayedRecord = {
  kind: 'claimed' | 'passed' | 'answered' | 'ended' | 'expired';
  request: PlayedRequest;
  /** Of `ended`. */
  isWon: boolean;
  landedAt: number;
};

export type Evidence = {
  requests: readonly PlayedRequest[];
  log: readonly (readonly PlayedRecord[])[];
  /** Bids that reached the service in time. */
  sends: readonly { request: PlayedRequest; at: number }[];
  /** The book that the owners used in the end. */
  book: BookData;
};

export type CapHistory = {
  seed: number;
  requests: number;
  sends: number;
  epochs: number;
  events: number;
  losses: Record<LossKind, number>;
  violations: readonly Violation[];
};

type Row = { request: PlayedRequest; phase: 'claimed' | 'passed' | 'answered' | 'won' | 'over'; isCounted: boolean };

/** What a state store keeps of a partition. */
type Stored = {
  applied: number;
  acknowledged: number;
  operations: CapOperation[];
  rows: Map<string, Row>;
};

type Server = { life: string; data: BookData; book: BookAtHand; kept: BookData; isUp: boolean };

type Owner = {
  name: string;
  isAlive: boolean;
  /** Grows with each start. */
  life: number;
  frozenUntil: number;
  server: Server;
  caps: CapOwner;
  parts: Map<number, Stored>;
  fetching: Set<number>;
  disk: Map<number, Stored>;
  controlsFrom: number;
  controlsCutUntil: number;
  isStepping: boolean;
  wakeAt: number;
  /** Requests that this life sends, or has ended. */
  sending: Set<string>;
  ending: Set<string>;
};

type Event = { at: number; order: number; owner: Owner | null; life: number; run: () => void };

export function playCapBook(seed: number): CapHistory {
  const chance = seededChance(seed, 'cap-book');
  return createWorld(seed, chance).play();
}

function createWorld(seed: number, chance: SeededChance) {
  /**
   * What befalls the owners. `alone`: one process, which notices by itself that the book was set back on the same server. `divided`:
   * again and again one of them stays with the old master, without news. `handed-over`: again and again the book is lost with an
   * owner, and another one has to catch up with the log.
   */
  const focus = chance.pick([
    'alone',
    'divided',
    'divided',
    'handed-over',
    'anything',
    'anything',
    'anything',
  ] as const);
  const isAlone = focus === 'alone';
  const partitions = chance.between(focus === 'divided' || focus === 'handed-over' ? 2 : 1, 3);
  /** How far apart faults come. */
  const pace = chance.pick([1, 2, 4]);
  const controlPollMs = chance.pick([250, 250, 1_000]);
  const losses = Object.fromEntries(lossKinds.map((kind) => [kind, 0])) as Record<LossKind, number>;
  const queue = new TinyQueue<Event>([], (a, b) => a.at - b.at || a.order - b.order);
  let now = 0;
  let order = 0;
  let events = 0;
  let names = 0;
  let isCalm = false;

  const log: PlayedRecord[][] = Array.from({ length: partitions }, () => []);
  const controls: CapBookLost[] = [];
  const requests: PlayedRequest[] = [];
  const sends: { request: PlayedRequest; at: number }[] = [];
  const weights = new Map<string, number>();
  const strikes = (kind: string, probability: number): boolean => {
    if (isCalm) return false;
    const weight = weights.get(kind) ?? chance.pick(focus === 'anything' ? [0, 0.5, 1, 1, 2, 4] : [0, 0, 0, 0.5, 1]);
    weights.set(kind, weight);
    return chance.happens(Math.min(0.9, probability * weight));
  };
  const newName = () => {
    names += 1;
    return `n${names}`;
  };

  function after(delayMs: number, owner: Owner | null, run: () => void): void {
    push({ at: now + delayMs, order, owner, life: owner?.life ?? 0, run });
  }

  function push(event: Event): void {
    order += 1;
    queue.push({ ...event, order });
  }

  function step(event: Event): void {
    const { owner } = event;
    if (owner !== null && (!owner.isAlive || owner.life !== event.life)) return;
    now = Math.max(now, event.at);
    if (owner !== null && owner.frozenUntil > now) {
      push({ ...event, at: owner.frozenUntil });
      return;
    }
    events += 1;
    event.run();
  }

  // --- The servers of the book ---

  function createServer(data: BookData): Server {
    const server: Server = { life: '', data, book: null as never, kept: copyOfBook(data), isUp: true };
    beginLife(server, data);
    return server;
  }
  function beginLife(server: Server, data: BookData): void {
    server.life = newName();
    setData(server, data);
  }
  function setData(server: Server, data: BookData): void {
    server.data = data;
    server.book = createBookAtHand(data, { server: server.life, newName });
  }
  const servers = [createServer(emptyBook()), createServer(emptyBook())] as const;
  let master = 0;

  /** Lets the next work of the book die at its n-th write. */
  function armDeath(server: Server): void {
    let left = chance.between(0, 3);
    const { sums } = server.data;
    const set = sums.set.bind(sums);
    sums.set = (key, usage) => {
      left -= 1;
      if (left === 0) {
        sums.set = set;
        losses['script-died'] += 1;
        throw new Error('the script died');
      }
      return set(key, usage);
    };
  }

  /** Carries a call to the owner's server and back; `heard` gets null where no answer came in time. */
  function ask(owner: Owner, call: (book: BookAtHand) => BookAnswer, heard: (answer: BookAnswer | null) => void): void {
    const { server } = owner;
    let isOver = false;
    const end = (answer: BookAnswer | null) => {
      if (isOver) return;
      isOver = true;
      heard(answer);
    };
    after(commandTimeoutMs, owner, () => end(null));
    if (strikes('call-lost', 0.03)) return;
    const delayMs = strikes('call-late', 0.03) ? chance.between(500, 6_000) : chance.between(1, 10);
    after(delayMs, null, () => {
      if (!server.isUp || strikes('out-of-memory', 0.01)) return;
      let answer: BookAnswer;
      try {
        answer = call(server.book);
      } catch {
        return;
      }
      if (strikes('reply-lost', 0.05)) return;
      after(chance.between(1, 10), owner, () => end(answer));
    });
  }

  // --- Log and controls ---

  function land(record: Omit<PlayedRecord, 'landedAt'>): void {
    const { partition } = record.request;
    log[partition]!.push({ ...record, landedAt: now });
    for (const owner of owners) fetch(owner, partition);
  }

  /** The outcome of an append is not always known, and one that failed may land later. */
  function append(kind: PlayedRecord['kind'], request: PlayedRequest, isWon = false): void {
    if (strikes('append-lost', 0.03)) return;
    const delayMs = strikes('append-late', 0.08) ? chance.between(500, 8_000) : chance.between(1, 20);
    after(delayMs, null, () => land({ kind, request, isWon }));
  }

  function fetch(owner: Owner, partition: number): void {
    const part = owner.parts.get(partition);
    if (part === undefined || owner.fetching.has(partition) || part.applied >= log[partition]!.length) return;
    owner.fetching.add(partition);
    const delayMs = strikes('fetch-slow', 0.06) ? chance.between(100, 5_000) : chance.between(1, 20);
    after(delayMs, owner, () => {
      owner.fetching.delete(partition);
      if (owner.parts.get(partition) !== part) return;
      foldBatch(owner, partition, part);
      fetch(owner, partition);
    });
  }

  function foldBatch(owner: Owner, partition: number, part: Stored): void {
    const from = part.applied;
    const until = Math.min(log[partition]!.length, from + chance.between(1, 8));
    const operations: CapOperation[] = [];
    for (let offset = from; offset < until; offset += 1) {
      const operation = fold(part, log[partition]![offset]!, offset);
      if (operation !== null) operations.push(operation);
    }
    part.applied = until;
    part.acknowledged = Math.max(part.acknowledged, owner.caps.acknowledged(partition));
    part.operations = [...part.operations, ...operations].filter(({ offset }) => offset >= part.acknowledged);
    owner.caps.folded(partition, until, operations);
    const isOlder = focus === 'handed-over' ? chance.happens(0.9) : strikes('disk-older', 0.3);
    if (!isOlder) owner.disk.set(partition, copyOf(part));
    for (const { kind, requestId } of operations) {
      if (kind === 'reserve') actAtDeadline(owner, part.rows.get(requestId)!);
    }
    pump(owner);
    act(owner);
  }

  // --- Owners ---

  function actAtDeadline(owner: Owner, { request }: Row): void {
    after(Math.max(0, request.deadlineAt - now) + 50, owner, () => act(owner));
  }

  function start(owner: Owner): void {
    owner.life += 1;
    owner.isAlive = true;
    owner.parts = new Map();
    owner.fetching = new Set();
    owner.sending = new Set();
    owner.ending = new Set();
    owner.controlsFrom = 0;
    owner.isStepping = false;
    owner.wakeAt = Number.POSITIVE_INFINITY;
    owner.caps = createCapOwner({
      settings,
      partitions,
      sumsOf: (partition) => sumsOf([...owner.parts.get(partition)!.rows.values()]),
    });
    pollControls(owner);
  }

  function pollControls(owner: Owner): void {
    const askedAt = now;
    const isCut = now < owner.controlsCutUntil || strikes('controls-cut', 0.04);
    const delayMs = isCut ? chance.between(500, 6_000) : chance.between(1, 40);
    const seenMs = chance.between(0, delayMs);
    after(seenMs, null, () => {
      const upTo = controls.length;
      after(delayMs - seenMs, owner, () => {
        after(controlPollMs, owner, () => pollControls(owner));
        if (now < owner.controlsCutUntil || (isCut && chance.happens(0.5))) return;
        for (; owner.controlsFrom < upTo; owner.controlsFrom += 1) {
          owner.caps.lossRead(controls[owner.controlsFrom]!, now);
        }
        owner.caps.controlsRead(askedAt);
        pump(owner);
        act(owner);
      });
    });
  }

  /** From its own disk, from what another one kept, or from the beginning of the log. */
  function take(owner: Owner, partition: number): void {
    if (!owner.isAlive || owner.parts.has(partition)) return;
    const copies = owners.flatMap(({ disk }) => disk.get(partition) ?? []);
    const copy = strikes('disk-lost', 0.1) ? undefined : (owner.disk.get(partition) ?? copies[0]);
    const part: Stored =
      copy === undefined ? { applied: 0, acknowledged: 0, operations: [], rows: new Map() } : copyOf(copy);
    owner.parts.set(partition, part);
    const awaiting = [...part.rows.values()].filter(({ phase }) => phase === 'claimed');
    for (const row of awaiting) actAtDeadline(owner, row);
    const { applied, acknowledged } = part;
    const reservations = awaiting.flatMap(({ request }) => {
      const offset = log[partition]!.findIndex(
        (record) => record.kind === 'claimed' && record.request.id === request.id,
      );
      return offset < acknowledged
        ? (operationOf(standing(null), { isCounted: true, awaitsVerdict: true }, request, offset) ?? [])
        : [];
    });
    owner.caps.take({ partition, applied, acknowledged, operations: [...reservations, ...part.operations] });
    // What is missing takes its time.
    owner.fetching.add(partition);
    after(chance.pick([1, 100, 3_000, 10_000]), owner, () => {
      owner.fetching.delete(partition);
      fetch(owner, partition);
    });
    pump(owner);
  }

  function drop(owner: Owner, partition: number): void {
    if (owner.parts.delete(partition)) owner.caps.drop(partition);
    owner.fetching.delete(partition);
  }

  function pump(owner: Owner): void {
    if (owner.isStepping) return;
    const next = owner.caps.next(now);
    if (next.kind === 'wait') {
      if (owner.wakeAt > now && owner.wakeAt <= next.untilMs) return;
      owner.wakeAt = next.untilMs;
      after(Math.max(1, next.untilMs - now), owner, () => {
        owner.wakeAt = Number.POSITIVE_INFINITY;
        pump(owner);
      });
      return;
    }
    owner.isStepping = true;
    carryOut(owner, next, () => {
      owner.isStepping = false;
      pump(owner);
      act(owner);
    });
  }

  function carryOut(owner: Owner, next: Exclude<CapStep, { kind: 'wait' }>, done: () => void): void {
    switch (next.kind) {
      case 'tell-loss': {
        const { record } = next;
        const delayMs = strikes('append-late', 0.08) ? chance.between(500, 8_000) : chance.between(1, 20);
        if (!strikes('append-lost', 0.03)) after(delayMs, null, () => void controls.push(record));
        // By then it is read on controls, or it is told again.
        after(1_000, owner, done);
        break;
      }
      case 'read-ends': {
        const delayMs = chance.between(1, 30);
        after(chance.between(0, delayMs), null, () => {
          const ends = new Map(log.map((records, partition) => [partition, records.length]));
          after(delayMs, owner, () => {
            if (!strikes('ends-failed', 0.05)) owner.caps.endsRead(next.id, ends);
            done();
          });
        });
        break;
      }
      case 'begin':
      case 'commit':
      case 'apply': {
        const run = (book: BookAtHand) => {
          if (next.kind === 'begin') return book.begin(next.call);
          return next.kind === 'commit' ? book.commit(next.call) : book.apply(next.call);
        };
        ask(owner, run, (answer) => {
          if (answer === null) owner.caps.unanswered();
          else owner.caps.answered(next, answer, now);
          done();
        });
        break;
      }
      default:
        next satisfies never;
    }
  }

  /** Goes on with each claim that awaits its verdict. */
  function act(owner: Owner): void {
    for (const [partition, part] of owner.parts) {
      for (const { request, phase } of part.rows.values()) {
        if (phase !== 'claimed' || owner.ending.has(request.id)) continue;
        const verdict = owner.caps.verdictOf(partition, request.id, now);
        if (verdict === 'refused') end(owner, 'passed', request);
        else if (verdict === 'forfeited' || now > request.deadlineAt) end(owner, 'answered', request);
        else if (verdict === 'granted' && !owner.sending.has(request.id)) send(owner, partition, request);
      }
    }
  }

  /** Where the record is not read back, another one is written. */
  function end(owner: Owner, kind: 'passed' | 'answered', request: PlayedRequest): void {
    owner.ending.add(request.id);
    append(kind, request);
    after(10_000, owner, () => {
      owner.ending.delete(request.id);
      act(owner);
    });
  }

  function maySend(owner: Owner, partition: number, request: PlayedRequest): boolean {
    return owner.caps.verdictOf(partition, request.id, now) === 'granted';
  }

  function send(owner: Owner, partition: number, request: PlayedRequest): void {
    if (now >= request.deadlineAt) return;
    owner.sending.add(request.id);
    const again = () => {
      owner.sending.delete(request.id);
      act(owner);
    };
    if (!maySend(owner, partition, request)) {
      after(100, owner, again);
      return;
    }
    // The last check is done: whatever happens now, the bytes are written as soon as the process runs.
    if (strikes('frozen-before-first-byte', 0.06)) freeze(owner);
    after(1, owner, () => {
      const isKilled = strikes('killed-while-publishing', 0.02);
      const arrivalMs = chance.between(1, 50);
      after(arrivalMs, null, () => {
        if (now < request.deadlineAt) sends.push({ request, at: now });
      });
      if (isKilled) {
        kill(owner);
        return;
      }
      after(2 * arrivalMs, owner, () => {
        if (strikes('answer-lost', 0.1)) after(200, owner, again);
        else if (now < request.deadlineAt + 200) end(owner, 'answered', request);
        else again();
      });
    });
  }

  // --- What befalls them ---

  const owners: Owner[] = Array.from({ length: isAlone ? 1 : chance.between(2, 3) }, (_, index) => ({
    name: `owner${index}`,
    isAlive: false,
    life: 0,
    frozenUntil: 0,
    server: servers[0],
    caps: null as never,
    parts: new Map(),
    fetching: new Set<number>(),
    disk: new Map(),
    controlsFrom: 0,
    controlsCutUntil: 0,
    isStepping: false,
    wakeAt: Number.POSITIVE_INFINITY,
    sending: new Set<string>(),
    ending: new Set<string>(),
  }));

  function freeze(owner: Owner): void {
    const durationMs = chance.happens(0.3) ? chance.between(3_000, 60_000) : chance.between(200, 3_000);
    owner.frozenUntil = Math.min(now + durationMs, faultsUntilMs);
  }

  function kill(owner: Owner): void {
    owner.isAlive = false;
    after(chance.between(200, 8_000), null, () => revive(owner));
  }

  function revive(owner: Owner): void {
    if (owner.isAlive) return;
    start(owner);
    for (let partition = 0; partition < partitions; partition += 1) {
      if (isAlone || chance.happens(0.5)) after(chance.between(10, 2_000), owner, () => take(owner, partition));
    }
  }

  function befall(): void {
    if (isCalm) return;
    after(chance.between(300, 4_000) * pace, null, befall);
    const server = servers[master]!;
    const owner = chance.pick(owners);
    if (strikes('keep', 0.6)) server.kept = copyOfBook(server.data);
    if (focus === 'divided') {
      if (chance.happens(0.3)) failOver(owners[0]!);
      return;
    }
    if (focus === 'handed-over') {
      if (chance.happens(0.3)) loseWithOwner();
      return;
    }
    if (isAlone) {
      if (chance.happens(0.2)) {
        losses['set-back-unnoticed'] += 1;
        setData(server, copyOfBook(server.kept));
      }
      return;
    }
    if (strikes('script-died', 0.04)) armDeath(server);
    if (strikes('emptied', 0.04)) {
      losses.emptied += 1;
      shake();
      setData(server, emptyBook());
    }
    if (strikes('set-back-restarted', 0.05)) {
      losses['set-back-restarted'] += 1;
      shake();
      server.isUp = false;
      after(chance.between(10, 3_000), null, () => {
        beginLife(server, copyOfBook(server.kept));
        server.isUp = true;
      });
    }
    if (strikes('set-back-running', 0.05)) {
      losses['set-back-running'] += 1;
      shake();
      beginLife(server, copyOfBook(server.kept));
    }
    if (strikes('fail-over', 0.05)) failOver(chance.happens(0.6) ? chance.pick(owners) : null);
    if (strikes('frozen', 0.06)) freeze(owner);
    if (strikes('killed', 0.06)) kill(owner);
    if (strikes('second-owner', 0.25)) take(owner, chance.between(0, partitions - 1));
    if (strikes('owner-leaves', 0.15)) {
      const partition = chance.between(0, partitions - 1);
      after(chance.between(0, 3_000), owner, () => {
        if (!isCalm) drop(owner, partition);
      });
    }
    if (strikes('unreachable', 0.04)) {
      server.isUp = false;
      after(chance.between(500, 5_000), null, () => {
        server.isUp = true;
      });
    }
  }

  function loseWithOwner(): void {
    const from = chance.pick(owners.filter((owner) => owner.isAlive && owner.parts.size > 0));
    const to = chance.pick(owners.filter((owner) => owner !== from && owner.isAlive));
    if (from === undefined || to === undefined) return;
    losses.emptied += 1;
    setData(servers[master]!, emptyBook());
    for (const partition of from.parts.keys()) after(chance.between(1, 300), to, () => take(to, partition));
    kill(from);
  }

  /** Another server has what was copied to it in time. `apart` stays with the old one for a while, which takes writes. */
  function failOver(apart: Owner | null): void {
    losses['fail-over'] += 1;
    shake();
    const old = servers[master]!;
    master = 1 - master;
    const next = servers[master]!;
    beginLife(next, copyOfBook(chance.happens(0.5) ? old.kept : old.data));
    next.kept = copyOfBook(next.data);
    next.isUp = true;
    if (apart !== null) losses['two-masters'] += 1;
    else old.isUp = false;
    for (const owner of owners) {
      const staysMs = owner === apart ? chance.between(2_000, 12_000) : chance.between(0, 1_000);
      after(staysMs, null, () => {
        owner.server = servers[master]!;
      });
      if (owner !== apart) continue;
      // Who stays with the old one may have no news either, while others take its partitions up.
      const cutUntil = now + staysMs;
      after(chance.between(0, 2_500), null, () => {
        owner.controlsCutUntil = cutUntil;
      });
      const other = chance.pick(owners);
      if (focus === 'divided') continue;
      for (const partition of owner.parts.keys()) after(chance.between(1, 1_000), other, () => take(other, partition));
    }
  }

  // --- Requests ---

  const limits = { cents: chance.between(250, 600), count: chance.between(2, 5) };

  function announceOften(): void {
    if (isCalm) return;
    after(chance.between(30, 1_000), null, announceOften);
    announce();
  }

  /** Around a loss: many claims, and partitions that change hands, so that some know of the loss and others do not. */
  function shake(): void {
    if (focus === 'anything' && chance.happens(0.5)) {
      const [from, to] = [chance.pick(owners), chance.pick(owners)];
      if (chance.happens(0.5)) kill(from);
      else freeze(from);
      for (const partition of from.parts.keys()) after(chance.between(1, 300), to, () => take(to, partition));
    }
    for (let count = chance.between(0, 6); count > 0; count -= 1) after(chance.between(0, 3_000), null, announce);
  }

  function announce(): void {
    if (isCalm) return;
    const segment = `segment ${chance.between(0, 1)}`;
    const request: PlayedRequest = {
      id: `r${requests.length}`,
      partition: chance.between(0, partitions - 1),
      amountCents: chance.between(40, 150),
      // A key that is named twice counts once.
      caps: [
        { keys: ['everything'], limitAmountCents: limits.cents, limitCount: null },
        { keys: [segment, segment], limitAmountCents: null, limitCount: limits.count },
        { keys: [`worker ${chance.between(0, 5)}`], limitAmountCents: null, limitCount: null },
      ],
      deadlineAt: now + (chance.happens(0.04) ? chance.between(20_000, 90_000) : chance.between(1_000, 6_000)),
    };
    requests.push(request);
    for (const owner of owners) {
      after(chance.between(1, 200), owner, () => {
        const isOpen = owner.caps.trouble(now) === null;
        const isOwner = owner.parts.has(request.partition);
        // What was decided while the gate was open may be appended when it is not any more.
        if (isOwner && (isOpen || strikes('claimed-though-closed', 0.15))) append('claimed', request);
      });
    }
    const endsMs = request.deadlineAt - now + chance.between(100, 1_000);
    after(endsMs, null, () => result(request));
    if (strikes('answered-by-others', 0.1))
      after(chance.between(50, 5_000), null, () => land({ kind: 'answered', request, isWon: false }));
  }

  function result(request: PlayedRequest): void {
    const isWon = sends.some((sent) => sent.request.id === request.id) && chance.happens(0.3);
    const delayMs = chance.between(1, 500);
    after(delayMs, null, () => land({ kind: 'ended', request, isWon }));
    if (isWon) after(delayMs + chance.between(500, 5_000), null, () => land({ kind: 'expired', request, isWon }));
  }

  function comeToRest(): void {
    isCalm = true;
    for (const server of servers) server.isUp = true;
    for (const owner of owners) {
      owner.server = servers[master]!;
      revive(owner);
    }
    for (let partition = 0; partition < partitions; partition += 1) {
      for (const [index, owner] of owners.entries()) {
        if (index > 0) drop(owner, partition);
        else take(owner, partition);
      }
    }
  }

  return {
    play: (): CapHistory => {
      for (const owner of owners) start(owner);
      for (let partition = 0; partition < partitions; partition += 1) {
        const owner = chance.pick(focus === 'divided' ? owners.slice(1) : owners);
        after(chance.between(1, 500), owner, () => take(owner, partition));
        if (focus === 'divided' && partition === 0) after(1, owners[0]!, () => take(owners[0]!, partition));
      }
      after(chance.between(1, 500), null, announceOften);
      after(chance.between(3_000, 6_000), null, befall);
      after(faultsUntilMs, null, comeToRest);
      const until = faultsUntilMs + quietMs;
      for (let event = queue.peek(); event !== undefined && event.at <= until; event = queue.peek()) {
        queue.pop();
        step(event);
      }
      const evidence: Evidence = { requests, log, sends, book: servers[master]!.data };
      return {
        seed,
        requests: requests.length,
        sends: sends.length,
        epochs: controls.reduce((most, { epoch }) => Math.max(most, epoch), 0),
        events,
        losses,
        violations: checkHistory(evidence),
      };
    },
  };
}

function copyOf(part: Stored): Stored {
  return { ...part, operations: [...part.operations], rows: new Map(part.rows) };
}

function copyOfBook({ book, parts, sums, refused }: BookData): BookData {
  return {
    book: book === null ? null : { ...book },
    parts: new Map([...parts].map(([partition, part]) => [partition, { ...part }])),
    sums: new Map(sums),
    refused: new Set(refused),
  };
}

function standing(row: Row | null) {
  return { isCounted: row?.isCounted ?? false, awaitsVerdict: row?.phase === 'claimed' };
}

function operationOf(
  before: ReturnType<typeof standing>,
  after: ReturnType<typeof standing>,
  { id, amountCents, caps }: PlayedRequest,
  offset: number,
): CapOperation | null {
  return capOperationOf(before, after, { offset, requestId: id, amountCents, caps });
}

function sumsOf(rows: readonly Row[]): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const { request, isCounted } of rows) {
    if (isCounted) addUsage(sums, reservedKeysOf(request.caps), request.amountCents, 1);
  }
  return sums;
}

/** The transitions of a request, as few as the caps need. */
function fold(part: Stored, { kind, request, isWon }: PlayedRecord, offset: number): CapOperation | null {
  const row = part.rows.get(request.id) ?? null;
  const before = standing(row);
  const after = rowAfter(row, kind, request, isWon);
  if (after === null) return null;
  part.rows.set(request.id, after);
  return operationOf(before, standing(after), request, offset);
}

function rowAfter(row: Row | null, kind: PlayedRecord['kind'], request: PlayedRequest, isWon: boolean): Row | null {
  switch (kind) {
    case 'claimed':
      return row === null ? { request, phase: 'claimed', isCounted: true } : null;
    case 'passed':
      return row?.phase === 'claimed' ? { ...row, phase: 'passed', isCounted: false } : null;
    case 'answered':
      return row?.phase === 'claimed' || row?.phase === 'passed'
        ? { ...row, phase: 'answered', isCounted: true }
        : null;
    case 'ended':
      if (row?.phase === 'over') return null;
      if (row === null || !isWon) return { request, phase: 'over', isCounted: false };
      return { ...row, phase: 'won', isCounted: true };
    case 'expired':
      return { request, phase: 'over', isCounted: false };
    default:
      return kind satisfies never;
  }
}
