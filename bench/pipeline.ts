/**
 * The whole way of a bid, from webhook to the answer durable, in the real `lance run`; beside it the bare loop, which
 * appends and sends as much on the same backend and decides nothing.
 */
import { rmSync } from 'node:fs';
import { duel, sendLimit } from './duel.ts';
import type { Benchmark } from './figures.ts';
import { sharedPipeline } from './kafka-pipeline.ts';
import { startBare, startOurs } from './loops.ts';
import { roomyRules } from './workload.ts';

export const pipeline: Benchmark = {
  run: async (say, options) => {
    if (options.backend === 'kafka') return sharedPipeline(say, options.instances);
    const { directory, rulesDir } = roomyRules();
    try {
      return await duel(
        {
          startOurs: (baseUrl) => startOurs({ directory, rulesDir, baseUrl, sendLimit }),
          startBare: (given) => startBare({ directory, sendLimit, ...given }),
          warmRequests: 10_000,
          roundRequests: 3_000,
          rounds: 5,
          pacedS: 3,
        },
        say,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
