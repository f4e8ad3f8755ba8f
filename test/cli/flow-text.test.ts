/** How a flow reads on the command line: money in reais, rates in percent, in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { createFlowWorld } from '../origination/flow-world.ts';
import { started } from '../origination/orders.ts';

test('a contract is shown in reais, with its credit note and what of it differs (line 18)', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  real.append(real.events[0]!);
  const english = flowText(createFormat('en'), real.state(), null);
  for (const line of [
    /^Amount +R\$ 10,000\.00$/m,
    /^Instalments +36$/m,
    /^Rate +2\.50 % a month$/m,
    /^Credit note +77$/m,
    /^Note: loan +R\$ 10,000\.00$/m,
    /^Note: IOF +R\$ 300\.00$/m,
    /^Note: instalment +R\$ 450\.00$/m,
    /iofCents: ours R\$ [\d,]+\.\d\d, the service's R\$ 300\.00/,
  ])
    assert.match(english, line);
  assert.doesNotMatch(english, /Note: insurance +null|undefined/);
  const portuguese = flowText(createFormat('pt'), real.state(), null);
  assert.match(portuguese, /^Valor +R\$ 10\.000,00$/m);
  assert.match(portuguese, /^CCB: parcela +R\$ 450,00$/m);
});
