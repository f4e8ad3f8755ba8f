/** Commands that documents and alerts name are commands of the program: an operator types them as they stand there. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { registerCommands } from '../../src/cli/commands.ts';
import { createFormat } from '../../src/cli/format.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function readProgram(): Command {
  const program = new Command('lance');
  for (const name of ['run', 'demo']) program.command(name);
  registerCommands(program, { format: createFormat('en') } as Parameters<typeof registerCommands>[1]);
  return program;
}

/** Null where the words name a command; else the first word that none is named by. */
function unknownIn(words: readonly string[], program: Command): string | null {
  let command = program;
  for (const word of words) {
    if (command.commands.length === 0) return null;
    const inner = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    // What is no word of a command is an argument, an option or the end of the sentence.
    if (inner === undefined) return /^[a-z][a-z-]+$/.test(word) ? word : null;
    command = inner;
  }
  return null;
}

test('documents and alerts name commands that exist', () => {
  const program = readProgram();
  const unknown: string[] = [];
  let named = 0;
  const files = globSync(
    ['README.md', 'ARCHITECTURE.md', 'docs/**/*.md', 'rules/**/*.md', 'config/**/*.{yml,yaml,md}'],
    {
      cwd: root,
    },
  );
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    // In code: a line of a block or what stands between backticks.
    for (const [, said] of text.matchAll(/(?:`|^)(?:npx )?lance ([^`\n]*)/gm)) {
      const word = unknownIn(said!.trim().split(/\s+/).slice(0, 2), program);
      named += 1;
      if (word !== null) unknown.push(`${file}: lance ${said!.trim().slice(0, 60)} (${word})`);
    }
  }
  assert.ok(named > 100, `${named} commands are named`);
  assert.deepEqual(unknown, []);
});
