/** What the tests of the pages after the win begin with: a contract whose note has come. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Flow } from '../flows/client.ts';
import type { startApi } from '../http/api-house.ts';

const agentCpf = '11144477735';
const account = {
  ...{ accountType: 2, branch: '0001', branchDigit: '9', account: '1', accountDigit: '7', bankNumber: '341' },
};
type House = Awaited<ReturnType<typeof startApi>>;

/** A contract whose note has come. */
export async function contractToSign({ call, sandbox }: House): Promise<Flow> {
  await sandbox.run(25);
  const won = sandbox.record.of('won').find(({ errors }) => errors.length === 0)!;
  const { requestId, amountCents, installments, rateHundredths } = won;
  const body = { requestId, workerAccepted: true, amountCents, installments, rateHundredths, agentCpf, account };
  const begun = await call('POST', '/v1/contracts', { key: 'c1', body });
  assert.equal(begun.status, 201, begun.text);
  const path = `/v1/contracts/${(begun.body as Flow).flowId}`;
  return until(
    async () => (await call('GET', path)).body as Flow,
    ({ phase }) => phase === 'awaiting-signature',
  );
}

export async function until<T>(read: () => Promise<T>, is: (value: T) => boolean): Promise<T> {
  for (let round = 0; round < 400; round += 1) {
    const value = await read();
    if (is(value)) return value;
    await sleep(25);
  }
  throw new Error(`never: ${JSON.stringify(await read())}`);
}
