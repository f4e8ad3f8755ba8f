/** How the programs beside the desk (`npm run crash`, `bench` …) read their options, and refuse what was mistyped. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** EX_USAGE of sysexits.h. */
const misused = 64;

/** The options of this process. `--help` prints the usage and ends it with 0; what `config` does not take ends it with 64. */
export function readOptions<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (fault) {
    const code = fault instanceof TypeError && 'code' in fault ? String(fault.code) : '';
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw fault;
    return refuse(usage, (fault as TypeError).message);
  }
}

/** Ends the process with 64; `reason` says what is wrong, and the remedy. */
export function refuse(usage: string, reason: string): never {
  process.stderr.write(`${reason}\n${usage}\n`);
  process.exit(misused);
}

/** A whole number of at least `least`; another text ends the process. */
export function wholeNumber(usage: string, option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
  return refuse(usage, `${option} ${text}: write a whole number of at least ${least}`);
}

/** One of `words`; another text ends the process. */
export function oneOf<W extends string>(usage: string, option: string, text: string, words: readonly W[]): W {
  return words.find((word) => word === text) ?? refuse(usage, `${option} ${text}: write one of ${words.join(', ')}`);
}
