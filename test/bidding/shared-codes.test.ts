/** Two bids under one code of the service: what is told under it waits with both until a person says whose it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openHouse } from './house.ts';
import {
  accepted,
  answered,
  claimed,
  contemplated,
  folded,
  offer,
  proposed,
  requested,
  requestId,
  resolved,
} from './parts.ts';

const others = ['another'];
const sharedWin = { ...contemplated(), sharedWith: others };
const sharedProposal = { ...proposed(), sharedWith: others };
const standing = [requested(), claimed(), answered(accepted)] as const;

test('an event that may be of another request changes nothing but what is kept, once of each kind', () => {
  const before = folded(...standing);
  const { unclaimed, ...after } = folded(...standing, sharedWin, sharedProposal, {
    ...sharedProposal,
    proposalNumber: '8',
  });
  assert.deepEqual(after, before);
  assert.deepEqual(unclaimed?.contemplated?.sharedWith, others);
  assert.equal(unclaimed?.proposed?.proposalNumber, '8');
  assert.equal(JSON.stringify(unclaimed).includes('"sealed"'), false);
});

test('a person says that the worker chose this one: the proposal that was kept is its own', () => {
  const own = folded(...standing, contemplated(), proposed()).winner;
  const state = folded(...standing, sharedWin, sharedProposal, resolved('contemplated'));
  assert.deepEqual([state.phase, state.exposure, state.unclaimed], ['proposed', 'committed', undefined]);
  assert.deepEqual(state.winner, own);
  assert.equal(state.requestId, requestId);
});

test('a person says that this one was lost: what was kept is of another one', () => {
  const state = folded(...standing, sharedWin, sharedProposal, resolved('lost'));
  assert.deepEqual([state.phase, state.winner, state.unclaimed], ['lost', null, undefined]);
});

test('one that was known to be chosen before the code was shared gets its proposal by the word of a person too', () => {
  const state = folded(...standing, contemplated(), sharedProposal);
  assert.equal(state.phase, 'contemplated');
  assert.equal(folded(...standing, contemplated(), sharedProposal, resolved('contemplated')).phase, 'proposed');
});

test('a failed contract that was kept is failed for the one that it is of', () => {
  const failed = { ...sharedProposal, errors: ['E1'] };
  const state = folded(...standing, sharedWin, failed, resolved('contemplated'));
  assert.deepEqual([state.phase, state.exposure, state.winner?.errors], ['winner-failed', 'released', ['E1']]);
});

test('the desk: one code for two bids raises an alarm, wins nothing by itself, and a person says whose it is', async () => {
  const lines: string[] = [];
  const house = await openHouse({ seed: 16, sandbox: {}, bidding: {}, onLine: (line) => lines.push(line) });
  const code = '0f0f0f0f-0000-4000-8000-000000000001';
  const send = async (payload: object): Promise<number> => {
    const body = JSON.stringify({
      CodigoRequisicao: code,
      Endpoint: '/contrato/oferta-leilao/incluir-lance',
      Payload: payload,
    });
    return (await fetch(`${house.engine.url}/webhooks/token-of-the-webhooks`, { method: 'POST', body })).status;
  };
  const stateOf = async (id: string) => (await house.store.views.read([id])).get(id)?.state;
  const until = async (isThere: () => Promise<boolean>) => {
    for (let polls = 0; !(await isThere()) && polls < 200; polls += 1) await setTimeout(20);
    assert.ok(await isThere());
  };
  try {
    const now = Date.now();
    for (const id of ['50700000700', '50700000701']) {
      const request = { ...requested().request, requestId: id, receivedAt: now, closesAt: null, expiresAt: null };
      const life = [
        requested({ request }),
        claimed('a:1', { offer: { ...offer, validUntil: now + 100_000 } }),
        answered({ kind: 'accepted', bidId: code }),
      ];
      const records = life.map((record) => ({ ...record, requestId: id, at: now }));
      await house.store.log.append(records.map((record) => ({ topic: 'auctions', key: id, record })));
      await until(async () => (await stateOf(id))?.phase === 'accepted');
    }
    await until(async () => lines.some((line) => line.includes('code-shared')));
    const { requestId, sharedWith } = JSON.parse(lines.find((line) => line.includes('code-shared'))!);
    assert.deepEqual([requestId, sharedWith], ['50700000701', ['50700000700']], 'ids of 11 digits are not masked');
    await send({ Conteudo: { Mensagem: 'Lance contemplado' }, Erros: [] });
    await send({
      conteudo: { codigo: 'P9', numeroProposta: '79', idSolicitacaoResposta: 1, hashOperacao: 1 },
      errors: [],
      hashOperacao: '1',
    });
    for (const id of ['50700000700', '50700000701'])
      await until(async () => (await stateOf(id))?.unclaimed?.proposed?.proposalNumber === '79');
    assert.deepEqual(
      [(await stateOf('50700000700'))?.phase, (await stateOf('50700000701'))?.phase],
      ['accepted', 'accepted'],
    );
    assert.equal(lines.filter((line) => line.includes('code-shared')).length, 1);
    const word = { ...resolved('contemplated'), requestId: '50700000700', at: now };
    await house.store.log.append([{ topic: 'auctions', key: '50700000700', record: word }]);
    await until(async () => (await stateOf('50700000700'))?.phase === 'proposed');
    assert.deepEqual(
      [(await stateOf('50700000700'))?.winner?.proposalNumber, (await stateOf('50700000701'))?.phase],
      ['79', 'accepted'],
    );
  } finally {
    await house.close();
  }
});
