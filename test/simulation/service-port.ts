/**
 * The client of the service as one process has it: the network between the desk and the auction house, with everything
 * that can be lost on it. Answers are classified by the real table.
 */
import { readFileSync } from 'node:fs';
import type { BidAnswer, BidAttempt, LinkQuery, QueryAnswer, Service } from '../../src/bidding/ports.ts';
import { refusedInDoubt } from '../../src/domain/offer.ts';
import { type OutcomeTable, readBidAnswer, readOutcomeTable } from '../../src/wire/outcomes.ts';
import type { AuctionHouse, HouseAnswer, Written } from './auction-house.ts';
import type { FaultKind } from './faults.ts';
import { never, type Remote } from './remote.ts';
import type { Process } from './virtual-time.ts';

export const networkP99Ms = 40;

function loadTable(): OutcomeTable {
  const read = readOutcomeTable(
    JSON.parse(readFileSync(new URL('../../config/outcomes.json', import.meta.url), 'utf8')),
  );
  if (read.kind === 'refused') throw new Error(read.problems.join('; '));
  return read.table;
}

const table = loadTable();

export type ServiceWorld = Remote & {
  house: AuctionHouse;
  /** One process at a time may write for a request: no other one's bytes can be out unawares. */
  exclusive: boolean;
  /** The first byte is out. */
  onWritten: (written: Written) => void;
  /** A bid has landed: rivals may answer it. */
  onLanded: (written: Written) => void;
  onQuery: (kind: 'list' | 'detail', query: LinkQuery) => void;
};

/** What becomes of one attempt once its first byte is out. */
type Fate = { kind: FaultKind | null; thereMs: number; backMs: number };

const fates: readonly (readonly [FaultKind, number])[] = [
  ['bid-429', 0.03],
  ['bid-401', 0.01],
  ['bid-lost-before-landing', 0.03],
  ['bid-answer-lost', 0.05],
  ['bid-landed-late', 0.02],
  ['bid-doubled', 0.03],
  ['bid-500-landed', 0.02],
  ['bid-500-not-landed', 0.02],
  ['bid-garbage-answer', 0.02],
];

function drawFate({ chance, faults, house, exclusive }: ServiceWorld, { requestId }: Written): Fate {
  const slow = faults.strikes('bid-latency', 0.06) ? chance.between(100, 2_500) : 0;
  const thereMs = chance.between(2, 30);
  const backMs = chance.between(2, 60) + slow;
  const attempts = house.written.filter((other) => other.requestId === requestId).length;
  // Mostly of attempts that are not the first: an earlier one may have landed, and the refusal does not say so.
  if (exclusive && faults.strikes('bid-refused', attempts > 1 ? 0.4 : 0.02)) {
    return { kind: 'bid-refused', thereMs, backMs };
  }
  const kind = fates.find(([candidate, probability]) => faults.strikes(candidate, probability))?.[0] ?? null;
  return { kind, thereMs, backMs };
}

/** The same answer with an error in words that nobody knows beside it. */
function doubted({ status, body }: HouseAnswer): HouseAnswer {
  return { status, body: JSON.stringify({ ...JSON.parse(body), Erros: ['Aviso: margem a confirmar'] }) };
}

export function createService(world: ServiceWorld, process: Process): Service {
  const { chance, faults, time, house } = world;
  const clock = time.clockOf(process);
  let unauthorisedUntil = 0;

  function later<T>(delayMs: number, answer: T): Promise<T> {
    return new Promise((resolve) => {
      time.after(delayMs, process, () => resolve(answer));
    });
  }

  type Doubt = Extract<BidAnswer, { kind: 'unknown' }>['reason'];
  function unknown(reason: Doubt, firstByteAt: number, response: HouseAnswer | null = null): BidAnswer {
    return { kind: 'unknown', reason, response, firstByteAt };
  }

  function answered(response: HouseAnswer, firstByteAt: number): BidAnswer {
    const { outcome, codes } = readBidAnswer(table, response.status, response.body);
    if (outcome.kind !== 'unknown') return { kind: 'answered', outcome, codes, response, firstByteAt };
    const { reason } = outcome;
    if (reason !== refusedInDoubt) return { kind: 'unknown', reason, codes, response, firstByteAt };
    return { kind: 'answered', outcome: { kind: 'unknown', reason }, codes, response, firstByteAt };
  }

  /** Bytes that mean nothing, or a success that is a refusal as well. */
  function garbageOf(answer: HouseAnswer): HouseAnswer {
    return time.now() % 2 === 0 ? { status: 200, body: '<html>' } : doubted(answer);
  }

  function land(written: Written): HouseAnswer {
    const answer = house.receive(written, time.now());
    if (written.arrivals.at(-1)!.verdict === 'accepted') world.onLanded(written);
    return answer;
  }

  /** Bytes are out. Whatever happens now, the process learns of it only by its own events. */
  function carry(written: Written, firstByteAt: number, resolve: (answer: BidAnswer) => void): void {
    const fate = drawFate(world, written);
    const tell = (delayMs: number, answer: BidAnswer) => time.after(delayMs, process, () => resolve(answer));
    const timeoutMs = chance.between(300, 2_500);
    const { thereMs, backMs } = fate;
    switch (fate.kind) {
      case 'bid-429': {
        const retryAt = chance.happens(0.7) ? clock.now() + chance.between(200, 2_000) : null;
        tell(thereMs + backMs, { kind: 'not-landed', reason: 'throttled', retryAt });
        return;
      }
      case 'bid-401':
        if (chance.happens(0.5)) unauthorisedUntil = time.now() + chance.between(300, 3_000);
        tell(thereMs + backMs, { kind: 'not-landed', reason: 'unauthorised', retryAt: null });
        return;
      case 'bid-lost-before-landing':
        tell(timeoutMs, unknown('headers-timeout', firstByteAt));
        return;
      case 'bid-500-not-landed':
        tell(thereMs + backMs, unknown('status-503', firstByteAt, { status: 503, body: '' }));
        return;
      case 'bid-landed-late':
        time.after(chance.between(200, 6_000), null, () => void land(written));
        tell(timeoutMs, unknown('headers-timeout', firstByteAt));
        return;
      default:
    }
    if (fate.kind === 'bid-refused') {
      time.after(thereMs, null, () => tell(backMs, answered(house.refuse(written, time.now()), firstByteAt)));
      return;
    }
    time.after(thereMs, null, () => {
      const first = land(written);
      if (fate.kind === 'bid-answer-lost') tell(timeoutMs, unknown('connection-lost', firstByteAt));
      else if (fate.kind === 'bid-500-landed')
        tell(backMs, unknown('status-500', firstByteAt, { status: 500, body: '' }));
      else if (fate.kind === 'bid-garbage-answer') tell(backMs, answered(garbageOf(first), firstByteAt));
      else if (fate.kind === 'bid-doubled') {
        // A proxy between asks twice; now and then it is the second answer that comes back.
        const second = chance.happens(0.3);
        time.after(chance.between(0, 200), null, () => {
          const answer = land(written);
          if (second) tell(backMs, answered(answer, firstByteAt));
        });
        if (!second) tell(backMs, answered(first, firstByteAt));
      } else tell(backMs, answered(first, firstByteAt));
    });
  }

  function placeBid(attempt: BidAttempt): Promise<BidAnswer> {
    if (!process.alive) return never();
    if (faults.strikes('bid-unreachable', 0.02)) {
      return later(chance.between(1, 300), { kind: 'not-landed', reason: 'unreachable', retryAt: null });
    }
    const queuedMs = chance.between(0, 5) + (faults.strikes('bid-latency', 0.03) ? chance.between(100, 4_000) : 0);
    return new Promise((resolve) => {
      time.after(queuedMs, process, () => {
        const now = clock.now();
        if (now >= attempt.deadlineAt) return resolve({ kind: 'not-landed', reason: 'deadline', retryAt: null });
        if (!attempt.mayWrite()) return resolve({ kind: 'not-landed', reason: 'stopped', retryAt: null });
        const written = house.write(process.id, attempt.body, time.now());
        world.onWritten(written);
        carry(written, now, resolve);
        if (faults.strikes('crash-in-port-call', 0.01)) world.crash(process);
      });
    });
  }

  function query(kind: 'list' | 'detail', asked: LinkQuery): Promise<QueryAnswer> {
    if (!process.alive) return never();
    const delayMs = chance.between(5, 120);
    if (faults.strikes('query-failed', 0.08)) return later(delayMs, { kind: 'failed', reason: 'status-503' });
    if (asked.authorisationNumber === null) {
      return later(delayMs, { kind: 'refused', reason: 'authorisation-missing', response: { status: 422, body: '' } });
    }
    if (faults.strikes('query-refused', 0.02)) {
      return later(delayMs, { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } });
    }
    const sent = structuredClone(asked);
    time.after(delayMs, null, () => world.onQuery(kind, sent));
    return later(delayMs + chance.between(1, 60), { kind: 'acknowledged', requestCode: null });
  }

  return {
    placeBid,
    listLinks: (asked) => query('list', asked),
    askLinkDetail: (asked) => query('detail', asked),
    refusalIn: () => 'unclassified',
    isDetailOf: () => true,
    networkP99Ms: () => networkP99Ms,
    clockSkewMs: () => 0,
    latestSkewMs: () => null,
    skewBelieved: () => true,
    askTime: () => {
      if (!process.alive) return never();
      const delayMs = chance.between(2, 200);
      if (faults.strikes('time-untold', 0.15)) return later(delayMs, { kind: 'unanswered' });
      // Cut to the second, and read half a second late on average.
      const toldAt = Math.floor(time.now() / 1_000) * 1_000 + 500;
      return later(delayMs, { kind: 'told', skewMs: toldAt - clock.now() });
    },
    askToken: () => {
      if (!process.alive) return never();
      const works = time.now() >= unauthorisedUntil;
      return later(
        50,
        works
          ? { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } }
          : { kind: 'failed', reason: 'unauthorised' },
      );
    },
    ready: () => time.now() >= unauthorisedUntil,
  };
}
