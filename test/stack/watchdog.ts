/** Ends what the stack started when the process that started it is killed and can no longer do so itself. */
import { type ChildProcess, spawn } from 'node:child_process';

/** Reads lines of process ids until the pipe from its parent breaks; then ends the last ones named and cleans up. */
const script = 'pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf -- "$1"';

export type Watchdog = {
  /** The processes that run now. */
  watch: (pids: readonly number[]) => void;
  /** Ends what was named last and removes the directory. */
  close: () => Promise<void>;
};

/** `directory` holds all that the stack writes; it is removed at the end, whatever the end is. */
export function createWatchdog(directory: string): Watchdog {
  const child: ChildProcess = spawn('sh', ['-c', script, 'sh', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const over = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  // When it is gone before us there is nobody to tell, and nothing that we could do about it.
  child.stdin?.on('error', () => undefined);
  return {
    watch: (pids) => void child.stdin?.write(`${pids.join(' ')}\n`),
    close: async () => {
      child.stdin?.end();
      await over;
    },
  };
}
