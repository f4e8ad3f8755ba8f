/**
 * The catalogue of facts: every name that a rule may use, with its type, unit and range. One definition; the loader
 * checks rule files against it, and `facts-of.ts` supplies the values.
 */

export type FactValue = number | string | boolean | readonly string[];

/** No fact: whoever goes through the facts does not meet it. */
export const keysOfFacts: unique symbol = Symbol('keys of facts');
/** No fact either. */
export const tablesRead: unique symbol = Symbol('tables read');
/** No fact either. */
export const contradictedFacts: unique symbol = Symbol('contradicted facts');
/** No fact either. */
export const unreadFacts: unique symbol = Symbol('unread facts');
/** No fact either. */
export const selfContradictedFacts: unique symbol = Symbol('self-contradicted facts');
/** No fact either. */
export const lackedByCaps: unique symbol = Symbol('lacked by caps');

/** Flat, by name. A fact that is undefined or not there is absent: unknown to every condition, never zero. */
export type Facts = Readonly<Record<string, FactValue | undefined>> & {
  /** What stands for facts in keys that are stored in clear, by the fact's name; others stand for themselves. */
  readonly [keysOfFacts]?: Readonly<Record<string, string>>;
  /** What value tables gave is among them, so that none is asked again. */
  readonly [tablesRead]?: true;
  /** Names of the facts that request and link detail tell differently; absent: none. */
  readonly [contradictedFacts]?: readonly string[];
  /** Names of the facts that are missing because a value came that cannot be read; absent: none. */
  readonly [unreadFacts]?: readonly string[];
  /** Names of the facts that are missing because the link detail says two things of them; absent: none. */
  readonly [selfContradictedFacts]?: readonly string[];
  /** The facts of caps' keys without which it is no bid; requests without another share one cap. Absent: all of them. */
  readonly [lackedByCaps]?: readonly string[];
};

export type Stage = 'request' | 'offer';
type FactType = 'number' | 'string' | 'boolean' | 'string-list';

export type FactDefinition = {
  name: string;
  type: FactType;
  unit: string | null;
  /** When the fact is there. */
  present: string;
  example: FactValue;
  /** Values outside cannot be meant: a rule that compares with one is refused. */
  range: { min: number; max: number } | null;
  /** Closed set of a string fact; null: any text. */
  values: readonly string[] | null;
  /** The stage from which on the fact exists. */
  stage: Stage;
  /** Only whole numbers occur. */
  whole: boolean;
  /** A code of so many digits, leading zeros included; what it begins with may be shorter. Null: no code. */
  digits?: number;
  /** A day as text, `2026-12-31`. */
  isDay?: boolean;
};

/** Sections of the activity classification (CNAE 2), brought down to groups that default alike. */
export const sectors = [
  'agriculture',
  'industry',
  'construction',
  'commerce',
  'transport',
  'services',
  'public',
  'domestic',
] as const;
export type Sector = (typeof sectors)[number];

type Measured = { unit: string; min: number; max: number; example: number; present: string; whole?: boolean };

/** Units of which nobody has a half. */
const wholeUnits = [
  'months',
  'years',
  'minutes',
  'alerts',
  'loans',
  'bids',
  'auctions',
  'code',
  'CBO',
  'CNAE',
  'eSocial category',
];

function numeric(name: string, measured: Measured, stage: Stage = 'request') {
  const { unit, min, max, example, present, whole = wholeUnits.includes(unit) } = measured;
  const definition: FactDefinition = {
    name,
    type: 'number',
    unit,
    present,
    example,
    range: { min, max },
    values: null,
    stage,
    whole,
  };
  return definition;
}

const plain = { unit: null, range: null, values: null, stage: 'request' as const, whole: false };

function flag(name: string, present: string): FactDefinition {
  return { ...plain, name, type: 'boolean', present, example: true };
}

function text(name: string, present: string, example: string, values: readonly string[] | null): FactDefinition {
  return { ...plain, name, type: 'string', present, example, values };
}

function day(name: string, present: string): FactDefinition {
  return { ...text(name, present, '2024-05-10', null), isDay: true };
}

/** How we fare in our auctions `which`: named `market.winRate` and so on, or `market.hourWinRate`. */
function standing(start: string, which: string): FactDefinition[] {
  const named = (name: string) =>
    start.endsWith('.') ? `${start}${name}` : `${start}${name[0]!.toUpperCase()}${name.slice(1)}`;
  const enough = `when our ended auctions ${which}, are 20 or more as they weigh now`;
  return [
    numeric(named('winRate'), {
      unit: 'share of our auctions, the latest weighing most',
      min: 0,
      max: 1,
      example: 0.31,
      present: enough,
    }),
    numeric(named('position'), {
      unit: 'mean place of our bids, 1 = best',
      min: 1,
      max: 10_000,
      example: 2.4,
      present: `${enough}, and the published bids told our place in as many`,
    }),
    numeric(named('auctions'), {
      unit: 'auctions',
      min: 0,
      max: 100_000_000,
      example: 140,
      present: `when the ledger can be read; our ended auctions ${which}, as they weigh now, since a rule first asked for such facts`,
    }),
    numeric(named('ageMinutes'), {
      unit: 'minutes',
      min: 0,
      max: 10_000_000,
      example: 95,
      present: `${enough}; how long ago they ended, on average, the latest weighing most`,
    }),
  ];
}

const always = 'always';
const whenStated = 'when the request says so';
const whenEither = 'when the request or, failing that, the link detail says so';
const orWorse = `${whenEither}; where they differ, the worse:`;
const orNone = `${whenEither}; missing where they differ`;
const withLink = 'when the link detail was asked for and says so';
const withTermination = 'when the link detail was asked for; true when it carries a date of termination';
const withOffer = 'in rules of the offer stage';

const maxReais = 10_000_000;
const maxDeskReais = 100_000_000_000;

export const catalogue: readonly FactDefinition[] = [
  flag('desk.always', `${always}, and always true: for rules that hold for every request`),
  numeric('desk.weekday', {
    unit: '1 = Monday … 7 = Sunday',
    min: 1,
    max: 7,
    example: 5,
    present: always,
    whole: true,
  }),

  numeric('desk.hour', {
    unit: 'hour of the day in São Paulo',
    min: 0,
    max: 23,
    example: 14,
    present: always,
    whole: true,
  }),

  day('desk.date', `${always}; today in São Paulo`),
  numeric('desk.volumeTodayReais', {
    unit: 'R$',
    min: 0,
    max: maxDeskReais,
    example: 1_250_000,
    present: 'when the ledger can be read; what the desk has promised since midnight in São Paulo and not lost',
  }),
  numeric('desk.bidsToday', {
    unit: 'bids',
    min: 0,
    max: 100_000_000,
    example: 410,
    present: 'when the ledger can be read; the bids of that',
  }),
  numeric('desk.winRate', {
    unit: 'share of our auctions, the latest weighing most',
    min: 0,
    max: 1,
    example: 0.31,
    present: 'when at least 20 auctions with a bid of ours have ended',
  }),

  ...standing('market.', "of the request's segment"),
  ...standing('market.hour', "of the request's segment, those of this hour of the day"),

  numeric('request.amountReais', { unit: 'R$', min: 0, max: maxReais, example: 6500, present: whenStated }),
  numeric('request.installments', { unit: 'months', min: 1, max: 480, example: 24, present: whenStated }),
  flag('request.eligible', `${orWorse} not eligible`),
  numeric('margin.availableReais', {
    unit: 'R$ a month',
    min: -maxReais,
    max: maxReais,
    example: 820.5,
    present: 'when the desk knows the margin',
  }),

  numeric('margin.baseReais', {
    unit: 'R$ a month',
    min: 0,
    max: maxReais,
    example: 2500,
    present: `${withLink}; the earnings that the margin is reckoned from`,
  }),

  numeric('worker.openBids', {
    unit: 'bids',
    min: 0,
    max: 100_000,
    example: 1,
    present: 'when the worker is identified; bids of ours that may still become a loan, won ones included',
  }),
  numeric('worker.exposureReais', {
    unit: 'R$',
    min: 0,
    max: maxDeskReais,
    example: 6500,
    present: 'when the worker is identified; what those bids promise',
  }),
  text('worker.key', 'when the worker is identified; a pseudonym, never the CPF', 'pseudonym', null),
  numeric('worker.ageYears', { unit: 'years', min: 0, max: 130, example: 38, present: orNone }),
  numeric('worker.ageAtEndYears', {
    unit: 'years',
    min: 0,
    max: 170,
    example: 40,
    present: 'when age and requested installments are known; age when the last instalment is due',
  }),
  numeric('worker.tenureMonths', {
    unit: 'months',
    min: 0,
    max: 1000,
    example: 30,
    present: `${orWorse} the later day`,
  }),
  day('worker.admissionDate', `${orWorse} the later day`),
  flag('worker.politicallyExposed', `${orWorse} exposed`),
  numeric('worker.occupationCode', { unit: 'CBO', min: 0, max: 999_999, example: 521_110, present: withLink }),
  {
    ...text('worker.occupation', `${withLink}; the CBO as text, so that "startsWith" sees its groups`, '521110', null),
    digits: 6,
  },
  numeric('worker.categoryCode', { unit: 'eSocial category', min: 1, max: 999, example: 101, present: withLink }),
  numeric('worker.activeLoans', { unit: 'loans', min: 0, max: 200, example: 1, present: withLink }),
  numeric('worker.totalEarningsReais', {
    unit: 'R$ a month',
    min: 0,
    max: maxReais,
    example: 3100,
    present: withLink,
  }),
  flag('worker.terminated', withTermination),

  flag('link.present', `${always}; whether the desk has a link detail`),
  flag('link.eligible', withLink),
  numeric('link.ineligibilityCode', { unit: 'code', min: 0, max: 99_999, example: 3, present: withLink }),

  text(
    'employer.key',
    'when the request names the employer: its number, or a pseudonym when the employer is a person',
    '12ABC34501DE35',
    null,
  ),
  text(
    'employer.rootKey',
    'when the request names the employer without doubt; the same for every branch of one company: the 8 characters its CNPJ begins with, or a pseudonym when the employer is a person',
    '12ABC345',
    null,
  ),
  numeric('employer.exposureReais', {
    unit: 'R$',
    min: 0,
    max: maxDeskReais,
    example: 480_000,
    present: 'when the request names the employer; what our bids for its workers promise',
  }),
  text('employer.idType', whenStated, 'cnpj', ['cnpj', 'cpf']),
  flag('employer.ageStated', `${always}; whether the request told, or the link was asked, when the employer opened`),
  numeric('employer.ageMonths', {
    unit: 'months',
    min: 0,
    max: 6000,
    example: 84,
    present: `${orWorse} the later day`,
  }),
  day('employer.startDate', `${orWorse} the later day`),
  numeric('employer.activityCode', { unit: 'CNAE', min: 0, max: 9_999_999, example: 4_711_302, present: orNone }),
  {
    ...text(
      'employer.activityClass',
      'when the activity code is known, or two codes have it in common; the CNAE class as text, so that "startsWith" sees division and group',
      '47113',
      null,
    ),
    digits: 5,
  },
  text(
    'employer.sector',
    'when the activity code is known and has a division, or two codes have it in common',
    'commerce',
    sectors,
  ),

  numeric('alerts.count', { unit: 'alerts', min: 0, max: 1000, example: 0, present: `${orWorse} the greater number` }),
  {
    ...plain,
    name: 'alerts.codes',
    type: 'string-list',
    present: `${whenStated}, and the link detail has no more alerts`,
    example: ['7'],
  },

  flag('guarantee.stated', `${always}; whether the request says if there is a guarantee`),
  flag('guarantee.present', whenStated),
  numeric('guarantee.fgtsBalanceReais', { unit: 'R$', min: 0, max: maxReais, example: 4200, present: whenStated }),
  numeric('guarantee.terminationFineReais', { unit: 'R$', min: 0, max: maxReais, example: 1680, present: whenStated }),
  numeric('guarantee.severancePercent', { unit: '%', min: 0, max: 100, example: 35, present: whenStated }),

  numeric('offer.ratePercent', { unit: '% a month', min: 0.02, max: 4.97, example: 2.89, present: withOffer }, 'offer'),
  numeric('offer.amountReais', { unit: 'R$', min: 0, max: maxReais, example: 6500, present: withOffer }, 'offer'),
  numeric('offer.installments', { unit: 'months', min: 1, max: 480, example: 24, present: withOffer }, 'offer'),
  numeric(
    'offer.installmentReais',
    { unit: 'R$ a month', min: 0, max: maxReais, example: 384.12, present: withOffer },
    'offer',
  ),
  numeric(
    'offer.cetAnnualPercent',
    { unit: '% a year', min: 0, max: 1000, example: 43.1, present: withOffer },
    'offer',
  ),
  numeric(
    'offer.expectedProfitReais',
    {
      unit: 'R$, value of the loan if it is released',
      min: -maxReais,
      max: maxReais,
      example: 310,
      present: withOffer,
    },
    'offer',
  ),
  numeric(
    'offer.marginShare',
    { unit: 'share of the available margin', min: 0, max: 1, example: 0.47, present: withOffer },
    'offer',
  ),
];

const byName = new Map(catalogue.map((definition) => [definition.name, definition]));

/** Keys of the request that nobody mapped; their type is that of the value a rule compares them with. */
export const extraPrefix = 'extra.';
/** Scores that the request mapping reads (`scores` in its file), by the name given there. */
export const scorePrefix = 'score.';
/** Whether the request is on a list of the rule set, by the list's name. */
export const listPrefix = 'list.';

const scoreName = /^score\.[a-z][A-Za-z0-9]{0,39}$/;

/** Null for what is no fact, and for `extra.` facts, of which nothing is known before they come. */
export function factNamed(name: string): FactDefinition | null {
  const known = byName.get(name);
  if (known !== undefined) return known;
  if (!scoreName.test(name)) return null;
  const range = { min: -1_000_000, max: 1_000_000 };
  return {
    ...plain,
    name,
    type: 'number',
    unit: 'points',
    present: 'when the request carries it',
    example: 640,
    range,
  };
}

/** The fact that a list makes; `keyFact` is what it looks up. */
export function listFact(name: string, keyFact: string): FactDefinition {
  return { ...plain, name, type: 'boolean', present: `when ${keyFact} is known`, example: false };
}

/** Facts of the ledger that are told by the segment of the request, so that no segment can be made of them. */
export const marketFacts = [
  'market.winRate',
  'market.position',
  'market.auctions',
  'market.ageMinutes',
  'market.hourWinRate',
  'market.hourPosition',
  'market.hourAuctions',
  'market.hourAgeMinutes',
] as const;
export type MarketFact = (typeof marketFacts)[number];

/** Facts of the ledger, read only for rule sets that ask for one of them. */
export const ledgerFacts = [
  'desk.volumeTodayReais',
  'desk.bidsToday',
  'desk.winRate',
  'worker.openBids',
  'worker.exposureReais',
  'employer.exposureReais',
  ...marketFacts,
] as const;
export type LedgerFact = (typeof ledgerFacts)[number];

/** Whether the detail of a link may bring the fact. */
export function comesWithLink(name: string): boolean {
  const present = factNamed(name)?.present;
  return (
    present?.startsWith(withLink) ||
    present?.startsWith(whenEither) ||
    present === withTermination ||
    name.startsWith('margin.')
  );
}

/** There for every request, so that no test has to take them away. */
export function isAlwaysPresent(name: string): boolean {
  return byName.get(name)?.present.startsWith(always) ?? false;
}
