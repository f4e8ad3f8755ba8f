/**
 * Whole lives of requests, from webhook to the end of the auction and the events of a win, in the real `lance run`; beside it the
 * bare loop, which appends and sends as much on the same backend and decides nothing, and the prototype, the cheapest known
 * program with our promises, or the `lance run` of another version where `BENCH_MAIN` names its `src/main.ts` and `BENCH_RULES` the rules
 * that it reads. `--until claimed` plays lives up to the answer to the bid; on Kafka that is all that is played.
 */
import { rmSync } from 'node:fs';
import { duel, sendLimit } from './duel.ts';
import type { Benchmark } from './figures.ts';
import { sharedPipeline } from './kafka-pipeline.ts';
import { otherVersion, startBare, startOurs, startPrototype } from './loops.ts';
import { roomyRules } from './workload.ts';

export const pipeline: Benchmark = {
  run: async (say, options) => {
    if (options.backend === 'kafka') return sharedPipeline(say, options.instances);
    const { directory, rulesDir } = roomyRules();
    const other = otherVersion();
    const otherRules = other === null ? null : roomyRules(other.rulesDir ?? undefined);
    try {
      return await duel(
        {
          until: options.until,
          startOurs: (baseUrl) => startOurs({ directory, rulesDir, baseUrl, sendLimit }),
          startBare: (given) => startBare({ directory, sendLimit, ...given }),
          startThird: (baseUrl) =>
            other === null || otherRules === null
              ? startPrototype({ directory, rulesDir, baseUrl, sendLimit })
              : startOurs({ ...otherRules, baseUrl, sendLimit, main: other.main }),
          warmRequests: 10_000,
          roundRequests: 3_000,
          rounds: 5,
          pacedS: 3,
        },
        say,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
      if (otherRules !== null) rmSync(otherRules.directory, { recursive: true, force: true });
    }
  },
};
