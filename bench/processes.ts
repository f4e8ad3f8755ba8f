/** A loop as a process of its own: started, found by the port that it prints, its CPU read from the system, ended. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export type LoopProcess = {
  port: number;
  /** Microseconds of CPU used so far, all threads; null where the system does not tell. */
  cpuUs: () => number | null;
  /** Memory that the process holds; null where the system does not tell. */
  rssBytes: () => number | null;
  /** SIGTERM; resolves when it is gone. */
  stop: () => Promise<void>;
};

type Child = ChildProcessByStdio<null, Readable, null>;

/** One tick of `utime` and `stime`, the same on every Linux of today. */
const tickUs = 10_000;

export function cpuUsOf(pid: number | null | undefined): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * tickUs;
  } catch {
    return null;
  }
}

function rssBytesOf(pid: number | undefined): number | null {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
    return Number(kilobytes) * 1_024;
  } catch {
    return null;
  }
}

export const sourceOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Resolves when it has said its port. `hear` takes every other line; as it is, they go to stderr. */
export async function startProcess(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  hear: (line: string) => void = tell,
): Promise<LoopProcess> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...environment },
  });
  const port = await portOf(child, hear);
  return { port, cpuUs: () => cpuUsOf(child.pid), rssBytes: () => rssBytesOf(child.pid), stop: () => stopOf(child) };
}

/** Resolves to the port in the first line that has one. */
async function portOf(child: Child, hear: (line: string) => void): Promise<number> {
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process ended with ${String(code)} before it listened`);
  });
  const port = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      const said = JSON.parse(line) as { port?: number };
      if (said.port !== undefined) resolve(said.port);
      else hear(line);
    });
  });
  return Promise.race([port, ended]);
}

async function stopOf(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
