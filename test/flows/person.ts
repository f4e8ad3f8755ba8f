/**
 * Whoever drives a flow through a partner's screens: takes the next step, waits, and where an operation is unclear looks at
 * the service's own books (which an operator sees in its portal) and says what it finds there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { ApiClient, Flow } from './client.ts';

export type Told = { flow: Flow; resolved: number; amended: number };

const pollMs = 80;
const patienceMs = 120_000;
const agentCpf = '11144477735';
const account = {
  accountType: 2,
  branch: '0001',
  branchDigit: '9',
  account: '123456',
  accountDigit: '7',
  bankNumber: '341',
};

export type Won = { requestId: string; amountCents: number; installments: number; rateHundredths: number };

type Resolution = { step: 'confirm' | 'deny'; code: string | null };

function createWalk(client: ApiClient, path: string) {
  let keys = 0;
  const told = { resolved: 0, amended: 0 };
  /** The person's own key for the next thing asked; the same when it is asked again. */
  async function ask(flowId: string, step: string, body: object): Promise<Flow | null> {
    keys += 1;
    const answer = await client.post(`${path}/${flowId}/${step}`, `${flowId}-${keys}`, body);
    return answer.status === 200 || answer.status === 202 ? (answer.body as Flow) : null;
  }
  /** Until the flow needs somebody; answers of its own steps included. */
  async function rest(
    flowId: string,
    isOver: (flow: Flow) => boolean,
    resolve: (flow: Flow) => Promise<Resolution>,
  ): Promise<Flow> {
    for (const until = Date.now() + patienceMs; Date.now() < until; ) {
      const flow = (await client.get(`${path}/${flowId}`)).body as Flow;
      if (flow.operation?.status === 'unclear') {
        const { step, code } = await resolve(flow);
        told.resolved += 1;
        // The books show what became of it, whatever other flows' events wait.
        const despite = step === 'deny' ? { despiteEvents: true } : {};
        await ask(flowId, step, {
          ...{ reason: 'seen in the portal', ...despite },
          ...(code === null || step === 'deny' ? {} : { requestCode: code }),
        });
      } else if (isOver(flow)) return flow;
      await sleep(pollMs);
    }
    const flow = (await client.get(`${path}/${flowId}`)).body as Flow;
    throw new Error(`${flowId} stands still: ${JSON.stringify(flow)}`);
  }
  return { ask, rest, told };
}

export async function walkContract(client: ApiClient, sandbox: Sandbox, won: Won): Promise<Told> {
  const { requestId, amountCents, installments, rateHundredths } = won;
  const { ask, rest, told } = createWalk(client, '/contracts');
  const terms = { amountCents, installments, rateHundredths, agentCpf, account };
  const begin = () => client.post('/contracts', `start-${requestId}`, { requestId, workerAccepted: true, ...terms });
  let begun = await begin();
  // The sandbox has told the win: a process that has just been given the partition may not have folded the request yet, or
  // only the published bids and not the contemplation after them. A person waits until the desk shows it.
  const isEarly = () => begun.status === 404 || (begun.status === 409 && ruleOf(begun.body) === 'bid-won');
  for (const until = Date.now() + patienceMs; isEarly() && Date.now() < until; begun = await begin()) {
    await sleep(pollMs);
  }
  if (begun.status !== 200 && begun.status !== 201) throw new Error(`${requestId}: ${JSON.stringify(begun)}`);
  const { flowId } = begun.body as Flow;
  // Nobody releases money before the endorsement is shown to be done.
  const isOver = ({ phase, shownDone }: Flow) =>
    phase === 'endorsed'
      ? shownDone
      : ['awaiting-signature', 'refused', 'withheld', 'endorsement-refused', 'failed', 'cancelled'].includes(phase);
  for (let amount = amountCents; ; ) {
    const flow = await rest(flowId, isOver, async (unclear) => contractInBooks(sandbox, requestId, unclear));
    if (flow.phase === 'endorsed' || flow.phase === 'failed') return { flow, ...told };
    if (flow.phase === 'awaiting-signature' || flow.phase === 'endorsement-refused') {
      const content = { numeroContrato: flow.note!.noteNumber, assinatura: 'biometria' };
      await ask(flowId, 'sign', { signedAt: new Date().toISOString(), content, despiteEvents: true });
    } else {
      // The margin has shrunk, mostly: less is asked for.
      amount = Math.round(amount * 0.9);
      told.amended += 1;
      // The books show that it was refused, whatever other flows' events wait.
      await ask(flowId, 'amend', {
        contract: { ...terms, amountCents: amount },
        despiteEvents: true,
        despiteBid: true,
      });
    }
  }
}

/** The rule of a refusal, as the problem details give it. */
function ruleOf(body: unknown): string | null {
  return (body as { errors?: { rule: string }[] }).errors?.[0]?.rule ?? null;
}

/** What the service has executed, and under which code. */
function contractInBooks(sandbox: Sandbox, requestId: string, flow: Flow): Resolution {
  const executed = sandbox.record.of('operation');
  if (flow.operation!.operation === 'endorsement') {
    const done = executed.some(
      ({ operation, subject }) => operation === 'endorsement' && subject === flow.note!.noteNumber,
    );
    return { step: done ? 'confirm' : 'deny', code: null };
  }
  const done = executed.findLast(
    ({ operation, subject }) => operation === 'contract' && subject.startsWith(`${requestId}@`),
  );
  return { step: done === undefined ? 'deny' : 'confirm', code: done?.requestCode ?? null };
}

export async function walkWithdrawal(client: ApiClient, sandbox: Sandbox, cpf: string): Promise<Told> {
  const { birthDate } = sandbox.withdrawals.holder(cpf);
  const { ask, rest, told } = createWalk(client, '/withdrawals');
  const begun = await client.post('/withdrawals', `start-${cpf}`, { cpf, birthDate });
  if (begun.status !== 200 && begun.status !== 201) throw new Error(`withdrawal: ${JSON.stringify(begun)}`);
  const { flowId } = begun.body as Flow;
  const holder = { holderCpf: cpf, holderName: 'Trabalhador Exemplo' };
  const signer = { name: 'Trabalhador Exemplo', document: cpf, ip: '203.0.113.9' };
  // Whoever signs does so when the step is asked for: the inclusion may have taken minutes.
  const signed = () => ({ signers: [{ ...signer, signedAt: new Date().toISOString() }] });
  const steps: [string, object | (() => object)][] = [
    ['simulation', { birthDate, rateHundredths: 179 }],
    ['inclusion', { period: 1, birthDate, operationCode: `OP-${flowId}`, account: { ...account, ...holder } }],
    ['proposal', {}],
    ['splits', { splits: [{ amountCents: 1_000, fieldId: 'TAXA', document: cpf, pixKey: { key: cpf } }] }],
    ['account-update', { fields: { numeroBanco: '341', documentoFederalPagamento: cpf } }],
    ['signers', signed],
    ['finalisation', {}],
    ['installments', { asOf: '2027-01-10' }],
  ];
  const books = (flow: Flow) => withdrawalInBooks(client, sandbox, cpf, flow);
  for (const [step, body] of steps) {
    for (let tries = 0; ; tries += 1) {
      if (tries > 20) throw new Error(`${flowId} never gets past ${step}`);
      const before = await rest(flowId, isIdle, books);
      // A person who says "not done" asks again.
      if (before.steps.some((taken) => taken.step === step && taken.outcome === 'done')) break;
      if (before.errors.length > 0 || before.breaches.length > 0)
        throw new Error(`${flowId}: ${JSON.stringify(before)}`);
      const asked = await ask(flowId, step, typeof body === 'function' ? body() : body);
      if (asked === null) await sleep(pollMs);
    }
  }
  return { flow: await rest(flowId, isIdle, books), ...told };
}

function isIdle({ operation }: Flow): boolean {
  return operation === null || (operation.status !== 'asked' && operation.status !== 'intended');
}

async function withdrawalInBooks(client: ApiClient, sandbox: Sandbox, cpf: string, flow: Flow): Promise<Resolution> {
  const { body } = await client.get(`/withdrawals/${flow.flowId}/history`);
  const records = (body as { records: { kind: string; idempotencyKey?: string }[] }).records;
  const key = records.findLast(({ kind }) => kind === 'intended')?.idempotencyKey ?? null;
  const done = sandbox.record.of('operation').some((one) => one.key !== null && one.key === key);
  const proposal = sandbox.withdrawals.proposals().find((one) => one.cpf === cpf);
  const code = flow.operation!.operation === 'inclusion' ? (proposal?.code ?? null) : null;
  return { step: done ? 'confirm' : 'deny', code };
}
