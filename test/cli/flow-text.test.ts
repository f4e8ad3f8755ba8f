/** How a flow reads on the command line: money in reais, rates in percent, in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultText } from '../../src/cli/flow-results.ts';
import { factsText, flowText, listText, whyText } from '../../src/cli/flows.ts';
import { nextText } from '../../src/cli/flows-next.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { waitsFor } from '../../src/origination/next-steps.ts';
import { createFlowWorld, sampleNote } from '../origination/flow-world.ts';
import { settings, started } from '../origination/orders.ts';

test('a contract is shown in reais, with its credit note and what of it differs (line 18)', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  real.append({ ...told, note: { ...sampleNote, insuranceCents: null, rateMonthlyPercent: null } });
  const english = flowText(createFormat('en'), real.state(), { open: null, settings });
  for (const line of [
    /^Amount +R\$ 10,000\.00$/m,
    /^Instalments +36 \(of the order\)$/m,
    /^Rate +2\.50 % a month \(bid: 3\.00 % a month\) \(of the order\)$/m,
    /^Credit note +77$/m,
    /^Note: loan +R\$ 6,000\.00$/m,
    /^Note: IOF +R\$ 300\.00$/m,
    /^Note: instalment +R\$ 450\.00$/m,
    /IOF: ours R\$ [\d,]+\.\d\d, the service's R\$ 300\.00/,
    /^Not in the note +rate$/m,
    /^May be done next +cancel, regenerate, accept, proposal$/m,
  ])
    assert.match(english, line);
  assert.doesNotMatch(english, /Note: insurance +null|undefined/);
  const portuguese = flowText(createFormat('pt'), real.state(), { open: null, settings });
  assert.match(portuguese, /^Valor +R\$ 10\.000,00$/m);
  assert.match(portuguese, /^CCB: parcela +R\$ 450,00$/m);
  assert.match(portuguese, /^Taxa +2,50 % a\.m\. \(lance: 3,00 % a\.m\.\) \(do pedido\)$/m);
  assert.doesNotMatch(english, /^Note: rate/m, 'it names none');
  const another = createFlowWorld(started('contract'));
  another.settle();
  another.append({ ...told, note: { ...sampleNote, rateMonthlyPercent: 2.49, cetAnnualPercent: 41.5 } });
  const whole = flowText(createFormat('pt'), another.state(), { open: null, settings });
  assert.match(whole, /^CCB: CET ao ano +41,50 %$/m);
  assert.match(whole, /^CCB: taxa ao mês +2,49 %$/m);
});

test('an order below its bid says the bid, a figure that cannot be read is not said to be left out, and why is said once', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  const note = { ...sampleNote, insuranceCents: null, unreadable: ['insuranceCents'] as const };
  real.append({ ...told, note });
  const subject = { ...real.state().subject, amountLimitCents: 1_200_000 };
  const english = flowText(createFormat('en'), { ...real.state(), subject }, { open: null, settings });
  assert.match(english, /^Amount +R\$ 10,000\.00 \(bid: R\$ 12,000\.00\)$/m);
  assert.match(english, /^Not in the note +.*insurance \(came, but cannot be read\)$/m);
  const portuguese = flowText(createFormat('pt'), { ...real.state(), subject }, { open: null, settings });
  assert.match(portuguese, /seguro \(veio, mas não se lê\)/);
  const why = whyText(createFormat('pt'), real.state(), { open: null, settings });
  assert.ok(why !== null);
  assert.doesNotMatch(why, /por quê/, 'whoever shows it says so');
  assert.equal(nextText(createFormat('pt'), [real.state()], { open: null, settings }).split('por quê:').length, 2);
  assert.match(createFormat('en').texts.flows.meanings.endorsed, /the money may be released/);
  assert.match(
    createFormat('pt').texts.flows.serviceWillKeep('77'),
    /^O serviço não é avisado do cancelamento: a CCB 77/,
  );
});

test('what the service keeps agrees with what is named', () => {
  const { serviceKeeps } = createFormat('pt').texts.flows;
  assert.match(serviceKeeps('77'), /a CCB 77 precisa ser tratada com ele\.$/);
  assert.match(serviceKeeps(null), /o que ele gerou precisa ser tratado com ele\.$/);
});

test('a cancelled flow says how to begin it again', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const cancelled = { ...real.state(), phase: 'cancelled' as const, requestCode: null, generatedAt: null };
  const shown = (language: 'en' | 'pt', state: FlowState) =>
    flowText(createFormat(language), state, { open: null, settings }).replaceAll(/\s+/g, ' ');
  assert.match(
    shown('en', cancelled),
    /start it again under another key: lance contracts start --file ORDER --key KEY/,
  );
  assert.match(shown('pt', cancelled), /iniciar de novo com outra chave: lance contracts start/);
  const awaited = { ...real.state(), phase: 'cancelled' as const };
  assert.doesNotMatch(shown('en', awaited), /start it again/, 'its note is still awaited');
  assert.doesNotMatch(shown('en', real.state()), /start it again/);
});

test('a list says what each flow waits for of a person', () => {
  const real = createFlowWorld(started('contract'));
  const listed = () => listText(createFormat('en'), [real.state()], { flow: 'contract', open: null, settings });
  assert.deepEqual(waitsFor(real.state(), settings, null), []);
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  real.append({ ...told, note: sampleNote });
  assert.equal(real.state().phase, 'awaiting-signature');
  assert.match(listed(), /^Flow +Phase +Waits for +Begun/m);
  assert.match(listed(), /waits for the signature +accept /);
  const portuguese = listText(createFormat('pt'), [real.state()], { flow: 'contract', open: null, settings });
  assert.match(portuguese, / accept \(aceitar a CCB como veio\) /);
  const operation = { ...operationOf('proposal'), unknowns: 1, retryAt: null, reason: null };
  const at = (status: 'unclear' | 'intended') =>
    waitsFor({ ...real.state(), operation: { ...operation, status } }, settings, null);
  assert.deepEqual(at('unclear'), ['confirm', 'deny']);
  assert.deepEqual(at('intended'), []);
});

test('what waits for a person is told with what it needs and the command that gives it, in 80 columns', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  real.append({ ...told, note: sampleNote });
  const { flowId, startedAt } = real.state();
  const unclear = {
    ...real.state(),
    flowId: 'w-0123456789abcdef01234567',
    flow: 'withdrawal' as const,
    phase: 'simulated' as const,
    operation: { ...operationOf('inclusion'), unknowns: 1, retryAt: null, reason: null, status: 'unclear' as const },
  };
  const frozen = { ...real.state(), flowId: 'c-9', frozen: { at: 1, problem: 'x' } };
  const accepted = { ...real.state(), flowId: 'c-8', noteAccepted: { by: 'ana', at: startedAt } };
  const states = [real.state(), accepted, unclear, frozen];
  // With the key ids are shown whole.
  const open = () => '';
  const text = nextText(createFormat('en'), states, { open, settings });
  const since = createFormat('en').minute(startedAt);
  const until = [
    '  Sign and endorse before 2026-03-21 00:00 -03: from then on the competence is',
    '  another one, the contract is generated again, and the new note is signed.',
  ];
  assert.equal(
    text,
    [
      `${flowId}: waits for the signature, last change ${since}`,
      "  why: Not as calculated here: loan: ours R$ 10,329.51, the service's",
      '  R$ 6,000.00',
      ...until,
      '  accept:',
      `    lance contracts step ${flowId} accept --reason TEXT --by NAME`,
      '',
      `c-8: waits for the signature, last change ${since}`,
      ...until,
      '  sign:',
      '    lance contracts step c-8 sign --file FIELDS --by NAME',
      '',
      `w-0123456789abcdef01234567: simulated, last change ${since}`,
      '  confirm:',
      '    lance withdrawals step w-0123456789abcdef01234567 confirm --file FIELDS \\',
      '      --by NAME',
      '  deny:',
      '    lance withdrawals step w-0123456789abcdef01234567 deny --reason TEXT \\',
      '      --by NAME',
      '',
      `c-9: waits for the signature (frozen), last change ${since}`,
      '  read its records again (frozen):',
      '    lance contracts retry c-9 --by NAME --reason TEXT',
      '  end it (frozen):',
      '    lance contracts cancel c-9 --by NAME --reason TEXT',
    ].join('\n'),
  );
  const portuguese = nextText(createFormat('pt'), states, { open, settings });
  assert.match(portuguese, /^\S+: aguarda a assinatura, última mudança /m);
  assert.match(portuguese, /^ {2}sign \(entregar a assinatura\):$/m);
  assert.match(portuguese, /sign --file CAMPOS --by NOME$/m);
  for (const line of [...text.split('\n'), ...portuguese.split('\n')]) assert.ok(line.length <= 80, line);
});

test('in Portuguese the answers of a flow are named by what was asked', () => {
  const real = createFlowWorld(started('withdrawal'));
  const state = { ...real.state(), results: { proposal: { at: 1, sealedAnswer: 'x' } } };
  assert.match(
    flowText(createFormat('pt'), state, { open: null, settings }),
    /^Respostas do serviço +proposal \(consultar a proposta\) \(/m,
  );
});

test('in Portuguese steps, kinds of events and states of a proposal are said in words', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const pt = createFormat('pt');
  const state = {
    ...real.state(),
    situation: 3,
    steps: [{ stepId: 's', step: 'sign', by: 'ana', at: 0, requestHash: 'h', outcome: 'done' } as const],
  };
  const situated = flowText(pt, state, {
    open: null,
    settings: { ...settings, situations: [{ code: 3, state: 'pending-payment' }] },
  });
  assert.match(situated, /^Passos dados .* sign \(entregar a assinatura\) \(ana\): feito$/m);
  assert.match(situated, /^Situação .* 3 \(pagamento pendente\)$/m);
  assert.equal(factsText(pt, { of: 'operation' }), 'de operação');
  assert.equal(factsText(pt, { of: 'link-query' }), 'de consulta de vínculo');
  assert.equal(factsText(createFormat('en'), { of: 'link-query' }), 'of link-query');
  for (const text of Object.values(pt.texts.flows.help)) assert.doesNotMatch(text, /\blog\b/, text);
});

test('a history says limits and sealed words in the language of the reader', () => {
  const facts = { subject: { amountLimitCents: 100_000 }, errors: ['(sealed)'] };
  assert.equal(factsText(createFormat('pt'), facts), 'valor no máximo R$ 1.000,00; o serviço disse (selado)');
  assert.equal(factsText(createFormat('en'), facts), 'amount at most R$ 1,000.00; the service said (sealed)');
});

test('events of nobody are told apart by what their note says', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  const note = { ...sampleNote, loanCents: 600_000, installmentCents: 45_000, rateMonthlyPercent: 2.5 };
  const event = evolve(null, { ...told, flowId: 'event:q-9', requestCode: 'q-9', note }, settings)!;
  const text = listText(createFormat('en'), [event], { flow: 'event', open: null, settings });
  assert.match(text, /^Flow +Phase +Begun +Of +Credit note +Loan +Instalment +Rate +About$/m);
  assert.match(text, /contract +77 +R\$ 6,000\.00 +R\$ 450\.00 +2\.50 % +q-9$/m);
});

test('a flow that was refused says how it is sent once more', () => {
  const real = createFlowWorld(started('contract'));
  for (const fate of ['taken', 'taken', 'taken', 'refused'] as const) {
    real.plan(0);
    real.act(0, fate);
  }
  assert.equal(real.state().phase, 'refused');
  const next = /^May be done next +amend \(\{\} sends it once more\), cancel$/m;
  assert.match(flowText(createFormat('en'), real.state(), { open: null, settings }), next);
  assert.match(
    flowText(createFormat('pt'), real.state(), { open: null, settings }),
    /amend \(corrigir\) \(\{\} o envia mais uma vez\), cancel \(cancelar\)$/m,
  );
  // Also where it is listed: with the reason, and how it is sent as it is.
  const why = `why: The service said: ${flowView(real.state(), null, settings).errors[0]}`;
  const listed = nextText(createFormat('en'), [real.state()], { open: null, settings }).replaceAll(/\s+/g, ' ');
  assert.ok(listed.includes(why), listed);
  assert.match(listed, / amend \(\{\} sends it once more\): lance contracts step /);
  const breaches = [{ rule: 'r-1', field: 'terms', problem: 'it is too much' }];
  const withheld = { ...real.state(), phase: 'withheld' as const, breaches };
  assert.match(
    nextText(createFormat('pt'), [withheld], { open: null, settings }).replaceAll(/\s+/g, ' '),
    /por quê: [^:]+: terms \(r-1\)/,
  );
});

test('a flow says which answers it keeps, when it is tried again and what the service said of the proposal (clerk, issue 16)', () => {
  const real = createFlowWorld(started('withdrawal'));
  const state = {
    ...real.state(),
    situation: 3,
    results: { proposal: { at: 0, sealedAnswer: 'x' } },
    operation: { ...operationOf('proposal'), status: 'unclear', unknowns: 2, retryAt: 0, reason: 'timeout' },
  } as const;
  const beside = { open: null, settings: { ...settings, situations: [{ code: 3, state: 'finalized' as const }] } };
  const english = flowText(createFormat('en'), state, beside);
  for (const line of [
    /^Operation +proposal unclear 2×: timeout \(again from 1969-12-31 21:00:00\.000 -03\)$/m,
    /^Situation .+ 3 \(finalized\), 1969-12-31 21:00 -03$/m,
    /^Answers of the service +proposal \(1969-12-31 21:00 -03\)$/m,
    /^May be done next .*deny \(the step may then be asked for again\)/m,
  ])
    assert.match(english, line);
  const portuguese = flowText(createFormat('pt'), state, beside);
  assert.match(portuguese, /\(de novo a partir de 31\/12\/1969,? 21:00:00/);
  assert.match(portuguese, /^Respostas do serviço +proposal/m);
});

test('an operation is told as what became of it: given up, refused later, or over with its flow (clerk, session 33)', () => {
  const real = createFlowWorld(started('contract'));
  const lines = (more: Partial<FlowState>) =>
    flowText(createFormat('en'), { ...real.state(), ...more }, { open: null, settings });
  const ended = { ...operationOf('proposal'), stepId: 's1', unknowns: 0, retryAt: null, reason: null };
  assert.match(lines({ operation: { ...ended, status: 'rejected' } }), /^Operation +proposal not sent$/m);
  const done = { ...ended, status: 'done' } as const;
  assert.match(lines({ phase: 'refused', operation: done }), /^Operation +proposal taken at first, then refused/m);
  const waiting = { ...ended, status: 'not-sent', retryAt: 0, reason: 'unreachable' } as const;
  assert.match(lines({ operation: waiting }), /^Operation +proposal not sent: .+ \(again from 1969/m);
  assert.doesNotMatch(lines({ phase: 'cancelled', operation: waiting }), /again from/);
});

test('what a person wrote is shown as it was written, though it is also a code', () => {
  const asked = { by: 'cancel', step: 'deny', reason: 'busy', constructor: 'constructor' };
  assert.equal(factsText(createFormat('pt'), asked).includes('por cancel; passo deny'), true);
  assert.match(factsText(createFormat('pt'), asked), /motivo busy; constructor constructor$/);
  const answered = { result: { kind: 'unknown', reason: 'busy' }, status: null };
  assert.equal(factsText(createFormat('pt'), answered), 'resultado desconhecido; motivo operações demais em andamento');
});

test('a link query that the service refused is not said to be withheld by a rule (line 3)', () => {
  const real = createFlowWorld(started('contract'));
  const { flowId } = real.state();
  const proposed = { proposalCode: 'P-1', proposalNumber: null, validUntil: null, errors: [] };
  real.append({ kind: 'proposed', flowId, at: real.world.now, ...proposed });
  real.append({ kind: 'margin-asked', flowId, at: real.world.now, refusal: 'VINCULO_INEXISTENTE', sealedAnswer: '' });
  assert.equal(real.state().phase, 'withheld');
  assert.match(
    flowText(createFormat('en'), real.state(), { open: null, settings }),
    /^Phase +stopped: the service did not take the query/m,
  );
  assert.match(
    flowText(createFormat('pt'), real.state(), { open: null, settings }),
    /^Fase +parado: o serviço não aceitou a consulta/m,
  );
});

const operationOf = <O extends 'proposal' | 'inclusion'>(operation: O) => ({
  ...{ operation, slot: '', stepId: null, sealedRequest: null, personKeys: [], intent: null },
});

const situations = [{ code: 3, state: 'finalized' }] as const;
const shown = (what: string, answer: object) =>
  resultText(createFormat('en'), JSON.parse(JSON.stringify(answer)), { what, at: 0, situations });

test('proposals, instalments and links read in words and reais; what does not read is shown as it came (lines 15, 16, 18)', () => {
  const proposal = shown('proposal', {
    ...{ HasError: false, Codigo: 'c-1', Situacao: 3, VlrFinanciado: 1019.85, NumeroCCB: '77', PercJurosMensal: 1.79 },
    PropostaLancamentos: [{ CampoID: 'A', VlrTransacao: 12.5, NomePagamento: 'Loja Exemplo' }],
  });
  for (const line of [
    /^Credit note +77$/m,
    /^Situation .+ 3 \(finalized\)$/m,
    /^Financed +R\$ 1,019\.85$/m,
    /^Interest a month +1\.79 %$/m,
    /R\$ 12\.50 .+Loja/,
  ])
    assert.match(proposal, line);
  const computed = { VlrMulta: 2, VlrMora: 0.5, VlrSaldoAtualizado: 100.97 };
  const installments = shown('installments', {
    HasError: false,
    Parcelas: [{ NroParcela: 1, DtVencimentoAtual: '2026-04-25T00:00:00', Calculado: computed }],
  });
  assert.match(installments, /^ +1 +2026-04-25 .*R\$ 2\.00 +R\$ 0\.50 .+R\$ 100\.97$/m);
  const link = {
    ...{ cpf: 52998224725, matricula: 'M-7', inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' } },
    ...{ numeroInscricaoEmpregador: 12345678, elegivel: false },
    motivoInelegibilidade: { codigo: 3, descricao: 'vínculo encerrado' },
  };
  const list = shown('links', { codigoRequisicao: 'q', payload: { vinculos: [link] } });
  assert.match(list, /^M-7 +12345678 +no +3 vínculo encerrado$/m);
  const legacy = { emprestimosLegados: [{ contrato: 'L-1' }], nomeMae: 'Ana Exemplo', valorMargemDisponivel: 450.1 };
  const detail = shown('links', { CodigoRequisicao: 'q', Payload: { ...link, ...legacy } });
  for (const line of [
    /^Mother's name +Ana Exemplo$/m,
    /^Available margin +R\$ 450\.10$/m,
    /^Legacy loans +\{"contrato":"L-1"\}$/m,
  ])
    assert.match(detail, line);
  assert.equal(shown('links', { other: 1 }), '{\n  "other": 1\n}');
  assert.equal(shown('splits', { msg: null }), '{\n  "msg": null\n}');
});
