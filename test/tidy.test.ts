/** Rules of this code base: which folder may import which, and what no tracked file may contain. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '');
const sources = tracked.filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

/** Where adapters are put together with the rest: the process, and the threads that read webhooks, the folder of rules and recorded requests. */
const roots = ['src/main.ts', 'src/rule-thread.ts', 'src/door-thread.ts', 'src/replay-thread.ts'];

/** The room of a file: its folder under src, or `top` for the files that put rooms together. */
function roomOf(path: string): string {
  const parts = path.split('/');
  if (parts.length === 2) return 'top';
  return parts[1] === 'adapters' ? `adapters/${parts[2]}` : (parts[1] ?? 'top');
}

function importsOf(path: string): string[] {
  const found: string[] = [];
  for (const [, target] of textOf(path).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    found.push(normalize(join(dirname(path), target!)));
  }
  return found;
}

const everyRoom = [
  'domain',
  'wire',
  'pricing',
  'rules',
  'state',
  'bidding',
  'impact',
  'origination',
  'operating',
  'queries',
  'http',
  'console',
  'sandbox',
  'cli',
  'config',
  'top',
];
const allowed: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  wire: ['domain'],
  pricing: ['domain'],
  rules: ['domain'],
  state: ['domain'],
  bidding: ['pricing', 'rules', 'config', 'domain'],
  impact: ['bidding', 'pricing', 'rules', 'config', 'domain'],
  origination: ['bidding', 'pricing', 'wire', 'config', 'domain'],
  operating: ['bidding', 'origination', 'rules', 'domain'],
  queries: ['bidding', 'domain'],
  http: ['operating', 'queries', 'bidding', 'origination', 'wire', 'domain'],
  console: ['http', 'cli', 'operating', 'bidding', 'origination', 'impact', 'rules', 'wire', 'domain'],
  sandbox: ['wire', 'domain'],
  config: ['pricing', 'domain'],
  cli: everyRoom,
  top: everyRoom,
};

/** Faults, and how files are opened: for every room. */
const common = ['src/errors.ts', 'src/regular-files.ts'];
const portFiles = ['src/bidding/ports.ts', 'src/origination/ports.ts', 'src/state/cap-book.ts'];

function mayImport(from: string, to: string): boolean {
  const [here, there] = [roomOf(from), roomOf(to)];
  if (here === there || common.includes(to)) return true;
  // Client and sandbox must not share a misreading of a rule.
  if (here === 'sandbox' && to.startsWith('src/wire/checks/')) return false;
  if (there.startsWith('adapters/')) return roots.includes(from);
  if (here === 'state') return portFiles.includes(to) || there === 'domain';
  if (here.startsWith('adapters/'))
    return portFiles.includes(to) || there === 'state' || there === 'wire' || there === 'domain';
  return (allowed[here] ?? []).includes(there);
}

test('files import only what their room may import', () => {
  const broken = sources.flatMap((path) =>
    importsOf(path)
      .filter((target) => !mayImport(path, target))
      .map((target) => `${path} imports ${target}`),
  );
  assert.deepEqual(broken, []);
  assert.ok(sources.length > 100, 'the files were found');
});

test('every source file says in its first lines what it is for', () => {
  const silent = sources.filter((path) => !/^(#!.*\n)?\/\*\*/.test(textOf(path)));
  assert.deepEqual(silent, []);
});

/** A file and all that it imports, whatever it is for. */
function reachedFrom(path: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(path) || !tracked.includes(path)) return seen;
  seen.add(path);
  for (const target of importsOf(path)) reachedFrom(target, seen);
  return seen;
}

test('no client of Kafka is made without the mends of kafkajs', () => {
  // It measures what the library costs as it is.
  const bare = 'bench/bare-kafka-loop.ts';
  const makers = tracked.filter((path) => path.endsWith('.ts') && /new (?:kafkajs\.)?Kafka\(/.test(textOf(path)));
  const unmended = makers.filter((path) => !reachedFrom(path).has('src/adapters/kafka/kafkajs-mends.ts'));
  assert.deepEqual(unmended, [bare]);
  assert.ok(makers.length > 10, 'they were found');
});

test('Portuguese stays in wire and in texts for people', () => {
  const words =
    /\b\w*(?:[sS]olicitacao|[vV]alorLiberado|[pP]arcela|\b[lL]ances?[A-Z]|[tT]axaMensal|[vV]inculo|[mM]atricula|[lL]eilao)\w*\b/;
  const found = sources
    .filter((path) => !/^src\/(wire|sandbox)\//.test(path) && !/^src\/cli\/texts/.test(path))
    .flatMap((path) =>
      textOf(path)
        .replace(/'[^'\n]*'|`[^`]*`|\/\*[\s\S]*?\*\/|\/\/.*/g, '')
        .split('\n')
        .filter((line) => words.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  assert.deepEqual(found, []);
});

test('tracked files name no registry host, no path of a machine, no test that is left out', () => {
  const here = 'test/tidy.test.ts';
  const forbidden = [
    new RegExp(['registry', 'npmjs', 'org'].join('\\.')),
    new RegExp(['repo', 'maven', 'apache'].join('\\.')),
    /\/(?:work|root|home)\/\w/,
    /\b(?:test|it|describe|suite)\.(?:skip|only|todo)\b/,
    /@ts-(?:ignore|nocheck|expect-error)|biome-ignore/,
  ];
  const found = tracked
    .filter((path) => path !== here && path !== 'LICENSE')
    .flatMap((path) => {
      const text = textOf(path);
      return forbidden.filter((pattern) => pattern.test(text)).map((pattern) => `${path}: ${pattern.source}`);
    });
  assert.deepEqual(found, []);
});

/** `a/{b,c}.ts` and `c-*.ts` stand for several. */
function filesNamedIn(text: string): RegExp[] {
  const named = [...text.matchAll(/`([\w*./{},-]+\.(?:ts|json|md))`/g)].map(([, path]) => path!);
  return named
    .flatMap((path) => {
      const braces = /^(.*)\{(.+)\}(.*)$/.exec(path);
      return braces === null ? [path] : braces[2]!.split(',').map((each) => `${braces[1]}${each}${braces[3]}`);
    })
    .map((path) => new RegExp(`(?:^|/)${path.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}$`));
}

test('files that ARCHITECTURE.md and the design notes name are there', () => {
  for (const path of ['ARCHITECTURE.md', 'docs/design.md']) {
    const named = filesNamedIn(textOf(path));
    assert.ok(named.length > 30, path);
    const missing = named.filter((pattern) => !tracked.some((file) => pattern.test(file)));
    assert.deepEqual(missing, [], path);
  }
});

test('ARCHITECTURE.md is two pages', () => {
  assert.ok(textOf('ARCHITECTURE.md').split(/\s+/).length <= 1_300);
});
