/** The real daemon as a child process: started, watched until it is ready, killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type DeskProcess = {
  pid: number;
  /** Milliseconds from the start of the process to the first 200 of /readyz; null when it ended before. */
  ready: Promise<number | null>;
  exited: Promise<Exit>;
  signal: (name: NodeJS.Signals) => void;
};

const readyPollMs = 15;

/** `output`: open file that takes what the process writes. `command`: what runs it, node unless said otherwise. */
export function startDesk(options: {
  environment: Readonly<Record<string, string>>;
  port: number;
  output: number;
  command?: readonly string[];
  /** The program, where it is not this repository's. */
  main?: string;
}): DeskProcess {
  const startedAt = performance.now();
  const [program = process.execPath, ...before] = options.command ?? [process.execPath];
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('LANCE_'));
  const child = spawn(program, [...before, options.main ?? mainFile, 'run'], {
    env: { ...Object.fromEntries(others), ...options.environment },
    stdio: ['ignore', options.output, options.output],
  });
  let over = false;
  const exited = once(child, 'exit').then(([code, signal]): Exit => {
    over = true;
    return { code, signal };
  });
  const ready = async (): Promise<number | null> => {
    while (!over) {
      if (await isReady(options.port)) return Math.round(performance.now() - startedAt);
      await sleep(readyPollMs);
    }
    return null;
  };
  return { pid: pidOf(child), ready: ready(), exited, signal: (name) => void child.kill(name) };
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the desk could not be started');
  return child.pid;
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/readyz', agent: false, timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

const lowestPort = 10_240;
const portRange = 20_000;

/**
 * A free port below those that the system gives to outgoing connections: while the desk is down, one of the webhook
 * sender's connections could get the desk's port otherwise, and even be connected to itself.
 */
export async function steadyPort(chance: () => number): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = lowestPort + Math.floor(chance() * portRange);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
  throw new Error('no free port was found in a hundred attempts');
}

/** So many different ones. */
export async function portsFor(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await steadyPort(Math.random));
  return [...ports];
}
