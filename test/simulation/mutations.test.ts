/**
 * The simulation can fail: each of these faults in the source, the kind that a hurried change makes, is caught by the
 * check that is there for it. A copy of the source is changed in one place, and simulated in a process of its own.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ViolationKind } from './checker.ts';
import type { Figures } from './summary.ts';

type Mutation = {
  name: string;
  file: string;
  search: string;
  replacement: string;
  /** One of these must be found. */
  caughtAs: readonly ViolationKind[];
  /** The first seed, where many are known to play well in spite of it. */
  from?: number;
};

const writeAtOnce =
  'for (const { record } of claims) void world.service.placeBid({ body: record.body, deadlineAt: Infinity, mayWrite: () => true });';

const mutations: readonly Mutation[] = [
  {
    name: 'sending without a claim',
    file: 'src/bidding/claim-desk.ts',
    search: 'if (await outbox.append(claims)) {',
    replacement: `${writeAtOnce}\n    if (claims.length > 0) {`,
    caughtAs: ['no-claim'],
  },
  {
    name: 'sending before the read-back',
    file: 'src/bidding/claim-desk.ts',
    search: "observer({ kind: 'step', step: 'claim-appended' });",
    replacement: writeAtOnce,
    caughtAs: ['unread-claim'],
  },
  {
    name: 're-pricing after a restart',
    file: 'src/bidding/send-claim.ts',
    search: 'placeBid({ body: job.claim.body,',
    replacement: `placeBid({ body: job.inherited ? job.claim.body.replace(/"valorTaxaMensal":[0-9.]+/, '"valorTaxaMensal":2.51') : job.claim.body,`,
    caughtAs: ['two-payloads'],
  },
  {
    name: 'no deadline check',
    file: 'src/bidding/send-claim.ts',
    search: 'return Math.floor(deadlineAt - settings.skewAllowanceMs',
    replacement: 'return 1e15; // ',
    caughtAs: ['late'],
    from: 45,
  },
  {
    name: 'bids after the end of the auction was told',
    file: 'src/bidding/bid-sender.ts',
    search: '(ledger.get(requestId)?.state.auction ?? null) !== null',
    replacement: 'false',
    caughtAs: ['after-end'],
  },
  {
    name: 'exposure released twice',
    file: 'src/bidding/evolve.ts',
    search: "changes.push({ kind: 'release', requestId });",
    replacement: "changes.push({ kind: 'release', requestId }, { kind: 'release', requestId });",
    caughtAs: ['released-twice'],
  },
  {
    name: '2xx before the commit',
    file: 'src/http/door.ts',
    search: 'const taken = await appended(entriesOf(reading));',
    replacement: "void appended(entriesOf(reading));\n      const taken = 'durable' as string;",
    caughtAs: ['ack-before-commit'],
  },
  {
    name: 'statistics folded twice',
    file: 'src/bidding/evolve.ts',
    search: "record.kind === 'ended' && isFirstResult ?",
    replacement: "record.kind === 'ended' && before !== null && before.request !== null ?",
    caughtAs: ['statistics'],
  },
  {
    name: '"duplicate" taken for foreign',
    file: 'src/bidding/evolve.ts',
    search: "presumedOurs = record.outcome.kind === 'duplicate' && earlier",
    replacement: 'presumedOurs = false',
    caughtAs: ['truth'],
  },
  {
    name: 'ownership not asked before a write (defect line 26)',
    file: 'src/bidding/bid-sender.ts',
    search: ' && world.owns(requestId),',
    replacement: ',',
    caughtAs: ['not-owner'],
    from: 35,
  },
  {
    name: '`abandon` does nothing (defect line 26)',
    file: 'src/bidding/bid-sender.ts',
    search: 'if (current !== undefined) current.abandoned = true;',
    replacement: '',
    caughtAs: ['not-owner', 'truth'],
    from: 15,
  },
  {
    name: 'an inherited claim not taken for attempted (defect line 26)',
    file: 'src/bidding/bid-sender.ts',
    search: 'inherited: !isOwn(claim, requestId),',
    replacement: 'inherited: false,',
    caughtAs: ['truth'],
  },
  {
    name: 'callback offset past an orphan (defect line 26)',
    file: 'src/bidding/callbacks.ts',
    search: 'Math.min(dealtWith.get(partition) ?? 0, orphans.first(partition) ?? Number.POSITIVE_INFINITY)',
    replacement: 'dealtWith.get(partition) ?? 0',
    caughtAs: ['lost'],
  },
  {
    name: 'stale control obeyed for ever (defect line 26)',
    file: 'src/bidding/gate.ts',
    search: 'return known === null || clock.monotonicMs() - known.readAtMs > settings.controlMaxAgeMs;',
    replacement: 'return known === null;',
    caughtAs: ['paused'],
    from: 105,
  },
  {
    name: 'caps of the rules times 1000 (defect line 26)',
    file: 'src/rules/events.ts',
    search: 'maxReais === null ? null : Math.round(maxReais * 100)',
    replacement: 'maxReais === null ? null : Math.round(maxReais * 100) * 1000',
    caughtAs: ['over-cap'],
  },
  {
    name: 'caps by hand times 1000 (defect line 26)',
    file: 'src/bidding/gate.ts',
    search: 'known = { state, readAtMs: startedAtMs, readAt };',
    replacement: `const caps = Object.fromEntries(Object.entries(state.caps).map(([name, cents]) => [name, cents * 1000]));
      known = { state: { ...state, caps }, readAtMs: startedAtMs, readAt };`,
    caughtAs: ['over-cap'],
  },
  {
    name: 'offers and claims from before an order are sent as they are (defect line 26)',
    file: 'src/bidding/decide.ts',
    search: 'return Object.entries(operatorCaps).every(([name, limitCents]) =>',
    replacement: 'return Object.entries({} as typeof operatorCaps).every(([name, limitCents]) =>',
    caughtAs: ['over-cap'],
    from: 530,
  },
  {
    name: 'bids while paused (defect line 26)',
    file: 'src/bidding/gate.ts',
    search: "if (known.state.pause !== null) return 'paused';",
    replacement: '',
    caughtAs: ['paused'],
  },
  {
    name: 'a loan forgotten in windows of hours when the time of its proposal is over',
    file: 'src/bidding/react.ts',
    search: "if ((phase !== 'contemplated' && phase !== 'proposed') || windowsUntil <= now) {",
    replacement: 'if (windowsUntil !== 0) {',
    caughtAs: ['exposure'],
  },
  {
    name: 'a rejection believed after an attempt (defect line 26)',
    file: 'src/bidding/evolve.ts',
    search: 'earlier ? outcomeAfterEarlier(record.outcome)',
    replacement: "earlier && record.outcome.kind !== 'rejected' ? outcomeAfterEarlier(record.outcome)",
    caughtAs: ['truth', 'exposure'],
  },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const seeds = 150;

// One copy for all of them: where it stays in its place, Node finds again what it has compiled of it.
const folder = mkdtempSync(join(tmpdir(), 'lance-mutation-'));
for (const part of ['src', 'config', 'package.json', 'test/command-line.ts', 'test/simulation']) {
  cpSync(join(root, part), join(folder, part), { recursive: true });
}
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Gives back what stood there before. */
function mutate({ file, search, replacement }: Mutation): string {
  const source = readFileSync(join(folder, file), 'utf8');
  const parts = source.split(search);
  assert.equal(parts.length, 2, `the text to change must stand exactly once in ${file}`);
  writeFileSync(join(folder, file), parts.join(replacement));
  return source;
}

function simulate({ caughtAs, from = 1 }: Mutation): Promise<Figures> {
  const played = ['--seeds', String(seeds), '--from', String(from), '--until', caughtAs.join(',')];
  const options = [...played, '--jobs', '2', '--json'];
  const child = spawn(process.execPath, [join(folder, 'test/simulation/run.ts'), ...options], { cwd: folder });
  let output = '';
  let problem = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString();
  });
  child.stderr.on('data', (data: Buffer) => {
    problem += data.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', () => {
      try {
        resolve(JSON.parse(output.trimEnd().split('\n').at(-1)!));
      } catch {
        reject(new Error(`the simulation did not end: ${problem.slice(0, 2_000)}`));
      }
    });
  });
}

for (const mutation of mutations) {
  test(`caught: ${mutation.name}`, async (context) => {
    const source = mutate(mutation);
    try {
      const figures = await simulate(mutation);
      const found = mutation.caughtAs.filter((kind) => (figures.violationsByKind[kind] ?? 0) > 0);
      context.diagnostic(`${figures.seeds} seeds: ${JSON.stringify(figures.violationsByKind)}`);
      assert(found.length > 0, `none of ${mutation.caughtAs.join(', ')} in ${figures.seeds} seeds`);
    } finally {
      writeFileSync(join(folder, mutation.file), source);
    }
  });
}
