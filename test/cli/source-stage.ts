/** A desk whose rules ask a source outside, and that source: it holds each question until the test says what it answers. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { defaultRulesDir } from '../../src/config.ts';
import type { Played } from './desk.ts';

export type Source = {
  /** Bodies, in the order in which they came. */
  questions: () => readonly string[];
  /** Those that are held are answered too. Null: held from now on. */
  answer: (text: string | null) => void;
  close: () => void;
};

export async function openSource(): Promise<Source & { url: string }> {
  const questions: string[] = [];
  let held: ServerResponse[] = [];
  let said: string | null = null;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      questions.push(body);
      if (said === null) held.push(response);
      else response.end(said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    questions: () => questions,
    answer: (text) => {
      said = text;
      if (text === null) return;
      for (const response of held) response.end(text);
      held = [];
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The shipped rules with one more that needs the source, in a folder of the stage. */
export function sourceRules(stage: Played): string {
  const rules = join(stage.directory, 'rules');
  cpSync(defaultRulesDir, rules, { recursive: true });
  // Their own tests know nothing of the source.
  for (const name of readdirSync(rules)) if (name.endsWith('.test.json')) rmSync(join(rules, name));
  const write = (name: string, content: object) => writeFileSync(join(rules, name), JSON.stringify(content));
  write('bureau.source.json', {
    description: 'A score of the bureau.',
    ...{ endpoint: 'bureau', send: ['worker.cpf', 'request.amountReais'], personal: ['worker.cpf'] },
    reply: { score: { type: 'number', unit: 'points' } },
    ...{ timeoutMs: 10_000, maxAskedPerDay: 10_000 },
  });
  const conditions = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };
  const event = { type: 'pass', params: { code: 'politically-exposed', reason: 'The score is too low.' } };
  write('bureau.json', { name: 'Low score', priority: 1, conditions, event });
  write('bureau.test.json', {
    base: {},
    tests: [
      { name: 'too low', facts: { 'source.bureau.score': 499 }, expect: { fired: ['Low score'] } },
      { name: 'enough', facts: { 'source.bureau.score': 500 }, expect: { silent: ['Low score'] } },
    ],
  });
  return rules;
}

/** Adds the address of the source and the window to the settings. */
export function configure(path: string, url: string, windowMs: number): void {
  const config = JSON.parse(readFileSync(path, 'utf8'));
  const enrichment = { bureau: { url, sendCpf: true } };
  const rules = { leastCoveragePercent: 0 };
  writeFileSync(path, JSON.stringify({ ...config, bidding: { ...config.bidding, windowMs }, enrichment, rules }));
}
