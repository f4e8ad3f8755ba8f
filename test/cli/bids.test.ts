/** `bids list`, `show`, `resolve` and `audit verify` beside a real daemon that has just traded with the sandbox. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { differencesOf } from '../../src/bidding/explain.ts';
import { readBidReport, replayOf, reportJson } from '../../src/cli/bid-report.ts';
import { reportText } from '../../src/cli/bid-text.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { defaultRulesDir } from '../../src/config.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import type { HitsReport } from '../../src/rules/rule-hits.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { runningClock } from '../sandbox/clocks.ts';
import {
  type Daemon,
  jsonLines,
  lance,
  lanceWithInput,
  linesInTerminal,
  openStage,
  type Played,
  pseudonymKey,
  startDaemon,
} from './desk.ts';

type Listed = {
  requestId: string;
  batchId: string;
  state: string;
  code: string | null;
  rateHundredths: number | null;
  amountCents: number | null;
  installments: number | null;
  position: number | null;
  decidedAt: number | null;
};

const requests = 60;
/** Ends that are still to come. */
const awaited = new Set(['requested', 'claimed', 'accepted', 'unknown', 'contemplated']);
let played: Played;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };
let listed: Listed[] = [];

before(async () => {
  played = await openStage(5);
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(requests);
  // The views of the last records are stored a moment after they are folded; a loaded machine takes longer.
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 600));
    listed = jsonLines<Listed>((await lance(played.environment, 'bids', 'list', '--json', '--limit', '1000')).stdout);
    if (listed.length === requests && listed.every(({ state }) => !awaited.has(state))) break;
  }
});

after(async () => {
  await daemon.stop();
  await played.close();
});

function oneOf(states: string[]): Listed {
  const found = listed.find(({ state }) => states.includes(state));
  assert.ok(found, `no request of the run is ${states.join(' or ')}`);
  return found;
}

/** Parts of the commands, in this process. */
function world(language: 'pt' | 'en'): CommandWorld {
  return { clock: runningClock, format: createFormat(language), createVault } as unknown as CommandWorld;
}

test('a rule is tried on what the desk has decided, with what was known then', async () => {
  const { code, stdout } = await lance(
    played.environment,
    'rules',
    'try',
    'Only eligible workers',
    '--last',
    '1000',
    '--json',
  );
  assert.equal(code, 0);
  const tried = JSON.parse(stdout);
  assert.equal(tried.true + tried.false + tried.unknown + tried.linkNotOnRecord, tried.tried);
  const ineligible = listed.filter(({ state, code: why }) => state === 'passed' && why === 'not-eligible');
  const hit = tried.hits.filter(({ truth }: { truth: string }) => truth === 'true');
  assert.deepEqual(
    hit.map(({ requestId }: Listed) => requestId).sort(),
    ineligible.map(({ requestId }) => requestId).sort(),
  );
  const offers = JSON.parse(
    (await lance(played.environment, 'rules', 'try', 'High rates a day', '--last', '1000', '--json')).stdout,
  );
  assert.equal(offers.tried, listed.filter(({ rateHundredths }) => rateHundredths !== null).length);
  assert.equal(offers.true, listed.filter(({ rateHundredths }) => (rateHundredths ?? 0) >= 450).length);
  const unknown = await lance(played.environment, 'rules', 'try', 'Only eligible worker');
  assert.match(unknown.stderr, /"Only eligible workers"/);
});

test('requests whose link a rule would have needed, and nobody asked for, are counted apart', async () => {
  const rules = join(played.directory, 'rules-on-earnings');
  cpSync(defaultRulesDir, rules, { recursive: true });
  const event = { type: 'pass', params: { code: 'alerts', reason: 'of a test' } };
  const conditions = { all: [{ fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 100 }] };
  writeFileSync(
    join(rules, 'earnings.json'),
    JSON.stringify({ name: 'Earnings', description: 'x', conditions, event }),
  );
  const english = { ...played.environment, LANCE_LANG: 'en' };
  const earnings = await lance(english, 'rules', 'try', 'Earnings', '--last', '1000', '--dir', rules);
  assert.match(earnings.stdout, /On \d+ more it is not known: the rule looks at facts of the worker's link/);
  assert.match(earnings.stdout, /link not on record/);
  const never = { all: [{ fact: 'extra.rendaNuncaDita', operator: 'lessThan', value: 100 }] };
  writeFileSync(join(rules, 'never.json'), JSON.stringify({ name: 'Never', conditions: never, event }));
  const check = await lance(english, 'rules', 'check', rules, '--last', '1000', '--json');
  const { warnings } = JSON.parse(check.stdout) as { warnings: { file: string; line: number; text: string }[] };
  const [told] = warnings.filter(({ file }) => file === 'never.json');
  assert.match(
    told?.text ?? check.stderr,
    /^"Never" asks for "extra\.rendaNuncaDita", which none of the latest \d+ requests/,
  );
});

test('hits tell what each rule of the live set did, as the decisions recorded it', async () => {
  const english = { ...played.environment, LANCE_LANG: 'en' };
  const hits = (...words: string[]) => lance(english, 'rules', 'hits', ...words);
  const { code, stdout, stderr } = await hits('--json');
  assert.equal(code, 0, stderr);
  const report = JSON.parse(stdout) as HitsReport & { since: number; until: number };
  const passed = listed.filter(({ state }) => state === 'passed');
  const of = (name: string) => report.rules.find(({ rule }) => rule === name)!;
  // On a machine that is loaded some requests come to no decision, or find no slot to be sent in.
  assert.equal(report.decisions, report.bids + report.passes);
  assert.deepEqual([report.bids, report.byOtherSets], [listed.length - passed.length, 0]);
  assert.ok(report.passes > 0 && report.passes <= passed.length);
  const { codes } = JSON.parse(readFileSync(new URL('../../rules/codes.json', import.meta.url), 'utf8'));
  const ofRules = passed.filter(({ code: why }) => why! in codes || /^(?:fact-missing:|limits-conflict)/.test(why!));
  assert.equal(report.byRules, ofRules.length);
  const ineligible = passed.filter(({ code: why }) => why === 'not-eligible');
  assert.equal(of('Only eligible workers').decided + of('Only eligible links').decided, ineligible.length);
  assert.equal(of('Desk total a day').effects, report.decisions);
  assert.deepEqual([of('Optimise').event, of('High rates a day').stage], ['strategy', 'offer']);
  assert.ok(report.rules.some(({ effects }) => effects === 0));
  const priced = passed.filter(({ code: why }) => why === 'no-profit' || why === 'installments-out-of-range');
  const limited = report.rules.filter((rule) => rule.limited > 0);
  assert.ok(priced.length === 0 || limited.length > 0);
  assert.ok(limited.every(({ event }) => event === 'limit'));
  // Nothing was decided on that day.
  const early = JSON.parse((await hits('--since', '2020-01-01', '--until', '2020-01-01', '--json')).stdout);
  assert.deepEqual([early.decisions, early.byOtherSets, early.rules.length], [0, 0, report.rules.length]);
  for (const lang of ['pt', 'en']) {
    const lines = await linesInTerminal({ ...played.environment, LANCE_LANG: lang }, 80, 'rules', 'hits');
    assert.ok(lines.every((line) => line.length <= 80));
    assert.ok(lines.some((line) => line.startsWith('Optimise ')));
    assert.match(
      lines.join(' '),
      lang === 'pt' ? /Conjunto [0-9a-f]{12}, decisões de / : /Set [0-9a-f]{12}, decisions from /,
    );
  }
});

test('explain tells of a request what every rule said of it, with what was known when it was decided', async () => {
  const { requestId } = listed.find(({ state, code }) => state === 'passed' && code === 'not-eligible')!;
  const explain = (...words: string[]) =>
    lance({ ...played.environment, LANCE_LANG: 'en' }, 'rules', 'explain', ...words);
  const shown = await explain('--request', requestId);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^✓ Only eligible workers \[pass\]$/m);
  assert.match(shown.stdout, /^not-eligible – "Only eligible workers": /m);
  type Told = {
    passes: { code: string; rule: string }[];
    rules: { name: string; truth: string; stage: string }[];
  };
  const told = JSON.parse((await explain('--request', requestId, '--json')).stdout) as Told;
  assert.ok(told.passes.some(({ code, rule }) => code === 'not-eligible' && rule === 'Only eligible workers'));
  // Of one that was bid for the rules on offers are told too, and none of them passes it.
  const bid = oneOf(['won', 'lost', 'accepted', 'result-missing', 'contemplated', 'proposed', 'expired']);
  const ofBid = JSON.parse((await explain('--request', bid.requestId, '--json')).stdout) as Told;
  assert.deepEqual(
    ofBid.passes.filter(({ code }) => code !== 'undecided'),
    [],
  );
  assert.ok(
    ofBid.rules.some(
      ({ name, truth }) => name === 'High rates a day' && truth === String((bid.rateHundredths ?? 0) >= 450),
    ),
  );
  const other = await explain('--request', 'nothing-of-this-name');
  assert.equal(other.code, 66, other.stderr);
  for (const words of [[], ['facts.json', '--request', requestId]]) {
    const wrong = await explain(...words);
    assert.deepEqual([wrong.code, /--request ID/.test(wrong.stderr)], [1, true], wrong.stderr);
  }
});

test('the list has every request once, with what became of it', () => {
  assert.equal(listed.length, requests);
  assert.equal(new Set(listed.map(({ requestId }) => requestId)).size, requests);
  const keys = [
    'requestId',
    'batchId',
    'state',
    'code',
    'rateHundredths',
    'amountCents',
    'installments',
    'position',
    'decidedAt',
    'next',
  ];
  for (const row of listed) {
    assert.deepEqual(Object.keys(row), keys);
    assert.equal(row.state === 'passed', row.code !== null);
    // A claim that was never written keeps its rate although it passed.
    if (row.rateHundredths === null) assert.equal(row.state, 'passed');
  }
  const truth = new Map(played.sandbox.record.of('ended').map((ended) => [ended.requestId, ended]));
  for (const { requestId, state, position, rateHundredths } of listed) {
    const own = truth.get(requestId)?.ranked.find((bid) => bid.ours);
    assert.equal(position, own?.position ?? null);
    // On a slow machine a claim may have been too late to be written.
    if (state !== 'passed') assert.equal(rateHundredths, own?.rateHundredths ?? null);
    else assert.equal(own, undefined);
  }
});

test('the list is searched by code, batch, segment and time', async () => {
  const list = async (...words: string[]) => {
    const { code, stdout, stderr } = await lance(
      played.environment,
      ...['bids', 'list', '--json', '--limit', '1000'],
      ...words,
    );
    assert.equal(code, 0, stderr);
    return jsonLines<Listed>(stdout).map(({ requestId }) => requestId);
  };
  const idsOf = (fits: (row: Listed) => boolean) => listed.filter(fits).map(({ requestId }) => requestId);
  const { code, batchId } = oneOf(['passed']);
  assert.deepEqual(
    await list('--code', code!),
    idsOf((row) => row.code === code),
  );
  assert.deepEqual(
    await list('--batch', batchId),
    idsOf((row) => row.batchId === batchId),
  );
  assert.deepEqual(await list('--code', 'no-such-code'), []);
  const misspelt = await lance(played.environment, 'bids', 'list', '--code', `${code}x`, '--lang', 'en');
  assert.equal(misspelt.stdout, 'No requests.\n');
  assert.match(misspelt.stderr, new RegExp(`^None of the latest has this code; the nearest that occur: .*${code}`));
  const unlike = await lance(played.environment, 'bids', 'list', '--code', 'qqqqqqqqqqqqqqqqqqqqqqq', '--lang', 'en');
  assert.match(unlike.stderr, /^None of the latest has this code; the codes that occur: .*/);

  // The segments are read from the records, not from the rows that are searched.
  const segmentsOf = new Map<string, readonly string[]>();
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  for (const { requestId } of listed) {
    for (const { record } of await reader.log.readKey('auctions', requestId)) {
      // A claim that is given up is followed by a pass without a trace.
      if ((record.kind === 'claimed' || record.kind === 'passed') && record.trace)
        segmentsOf.set(requestId, record.trace.segmentKeys);
    }
  }
  reader.close();
  const special = segmentsOf.get(oneOf(['lost']).requestId)!.at(-1)!;
  const inSegment = await list('--segment', special);
  assert.deepEqual(
    inSegment,
    idsOf(({ requestId }) => segmentsOf.get(requestId)?.includes(special) ?? false),
  );
  assert.ok(inSegment.length < listed.length);

  const minuteOf = (at: number) =>
    new Date(at).toLocaleString('sv-SE', { timeZone: 'America/Sao_Paulo' }).slice(0, 16).replace(' ', 'T');
  const times = listed.map(({ decidedAt }) => decidedAt!).sort((one, other) => one - other);
  const [first, last] = [times[0]!, times.at(-1)!];
  const minute = minuteOf(times[30]!);
  assert.deepEqual(
    await list('--since', minute, '--until', minute),
    idsOf(({ decidedAt }) => minuteOf(decidedAt!) === minute),
  );
  assert.equal(
    (await list('--since', minuteOf(first).slice(0, 10), '--until', minuteOf(last).slice(0, 10))).length,
    requests,
  );
  assert.deepEqual(await list('--until', minuteOf(first - 86_400_000)), []);
  for (const word of ['ontem', '2026-02-30', '2026-11-23T25:00']) {
    const refused = await lance(played.environment, 'bids', 'list', '--since', word);
    assert.equal(refused.code, 1, word);
    assert.match(refused.stderr, /Escreva um dia/);
  }
});

test('the list is cut and filtered, and reads as people write figures', async () => {
  const lost = oneOf(['lost']);
  const [cut, filtered, table, refused] = await Promise.all([
    lance(played.environment, 'bids', 'list', '--json', '--limit', '7'),
    lance(played.environment, 'bids', 'list', '--json', '--state', 'lost', '--limit', '1000'),
    lance(played.environment, 'bids', 'list', '--limit', '1000'),
    lance(played.environment, 'bids', 'list', '--limit', 'many'),
  ]);
  assert.deepEqual(jsonLines(cut.stdout), listed.slice(0, 7));
  assert.deepEqual(
    jsonLines(filtered.stdout),
    listed.filter(({ state }) => state === 'lost'),
  );
  const row = table.stdout.split('\n').find((line) => line.startsWith(lost.requestId));
  const rate = (lost.rateHundredths! / 100).toFixed(2).replace('.', ',');
  assert.ok(row, 'the lost bid is not in the table');
  assert.ok(row.includes(` ${rate}  `), row);
  assert.match(table.stdout, /^solicitação .* % a\.m\. /);
  assert.match(row, / \d\d:\d\d -03$/);
  assert.match(row, /R\$ (\d{1,3}\.)?\d{1,3},\d\d/);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /número inteiro/);
});

test('every recorded decision, made again from its stored inputs, gives the same bytes', async () => {
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  let claims = 0;
  let passes = 0;
  try {
    for (const { requestId } of listed) {
      const report = await readBidReport(world('pt'), reader, requestId, pseudonymKey);
      if (report.decision === null || report.replay === null) continue;
      assert.deepEqual(report.differences, [], requestId);
      if (report.decision.kind === 'passed') {
        passes += 1;
        continue;
      }
      claims += 1;
      assert.equal(report.replay.body, report.decision.body);
      const rows = report.price?.stack?.rows ?? [];
      const sum = rows.reduce((total, { cents }) => total + cents, 0);
      assert.equal(sum, report.decision.offer.expectedValueCents);
      // A record that says otherwise is found out.
      const replay = await replayOf(world('pt'), reader.log, report.state, report.decision);
      const { decision } = report;
      const tampered = { ...decision, offer: { ...decision.offer, rateHundredths: decision.offer.rateHundredths + 1 } };
      assert.deepEqual(differencesOf(replay, tampered), ['offer']);
      assert.deepEqual(differencesOf(replay, { ...decision, body: `${decision.body} ` }), ['body']);
    }
  } finally {
    reader.close();
  }
  assert.ok(claims >= requests / 3, `${claims} claims`);
  assert.ok(passes > 0, `${passes} passes`);
});

test('whether the link was asked for, and what came of it, is shown with what could not be read', async () => {
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  try {
    const { requestId } = listed.find(({ rateHundredths }) => rateHundredths !== null)!;
    const report = await readBidReport(world('en'), reader, requestId, pseudonymKey);
    const { decision, replay } = report;
    assert(decision !== null && replay !== null);
    const shown = (
      change: Partial<typeof decision.trace>,
      link: typeof replay.assessment.link,
      language: 'en' | 'pt',
    ) =>
      reportText(
        {
          ...report,
          decision: { ...decision, trace: { ...decision.trace, ...change } } as typeof decision,
          replay: { ...replay, assessment: { ...replay.assessment, link } },
        },
        createFormat(language),
      ).replaceAll(/\s+/g, ' ');
    const linkAsked = { from: decision.at - 2_000, until: decision.at };
    // In the run that is looked at its link may have been asked for.
    const unasked = { linkAsked: undefined } as object;
    assert.match(shown(unasked, null, 'en'), /link detail not asked for/);
    const waited = shown({ linkAsked }, null, 'en');
    assert.match(waited, /link detail asked for at .* no answer that could be used until .* 2\.0 s/);
    assert.doesNotMatch(waited, /not asked for/);
    assert.match(shown({ linkAsked }, null, 'pt'), /consultado em .* sem resposta utilizável até .* 2,0 s/);
    const told = { ...sampleLink, unread: ['birthDate'] as const };
    const answered = shown({ linkAsked }, told, 'en');
    assert.match(answered, /asked for at .* received at .* cannot be read \(so they are missing\): birthDate/);
  } finally {
    reader.close();
  }
});

test('no name and no CPF is shown of anybody, in either language or in JSON', async () => {
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  const vault = createVault(pseudonymKey);
  try {
    for (const { requestId } of listed) {
      const report = await readBidReport(world('pt'), reader, requestId, pseudonymKey);
      const received = report.history.find((record) => record.kind === 'requested')!;
      const { identity } = JSON.parse(vault.open(sealedPlaces.request(requestId), received.sealed)) as {
        identity: { cpf: string; name: string };
      };
      assert.ok(identity.cpf.length === 11 && identity.name.length > 3);
      const shown = [
        reportText(report, createFormat('pt')),
        reportText(report, createFormat('en')),
        JSON.stringify(reportJson(report)),
      ].join('\n');
      assert.ok(!shown.includes(identity.cpf), `${requestId} shows its CPF`);
      assert.ok(!shown.toLowerCase().includes(identity.name.toLowerCase()), `${requestId} shows its name`);
      // What the service might echo is taken out, what is ours stays.
      const echo = `Olá ${identity.name.toUpperCase()}, ${identity.cpf}: ${requestId}`;
      const scrubbed = report.scrubber.text(echo);
      assert.ok(!scrubbed.includes(identity.cpf) && !scrubbed.includes(identity.name.toUpperCase()), scrubbed);
      assert.ok(scrubbed.includes(requestId), scrubbed);
      const keyless = await readBidReport(world('en'), reader, requestId, null);
      assert.match(keyless.scrubber.text(echo), /^body not shown/);
      // A full cap is named by its key, in which workers stand.
      assert.doesNotMatch(JSON.stringify(keyless.reasons), /\|/);
    }
  } finally {
    reader.close();
  }
});

test('whose a won bid is, is shown by the command line with a reason, and each reading is recorded (line 12)', async () => {
  const { requestId } = oneOf(['proposed', 'contemplated', 'won']);
  const words = ['--by', 'ana', '--reason', 'contrato do CPF 529.982.247-25'];
  const nobody = await lance(played.environment, 'bids', 'worker', requestId, '--by', 'ana');
  assert.notEqual(nobody.code, 0, 'a reason is wanted');
  const json = await lance(played.environment, 'bids', 'worker', requestId, ...words, '--json');
  assert.equal(json.code, 0, json.stderr);
  const { cpf, name, links } = JSON.parse(json.stdout) as {
    cpf: string;
    name: string;
    links: { motherName: string }[];
  };
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  const records = reader.log.readKey('auctions', requestId);
  const history = (await records).map(({ record }) => record);
  reader.close();
  const received = history.find((record) => record.kind === 'requested')!;
  const sealed = createVault(pseudonymKey).open(sealedPlaces.request(requestId), received.sealed);
  assert.deepEqual([cpf, name], [JSON.parse(sealed).identity.cpf, JSON.parse(sealed).identity.name]);
  const readings = history.filter((record) => record.kind === 'worker-read');
  assert.deepEqual(
    readings.map(({ by }) => by),
    ['ana'],
  );
  assert.match(readings[0]!.reason, /^contrato do CPF (?!529)/);
  const text = await lance(played.environment, 'bids', 'worker', requestId, ...words, '--lang', 'en');
  assert.ok(text.stdout.includes(name) && text.stdout.includes(cpf), text.stdout);
  for (const { motherName } of links) assert.ok(text.stdout.includes(motherName), 'line 16');
  const lost = oneOf(['lost']);
  const refused = await lance(played.environment, 'bids', 'worker', lost.requestId, ...words, '--lang', 'en');
  assert.equal(refused.code, 65);
  assert.match(refused.stderr, /is "lost", not won/);
  const unknown = await lance(played.environment, 'bids', 'worker', '1', ...words);
  assert.equal(unknown.code, 66);
});

test('requests are found by the CPF of their worker, which is printed nowhere', async () => {
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR });
  const vault = createVault(pseudonymKey);
  const ofWorker = new Map<string, string[]>();
  for (const { requestId } of listed) {
    const history = (await reader.log.readKey('auctions', requestId)).map(({ record }) => record);
    const { sealed } = history.find((record) => record.kind === 'requested')!;
    const { cpf } = JSON.parse(vault.open(sealedPlaces.request(requestId), sealed)).identity as { cpf: string | null };
    if (cpf !== null) ofWorker.set(cpf, [...(ofWorker.get(cpf) ?? []), requestId]);
  }
  reader.close();
  const [cpf, own] = [...ofWorker].find(([, ids]) => ids.includes(oneOf(['lost']).requestId))!;
  const dotted = `${cpf.slice(0, 3)}.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-${cpf.slice(9)}`;
  const list = ['bids', 'list', '--json', '--cpf'];
  for (const [given, input] of [[cpf], [dotted], ['-', `${dotted}\n`], ['-', cpf]] as const) {
    const found = await lanceWithInput(played.environment, input ?? '', ...list, given);
    assert.equal(found.code, 0, found.stderr);
    const ids = jsonLines<Listed>(found.stdout).map(({ requestId }) => requestId);
    assert.deepEqual(ids.sort(), own.toSorted(), given);
    assert.ok(!`${found.stdout}${found.stderr}`.includes(cpf) && !`${found.stdout}${found.stderr}`.includes(dotted));
  }
  const nobody = await lance(played.environment, 'bids', 'list', '--cpf', '529.982.247-25', '--lang', 'en');
  assert.equal(nobody.code, 0, nobody.stderr);
  assert.doesNotMatch(nobody.stdout, /529|\d{11}/);
  const mistyped = `${cpf.slice(0, 10)}${(Number(cpf.at(-1)) + 1) % 10}`;
  for (const [given, input] of [
    [mistyped, ''],
    // A CPF where zeros are put before it.
    ['191', ''],
    ['-', '191'],
    ['-', ''],
    ['-', mistyped],
  ] as const) {
    const refused = await lanceWithInput({ ...played.environment, LANCE_LANG: 'en' }, input, ...list, given);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(refused.stderr, /--cpf was given no CPF: write its 11 digits/);
    assert.ok(!refused.stderr.includes(cpf.slice(0, 10)));
  }
  const { LANCE_PSEUDONYM_KEY: _, ...keyless } = played.environment as Record<string, string>;
  const unkeyed = await lance({ ...keyless, LANCE_LANG: 'en' }, ...list, cpf);
  assert.deepEqual([unkeyed.code, /LANCE_PSEUDONYM_KEY/.test(unkeyed.stderr)], [78, true], unkeyed.stderr);
  const other = await lance(
    { ...keyless, LANCE_PSEUDONYM_KEY: `${pseudonymKey}, another`, LANCE_LANG: 'en' },
    ...list,
    cpf,
  );
  assert.deepEqual([other.code, /another LANCE_PSEUDONYM_KEY/.test(other.stderr)], [78, true], other.stderr);
});

test('a won bid is explained: what was left on the table, the costs, the bytes', async () => {
  const won = oneOf(['proposed', 'contemplated', 'won']);
  const [pt, en, json] = await Promise.all([
    lance(played.environment, 'bids', 'show', won.requestId),
    lance(played.environment, 'bids', 'show', won.requestId, '--lang', 'en'),
    lance({ ...played.environment, LANCE_LANG: 'en' }, 'bids', 'show', won.requestId, '--json'),
  ]);
  if (won.state !== 'won') {
    assert.match(
      en.stdout.replaceAll(/\s+/g, ' '),
      /once the worker has taken the proposal .* lance contracts example/,
    );
    assert.match(pt.stdout.replaceAll(/\s+/g, ' '), /quando o trabalhador tiver aceitado .* lance contracts example/);
  }
  for (const words of [
    'deixado na mesa',
    'De onde vem o valor',
    '= valor esperado do lance',
    '◄ nosso',
    'dá os mesmos bytes',
  ]) {
    assert.ok(pt.stdout.includes(words), `${words} is missing in\n${pt.stdout}`);
  }
  for (const words of ['left on the table', 'Where the value comes from', '◄ ours', 'gives the same bytes', '▲']) {
    assert.ok(en.stdout.includes(words), `${words} is missing in\n${en.stdout}`);
  }
  const call = played.sandbox.record.of('call').find(({ requestId }) => requestId === won.requestId);
  assert.ok(pt.stdout.includes(call!.body) && en.stdout.includes(call!.body));
  const report = JSON.parse(json.stdout) as {
    state: string;
    replay: { same: boolean };
    offer: { expectedValueCents: number };
    costStack: { cents: number }[];
    hindsight: { forgoneCents: number; bestRivalHundredths: number | null; gapHundredths: number | null };
  };
  assert.equal(report.state, won.state);
  assert.equal(report.replay.same, true);
  assert.equal(
    report.costStack.reduce((sum, { cents }) => sum + cents, 0),
    report.offer.expectedValueCents,
  );
  assert.ok(report.hindsight.forgoneCents >= 0);
  if (report.hindsight.gapHundredths !== null) assert.ok(report.hindsight.gapHundredths <= 0);
});

test('a lost bid is explained: best rival, gap, what was missed', async () => {
  const lost = oneOf(['lost']);
  const ended = played.sandbox.record.of('ended').find(({ requestId }) => requestId === lost.requestId);
  const best = Math.ceil(ended!.ranked.find((bid) => !bid.ours)!.rateHundredths);
  const [pt, en] = await Promise.all([
    lance(played.environment, 'bids', 'show', lost.requestId),
    lance(played.environment, 'bids', 'show', lost.requestId, '--lang', 'en'),
  ]);
  assert.match(pt.stdout, new RegExp(`melhor concorrente +${(best / 100).toFixed(2).replace('.', ',')} % a\\.m\\.`));
  assert.match(en.stdout, new RegExp(`best rival +${(best / 100).toFixed(2)} % a month`));
  assert.match(pt.stdout, /não ganho +(R\$|nada)/);
  assert.match(en.stdout, /missed +(R\$|nothing)/);
});

test('a pass is explained: the reason, and the smallest change that would have brought a bid', async () => {
  const passed = listed.find(({ code }) => code === 'tenure-short' || code === 'age-outside');
  assert.ok(passed, 'no request of the run was refused by a rule');
  const [pt, en] = await Promise.all([
    lance(played.environment, 'bids', 'show', passed.requestId),
    lance(played.environment, 'bids', 'show', passed.requestId, '--lang', 'en'),
  ]);
  assert.ok(pt.stdout.includes(`Sem lance (${passed.code})`), pt.stdout);
  assert.match(
    pt.stdout,
    /(meses de casa: de \d+ para \d+|idade: de \d+ anos para \d+ anos) → lance a \d,\d\d % a\.m\./,
  );
  assert.match(en.stdout, /(months of tenure: from \d+ to \d+|age: from \d+ years to \d+ years) → a bid at/);
  assert.match(en.stdout, /gives the same pass/);
  assert.match(pt.stdout, /O que se diz ao trabalhador: \p{Lu}/u);
  assert.match(en.stdout, /The worker is told: \p{Lu}/u);
});

test('an unknown request is not found, and one that is over cannot be resolved', async () => {
  const by = ['--by', 'ana', '--reason', 'teste'];
  const lost = oneOf(['lost']);
  const [unknown, over, missing, bad] = await Promise.all([
    lance(played.environment, 'bids', 'show', '1'),
    lance(played.environment, 'bids', 'resolve', lost.requestId, '--as', 'won', ...by, '--lang', 'en'),
    lance(played.environment, 'bids', 'resolve', '1', '--as', 'won', ...by),
    lance(played.environment, 'bids', 'resolve', lost.requestId, '--as', 'expired', ...by),
  ]);
  assert.equal(unknown.code, 66);
  assert.match(unknown.stderr, /Não há solicitação 1/);
  assert.equal(over.code, 65);
  assert.match(over.stderr, /is "lost" and cannot be ended like this/);
  assert.equal(missing.code, 66);
  assert.equal(bad.code, 1);
});

test("an operator's word ends a request beside the daemon, and is stored for the next start without one", async () => {
  const winners = listed.filter(({ state }) => state === 'proposed' || state === 'contemplated');
  assert.ok(winners.length >= 2, `${winners.length} wins`);
  const [first, second] = winners as [Listed, Listed];
  const words = ['--as', 'cancelled', '--by', 'ana', '--reason', 'desistência em 7 dias'];
  const done = await lance(played.environment, 'bids', 'resolve', first.requestId, ...words);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /Agora: cancelado/);
  const shown = await lance(played.environment, 'bids', 'show', first.requestId);
  assert.match(shown.stdout, /encerrado como cancelled por ana: desistência em 7 dias/);

  const whole = await lance(played.environment, 'audit', 'verify');
  assert.equal(whole.code, 0);
  assert.match(whole.stdout, /cadeia está intacta/);

  await daemon.stop();
  const stored = await lance(played.environment, 'bids', 'resolve', second.requestId, ...words);
  assert.equal(stored.code, 0, stored.stderr);
  assert.match(stored.stdout, /Nenhum processo está rodando/);

  const database = new DatabaseSync(join(played.environment.LANCE_DATA_DIR, 'lance.sqlite'));
  database.exec(`UPDATE auctions SET value = replace(value, '"kind"', '"Kind"') WHERE offset = 17`);
  database.close();
  const [broken, json] = await Promise.all([
    lance(played.environment, 'audit', 'verify', '--lang', 'en'),
    lance(played.environment, 'audit', 'verify', '--json'),
  ]);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /broken at record 17/);
  const { kind, table, offset, what } = JSON.parse(json.stdout);
  assert.deepEqual({ kind, table, offset, what }, { kind: 'broken', table: 'auctions', offset: 17, what: 'changed' });
});
