/** The alerts as Prometheus' own tool reads and runs them: each fires on what it is for, and none on a healthy desk. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { closedCauses } from '../../src/bidding/bidding-status.ts';
import { alarmCodes } from '../../src/bidding/react.ts';
import { furtherAlarms } from '../../src/http/metrics.ts';
import { storeUnreachable } from '../../src/http/waiting.ts';
import { flowAlarms } from '../../src/origination/react.ts';
import { describeWithProgram } from '../stack/suite.ts';

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const alertsFile = file('config/prometheus/alerts.yml');
const alerts = readFileSync(alertsFile, 'utf8');
const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

const checker = 'promtool';
/** Fires as long as somebody evaluates it. */
const always = 'LanceWatchdog';

/** Series by name, in promtool's notation: a value a minute. */
type Series = Readonly<Record<string, string>>;

/** So many answers to bids a minute, within 2.5 s and later. */
function answersWithin(quick: number, slow: number): Series {
  const series = (name: string) => `lance_stage_duration_seconds_${name}`;
  const bucket = (le: string) => `${series('bucket')}{job="lance",instance="a",stage="send-to-answer",le="${le}"}`;
  return {
    [bucket('1')]: `0+${quick}x40`,
    [bucket('2.5')]: `0+${quick}x40`,
    [bucket('5')]: `0+${quick + slow}x40`,
    [bucket('+Inf')]: `0+${quick + slow}x40`,
    [`${series('count')}{job="lance",instance="a",stage="send-to-answer"}`]: `0+${quick + slow}x40`,
  };
}

const healthy: Series = {
  'up{job="lance",instance="a"}': '1x40',
  'lance_requests_received_total{job="lance",instance="a"}': '0+60x40',
  'lance_phases_total{job="lance",instance="a",phase="accepted"}': '0+30x40',
  'lance_passes_total{job="lance",instance="a",code="deadline"}': '0x40',
  ...answersWithin(10, 0),
  'lance_paused{job="lance",instance="a"}': '0x40',
  'lance_bidding_status{job="lance",instance="a",cause="none"}': '1x40',
  'lance_unknown_oldest_age_seconds{job="lance",instance="a"}': '5x40',
  'lance_consumer_lag_seconds{job="lance",instance="a",topic="auctions"}': '1x40',
  'lance_rule_set_refused{job="lance",instance="a"}': '0x40',
  'lance_unknown_refusals{job="lance",instance="a"}': '0x40',
  'lance_link_query_refusals{job="lance",instance="a"}': '0x40',
  'lance_capped_requests{job="lance",instance="a"}': '0x40',
  'lance_alarms_total{job="lance",instance="a",code="foreign-bid"}': '3x40',
  'lance_ready{job="lance",instance="a",check="webhooks"}': '1x40',
  'lance_webhook_problems_total{job="lance",instance="a",problem="log-refused"}': '3x40',
  'lance_http_refusals_total{job="lance",instance="a",problem="bodies-full"}': '3x40',
  'lance_dead_letters_total{job="lance",instance="a"}': '0x40',
  'lance_log_lines_lost_total{job="lance",instance="a"}': '0x40',
  'lance_auctions_settled_total{job="lance",instance="a",chance="20-40"}': '0+10x40',
  'lance_auctions_won_total{job="lance",instance="a",chance="20-40"}': '0+3x40',
  'lance_wins_expected_total{job="lance",instance="a",chance="20-40"}': '0+3x40',
  'lance_wins_expected_variance_total{job="lance",instance="a",chance="20-40"}': '0+2.1x40',
  'lance_profit_expected_reais_total{job="lance",instance="a"}': '0+50x40',
  'lance_profit_won_reais_total{job="lance",instance="a"}': '0+50x40',
  'lance_rivals_follow_share{job="lance",instance="a",bound="low"}': '-0.05x70',
};

/** Healthy to ten minutes after `minutes`. */
function healthyFor(minutes: number): Series {
  const lasting = Object.entries(healthy).map(([name, values]) => [name, values.replace('x40', `x${minutes + 10}`)]);
  return Object.fromEntries(lasting);
}

function like(name: string, values: string): Series {
  const full = Object.keys(healthy).find((key) => key.startsWith(`${name}{`))!;
  return { [full]: values };
}

const idle = like('lance_phases_total', '30x40');
/** `at`: minutes after the beginning at which is looked; 30 if left out. */
const cases: readonly { what: string; change: Series; fires: readonly string[]; at?: number }[] = [
  { what: 'a healthy desk', change: {}, fires: [] },
  { what: 'a desk that is gone', change: like('up', '0x40'), fires: ['LanceDown'] },
  { what: 'no bid accepted any more', change: idle, fires: ['LanceBidsNotFlowing'] },
  { what: 'no bid ever accepted', change: like('lance_phases_total', '_x40'), fires: ['LanceBidsNotFlowing'] },
  { what: 'no bid while paused', change: { ...idle, ...like('lance_paused', '1x40') }, fires: [] },
  ...closedCauses.map((cause) => ({
    what: `bidding closed two minutes ago: ${cause}`,
    change: {
      ...like('lance_bidding_status', '1x28 0x12'),
      [`lance_bidding_status{job="lance",instance="a",cause="${cause}"}`]: '0x28 1x12',
    },
    fires: cause === 'paused' || cause === 'stopping' ? [] : ['LanceBiddingClosed'],
    at: 31,
  })),
  {
    what: 'bidding closed for minutes, for a cause that changes all the time',
    change: {
      ...like('lance_bidding_status', '1x28 0x12'),
      'lance_bidding_status{job="lance",instance="a",cause="control-stale"}': '0x28 1 0 1 0 1 0',
      'lance_bidding_status{job="lance",instance="a",cause="partitions-not-live"}': '0x28 0 1 0 1 0 1',
    },
    fires: ['LanceBiddingClosed'],
    at: 32,
  },
  {
    what: 'closed for a moment',
    change: { 'lance_bidding_status{job="lance",instance="a",cause="service-unreachable"}': '0x28 1 0x11' },
    fires: [],
    at: 31,
  },
  {
    what: 'a pause of some hours',
    change: { ...idle, ...like('lance_paused', '0x60 1x600') },
    fires: [],
    at: 299,
  },
  {
    what: 'a forgotten pause',
    change: { ...idle, ...like('lance_paused', '0x60 1x600') },
    fires: ['LancePaused'],
    at: 302,
  },
  {
    what: 'nothing asked, nothing bid',
    change: { ...idle, ...like('lance_requests_received_total', '9x40') },
    fires: [],
  },
  { what: 'misses', change: like('lance_passes_total', '0+2x40'), fires: ['LanceDeadlineMisses'] },
  { what: 'a rare miss', change: like('lance_passes_total', '0x25 1x15'), fires: [] },
  { what: 'slow answers', change: answersWithin(4, 6), fires: ['LanceServiceSlow'] },
  {
    what: 'requests that end for the slow answers of the service',
    change: { ...answersWithin(4, 6), ...like('lance_passes_total', '0+2x40') },
    fires: ['LanceServiceSlow', 'LanceServiceSlowMisses'],
  },
  { what: 'some slow answers', change: answersWithin(6, 4), fires: [] },
  { what: 'every bid refused', change: like('lance_unknown_refusals', '0x28 6x12'), fires: ['LanceBidsRefused'] },
  { what: 'bids refused until a moment ago', change: like('lance_unknown_refusals', '0x20 6x8 0x12'), fires: [] },
  {
    what: 'every link query refused',
    change: like('lance_link_query_refusals', '0x28 6x12'),
    fires: ['LanceLinkQueriesRefused'],
  },
  {
    what: 'reviews that nobody answers',
    change: {
      ...like('lance_requests_received_total', '0+600x40'),
      'lance_passes_total{job="lance",instance="a",code="review-expired"}': '0x15 1x5 2x5 4x15',
    },
    fires: ['LanceReviewsUnanswered'],
  },
  {
    what: 'one review that nobody answered',
    change: { 'lance_passes_total{job="lance",instance="a",code="review-expired"}': '0x15 1x25' },
    fires: [],
  },
  {
    what: 'a source that answers one question in three',
    change: {
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="answered"}': '0+1x40',
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="time-out"}': '0+2x40',
    },
    fires: ['LanceSourceFailing'],
  },
  {
    what: 'a source that mostly answers, and another one that is seldom asked',
    change: {
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="answered"}': '0+3x40',
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="time-out"}': '0+2x40',
      'lance_source_answers_total{job="lance",instance="a",source="other",outcome="refused"}': '0x20 1x5 2x15',
    },
    fires: [],
  },
  {
    what: 'a source that failed until a quarter of an hour ago',
    change: {
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="answered"}': '0x24 1+5x15',
      'lance_source_answers_total{job="lance",instance="a",source="bureau",outcome="time-out"}': '0+2x24 48x15',
    },
    fires: [],
  },
  { what: 'a full cap', change: like('lance_capped_requests', '0x28 12x12'), fires: ['LanceBidsCapped'] },
  { what: 'a cap that was full a moment ago', change: like('lance_capped_requests', '0x20 12x8 0x12'), fires: [] },
  { what: 'slow answers to a bid now and then', change: answersWithin(0, 0.5), fires: [] },
  {
    what: 'an old unknown',
    change: like('lance_unknown_oldest_age_seconds', '400x40'),
    fires: ['LanceUnknownAnswersAgeing'],
  },
  { what: 'lag', change: like('lance_consumer_lag_seconds', '90x40'), fires: ['LanceLag'] },
  { what: 'refused rules', change: like('lance_rule_set_refused', '1x40'), fires: ['LanceRuleSetRefused'] },
  { what: 'another alarm', change: like('lance_alarms_total', '3x25 4x15'), fires: ['LanceAlarm'] },
  { what: 'a first alarm', change: like('lance_alarms_total', '_x25 1x15'), fires: ['LanceAlarm'] },
  { what: 'a full disk', change: like('lance_ready', '0x40'), fires: ['LanceNotReady'] },
  ...(
    [
      ['gate', 'service-unauthorised'],
      ['rules', 'rule-set-missing'],
      ['caught-up', 'partitions-not-live'],
      ['caught-up', 'views-incomplete'],
      ['partitions', 'partitions-not-live'],
    ] as const
  ).map(([check, cause]) => ({
    what: `${check} is missing for what closes bidding, ${cause}: told once`,
    change: {
      ...like('lance_bidding_status', '0x40'),
      [`lance_ready{job="lance",instance="a",check="${check}"}`]: '0x40',
      [`lance_bidding_status{job="lance",instance="a",cause="${cause}"}`]: '1x40',
    },
    fires: ['LanceBiddingClosed'],
  })),
  {
    what: 'bidding is closed, and something else is missing as well',
    change: {
      ...like('lance_ready', '0x40'),
      ...like('lance_bidding_status', '0x40'),
      'lance_ready{job="lance",instance="a",check="rules"}': '0x40',
      'lance_bidding_status{job="lance",instance="a",cause="clock-step"}': '1x40',
    },
    fires: ['LanceBiddingClosed', 'LanceNotReady'],
  },
  {
    what: 'another instance whose bidding is closed',
    change: {
      'lance_ready{job="lance",instance="a",check="gate"}': '0x40',
      'lance_bidding_status{job="lance",instance="b",cause="clock-step"}': '1x40',
    },
    fires: ['LanceBiddingClosed', 'LanceNotReady'],
  },
  { what: 'not ready for a moment', change: like('lance_ready', '1x28 0x1 1x10'), fires: [] },
  {
    what: 'a refused webhook',
    change: like('lance_webhook_problems_total', '3x27 4x15'),
    fires: ['LanceWebhooksRefused'],
  },
  {
    what: 'a first refused webhook',
    change: like('lance_webhook_problems_total', '_x27 1x15'),
    fires: ['LanceWebhooksRefused'],
  },
  {
    what: 'no room for a body',
    change: like('lance_http_refusals_total', '3x27 9x15'),
    fires: ['LanceWebhooksRefused'],
  },
  {
    what: 'too few wins',
    change: like('lance_auctions_won_total', '0+2x400'),
    fires: ['LanceWinRateOutOfBand', 'LanceCalibrationDrift'],
    at: 390,
  },
  {
    what: 'wins of one chance too many, of another too few',
    change: {
      ...like('lance_auctions_won_total', '0+4x400'),
      'lance_auctions_settled_total{job="lance",instance="a",chance="40-60"}': '0+10x400',
      'lance_auctions_won_total{job="lance",instance="a",chance="40-60"}': '0+4x400',
      'lance_wins_expected_total{job="lance",instance="a",chance="40-60"}': '0+5x400',
      'lance_wins_expected_variance_total{job="lance",instance="a",chance="40-60"}': '0+2.5x400',
    },
    fires: ['LanceCalibrationDrift'],
    at: 390,
  },
  {
    what: 'wins as chance has them',
    change: like('lance_auctions_won_total', '0+3x100 310+3x300'),
    fires: [],
    at: 390,
  },
  {
    what: 'wins that bring little',
    change: like('lance_profit_won_reais_total', '0+30x400'),
    fires: ['LanceProfitShort'],
    at: 390,
  },
  {
    what: 'rivals that follow',
    change: like('lance_rivals_follow_share', '0.3x70'),
    fires: ['LanceRivalsFollow'],
    at: 60,
  },
  { what: 'a dead letter', change: like('lance_dead_letters_total', '0x25 1x15'), fires: ['LanceDeadLetters'] },
  { what: 'log lines lost', change: like('lance_log_lines_lost_total', '0x25 1x15'), fires: ['LanceLogLinesLost'] },
];

function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(checker, args, { encoding: 'utf8' });
  assert.equal(status, 0, `promtool ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

describeWithProgram('the alerts', checker, 'Debian: prometheus', () => {
  test('configuration and rules are valid', () => {
    assert.match(promtool('check', 'config', file('config/prometheus/prometheus.yml')), /1 rule files found/);
    assert.match(promtool('check', 'rules', alertsFile), new RegExp(`${names.length} rules found`));
  });

  test('each fires on what it is for, and on nothing else', () => {
    const directory = mkdtempSync(join(tmpdir(), 'lance-alerts-'));
    try {
      const plan = join(directory, 'plan.yml');
      const tests = cases.map(({ what, change, fires, at = 30 }) => ({
        name: what,
        interval: '1m',
        input_series: Object.entries({ ...healthyFor(at), ...change }).map(([series, values]) => ({ series, values })),
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${at}m`,
            exp_samples: [always, ...fires].map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
          },
        ],
      }));
      // JSON is YAML.
      writeFileSync(plan, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: '1m', tests }));
      promtool('test', 'rules', plan);
    } finally {
      rmSync(directory, { recursive: true });
    }
    assert.deepEqual(
      new Set([always, ...cases.flatMap(({ fires }) => fires)]),
      new Set(names),
      'every alert was seen firing',
    );
  });
});

test('every alert has a part of the runbooks', () => {
  const headings = [...readFileSync(file('docs/runbooks.md'), 'utf8').matchAll(/^## (\w+)$/gm)].map(
    ([, name]) => name!,
  );
  assert.deepEqual(headings, names);
  const links = [...alerts.matchAll(/runbook: docs\/runbooks\.md#(\S+)/g)].map(([, anchor]) => anchor!);
  assert.deepEqual(
    links,
    names.map((name) => name.toLowerCase()),
  );
  const urls = [...alerts.matchAll(/runbook_url: "\{\{ \$externalLabels\.runbooks \}\}#(\S+)"/g)].map(
    ([, anchor]) => anchor!,
  );
  assert.deepEqual(urls, links);
  assert.match(readFileSync(file('config/prometheus/prometheus.yml'), 'utf8'), /external_labels: \{ runbooks: \S+ \}/);
});

test('the runbooks say what to do about every alarm', () => {
  const [, part] = readFileSync(file('docs/runbooks.md'), 'utf8').split('## LanceAlarm');
  const codes = [...alarmCodes, ...flowAlarms, ...furtherAlarms, storeUnreachable];
  assert.deepEqual(
    codes.filter((code) => !part!.includes(`\`${code}\``)),
    [],
  );
});

test('the runbooks say what to do about every cause of closed bidding', () => {
  const [, part] = readFileSync(file('docs/runbooks.md'), 'utf8').split('## LanceBiddingClosed');
  const own = part!.split('\n## ')[0]!;
  assert.deepEqual(
    closedCauses.filter((cause) => !own.includes(`\`${cause}\``)),
    [],
  );
});
