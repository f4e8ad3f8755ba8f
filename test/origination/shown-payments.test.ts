/** To which account money goes is shown to those who work on flows, before it is sent and after (clerk, issue 16). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowStep } from '../../src/domain/flow-records.ts';
import { flowView } from '../../src/http/api/views.ts';
import { createFlowWorld, type FlowWorld } from './flow-world.ts';
import { asked, plainVault, settings, started, stepRequests } from './orders.ts';

const { open } = plainVault;
const english = createFormat('en');
const show = (world: FlowWorld) => flowText(english, world.state(), { open, settings });
const statuses = ({ state }: FlowWorld) =>
  flowView(state(), open, settings).payments!.map(({ of, status }) => `${of} ${status}`);

let steps = 0;
function step(world: FlowWorld, name: FlowStep, request: object, settled = true): void {
  const { flowId } = world.state();
  steps += 1;
  world.append(
    asked(flowId, name, `s-${steps}`, world.world.now, { request, personKeys: [plainVault.pseudonym('52998224725')] }),
  );
  if (settled) world.settle();
}

test('a contract shows the account of its order, and whether the service has it', () => {
  const world = createFlowWorld(started('contract'));
  assert.match(
    show(world),
    /^Money goes to +bank 341, branch 0001-9, account …456-7, checking \(as ordered: not sent to the service\)$/m,
  );
  world.settle();
  assert.match(show(world), /account …456-7, checking \(as ordered: taken by the service, 2026-03-03 12:00 -03\)$/m);
  assert.deepEqual(flowView(world.state(), open, settings).payments, [
    {
      ...{ of: 'contract', at: world.world.now, status: 'taken', amountCents: null, paidOn: null, others: {} },
      to: {
        ...{ bankNumber: '341', accountType: '2', branch: '0001', branchDigit: '9', account: '…456' },
        accountDigit: '7',
      },
    },
  ]);
  const unclear = createFlowWorld(started('contract'));
  for (const fate of ['taken', 'taken', 'taken', 'lost-before'] as const) {
    unclear.plan(0);
    unclear.act(0, fate);
  }
  assert.equal(unclear.state().phase, 'unclear');
  assert.deepEqual(statuses(unclear), ['contract unclear']);
});

test('a withdrawal shows its account with its holder, its splits, and another account once it was sent', () => {
  const world = createFlowWorld(started('withdrawal'));
  assert.deepEqual(statuses(world), []);
  step(world, 'simulation', stepRequests.simulation);
  step(world, 'inclusion', stepRequests.inclusion, false);
  assert.deepEqual(statuses(world), ['inclusion ordered']);
  world.settle();
  step(world, 'proposal', { dto: {} });
  step(world, 'splits', { splits: [{ amountCents: 1_000, paidOn: '2026-03-10', pixKey: { key: '52998224725' } }] });
  const split = { amountCents: 2_500, bankNumber: '001', branch: '12', account: '7', payeeName: 'Loja' };
  step(world, 'splits', { splits: [{ ...split, document: '11222333000181' }] });
  const fields = { NumeroBanco: '033', dto: { conta: 99, nomePagamento: 'Maria', documentoFederal: '52998224725' } };
  step(world, 'account-update', { extra: { ...fields, apelido: 'nova' }, otherNames: true });
  assert.deepEqual(statuses(world), [...['inclusion taken', 'splits taken', 'splits taken', 'account-update taken']]);
  const text = show(world);
  for (const line of [
    /^Money goes to +bank 341, branch 0001-9, account …456-7, checking, of T\. E\., CPF or CNPJ \*\*\*\.982\.247-\*\* \(inclusion: taken by the service, /m,
    /^ +R\$ 10\.00, 2026-03-10, Pix \*\*\*\.982\.247-\*\* \(splits: taken/m,
    /^ +R\$ 25\.00, bank 001, branch 12, account …, of L\., CPF or CNPJ 11222333000181 \(splits: taken/m,
    /^ +bank 033, account …, apelido nova, of M\., CPF or CNPJ \*\*\*\.982\.247-\*\* \(account-update: taken/m,
  ])
    assert.match(text, line);
  assert.doesNotMatch(text, /52998224725/);
  const portuguese = flowText(createFormat('pt'), world.state(), { open, settings });
  assert.match(portuguese, /^O dinheiro vai para +banco 341, agência 0001-9, conta …456-7, corrente, de T\. E\./m);
  assert.match(
    portuguese,
    /^ +R\$ 10,00, 10\/03\/2026, Pix \*\*\*\.982\.247-\*\* \(splits \(.+\): aceito pelo serviço/m,
  );
});

test('nobody else is shown where money goes', () => {
  const world = createFlowWorld(started('contract'));
  assert.equal(flowView(world.state(), null, settings).payments, null);
  assert.doesNotMatch(flowText(english, world.state(), { open: null, settings }), /Money goes to|123456/);
});

test('of a flow that an earlier version folded the account of the inclusion is shown all the same', () => {
  const world = createFlowWorld(started('withdrawal'));
  step(world, 'simulation', stepRequests.simulation);
  step(world, 'inclusion', stepRequests.inclusion);
  const { payments: _, ...earlier } = world.state();
  assert.deepEqual(flowView(earlier, open, settings).payments, flowView(world.state(), open, settings).payments);
});

test('of many splits the latest are kept, and the inclusion', () => {
  const world = createFlowWorld(started('withdrawal'));
  step(world, 'simulation', stepRequests.simulation);
  step(world, 'inclusion', stepRequests.inclusion);
  step(world, 'proposal', { dto: {} });
  for (let turn = 0; turn < 60; turn += 1)
    step(world, 'splits', { splits: [{ amountCents: 100 + turn, pixKey: { key: '+5511987654321' } }] });
  const shown = flowView(world.state(), open, settings).payments!;
  assert.deepEqual([shown.length, shown[0]!.of, shown.at(-1)!.amountCents], [50, 'inclusion', 159]);
});
