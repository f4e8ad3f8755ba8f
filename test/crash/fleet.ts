/** Two desks on the same servers: each in its place with its port, killed and started again there. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DeskProcess, type Exit, startDesk } from './desk-process.ts';
import { tailOf } from './stream.ts';

export type Berth = {
  name: string;
  /** Of this place alone. */
  dataDir: string;
  /** Starts a desk here. `crashAt`: `step:n`, where it is to kill itself, or `step:n:SIGSTOP`. `preload`: a file that it loads first. */
  start: (crashAt: string | null, preload?: string) => DeskProcess;
  desk: () => DeskProcess;
  /** From now on the end of the desk that runs here is asked for. */
  expectEnd: () => void;
  /** What the desk of now calls itself in the log; null as long as it has not said so. */
  instance: () => string | null;
};

export type Fleet = {
  berths: readonly [Berth, Berth];
  /** Rejects when a desk ends unasked. */
  unasked: Promise<never>;
  /** The ends of what the desks wrote that ran last. */
  lastWords: () => string;
  /** Ends whatever still runs. */
  close: () => Promise<void>;
};

export function createFleet(options: {
  directory: string;
  environment: Readonly<Record<string, string>>;
  ports: readonly [number, number];
  /** The program of a desk that starts now; left out, or null: this repository's. */
  main?: () => string | null;
}): Fleet {
  const { directory, environment, ports } = options;
  const unasked = Promise.withResolvers<never>();
  // Nobody may be listening yet.
  unasked.promise.catch(() => undefined);
  const outputs = new Map<string, string>();
  const running = new Map<string, DeskProcess>();
  let starts = 0;
  let closed = false;

  function createBerth(name: string, port: number): Berth {
    const dataDir = join(directory, `data-${name}`);
    let expected = false;

    const start = (crashAt: string | null, preload?: string): DeskProcess => {
      starts += 1;
      const path = join(directory, `desk-${name}-${starts}.log`);
      const output = openSync(path, 'a');
      const crash = crashAt === null ? null : { LANCE_CRASH_AT: crashAt };
      const main = options.main?.() ?? null;
      const desk = startDesk({
        ...(main === null ? {} : { main }),
        ...(preload === undefined ? {} : { command: [process.execPath, '--import', preload] }),
        environment: { ...environment, LANCE_DATA_DIR: dataDir, LANCE_HTTP_PORT: String(port), ...crash },
        port,
        output,
      });
      closeSync(output);
      expected = crashAt !== null;
      outputs.set(name, path);
      running.set(name, desk);
      void desk.exited.then(({ code, signal }: Exit) => {
        if (running.get(name) === desk && !expected && !closed) {
          unasked.reject(new Error(`desk ${name} ended unasked with ${code ?? signal}`));
        }
      });
      return desk;
    };

    return {
      ...{ name, dataDir },
      start,
      desk: () => running.get(name)!,
      expectEnd: () => {
        expected = true;
      },
      instance: () => /"instance":"([^"]+)"/.exec(readFileSync(outputs.get(name)!, 'utf8'))?.[1] ?? null,
    };
  }

  return {
    berths: [createBerth('a', ports[0]), createBerth('b', ports[1])],
    unasked: unasked.promise,
    lastWords: () => [...outputs].map(([name, path]) => `desk ${name}:\n${tailOf(path)}`).join('\n'),
    close: async () => {
      closed = true;
      for (const desk of running.values()) desk.signal('SIGKILL');
      await Promise.all([...running.values()].map(({ exited }) => exited));
    },
  };
}
