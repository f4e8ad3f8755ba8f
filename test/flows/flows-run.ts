/** One run of flows: the real daemon under faults and kills, people who drive it, and the service's books at the end. */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpf as cpfRules } from 'cpf-cnpj-validator';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type DeskProcess, startDesk, steadyPort } from '../crash/desk-process.ts';
import type { SharedPlace } from '../crash/scenario.ts';
import { runningClock } from '../sandbox/clocks.ts';
import { type ApiClient, createClient, type Flow } from './client.ts';
import { type Told, type Won, walkContract, walkWithdrawal } from './person.ts';
import { flowsEnvironment, flowsSandbox, noRivals, webhookToken } from './world.ts';

export type FlowsRun = {
  contracts: number;
  withdrawals: number;
  endorsed: number;
  finalised: number;
  /** What did not end as it has to, in words. */
  wrong: readonly string[];
  executedTwice: number;
  operations: Readonly<Record<string, number>>;
  faults: Readonly<Record<string, number>>;
  kills: number;
  resolvedByPerson: number;
  amended: number;
  /** Fields of credit notes that our own arithmetic does not confirm, and by how much at most. */
  differing: Readonly<Record<string, string>>;
  unclaimedEvents: number;
  durationMs: number;
};

const concurrency = 24;
const requestsAtOnce = 200;

export async function runFlows(options: {
  count: number;
  /** At moments that are as good as any, after a while each. */
  kills: number;
  /** Steps at which the process kills itself, one after the other: `flow-intended:2` is the second time there. */
  crashAt?: readonly string[];
  seed: string;
  faults: boolean;
  place: SharedPlace | null;
  /** With views in files: how many run from the beginning, and are asked in turn. Kills are of the first one. */
  processes?: number;
  onStage: (text: string) => void;
}): Promise<FlowsRun> {
  const startedAt = performance.now();
  const directory = mkdtempSync(join(tmpdir(), 'lance-flows-'));
  const settings = flowsSandbox(options.faults);
  const sandbox = createSandbox({ settings, seed: options.seed, clock: runningClock, rivals: noRivals });
  const port = await steadyPort(Math.random);
  let desk: DeskProcess | null = null;
  const others: { port: number; process: DeskProcess }[] = [];
  try {
    const { url } = await sandbox.listen(0);
    sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
    const { accessToken } = settings.tokens;
    const environment = flowsEnvironment({ directory, port, serviceUrl: url, accessToken, place: options.place });
    const logFile = join(directory, 'desk.log');
    const output = openSync(logFile, 'a');
    const start = async (crashAt?: string) => {
      const crash = crashAt === undefined ? {} : { LANCE_CRASH_AT: crashAt };
      desk = startDesk({ environment: { ...environment, ...crash }, port, output });
      // One that is to die at a step may come there before it is ready.
      if ((await desk.ready) === null && crashAt === undefined)
        throw new Error(`the desk ended: ${readFileSync(logFile, 'utf8').slice(-3_000)}`);
      return desk;
    };
    const crashes = [...(options.crashAt ?? [])];
    await start(crashes.shift());
    for (let each = 1; each < (options.processes ?? 1); each += 1) {
      const otherPort = await steadyPort(Math.random);
      const own = { directory, name: `data-${each}`, port: otherPort, place: options.place };
      const other = startDesk({
        environment: flowsEnvironment({ ...own, serviceUrl: url, accessToken }),
        ...{ port: otherPort, output: openSync(join(directory, `desk-${each}.log`), 'a') },
      });
      others.push({ port: otherPort, process: other });
      if ((await other.ready) === null)
        throw new Error(`a desk ended: ${readFileSync(join(directory, `desk-${each}.log`), 'utf8').slice(-3_000)}`);
    }
    const ports = [port, ...others.map((other) => other.port)];
    let calls = 0;
    const client = createClient(
      () => {
        calls += 1;
        return `http://127.0.0.1:${ports[calls % ports.length]}`;
      },
      () => undefined,
    );
    options.onStage('auctions');
    const won = await winBids(sandbox, options.count, options.onStage);
    options.onStage(`${won.length} bids won; contracts and withdrawals begin`);
    const killer =
      options.crashAt === undefined
        ? createKiller(options.kills, () => desk!, start, options.onStage)
        : createReviver(crashes, options.crashAt.length, () => desk!, start, options.onStage);
    const told = await driveAll(client, sandbox, won, options);
    const kills = await killer.end();
    const events = (await client.get('/events?limit=200')).body as { flows: Flow[] };
    return {
      ...judge(sandbox, told, events.flows.length),
      kills,
      durationMs: Math.round(performance.now() - startedAt),
    };
  } finally {
    const last = desk as DeskProcess | null;
    for (const each of [last, ...others.map((other) => other.process)]) {
      each?.signal('SIGTERM');
      await each?.exited;
    }
    await sandbox.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Auctions without rivals until enough of our bids have been proposed to their workers. */
async function winBids(sandbox: Sandbox, count: number, onStage: (text: string) => void): Promise<Won[]> {
  const wins = () => sandbox.record.of('won').filter(({ errors }) => errors.length === 0);
  for (let rounds = 0; wins().length < count; rounds += 1) {
    if (rounds > 60) throw new Error(`only ${wins().length} bids were won`);
    await sandbox.run(Math.min(requestsAtOnce, Math.max(25, 2 * (count - wins().length))));
    onStage(`${wins().length} bids won`);
  }
  return wins()
    .slice(0, count)
    .map(({ requestId, amountCents, installments, rateHundredths }) => ({
      ...{ requestId, amountCents, installments, rateHundredths },
    }));
}

type AllTold = { contracts: { won: Won; told: Told | Error }[]; withdrawals: { cpf: string; told: Told | Error }[] };

async function driveAll(
  client: ApiClient,
  sandbox: Sandbox,
  won: readonly Won[],
  { count, onStage }: { count: number; onStage: (text: string) => void },
): Promise<AllTold> {
  const all: AllTold = { contracts: [], withdrawals: [] };
  const attempt = (work: Promise<Told>) =>
    work.catch((fault: unknown) => (fault instanceof Error ? fault : new Error(String(fault))));
  const cpfs = [...new Set(Array.from({ length: count * 2 }, (_, index) => cpfOf(index)))].slice(0, count);
  const jobs = [
    ...won.map((each) => async () => {
      all.contracts.push({ won: each, told: await attempt(walkContract(client, sandbox, each)) });
    }),
    ...cpfs.map((cpf) => async () => {
      all.withdrawals.push({ cpf, told: await attempt(walkWithdrawal(client, sandbox, cpf)) });
    }),
  ];
  // Both kinds at once, from the beginning.
  const order = jobs.map((job, index) => ({ job, at: (index * 7_919) % jobs.length })).sort((a, b) => a.at - b.at);
  let done = 0;
  const work = async () => {
    for (let next = order.shift(); next !== undefined; next = order.shift()) {
      await next.job();
      done += 1;
      if (done % 100 === 0) onStage(`${done} of ${jobs.length} flows have ended`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return all;
}

/** Valid, made up, and none that the auctions use: those begin with other digits. */
function cpfOf(index: number): string {
  const base = String(700_000_000 + index * 37).padStart(9, '0');
  const digit = (text: string) => {
    const sum = [...text].reduce((total, each, place) => total + Number(each) * (text.length + 1 - place), 0);
    return String(((sum * 10) % 11) % 10);
  };
  const first = digit(base);
  const cpf = `${base}${first}${digit(base + first)}`;
  if (!cpfRules.isValid(cpf, true)) throw new Error('an invalid CPF was made');
  return cpf;
}

/** Starts the process again each time it has killed itself. */
function createReviver(
  crashes: string[],
  expected: number,
  deskNow: () => DeskProcess,
  start: (crashAt?: string) => Promise<DeskProcess>,
  onStage: (text: string) => void,
) {
  let done = 0;
  const running = (async () => {
    while (done < expected) {
      await deskNow().exited;
      done += 1;
      onStage(`died at a step, ${done} of ${expected}`);
      await start(crashes.shift());
    }
  })();
  return {
    end: async () => {
      await running;
      return done;
    },
  };
}

function createKiller(
  kills: number,
  deskNow: () => DeskProcess,
  start: () => Promise<DeskProcess>,
  onStage: (text: string) => void,
) {
  let ended = false;
  let done = 0;
  const running = (async () => {
    for (let each = 0; each < kills && !ended; each += 1) {
      await sleep(1_500 + ((each * 977) % 2_500));
      if (ended) return;
      const desk = deskNow();
      desk.signal('SIGKILL');
      await desk.exited;
      done += 1;
      onStage(`killed ${done}`);
      await start();
    }
  })();
  return {
    end: async () => {
      ended = true;
      await running;
      return done;
    },
  };
}

function judge(sandbox: Sandbox, all: AllTold, unclaimedEvents: number): Omit<FlowsRun, 'kills' | 'durationMs'> {
  const wrong: string[] = [];
  const summary = sandbox.summary();
  const loans = sandbox.contracts.loans();
  let endorsed = 0;
  let finalised = 0;
  for (const { won, told } of all.contracts) {
    if (told instanceof Error) {
      wrong.push(told.message);
      continue;
    }
    const own = loans.filter((loan) => loan.requestId === won.requestId);
    const good = own.filter((loan) => loan.endorsedAt !== null);
    if (told.flow.phase !== 'endorsed') wrong.push(`${told.flow.flowId} ended ${told.flow.phase}`);
    else if (good.length !== 1 || good[0]!.noteNumber !== told.flow.note?.noteNumber) {
      wrong.push(`${told.flow.flowId}: the service has endorsed ${good.length} contracts`);
    } else endorsed += 1;
  }
  for (const { cpf, told } of all.withdrawals) {
    if (told instanceof Error) {
      wrong.push(told.message);
      continue;
    }
    const own = sandbox.withdrawals.proposals().filter((proposal) => proposal.cpf === cpf);
    const [proposal] = own;
    const right =
      own.length === 1 &&
      proposal!.code === told.flow.proposalCode &&
      ['finalized', 'pending-payment', 'released'].includes(proposal!.state) &&
      proposal!.signers.length === 1 &&
      proposal!.splits.length === 1;
    if (told.flow.phase !== 'finalised' || !right)
      wrong.push(`${told.flow.flowId}: ${told.flow.phase}, ${own.length} proposals`);
    else finalised += 1;
  }
  const told = [...all.contracts, ...all.withdrawals].flatMap((each) =>
    each.told instanceof Error ? [] : [each.told],
  );
  return {
    contracts: all.contracts.length,
    withdrawals: all.withdrawals.length,
    endorsed,
    finalised,
    wrong,
    executedTwice: summary.executedTwice,
    operations: summary.operations,
    faults: { ...summary.faults, tokenExpired: refusedTokens(sandbox) },
    resolvedByPerson: told.reduce((sum, { resolved }) => sum + resolved, 0),
    amended: told.reduce((sum, { amended }) => sum + amended, 0),
    differing: differencesOf(told),
    unclaimedEvents,
  };
}

/** Calls with a token that had run out. */
function refusedTokens(sandbox: Sandbox): number {
  return sandbox.record.of('call').filter(({ authorised }) => !authorised).length;
}

/** By field: in how many notes, and the widest. */
function differencesOf(told: readonly Told[]): Record<string, string> {
  const found = new Map<string, { notes: number; widest: number }>();
  for (const { field, ours, theirs } of told.flatMap(({ flow }) => flow.differences)) {
    const before = found.get(field) ?? { notes: 0, widest: 0 };
    found.set(field, { notes: before.notes + 1, widest: Math.max(before.widest, Math.abs(ours - theirs)) });
  }
  return Object.fromEntries(
    [...found].map(([field, { notes, widest }]) => [field, `${notes} notes, at most ${widest}`]),
  );
}
