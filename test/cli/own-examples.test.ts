/** What `example` prints of a flow or a bid that is there, and what it leaves open; without a desk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { type ExampleOptions, showExample } from '../../src/cli/flow-examples.ts';
import type { StartedKind } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { Fault } from '../../src/errors.ts';
import { issueTexts } from '../../src/http/api/remedies.ts';
import { contractBody, withdrawalBody } from '../../src/http/api/schemas.ts';
import { leftOpenProblem } from '../../src/origination/placeholders.ts';
import { type JsonObject, scalarsIn } from '../../src/wire/json.ts';
import { runningClock } from '../sandbox/clocks.ts';

const pseudonymKey = 'a key for the tests of examples';
const vault = createVault(pseudonymKey);
const requestId = '82000000001';
const flowId = `c-${requestId}`;
const account = {
  bankNumber: '341',
  branch: '0001',
  branchDigit: '9',
  account: '77',
  accountDigit: '1',
  accountType: 2,
};
const contract = {
  requestId,
  amountCents: 250_000,
  installments: 24,
  rateHundredths: 199,
  agentCpf: '39053344705',
  account,
};
const identity = {
  cpf: '52998224725',
  name: null,
  registration: 'M-12',
  employerId: '12345678000195',
  employerIdType: 1,
};

const reading = { by: 'ana', reason: 'conta errada' };
/** Written under the key of these tests. */
const keyedLog = { readKey: async () => [{ record: { content: vault.pseudonym('key-check') } }] };

function sealedOrder(link: object | null): string {
  return vault.seal(sealedPlaces.flowOrder(flowId), JSON.stringify({ contract, acceptedByWorker: true, link }));
}

/** `phase`: of the bid. `link`: of the flow. */
async function exampleOf(
  flow: StartedKind,
  id: string | null,
  options: Partial<ExampleOptions>,
  {
    phase = 'proposed',
    link = null,
    key = pseudonymKey,
  }: { phase?: string; link?: object | null; key?: string | null },
): Promise<{ example: Record<string, unknown>; said: string; appended: readonly NewEntry[] }> {
  const said: string[] = [];
  const appended: NewEntry[] = [];
  let written = '';
  const offer = { amountCents: 250_000, installments: 24, rateHundredths: 199 };
  const bid = {
    state: { requestId, phase, claim: { offer }, winner: phase === 'proposed' ? {} : null, pass: null, answer: null },
  };
  const state = { flow: 'contract', flowId, sealed: sealedOrder(link), note: null };
  const reader = {
    views: { read: async () => new Map([[requestId, bid]]), query: async () => [] },
    flows: {
      findByCode: async () => new Map(),
      read: async (ids: string[]) => new Map(ids.includes(flowId) ? [[flowId, state]] : []),
    },
    log: keyedLog,
    appendBeside: async (entries: readonly NewEntry[]) => void appended.push(...entries),
    close: () => undefined,
  };
  const world = {
    remote: () => null,
    clock: runningClock,
    format: createFormat('en'),
    terminal: { say: (text: string) => said.push(text), write: (text: string) => (written = text) },
    place: () => ({ store: null, pseudonymKey: key }),
    openReader: async () => reader,
    writing: () => ({ pseudonymKey }),
    createVault,
  } as unknown as CommandWorld;
  await showExample(world, flow, id, { step: null, set: [], ...options });
  return { example: JSON.parse(written), said: said.join('\n'), appended };
}

test('the example of an amendment holds what the flow has, and says what it does not have', async () => {
  const amend = { step: 'amend', reading };
  const { requestId: _, ...terms } = contract;
  const { name, ...own } = identity;
  for (const id of [flowId, requestId]) {
    const link = { identity, authorisationNumber: '880011' };
    const { example, said } = await exampleOf('contract', id, amend, { link });
    assert.deepEqual(example, { contract: terms, link: own, authorisationNumber: '880011' });
    assert.doesNotMatch(said, /Left open/);
  }
  const { appended } = await exampleOf('contract', flowId, amend, {
    link: { identity, authorisationNumber: '880011' },
  });
  const [entry, ...others] = appended;
  assert(entry?.topic === 'flows' && entry.record.kind === 'shown' && others.length === 0, JSON.stringify(appended));
  const { record } = entry;
  assert.deepEqual([record.flowId, record.by, record.what], [flowId, 'ana', 'order']);
  assert.equal(vault.open(sealedPlaces.flowReason(flowId), record.sealedReason!), '"conta errada"');
  const without = await exampleOf('contract', flowId, amend, {});
  assert.deepEqual(without.example.contract, terms);
  assert.deepEqual(Object.keys(without.example.link as object), Object.keys(own));
  assert.match(without.said, /Left open, .*link\.registration/);
  assert.equal((without.example.link as { registration: string }).registration, '<registration>');
  assert.match(without.said, /Left open, .*authorisationNumber/);
  const sealed = await exampleOf('contract', flowId, amend, {
    link: { identity, authorisationNumber: null },
    key: null,
  });
  assert.match(sealed.said, /Left open, .*contract\.amountCents/);
  await assert.rejects(exampleOf('contract', '82000000009', amend, {}), /no flow c-82000000009/);
});

test('nobody reads the worker of an order without being recorded (back office, session 48)', async () => {
  const link = { identity, authorisationNumber: '880011' };
  const { example, said, appended } = await exampleOf('contract', flowId, { step: 'amend' }, { link });
  assert.deepEqual(appended, []);
  const { account, agentCpf, amountCents } = example.contract as Record<string, unknown>;
  assert.equal(amountCents, contract.amountCents);
  assert.match(said, /with --by NAME and --reason TEXT they are shown, and that is recorded/);
  assert.match(said, /Left open, .*contract\.agentCpf/);
  const written = JSON.stringify([account, agentCpf, example.link, example.authorisationNumber]);
  for (const personal of [identity.cpf, identity.registration, '880011', contract.agentCpf, contract.account.account])
    assert.ok(!written.includes(personal), `${personal}: ${written}`);
});

test('what --set leaves out of a part is taken from the flow, and other parts are left out', async () => {
  const link = { identity, authorisationNumber: '880011' };
  const { example } = await exampleOf(
    'contract',
    flowId,
    { step: 'amend', set: ['link.registration=M-13', 'authorisationNumber=880012'], reading },
    { link },
  );
  const { name, ...own } = identity;
  assert.deepEqual(example, { link: { ...own, registration: 'M-13' }, authorisationNumber: '880012' });
  await assert.rejects(
    exampleOf('contract', flowId, { step: 'amend', set: ['link.registration=M-13'], reading }, {}),
    /link\.cpf: is missing/,
    'nothing is made up for it',
  );
});

test('a bid that is lost has no order, and one whose end is open says so', async () => {
  await assert.rejects(exampleOf('contract', requestId, {}, { phase: 'lost' }), (fault) => {
    assert.ok(fault instanceof Fault && fault.code === 'not-allowed');
    assert.match(fault.message, /82000000001: .* is lost, not contemplated/);
    return true;
  });
  const open = await exampleOf('contract', requestId, {}, { phase: 'accepted' });
  assert.match(open.said, /82000000001: .* is accepted, not contemplated/);
  assert.equal(open.example.amountCents, 250_000);
  const won = await exampleOf('contract', requestId, {}, { phase: 'proposed' });
  assert.doesNotMatch(won.said, /contemplated/);
});

test('the example of a step leaves open what nobody but the asker knows, place by place', async () => {
  const inclusion = { step: 'inclusion', set: ['account.bankNumber=341'] };
  const { said } = await exampleOf('withdrawal', null, inclusion, {});
  const [, open] = /^Left open, [^:]*: (.*)\.$/m.exec(said) ?? [];
  const places = open?.split(', ') ?? [];
  for (const place of ['birthDate', 'account.accountType', 'account.holderCpf', 'period'])
    assert.ok(places.includes(place), `${place}: ${said}`);
  assert.ok(!places.includes('account.bankNumber'), said);
});

test('an order of a won bid holds what the bid promised, and invents nothing', async () => {
  const { example, said } = await exampleOf('contract', requestId, { set: ['account.accountType=2'] }, {});
  assert.deepEqual(example, {
    ...{ requestId, amountCents: 250_000, installments: 24, rateHundredths: 199, agentCpf: '<agent cpf>' },
    account: {
      ...{ accountType: 2, branch: '<branch>', branchDigit: '<branch digit>', account: '<account>' },
      ...{ accountDigit: '<account digit>', bankNumber: '<bank number>' },
    },
    workerAccepted: false,
  });
  assert.match(said, /Left open, .* agentCpf, account\.branch/);
  // Values of the form that a field wants are taken for what they are, also where the field was open.
  const filled = await exampleOf('withdrawal', null, { set: ['birthDate=1990-05-17', 'cpf=52998224725'] }, {});
  assert.deepEqual(filled.example, { cpf: '52998224725', birthDate: '1990-05-17' });
});

test('no example of an order or a step holds a made-up text or number', async () => {
  for (const [flow, steps] of [
    ['contract', [null, 'amend', 'sign', 'confirm']],
    ['renegotiation', [null, 'amend', 'confirm']],
    ['withdrawal', [null, 'simulation', 'inclusion', 'splits', 'signers', 'installments', 'account-update']],
    ['lookup', [null]],
  ] as const) {
    for (const step of steps) {
      const { example } = await exampleOf(flow, null, { step }, {});
      const invented = scalarsIn(example as JsonObject, { longest: 200, most: 100 }).filter(
        ({ path, text }) =>
          !/^<[a-z ]+>$/.test(text) && !/^(true|false)$/.test(text) && !path.endsWith('authorisationNumber'),
      );
      assert.deepEqual(invented, [], `${flow} ${step}`);
    }
  }
});

test('a start refuses whatever is left open by its name, all of it at once', () => {
  const body = { cpf: '<cpf>', birthDate: '<birth date>', proposalCode: 'e3b0' };
  assert.deepEqual(issueTexts(withdrawalBody.safeParse(body).error!, body, withdrawalBody), [
    ['cpf', leftOpenProblem],
    ['birthDate', leftOpenProblem],
  ]);
  const account = { accountType: 2, branch: '<branch>', branchDigit: '9', account: '1', accountDigit: '0' };
  const order = {
    ...contract,
    agentCpf: '<agent cpf>',
    workerAccepted: true,
    account: { ...account, bankNumber: '341' },
  };
  assert.deepEqual(issueTexts(contractBody.safeParse(order).error!, order, contractBody), [
    ['agentCpf', leftOpenProblem],
    ['account.branch', leftOpenProblem],
  ]);
});

test('a text in place of an amount is told what the field is', async () => {
  await assert.rejects(
    exampleOf('contract', requestId, { set: ['amountCents=abc'] }, {}),
    /amountCents: write a whole number, in whole cents of a real/,
  );
});
