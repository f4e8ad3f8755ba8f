/** A seeded stream of loan requests. Each is drawn from a stream of its own, so order and timing change nothing. */
import type { Chance } from '../domain/clock.ts';
import type { AmountCents, Day, RequestId } from '../domain/glossary.ts';
import { chanceOf, integerIn, normal, oneOf, weighted } from './chance.ts';
import { madeUpCnpj, madeUpCompany, madeUpCpf, madeUpName } from './identities.ts';
import { regimeAt, type Sector, type Segment, type Tenure, type WorldSettings } from './world.ts';

type Employer = {
  id: string;
  /** 1 = CNPJ, 2 = CPF. */
  idType: 1 | 2;
  name: string;
  sector: Sector;
  /** CNAE subclass as a number, as the service writes it. */
  activityCode: number;
  ageDays: number;
  startDate: Day;
};

export type Worker = {
  /** Place of the first request of this worker: the worker's own number in the world. */
  number: number;
  cpf: string;
  name: string;
  motherName: string;
  sex: 1 | 3;
  /** On the world's day, as the tenure and the employer's age. */
  ageDays: number;
  birthDate: Day;
  registration: string;
  employer: Employer;
  tenure: Tenure;
  tenureDays: number;
  admissionDate: Day;
  categoryCode: number;
  occupationCode: number;
  earningsCents: AmountCents;
  /** What the service holds as available; the instalment has to fit. */
  marginCents: AmountCents;
  eligible: boolean;
  politicallyExposed: boolean;
  alertCodes: readonly number[];
  activeLoans: number;
  authorisationNumber: string;
};

export type WorkerRequest = {
  /** Place in the world's stream of requests. */
  index: number;
  requestId: RequestId;
  worker: Worker;
  segment: Segment;
  regime: number;
  amountCents: AmountCents;
  installments: number;
  /** The request does not say the margin; the link has to be asked. */
  marginOmitted: boolean;
  authorisationOmitted: boolean;
  guarantee: { fgtsBalanceCents: AmountCents; terminationFineCents: AmountCents; severancePercent: number } | null;
};

const activityCodes: Readonly<Record<Sector, readonly number[]>> = {
  construction: [4120400, 4211101, 4321500],
  agriculture: [115600, 151201, 210107],
  commerce: [4711302, 4744099, 4530703, 4781400],
  services: [5611201, 7820500, 8121400, 8610101, 6201501],
  industry: [1091102, 1412601, 2513600, 2930101],
};
const tenureDays: Readonly<Record<Tenure, readonly [number, number]>> = {
  short: [70, 364],
  middle: [366, 1094],
  long: [1097, 9000],
};
const ages = [7_000, 23_500] as const;
/** The day of the draws, in days since 1970 (2026-01-01): on it everybody is as old as drawn. */
const firstDay = 20_454;

/**
 * How long ago something was on the world's day that was `drawn` days ago on the first one. It gets older by a day each day, so its
 * date stays; after the longest time it begins anew, so times spread over the range on any day. `turn`: how often it has.
 */
function agedDays(world: WorldSettings, drawn: number, [least, most]: readonly [number, number]) {
  const length = most - least + 1;
  const passed = drawn - least + (world.startDay ?? firstDay) - firstDay;
  const turn = Math.floor(passed / length);
  return { days: least + passed - turn * length, turn };
}

function dayBefore(world: WorldSettings, days: number): Day {
  return new Date(((world.startDay ?? firstDay) - days) * 86_400_000).toISOString().slice(0, 10);
}

const terms = [6, 12, 18, 24, 24, 36, 36, 48];

function employerOf(world: WorldSettings, seed: string, number: number): Employer {
  const chance = chanceOf(seed, 'employer', number);
  const sector = weighted(chance, world.sectorShares);
  const personal = chance() < 0.03;
  const alphanumeric = chance() < 0.1;
  const young = chance() < world.youngEmployerShare;
  const range: readonly [number, number] = young ? [110, 400] : [1_200, 14_000];
  const employer = {
    id: personal ? madeUpCpf(chance) : madeUpCnpj(chance, alphanumeric),
    idType: personal ? 2 : 1,
    name: madeUpCompany(chance),
    sector,
    activityCode: oneOf(chance, activityCodes[sector]),
  } as const;
  const { days } = agedDays(world, integerIn(chance, ...range), range);
  return { ...employer, ageDays: days, startDate: dayBefore(world, days) };
}

function workerOf(world: WorldSettings, seed: string, number: number): Worker {
  const chance = chanceOf(seed, 'worker', number);
  const employer = employerOf(world, seed, integerIn(chance, 0, world.employers - 1));
  const drawn = weighted(chance, world.tenureShares);
  // Nobody has been in the job for longer than the employer exists.
  const tenure = employer.ageDays < tenureDays.long[0] ? 'short' : drawn;
  const range = tenureDays[tenure];
  const job = agedDays(world, integerIn(chance, ...range), range);
  const days = Math.min(job.days, employer.ageDays - 30);
  const marginCents = Math.round(1.6 * likelyInstallment(world.medianAmountCents, 24) * Math.exp(0.5 * normal(chance)));
  const identity = {
    cpf: madeUpCpf(chance),
    name: madeUpName(chance),
    motherName: madeUpName(chance),
    sex: chance() < 0.5 ? 1 : 3,
  } as const;
  const age = Math.max(agedDays(world, integerIn(chance, ...ages), ages).days, days + 6_000);
  return {
    number,
    ...identity,
    ageDays: age,
    birthDate: dayBefore(world, age),
    registration: registrationIn(job.turn, chance),
    employer,
    tenure,
    tenureDays: days,
    admissionDate: dayBefore(world, days),
    categoryCode: employer.idType === 2 ? 104 : 101,
    occupationCode: oneOf(chance, [411005, 521110, 717020, 784205, 514320]),
    earningsCents: Math.round(marginCents / (0.35 * (0.45 + 0.5 * chance()))),
    marginCents,
    eligible: chance() >= world.ineligibleShare,
    politicallyExposed: chance() < world.politicallyExposedShare,
    alertCodes: alertsOf(world, chance),
    activeLoans: Math.floor(chance() ** 3 * 4),
    authorisationNumber: String(integerIn(chance, 1e9, 9e9)),
  };
}

/** A job that began anew is another link, under a number of its own. */
function registrationIn(turn: number, chance: Chance): string {
  const drawn = integerIn(chance, 1, 999_999);
  const number = ((((drawn - 1 + 7_919 * turn) % 999_999) + 999_999) % 999_999) + 1;
  return String(number).padStart(integerIn(chance, 4, 8), '0');
}

function alertsOf(world: WorldSettings, chance: Chance): number[] {
  if (chance() >= world.alertShare) return [];
  return Array.from({ length: integerIn(chance, 1, 2) }, () => integerIn(chance, 1, 9));
}

/** What an instalment at 3 % a month would roughly be: only to draw margins of a likely size. */
function likelyInstallment(amountCents: AmountCents, installments: number): number {
  return (amountCents * 1.06 * 0.03) / (1 - 1.03 ** -installments);
}

function idOf(world: WorldSettings, seed: string, index: number, chance: Chance): RequestId {
  const block = chanceOf(seed, 'ids');
  const prefix = String(integerIn(block, 100, 899));
  const long = chance() < world.longIdShare;
  return prefix + (long ? '9000000000' : '0') + String(index + 1).padStart(long ? 6 : 7, '0');
}

/** The request at `index` of the world, of `planned` in the run (regimes change at equal distances). */
export function requestAt(world: WorldSettings, seed: string, index: number, planned: number): WorkerRequest {
  const chance = chanceOf(seed, 'request', index);
  const requestId = idOf(world, seed, index, chance);
  const returning = chance() < world.returningShare;
  const worker = workerOf(world, seed, returning ? Math.floor(chance() * (index + 1)) : index);
  const installments = oneOf(chance, terms);
  const share = 1 / (1.02 + 2.2 * chance() ** 1.3);
  const affordable = (worker.marginCents * share) / likelyInstallment(1, installments);
  const guaranteed = chance() < world.guaranteedShare;
  const balance = Math.round(worker.earningsCents * 0.08 * Math.min(60, worker.tenureDays / 30));
  return {
    index,
    requestId,
    worker,
    segment: { sector: worker.employer.sector, tenure: worker.tenure, guaranteed },
    regime: regimeAt(world, index, planned),
    amountCents: Math.max(30_000, Math.round(affordable / 1_000) * 1_000),
    installments,
    marginOmitted: chance() < world.marginOmittedShare,
    authorisationOmitted: chance() < world.authorisationOmittedShare,
    guarantee: guaranteed
      ? { fgtsBalanceCents: balance, terminationFineCents: Math.round(balance * 0.4), severancePercent: 35 }
      : null,
  };
}
