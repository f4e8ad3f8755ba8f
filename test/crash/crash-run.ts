/** One crash run: an even stream of requests, one desk after another on the same data, each killed, and the last one not. */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxSummary } from '../../src/sandbox/summary.ts';
import { type DeskProcess, startDesk, steadyPort } from './desk-process.ts';
import { createFinder, type Found } from './found-state.ts';
import { besideEmbedded, cappedCentsPerRequestASecond, createOperator, giveOrders } from './operator.ts';
import { type PlannedKill, planKill } from './plan.ts';
import { crashSandbox, prepareDesk, sectorCapReaisPerKill, withSectorCap } from './scenario.ts';
import { startStream, tailOf, unsettled, withinTime } from './stream.ts';
import { configOf, judgeRun, type Verdict } from './verdict.ts';

export type Kill = {
  planned: PlannedKill;
  /** The planned step had not come after a while, and the desk was killed where it was. */
  missedStep: boolean;
  aliveMs: number;
  /** From the start of this desk to its first 200 of /readyz; null when it died before. */
  readyMs: number | null;
  found: Found;
};

export type CrashRun = {
  kills: readonly Kill[];
  /** Of the desk that was not killed. */
  lastReadyMs: number | null;
  streamMs: number;
  sandbox: SandboxSummary;
  verdict: Verdict;
};

/** How long a run lasts for each kill, so that regimes change at thirds of it: only a guess. */
const secondsPerKill = 3;
/** Longer than an order may go unheard. */
const pausedOnMs = 3_500;
const warmUpMs = 1_000;
/** A desk that was slow to start lives longer, so that on a busy machine desks are up for the same share of the time. */
const usualStartMs = 750;
const coolDownMs = 1_500;
const stepPatienceMs = 5_000;
const startPatienceMs = 20_000;
const settlePatienceMs = 20_000;
const endPatienceMs = 15_000;

/** Throws when a desk ends unasked or never becomes ready; the message then has the end of what it wrote. */
export async function runCrashes(options: {
  kills: number;
  seed: string;
  /** Length of an auction; they overlap. */
  windowMs: number;
  requestsPerSecond: number;
  /** Whether the operator gives orders before this kill. */
  ordersBefore?: (index: number) => boolean;
  /** Of the cap that the run sets by hand; left out: one that is reached within two seconds. */
  capByHandCents?: number;
  /** The program of the desks, where it is not this repository's. */
  main?: string;
  /** The checkout of an earlier version, whose desks come first, and how many of them are killed. They get no orders, and their rules stay. */
  beginWith?: { directory: string; kills: number };
  /** False: what the desks leave is removed, violations or not. */
  keepWhatIsLeft?: boolean;
  onKill: (kill: Kill) => void;
  /** Hears what comes after the last kill. */
  onStage: (text: string) => void;
}): Promise<CrashRun> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-crash-'));
  const outputPath = join(directory, 'desk.log');
  const output = openSync(outputPath, 'a');
  const { kills: wanted, windowMs, requestsPerSecond } = options;
  const { beginWith: earlier } = options;
  const { capByHandCents = requestsPerSecond * cappedCentsPerRequestASecond } = options;
  const settings = crashSandbox(windowMs, requestsPerSecond);
  const sandbox = createSandbox({ settings, seed: options.seed, clock: createSystemClock() });
  let desk: DeskProcess | null = null;
  let proved = false;
  try {
    const port = await steadyPort(Math.random);
    const webhookToken = 'webhook-token-of-the-crash-run';
    const { url: serviceUrl } = await sandbox.listen(0);
    const { accessToken } = settings.tokens;
    const parts = { directory, port, serviceUrl, accessToken, webhookToken };
    const environment = prepareDesk({
      ...{ ...parts, windowMs, kills: wanted },
      ...(earlier === undefined ? {} : { rules: join(earlier.directory, 'rules') }),
    });
    sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
    const finder = createFinder(environment.LANCE_DATA_DIR, configOf(environment).bidding);
    const files = readRuleFiles(environment.LANCE_RULES_DIR);
    const operator = createOperator(besideEmbedded(environment.LANCE_DATA_DIR), files);
    const ordersBefore = options.ordersBefore ?? ((index: number) => index % 10 === 4);
    const own = options.main === undefined ? {} : { main: options.main };
    const begun = earlier?.kills ?? 0;
    const stream = startStream(sandbox, requestsPerSecond, wanted * secondsPerKill);
    let stillPaused = false;
    const kills: Kill[] = [];
    const chance = chanceOf(options.seed, 'kills');
    for (let index = 0; index < wanted; index += 1) {
      const planned = planKill(index, chance);
      const crashAt = planned.kind === 'step' ? { LANCE_CRASH_AT: `${planned.step}:${planned.times}` } : null;
      const main = index < begun ? { main: join(earlier!.directory, 'src/main.ts') } : own;
      desk = startDesk({ environment: { ...environment, ...crashAt }, port, output, ...main });
      const startedAt = performance.now();
      if (index === 0) await sleep(warmUpMs);
      if (stillPaused) {
        // What the desk before was told, this one obeys from its first moment on.
        await Promise.race([desk.ready, desk.exited]);
        await sleep(pausedOnMs);
        await operator.resume();
        stillPaused = false;
      }
      if (index >= begun && ordersBefore(index)) {
        await withinTime(desk.ready, startPatienceMs, 'a desk to be given orders did not become ready');
        const capReais = sectorCapReaisPerKill * wanted * (operator.orders.ruleSets.length % 2 === 1 ? 0.6 : 1);
        await giveOrders(operator, withSectorCap(files, capReais), capByHandCents);
        stillPaused = operator.orders.ruleSets.length % 2 === 1;
        if (stillPaused) await operator.pause();
      }
      const missedStep = await killAsPlanned(desk, planned);
      const aliveMs = Math.round(performance.now() - startedAt);
      // In the same turn as the death, so that the next desk starts on what is read here.
      const kill = { planned, missedStep, aliveMs, readyMs: await desk.ready, found: finder.look() };
      kills.push(kill);
      options.onKill(kill);
    }
    desk = startDesk({ environment, port, output, ...own });
    if (stillPaused) await operator.resume();
    const lastReadyMs = await withinTime(desk.ready, startPatienceMs, 'the last desk did not become ready');
    await sleep(coolDownMs);
    options.onStage('the stream of requests ends; waiting until all is told and settled');
    const streamMs = await stream.end();
    await settle(finder);
    options.onStage('judging the run');
    desk.signal('SIGTERM');
    const exit = await withinTime(desk.exited, endPatienceMs, 'the last desk did not end on SIGTERM');
    if (exit.code !== 0) throw new Error(`the last desk ended with ${exit.code ?? exit.signal}`);
    const verdict = await judgeRun(sandbox, environment, operator.orders);
    proved = verdict.violations.length === 0;
    return { kills, lastReadyMs, streamMs, sandbox: sandbox.summary(), verdict };
  } catch (fault) {
    throw new Error(`the crash run broke off; the desk wrote last:\n${tailOf(outputPath)}`, { cause: fault });
  } finally {
    desk?.signal('SIGKILL');
    await sandbox.stop();
    closeSync(output);
    if (proved || options.keepWhatIsLeft === false) rmSync(directory, { recursive: true, force: true });
    else options.onStage(`what the desk left is kept in ${directory}`);
  }
}

/** Resolves when the desk is dead: true when the step it should have died at never came. */
async function killAsPlanned(desk: DeskProcess, planned: PlannedKill): Promise<boolean> {
  const ended = new AbortController();
  void desk.exited.then(() => ended.abort());
  const wait = (delayMs: number) => sleep(delayMs, undefined, { signal: ended.signal }).catch(() => undefined);
  let missedStep = false;
  if (planned.kind === 'step') {
    await Promise.race([desk.ready, wait(startPatienceMs)]);
    await wait(stepPatienceMs);
    missedStep = !ended.signal.aborted;
  } else {
    const readyMs = planned.after === 'ready' ? await Promise.race([desk.ready, wait(startPatienceMs)]) : null;
    await wait(planned.delayMs * Math.max(1, (readyMs ?? 0) / usualStartMs));
    if (ended.signal.aborted) {
      const { code, signal } = await desk.exited;
      throw new Error(`the desk ended unasked with ${code ?? signal}`);
    }
  }
  desk.signal('SIGKILL');
  const { code, signal } = await desk.exited;
  if (signal !== 'SIGKILL') throw new Error(`the desk ended unasked with ${code ?? signal}`);
  return missedStep;
}

/** Until nothing is open that would still end by itself, or for so long; the auditor judges what it is then. */
async function settle(finder: { look: () => Found }): Promise<void> {
  const until = performance.now() + settlePatienceMs;
  while (performance.now() < until) {
    const { phases, unfolded } = finder.look();
    if (unfolded === 0 && unsettled.every((phase) => (phases[phase] ?? 0) === 0)) return;
    await sleep(250);
  }
}
