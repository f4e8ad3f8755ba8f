/**
 * One crash run on Kafka and Redis: an even stream of requests, two desks behind one address, one of them killed again and
 * again and started anew, and in between something done to the broker, to Redis or to the registry. Desks of an earlier version may
 * come first: they are killed all together then, and desks of this version go on with what they left on the servers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import type { Chance } from '../../src/domain/clock.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxSummary } from '../../src/sandbox/summary.ts';
import type { RunningStack } from '../stack/stack.ts';
import { createBalancer } from './balancer.ts';
import { portsFor } from './desk-process.ts';
import { type Berth, createFleet, type Fleet } from './fleet.ts';
import { type LogWatch, watchLog } from './log-watch.ts';
import { cappedCentsPerRequestASecond, createOperator, giveOrders, type Operator, type RuleFiles } from './operator.ts';
import { type PlannedKill, planKill, planServerFault, type ServerFault } from './plan.ts';
import { crashSandbox, prepareDesk, sectorCapReaisPerKill, withSectorCap } from './scenario.ts';
import { openSharedReader, type SharedReader } from './store-reader.ts';
import { startStream, unsettled, withinTime } from './stream.ts';
import { configOf, judgeRun, type Verdict } from './verdict.ts';

export type SharedFault = {
  what: { kind: 'kill'; planned: PlannedKill; missedStep: boolean } | { kind: 'server'; fault: ServerFault };
  /** Claims without an answer in the log when it happened: of both desks, and, for a kill, of the one that was killed. */
  inFlight: number;
  ownInFlight: number | null;
  /** How long the server did not answer. */
  outageMs: number;
  /** From the death, or from the server's return, until every partition had a claim for a request received after the fault. */
  recoveryMs: number;
};

export type SharedRun = {
  faults: readonly SharedFault[];
  streamMs: number;
  sandbox: SandboxSummary;
  verdict: Verdict;
};

/** How long a run lasts for each kill, so that regimes change at thirds of it: only a guess. */
const secondsPerKill = 18;
/** Answers slower than in the embedded run, so that many bids are on their way at once at a load that the machine can carry. */
const answers = { delayMinMs: 200, delayMaxMs: 700 };
/** Of the embedded run's load on its one desk. */
const paceOfDesk = 0.14;
const startPatienceMs = 60_000;
const stepPatienceMs = 15_000;
const readPatienceMs = 20_000;
const recoveryPatienceMs = 120_000;
const settlePatienceMs = 180_000;
const endPatienceMs = 30_000;
/** A server fault waits so long at most for so many bids to be on their way. */
const inFlightPatienceMs = 5_000;
const inFlightWanted = 5;
/** So much older is the dump that Redis is rolled back to. */
const dumpAgeMs = 3_000;

export type SharedOptions = {
  stack: RunningStack;
  kills: number;
  seed: string;
  /** Length of an auction; they overlap. A desk counts a third of it from a receipt, so that one that was delayed is not late. */
  windowMs: number;
  requestsPerSecond: number;
  /** As of `runCrashes`. */
  beginWith?: { directory: string; kills: number };
  onFault: (fault: SharedFault) => void;
  onStage: (text: string) => void;
};

type Scene = {
  fleet: Fleet;
  watch: LogWatch;
  stack: RunningStack;
  operator: Operator;
  nextRules: () => RuleFiles;
  chance: Chance;
  /** From now on desks that start are of this version. */
  change: () => void;
};

/** Throws when a desk ends unasked or does not come back to bidding; the message then has the end of what the desks wrote. */
export async function runSharedCrashes(options: SharedOptions): Promise<SharedRun> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-crash-'));
  const { stack, windowMs, requestsPerSecond, kills, beginWith: earlier } = options;
  const settings = crashSandbox(windowMs, requestsPerSecond, answers);
  const sandbox = createSandbox({ settings, seed: options.seed, clock: createSystemClock() });
  const [port, ...ports] = await portsFor(3);
  const webhookToken = 'webhook-token-of-the-crash-run';
  const { url: serviceUrl } = await sandbox.listen(0);
  const { accessToken } = settings.tokens;
  const { brokers, registryUrl, redisUrl } = stack;
  const place = { brokers, registryUrl, redisUrl, prefix: 'crash-' };
  const parts = { directory, port: port!, serviceUrl, accessToken, webhookToken, place };
  const environment = prepareDesk({
    ...{ ...parts, windowMs: windowMs / 3, kills: kills * 4 },
    ...(earlier === undefined ? {} : { rules: join(earlier.directory, 'rules') }),
  });
  const config = configOf(environment);
  let main = earlier === undefined ? null : join(earlier.directory, 'src/main.ts');
  const fleet = createFleet({ directory, environment, ports: [ports[0]!, ports[1]!], main: () => main });
  const balancer = await createBalancer(port!, ports);
  sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
  let reader: SharedReader | null = null;
  let proved = false;
  try {
    for (const berth of fleet.berths) berth.start(null);
    await Promise.race([allReady(fleet), fleet.unasked]);
    reader = await openSharedReader(config);
    const watch = await watchLog(reader, config.bidding);
    const stream = startStream(sandbox, requestsPerSecond, kills * secondsPerKill);
    const controls = reader;
    const files = readRuleFiles(environment.LANCE_RULES_DIR);
    const operator = createOperator(async (give) => void (await give(controls)), files);
    const nextRules = () => {
      const isFirst = operator.orders.ruleSets.length % 2 === 1;
      return withSectorCap(files, sectorCapReaisPerKill * kills * 4 * (isFirst ? 0.6 : 1));
    };
    const chance = chanceOf(options.seed, 'kills');
    const change = () => {
      main = null;
    };
    const scene = { fleet, watch, stack, operator, nextRules, chance, change };
    const faults = await Promise.race([playFaults(scene, options), fleet.unasked]);
    options.onStage('the stream of requests ends; waiting until all is told and settled');
    const streamMs = await Promise.race([stream.end(), fleet.unasked]);
    await Promise.race([settle(watch), fleet.unasked]);
    await watch.stop();
    options.onStage('judging the run');
    for (const berth of fleet.berths) await endInPeace(berth);
    const directories = fleet.berths.map(({ dataDir }) => dataDir);
    const verdict = await judgeRun(sandbox, environment, operator.orders, directories);
    proved = verdict.violations.length === 0;
    return { faults, streamMs, sandbox: sandbox.summary(), verdict };
  } catch (fault) {
    throw new Error(`the crash run broke off; the desks wrote last:\n${fleet.lastWords()}`, { cause: fault });
  } finally {
    await fleet.close();
    await balancer.close();
    await sandbox.stop();
    await reader?.close();
    if (proved) rmSync(directory, { recursive: true, force: true });
    else options.onStage(`what the desks left is kept in ${directory}`);
  }
}

async function allReady({ berths }: Fleet): Promise<void> {
  const ready = Promise.all(berths.map((berth) => berth.desk().ready));
  await withinTime(ready, startPatienceMs, 'the desks did not become ready');
}

/** A fault that happened, and the milliseconds until it is bid again. */
type Pending = { fault: Omit<SharedFault, 'recoveryMs'>; again: Promise<number> };

async function playFaults(scene: Scene, options: SharedOptions): Promise<SharedFault[]> {
  const { fleet, watch, chance } = scene;
  const { kills, requestsPerSecond, onFault } = options;
  const begun = options.beginWith?.kills ?? 0;
  const plans = Array.from({ length: kills }, (_, index) => planKill(index, chance, paceOfDesk));
  const faults: Promise<SharedFault>[] = [];
  const told = ({ fault, again }: Pending) => {
    const whole = again.then((recoveryMs) => ({ ...fault, recoveryMs }));
    void whole.then(onFault, () => undefined);
    faults.push(whole);
    return again;
  };
  await recovered(watch, Date.now());
  let latest = fleet.berths[0];
  let armed = false;
  for (const [index, planned] of plans.entries()) {
    if (begun > 0 && index === begun) await changeVersion(scene, options.onStage);
    const random = fleet.berths[chance() < 0.5 ? 0 : 1];
    const berth = planned.kind === 'moment' && planned.after === 'ready' ? random : latest;
    if (index >= begun && index % 10 === 4 && !armed) {
      await allReady(fleet);
      await giveOrders(scene.operator, scene.nextRules(), requestsPerSecond * cappedCentsPerRequestASecond);
    }
    if (planned.kind === 'step' && !armed) await arm(berth, planned);
    const serverFault = planServerFault(index + 1, kills);
    const next = plans[index + 1];
    const isLastBefore = index + 1 === begun;
    const crashAt = serverFault === null && !isLastBefore && next?.kind === 'step' ? placeOfStep(next) : null;
    const again = told(await kill(scene, berth, planned, crashAt));
    // One that is to die at a step may do so before it is bid again.
    await (crashAt === null ? again : Promise.race([again, berth.desk().exited]));
    latest = berth;
    armed = crashAt !== null;
    if (serverFault !== null) {
      await allReady(fleet);
      await told(await playServerFault(scene, serverFault));
      if (serverFault === 'registry-stop') await scene.stack.registry.start();
    }
  }
  await allReady(fleet);
  return Promise.all(faults);
}

/** All desks of the earlier version are killed before the first one of this version starts: the two never run side by side. */
async function changeVersion({ fleet, watch, change }: Scene, tell: (text: string) => void): Promise<void> {
  await allReady(fleet);
  const inFlight = await someInFlight(watch);
  for (const berth of fleet.berths) {
    berth.expectEnd();
    berth.desk().signal('SIGKILL');
  }
  for (const berth of fleet.berths) await berth.desk().exited;
  const at = Date.now();
  const again = recovered(watch, at);
  change();
  for (const berth of fleet.berths) berth.start(null);
  await allReady(fleet);
  await again;
  tell(
    `the desks of the earlier version were killed with ${inFlight} bids in flight; this one bid ${Date.now() - at} ms later`,
  );
}

/** How many bids are on their way, as soon as they are enough, or after a while. */
async function someInFlight(watch: LogWatch): Promise<number> {
  const until = performance.now() + inFlightPatienceMs;
  while (watch.inFlight() < inFlightWanted && performance.now() < until) await sleep(5);
  return watch.inFlight();
}

function placeOfStep({ step, times }: Extract<PlannedKill, { kind: 'step' }>): string {
  return `${step}:${times}`;
}

/** A desk in the place of the one that is there, which goes in peace and hands over; this one is to die at its step. */
async function arm(berth: Berth, planned: Extract<PlannedKill, { kind: 'step' }>): Promise<void> {
  await endInPeace(berth);
  berth.start(placeOfStep(planned));
}

async function endInPeace(berth: Berth): Promise<void> {
  berth.expectEnd();
  berth.desk().signal('SIGTERM');
  const { code, signal } = await withinTime(
    berth.desk().exited,
    endPatienceMs,
    `desk ${berth.name} did not end on SIGTERM`,
  );
  if (code !== 0) throw new Error(`desk ${berth.name} ended with ${code ?? signal} on SIGTERM`);
}

function recovered(watch: LogWatch, since: number): Promise<number> {
  return withinTime(watch.biddingAgain(since), recoveryPatienceMs, 'the desks did not come back to bidding');
}

/** Kills the desk as planned, and starts another in its place at once. */
async function kill({ watch }: Scene, berth: Berth, planned: PlannedKill, crashAt: string | null): Promise<Pending> {
  const missedStep = await killAsPlanned(berth, planned);
  const at = Date.now();
  const again = recovered(watch, at);
  const instance = berth.instance();
  await withinTime(watch.catchUp(), readPatienceMs, 'the log could not be read to its end');
  const inFlight = watch.inFlight();
  const ownInFlight = instance === null ? 0 : watch.inFlightOf(instance);
  berth.start(crashAt);
  const what = { kind: 'kill', planned, missedStep } as const;
  return { fault: { what, inFlight, ownInFlight, outageMs: 0 }, again: again.then((back) => back - at) };
}

/** Resolves when the desk is dead: true when the step it should have died at did not come. */
async function killAsPlanned(berth: Berth, planned: PlannedKill): Promise<boolean> {
  const desk = berth.desk();
  let missedStep = false;
  if (planned.kind === 'step') {
    const patience = new AbortController();
    await Promise.race([desk.ready, desk.exited]);
    const late = sleep(stepPatienceMs, true, { signal: patience.signal }).catch(() => false);
    missedStep = await Promise.race([desk.exited.then(() => false), late]);
    patience.abort();
  } else {
    if (planned.after === 'ready') await withinTime(desk.ready, startPatienceMs, 'a desk did not become ready');
    await sleep(planned.delayMs);
  }
  berth.expectEnd();
  desk.signal('SIGKILL');
  const { code, signal } = await desk.exited;
  if (signal !== 'SIGKILL') throw new Error(`desk ${berth.name} ended unasked with ${code ?? signal}`);
  return missedStep;
}

async function playServerFault({ watch, stack }: Scene, fault: ServerFault): Promise<Pending> {
  if (fault === 'redis-rollback') {
    await stack.redis.keep();
    await sleep(dumpAgeMs);
  }
  const inFlight = await someInFlight(watch);
  const at = Date.now();
  const again = recovered(watch, at);
  await doTo(stack, fault);
  const what = { kind: 'server', fault } as const;
  // Nobody waits for a registry that is gone.
  const over = fault === 'registry-stop' ? at : Date.now();
  const recovery = again.then((back) => Math.max(0, back - over));
  return { fault: { what, inFlight, ownInFlight: null, outageMs: over - at }, again: recovery };
}

async function doTo({ broker, redis, registry }: RunningStack, fault: ServerFault): Promise<void> {
  switch (fault) {
    case 'broker-restart':
      return broker.restart();
    case 'redis-flush':
      return redis.flush();
    case 'redis-restart':
      return redis.restart();
    case 'redis-rollback':
      return redis.rollBack();
    case 'registry-stop':
      return registry.kill();
    default:
      return fault satisfies never;
  }
}

/** Until nothing is open that would still end by itself, or for so long; the auditor judges it when the desks have ended. */
async function settle(watch: LogWatch): Promise<void> {
  const until = performance.now() + settlePatienceMs;
  while (performance.now() < until) {
    await watch.catchUp();
    const phases = watch.phases();
    if (unsettled.every((phase) => (phases[phase] ?? 0) === 0)) return;
    await sleep(500);
  }
}
