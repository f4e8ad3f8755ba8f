/**
 * Nights on which no bid flows, with a real `lance run` and its store in a file: each cause is forced, and one cause stands in all eight
 * places. Those that only a log on brokers has are played in `nights-on-kafka.test.ts`.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClosedCause } from '../../src/bidding/bidding-status.ts';
import { noSmallDisk, type SmallDisk, withSmallDisk } from '../hostile/small-disk.ts';
import { jsonLines, lance, type Played, startDaemon } from './desk.ts';
import {
  apiStatus,
  assertCodes,
  assertShown,
  codesOf,
  firingWithin2Minutes,
  flat,
  type KafkaCause,
  type Night,
  type NightOptions,
  patient,
  untilCause,
  windowMs,
  withNight,
} from './night.ts';

type Plan = {
  title: string;
  options?: NightOptions;
  /** Before requests come. */
  force?: (night: Night, disk: SmallDisk) => Promise<void> | void;
  /** While requests come. */
  during?: (night: Night, disk: SmallDisk) => Promise<void> | void;
  requests?: number;
  /** Requests that end with the cause, at least; 4 if left out. */
  least?: number;
  /** Others that hold for a moment before or after it. */
  beside?: readonly ClosedCause[];
  ingress?: number;
  onSmallDisk?: boolean;
  /** What ends it; bidding opens again then. */
  mend?: (night: Night, disk: SmallDisk) => Promise<void> | void;
  /** Anything more that the night has to show, before its requests have ended. */
  shows?: (night: Night) => Promise<void>;
};

const who = ['--by', 'ana', '--reason', 'teste'];

async function order(environment: Record<string, string>, ...words: string[]): Promise<void> {
  const { code, stderr } = await lance(environment, ...words, ...who);
  assert.equal(code, 0, stderr);
}

/** The directory of a desk is put back to an older copy, and its list of claims is lost. */
async function setBack(environment: Record<string, string>, { sandbox }: Played): Promise<void> {
  const directory = environment.LANCE_DATA_DIR!;
  await (await startDaemon(environment)).stop();
  cpSync(directory, `${directory}.backup`, { recursive: true });
  const later = await startDaemon(environment);
  sandbox.connect(later.url);
  await sandbox.run(3);
  await later.stop();
  rmSync(directory, { recursive: true });
  renameSync(`${directory}.backup`, directory);
  rmSync(`${directory}.anchor.claims`);
  await order(environment, 'audit', 'accept-restore');
}

/** The latest order of an operator is taken out of the log. */
function forgetOrder({ environment }: Night): void {
  // The desk writes meanwhile.
  const database = new DatabaseSync(join(environment.LANCE_DATA_DIR!, 'lance.sqlite'), { timeout: 5_000 });
  database.exec('DELETE FROM control_changes WHERE number = (SELECT max(number) FROM control_changes)');
  database.close();
}

const service =
  (mode: Night['front']['mode']) =>
  ({ front }: Night) => {
    front.mode = mode;
  };

const nights: Record<Exclude<ClosedCause, KafkaCause | 'stopping'>, Plan> = {
  'service-unauthorised': {
    title: 'the first night: the token has expired',
    options: { more: { LANCE_ACCESS_TOKEN: 'expired' } },
    shows: async ({ root }) => {
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_alarms_total\{code="service-unauthorised"\} 1$/m);
    },
  },
  'service-unreachable': {
    title: 'the second night: the service is down, and comes back',
    options: patient,
    force: service('down'),
    requests: 40,
    // Those whose bid was written and not answered are unknown, which is no code.
    least: 3,
    // Nothing is left to send: no request has to come for the desk to see that the service is there again.
    mend: service('through'),
  },
  'service-throttled': {
    title: 'throttled by the service',
    options: patient,
    force: service('throttled'),
    requests: 20,
  },
  paused: {
    title: 'paused by a person',
    force: ({ environment }) => order(environment, 'pause'),
    mend: ({ environment }) => order(environment, 'resume'),
  },
  'rule-set-missing': {
    title: 'the first set waits for two persons, so there are no rules to decide by',
    options: { rules: { approval: true } },
  },
  'clock-step': {
    title: "the machine's clock jumps",
    force: ({ front, shift }) => {
      // Nobody tells the true time, so the step is not understood.
      front.mode = 'down';
      shift(10 * 60_000);
    },
    shows: async ({ environment }) => {
      const [en, pt] = await Promise.all(
        ['en', 'pt'].map((lang) => lance({ ...environment, LANCE_LANG: lang }, 'status')),
      );
      assert.match(flat(en!.stdout), /detail this machine's clock is 6\d\d\.\d s ahead of the time kept/);
      assert.match(flat(pt!.stdout), /detalhe o relógio desta máquina está 6\d\d\.\d s à frente da hora mantida/);
    },
    mend: ({ front, shift }) => {
      front.mode = 'through';
      shift(0);
    },
  },
  'clock-skew': {
    title: "the service's clock and ours do not agree",
    force: service('an-hour-ahead'),
    requests: 20,
  },
  'log-refused': {
    title: 'the disk is full, so the log takes nothing',
    onSmallDisk: true,
    options: { bidding: { marginWaitMs: 3_000 } },
    force: async (night) => {
      await night.played.sandbox.run(5);
      // Nothing is decided before the disk is full.
      night.front.mode = 'slow';
    },
    requests: 40,
    // Only those that wait for a margin are not bid for by then.
    least: 2,
    during: async (_, { fill }) => {
      await sleep(500);
      fill();
    },
    ingress: 503,
    mend: async (_, { free }) => {
      // Until the auctions have ended.
      await sleep(3_000);
      free();
    },
  },
  'log-changed': {
    title: 'an order of an operator is taken out of the log',
    force: async (night) => {
      await order(night.environment, 'pause');
      await order(night.environment, 'resume');
      forgetOrder(night);
      // A bid that goes out before it is seen is no request that ends meanwhile.
      await untilCause(night, 'log-changed', 20_000);
    },
  },
  restored: {
    title: 'after a restore, what may have been bid for is not bid for',
    options: { prepare: setBack },
    force: ({ environment }) => order(environment, 'resume'),
  },
};

async function play(cause: keyof typeof nights, plan: Plan, seed: number, disk: SmallDisk, dataDir?: string) {
  const { options = {}, requests = 10, least = 4, beside = [], ingress = 200 } = plan;
  const more = { ...options.more, ...(dataDir === undefined ? {} : { LANCE_DATA_DIR: dataDir }) };
  await withNight(seed, { ...options, more }, async (night) => {
    const { daemon, played, root } = night;
    await plan.force?.(night, disk);
    const running = played.sandbox.run(requests);
    await plan.during?.(night, disk);
    await untilCause(night, cause, 20_000);
    await assertShown(night, cause, ingress);
    await plan.shows?.(night);
    const isOpen = () => {
      const closed = daemon.lines.findIndex(({ msg, code }) => msg === 'bidding-closed' && code === cause);
      return closed >= 0 && daemon.lines.slice(closed).some(({ msg }) => msg === 'bidding-open');
    };
    assert.equal(isOpen(), false, 'it was closed all the time');
    // The log takes no end of a request before.
    if (plan.onSmallDisk) await plan.mend?.(night, disk);
    await running;
    await assertCodes(night, cause, least, beside);
    if (plan.mend === undefined) return;
    if (!plan.onSmallDisk) await plan.mend(night, disk);
    await untilCause(night, null, 20_000);
    // What the desk writes comes here by a pipe, beside the answer of the API.
    for (let looks = 0; looks < 50 && !isOpen(); looks += 1) await sleep(100);
    assert.ok(isOpen(), 'the recovery is logged');
    assert.equal((await fetch(`${root}/readyz`)).status, 200);
  });
}

async function playOnSmallDisk(context: TestContext, cause: keyof typeof nights, plan: Plan, seed: number) {
  const place = mkdtempSync(join(tmpdir(), 'lance-nights-'));
  const disk = join(place, 'disk');
  try {
    const done = await withSmallDisk(disk, 60, async (small) => {
      await play(cause, plan, seed, small, join(disk, 'data'));
      return true;
    });
    if (done === null) context.skip(noSmallDisk);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const noDisk: SmallDisk = { fill: () => assert.fail(), free: () => assert.fail() };

// Each has a desk and a service of its own, and waits for windows of seconds most of its time. The longest stand first.
describe('nights on which no bid flows', { concurrency: 4 }, () => {
  test('every bid is refused with 403: a warning in all places, and bidding stays open', async () => {
    await withNight(75, {}, async (night) => {
      const { environment, daemon, root, front, played } = night;
      front.mode = 'bids-forbidden';
      const alarms = () => daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'bids-refused');
      for (let batch = 0; batch < 20 && alarms().length === 0; batch += 1) await played.sandbox.run(5);
      assert.equal(alarms().length, 1, 'the alarm');
      const { bidding, unknownRefusals } = await apiStatus(night);
      assert.equal(bidding?.kind, 'open');
      assert.ok(unknownRefusals! >= 5);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] service: .*; REFUSED: the bids of/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_unknown_refusals [1-9]\d*$/m);
      assert.match(metrics, /^lance_alarms_total\{code="bids-refused"\} 1$/m);
      firingWithin2Minutes(metrics, 'LanceBidsRefused', [{ alertname: 'LanceBidsRefused' }]);
      const [screen, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /bidding OPEN.*REFUSED: the bids of the last \d+ requests/);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout);
      assert.deepEqual(
        found.filter(({ check }) => check === 'bidding').map(({ finding }) => finding),
        ['bidding-refused'],
      );
      const codes = await codesOf(night);
      assert.ok((codes.unclassified ?? 0) >= 5, JSON.stringify(codes));
      const each = daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'rejected-unclassified');
      const told = each.reduce((sum, { leftOut }) => sum + 1 + Number(leftOut), 0);
      assert.ok(each.length <= 2 + 38 / 5, `${each.length} lines of ${told} refusals`);
      assert.ok(told > each.length, 'those left out are counted');
      front.mode = 'through';
      await played.sandbox.run(5);
      const isOver = () => daemon.lines.some(({ msg }) => msg === 'bids-refused-over');
      for (let looks = 0; looks < 100 && !isOver(); looks += 1) await sleep(100);
      assert.ok(isOver(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).unknownRefusals, null);
    });
  });

  test('every link query is refused with 403: a warning in all places, and bidding stays open', async () => {
    await withNight(77, {}, async (night) => {
      const { environment, daemon, root, front, played } = night;
      front.mode = 'links-forbidden';
      const alarms = () => daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'link-queries-refused');
      for (let batch = 0; batch < 20 && alarms().length === 0; batch += 1) await played.sandbox.run(5);
      assert.equal(alarms().length, 1, 'the alarm');
      const { bidding, linkQueryRefusals } = await apiStatus(night);
      assert.equal(bidding?.kind, 'open');
      assert.ok(linkQueryRefusals! >= 5);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] service: .*; REFUSED: the queries/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_alarms_total\{code="link-queries-refused"\} 1$/m);
      firingWithin2Minutes(metrics, 'LanceLinkQueriesRefused', [{ alertname: 'LanceLinkQueriesRefused' }]);
      const [screen, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /bidding OPEN.*REFUSED: the queries of the last \d+ employment links/);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout);
      assert.deepEqual(
        found.filter(({ check }) => check === 'bidding').map(({ finding }) => finding),
        ['bidding-links-refused'],
      );
      const codes = await codesOf(night);
      assert.ok((codes['link-refused'] ?? 0) >= 5, JSON.stringify(codes));
      front.mode = 'through';
      const isOver = () => daemon.lines.some(({ msg }) => msg === 'link-queries-refused-over');
      // Not every request asks for its link.
      for (let batch = 0; batch < 20 && !isOver(); batch += 1) await played.sandbox.run(5);
      assert.ok(isOver(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).linkQueryRefusals, null);
    });
  });

  test('every bid is answered with a success that says nothing: closed once, until a bid is answered', async () => {
    await withNight(76, patient, async (night) => {
      const { daemon, front, played } = night;
      front.mode = 'bids-ok';
      const told = () =>
        daemon.lines.flatMap(({ msg, code, from }) =>
          (msg === 'bidding-closed' && code === 'service-unreachable') ||
          (msg === 'bidding-open' && from === 'service-unreachable')
            ? [msg]
            : [],
        );
      for (let batch = 0; batch < 3; batch += 1) await played.sandbox.run(10);
      await untilCause(night, 'service-unreachable');
      await assertShown(night, 'service-unreachable');
      assert.deepEqual(told(), ['bidding-closed']);
      front.mode = 'through';
      await played.sandbox.run(5);
      await untilCause(night, null, 20_000);
      for (let looks = 0; looks < 50 && told().length < 2; looks += 1) await sleep(100);
      assert.deepEqual(told(), ['bidding-closed', 'bidding-open']);
    });
  });

  for (const [index, [name, plan]] of Object.entries(nights).entries()) {
    const cause = name as keyof typeof nights;
    test(`${cause}: ${plan.title}`, (context) =>
      plan.onSmallDisk ? playOnSmallDisk(context, cause, plan, 61 + index) : play(cause, plan, 61 + index, noDisk));
  }

  test('requests whose time was over before somebody paused do not end as paused', async () => {
    await withNight(79, { bidding: { marginWaitMs: 3_000 } }, async (night) => {
      const { daemon, environment, front, played } = night;
      front.mode = 'slow';
      const running = played.sandbox.run(10).catch(() => undefined);
      await sleep(600);
      daemon.signal('SIGKILL');
      await daemon.stop();
      await sleep(windowMs);
      // The process that was killed does not confirm it.
      const paused = await lance(environment, 'pause', ...who);
      assert.ok([0, 75].includes(paused.code!), paused.stderr);
      const again = await startDaemon(environment);
      try {
        const codes = () => codesOf(night);
        // The end of its auction may be told to the new process, or its deadline come first.
        const overdue = async () => {
          const { deadline = 0, 'auction-ended': ended = 0 } = await codes();
          return deadline + ended;
        };
        for (let looks = 0; looks < 20 && (await overdue()) < 2; looks += 1) await sleep(250);
        assert.ok((await overdue()) >= 2, JSON.stringify(await codes()));
        assert.equal((await codes()).paused, undefined, JSON.stringify(await codes()));
      } finally {
        await again.stop();
      }
      await running;
    });
  });

  test("the machine's clock is ahead of the service's since the start, so that every auction seems to be over", async () => {
    await withNight(69, { shiftMs: 10 * 60_000 }, async (night) => {
      const running = night.played.sandbox.run(20);
      await untilCause(night, 'clock-skew', 20_000);
      await assertShown(night, 'clock-skew');
      await running;
      night.shift(0);
      await untilCause(night, null, 20_000);
      assert.ok(night.daemon.lines.some(({ msg, code }) => msg === 'alarm' && code === 'clock-skew'));
    });
  });

  test('the third night: a bad rule file; the set before decides on, and every place says what is wrong', async () => {
    await withNight(63, {}, async (night) => {
      const { environment, daemon, root, played } = night;
      const path = join(environment.LANCE_RULES_DIR!, 'limits.json');
      const good = readFileSync(path, 'utf8');
      writeFileSync(path, good.slice(0, 200));
      const refused = () => daemon.lines.find(({ msg }) => msg === 'rules-refused');
      for (let looks = 0; looks < 150 && refused() === undefined; looks += 1) await sleep(100);
      assert.match(String(refused()?.text), /limits\.json/);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] rules: .*the folder is refused$/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_rule_set_refused 1$/m);
      firingWithin2Minutes(metrics, 'LanceRuleSetRefused', [{ alertname: 'LanceRuleSetRefused' }]);
      const status = await apiStatus(night);
      assert.match(status.rulesFolder.refusal ?? '', /limits\.json/);
      assert.equal(status.bidding?.kind, 'open', 'bids flow on, by the set before');
      const [screen, pt, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /folder REFUSED, the set above decides on: .*limits\.json.*mend the file/);
      assert.match(
        flat(pt.stdout),
        /pasta RECUSADA, o conjunto acima continua decidindo: .*limits\.json.*corrija o arquivo/,
      );
      for (const { stdout } of [screen, pt])
        for (const line of stdout.split('\n')) assert.ok(line.length <= 80, `${line.length}: ${line}`);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout).filter(
        ({ check }) => check === 'rules',
      );
      assert.deepEqual([...new Set(found.map(({ finding }) => finding))].sort(), ['rules-kept', 'rules-refused']);
      await played.sandbox.run(10);
      const codes = await codesOf(night);
      for (const wrong of ['rule-set-missing', 'paused', 'overload']) assert.equal(codes[wrong], undefined);
      writeFileSync(path, good);
      const mended = () => daemon.lines.some(({ msg }) => msg === 'rules-mended');
      for (let looks = 0; looks < 150 && !mended(); looks += 1) await sleep(100);
      assert.ok(mended(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).rulesFolder.refusal, null);
    });
  });

  test('the third night, half a copy: no cap is left, nobody said so, and every place tells it until somebody does', async () => {
    await withNight(74, {}, async (night) => {
      const { environment, daemon, root } = night;
      const folder = environment.LANCE_RULES_DIR!;
      const live = (await apiStatus(night)).ruleSet;
      for (const name of readdirSync(folder))
        if (name !== 'codes.json' && !name.startsWith('limits')) rmSync(join(folder, name), { recursive: true });
      const lineOf = (msg: string) => daemon.lines.find((line) => line.msg === msg);
      for (let looks = 0; looks < 150 && lineOf('rules-refused') === undefined; looks += 1) await sleep(100);
      assert.match(
        String(lineOf('rules-refused')?.text),
        /would take away every cap \(\d+: [^)]*worker-day\) and \d+ of \d+ rules .*caps\.json/,
      );
      assert.match(await (await fetch(`${root}/metrics`)).text(), /^lance_rule_set_refused 1$/m);
      const { ruleSet, rulesFolder } = await apiStatus(night);
      assert.equal(ruleSet, live);
      const hash = rulesFolder.notFollowed!.slice(0, 12);
      const [screen, pt, doctor, doctorPt] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'status'),
        lance({ ...environment, LANCE_LANG: 'en' }, 'doctor'),
        lance(environment, 'doctor'),
      ]);
      const command = `lance rules activate ${hash} --by`;
      assert.match(flat(screen.stdout), new RegExp(`folder REFUSED, .*would take away every cap .*${command} NAME`));
      assert.match(flat(pt.stdout), new RegExp(`pasta RECUSADA, .*tiraria todos os tetos .*${command} NOME`));
      assert.match(flat(doctor.stdout), new RegExp(`fail rules set .*would take away every cap .*${command} NAME`));
      assert.match(
        flat(doctorPt.stdout),
        new RegExp(`falha regras o conjunto .*tiraria todos os tetos .*${command} NOME`),
      );
      const order = ['--by', 'ana', '--reason', 'sem tetos hoje'];
      assert.equal((await lance(environment, 'rules', 'activate', hash, ...order)).code, 0);
      const meantHash = rulesFolder.notFollowed;
      let meant = await apiStatus(night);
      for (let looks = 0; looks < 100 && meant.ruleSet !== meantHash; looks += 1) {
        await sleep(100);
        meant = await apiStatus(night);
      }
      assert.deepEqual(meant.rulesFolder, { refusal: null, heldBack: null, notFollowed: null });
      assert.ok(lineOf('rules-mended') !== undefined);
      assert.equal(meant.ruleSet, meantHash);
    });
  });
});
