/** Who asks for what and when: workers, their links, batches of requests, and the rivals that bid for them. */
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { SeededChance } from './seeded-chance.ts';

export type Worker = {
  cpf: string;
  registration: string;
  employer: string;
  marginCents: number;
  exposed: boolean;
  nsu: string | null;
};

export type HouseBid = {
  bidId: string;
  /** Hundredths of a percent; a fraction is off the grid. */
  rate: number;
  amountCents: number;
  installments: number;
  placedAt: EpochMs;
  by: 'us' | 'rival' | 'our-other-system';
};

export type HouseRequest = {
  requestId: string;
  batchId: string;
  worker: Worker;
  amountCents: number;
  installments: number;
  guaranteed: boolean;
  /** Where the margin and the link are told: in the request, by asking for the link, by asking for the list first. */
  margin: 'told' | 'by-link' | 'by-list';
  statesClose: boolean;
  announcedAt: EpochMs;
  closesAt: EpochMs;
  /** When it was to close as it was announced, in words or by the window: the service may end it sooner. */
  announcedCloseAt: EpochMs;
  expiresAt: EpochMs | null;
  bids: HouseBid[];
  /** Our bid that came after the end, with nobody inside. */
  outside: { bidId: string; at: EpochMs } | null;
};

export type Batch = { batchId: string; announcedAt: EpochMs; closesAt: EpochMs; requests: HouseRequest[] };

export type Workload = { batches: Batch[]; endsAt: EpochMs };

/** Auctions of requests that do not say when they close last this long; the desk's setting says the same. */
export const windowMs = 9_000;
/** Zone of São Paulo, which has had no daylight saving since 2019. */
const zoneMs = -3 * 3_600_000;

export function wallClock(at: EpochMs): string {
  return new Date(at + zoneMs).toISOString().slice(0, 19);
}

export function wallDigits(at: EpochMs): string {
  const text = wallClock(at);
  return `${text.slice(8, 10)}${text.slice(5, 7)}${text.slice(0, 4)}${text.slice(11).replaceAll(':', '')}`;
}

function withCheckDigits(nine: string): string {
  let digits = nine;
  for (let round = 0; round < 2; round += 1) {
    let sum = 0;
    for (let index = 0; index < digits.length; index += 1) sum += Number(digits[index]) * (digits.length + 1 - index);
    digits += String(((sum * 10) % 11) % 10);
  }
  return digits;
}

const employers = ['12345678000195', '11222333000181', '12ABC34501DE35'];

function drawWorker(chance: SeededChance): Worker {
  return {
    cpf: withCheckDigits(String(chance.between(100_000_000, 999_999_998))),
    registration: String(chance.between(1_000, 999_999)),
    employer: chance.pick(employers),
    marginCents: chance.between(8_000, 150_000),
    exposed: chance.happens(0.06),
    nsu: chance.happens(0.92) ? String(chance.between(10_000, 99_999_999)) : null,
  };
}

export function drawId(chance: SeededChance): string {
  const part = (length: number) => Array.from({ length }, () => '0123456789abcdef'[chance.between(0, 15)]).join('');
  return `${part(8)}-${part(4)}-4${part(3)}-a${part(3)}-${part(12)}`;
}

function drawRivals(chance: SeededChance, request: Omit<HouseRequest, 'bids'>): HouseBid[] {
  const count = chance.pick([0, 0, 1, 2, 3, 4]);
  return Array.from({ length: count }, (): HouseBid => {
    const spread = chance.unit() + chance.unit() + chance.unit() - 1.5;
    const rate = Math.min(496, Math.max(150, Math.round(330 + spread * 150)));
    const whole = chance.happens(0.5);
    return {
      bidId: drawId(chance),
      rate: chance.happens(0.1) ? rate - 0.4 : rate,
      amountCents: whole ? request.amountCents : chance.between(50_000, request.amountCents),
      installments: request.installments,
      placedAt: request.announcedAt + Math.floor(chance.unit() * (request.closesAt - request.announcedAt)),
      by: 'rival',
    };
  });
}

function drawRequest(chance: SeededChance, batch: Omit<Batch, 'requests'>, worker: Worker): HouseRequest {
  const digits = chance.pick([9, 9, 15, 18]);
  const requestId = `${chance.between(1, 9)}${Array.from({ length: digits - 1 }, () => chance.between(0, 9)).join('')}`;
  const statesClose = chance.happens(0.75);
  const announcedCloseAt = statesClose ? batch.closesAt : batch.announcedAt + windowMs;
  const request = {
    requestId,
    batchId: batch.batchId,
    worker,
    amountCents: chance.between(600, 15_000) * 100 + chance.pick([0, 0, 1, 50, 99]),
    installments: chance.pick([6, 12, 12, 18, 24, 36, 48]),
    guaranteed: chance.happens(0.3),
    margin: chance.pick(['told', 'told', 'told', 'by-link', 'by-list'] as const),
    statesClose,
    announcedAt: batch.announcedAt,
    closesAt: announcedCloseAt,
    announcedCloseAt,
    expiresAt: chance.happens(0.2) ? batch.closesAt + chance.between(-2, 30) * 1_000 : null,
    outside: null,
  };
  return { ...request, bids: drawRivals(chance, request) };
}

export function drawWorkload(chance: SeededChance, startAt: EpochMs): Workload {
  const workers = Array.from({ length: chance.between(4, 14) }, () => drawWorker(chance));
  const batches: Batch[] = [];
  let announcedAt = startAt + chance.between(500, 3_000);
  for (let count = chance.between(2, 5); count > 0; count -= 1) {
    const lengthMs = chance.between(4_000, 14_000);
    const closesAt = Math.ceil((announcedAt + lengthMs) / 1_000) * 1_000;
    const batch: Batch = { batchId: drawId(chance), announcedAt, closesAt, requests: [] };
    const size = chance.between(1, 7);
    for (let index = 0; index < size; index += 1) batch.requests.push(drawRequest(chance, batch, chance.pick(workers)));
    batches.push(batch);
    announcedAt += chance.between(200, 9_000);
  }
  const endsAt = Math.max(...batches.map((batch) => batch.closesAt), announcedAt + windowMs);
  return { batches, endsAt };
}
