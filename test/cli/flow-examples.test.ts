/** The orders that `lance … example` prints, carried out against the played service: a contract, its renegotiation, a withdrawal. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { steadyPort } from '../crash/desk-process.ts';
import { flowsEnvironment, flowsSandbox, noRivals, webhookToken } from '../flows/world.ts';
import { runningClock } from '../sandbox/clocks.ts';
import { lance, startDaemon, twoAtATime } from './desk.ts';

type Shown = { flowId: string; phase: string; note: { noteNumber: string } | null };

test('what example prints works against the sandbox, once what it leaves open is filled in (line 17)', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-examples-'));
  const settings = flowsSandbox(false);
  const sandbox = createSandbox({ settings, seed: 4, clock: runningClock, rivals: noRivals });
  const { url } = await sandbox.listen(0);
  const port = await steadyPort(Math.random);
  const accessToken = settings.tokens.accessToken;
  const ofDesk = flowsEnvironment({ directory, port, serviceUrl: url, accessToken, place: null });
  const daemon = await startDaemon(ofDesk);
  context.after(async () => {
    await daemon.stop();
    await sandbox.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const { LANCE_DATA_DIR, LANCE_PSEUDONYM_KEY } = ofDesk;
  const environment = { LANCE_DATA_DIR: LANCE_DATA_DIR!, LANCE_PSEUDONYM_KEY: LANCE_PSEUDONYM_KEY!, LANCE_LANG: 'en' };

  /** What an example says, as it is, in a file. */
  async function exampleFile(name: string, ...words: string[]): Promise<{ path: string; said: string }> {
    const example = await lance(environment, ...words);
    assert.equal(example.code, 0, example.stderr);
    const path = join(directory, `${name}.json`);
    writeFileSync(path, example.stdout);
    return { path, said: example.stderr };
  }
  async function ask(...words: string[]): Promise<Shown> {
    const asked = await lance(environment, ...words, '--by', 'ana', '--json');
    assert.equal(asked.code, 0, asked.stderr);
    return JSON.parse(asked.stdout) as Shown;
  }
  async function until(kind: string, flowId: string, phase: string): Promise<Shown> {
    for (let round = 0; ; round += 1) {
      const shown = JSON.parse((await lance(environment, kind, 'show', flowId, '--json')).stdout) as Shown;
      if (shown.phase === phase) return shown;
      assert.ok(round < 20, JSON.stringify(shown));
    }
  }

  const madeUp = await exampleFile('made-up', 'contracts', 'example');
  assert.match(madeUp.said, /requestId and terms are left open/);
  assert.match(madeUp.said, /Left open, .*: requestId, amountCents,/);
  sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
  // Auctions are short here: on a busy machine some end without a bid.
  for (let round = 0; sandbox.takers().length === 0 && round < 10; round += 1) await sandbox.run(8);
  const [person] = sandbox.takers();
  assert.ok(person !== undefined);
  const asItIs = await exampleFile('as-it-is', 'contracts', 'example', person.requestId);
  assert.match(asItIs.said, /Left open, .*: agentCpf, account\.accountType/);
  // Whether the worker has taken the proposal somebody has to say.
  for (const { said } of [madeUp, asItIs]) assert.match(said, /workerAccepted is false, and the order is refused/);
  assert.doesNotMatch(asItIs.said, /Left open, .*workerAccepted/);
  const ofNobody = await exampleFile('of-nobody', 'withdrawals', 'example');
  assert.match(ofNobody.said, /Left open, .*cpf, birthDate/);
  for (const kind of ['renegotiations', 'lookups']) {
    const queried = await exampleFile(`of-${kind}`, kind, 'example');
    assert.match(queried.said, /authorisationNumber is left out\. .*--set authorisationNumber=NSU/);
    const authorised = await exampleFile(`authorised-${kind}`, kind, 'example', '--set', 'authorisationNumber=880011');
    assert.doesNotMatch(authorised.said, /authorisationNumber/);
  }
  assert.match(asItIs.said, /Left open, .* account\.branch, account\.branchDigit, account\.account/);
  /** Nobody can be paid by what the example made up. */
  async function refusedAsItIs(path: string, fields: readonly string[], ...words: string[]): Promise<void> {
    const refused = await lance(environment, ...words, '--file', path, '--by', 'ana');
    assert.equal(refused.code, 65, refused.stdout);
    for (const field of fields) {
      assert.ok(refused.stderr.includes(`${field}: this is what the example left open: send the real value`), field);
    }
  }
  const ofOrder = ['agentCpf', 'account.accountType', 'account.branch', 'account.account'];
  await refusedAsItIs(asItIs.path, ofOrder, 'contracts', 'start');
  const parts = {
    accountType: '2',
    branch: '0001',
    branchDigit: '9',
    account: '123456',
    accountDigit: '0',
    bankNumber: '341',
  };
  const paid = Object.entries(parts).flatMap(([name, value]) => ['--set', `account.${name}=${value}`]);
  const agent = ['--set', 'agentCpf=11144477735'];
  const withoutAgent = await exampleFile('without-agent', 'contracts', 'example', person.requestId, ...paid);
  await refusedAsItIs(withoutAgent.path, ['agentCpf'], 'contracts', 'start');
  const undecided = await exampleFile('undecided', 'contracts', 'example', person.requestId, ...paid, ...agent);
  const refusedFirst = await lance(environment, 'contracts', 'start', '--file', undecided.path, '--by', 'ana');
  assert.equal(refusedFirst.code, 65, refusedFirst.stdout);
  assert.match(refusedFirst.stderr, /the order says \(workerAccepted: false\) that the worker has not taken/);
  const taken = ['--set', 'workerAccepted=true'];
  const order = await exampleFile('order', 'contracts', 'example', person.requestId, ...paid, ...agent, ...taken);
  assert.doesNotMatch(order.said, /workerAccepted is false/);
  assert.doesNotMatch(order.said, /Left open/);
  const { flowId } = await ask('contracts', 'start', '--file', order.path);
  assert.equal(flowId, `c-${person.requestId}`);
  const { note } = await until('contracts', flowId, 'awaiting-signature');
  // The number of the note is that of the flow, which is named by its own id or by that of the request.
  for (const id of [flowId, person.requestId]) {
    const open = await exampleFile('open', 'contracts', 'example', id, '--step', 'sign');
    assert.match(open.said, /Left open, .*: signedAt, content\.assinatura\.$/m, 'nobody knows yet when it was signed');
    await refusedAsItIs(open.path, ['content.assinatura'], 'contracts', 'step', flowId, 'sign');
    const biometrics = ['--set', 'content.assinatura=biometria', '--set', `signedAt=${new Date().toISOString()}`];
    const { path } = await exampleFile('sign', 'contracts', 'example', id, '--step', 'sign', ...biometrics);
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).content.numeroContrato, note!.noteNumber);
  }
  const signature = { path: join(directory, 'sign.json') };
  const ofContract = await exampleFile('proposal-of-contract', 'contracts', 'example', '--step', 'proposal');
  await ask('contracts', 'step', flowId, 'proposal', '--file', ofContract.path);
  const answered = ['contracts', 'results', flowId, 'proposal', '--by', 'ana', '--reason', 'teste'];
  assert.match((await lance(environment, ...answered)).stdout, new RegExp(note!.noteNumber));
  for (const [step, field] of [
    ['confirm', 'requestCode'],
    ['amend', 'authorisationNumber'],
  ] as const) {
    const { path } = await exampleFile(step, 'contracts', 'example', '--step', step);
    await refusedAsItIs(path, [field], 'contracts', 'step', flowId, step);
  }
  const nowhere = { path: join(directory, 'nowhere.json') };
  writeFileSync(nowhere.path, JSON.stringify({ dto: { CodigoProposta: 'of-nobody' } }));
  const denied = await lance(
    environment,
    'contracts',
    'step',
    flowId,
    'proposal',
    '--file',
    nowhere.path,
    '--by',
    'ana',
  );
  assert.equal(denied.code, 65, denied.stderr);
  assert.match(denied.stderr, /dto\.CodigoProposta: leave the locator out/);
  await ask('contracts', 'step', flowId, 'sign', '--file', signature.path);
  await until('contracts', flowId, 'endorsed');
  const latest = await exampleFile('latest', 'contracts', 'example');
  assert.match(latest.said, /Of request \d+, the latest with a proposal/);

  const ended = await fetch(`${url}/sandbox/terminations/${note!.noteNumber}`, { method: 'POST' });
  assert.equal(ended.status, 200);
  const nobodys = await exampleFile('nobodys', 'renegotiations', 'example');
  await refusedAsItIs(
    nobodys.path,
    ['closedContract', 'installments', 'rateHundredths'],
    'renegotiations',
    'start',
    '--yes',
  );
  const terms = ['agentCpf=11144477735', 'contractType=1', 'employerIdType=1', 'installments=12', 'rateHundredths=150'];
  const agreed = terms.flatMap((each) => ['--set', each]);
  const link = ['cpf=52998224725', 'registration=M-77', 'employerId=12345678000195', 'originalRateHundredths=180'];
  const ofAnother = [...agreed, ...['closedContract=9001', ...link].flatMap((each) => ['--set', each])];
  const elsewhere = await exampleFile('elsewhere', 'renegotiations', 'example', ...ofAnother);
  const { flowId: ofAnotherLender } = await ask('renegotiations', 'start', '--yes', '--file', elsewhere.path);
  assert.match(ofAnotherLender, /^r-/);
  const again = await exampleFile(
    'renegotiation',
    ...['renegotiations', 'example', '--set', `closedContract=${note!.noteNumber}`, '--set', `cpf=${person.cpf}`],
    ...['--set', `registration=${person.registration}`, '--set', `employerId=${person.employerId}`],
    ...agreed,
  );
  assert.doesNotMatch(again.said, /Left open/);
  const unsent = await lance(environment, 'renegotiations', 'start', '--file', again.path, '--by', 'ana');
  assert.equal(unsent.code, 65);
  assert.match(unsent.stderr, /Nothing was sent\. The order is sent at once with --yes:/);
  assert.match(unsent.stderr, /closed loan → new loan\)\n *Instalments +\d+ → 12\n *Rate +\d\.\d\d % .*→ 1\.50 %/);
  assert.match(unsent.stderr, /Instalment +R\$ [\d,]+\.\d\d → R\$ [\d,]+\.\d\d \(estimate/);
  // Whoever mistakes the number is shown nothing of somebody else's loan (back office, session 48).
  const mistaken = await exampleFile(
    'mistaken',
    ...['renegotiations', 'example', '--set', `closedContract=${note!.noteNumber}`],
    ...[...agreed, ...link.slice(0, 3).flatMap((each) => ['--set', each])],
  );
  const stopped = await lance(environment, 'renegotiations', 'start', '--file', mistaken.path, '--by', 'ana');
  assert.equal(stopped.code, 65);
  assert.match(stopped.stderr, /closedContract: this contract was made here for another worker: correct cpf/m);
  assert.doesNotMatch(stopped.stderr, /R\$/);
  const renegotiation = await ask('renegotiations', 'start', '--yes', '--file', again.path);
  await until('renegotiations', renegotiation.flowId, 'renegotiated');

  const { birthDate } = sandbox.withdrawals.holder(person.cpf);
  const born = ['--set', `birthDate=${birthDate}`];
  const loan = await exampleFile('withdrawal', 'withdrawals', 'example', '--set', `cpf=${person.cpf}`, ...born);
  const withdrawal = await ask('withdrawals', 'start', '--file', loan.path);
  const simulate = ['--step', 'simulation', '--set', `birthDate=${birthDate}`];
  const simulation = await exampleFile('simulation', 'withdrawals', 'example', ...simulate);
  await ask('withdrawals', 'step', withdrawal.flowId, 'simulation', '--file', simulation.path);
  await until('withdrawals', withdrawal.flowId, 'simulated');
  const include = ['--set', `birthDate=${birthDate}`, '--set', `account.holderCpf=${person.cpf}`, ...paid];
  const toNobody = await exampleFile('to-nobody', 'withdrawals', 'example', '--step', 'inclusion', ...include);
  await refusedAsItIs(
    toNobody.path,
    ['period', 'account.holderName'],
    'withdrawals',
    'step',
    withdrawal.flowId,
    'inclusion',
  );
  include.push('--set', 'account.holderName=Maria Exemplo', '--set', 'period=3');
  const inclusion = await exampleFile('inclusion', 'withdrawals', 'example', '--step', 'inclusion', ...include);
  await ask('withdrawals', 'step', withdrawal.flowId, 'inclusion', '--file', inclusion.path);
  await until('withdrawals', withdrawal.flowId, 'included');
  const query = await exampleFile('proposal', 'withdrawals', 'example', '--step', 'proposal');
  await ask('withdrawals', 'step', withdrawal.flowId, 'proposal', '--file', query.path);
  await until('withdrawals', withdrawal.flowId, 'included');
  const split = ['withdrawals', 'example', '--step', 'splits'];
  const paidToNobody = await exampleFile('paid-to-nobody', ...split);
  await refusedAsItIs(paidToNobody.path, ['splits.0.pixKey.key'], 'withdrawals', 'step', withdrawal.flowId, 'splits');
  const entry = ['pixKey.key=maria@exemplo.example', 'fieldId=A', 'amountCents=1000'].flatMap((each) => [
    '--set',
    `splits.0.${each}`,
  ]);
  const splits = await exampleFile('splits', ...split, ...entry);
  await ask('withdrawals', 'step', withdrawal.flowId, 'splits', '--file', splits.path);
  await exampleFile('finalisation', 'withdrawals', 'example', '--step', 'finalisation');
  const asked = ['--set', 'installments=12', '--set', 'asOf=2026-03-10'];
  await exampleFile('installments', 'withdrawals', 'example', '--step', 'installments', ...asked);
  const left: readonly (readonly [step: string, ...fields: string[]])[] = [
    ['account-update', 'fields.agencia', 'fields.conta', 'fields.documentoFederalPagamento'],
    ['accept', 'reason'],
    ['cancel', 'reason'],
    ['deny', 'reason'],
    ['confirm', 'requestCode', 'reason'],
    ['signers', 'signers.0.name', 'signers.0.document', 'signers.0.signedAt', 'signers.0.ip'],
  ];
  for (const [step, ...fields] of left) {
    const { path } = await exampleFile(step, 'withdrawals', 'example', '--step', step);
    await refusedAsItIs(path, fields, 'withdrawals', 'step', withdrawal.flowId, step);
  }
  const signer = ['--step', 'signers', '--set', `signers.0.document=${person.cpf}`];
  signer.push('--set', 'signers.0.name=Maria Exemplo', '--set', 'signers.0.ip=203.0.113.9');
  signer.push('--set', `signers.0.signedAt=${new Date().toISOString()}`);
  const signers = await exampleFile('signers', 'withdrawals', 'example', ...signer);
  await ask('withdrawals', 'step', withdrawal.flowId, 'signers', '--file', signers.path);
  await until('withdrawals', withdrawal.flowId, 'signed');
  const seen = await lance(environment, 'withdrawals', 'show', withdrawal.flowId);
  assert.match(seen.stdout, /^Amount +R\$ [\d,]+\.\d\d$/m);
  const amount = /^Amount +(.+)$/m.exec(seen.stdout)![1]!;
  const told = ['withdrawals', 'results', withdrawal.flowId, 'proposal', '--by', 'ana', '--reason', 'teste'];
  assert.ok(
    (await lance(environment, ...told)).stdout.includes(amount),
    'what was included is what the service credits',
  );
  const listedInstallments = { path: join(directory, 'installments.json') };
  await ask('withdrawals', 'step', withdrawal.flowId, 'installments', '--file', listedInstallments.path);
  for (const [kind, figure] of [
    ['withdrawals', amount],
    ['contracts', 'R$ '],
  ] as const) {
    const listed = await lance(environment, kind, 'list');
    const row = listed.stdout.split('\n').find((line) => line.includes(`${person.cpf.slice(6, 9)}-**`));
    assert.ok(row?.includes(figure), listed.stdout);
  }

  const amended = await lance(environment, 'renegotiations', 'example', '--step', 'amend');
  assert.deepEqual(JSON.parse(amended.stdout), { renegotiation: { installments: '<installments>' } });
  const longer = ['renegotiations', 'example', '--step', 'amend', '--set', 'renegotiation.installments=48'];
  const termOnly = await lance(environment, ...longer);
  assert.deepEqual(JSON.parse(termOnly.stdout), { renegotiation: { installments: 48 } });

  const names = ['cpf=52998224725', 'registration=M-8', 'employerId=12345678000195', 'employerIdType=1'];
  const relinked = names.flatMap((each) => ['--set', `link.${each}`]);
  const another = await lance(environment, 'renegotiations', 'example', '--step', 'amend', ...relinked);
  assert.deepEqual(JSON.parse(another.stdout), {
    link: { cpf: '52998224725', registration: 'M-8', employerId: '12345678000195', employerIdType: 1 },
  });

  const unknown = [
    [['renegotiations', 'example', '--step', 'amend', '--set', 'link.registration=M-8'], /link\.cpf: is missing/],
    [
      ['renegotiations', 'example', '--step', 'amend', '--set', 'conta.x=1'],
      /fields here are: contract, renegotiation, link/,
    ],
    [['contracts', 'example', '1'], /There is no bid of request 1/],
    [['withdrawals', 'example', '--step', 'sign'], /sign is no step/],
    [['withdrawals', 'example', '--set', 'cpf=1'], /cpf: send the 11 digits/],
    [['withdrawals', 'example', '--set', 'nome.x=1'], /nome\.x=1 is no field=value/],
    [['withdrawals', 'example', '--set', '__proto__=1'], /is no field=value|not known here/],
  ] as const;
  await twoAtATime(unknown, async ([words, problem]) => {
    const refused = await lance(environment, ...words);
    assert.notEqual(refused.code, 0, words.join(' '));
    assert.match(refused.stderr, problem);
  });
});
