/**
 * Loaded into the process of each test file by `npm test`. The runner's timeout ends a test, not a process: a file whose tests are
 * over while a timer or a socket of theirs lives on would hold up the whole run without a word.
 */
import { isMainThread } from 'node:worker_threads';

// Longer than the runner's timeout of one test.
const limitMs = Number(process.env.LANCE_TEST_FILE_LIMIT_MS ?? 720_000);

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  setTimeout(() => {
    const alive = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(
      `${process.argv[1]} has not ended within ${limitMs / 1_000} s; what keeps it alive: ${alive}\n`,
    );
    process.kill(process.pid, 'SIGKILL');
  }, limitMs).unref();
}
