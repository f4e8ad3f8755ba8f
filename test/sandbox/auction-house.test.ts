/** The auction's rules on a clock moved by hand: outcomes, window, ranking, what the winner hears. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuctionEvent, createAuctionHouse, defaultAuction } from '../../src/sandbox/auction-house.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { endWebhook } from '../../src/sandbox/messages.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import type { RivalBid } from '../../src/sandbox/rivals.ts';
import { defaultWorld } from '../../src/sandbox/world.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { type ManualClock, manualClock } from './clocks.ts';

const start = Date.UTC(2026, 10, 21, 15);
const day = 86_400_000;

function house(
  rivals: RivalBid[] = [],
  changes: Partial<typeof defaultAuction> = {},
  before: (clock: ManualClock) => void = () => {},
) {
  const clock = manualClock(start);
  before(clock);
  const events: AuctionEvent[] = [];
  const settings = { ...defaultAuction, ...changes };
  const auctions = createAuctionHouse({ settings, clock, chance: chanceOf('t'), tell: (event) => events.push(event) });
  const requests = [0, 1].map((index) => requestAt(defaultWorld, '7', index, 2));
  const lot = auctions.open(requests, () => rivals);
  const requestId = requests[0]!.requestId;
  const bid = (rate: number, more: { requestId?: string; validForMs?: number } = {}) =>
    auctions.place(
      encodeBid({
        requestId: more.requestId ?? requestId,
        offer: {
          rateHundredths: rate,
          amountCents: 100_000,
          installments: 12,
          validUntil: clock.now() + (more.validForMs ?? day),
        },
        contacts: [{ kind: 'url', value: 'https://partner.example/' }],
      }),
    );
  return { clock, events, lot, bid, place: auctions.place, requestId };
}

function rankedOf(events: AuctionEvent[], requestId: string) {
  const ended = events.find((event) => event.kind === 'ended');
  assert.ok(ended?.kind === 'ended');
  return ended.ranked.get(requestId)!;
}

test('the six outcomes', () => {
  const { bid, clock } = house([{ lender: 'rio', rateHundredths: 300, arrivesAt: 0.5 }]);
  assert.equal(bid(290, { requestId: '99' }).kind, 'request-not-found');
  assert.equal(bid(290, { validForMs: 7 * day + 2_000 }).kind, 'validity-too-long');
  assert.equal(bid(290, { validForMs: 7 * day }).kind, 'accepted');
  assert.equal(bid(280).kind, 'duplicate');
  clock.advance(defaultAuction.windowMs);
  assert.equal(bid(290, { requestId: requestAt(defaultWorld, '7', 1, 2).requestId }).kind, 'request-expired');
  const alone = house();
  alone.clock.advance(defaultAuction.windowMs);
  assert.equal(alone.bid(290).kind, 'accepted-outside');
  assert.equal(alone.bid(290).kind, 'duplicate');
});

test('the window is open up to its last millisecond and not one more', () => {
  const inside = house();
  inside.clock.advance(defaultAuction.windowMs - 1);
  assert.equal(inside.bid(290).kind, 'accepted');
  const outside = house([], { acceptFirstLateBid: false });
  outside.clock.advance(defaultAuction.windowMs);
  assert.equal(outside.bid(290).kind, 'request-expired');
  const gone = house();
  gone.clock.advance(defaultAuction.windowMs + defaultAuction.expiryMs);
  assert.equal(gone.bid(290).kind, 'request-expired');
});

test('what breaks the contract is refused and does not use up the one bid', () => {
  const { bid, place, requestId } = house();
  for (const rate of [1, 498, 230.5]) assert.equal(bid(rate).kind, 'invalid', String(rate));
  assert.equal(bid(290, { validForMs: -1_000 }).kind, 'invalid');
  const body = (contacts: string) =>
    `{"numeroSolicitacao":${requestId},"dataHoraValidadeLance":"2026-11-22T10:00:00","contatos":${contacts},"valorLiberado":1000,"numeroParcelas":12,"valorTaxaMensal":2.9}`;
  assert.equal(place(body('[]')).kind, 'invalid');
  assert.equal(place(body('[{"contato":"a@b.example","tipo":3}]')).kind, 'invalid');
  assert.equal(place(body('[{"contato":"no address","tipo":0}]')).kind, 'invalid');
  assert.equal(place('{').kind, 'invalid');
  assert.equal(place(body('[{"contato":"https://p.example/","tipo":0}]')).kind, 'accepted');
});

test('the lowest rate wins, equal rates by arrival, half a hundredth decides', () => {
  const rivals = [
    { lender: 'rio', rateHundredths: 300, arrivesAt: 0.1 },
    { lender: 'serra', rateHundredths: 290, arrivesAt: 0.2 },
    { lender: 'pampa', rateHundredths: 290, arrivesAt: 0.8 },
    { lender: 'litoral', rateHundredths: 289.5, arrivesAt: 0.9 },
  ];
  const { bid, clock, events, requestId } = house(rivals);
  clock.advance(defaultAuction.windowMs / 2);
  assert.equal(bid(290).kind, 'accepted');
  clock.advance(defaultAuction.windowMs);
  const names = rankedOf(events, requestId).map((ranked) => ranked.rival);
  assert.deepEqual(names, ['litoral', 'serra', null, 'pampa', 'rio']);
  assert.equal(events.filter((event) => event.kind === 'contemplated').length, 0);
});

test('the winner hears of the contemplation, then of the proposal, with the bid id of the call', () => {
  const { bid, clock, events, requestId } = house([{ lender: 'rio', rateHundredths: 291, arrivesAt: 0 }]);
  const placed = bid(290);
  clock.advance(defaultAuction.windowMs + 1_000);
  assert.deepEqual(
    events.map((event) => event.kind),
    ['opened', 'ended', 'contemplated', 'proposed'],
  );
  const proposed = events[3]!;
  assert.ok(placed.kind === 'accepted' && proposed.kind === 'proposed');
  assert.equal(proposed.bid.bidId, placed.requestCode);
  assert.equal(proposed.request.requestId, requestId);
  assert.equal(proposed.proposal.validUntil, clock.now() - 1_000 + 150 + defaultAuction.proposalValidityMs);
});

test('a late first bid is contemplated too and stays out of the end-of-auction list', () => {
  const { bid, clock, events } = house();
  clock.advance(defaultAuction.windowMs + 5);
  assert.equal(bid(290).kind, 'accepted-outside');
  clock.advance(1_000);
  assert.deepEqual(
    events.map((event) => event.kind),
    ['opened', 'ended', 'contemplated', 'proposed'],
  );
  assert.ok(events[2]!.kind === 'contemplated' && events[2]!.outside);
});

test('a late first bid has an id of its own, apart from the code of the call, under which its winner is told', () => {
  const { bid, clock, events } = house();
  clock.advance(defaultAuction.windowMs + 5);
  const placed = bid(290);
  clock.advance(1_000);
  const told = events[2]!;
  assert(placed.kind === 'accepted-outside' && told.kind === 'contemplated');
  assert.notEqual(placed.bidId, placed.requestCode);
  assert.deepEqual([told.bid.bidId, told.bid.callCode], [placed.bidId, placed.requestCode]);
});

test('a bid between the end of the window and the counting is late all the same', () => {
  let act = () => {};
  // Due at the same moment as the counting, and before it.
  const early = house([], {}, (clock) => clock.schedule(start + defaultAuction.windowMs, () => act()));
  act = () => assert.equal(early.bid(290).kind, 'accepted-outside');
  early.clock.advance(defaultAuction.windowMs + 1_000);
  assert.deepEqual(rankedOf(early.events, early.requestId), []);
  assert.equal(early.events.filter((event) => event.kind === 'contemplated').length, 1);
});

test('errors end a win', () => {
  const { bid, clock, events } = house([], { contemplationErrorShare: 1 });
  bid(290);
  clock.advance(defaultAuction.windowMs + 1_000);
  const last = events.at(-1)!;
  assert.ok(last.kind === 'contemplated' && last.errors.length === 1);
});

test('end of auction in the casing of the contract, rates to the digit', () => {
  const { bid, clock, events, lot, requestId } = house([{ lender: 'rio', rateHundredths: 229.5, arrivesAt: 0.5 }]);
  bid(282);
  clock.advance(defaultAuction.windowMs);
  const ended = events.find((event) => event.kind === 'ended');
  assert.ok(ended?.kind === 'ended');
  const { Endpoint, Payload } = JSON.parse(endWebhook(lot, (id) => ended.ranked.get(id)!));
  assert.equal(Endpoint, '/contrato/oferta-leilao/fim-lote-solicitacoes');
  assert.deepEqual(Object.keys(Payload), ['CodigoLote', 'DataHoraInicioLeilao', 'DataHoraFimLeilao', 'Solicitacoes']);
  assert.equal(Payload.DataHoraFimLeilao, '2026-11-21T12:00:30.000');
  assert.equal(Payload.Solicitacoes[0].NumeroSolicitacao, requestId);
  const [first, second] = Payload.Solicitacoes[0].Lances;
  assert.equal(first.TaxaDeJurosMensal, 2.295);
  assert.deepEqual(second, {
    CodigoLanceLeilao: ended.ranked.get(requestId)![1]!.bidId,
    TaxaDeJurosMensal: 2.82,
    ValorLiberado: 1000,
    NumeroParcelas: 12,
    Posicao: 2,
    DataHoraInclusao: '2026-11-21T12:00:00.000',
  });
});
