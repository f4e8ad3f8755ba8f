/**
 * Every command and every order of the API, side by side: what a command orders of a running desk the API orders too, and with
 * LANCE_URL and LANCE_TOKEN the command asks the API for it. A command or an order that is in no table here fails the test.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { registerCommands } from '../../src/cli/commands.ts';
import { createFormat } from '../../src/cli/format.ts';
import { exampleOf } from '../../src/http/api/described.ts';
import {
  contractBody,
  flowSchema,
  lookupBody,
  renegotiationBody,
  stepBodies,
  withdrawalBody,
} from '../../src/http/api/schemas.ts';
import { stepsOf } from '../../src/origination/steps.ts';
import { startApi } from '../http/api-house.ts';
import { lance, twoAtATime } from './desk.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-orders-'));
const rules = join(directory, 'rules');
const shadowed = join(directory, 'shadowed');
after(() => rmSync(directory, { recursive: true, force: true }));

const fileOf = (name: string, value: unknown): string => {
  const path = join(directory, `${name}.json`);
  writeFileSync(path, JSON.stringify(value));
  return path;
};

const hash = '5d1c0e88fa21';
const why = ['--reason', 'teste'];
const flows = [
  { command: 'contracts', flow: 'contract', id: 'c-37400000012', body: contractBody },
  { command: 'renegotiations', flow: 'renegotiation', id: 'r-9001', body: renegotiationBody },
  { command: 'withdrawals', flow: 'withdrawal', id: 'w-0f1e2d', body: withdrawalBody },
  { command: 'lookups', flow: 'lookup', id: 'q-0f1e2d', body: lookupBody },
] as const;

type Row = { command: string; words: readonly string[]; order: string; sent: string };

/** What a command orders: its words, the operation of the API, and the address that is asked. */
const orders: readonly Row[] = [
  row('bids worker', ['37400000012', ...why], 'POST /v1/bids/{requestId}/worker', '/v1/bids/37400000012/worker'),
  row(
    'bids resolve',
    ['37400000012', '--as', 'lost', ...why],
    'POST /v1/bids/{requestId}/resolve',
    '/v1/bids/37400000012/resolve',
  ),
  row('bids retry', ['37400000012', ...why], 'POST /v1/bids/{requestId}/thaw', '/v1/bids/37400000012/thaw'),
  row('bids cancel', ['37400000012', ...why], 'POST /v1/bids/{requestId}/thaw', '/v1/bids/37400000012/thaw'),
  row('review decide', ['37400000012', '--bid', ...why], 'POST /v1/reviews/{requestId}', '/v1/reviews/37400000012'),
  row('pause', why, 'POST /v1/controls/pause', '/v1/controls/pause'),
  row('resume', why, 'POST /v1/controls/resume', '/v1/controls/resume'),
  row('cap', ['mesa', '--reais-a-day', '10', ...why], 'POST /v1/controls/caps/{name}', '/v1/controls/caps/mesa'),
  row('rules propose', [rules], 'POST /v1/rules/sets', '/v1/rules/sets'),
  row('rules approve', [hash], 'POST /v1/rules/sets/{set}/approve', `/v1/rules/sets/${hash}/approve`),
  row('rules activate', [hash], 'POST /v1/rules/sets/{set}/activate', `/v1/rules/sets/${hash}/activate`),
  row('rules rollback', [], 'POST /v1/rules/rollback', '/v1/rules/rollback'),
  row('rules approval', ['on'], 'POST /v1/rules/approval', '/v1/rules/approval'),
  row('rules snooze', ['A rule', '--until', '2030-01-01', ...why], 'POST /v1/rules/snoozes', '/v1/rules/snoozes'),
  row('rules resume', ['A rule', ...why], 'POST /v1/rules/snoozes/resume', '/v1/rules/snoozes/resume'),
  row('economics approve', [hash], 'POST /v1/economics/{hash}/approve', `/v1/economics/${hash}/approve`),
  row('letters replay', ['--count', '5'], 'POST /v1/dead-letters/replay', '/v1/dead-letters/replay'),
  row(
    'letters dismiss',
    ['0/12', ...why],
    'POST /v1/dead-letters/{partition}/{offset}/dismiss',
    '/v1/dead-letters/0/12/dismiss',
  ),
  row('tokens create', ['--owner', 'bruno', '--role', 'risk'], 'POST /v1/tokens', '/v1/tokens'),
  row('tokens revoke', ['3f9c2a71b0'], 'POST /v1/tokens/{id}/revoke', '/v1/tokens/3f9c2a71b0/revoke'),
  row('events close', ['event:CODE', ...why], 'POST /v1/events/{flowId}/cancel', '/v1/events/event%3ACODE/cancel'),
  ...(['retry', 'cancel'] as const).map((action) =>
    row(`events ${action}`, ['event:CODE', ...why], 'POST /v1/events/{flowId}/thaw', '/v1/events/event%3ACODE/thaw'),
  ),
  ...flows.flatMap(({ command, flow, id, body }) => [
    row(
      `${command} start`,
      [
        '--file',
        fileOf(`start-${flow}`, exampleOf(body)),
        '--key',
        'k',
        ...(flow === 'renegotiation' ? ['--yes'] : []),
      ],
      `POST /v1/${command}`,
      `/v1/${command}`,
    ),
    ...stepsOf(flow).map((step) =>
      row(
        `${command} step`,
        [
          id,
          step,
          '--file',
          fileOf(`step-${flow}-${step}`, exampleOf(stepBodies[step])),
          '--key',
          'k',
          ...(step === 'cancel' ? ['--of', 'bia'] : []),
        ],
        `POST /v1/${command}/{flowId}/${step}`,
        `/v1/${command}/${id}/${step}`,
      ),
    ),
    row(
      `${command} results`,
      [id, 'proposal', ...why],
      `POST /v1/${command}/{flowId}/results/{operation}`,
      `/v1/${command}/${id}/results/proposal`,
    ),
    ...(['retry', 'cancel'] as const).map((action) =>
      row(`${command} ${action}`, [id, ...why], `POST /v1/${command}/{flowId}/thaw`, `/v1/${command}/${id}/thaw`),
    ),
  ]),
];

function row(command: string, words: readonly string[], order: string, address: string): Row {
  return { command, words, order, sent: `POST ${address}` };
}

/** What changes a store, and is of a store that no process has open, or of what a process may have lost: there is nobody to ask. */
const besideTheStore: Readonly<Record<string, string>> = {
  export: 'takes the store of a stopped desk along',
  import: 'makes a store, before any desk runs on it',
  'views rebuild': 'gives up the folded files of a stopped desk',
  'audit accept-restore': 'says that a store that no desk starts on is an older one',
  'audit pass-over': 'says that a record that no desk gets past is passed over',
};

type Reading = readonly [command: string, words: readonly string[]];

/** What orders nothing and is read from the running desk, each with what it asks first. */
const readThere: readonly (readonly [...Reading, string])[] = [
  ['bids list', [], 'GET /v1/bids'],
  ['bids show', ['37400000012'], 'GET /v1/bids/37400000012'],
  ['review list', [], 'GET /v1/reviews'],
  ['controls show', [], 'GET /v1/controls'],
  ['controls history', [], 'GET /v1/controls/history'],
  ['letters list', [], 'GET /v1/dead-letters'],
  ['tokens list', [], 'GET /v1/tokens'],
  ['status', [], 'GET /v1/status'],
  ['doctor', [], 'GET /v1/status'],
  ['economics show', [], 'GET /v1/economics'],
  ['rules history', [], 'GET /v1/rules/history'],
  ['rules snoozes', [], 'GET /v1/rules/snoozes'],
  ['rules diff', ['live', 'live'], 'GET /v1/rules/sets/live'],
  ['rules checkout', ['live', join(directory, 'checkout')], 'GET /v1/rules/sets/live'],
  ['rules impact', [rules], 'GET /v1/rules/sets/live'],
  ['rules shadow', [], 'GET /v1/rules/sets/live'],
  ['contracts next', [], 'GET /v1/contracts'],
  ['events list', [], 'GET /v1/events'],
  ['events show', ['event:1'], 'GET /v1/events'],
  ...flows.flatMap(({ command, id }): (readonly [...Reading, string])[] => [
    [`${command} list`, [], `GET /v1/${command}`],
    [`${command} show`, [id], `GET /v1/${command}/${id}`],
    [`${command} history`, [id], `GET /v1/${command}/${id}/history`],
  ]),
];

/** What no desk tells over HTTP: it is read from the store of this machine, which the command says. */
const readHere: readonly Reading[] = [
  ['rules hits', []],
  ['rules try', ['Only eligible workers']],
  ['rules explain', ['--request', '37400000012']],
  ['rules experiments', []],
  ['views verify', []],
  ['audit verify', []],
  ['audit export', [join(directory, 'auctions.ndjson')]],
  ['model card', []],
  ['backtest', ['--log']],
  ['contracts example', ['37400000012']],
];

/** What reads files alone, or says why it reads nothing while a desk is named; processes of their own. */
const readingFiles: readonly string[] = [
  ...['events history', 'renegotiations example', 'withdrawals example', 'lookups example', 'performance import'],
  ...['rules check', 'rules test', 'rules reasons', 'rules schema', 'rules new', 'rules import', 'rules backtest'],
  ...['economics propose', 'loan quote', 'mapping try', 'learn', 'run', 'demo', 'sandbox'],
];

/** Orders of the API without a command, and why. */
const withoutCommand: Readonly<Record<string, string>> = {
  'POST /v1/logout': 'ends the session of a browser',
  'POST /v1/margins/query': 'reads a margin, on record; a POST so that no CPF stands in an address',
};

function commandsOf(command: Command, words: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [words.join(' ')];
  return command.commands.flatMap((inner) => commandsOf(inner, [...words, inner.name()]));
}

test('every command is in a table, and every order of the API has its command', async (context) => {
  const program = new Command('lance');
  program.command('run');
  program.command('demo');
  registerCommands(program, { format: createFormat('en') } as Parameters<typeof registerCommands>[1]);
  const reading = [...readThere, ...readHere].map(([command]) => command);
  const ordering = [...new Set(orders.map(({ command }) => command)), ...Object.keys(besideTheStore)];
  const known = [...ordering, ...reading, ...readingFiles];
  assert.deepEqual(known.sort(), commandsOf(program).sort());
  const { call } = await startApi(context);
  const { paths } = (await call('GET', '/v1/openapi.json', { role: null })).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  const ofApi = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [`${method.toUpperCase()} ${path}`])),
  );
  const covered = new Set([...orders.map(({ order }) => order), ...Object.keys(withoutCommand)]);
  assert.deepEqual([...covered].sort(), ofApi.sort());
});

/** Who orders says so, and may say why. */
const ordererOptions = ['--by', '--reason'];
/** What is written down of these says itself what for. */
const withoutReason: Readonly<Record<string, string>> = {
  ...Object.fromEntries(flows.map(({ command }) => [`${command} start: --reason`, 'the file says what is wanted'])),
  'export: --reason': 'the mark of the move names the file',
  'import: --by --reason': 'who exported the file stands in it',
  'views rebuild: --by --reason': 'no record is changed, and none is written',
};

function lacking(command: Command, words: readonly string[]): string[] {
  if (words.length > 0) return lacking(command.commands.find((inner) => inner.name() === words[0])!, words.slice(1));
  const known = command.options.map(({ long }) => long);
  return ordererOptions.filter((option) => !known.includes(option));
}

test('every command that orders takes --by and --reason', () => {
  const program = new Command('lance');
  registerCommands(program, { format: createFormat('en') } as Parameters<typeof registerCommands>[1]);
  const ordering = [...new Set(orders.map(({ command }) => command)), ...Object.keys(besideTheStore)];
  const found = ordering.flatMap((command) => {
    const options = lacking(program, command.split(' '));
    return options.length === 0 ? [] : [`${command}: ${options.join(' ')}`];
  });
  assert.deepEqual(found.sort(), Object.keys(withoutReason).sort());
});

const token = 'a-token-of-ana';
const asked: { line: string; authorization: string | undefined; isAsWritten: boolean }[] = [];
const server = createServer((request, response) => {
  const answer = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  let body = '';
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString();
  });
  request.on('end', () => {
    const line = `${request.method} ${request.url}`;
    asked.push({
      line,
      authorization: request.headers.authorization,
      isAsWritten: request.method === 'GET' || body.startsWith('{'),
    });
    if (line === 'GET /v1/identity') return answer(200, { name: 'ana' });
    const [, of] = /^GET \/v1\/\w+\/([\w-]+)$/.exec(line) ?? [];
    if (of !== undefined)
      return answer(200, { ...(exampleOf(flowSchema) as object), flowId: of, by: 'bia', steps: [] });
    return answer(409, { detail: `kept back: ${line}` });
  });
});

before(async () => {
  cpSync(fileURLToPath(new URL('../../rules', import.meta.url)), rules, { recursive: true });
  for (const to of [shadowed, join(shadowed, 'shadow')]) cpSync(rules, to, { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

test('with LANCE_URL and LANCE_TOKEN each order goes through the API, with the token and without --by or a store', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = {
    LANCE_URL: url,
    LANCE_TOKEN: token,
    LANCE_DATA_DIR: join(directory, 'nowhere'),
    LANCE_LANG: 'en',
  };
  const wrong: string[] = [];
  // One step of each kind of flow: the others differ by their address alone.
  const each = [...new Map(orders.map((order) => [order.command, order])).values()];
  await twoAtATime(each, async ({ command, words, sent }) => {
    const { code, stderr } = await lance(environment, ...command.split(' '), ...words);
    const isTold = stderr.replaceAll(/\s+/g, ' ').includes(`kept back: ${sent}`);
    if (code === 0 || !isTold) wrong.push(`${command} ${words[1] ?? ''}: ${code} ${stderr}`);
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    asked.filter(({ authorization, isAsWritten }) => authorization !== `Bearer ${token}` || !isAsWritten),
    [],
  );
});

test('what is read is read from the desk that LANCE_URL names, or the command says that it is not', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = {
    ...{ LANCE_URL: url, LANCE_TOKEN: token, LANCE_LANG: 'en', LANCE_RULES_DIR: shadowed },
    // A store of this machine: what is asked of the desk is not read here all the same.
    ...{ LANCE_DATA_DIR: join(directory, 'nowhere'), LANCE_PSEUDONYM_KEY: 'p'.repeat(44) },
  };
  const wrong: string[] = [];
  const note = /Read here, in .*nowhere, and not from the desk at http/;
  await twoAtATime(readThere, async ([command, words, first]) => {
    const { code, stdout, stderr } = await lance(environment, ...command.split(' '), ...words);
    const isAsked = asked.some(({ line }) => line === first || line.startsWith(`${first}?`));
    const isDone = code === 0 && !/ show$/.test(command);
    if (isDone || !isAsked || note.test(stderr.replaceAll(/\s+/g, ' ')) || /There is no desk in/.test(stderr))
      wrong.push(`${command}: ${code} ${stdout}${stderr}`);
  });
  await twoAtATime(readHere, async ([command, words]) => {
    const { code, stderr } = await lance(environment, ...command.split(' '), ...words);
    if (code === 0 || !note.test(stderr.replaceAll(/\s+/g, ' '))) wrong.push(`${command}: ${code} ${stderr}`);
  });
  assert.deepEqual(wrong, []);
});

test('a name that is typed beside a token has to be that of its owner', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = { LANCE_URL: url, LANCE_TOKEN: token, LANCE_LANG: 'en' };
  for (const { command, words } of orders.filter(({ command }) =>
    ['contracts start', 'lookups results', 'bids worker'].includes(command),
  )) {
    const { code, stderr } = await lance(environment, ...command.split(' '), ...words, '--by', 'bruno');
    assert.deepEqual([code, /is of ana, not of bruno/.test(stderr)], [65, true], `${command}: ${stderr}`);
  }
});

test('the flow of a colleague is cancelled over the API as well only with --of', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = { LANCE_URL: url, LANCE_TOKEN: token, LANCE_LANG: 'en' };
  const { code, stderr } = await lance(environment, 'contracts', 'step', 'c-37400000012', 'cancel', ...why);
  assert.deepEqual([code, /--of bia/.test(stderr)], [65, true], stderr);
  const unsaid = await lance(
    environment,
    'renegotiations',
    'start',
    '--file',
    fileOf('unsaid', exampleOf(renegotiationBody)),
  );
  assert.deepEqual(
    [unsaid.code, /there is no estimate first/.test(unsaid.stderr.replaceAll(/\s+/g, ' '))],
    [65, true],
    unsaid.stderr,
  );
});
