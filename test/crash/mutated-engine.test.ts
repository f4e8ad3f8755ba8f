/**
 * The auditor of the crash run can fail: desks that multiply their caps, leave one out, keep the keys of a day that is over, or bid while
 * they are paused, are named by what was ordered.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCrashes } from './crash-run.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

type Change = { file: string; search: string; replacement: string };

const changes: readonly Change[] = [
  {
    file: 'src/rules/events.ts',
    search: 'maxReais === null ? null : Math.round(maxReais * 100)',
    replacement: 'maxReais === null ? null : Math.round(maxReais * 100) * 1000',
  },
  {
    file: 'src/bidding/gate.ts',
    search: 'known = { state, readAtMs: startedAtMs, readAt };',
    replacement: `const caps = Object.fromEntries(Object.entries(state.caps).map(([name, cents]) => [name, cents * 1000]));
      known = { state: { ...state, caps }, readAtMs: startedAtMs, readAt };`,
  },
  {
    file: 'src/bidding/gate.ts',
    search: "if (known.state.pause !== null) return 'paused';",
    replacement: '',
  },
  {
    file: 'src/rules/keys.ts',
    search: 'dayKeys(key, at)',
    replacement: 'dayKeys(key, at - 86_400_000)',
  },
  {
    file: 'src/bidding/decide.ts',
    search: 'const ownCaps = [...verdict.caps,',
    replacement: "const ownCaps = [...verdict.caps.filter(({ keys }) => !keys[0]!.startsWith('worker-day|')),",
  },
];

function mutatedCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lance-mutated-engine-'));
  for (const part of ['src', 'config', 'rules', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, search, replacement } of changes) {
    const parts = readFileSync(join(folder, file), 'utf8').split(search);
    assert.equal(parts.length, 2, `the text to change must stand exactly once in ${file}`);
    writeFileSync(join(folder, file), parts.join(replacement));
  }
  return folder;
}

test('caps times 1000 and bids while paused are named, whatever the desk says of its caps (defect line 26)', async (context) => {
  const folder = mutatedCopy();
  try {
    const { verdict } = await runCrashes({
      kills: 1,
      seed: 'mutated',
      windowMs: 5_000,
      requestsPerSecond: 100,
      // A dozen bids reach it: a desk that is slow in its first seconds goes over it too.
      capByHandCents: 10_000_000,
      ordersBefore: () => true,
      main: join(folder, 'src/main.ts'),
      keepWhatIsLeft: false,
      onKill: () => undefined,
      onStage: () => undefined,
    });
    const texts = (code: string) => verdict.violations.flatMap((found) => (found.code === code ? [found.text] : []));
    const overCap = texts('over-cap');
    const whilePaused = texts('sent-while-paused');
    context.diagnostic(
      `figure: mutated engine: ${overCap.length} bids over a cap (${overCap.filter((text) => text.includes('by hand')).length} by hand), ${whilePaused.length} while paused`,
    );
    assert.ok(
      overCap.some((text) => text.includes('construction-day')),
      'the cap of the rules',
    );
    assert.ok(
      overCap.some((text) => text.includes('by hand')),
      'the cap by hand',
    );
    assert.ok(whilePaused.length > 0, 'no bid while paused was named');
    const capKeys = texts('cap-keys');
    for (const fault of [/: worker-day in \S+ is missing$/, /: employer-day in \S+ is missing, and it names \S+/]) {
      assert.ok(
        capKeys.some((text) => fault.test(text)),
        `${fault} of ${capKeys.length} claims`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
