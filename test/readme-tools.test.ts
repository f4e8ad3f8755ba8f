/** The tools of whoever changes Lance, as the README tells to run them. Some hold a desk to limits of seconds. */
import { describe } from 'node:test';
import { blocks, followReadme, isOfTools } from './readme-reader.ts';

describe('the tools of the README, in order (defect line 5)', { concurrency: false, timeout: 1_200_000 }, () => {
  followReadme(blocks.filter(isOfTools));
});
