/** The tools of whoever changes Lance, as the README tells to run them; those that bear no other test beside them: `readme-alone.test.ts`. */
import { describe } from 'node:test';
import { bearsNoOther, blocks, followReadme, isOfTools } from './readme-reader.ts';

describe('the tools of the README, in order (defect line 5)', { concurrency: false, timeout: 1_200_000 }, () => {
  followReadme(blocks.filter(isOfTools), (line) => !bearsNoOther(line));
});
