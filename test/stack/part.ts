/** One server of the stack as a child process: started, watched until it answers, stopped or killed, started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type Part = {
  /** Null while it does not run. */
  pid: () => number | null;
  /** Resolves when it answers. Throws when it ends before, or does not answer in time; then it does not run. */
  start: () => Promise<void>;
  /** SIGTERM, and SIGKILL when that is not enough; resolves when it is gone. */
  stop: () => Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill: () => Promise<void>;
  /** `kill` and `start`: same port, same files. */
  restart: () => Promise<void>;
};

export type PartPlan = {
  name: string;
  program: string;
  args: readonly string[];
  /** Where `NAME.log` is written, and where it runs unless `workingDirectory` says otherwise. */
  directory: string;
  workingDirectory?: string;
  /** All of its environment; left out, it inherits ours. */
  environment?: Readonly<Record<string, string>>;
  /** Whether it answers now. `logged` is what it has written since this start. */
  answers: (logged: string) => boolean | Promise<boolean>;
};

const answerLimitMs = 90_000;
const stopLimitMs = 15_000;
const pollMs = 100;

/** `changed` is called whenever the part's process begins or ends. */
export function createPart(plan: PartPlan, changed: () => void): Part {
  let child: ChildProcess | null = null;
  let gone: Promise<unknown> = Promise.resolve();

  const signal = (name: NodeJS.Signals): void => void child?.kill(name);
  const kill = async (): Promise<void> => {
    signal('SIGKILL');
    await gone;
  };
  const start = async (): Promise<void> => {
    if (child !== null) throw new Error(`the ${plan.name} runs already`);
    const logFile = join(plan.directory, `${plan.name}.log`);
    const begun = spawnLogged(plan, logFile);
    child = begun;
    gone = ended(begun).then(() => {
      child = null;
      changed();
    });
    changed();
    const limit = performance.now() + answerLimitMs;
    while (child !== null && performance.now() < limit) {
      if (await plan.answers(await readFile(logFile, 'utf8'))) return;
      await sleep(pollMs);
    }
    const why = child === null ? 'ended before it answered' : `did not answer in ${answerLimitMs / 1_000} s`;
    await kill();
    throw new Error(`the ${plan.name} ${why}: ${lastWords(await readFile(logFile, 'utf8'))}`);
  };
  return {
    pid: () => child?.pid ?? null,
    start,
    stop: async () => {
      signal('SIGTERM');
      await Promise.race([gone, sleep(stopLimitMs, undefined, { ref: false })]);
      await kill();
    },
    kill,
    restart: async () => {
      await kill();
      await start();
    },
  };
}

/** In a process group of its own, so that an interrupt at the terminal reaches us alone and the stop is ours. */
function spawnLogged(plan: PartPlan, logFile: string): ChildProcess {
  const log = openSync(logFile, 'w');
  try {
    return spawn(plan.program, plan.args, {
      cwd: plan.workingDirectory ?? plan.directory,
      detached: true,
      stdio: ['ignore', log, log],
      ...(plan.environment === undefined ? {} : { env: plan.environment }),
    });
  } finally {
    closeSync(log);
  }
}

/** Resolves when the process is over, or could not be started at all. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) await once(child, 'error');
  else await once(child, 'exit');
}

function lastWords(logged: string): string {
  const lines = logged.trim().split('\n');
  const telling = lines.findLast((line) => /error|exception|fatal/i.test(line) && !/^\s+at /.test(line));
  return (telling ?? lines.at(-1) ?? '').slice(0, 300) || 'it wrote nothing';
}
