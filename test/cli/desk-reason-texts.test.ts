/** Why a request got no bid, or why its bid is unknown, is told in the language of its texts. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { deskReasonEn, deskReasonPt } from '../../src/cli/desk-reason-texts.ts';
import { faultPt } from '../../src/cli/fault-texts-pt.ts';

const english = /\b(?:the|was|were|is|are|has|had|not|before|until|request|cannot|no|an|link)\b/;

test('the key of a cap is told as its name and where it comes from', () => {
  const ofHand = 'the cap operator:desk-day|2026-11-27 has no room left for this amount';
  assert.equal(deskReasonPt(ofHand), 'o teto desk-day, posto à mão (27/11/2026), não tem mais espaço para este valor');
  assert.equal(deskReasonEn(ofHand), 'the cap desk-day, set by hand (2026-11-27), has no room left for this amount');
  const ofRules = 'the cap worker-day|worker.key=w-1|2026-11-27 has no room left for this amount';
  assert.equal(
    deskReasonPt(ofRules),
    'o teto worker-day das regras (worker.key=w-1, 2026-11-27) não tem mais espaço para este valor',
  );
  assert.match(deskReasonEn(ofRules), /^the cap worker-day of the rules \(worker\.key=w-1, 2026-11-27\) has no room/);
});

test('what the shipped rules say is said in Portuguese, and kept as it is in English', () => {
  const folder = new URL('../../rules/', import.meta.url);
  const reasons = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => [...readFileSync(new URL(name, folder), 'utf8').matchAll(/"reason": "(.*?)"/g)])
    .map(([, reason]) => reason!);
  assert.ok(reasons.length >= 15, String(reasons.length));
  for (const reason of reasons) {
    assert.notEqual(deskReasonPt(reason), reason);
    assert.doesNotMatch(deskReasonPt(reason), /\b(?:the|is|are|has|not|than|of|worker|link)\b/i, reason);
    assert.equal(deskReasonEn(reason), reason);
  }
});

test('what names figures or causes keeps them, in the words of the language', () => {
  for (const [text, said] of [
    [
      'the detail of the link was asked for in vain: unauthorised',
      'o detalhe do vínculo foi pedido em vão: o serviço não aceita nosso token',
    ],
    [
      'claimed, and turned away each time until the deadline: 3 × throttled, unauthorised (service-throttled)',
      'o lance foi registrado e recusado todas as vezes até o prazo: 3 × 429, 401',
    ],
    [
      'R$ 8440.00 asked; at most R$ 2000.00 may and at least R$ 2532.00 must be offered',
      'foram pedidos R$ 8.440,00, e as regras deixam ofertar no máximo R$ 2.000,00, menos que o mínimo de R$ 2.532,00: o mínimo é o das regras ou, se maior, a parte do valor pedido que os ajustes exigem (economics.minAmountShare)',
    ],
    ['the margin leaves R$ 1234567.00 an instalment', 'a margem deixa R$ 1.234.567,00 por parcela'],
    [
      'it waited to be sent until its deadline; the bid was expected to bring R$ 1286.50',
      'esperou para ser enviada até o prazo; do lance esperavam-se R$ 1.286,50',
    ],
    [
      'no send slot was free before the deadline; the bid was expected to bring R$ 18.48',
      'nenhuma vaga de envio ficou livre antes do prazo; do lance esperavam-se R$ 18,48',
    ],
    [
      'it waited to be sent until its deadline; the bid was expected to bring R$ 286.50',
      'esperou para ser enviada até o prazo; do lance esperavam-se R$ 286,50',
    ],
    [
      'the deadline had passed before it was decided (no-send-slot); the bid was expected to bring R$ -0.10',
      'o prazo já tinha passado quando seria decidida; do lance esperavam-se R$ -0,10',
    ],
    ['the queue was full; the bid was expected to bring R$ 3.00', 'a fila estava cheia; do lance esperavam-se R$ 3,00'],
    ['a person of the queue large refused it', 'uma pessoa da fila large recusou na revisão; nada foi enviado'],
    [
      'a person of the queue large refused it; nothing was sent',
      'uma pessoa da fila large recusou na revisão; nada foi enviado',
    ],
    ['nobody of the queue large answered the review in time', 'ninguém da fila large respondeu à revisão a tempo'],
    ['no time was left to ask the queue large', 'não restava tempo para perguntar à fila large'],
    [
      'the rule wants a review that was not asked for when the person was asked, and nobody is asked twice',
      'a regra pede uma revisão que não foi pedida quando se perguntou à pessoa, e não se pergunta outra vez',
    ],
    ['the log of somebody else', 'the log of somebody else'],
  ] as const)
    assert.equal(deskReasonPt(text), said);
});

test('every reason that the desk gives of itself has a sentence in Portuguese', () => {
  const room = new URL('../../src/bidding/', import.meta.url);
  const rooms = ['desk', 'decide', 'decider', 'react', 'bid-sender', 'claim-desk', 'send-claim'];
  const texts = rooms.flatMap((name) => {
    const source = readFileSync(new URL(`${name}.ts`, room), 'utf8');
    const passes = [...source.matchAll(/(?:deskPass|passAll|pass)\([^;]*?'[a-z-]+'\)?, '([^']+)'/g)];
    const named = [...source.matchAll(/const text =\s+'([^']+)'|(?:\?|:) '((?:the|neither) [^']+)'/g)];
    const exported = [...source.matchAll(/(?:forfeitedText|overruledText) = '([^']+)'/g)];
    return [...passes, ...named, ...exported].map(([, one, other]) => (one ?? other)!);
  });
  assert.ok(texts.length >= 20, `${texts.length}`);
  const untold = texts.filter((text) => english.test(faultPt(deskReasonPt(text))));
  assert.deepEqual(untold, []);
});
