/** `lance rules diff | checkout`: what a kept set says otherwise than another, and a kept set as files again. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../errors.ts';
import { compileRuleSet } from '../rules/rule-set.ts';
import { differencesBetween } from '../rules/set-differences.ts';
import { type DeskControl, withDesk } from './desk-control.ts';
import { writeBelow } from './named-file.ts';
import { setNotNamed } from './rules-activate.ts';
import { faultLine } from './rules-files.ts';
import type { CommandWorld } from './world.ts';

const shownHash = 12;
/** Of one rule or list; `--json` has all. */
const shownValues = 20;

type KnownSet = { hash: string; source: string };

/** `live`, the beginning of a hash, or a folder. */
async function setNamed(world: CommandWorld, desk: DeskControl, word: string): Promise<KnownSet> {
  if (word !== 'live' && !/^[\da-f]{1,64}$/i.test(word)) return setInFolder(world, word);
  const kept = await desk.keptSet(word);
  return kept.kind === 'found' ? kept : setNotNamed(world, word, kept);
}

function setInFolder(world: CommandWorld, directory: string): KnownSet {
  const compiled = compileRuleSet(world.readRules(directory));
  if (compiled.kind === 'compiled') return compiled.ruleSet;
  const { refused } = world.format.texts.rules;
  const faults = compiled.faults.map((fault) => `  ${faultLine(world, fault)}`);
  throw new Fault('rules-refused', [refused(faults.length), ...faults].join('\n'));
}

export async function diffRules(world: CommandWorld, one: string, other: string, json: boolean): Promise<void> {
  const { terminal, format } = world;
  const { activation, more } = format.texts.rules;
  const { sets } = format.texts.rules;
  await withDesk(world, async (desk) => {
    const before = await setNamed(world, desk, one);
    const after = await setNamed(world, desk, other);
    const differences = differencesBetween(before.source, after.source);
    if (json) {
      terminal.write(JSON.stringify({ before: before.hash, after: after.hash, differences }));
      return;
    }
    terminal.write(sets.between(before.hash.slice(0, shownHash), after.hash.slice(0, shownHash)));
    if (differences.length === 0) terminal.write(activation.noChange);
    for (const { what, name, change, values } of differences) {
      terminal.write(`${activation.changes[change]} ${activation.parts[what]} "${name}"`);
      for (const { at, before: was, after: is } of values.slice(0, shownValues))
        terminal.write(`  ${at}: ${shown(was)} → ${shown(is)}`);
      if (values.length > shownValues) terminal.write(`  ${more(values.length - shownValues)}`);
    }
  });

  function shown(value: unknown): string {
    return value === null ? sets.nothing : JSON.stringify(value);
  }
}

/** The folder may exist, if it is empty: nobody's files are written over. */
export async function checkoutRules(world: CommandWorld, word: string, directory: string): Promise<void> {
  const { terminal, format } = world;
  const { sets } = format.texts.rules;
  await withDesk(world, async (desk) => {
    const { hash, source } = await setNamed(world, desk, word);
    if (existsSync(directory) && readdirSync(directory).length > 0)
      throw new Fault('not-allowed', sets.notEmpty(directory));
    try {
      mkdirSync(directory, { recursive: true });
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
      throw new Fault('not-allowed', format.texts.page.unwritable(directory, code), cause);
    }
    const files = JSON.parse(source) as { path: string; value: unknown }[];
    // Rows of a value table stand in the set as the text that they are.
    for (const { path, value } of files)
      writeBelow(
        world,
        directory,
        join(directory, path),
        typeof value === 'string' ? value : `${JSON.stringify(value, null, 2)}\n`,
      );
    terminal.write(sets.written(hash.slice(0, shownHash), files.length, directory));
  });
}
