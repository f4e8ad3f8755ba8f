/** Suites that need the stack: on the one that `npm test` started, else on one of the file's own. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { type Stack, type StackAddresses, startStack } from './stack.ts';

const variable = 'TEST_STACK';

type Found = { kind: 'running'; addresses: StackAddresses } | { kind: 'missing'; sentence: string };

/** Tells the test files, which are processes of their own, by the environment that they inherit. */
export function announce(stack: Stack): void {
  process.env[variable] = JSON.stringify(foundIn(stack));
}

function foundIn(stack: Stack): Found {
  if (stack.kind === 'missing') return stack;
  const { brokers, registryUrl, redisUrl } = stack;
  return { kind: 'running', addresses: { brokers, registryUrl, redisUrl } };
}

export async function findStack(): Promise<Found> {
  const announced = process.env[variable];
  if (announced !== undefined) return JSON.parse(announced) as Found;
  const stack = await startStack();
  if (stack.kind === 'running') after(() => stack.stop());
  return foundIn(stack);
}

/** `prefix` is drawn anew for each suite: in front of topics, groups, subjects and keys it keeps suites apart. */
export type SuiteStack = StackAddresses & { prefix: string };

/**
 * `describe` for what needs the stack. Where it cannot be had, the suite counts as skipped and says what is missing;
 * under CI it fails. Await it at the top of a test file.
 */
export async function describeOnStack(name: string, body: (stack: SuiteStack) => void): Promise<void> {
  const found = await findStack();
  if (found.kind === 'missing') return withoutMeans(name, found.sentence);
  const stack = { ...found.addresses, prefix: `t${randomBytes(5).toString('hex')}-` };
  describe(name, () => body(stack));
}

/** The same for what needs a program of the machine; `remedy` says where it comes from. */
export function describeWithProgram(name: string, program: string, remedy: string, body: () => void): void {
  if (spawnSync(program, ['--version']).error === undefined) describe(name, body);
  else withoutMeans(name, `${program} is not installed (${remedy})`);
}

/** Skipped with its reason; under CI a failure. */
export function withoutMeans(name: string, sentence: string): void {
  if (process.env.CI === 'true') {
    test(name, () => {
      throw new Error(sentence);
    });
  } else {
    test(name, { skip: sentence }, () => undefined);
  }
}
