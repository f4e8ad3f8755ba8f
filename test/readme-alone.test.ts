/** The tools of the README that hold a desk to limits of seconds, with nothing beside them. */
import { describe } from 'node:test';
import { bearsNoOther, blocks, followReadme, isOfTools } from './readme-reader.ts';

describe('the tools of the README that run alone (defect line 5)', { concurrency: false, timeout: 600_000 }, () => {
  followReadme(blocks.filter(isOfTools), bearsNoOther);
});
