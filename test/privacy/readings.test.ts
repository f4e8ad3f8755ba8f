/**
 * Whatever the API and the console show of a person leaves a record with the identity of who read it: every address that can be read,
 * on a desk that knows a worker by CPF, name and account.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { loggedIn } from '../console/person.ts';
import { type Reply, startApi } from '../http/api-house.ts';

const account = {
  ...{ accountType: 2, branch: '7301', branchDigit: '9', account: '70451983', accountDigit: '7', bankNumber: '341' },
};
const agentCpf = '11144477735';
type Reading = { kind: string; by: string; via: string | undefined };

test('what names a worker is read on record, whichever address shows it', async (context) => {
  const { call, sandbox, store, engine } = await startApi(context);
  await sandbox.run(25);
  const hasMargin = async (id: string) => (await call('GET', `/v1/bids/${id}/margin`)).status === 200;
  let won = sandbox.record.of('won')[0]!;
  for (const each of sandbox.record.of('won'))
    if (each.errors.length === 0 && (await hasMargin(each.requestId))) won = each;
  const { requestId, amountCents, installments, rateHundredths } = won;
  const readings = async (): Promise<Reading[]> => {
    const found: Reading[] = [];
    for (const topic of ['auctions', 'flows'] as const)
      for await (const { record } of readTopic(store.log, topic))
        if (record.kind === 'worker-read' || record.kind === 'shown')
          found.push({ kind: record.kind, by: record.by, via: record.via });
    for await (const { record } of readTopic(store.log, 'callbacks'))
      if (record.kind === 'personal-read') found.push({ kind: record.kind, by: record.by, via: record.via });
    return found;
  };
  const reason = { reason: 'ligação 123' };
  const worker = await call('POST', `/v1/bids/${requestId}/worker`, { role: 'operator', body: reason });
  assert.equal(worker.status, 200, worker.text);
  const { cpf, name, registration, employerIdType, employerId } = worker.body as Record<
    'cpf' | 'name' | 'registration' | 'employerId',
    string
  > & { employerIdType: number | null };
  const order = { requestId, workerAccepted: true, amountCents, installments, rateHundredths, agentCpf, account };
  const contract = await call('POST', '/v1/contracts', { key: 'c-1', body: order });
  assert.equal(contract.status, 201, contract.text);
  const lookup = await call('POST', '/v1/lookups', { key: 'l-1', body: { cpf, reason: 'o cliente pediu' } });
  assert.equal(lookup.status, 201, lookup.text);
  const idOf = ({ body }: Reply) => (body as { flowId: string }).flowId;
  const ids: Readonly<Record<string, string>> = { contracts: idOf(contract), lookups: idOf(lookup) };
  const lookupPath = `/v1/lookups/${ids.lookups}`;
  for (let looks = 0; ((await call('GET', lookupPath)).body as { phase: string }).phase !== 'answered'; looks += 1) {
    assert.ok(looks < 200);
    await sleep(50);
  }
  const person = await loggedIn(engine.url, 'admin');
  // A search by CPF shows no CPF either.
  const { paths } = (await call('GET', '/v1/openapi.json', { role: null })).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  const addresses = Object.entries(paths)
    .filter(([path, methods]) => 'get' in methods && path !== '/v1/login')
    .map(([path]) =>
      path
        .replace('{requestId}', requestId)
        .replace('{set}', 'live')
        .replace('{name}', 'mesa')
        .replace('{operation}', path.includes('/lookups/') ? 'links' : 'proposal')
        .replace('{flowId}', ids[path.split('/')[2]!] ?? 'none'),
    );
  const pages = [
    ...['/', '/console/requests', `/console/requests/${requestId}`, '/console/controls', '/console/flows'],
    ...['contracts', 'lookups'].flatMap((kind) => [`/console/flows/${kind}`, `/console/flows/${kind}/${ids[kind]}`]),
    ...['/console/rules', '/console/operations', '/console/operations/letters', '/console/market', '/console/runbooks'],
  ];
  const formatted = cpf.replace(/(\d{3})(\d{3})(\d{3})(\d\d)/, '$1.$2.$3-$4');
  // The service writes it as a number.
  const asNumber = String(Number(cpf));
  const personal = { cpf, asNumber, formatted, name, account: account.account };
  const unrecorded: string[] = [];
  const looked = [
    ...addresses.map((path) => ({ path, look: () => call('GET', path, { role: 'admin' }) })),
    ...pages.map((path) => ({ path, look: () => person.get(path) })),
  ];
  assert.ok(looked.length > 40, String(looked.length));
  for (const { path, look } of looked) {
    const before = (await readings()).length;
    const { text } = await look();
    const found = Object.entries(personal).flatMap(([what, value]) => (text.includes(value) ? [what] : []));
    if (found.length === 0) continue;
    const after = (await readings()).slice(before);
    if (!after.some(({ by, via }) => by === 'admin' && via === 'api')) unrecorded.push(`${path}: ${found.join(', ')}`);
  }
  assert.deepEqual(unrecorded, []);
  // What is read on record shows it whole, by each way there is, in the name of who asks.
  const payments = `contracts/${ids.contracts}/results/payments`;
  const margin = { cpf, registration, employerIdType, employerId };
  const ways: readonly [what: string, show: () => Promise<{ status: number; text: string }>, personal: string][] = [
    ['POST worker', () => call('POST', `/v1/bids/${requestId}/worker`, { body: reason }), cpf],
    ['GET payments', () => call('GET', `/v1/${payments}`), account.account],
    ['POST payments', () => call('POST', `/v1/${payments}`, { body: reason }), account.account],
    ['POST margin', () => call('POST', '/v1/margins/query', { body: margin }), 'availableMarginCents'],
    ['POST links', () => call('POST', `${lookupPath}/results/links`, { body: reason }), asNumber],
    [
      'console',
      async () => {
        const path = `/console/flows/${payments}`;
        const { text } = await person.get(`/console/flows/contracts/${ids.contracts}`);
        return person.post(path, { ...person.hiddenIn(text, path), ...reason });
      },
      account.account,
    ],
  ];
  for (const [what, show, expected] of ways) {
    const before = (await readings()).length;
    const { status, text } = await show();
    assert.ok(status === 200 && text.includes(expected), `${what}: ${status} ${text.slice(0, 300)}`);
    const after = (await readings()).slice(before);
    assert.deepEqual(
      after.map(({ by, via }) => `${by} ${via}`),
      ['admin api'],
      what,
    );
  }
  // Machines ask for margins thousands of times a day. The book of orders is held in memory, so it says once a day who does.
  const asks = Array.from({ length: 12 }, () => () => call('POST', '/v1/margins/query', { body: margin }));
  const replies = await Promise.all(asks.map((ask) => ask()));
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
  const stranger = { ...margin, cpf: agentCpf };
  const unknown = await call('POST', '/v1/margins/query', { role: 'operator', body: stranger });
  assert.equal(unknown.status, 404, unknown.text);
  const margins = (await readings())
    .filter(({ kind }) => kind === 'personal-read')
    .map(({ by, via }) => `${by} ${via}`);
  assert.deepEqual(margins, [...Array<string>(13).fill('admin api'), 'operator api']);
  const { orders } = (await call('GET', '/v1/controls/history')).body as {
    orders: { kind: string; by: string; via: string; what: string }[];
  };
  assert.deepEqual(
    orders
      .filter(({ kind }) => kind === 'personal-read')
      .map(({ what, by, via }) => `${what} ${by} ${via}`)
      .sort(),
    ['margins-queried admin api', 'margins-queried operator api'],
  );
  assert.ok(!JSON.stringify(orders).includes(cpf));
});
