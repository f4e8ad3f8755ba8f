/** `npm run bench -- NAME [options]`: runs one benchmark beside its baseline; the last line on stdout is its JSON object. */
import { loadavg } from 'node:os';
import { readOptions, refuse } from '../test/command-line.ts';
import type { Benchmark, BenchmarkOptions } from './figures.ts';

type Option = keyof BenchmarkOptions;
/** `defaults`: where they are not those of all. */
type Entry = {
  takes: readonly Option[];
  defaults?: Pick<Given, 'requests' | 'rate' | 'minutes'>;
  load: () => Promise<Benchmark>;
};

const benchmarks: Readonly<Record<string, Entry>> = {
  demo: { takes: [], load: async () => (await import('./demo.ts')).demo },
  decision: { takes: [], load: async () => (await import('./decision.ts')).decision },
  markets: { takes: [], load: async () => (await import('./markets.ts')).markets },
  edges: { takes: [], load: async () => (await import('./edges.ts')).edges },
  rules: { takes: [], load: async () => (await import('./rules.ts')).rules },
  impact: { takes: [], load: async () => (await import('./impact.ts')).impact },
  pipeline: { takes: ['backend', 'instances', 'until'], load: async () => (await import('./pipeline.ts')).pipeline },
  webhooks: { takes: [], load: async () => (await import('./webhooks.ts')).webhooks },
  idle: { takes: [], load: async () => (await import('./idle.ts')).idle },
  rebuild: { takes: ['requests'], load: async () => (await import('./rebuild.ts')).rebuild },
  probes: {
    takes: ['requests', 'rate'],
    defaults: { requests: '100000', rate: '1500' },
    load: async () => (await import('./probes.ts')).probes,
  },
  growth: {
    takes: ['requests', 'rate'],
    defaults: { rate: '300' },
    load: async () => (await import('./growth.ts')).growth,
  },
  overload: {
    takes: ['rate', 'minutes'],
    defaults: { rate: '200', minutes: '0.5' },
    load: async () => (await import('./overload.ts')).overload,
  },
  soak: {
    takes: ['rate', 'minutes'],
    defaults: { rate: '100', minutes: '20' },
    load: async () => (await import('./soak.ts')).soak,
  },
  memory: { takes: ['requests'], load: async () => (await import('./memory.ts')).memory },
};

type Given = {
  backend?: string;
  instances?: string;
  requests?: string;
  until?: string;
  rate?: string;
  minutes?: string;
};

/** A text says what is wrong, and the remedy. */
function optionsOf(name: string, { takes, defaults }: Entry, given: Given): BenchmarkOptions | string {
  const stranger = Object.keys(given).find((option) => !takes.includes(option as Option));
  if (stranger !== undefined) return `${name} takes no --${stranger}: leave it out`;
  const {
    backend = 'embedded',
    instances,
    requests = '1000000',
    rate = '1',
    minutes = '1',
  } = { ...defaults, ...given };
  if (backend !== 'embedded' && backend !== 'kafka') return '--backend is embedded or kafka';
  const { until = backend === 'kafka' ? 'claimed' : 'settled' } = given;
  if (until !== 'claimed' && until !== 'settled')
    return '--until is claimed (the answer to the bid) or settled (whole lives)';
  if (until === 'settled' && backend === 'kafka') return 'whole lives are played with --backend embedded only';
  const counts = instances === undefined ? [] : instances.split(',').map(Number);
  if (!counts.every((count, at) => Number.isInteger(count) && count > (counts[at - 1] ?? 0))) {
    return '--instances is a growing list of whole numbers, like 1,2';
  }
  if (counts.length > 0 && backend !== 'kafka') return '--instances needs --backend kafka: a file has one process';
  const size = Number(requests);
  if (!Number.isInteger(size) || size < 1_000) return '--requests is a whole number of at least 1000';
  const perS = Number(rate);
  if (!Number.isInteger(perS) || perS < 1) return '--rate is a whole number of requests a second';
  const lengthMinutes = Number(minutes);
  if (!(lengthMinutes > 0)) return '--minutes is a number above 0';
  return { backend, until, instances: counts, requests: size, rate: perS, minutes: lengthMinutes };
}

const usage =
  'usage: npm run bench -- NAME [--backend embedded|kafka] [--until settled|claimed] [--instances 1,2] [--requests 1000000] [--rate 1500] [--minutes 20] [--json]\n' +
  `NAME is one of ${Object.keys(benchmarks).join(', ')}`;
const { values, positionals } = readOptions(usage, {
  options: {
    json: { type: 'boolean', default: false },
    backend: { type: 'string' },
    until: { type: 'string' },
    instances: { type: 'string' },
    requests: { type: 'string' },
    rate: { type: 'string' },
    minutes: { type: 'string' },
  },
  allowPositionals: true,
});
const { json, ...given } = values;
const [name = ''] = positionals;
const entry = Object.hasOwn(benchmarks, name) && positionals.length === 1 ? benchmarks[name] : undefined;
if (entry === undefined) {
  refuse(usage, name === '' ? 'Name one benchmark.' : `There is no benchmark ${positionals.join(' ')}.`);
}
const options = optionsOf(name, entry, given);
if (typeof options === 'string') refuse(usage, options);
const { run } = await entry.load();
const say = (line: string): void => {
  if (!json) process.stdout.write(`${line}\n`);
};
const loadBefore = loadavg()[0]!;
const report = await run(say, options);
/** What else the machine did weighs on every figure: of the last minute, before and after. */
const load = [loadBefore, loadavg()[0]!].map((value) => Number(value.toFixed(1)));
process.stdout.write(`${JSON.stringify({ bench: name, ...report, load })}\n`);
if (report.holds === false) process.exitCode = 1;
