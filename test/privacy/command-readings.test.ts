/**
 * Whatever a command prints or writes of a person leaves a record with who read it: every command, beside a desk that knows a worker by
 * CPF, name and account. A command that is in no table here fails the test.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { Command } from 'commander';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { registerCommands } from '../../src/cli/commands.ts';
import { createFormat } from '../../src/cli/format.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon, twoAtATime } from '../cli/desk.ts';

let played: Played;
let daemon: Daemon;
let environment: Record<string, string> & { LANCE_DATA_DIR: string };
let out: string;
let requestId: string;
let worker: { cpf: string; name: string };
let contractId: string;
let lookupId: string;
const agentCpf = '11144477735';
const account = {
  ...{ accountType: 2, branch: '7301', branchDigit: '9', account: '70451983', accountDigit: '7', bankNumber: '341' },
};
const asAna = ['--by', 'ana', '--reason', 'ligação 123'];

const fileOf = (name: string, value: unknown): string => {
  const path = join(played.directory, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
};

async function ran(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await lance(environment, ...words);
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return stdout;
}

before(async () => {
  played = await openStage(8);
  environment = { ...played.environment, LANCE_LANG: 'en' };
  out = join(played.directory, 'out');
  mkdirSync(out);
  daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(30);
  const won = played.sandbox.record.of('won').find(({ errors }) => errors.length === 0)!;
  requestId = won.requestId;
  const shown = () => lance(environment, 'bids', 'worker', requestId, ...asAna, '--json');
  for (let looks = 0; (await shown()).code !== 0; looks += 1) {
    assert.ok(looks < 60, (await shown()).stderr);
    await sleep(300);
  }
  worker = JSON.parse((await shown()).stdout);
  const { amountCents, installments, rateHundredths } = won;
  const contract = fileOf('contract.json', {
    ...{ requestId, workerAccepted: true, amountCents, installments, rateHundredths, agentCpf, account },
  });
  const lookup = fileOf('lookup.json', { cpf: worker.cpf, reason: 'o cliente pediu' });
  const start = (flow: string, file: string) => ran(flow, 'start', '--file', file, '--by', 'ana', '--json');
  contractId = JSON.parse(await start('contracts', contract)).flowId;
  lookupId = JSON.parse(await start('lookups', lookup)).flowId;
  for (let looks = 0; JSON.parse(await ran('lookups', 'show', lookupId, '--json')).phase !== 'answered'; looks += 1) {
    assert.ok(looks < 40);
    await sleep(200);
  }
});

after(async () => {
  await daemon.stop();
  await played.close();
});

/** Processes of their own, and what makes no reading because it has nothing of a desk yet. */
const notRun: Readonly<Record<string, string>> = {
  run: 'a process that serves; its addresses are read in readings.test.ts',
  demo: 'a desk of its own, of people that are made up',
  sandbox: 'people that are made up',
  import: 'takes in what was exported on record, into an empty place',
};

const flowWords = (flow: string, id: string): Record<string, string[]> => ({
  [`${flow} list`]: [],
  [`${flow} show`]: [id],
  [`${flow} history`]: [id],
});
const flowCommands = (flow: string, id: string): Record<string, string[]> => ({
  ...flowWords(flow, id),
  [`${flow} results`]: [id, flow === 'lookups' ? 'links' : 'payments', ...asAna],
  [`${flow} start`]: ['--file', join(played.directory, 'contract.json'), '--by', 'ana'],
  [`${flow} example`]: [],
  [`${flow} step`]: [id, 'cancel', ...asAna],
  [`${flow} retry`]: [id, ...asAna],
  [`${flow} cancel`]: [id, ...asAna],
});

/** Every other command with its words. */
const commands = (): Record<string, string[]> => ({
  'bids list': [],
  'bids show': [requestId],
  'bids worker': [requestId, ...asAna],
  'bids resolve': [requestId, '--as', 'lost', ...asAna],
  'bids retry': [requestId, ...asAna],
  'bids cancel': [requestId, ...asAna],
  pause: asAna,
  resume: asAna,
  cap: ['mesa', '--reais-a-day', '1000000', ...asAna],
  'controls show': [],
  'controls history': [],
  'loan quote': ['--amount', '5000', '--installments', '12', '--rate', '3'],
  'review list': [],
  'review decide': [requestId, '--pass', ...asAna],
  'rules check': [],
  'rules test': [],
  'rules reasons': [],
  'rules schema': [join(out, 'schema')],
  'rules new': [join(out, 'new')],
  'rules import': ['--list', 'x', join(out, 'none.csv')],
  'rules propose': [],
  'rules approve': ['live', '--by', 'ana'],
  'rules activate': ['live', '--by', 'ana'],
  'rules rollback': ['--by', 'ana'],
  'rules approval': ['off', '--by', 'ana'],
  'rules history': [],
  'rules snooze': ['Only eligible workers', '--until', '2030-01-01', ...asAna],
  'rules resume': ['Only eligible workers', ...asAna],
  'rules snoozes': [],
  'rules diff': ['live', 'live'],
  'rules checkout': ['live', join(out, 'checkout')],
  'rules hits': [],
  'rules try': ['Only eligible workers'],
  'rules explain': ['Only eligible workers', '--request', requestId],
  'rules impact': ['--draws', '20'],
  'rules shadow': ['--draws', '20'],
  'rules experiments': [],
  'rules backtest': [join(out, 'none.csv')],
  'economics show': [],
  'economics propose': [],
  'economics approve': ['5d1c0e88fa21', '--by', 'ana'],
  ...flowCommands('contracts', contractId),
  'contracts example': [requestId, ...asAna],
  'contracts next': [],
  ...flowCommands('renegotiations', 'r-1'),
  ...flowCommands('withdrawals', 'w-1'),
  ...flowCommands('lookups', lookupId),
  ...flowWords('events', 'event:1'),
  'events close': ['event:1', ...asAna],
  'events retry': ['event:1', ...asAna],
  'events cancel': ['event:1', ...asAna],
  'letters list': [],
  'letters replay': ['--by', 'ana'],
  'letters dismiss': ['0/0', ...asAna],
  'tokens create': ['--owner', 'bia', '--role', 'viewer', '--by', 'ana'],
  'tokens list': [],
  'tokens revoke': ['none', '--by', 'ana'],
  'mapping try': [fileOf('none.json', {})],
  'views verify': [],
  'views rebuild': ['--by', 'ana'],
  'audit verify': [],
  'audit accept-restore': asAna,
  'audit pass-over': ['lance.auctions/0', '0', ...asAna],
  'audit export': [join(out, 'auctions.ndjson')],
  'performance import': [join(out, 'none.csv')],
  'model card': [],
  backtest: ['--log'],
  learn: [join(out, 'none.csv')],
  status: [],
  doctor: [],
});

type Reading = { by: string; via: string | undefined };

async function readings(): Promise<Reading[]> {
  const reader = await openEmbeddedReader({ directory: environment.LANCE_DATA_DIR });
  try {
    const found: Reading[] = [];
    for (const topic of ['auctions', 'flows'] as const)
      for await (const { record } of readTopic(reader.log, topic))
        if (record.kind === 'worker-read' || record.kind === 'shown') found.push({ by: record.by, via: record.via });
    for (const entry of await reader.ruleBook.read()) if (entry.kind === 'personal-read') found.push(entry);
    return found;
  } finally {
    await reader.close();
  }
}

function writtenIn(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files
    .map((file) => {
      const bytes = readFileSync(join(file.parentPath, file.name));
      return file.name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString();
    })
    .join('\n');
}

function commandsOf(command: Command, words: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [words.join(' ')];
  return command.commands.flatMap((inner) => commandsOf(inner, [...words, inner.name()]));
}

test('every command is in the table', () => {
  const program = new Command('lance');
  program.command('run');
  program.command('demo');
  registerCommands(program, { format: createFormat('en') } as Parameters<typeof registerCommands>[1]);
  const known = [...Object.keys(notRun), ...Object.keys(commands()), 'export'];
  assert.deepEqual(known.sort(), commandsOf(program).sort());
});

/** What says something of a person, on record, and what it says is looked for in. */
const onRecord = (): [string, string[]][] => [
  ['bids worker', [requestId, ...asAna]],
  ['contracts results', [contractId, 'payments', ...asAna]],
  ['lookups results', [lookupId, 'links', ...asAna, '--json']],
  ['audit export', [join(out, 'auctions.ndjson')]],
];

test('what a command says of a person it says on record', { timeout: 400_000 }, async () => {
  const { cpf, name } = worker;
  const formatted = cpf.replace(/(\d{3})(\d{3})(\d{3})(\d\d)/, '$1.$2.$3-$4');
  const personal = { cpf, asNumber: String(Number(cpf)), formatted, name, account: account.account };
  const personalIn = (text: string) =>
    Object.entries(personal).flatMap(([what, value]) => (text.includes(value) ? [what] : []));
  const recorded = new Set(onRecord().map(([command]) => command));
  const others = Object.entries(commands()).flatMap(([command, words]): [string, string[]][] => {
    if (recorded.has(command)) return [];
    const asJson = /^(bids|contracts|lookups|letters|rules) (list|show|history|next|explain|try)$/.test(command);
    return [[command, words], ...(asJson ? [[command, [...words, '--json']] as [string, string[]]] : [])];
  });
  const said = await twoAtATime(others, async ([command, words]) => {
    const { stdout, stderr } = await lance(environment, ...command.split(' '), ...words);
    return personalIn(`${stdout}${stderr}`).map((what) => `${command}: ${what}`);
  });
  assert.deepEqual([said.flat(), personalIn(writtenIn(out))], [[], []]);

  const look = async (command: string, words: readonly string[]) => {
    const before = (await readings()).length;
    const { stdout, stderr } = await lance(environment, ...command.split(' '), ...words);
    const read = (await readings()).slice(before);
    const who = read.map(({ by, via }) => `${by} ${via}`);
    return { text: `${stdout}${stderr}`, who };
  };
  const user = userInfo().username;
  for (const [command, words] of onRecord()) {
    const { text, who } = await look(command, words);
    assert.notDeepEqual(personalIn(`${text}${writtenIn(out)}`), [], `${command}: ${text}`);
    assert.deepEqual(who, [`${words.includes('ana') ? 'ana' : user} offline`], command);
  }
  // A search says nothing of the person that was not typed; whose requests these are is personal all the same.
  for (const list of ['bids', 'contracts', 'renegotiations', 'withdrawals', 'lookups'])
    assert.deepEqual((await look(`${list} list`, ['--cpf', cpf, '--by', 'bia'])).who, ['bia offline'], list);
  await daemon.stop();
  await ran('pause', ...asAna);
  const carried = await look('export', [join(out, 'desk.ndjson.gz')]);
  assert.deepEqual(carried.who, [`${user} offline`], carried.text);
  await ran('export', '--undo');

  type Order = { kind: string; what?: string; by: string; via: string; requests?: number; file?: string };
  const history = jsonLines<Order>(await ran('controls', 'history', '--json'));
  const orders = history.filter(({ kind }) => kind === 'personal-read');
  const kinds = [...Map.groupBy(orders, ({ what }) => what)].map(([what, each]) => [what, each.length]);
  assert.deepEqual(kinds, [
    ['desk-exported', 1],
    ['worker-searched', 5],
    ['requests-exported', 1],
  ]);
  const exported = orders.at(-1)!;
  assert.deepEqual([exported.requests, exported.file], [30, join(out, 'auctions.ndjson')]);
  assert.ok(!JSON.stringify(orders).includes(cpf));
  assert.match(
    await ran('controls', 'history'),
    /\(offline\)\n {4}personal data read: requests exported, requests: 30,\n/,
  );
});
