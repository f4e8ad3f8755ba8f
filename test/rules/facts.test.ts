import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkDetail, LoanRequest } from '../../src/domain/request.ts';
import { catalogue, contradictedFacts, ledgerFacts } from '../../src/rules/facts.ts';
import { factsOf, offerFactsOf } from '../../src/rules/facts-of.ts';
import { at, sampleLink, sampleRequest } from './sample-request.ts';

const offer = {
  rateHundredths: 289,
  amountCents: 650_000,
  installments: 24,
  installmentCents: 38_412,
  cetAnnualHundredths: 4_310,
};

function facts(
  change: Partial<LoanRequest> = {},
  link: Partial<LinkDetail> | null = null,
  marginCents: number | null = 82_050,
) {
  const detail = link === null ? null : { ...sampleLink, ...link };
  return factsOf({ request: { ...sampleRequest, ...change }, link: detail, marginCents, at });
}

const silent: Partial<LoanRequest> = {
  requestedAmountCents: null,
  requestedInstallments: null,
  eligible: null,
  workerKey: null,
  linkKey: null,
  employerId: null,
  employerIdType: null,
  birthDate: null,
  admissionDate: null,
  politicallyExposed: null,
  guarantee: { present: null, fgtsBalanceCents: null, terminationFineCents: null, severancePercent: null },
  alertCodes: null,
};

test('the catalogue and the values have the same names and types', () => {
  const ledger = Object.fromEntries(ledgerFacts.map((name) => [name, 1]));
  const detail = { ...sampleLink, ineligibilityCode: 3 };
  const values = {
    ...factsOf({ request: sampleRequest, link: detail, marginCents: 82_050, ledger, at }),
    ...offerFactsOf({ offer, expectedProfitCents: 31_000, marginCents: 82_050 }),
  };
  assert.deepEqual(Object.keys(values).sort(), catalogue.map((fact) => fact.name).sort());
  for (const { name, type, range, values: closed } of catalogue) {
    const value = values[name];
    assert.equal(Array.isArray(value) ? 'string-list' : typeof value, type, name);
    if (typeof value === 'number' && range !== null) assert.ok(value >= range.min && value <= range.max, name);
    if (typeof value === 'string' && closed !== null) assert.ok(closed.includes(value), name);
  }
});

test('each example of the catalogue lies in its own range', () => {
  for (const { name, example, range, values } of catalogue) {
    if (typeof example === 'number') assert.ok(range !== null && example >= range.min && example <= range.max, name);
    if (typeof example === 'string' && values !== null) assert.ok(values.includes(example), name);
  }
});

test('what nobody says is absent, never zero', () => {
  const known = Object.entries(facts(silent, null, null)).filter(([, value]) => value !== undefined);
  assert.deepEqual(Object.fromEntries(known), {
    'desk.always': true,
    'desk.weekday': 5,
    'desk.date': '2026-11-20',
    'desk.hour': 9,
    'link.present': false,
    'employer.ageStated': false,
    'guarantee.stated': false,
  });
});

test('the link detail fills what the request leaves open', () => {
  const link = {
    eligible: false,
    birthDate: '1950-01-01',
    admissionDate: '2000-01-01',
    politicallyExposed: true,
    alertCount: 3,
  };
  assert.equal(facts({}, link)['request.eligible'], false);
  assert.equal(facts({}, link)['link.eligible'], false);
  assert.equal(facts({ employerStartDate: '2020-11-20' })['employer.ageStated'], true);
  const filled = facts(silent, link);
  assert.equal(filled['employer.sector'], 'commerce');
  assert.equal(filled['employer.ageStated'], true);
  assert.equal(filled['request.eligible'], false);
  assert.equal(filled['worker.ageYears'], 76);
  assert.equal(filled['worker.tenureMonths'], 322);
  assert.equal(filled['worker.politicallyExposed'], true);
  assert.equal(filled['alerts.count'], 3);
  assert.equal(filled[contradictedFacts], undefined);
});

test('where request and link detail differ the worse one counts, whoever says it (integrator, session 48)', () => {
  const seen = (change: Partial<LoanRequest>, link: Partial<LinkDetail>, name: string) => {
    const both = facts(change, link);
    assert.ok(both[contradictedFacts]?.includes(name), name);
    return both[name];
  };
  for (const exposed of [true, false]) {
    const link = { politicallyExposed: !exposed };
    assert.equal(seen({ politicallyExposed: exposed }, link, 'worker.politicallyExposed'), true);
  }
  for (const eligible of [true, false]) {
    const link = { eligible: !eligible };
    assert.equal(seen({ eligible }, link, 'request.eligible'), false);
    assert.equal(facts({ eligible }, link)['link.eligible'], !eligible, 'the word of the detail alone');
  }
  for (const eligible of [true, false]) {
    const both = facts({ eligible: null }, { eligible });
    assert.deepEqual([both['request.eligible'], both[contradictedFacts]], [eligible, undefined]);
    assert.equal(facts({ eligible }, { eligible: null })['request.eligible'], eligible);
  }
  const [early, late] = ['2020-11-20', '2026-10-20'];
  for (const [told, asked] of [
    [early, late],
    [late, early],
  ] as const) {
    assert.equal(seen({ admissionDate: told }, { admissionDate: asked }, 'worker.tenureMonths'), 1);
    assert.equal(seen({ admissionDate: told }, { admissionDate: asked }, 'worker.admissionDate'), late);
    assert.equal(seen({ employerStartDate: told }, { employerStartDate: asked }, 'employer.ageMonths'), 1);
    assert.equal(seen({ employerStartDate: told }, { employerStartDate: asked }, 'employer.startDate'), late);
  }
  assert.equal(seen({ alertCodes: [] }, { alertCount: 2 }, 'alerts.count'), 2);
  // Nobody knows the codes of the detail's alerts, so that no rule may hold that one is not among them.
  assert.equal(seen({ alertCodes: ['7'] }, { alertCount: 2 }, 'alerts.codes'), undefined);
  assert.equal(seen({ alertCodes: ['7', '9'] }, { alertCount: 1 }, 'alerts.count'), 2);
  assert.deepEqual(facts({ alertCodes: ['7', '9'] }, { alertCount: 1 })['alerts.codes'], ['7', '9']);
});

test('where neither is plainly worse the fact is missing, and what both have in common stays', () => {
  const ages = facts({ birthDate: '1988-03-05' }, { birthDate: '1930-03-05' });
  assert.equal(ages['worker.ageYears'], undefined);
  assert.equal(ages['worker.ageAtEndYears'], undefined);
  assert.deepEqual(ages[contradictedFacts], ['worker.ageYears', 'worker.ageAtEndYears']);
  const activity = (told: number, asked: number) => {
    const both = facts({ activityCode: told }, { activityCode: asked });
    const names = ['employer.activityCode', 'employer.activityClass', 'employer.sector'] as const;
    return [...names.map((name) => both[name]), both[contradictedFacts]?.length ?? 0];
  };
  assert.deepEqual(activity(4_120_400, 4_120_400), [4_120_400, '41204', 'construction', 0]);
  assert.deepEqual(activity(41_204, 4_120_400), [41_204, '41204', 'construction', 0]);
  assert.deepEqual(activity(4_711_301, 4_711_302), [undefined, '47113', 'commerce', 1]);
  assert.deepEqual(activity(4_711_301, 4_520_001), [undefined, undefined, 'commerce', 2]);
  assert.deepEqual(activity(4_120_400, 4_711_302), [undefined, undefined, undefined, 3]);
});

test('for decisions of earlier programs the request wins', () => {
  const request = { ...sampleRequest, activityCode: 4_120_400, employerStartDate: '2020-11-20' };
  const link = { ...sampleLink, birthDate: '1930-03-05', politicallyExposed: true, alertCount: 2 };
  const both = factsOf({ request, link, marginCents: 82_050, joining: 'request-first', at });
  assert.equal(both['worker.ageYears'], 38);
  assert.equal(both['worker.politicallyExposed'], false);
  assert.equal(both['alerts.count'], 0);
  assert.equal(both['employer.sector'], 'construction');
  assert.equal(both['employer.ageMonths'], 72);
  assert.equal(both[contradictedFacts], undefined);
  const later = factsOf({
    ...{ request, link: { ...link, eligible: false }, marginCents: 82_050 },
    ...{ joining: 'worse-but-eligible', at },
  } as const);
  assert.equal(later['request.eligible'], true);
  assert.equal(later['worker.politicallyExposed'], true);
  assert.ok(!later[contradictedFacts]!.includes('request.eligible'));
});

test('ages and tenures are whole years and months in São Paulo', () => {
  const ageOn = (birthDate: string, now: string) =>
    factsOf({ request: { ...sampleRequest, birthDate }, link: null, marginCents: 0, at: Date.parse(now) })[
      'worker.ageYears'
    ];
  // 02:59 in UTC is still the day before in São Paulo.
  assert.equal(ageOn('2005-11-20', '2026-11-20T02:59:00Z'), 20);
  assert.equal(ageOn('2005-11-20', '2026-11-20T03:00:00Z'), 21);
  assert.equal(ageOn('2004-02-29', '2026-02-28T12:00:00Z'), 21);
  assert.equal(ageOn('2004-02-29', '2026-03-01T12:00:00Z'), 22);
  assert.equal(facts({ admissionDate: '2026-05-21' })['worker.tenureMonths'], 5);
  assert.equal(facts({ admissionDate: '2026-05-20' })['worker.tenureMonths'], 6);
  assert.equal(facts({ birthDate: '1966-12-01', requestedInstallments: 96 })['worker.ageAtEndYears'], 67);
});

test('dates that cannot be are absent', () => {
  for (const day of [
    '',
    '2026-13-01',
    '2026-00-10',
    '0001-01-01',
    'not a date',
    '2027-01-01',
    '99999-01-01',
    '2026-1-1',
  ]) {
    assert.equal(facts({ birthDate: day, admissionDate: day })['worker.ageYears'], undefined, day);
    assert.equal(facts({ birthDate: day, admissionDate: day })['worker.tenureMonths'], undefined, day);
  }
});

test('sectors come from the division, with leading zeros lost or not, as subclass or class', () => {
  const sectorOf = (activityCode: number) => facts({}, { activityCode })['employer.sector'];
  assert.equal(sectorOf(111_301), 'agriculture');
  assert.equal(sectorOf(1_113), 'agriculture');
  assert.equal(sectorOf(4_120_400), 'construction');
  assert.equal(sectorOf(41_204), 'construction');
  assert.equal(sectorOf(1_091_102), 'industry');
  assert.equal(sectorOf(4_711_302), 'commerce');
  assert.equal(sectorOf(4_930_202), 'transport');
  assert.equal(sectorOf(8_411_600), 'public');
  assert.equal(sectorOf(8_610_101), 'services');
  assert.equal(sectorOf(9_700_500), 'domestic');
  for (const code of [0, -5, 41, 4_400_000, 9_800_000, 99_999_999])
    assert.equal(sectorOf(code), undefined, String(code));
});

test('an employer who is a person is keyed by a pseudonym, never by the CPF', () => {
  assert.equal(facts()['employer.key'], '12ABC34501DE35');
  assert.equal(facts({ employerIdType: null })['employer.key'], '12ABC34501DE35');
  assert.equal(facts({ employerId: '52998224725', employerIdType: 2 })['employer.key'], 'link-pseudonym');
  assert.equal(facts({ employerId: '52998224725', employerIdType: null })['employer.key'], 'link-pseudonym');
  assert.equal(facts({ employerId: '529.982.247-25', employerIdType: null })['employer.key'], 'link-pseudonym');
  const nobody = { employerId: '52998224725', employerIdType: 2, linkKey: null, workerKey: null };
  assert.equal(facts(nobody)['employer.key'], undefined);
});

test('all branches of a company have one root; a person has the pseudonym, and a number in doubt none', () => {
  const rootOf = (employerId: string | null, employerIdType: number | null, more: Partial<LoanRequest> = {}) =>
    facts({ employerId, employerIdType, ...more })['employer.rootKey'];
  assert.deepEqual([rootOf('11222333000181', 1), rootOf('11222333000262', null)], ['11222333', '11222333']);
  assert.equal(rootOf('52998224725', 2), 'link-pseudonym');
  for (const [id, type] of [
    ['191', 1],
    ['52998224725', null],
    [null, 1],
  ] as const)
    assert.equal(rootOf(id, type), undefined, String(id));
  assert.equal(rootOf('11222333000181', 1, { unread: ['employerId'] }), undefined);
  assert.equal(rootOf('11222333000181', null, { unread: ['employerIdType'] }), undefined);
});

test('unmapped keys become extra facts; a null says nothing', () => {
  const found = facts({ extra: { 'score.value': 700, channel: 'app', vip: true, empty: null, ['__proto__']: 1 } });
  assert.equal(found['extra.score.value'], 700);
  assert.equal(found['extra.channel'], 'app');
  assert.equal(found['extra.vip'], true);
  assert.equal(found['extra.empty'], undefined);
  assert.equal(found['extra.__proto__'], 1);
  assert.equal(Object.getPrototypeOf(found), Object.prototype);
});

test('without a margin an offer has no share of it', () => {
  assert.equal(offerFactsOf({ offer, expectedProfitCents: 1, marginCents: null })['offer.marginShare'], undefined);
  assert.equal(offerFactsOf({ offer, expectedProfitCents: 1, marginCents: 0 })['offer.marginShare'], undefined);
});
