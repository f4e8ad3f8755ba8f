/** Code, texts, documents, alerts and dashboards know the same codes: one that only some of them have is a typing error or was forgotten. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { closedCauses } from '../../src/bidding/bidding-status.ts';
import { alarmCodes, deskCodes } from '../../src/bidding/react.ts';
import { languages, textsIn } from '../../src/cli/texts.ts';
import { consoleEn } from '../../src/console/texts-en.ts';
import { consolePt } from '../../src/console/texts-pt.ts';
import { phases } from '../../src/domain/states.ts';
import { createMetrics, furtherAlarms } from '../../src/http/metrics.ts';
import { storeUnreachable } from '../../src/http/waiting.ts';
import { flowAlarms } from '../../src/origination/react.ts';
import { priceCodes } from '../../src/pricing/mask.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const sorted = (codes: Iterable<string>) => [...new Set(codes)].sort();
const alarms: readonly string[] = [...alarmCodes, ...flowAlarms, ...furtherAlarms, storeUnreachable];
const runbooks = read('docs/runbooks.md');
const docs = readdirSync(new URL('../../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
const documents: readonly string[] = ['README.md', 'ARCHITECTURE.md', ...docs.map((name) => `docs/${name}`)];
const alertNames = [...read('config/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

function partOf(alert: string): string {
  return runbooks.split(`## ${alert}\n`)[1]!.split('\n## ')[0]!;
}

/** Reason codes of the desk: its own, why bidding is closed, and of the price. */
const reasonCodes: readonly string[] = [
  ...deskCodes,
  ...closedCauses.filter((cause) => cause !== 'stopping'),
  ...priceCodes,
];
/** What the service may say of a bid. */
const answerCodes = ['request-not-found', 'request-expired', 'validity-too-long', 'unclassified'];

test('every reason code has its words in both languages, and no other has', () => {
  for (const language of languages) {
    // These stand for codes of the risk team.
    const known = Object.keys(textsIn(language).codes).filter((name) => !['factMissing', 'rule'].includes(name));
    assert.deepEqual(sorted(known), sorted([...reasonCodes, ...answerCodes]), language);
  }
});

test('no code of the risk team is one of the desk', () => {
  const { codes } = JSON.parse(read('rules/codes.json')) as { codes: Record<string, string> };
  assert.ok(Object.keys(codes).length > 3);
  assert.deepEqual(
    Object.keys(codes).filter((code) => reasonCodes.includes(code)),
    [],
  );
});

test('the runbooks explain the causes that there are, and no others', () => {
  const explained = [...partOf('LanceBiddingClosed').matchAll(/^- (`[^:.]*?)(?::| are )/gm)].flatMap(([, names]) =>
    [...names!.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!),
  );
  assert.deepEqual(sorted(explained), sorted(closedCauses));
});

test('the console says every alarm in both languages, and no other', () => {
  for (const { alarms: said } of [consolePt, consoleEn]) assert.deepEqual(sorted(Object.keys(said)), sorted(alarms));
});

test('what is to be done about a clock is said in the same words by status, doctor and runbook', () => {
  const flat = runbooks.replaceAll('`', '').replaceAll(/\s+/g, ' ');
  for (const language of languages) {
    const { bidding, doctor } = textsIn(language);
    const { 'clock-step': step, 'clock-skew': skew } = bidding.remedies;
    for (const [finding, remedy] of [
      ['clock-behind', step],
      ['clock-wrong', step],
      ['clock-slow', skew],
      ['clock-fast', skew],
    ] as const)
      assert.equal(doctor.findings[finding]?.({ durationMs: 1 })[1], remedy, `${language} ${finding}`);
    if (language === 'en') for (const remedy of [step, skew]) assert.ok(flat.includes(remedy), remedy);
  }
});

test('the runbooks explain the alarms that there are, and no others', () => {
  const explained = [...partOf('LanceAlarm').matchAll(/(?:[.:;,?)] |\n)((?:`[a-z-]+`(?:,\s+)?)+):/g)].flatMap(
    ([, names]) => [...names!.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!),
  );
  assert.deepEqual(sorted(explained), sorted(alarms));
  let count = 0;
  for (const path of documents) {
    const named = [...read(path).matchAll(/alarms?\s+`([a-z-]+)`/g)].map(([, name]) => name!);
    count += named.length;
    assert.deepEqual(
      named.filter((name) => !alarms.includes(name)),
      [],
      path,
    );
  }
  assert.ok(count >= 10, String(count));
});

test('each alarm is counted from 0 on, so that the first one is an increase', async () => {
  const text = await createMetrics().text();
  const counted = [...text.matchAll(/^lance_alarms_total\{code="([^"]+)"\} 0$/gm)].map(([, code]) => code!);
  assert.deepEqual(sorted(counted), sorted(alarms));
});

test('documents name alerts that there are, and link to parts that there are', () => {
  for (const path of documents) {
    const named = [...read(path).matchAll(/`(Lance[A-Z]\w+)`|\(#(lance\w+)\)/g)].map(([, name, link]) => name ?? link!);
    const known = [...alertNames, ...alertNames.map((name) => name.toLowerCase())];
    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
      path,
    );
  }
});

test('alerts and dashboards ask for codes that there are', () => {
  const values: Readonly<Record<string, readonly string[]>> = {
    cause: [...closedCauses, 'none'],
    code: [...reasonCodes, ...alarms],
    phase: phases,
  };
  const texts = ['config/prometheus/alerts.yml', 'config/grafana/dashboards/desk.json'].map(read);
  const asked = texts.flatMap((text) => [
    ...text.replaceAll('\\"', '"').matchAll(/\b(cause|code|phase)(?:=~|!~|!=|=)"([^"]*)"/g),
  ]);
  assert.ok(asked.length > 5);
  for (const [selector, label, value] of asked)
    for (const each of value!.split('|')) assert.ok(values[label!]!.includes(each), selector);
});
