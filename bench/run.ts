/** `npm run bench -- NAME [--json]`: runs one benchmark beside its baseline; the last line on stdout is its JSON object. */
import { parseArgs } from 'node:util';
import type { Benchmark } from './figures.ts';

const benchmarks: Readonly<Record<string, () => Promise<Benchmark>>> = {
  demo: async () => (await import('./demo.ts')).demo,
  decision: async () => (await import('./decision.ts')).decision,
  rules: async () => (await import('./rules.ts')).rules,
  impact: async () => (await import('./impact.ts')).impact,
  pipeline: async () => (await import('./pipeline.ts')).pipeline,
};

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [name = ''] = positionals;
const load = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (load === undefined || positionals.length !== 1) {
  process.stderr.write(`usage: npm run bench -- NAME [--json]; NAME is one of ${Object.keys(benchmarks).join(', ')}\n`);
  process.exitCode = 64;
} else {
  const { run } = await load();
  const say = (line: string): void => {
    if (!values.json) process.stdout.write(`${line}\n`);
  };
  process.stdout.write(`${JSON.stringify({ bench: name, ...(await run(say)) })}\n`);
}
