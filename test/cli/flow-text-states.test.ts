/** Where a flow stands, what it comes to and what somebody said of it, as a person reads it in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factsText, flowText, listText, phaseText, saidText } from '../../src/cli/flows.ts';
import { nextText } from '../../src/cli/flows-next.ts';
import { createFormat } from '../../src/cli/format.ts';
import { type FlowState, flowPhases } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { bidEndsOf } from '../../src/origination/flow-deadlines.ts';
import { barriersTo } from '../../src/origination/next-steps.ts';
import { noteWithinBid } from '../../src/wire/checks/worker-credit.ts';
import { createFlowWorld, sampleNote } from '../origination/flow-world.ts';
import { goodTerms, plainVault, settings, started } from '../origination/orders.ts';

const pt = createFormat('pt');
const en = createFormat('en');
const open = plainVault.open as never;
const shown = (state: FlowState, more: object = {}) => flowText(en, state, { open: null, settings, ...more });
const shownPt = (state: FlowState, more: object = {}) => flowText(pt, state, { open: null, settings, ...more });

function contract(terms = goodTerms): FlowState {
  const real = createFlowWorld(started('contract', terms));
  real.settle();
  const told = real.events[0]!;
  assert.ok(told.kind === 'told');
  real.append({ ...told, note: { ...sampleNote, loanCents: 600_000, iofCents: 30_000, insuranceCents: null } });
  return real.state();
}

/** A withdrawal that was begun with the code of a proposal; `refused`: the service does not know it. */
function taken(refused: boolean): FlowState {
  const begun = createFlowWorld(started('withdrawal')).state();
  const proposal = { at: begun.changedAt, sealedAnswer: '{"HasError":true}', refused: true } as const;
  return { ...begun, phase: 'included', proposalCode: 'p-1', results: refused ? { proposal } : {} };
}

test('a withdrawal that was taken up by its code and cancelled is shown as cancelled', () => {
  assert.equal(phaseText(en.texts.flows, taken(false), 'short'), 'code not seen yet');
  const cancelled = { ...taken(true), phase: 'cancelled' } as const;
  assert.equal(phaseText(en.texts.flows, cancelled), 'cancelled');
  assert.equal(phaseText(pt.texts.flows, cancelled, 'short'), 'cancelado');
  assert.match(shownPt(cancelled), /^Fase +cancelado$/m);
  assert.match(listText(pt, [cancelled], { flow: 'withdrawal', open: null, settings }), / cancelado /);
});

test('where the service refused the query of a proposal it has never shown, the way out is to cancel', () => {
  const problemOf = (state: FlowState, step: 'signers' | 'splits') =>
    barriersTo(step, state, settings, open)[0]!.problem;
  assert.match(problemOf(taken(false), 'signers'), /^ask for the proposal first/);
  for (const step of ['signers', 'splits'] as const) {
    assert.match(
      problemOf(taken(true), step),
      /knows no such code, cancel this flow \(step cancel\) and begin one with/,
    );
    assert.match(saidText(pt, 'step', problemOf(taken(true), step)), /cancele este fluxo .* proposalCode certo/);
  }
  const step = { stepId: 's', step: 'splits', by: 'ana', at: 1, requestHash: 'h', outcome: 'unclear' } as const;
  assert.match(problemOf({ ...taken(true), steps: [step] }, 'signers'), /find out from the service whether it knows/);
});

test('of a contract ordered by its instalment the released value is shown, and the loan is named as one', () => {
  const state = contract({ ...goodTerms, amountCents: null, installmentCents: 45_000 } as never);
  const view = flowView(state, null, settings);
  assert.deepEqual([view.amountCents, view.releasedCents], [600_000, 570_000]);
  assert.match(shown(state), /^Released \(of the note\) +R\$ 5,700\.00$/m);
  assert.match(shownPt(state), /^Liberado \(pela CCB\) +R\$ 5\.700,00$/m);
  assert.match(listText(en, [state], { flow: 'contract', open: null, settings }), /R\$ 5,700\.00/);
  assert.doesNotMatch(listText(en, [state], { flow: 'contract', open: null, settings }), /6,000/);
  const unsaid = { ...state, note: { ...state.note!, iofCents: null } };
  assert.equal(flowView(unsaid, null, settings).releasedCents, null);
  const ordered = contract();
  assert.equal(flowView(ordered, null, settings).releasedCents, 1_000_000);
  assert.doesNotMatch(shown(ordered), /^Released/m);
  const renegotiated = { ...ordered, flow: 'renegotiation', terms: { ...goodTerms, amountCents: null } } as const;
  assert.match(
    listText(pt, [renegotiated], { flow: 'renegotiation', open: null, settings }),
    /Trabalhador +Empréstimo +Sobre[\s\S]+R\$ 6\.000,00/,
  );
});

const late = { operation: 'endorsement', intentId: 'i-1', code: 'q-1', note: null, at: 5 } as const;
const reason = { step: 'deny', stepId: 's', by: 'bruno', at: 4, requestHash: 'h', outcome: 'done' } as const;

test('a step that only a known person may take is told with its request, by what it settles', () => {
  const operation: NonNullable<FlowState['operation']> = {
    operation: 'endorsement',
    ...{ slot: 'e', stepId: null, sealedRequest: null, personKeys: [], unknowns: 0, intent: null, retryAt: null },
    ...{ status: 'rejected', reason: 'denied' },
  };
  const state: FlowState = {
    ...contract(),
    ...{ phase: 'endorsement-refused', steps: [reason], errors: ['denied'], errorsIn: null },
    operation,
    lateSuccesses: [{ ...late, denied: { by: 'bruno' } }],
  };
  const next = nextText(pt, [state], { open, settings });
  assert.match(
    next.replaceAll(/\s+/g, ' '),
    /accept \(declarar que foi desfeito ou resolvido no serviço\): só com token ou login próprio, pela API: POST \/v1\/contracts\/c-374\/accept/,
  );
  assert.doesNotMatch(next, /step c-374 accept/);
  for (const line of next.split('\n')) assert.ok(line.length <= 80, line);
  assert.match(
    shown(state),
    /^May be done next .*accept \(say that it was undone or settled at the service\) \(only with a token or log-in of one's own, over the API: POST \/v1\/contracts\/c-374\/accept\)/m,
  );
  assert.doesNotMatch(shownPt(state), /aceitar a CCB como veio/);
  assert.match(shownPt(state), /bruno diz que não foi: endorsement \(averbar\) \(q-1\)\. Verifique/);
  // Who denied it is said, and not as a word of the service.
  assert.match(shown(state), /^Operation +endorsement denied by bruno$/m);
  assert.match(shownPt(state), /^Operação +endorsement \(averbar\) negada por bruno$/m);
  assert.doesNotMatch(shown(state), /The service said|: denied/);
  const unshown = { ...state, lateSuccesses: [{ ...late, unshown: true as const }] };
  assert.match(nextText(en, [unshown], { open, settings }), /step c-374 accept --reason TEXT/);
  const endorsed: FlowState = {
    ...state,
    phase: 'endorsed',
    lateSuccesses: [],
    operation: { ...operation, status: 'done' },
  };
  assert.match(shown(endorsed), /deny \(only with a token .* POST \/v1\/contracts\/c-374\/deny\)/);
});

test('what the service has said both ways is said so, by show and by next', () => {
  const operation: NonNullable<FlowState['operation']> = {
    operation: 'endorsement',
    ...{ slot: 'e', stepId: null, sealedRequest: null, personKeys: [], unknowns: 0, intent: null, retryAt: null },
    ...{ status: 'unclear', reason: 'told-both', wasShown: true, toldDone: true },
  };
  const answer = '{"Erros":[{"mensagem":"MARGEM INSUFICIENTE"}]}';
  const errorsIn = { place: { topic: 'callbacks', key: 'q-1', field: 'sealed' }, sealed: answer } as never;
  const unclear = { ...contract(), phase: 'endorsement-unclear', errors: ['told-both'], operation } as const;
  const both = /O serviço disse +o serviço informou que a averbação foi feita, e também que não foi/;
  for (const seen of [unclear, { ...unclear, errorsIn }]) assert.match(shownPt(seen, { open }), both);
  assert.match(shownPt({ ...unclear, errorsIn }, { open }), /MARGEM INSUFICIENTE/);
  const next = nextText(pt, [unclear], { open: null, settings }).replaceAll(/\s+/g, ' ');
  assert.match(next, /por quê: o serviço informou que a averbação foi feita, e também que não foi;/);
  // A no that comes beside a denial is kept beside what was said.
  const denied = {
    ...unclear,
    errors: ['denied', 'told-both'],
    operation: { ...operation, status: 'rejected' as const },
  };
  assert.match(shownPt(denied), both);
});

test('a contract that is only received waits for the service', () => {
  const operation: NonNullable<FlowState['operation']> = {
    operation: 'endorsement',
    ...{ slot: 'e', stepId: null, sealedRequest: null, personKeys: [], unknowns: 0, intent: null, retryAt: null },
    ...{ status: 'done', reason: null, toldDone: false },
  };
  const received = { ...contract(), phase: 'endorsed', operation } as const;
  const listed = (format: typeof pt, state: FlowState) =>
    listText(format, [state], { flow: 'contract', open: null, settings });
  assert.match(listed(pt, received), / o serviço: a averbação /);
  assert.match(listed(en, received), / the service: the endorsement /);
  assert.doesNotMatch(
    listed(en, { ...received, operation: { ...operation, toldDone: true } }),
    /the service: the endorsement/,
  );
});

test('a late note is told with what accept says of it, and of a renegotiation that there may be two loans', () => {
  const flowed = contract();
  const lateNote = { at: 5, requestCode: 'q-0', note: sampleNote, isLast: false };
  const late: FlowState = { ...flowed, lateNote };
  const nextPt = (state: FlowState) => nextText(pt, [state], { open: null, settings }).replaceAll(/\s+/g, ' ');
  assert.match(nextPt(late), /por quê: CCB que ninguém esperava mais: .* CCB /);
  assert.match(nextPt(late), /accept \(declarar que a CCB que veio depois foi vista\):/);
  assert.match(shownPt(late), /está no serviço e já não vale; nada é assinado/);
  const renegotiation = { ...late, flow: 'renegotiation', phase: 'renegotiated' } as const;
  assert.match(shownPt(renegotiation), /pode haver dois empréstimos; acerte com o serviço antes do accept/);
  assert.match(shown(renegotiation), /there may be two loans; settle it with the service before accept/);
  assert.doesNotMatch(shownPt(renegotiation), /já não vale/);
  assert.match(nextPt(renegotiation), /accept \(declarar que a CCB que veio depois foi acertada com o serviço\):/);
  const cancelled = { ...late, phase: 'cancelled', lateNote: { ...lateNote, isLast: true } } as const;
  assert.match(shownPt(cancelled), /em seguida +.*accept \(retomar a CCB que veio depois\)/);
  assert.match(nextPt(flowed), /por quê: Difere do nosso cálculo: empréstimo: nosso R\$ 10\.329,51,/);
  assert.match(nextPt(flowed), /accept \(aceitar a CCB como veio\):/);
  // Taken: of a settlement nothing says that it took a note.
  const step = { step: 'accept', stepId: 's', by: 'bruno', at: 4, requestHash: 'h', outcome: 'done' } as const;
  assert.match(
    shownPt({ ...flowed, steps: [step] }),
    /accept \(aceitar o que foi visto ou resolvido\) \(bruno\): feito/,
  );
  const noted = { ...flowed, steps: [step], noteAccepted: { by: 'bruno', at: 4 } };
  assert.match(shownPt(noted), /accept \(aceitar a CCB como veio\) \(bruno\): feito/);
  assert.match(factsText(pt, { step: 'accept', lateIntentId: 'i-1' }), /passo accept \(declarar que foi desfeito/);
  assert.match(factsText(pt, { step: 'accept' }), /passo accept \(aceitar o que foi visto ou resolvido\)/);
});

test('what waits says since when, and what was handed in and is not read yet', () => {
  const state = { ...contract(), startedAt: 0, changedAt: 86_400_000 };
  assert.match(
    nextText(en, [state], { open, settings }),
    /signature, last change 1970-01-01 21:00 -03 \(begun\s+1969-12-31 21:00 -03\)/,
  );
  const asked = { kind: 'asked', step: 'accept', by: 'ana', at: 86_400_000, flowId: state.flowId } as never;
  const ahead = { ...state, noteAccepted: { by: 'ana', at: 1 } };
  const handedIn = new Map([[state.flowId, { records: [asked], state: ahead }]]);
  const text = nextText(pt, [state], { open, settings, handedIn });
  assert.match(
    text.replaceAll(/\s+/g, ' '),
    /entregue, ainda não lido pela mesa: 01\/01\/1970 21:00 -03 accept \(aceitar a CCB como veio\) \(ana\)/,
  );
  assert.match(text, /step c-374 sign --file/);
  assert.doesNotMatch(text, /step c-374 accept/);
});

test('who took a note as it came is shown with the reason', () => {
  const state = { ...contract(), noteAccepted: { by: 'ana', at: 0 } };
  assert.match(
    shown(state, { acceptedWhy: 'agreed by phone' }),
    /^Taken as it came +1969-12-31 21:00 -03, by ana: agreed by phone$/m,
  );
  assert.match(shownPt(state), /^Aceita como veio +31\/12\/1969 21:00 -03, por ana$/m);
});

test('reasons and facts that were codes are words', () => {
  const operation = { operation: 'endorsement', slot: 'e', stepId: 's', sealedRequest: null, personKeys: [] } as const;
  const refused = {
    ...operation,
    intent: {} as never,
    unknowns: 0,
    retryAt: null,
    status: 'rejected',
    reason: 'already-endorsed',
  } as const;
  const state: FlowState = { ...contract(), operation: refused };
  assert.match(shownPt(state), /recusado pelo serviço: o serviço diz que já está averbado$/m);
  const names = [
    'creditCents',
    'feeCents',
    'otherServicesCents',
    'foreignSplitCents',
    'otherCostsCents',
    'financedCents',
    'totalDebtCents',
    'rateAnnualHundredths',
    'othersMayHaveSent',
    'forgetsCode',
    'logId',
  ];
  const facts = Object.fromEntries(names.map((name) => [name, name.endsWith('s') ? 100 : true]));
  for (const format of [pt, en]) for (const name of names) assert.ok(!factsText(format, facts).includes(name), name);
  assert.equal(factsText(pt, { what: 'proposal' }), 'o quê proposal (consultar a proposta)');
  assert.equal(factsText(pt, { othersMayHaveSent: false }), '');
  assert.equal(factsText(pt, { via: 'offline' }), 'identificado por nome digitado');
});

test('figures, days and times of a refusal are said as people read them, in both languages', () => {
  const note =
    'the rate of the note, 280, is above the one it may have, 256: nobody can take it; have it generated again or cancel the flow, and settle it with the service';
  const installment =
    'the instalment of the note is 839522 cents, and the bid allows 45000: nobody can take it; have it generated again or cancel the flow, and settle it with the service';
  for (const [field, problem, english, portuguese] of [
    ['step', note, /note, 2\.80 %, is .* have, 2\.56 %:/, /CCB, 2,80 %, passa da que ela pode ter, 2,56 %:/],
    ['amountCents', 'the bid was 490000: send at most that', /was R\$ 4,900\.00:/, /foi de R\$ 4\.900,00:/],
    ['installments', 'the bid was 36: send at most that', /was 36:/, /foi de 36:/],
    [
      'amountCents',
      'the bid was 370000, and this is 100000: send what was bid, or, once you know that the worker wants less, send true in despiteBid',
      /was R\$ 3,700\.00, and this is R\$ 1,000\.00: send/,
      /foi de R\$ 3\.700,00, e isto é R\$ 1\.000,00: envie/,
    ],
    [
      'rateHundredths',
      'the bid was 254, and this is 200: send what was bid, or, once you know that the worker wants less, send true in despiteBid',
      /was 2\.54 %, and this is 2\.00 %: send/,
      /foi de 2,54 %, e isto é 2,00 %: envie/,
    ],
    [
      'amountCents',
      'the simulation of this period was 100000, and this is 90000: send what was simulated, or, once you know that the worker wants less, send true in despiteSimulation',
      /was R\$ 1,000\.00, and this is R\$ 900\.00: send/,
      /foi de R\$ 1\.000,00, e isto é R\$ 900,00: envie/,
    ],
    [
      'rateHundredths',
      'the rate of the closed loan was 250, and this is 120: correct it, or, once you know that it is meant so, send true in despiteOriginal',
      /was 2\.50 %, and this is 1\.20 %: correct/,
      /foi de 2,50 %, e isto é 1,20 %: corrija/,
    ],
    [
      'installments',
      'the instalments of the closed loan were 39, and this is 480: correct it, or, once you know that it is meant so, send true in despiteOriginal',
      /were 39, and this is 480: correct/,
      /eram 39, e isto é 480: corrija/,
    ],
    ['rateHundredths', 'send at most the rate of the original contract, 251', /2\.51 % \(251\)$/, /2,51 % \(251\)$/],
    [
      'step',
      installment,
      /is R\$ 8,395\.22, and the bid allows R\$ 450\.00:/,
      /de R\$ 8\.395,22, e o lance permite R\$ 450,00:/,
    ],
    [
      'splits',
      'send splits that together are at most the loan, 100050 cents',
      /R\$ 1,000\.50 \(100050 cents\)$/,
      /R\$ 1\.000,50 \(100050 centavos\)$/,
    ],
    [
      'amountCents',
      'send at least 2000 cents (R$ 20.00): amounts are in cents',
      /least 2000 cents \(R\$ 20\.00\)/,
      /menos 2000 centavos \(R\$ 20,00\)/,
    ],
    [
      'signedAt',
      'send when the worker signed this note: it was generated at 2026-11-26T19:01:21.989Z',
      /at 2026-11-26 16:01:21\.989 -03$/,
      /em 26\/11\/2026 16:01:21,989 -03$/,
    ],
    ['link', 'the link was terminated on 2026-11-26; name one that goes on', /on 2026-11-26;/, /em 26\/11\/2026;/],
    [
      'signedAt',
      'write a time with its zone, such as 2026-03-03T15:00:00Z',
      /2026-03-03T15:00:00Z$/,
      /2026-03-03T15:00:00Z$/,
    ],
    ['day', 'write a day such as 2026-03-03', /2026-03-03$/, /2026-03-03$/],
    [
      'step',
      'endorsement is under way in this flow; ask for accept again when it has ended',
      /^endorsement/,
      /^endorsement \(averbar\) está em andamento/,
    ],
    [
      'step',
      'the note is not as ordered (rateHundredths, iofCents): take it as it is with the step accept and a reason, or have it generated again with the step regenerate',
      /\(rate, IOF\)/,
      /\(taxa, IOF\)/,
    ],
  ] as const) {
    assert.match(saidText(en, field, problem), english);
    assert.match(saidText(pt, field, problem), portuguese);
  }
});

test('what of a note is above the bid is said in percents and reais, also to programs', () => {
  const beyond = noteWithinBid({
    ...{ rateLimitHundredths: 251, noteRateHundredths: 490 },
    noteRelease: { releasedCents: 123_456_789, mostCents: 100_000 },
    noteInstallment: { cents: 45_001, mostCents: 45_000 },
    noteInsurance: { cents: 1_250, mostCents: 2 },
  }).flatMap((check) => check?.problem ?? []);
  const heads = (texts: readonly string[]) => texts.map((text) => text.replace(/: (?:nobody|ninguém).*$/, ''));
  assert.deepEqual(heads(beyond), [
    'the rate of the note, 4.90 %, is above the one it may have, 2.51 %',
    'the note releases R$ 1,234,567.89, and the bid allows R$ 1,000.00',
    'the instalment of the note is R$ 450.01, and the bid allows R$ 450.00',
    'the note has insurance of R$ 12.50, and with the tolerance of rounding the order allows R$ 0.02',
  ]);
  assert.deepEqual(heads(beyond.map((text) => saidText(en, 'step', text))), heads(beyond));
  assert.deepEqual(heads(beyond.map((text) => saidText(pt, 'step', text))), [
    'a taxa da CCB, 4,90 %, passa da que ela pode ter, 2,51 %',
    'a CCB libera R$ 1.234.567,89, e o lance permite R$ 1.000,00',
    'a parcela da CCB é de R$ 450,01, e o lance permite R$ 450,00',
    'a CCB tem seguro de R$ 12,50, e com a tolerância de arredondamento o pedido permite R$ 0,02',
  ]);
});

test('a flow that was ordered again shows who did so with that time, and its first one apart', () => {
  const first = contract();
  const again = { ...first, by: 'rui', orderedAt: first.startedAt + 3_600_000 };
  const begun = (text: string) => text.split('\n').filter((line) => /^\s*(?:Begun|In[íi]cio)/.test(line));
  const [own, earlier] = begun(shown(again));
  assert.match(own!, /Begun .*\(rui\)/);
  assert.match(earlier!, /Begun first /);
  assert.equal(begun(shown(first)).length, 1);
  assert.equal(begun(shownPt(again)).length, 2);
});

test('what ends by itself is said in local time, with what follows', () => {
  const signable = contract();
  const now = signable.changedAt;
  const bidEndsAt = now + 3_600_000;
  const plain = (text: string) => text.replaceAll(/\s+/g, ' ');
  const deadlines = (state: FlowState, more: object = {}) => [
    plain(shown(state, { now, ...more })),
    plain(shownPt(state, { now, ...more })),
  ];
  const [english, portuguese] = deadlines(signable, { bidEndsAt });
  assert.match(
    english!,
    /Deadlines The bid is valid until 2026-03-03 13:\d\d -03, .* expired, .* Sign and endorse before 2026-03-21 00:00 -03: .* generated again/,
  );
  assert.match(
    portuguese!,
    /Prazos O lance vale até 03\/03\/2026 13:\d\d -03, .* Assinar e averbar antes de 21\/03\/2026 00:00 -03:/,
  );
  const late = Date.UTC(2026, 2, 22, 15);
  for (const text of deadlines(signable, { now: late, bidEndsAt })) {
    assert.match(text, /competence of the note ended 2026-03-21|competência da CCB terminou em 21\/03\/2026/);
    assert.match(text, /time of grace ended 2026-03-03|carência terminaram em 03\/03\/2026/);
  }
  const awaited = { ...signable, phase: 'awaiting-note', note: null, generatedAt: now, requestCode: 'q-1' } as const;
  assert.match(
    deadlines(awaited)[0]!,
    /Deadlines The note is awaited until 2026-03-03 12:1\d -03\. .* regenerate or cancel/,
  );
  assert.match(
    deadlines(awaited, { now: now + 600_000 })[1]!,
    /A CCB devia ter vindo até 03\/03\/2026 12:1\d -03; está atrasada/,
  );
  const renegotiated = deadlines({ ...awaited, flow: 'renegotiation' });
  assert.match(renegotiated[0]!, /Before it is sent again or cancelled one person .* \(deny\), and another one/);
  const frozen = { ...signable, frozen: { problem: 'p', at: 1 } } as unknown as FlowState;
  for (const state of [
    frozen,
    { ...signable, phase: 'endorsed' } as const,
    { ...signable, phase: 'cancelled' } as const,
  ])
    assert.doesNotMatch(shown(state, { now, bidEndsAt }), /Deadlines/);
  const denied = {
    ...signable,
    phase: 'endorsement-refused',
    operation: { operation: 'endorsement', reason: 'denied', status: 'rejected', retryAt: null },
  } as unknown as FlowState;
  assert.doesNotMatch(deadlines(denied)[0]!, /Sign and endorse before/, 'nothing is generated again by itself');
  const lookup = { ...contract(), flow: 'lookup', phase: 'awaiting-answer', changedAt: now } as FlowState;
  assert.match(deadlines(lookup)[1]!, /A resposta é aguardada até 03\/03\/2026 12:1\d -03/);
  const next = nextText(pt, [signable], { open, settings, now, bidEnds: new Map([[signable.flowId, bidEndsAt]]) });
  assert.match(
    plain(next),
    /última mudança .* O lance vale até .* Assinar e averbar antes de 21\/03\/2026 00:00 -03: .* accept /,
  );
  for (const line of next.split('\n')) assert.ok(line.length <= 80, line);
});

test('the end of a bid is that of its validity', async () => {
  const state = contract();
  const { requestId } = state.subject;
  const row = (due: string) => new Map([[requestId, { state: { timer: { at: 7, due } } }]]) as never;
  assert.deepEqual([...(await bidEndsOf({ read: async () => row('validity') }, [state]))], [[state.flowId, 7]]);
  assert.equal((await bidEndsOf({ read: async () => row('contemplation') }, [state])).size, 0);
  assert.equal((await bidEndsOf({ read: async () => row('validity') }, [{ ...state, phase: 'endorsed' }])).size, 0);
});

test('each state of each kind is named by one plain sentence in both languages, within 80 columns', () => {
  const seen = new Set<string>();
  for (const [flow, phases] of Object.entries(flowPhases)) {
    for (const phase of phases) {
      const state = { ...contract(), flow, phase, operation: null, errors: [] } as unknown as FlowState;
      for (const format of [en, pt]) {
        const text = flowText(format, state, { open: null, settings });
        const [, meaning] = /^(?:What it means|O que significa) +(.*(?:\n {4,}.*)*)/m.exec(text) ?? [];
        // That it was received only is a sentence already.
        assert.ok(meaning !== undefined || phase === 'endorsed', `${flow} ${phase}`);
        if (meaning === undefined) continue;
        assert.match(meaning, /^[A-ZNÃ].*\.$/s, meaning);
        assert.doesNotMatch(meaning, /_|Cents|centavos|hundredths|[a-z]-[a-z]/, meaning);
        seen.add(meaning);
      }
    }
  }
  assert.ok(seen.size > 50, String(seen.size));
  const frozen = { ...contract(), frozen: { problem: 'p', at: 1 } } as unknown as FlowState;
  assert.doesNotMatch(shown(frozen), /What it means/);
});

test('a withdrawal whose proposal has ended at the service does not stand open', () => {
  const state = { ...taken(false), results: {}, situation: 9, ending: 'cancellation' } as const;
  assert.match(shown(state), /^Phase +included; the service says that the proposal was cancelled$/m);
  assert.match(
    listText(pt, [state], { flow: 'withdrawal', open: null, settings }),
    /incluído; o serviço informa o cancelamento da proposta/,
  );
  assert.equal(phaseText(en.texts.flows, { ...state, phase: 'cancelled' }), 'cancelled');
});

test('the history says rules in words and figures with their unit', () => {
  const problem =
    'the instalment of the note is 839522 cents, and the bid allows 45000: nobody can take it; have it generated again or cancel the flow, and settle it with the service';
  const facts = {
    breaches: [{ field: 'step', rule: 'installment-within-bid', problem }],
    errors: ['E1', 'E2'],
    ...{ cetAnnualPercent: 40.17, loanCents: 1_050 },
  };
  assert.equal(
    factsText(pt, facts),
    'regras que impedem step (installment-within-bid): a parcela da CCB é de R$ 8.395,22, e o lance permite R$ 450,00: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço; o serviço disse E1, E2; CET a.a. 40,17 %; empréstimo R$ 10,50',
  );
  assert.doesNotMatch(factsText(en, facts), /[[{"]|cents/);
});
