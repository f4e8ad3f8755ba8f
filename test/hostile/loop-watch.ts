/**
 * Loaded into the daemon before all else (`--import`): tells how long one turn of the main thread's event loop takes, in CPU time of
 * that thread, which is the same on a machine that is busy with other things. `HOSTILE_TURNS` names the file that it writes;
 * SIGUSR2 begins anew.
 */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const tickMs = 2;
const path = process.env.HOSTILE_TURNS;

if (isMainThread && path !== undefined) {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longestMs = 0;
  let written = -1;
  let before = cpuMs();
  process.on('SIGUSR2', () => {
    longestMs = 0;
    before = cpuMs();
  });
  setInterval(() => {
    longestMs = Math.max(longestMs, cpuMs() - before);
    if (longestMs !== written) {
      writeFileSync(path, String(Math.round(longestMs)));
      written = longestMs;
    }
    before = cpuMs();
  }, tickMs).unref();
}
