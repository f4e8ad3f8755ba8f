/** The pages of the console as texts: whatever others wrote stays a text, in every place where it is shown. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { detailText } from '../../src/cli/bidding-remedy.ts';
import { createFormat } from '../../src/cli/format.ts';
import { html, outside } from '../../src/console/html.ts';
import { marketPage } from '../../src/console/market-pages.ts';
import {
  controlsPage,
  nowPage,
  orderPage,
  problemPage,
  requestPage,
  requestsPage,
  type Shown,
  wordsIn,
} from '../../src/console/pages.ts';
import { reviewPage, reviewsPage } from '../../src/console/review-pages.ts';
import { ruleOrderPage, rulesPage, type SetFacts, setPage } from '../../src/console/rule-pages.ts';
import { consoleEn } from '../../src/console/texts-en.ts';
import { consolePt } from '../../src/console/texts-pt.ts';
import { exampleOf } from '../../src/http/api/described.ts';
import { bidPage, decisionSchema } from '../../src/http/api/schemas.ts';
import { statusSchema } from '../../src/http/api/status.ts';
import type { Json } from '../../src/rules/json.ts';
import { createFlowWorld } from '../origination/flow-world.ts';
import { started } from '../origination/orders.ts';

const hostile = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `' onmouseover='alert(1)`,
  `\u202Egnp.exe\u2066 \u200F`,
  `</bdi></main></body>`,
  `&lt;script&gt;`,
  `\u001b[2J\u0007`,
  'a'.repeat(10_240),
];
/** What our own templates never have. */
const foreign = /<script>|<img|onmouseover='|\u202E|\u2066|\u200F|<\/bdi><\/main>|\p{Cc}(?<!\n)|a{400}/u;

function shownIn(language: 'pt' | 'en', name: string): Shown {
  const person = { name, role: 'admin' as const, csrfToken: 'c' };
  return { ...wordsIn(language), otherHref: `/?lang=${name}`, assetVersion: 'v', person };
}

/** Facts of the rule pages in which all that people or files say is this text. */
/** Every kind of condition. */
const saying = (text: string): Json => ({
  all: [
    {
      any: [
        { fact: text, operator: 'equal', value: text },
        { fact: text, operator: text, value: [text] },
      ],
    },
    { atLeast: 1, of: [{ not: { condition: text } }, { fact: `list.${text}`, operator: 'equal', value: true }] },
    { fact: 'employer.sector', operator: 'in', value: [text, text] },
    { fact: `values.${text}.${text}`, operator: 'lessThan', value: { fact: text } },
    text,
  ],
});

function rulesSaying(text: string) {
  const hash = 'a'.repeat(64);
  const signature = { by: text, via: 'offline' as const, at: 1 };
  const changes = [{ change: 'changed' as const, what: 'rule' as const, name: text }];
  const standing = {
    ...{ live: 'b'.repeat(64), before: hash, approvalNeeded: true },
    rollback: { hash, from: hash, at: 1, by: text, reviewBy: 2, reviewedBy: text, reviewedAt: 3 },
    sets: [
      { hash, state: 'proposed' as const, proposed: [signature], approved: [signature], changes, mayFollow: true },
    ],
  };
  const history = (['proposed', 'approved'] as const).map((kind) => ({
    ...{ kind, hash, at: 1, by: text, via: 'api' as const, comment: text, against: null, changes, followed: false },
  }));
  const snoozes = [{ rule: text, until: 2, by: text, via: 'api' as const, reason: text, at: 1, holds: false }];
  const values = [{ at: text, before: text, after: [text] }];
  const diff = {
    kind: 'compared' as const,
    before: 'b'.repeat(64),
    after: hash,
    differences: [{ ...changes[0]!, values }],
    conditions: new Map([[`rule ${text}`, { before: saying(text), after: { [text]: text } }]]),
  };
  const uncovered = [{ rule: text, condition: text, missing: ['unknown' as const] }];
  const tested = { count: 1, coverage: 0.5, uncovered };
  const refused = { kind: 'refused' as const, text: `${text}\n${text}` };
  const facts: SetFacts = {
    ...{ hash, standing, comments: history, before: text, diff, orders: ['approve', 'activate'] },
    tests: { kind: 'good', hash, source: text, tested },
  };
  const folder = { refusal: text, heldBack: null, notFollowed: hash };
  const overview = {
    standing,
    history,
    snoozes,
    folder,
    at: 0,
    notice: 'late' as const,
    opensSets: true,
    mayRollBack: true,
  };
  return { overview, facts, refused };
}

/** What waits for a person, in words of rules and of those who answered before. */
function reviewsSaying(shown: Shown, text: string): string[] {
  const review = {
    ...{ requestId: '1', queue: text, rules: [text, text], askedAt: 1, until: 2, otherwise: 'pass' as const },
    ...{ requestedAmountCents: 1, requestedInstallments: 1, availableMarginCents: 1 },
  };
  const missing = [{ partition: 1, instance: text, why: 'no-owner' as const }];
  // Made of our own words and of names that are short.
  const said = text.slice(0, 300);
  const tried = { reason: '', decision: null, faults: { reason: said, decision: said, whole: said } };
  return [
    reviewsPage(shown, { queue: text, found: { reviews: [review], next: '1', missing }, isFirst: false, now: 3 }),
    reviewPage(shown, '1', { review, tried, now: 3, mayAnswer: true }),
    reviewPage(shown, '1', { review: null, tried: null, now: 3, mayAnswer: true }),
  ];
}

/** Names of segments are made of what requests say. */
function marketIn(text: string): Parameters<typeof marketPage>[1] {
  const rates = { auctions: 30, withoutRivals: 1, rivals: { low: 1, median: 2, high: 3 }, ours: 2 };
  const calibration = { bids: 30, expected: 0.4, observed: 0.5, gapInterval: { low: -0.1, high: 0.1 } };
  const weight = { name: text, mean: 0.5, low: 0.1, high: 0.9 };
  const key = `all|employer.sector=${text}`;
  return {
    ...{ at: 1, requests: 30, isCut: true },
    card: {
      data: {
        ...{ auctions: 30, withoutRivals: 1, learnt: 30, claims: 30, placed: 30 },
        ...{ oldestAt: 0, newestAt: 1, newestAgeMs: 1 },
      },
      weights: { readings: [weight], parts: [weight] },
      segments: [{ key, auctions: 30, newestAt: 1, calibration }],
      bins: [{ from: 0, to: 1, calibration }],
    },
    rates: [{ key, ...rates }],
    groups: [
      { to: 15, ...rates },
      { to: 30, ...rates },
    ],
    places: [{ place: 1, bids: 30 }],
    gaps: { won: 1, lost: null },
    learnt: {
      bars: [
        { from: 200, share: 0.5 },
        { from: 205, share: 0.5 },
      ],
      withoutRivals: 0,
    },
  };
}

/** Every text of a value, but for those that code looks at. */
function withText<T>(value: T, text: string, kept: readonly string[], key = ''): T {
  if (typeof value === 'string') return (kept.includes(key) ? value : text) as T;
  if (Array.isArray(value)) return value.map((each: unknown) => withText(each, text, kept, key)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withText(each as unknown, text, kept, name)]),
  ) as T;
}

test('what is put into a template is escaped, in text and in attributes', () => {
  assert.equal(
    html`<a title="${`"'<>&`}">${`"'<>&`}</a>`.text,
    '<a title="&quot;&#39;&lt;&gt;&amp;">&quot;&#39;&lt;&gt;&amp;</a>',
  );
  assert.equal(html`${html`<b>${'<'}</b>`}${['<', html`<i></i>`]}${null}${false}${0}`.text, '<b>&lt;</b>&lt;<i></i>0');
  assert.equal(html`${{ text: '<b>' } as unknown as string}`.text, '[object Object]', 'no object passes as a template');
  assert.equal(outside(`\u202E<`).text, '<bdi>\\u202e&lt;</bdi>');
  assert.equal(outside('😀'.repeat(301)).text, `<bdi>${'😀'.repeat(300)}…</bdi>`, 'no character is cut in two');
});

test('no page shows the markup of others, or turns its direction', () => {
  const status = exampleOf(statusSchema) as Parameters<typeof nowPage>[1]['status'];
  const decision = exampleOf(decisionSchema) as Parameters<typeof requestPage>[1];
  const page = exampleOf(bidPage) as NonNullable<Parameters<typeof requestsPage>[1]['found']>;
  for (const text of hostile) {
    for (const language of ['pt', 'en'] as const) {
      const shown = shownIn(language, text);
      const caps = [{ name: text, usedCents: 5, bids: 1, limitCents: 10 }];
      const facts = { caps, moreCaps: 3, reviewsWaiting: 2, isAlone: false, now: status.at, notice: 'late' as const };
      const closed = withText(status, text, ['kind', 'cause', 'version', 'roles', 'instance']);
      const paused = { ...closed, bidding: { ...closed.bidding!, cause: 'paused' as const, by: text } };
      const ruled = [
        { code: text, rule: text, text },
        { code: text, rule: null, text },
      ];
      const seen = {
        ...withText(decision, text, ['state', 'kind', 'event', 'next', 'requestId', 'decision', 'otherwise']),
        reasons: ruled,
        frozen: text,
      };
      const given = { at: 1, by: text, via: 'api' as const, reason: text, revision: 1 };
      const orders = [
        { ...given, kind: 'paused' as const },
        { ...given, kind: 'cap-set' as const, name: text, limitCents: 5 },
      ];
      const raises = [{ name: text, limitCents: 5, by: text, reason: text, at: 1, until: 2 }];
      const found = withText(page, text, ['state', 'next']);
      const made = [
        nowPage(shown, { ...facts, status: closed }),
        nowPage(shown, { ...facts, status: paused }),
        requestPage(shown, seen, {
          ...{ contract: null, notice: 'answered' as const, now: 0 },
          resolve: { allowed: ['lost'], tried: { as: text, reason: text, problem: text } },
        }),
        requestsPage(shown, {
          filters: { code: text, since: text },
          found,
          isFirst: false,
          worker: 's',
          problem: text,
        }),
        controlsPage(shown, { orders, more: true, raises } as Parameters<typeof controlsPage>[1]),
        problemPage(shown, { title: text, text }),
        orderPage(shown, 'resume', { pause: { by: text, reason: text, since: 1 }, reason: '', problem: null }),
      ];
      const rules = rulesSaying(text);
      const order = { hash: rules.facts.hash, standing: rules.facts.standing, comment: '', problem: null };
      made.push(
        rulesPage(shown, rules.overview),
        setPage(shown, rules.facts),
        setPage(shown, { ...rules.facts, tests: rules.refused }),
        ruleOrderPage(shown, { kind: 'approve', ...order }),
      );
      made.push(marketPage(shown, marketIn(text)));
      made.push(...reviewsSaying(shown, text));
      for (const [index, each] of made.entries()) {
        // A page's own fields are as long as they were typed.
        const looked = each.replaceAll(
          /(?:value|content|data-page|href|aria-label)="[^"]*"|<title>.*?<\/title>|(?<=<textarea id="resolve-reason"[^>]*>).*?(?=<\/textarea>)/gs,
          '',
        );
        const isLong = text.length > 400 && [3, 5].includes(index);
        if (!isLong) assert.doesNotMatch(looked, foreign, `page ${index}, ${language}: ${text.slice(0, 40)}`);
        assert.doesNotMatch(each, /<script>|<img|\u202E|\u2066|\u200F/u);
        assert.equal(each.split('</main>').length, 2);
      }
    }
  }
});

test('the first page says the detail of a cause in the language of the page', () => {
  const example = exampleOf(statusSchema) as Parameters<typeof nowPage>[1]['status'];
  const since = example.at - 60_000;
  const closed = { ...example.bidding!, kind: 'closed' as const, by: null, until: null, remedy: null, since };
  const facts = { caps: [], moreCaps: 0, reviewsWaiting: null, isAlone: true, now: example.at, notice: null };
  for (const [cause, detail] of [
    ['service-unreachable', 'unreachable'],
    ['service-throttled', 'throttled'],
  ] as const) {
    const page = (language: 'pt' | 'en') => {
      const bidding = { ...closed, cause, detail };
      return nowPage(shownIn(language, 'ana'), { ...facts, status: { ...example, bidding } });
    };
    const said = detailText(createFormat('pt').texts, detail);
    assert.notEqual(said, detail);
    assert.ok(page('pt').includes(said), said);
    assert.ok(page('en').includes(detailText(createFormat('en').texts, detail)), detail);
  }
});

test('a service that refuses every bid, or is slow, and a source that fails, stand on the first page while bidding is open', () => {
  const example = exampleOf(statusSchema) as Parameters<typeof nowPage>[1]['status'];
  const bidding = { ...example.bidding!, kind: 'open' as const, cause: null, detail: null, remedy: null };
  const calm = { unknownRefusals: null, linkQueryRefusals: null, slowAnswers: null, failingSources: null, caps: null };
  const status = { ...example, bidding, ...calm };
  const facts = { caps: [], moreCaps: 0, reviewsWaiting: null, isAlone: true, now: status.at, notice: null };
  for (const [language, warning, refused, queries, slow] of [
    [
      ...(['en', 'Warning', /REFUSED: the bids of the last 7 requests/] as const),
      ...([/REFUSED: the queries of the last 9 employment links/, /SLOW: half of the last 20 bids/] as const),
    ],
    [
      ...(['pt', 'Atenção', /RECUSADOS: os lances das últimas 7 solicitações/] as const),
      ...([/RECUSADAS: as consultas dos últimos 9 vínculos/, /LENTAS: metade dos últimos 20 lances/] as const),
    ],
  ] as const) {
    const page = (change: Partial<typeof example>) =>
      nowPage(shownIn(language, 'ana'), { ...facts, status: { ...status, ...change } });
    assert.ok(!page({}).includes(warning));
    assert.match(page({}), /class="panel live"/);
    assert.match(page({ unknownRefusals: 7 }), refused);
    assert.match(page({ unknownRefusals: 7 }), /class="panel shut"/);
    assert.match(page({ linkQueryRefusals: 9 }), queries);
    assert.match(page({ linkQueryRefusals: 9 }), /class="panel shut"/);
    const slowPage = page({ slowAnswers: { medianMs: 4_020, of: 20, windowMs: 30_000 } });
    assert.match(slowPage, slow);
    assert.equal(slowPage.split(`<dt>${warning}</dt>`).length, 2);
    const source = { failure: 'time-out' as const, failed: 12, of: 20 };
    const failing = ['bureau', 'score'].map((name) => ({ source: name, ...source }));
    const failingPage = page({ failingSources: failing });
    assert.match(failingPage, /class="panel shut"/);
    for (const each of failing)
      assert.ok(failingPage.includes(createFormat(language).texts.status.failingSource(each)), failingPage);
    assert.equal(failingPage.split(`<dt>${warning}</dt>`).length, 3);
  }
});

test('a source that did not answer is told with the attempts that failed, and what others wrote stays a text', () => {
  const decision = { ...(exampleOf(decisionSchema) as Parameters<typeof requestPage>[1]), hindrances: [] };
  const shown = shownIn('pt', 'ana');
  const answered = {
    ...{ kind: 'source-answered' as const, requestId: '1', at: 5, source: 'bureau', hash: 'h', attempt: 'a:1' },
    ...{ failure: 'time-out' as const, found: { score: hostile.join('') } },
  };
  const accountOf = (record: object) =>
    ({
      ...{ state: { request: null }, history: [record], decision: null, replay: null },
      ...{ rulesSealed: false, accounts: [], shownCodes: (said: unknown) => said },
    }) as unknown as NonNullable<Parameters<typeof requestPage>[2]['account']>;
  const pageOf = (record: object) =>
    requestPage(shown, decision, {
      contract: null,
      notice: null,
      now: 0,
      resolve: { allowed: [], tried: null },
      account: accountOf(record),
    });
  const { noAttempts } = consolePt.request;
  assert.ok(pageOf({ ...answered, failure: null }).includes(noAttempts));
  const failed = pageOf(answered);
  assert.ok(!failed.includes(noAttempts));
  assert.equal(failed.split('resposta da fonte: bureau, time-out').length, 3, 'in the history and with the attempts');
  assert.doesNotMatch(failed, foreign);
});

test('a request whose contract was ordered says where it stands, and not that it can be ordered', () => {
  const decision = exampleOf(decisionSchema) as Parameters<typeof requestPage>[1];
  const next = 'contract-once-the-worker-has-taken-it' as const;
  const shown = shownIn('pt', 'ana');
  const page = (contract: Parameters<typeof requestPage>[2]['contract']) =>
    requestPage(
      shown,
      { ...decision, next },
      { contract, notice: null, now: 0, resolve: { allowed: [], tried: null } },
    );
  const flow = createFlowWorld(started('contract')).state();
  const orderable = /o contrato pode ser pedido/;
  assert.match(page(null), orderable);
  const endorsed = page({ ...flow, phase: 'endorsed' });
  assert.doesNotMatch(endorsed, orderable);
  assert.match(endorsed, /<p>Contrato: recebido para averbação; o serviço ainda não confirmou/);
  const cancelled = page({ ...flow, phase: 'cancelled' });
  assert.match(cancelled, orderable);
  assert.match(cancelled, /<p>Contrato: cancelado<\/p>/);
});

test('both languages have every text, and none is empty', () => {
  const pathsOf = (value: object, path = ''): string[] =>
    Object.entries(value).flatMap(([name, each]) => {
      assert.notEqual(each, '', `${path}.${name}`);
      return typeof each === 'object' ? pathsOf(each as object, `${path}.${name}`) : [`${path}.${name}`];
    });
  assert.deepEqual(pathsOf(consoleEn), pathsOf(consolePt));
});

test('what pages and commands say to people stands in the catalogues of the two languages', () => {
  const source = (folder: string) => new URL(`../../src/${folder}/`, import.meta.url);
  const filesIn = (folder: string) =>
    readdirSync(source(folder))
      .filter((name) => name.endsWith('.ts') && !/(?:texts|words)-(?:pt|en)\.ts$|^desk-reason-texts\.ts$/.test(name))
      .map((name) => {
        const text = readFileSync(new URL(name, source(folder)), 'utf8');
        return { name, text: text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '') };
      });
  // Names, and commands that are typed as they stand there.
  const isNoText = (said: string) => /^(?:Lance|SHA-256|\/readyz|docs\/runbooks\.md)$|^lance [a-z]/.test(said.trim());
  const literals = filesIn('console').flatMap(({ name, text }) =>
    [...text.matchAll(/<\/?[a-z][^<>`]*>([^<>`{}=;]*?\p{L}{3,}[^<>`{}=;]*?)(?=<|\$\{|`)/gu)].flatMap(([, said]) =>
      isNoText(said!) ? [] : `${name}: ${said}`,
    ),
  );
  assert.deepEqual(literals, []);
  assert.ok(filesIn('console').length > 10 && filesIn('cli').length > 50);
  // Words of an example that somebody may type are Portuguese in both languages.
  const portuguese = ['console', 'cli'].flatMap((folder) =>
    filesIn(folder).flatMap(({ name, text }) =>
      text.split('\n').flatMap((line) => {
        const said = /['"`][^'"`]*[ãõçáéíóúâêôà][^'"`]*['"`]/u.exec(line);
        return said === null || /lance [a-z]+/.test(line) || /--reason/.test(line) ? [] : `${name}: ${said[0]}`;
      }),
    ),
  );
  assert.deepEqual(portuguese, []);
});
