/** Won bids that wait for somebody to order their contract, and events that wait for somebody to look. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextText, unorderedText } from '../../src/cli/flows-next.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { waitsFor, waitsForPerson } from '../../src/origination/next-steps.ts';
import { unorderedBids } from '../../src/origination/unordered-bids.ts';
import { accepted, answered, claimed, contemplated, folded, proposed, requested, resolved } from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings } from './orders.ts';
import { takingHouse } from './taking-house.ts';

const won = folded(requested(), claimed(), answered(accepted), contemplated(), proposed());
const named = (id: string, more: object = {}): RequestState => ({ ...won, requestId: id, ...more });
const validUntil = (at: number) => ({ timer: { at, due: 'validity' } });

/** As the store gives it: the latest first, page by page. */
function viewsOf(states: readonly RequestState[]) {
  const pages: number[] = [];
  const query = async ({ phase, limit, before }: { phase: string | null; limit: number; before: string | null }) => {
    const all = states.filter((state) => state.phase === phase);
    const from = before === null ? 0 : 1 + all.findIndex((state) => before.endsWith(state.requestId));
    pages.push(limit);
    return all.slice(from, from + limit).map((state) => ({ state }) as never);
  };
  return { views: { query }, pages };
}

const flowsWith = (...ids: string[]) => ({
  read: async (asked: readonly string[]) =>
    new Map(asked.filter((id) => ids.includes(id)).map((id) => [id, { flowId: id } as FlowState])),
});
const around = { unfolded: null, settings, open: plainVault.open, now: 0 };
const handedIn = (state: FlowState | null) => ({
  begun: async () => (state === null ? [] : [state]),
  read: async () => ({ row: null, records: [], state }),
});

test('won bids without an order are listed, the first to expire first; those with a flow are not', async () => {
  assert.equal(won.phase, 'proposed');
  const said = folded(requested(), claimed(), answered(accepted), resolved('contemplated'));
  const states = [
    named('1', validUntil(300)),
    named('2', validUntil(100)),
    named('3', validUntil(200)),
    named('4', validUntil(50)),
    { ...said, requestId: '5', timer: null },
    named('6', { phase: 'expired' }),
    named('7', { phase: 'accepted', winner: null }),
  ];
  const { views } = viewsOf(states);
  // Of the third one the order was handed in and stands in no row yet.
  const { bids, whole } = await unorderedBids(
    { views, flows: flowsWith('c-4') },
    { ...around, unfolded: handedIn({ flowId: 'c-3' } as FlowState) },
  );
  assert.deepEqual(
    bids.map((bid) => [bid.requestId, bid.phase, bid.endsAt]),
    [
      ['2', 'proposed', 100],
      ['1', 'proposed', 300],
      ['5', 'contemplated', null],
    ],
  );
  assert.equal(whole, true);
});

test('of very many won bids no more than the latest are looked at, and that is said', async () => {
  const states = Array.from({ length: 6_000 }, (_, index) => named(`7${index}`));
  const { views, pages } = viewsOf(states);
  const { bids, whole } = await unorderedBids({ views, flows: flowsWith() }, around);
  assert.deepEqual([bids.length, whole, pages.length], [5_000, false, 11]);
});

test('a won bid without an order is told with its commands, in both languages and 80 columns', () => {
  const bid = {
    requestId: '37400000012',
    phase: 'proposed',
    amountCents: 500_000,
    decidedAt: 0,
    endsAt: 86_400_000,
    cancelled: null,
  } as const;
  const english = unorderedText(createFormat('en'), bid, 0);
  assert.match(english, /^37400000012: .*, no contract ordered \(bid 1969-12-31 21:00 -03\)$/m);
  assert.match(english.replaceAll(/\s+/g, ' '), /before 1970-01-01 21:00 -03: then the bid counts as expired\. order:/);
  assert.match(english, /^ {4}lance contracts example 37400000012 > order\.json$/m);
  assert.match(english, /^ {4}lance contracts start --file order\.json --key order-37400000012 --by NAME$/m);
  const past = unorderedText(createFormat('en'), bid, 86_400_001).replaceAll(/\s+/g, ' ');
  assert.match(past, /ended 1970-01-01 21:00 -03: it is about to count as expired/);
  const portuguese = unorderedText(createFormat('pt'), bid, 0);
  assert.match(
    portuguese.replaceAll(/\s+/g, ' '),
    /^37400000012: .*, sem contrato pedido \(lance de 31\/12\/1969 21:00 -03\) Peça o contrato/,
  );
  assert.match(portuguese, /^ {2}pedir o contrato:$/m);
  // A bid that is "vencido" reads as one that has expired.
  const { summary, moreBids } = createFormat('pt').texts.flows.next;
  const said = [summary(1, '1', false), summary(1, '2', true), moreBids].join('\n');
  assert.match(said, /1 lance ganho espera .*\n.*2 lances ganhos esperam .*\nNem todos os lances ganhos/);
  assert.match(portuguese, /start --file order\.json --key order-37400000012 --by NOME$/m);
  for (const line of [english, past, portuguese].flatMap((text) => (text === past ? [] : text.split('\n'))))
    assert.ok(line.length <= 80, line);
});

test('a won bid whose contract was cancelled waits again, until it is ordered under another key', async (context) => {
  const { ask, start, noted, state, reaches, tell, noteFor, clock } = await takingHouse(context);
  await start('701');
  await noted('c-701', {});
  const open = plainVault.open as never;
  const read = async (id: string): Promise<[string, FlowState]> => [id, (await state(id))!];
  const flows = { read: async (ids: readonly string[]) => new Map(await Promise.all(ids.map(read))) };
  const { views } = viewsOf([named('701', validUntil(8_640_000_000_000))]);
  const found = async (unfolded: ReturnType<typeof handedIn> | null = null) =>
    (await unorderedBids({ views, flows }, { ...around, open, unfolded, now: clock.now() })).bids;
  assert.deepEqual(await found(), []);
  const requestCode = (await state('c-701'))!.requestCode!;
  const note = await noteFor('c-701', {});
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'conta errada' })).kind, 'taken');
  await reaches('c-701', 'cancelled');
  const cancelled = (await state('c-701'))!;
  const [bid, ...others] = await found();
  assert.deepEqual([bid?.requestId, bid?.endsAt, others], ['701', 8_640_000_000_000, []]);
  assert.deepEqual(bid!.cancelled, { flowId: 'c-701', by: 'ana', at: cancelled.steps.at(-1)!.at, orders: 1 });
  const english = unorderedText(createFormat('en'), bid!, 0);
  assert.match(
    english.replaceAll(/\s+/g, ' '),
    /contract cancelled .* Its contract was cancelled .* \(ana\)\. Order it/,
  );
  assert.match(english, /^ {4}lance contracts start --file order\.json --key order-701-2 --by NAME$/m);
  assert.match(english, /^ {4}lance bids resolve 701 --as cancelled --by NAME --reason TEXT$/m);
  const portuguese = unorderedText(createFormat('pt'), bid!, 0);
  assert.match(
    portuguese.replaceAll(/\s+/g, ' '),
    /contrato cancelado .* O contrato foi cancelado em .* \(ana\)\. Peça-o/,
  );
  for (const line of [...english.split('\n'), ...portuguese.split('\n')]) assert.ok(line.length <= 80, line);
  // Ordered again beside no desk: its row still says that it is cancelled.
  assert.deepEqual(await found(handedIn({ ...cancelled, phase: 'preparing' })), []);
  // Ordered and cancelled beside no desk: it stands in no row.
  const rowless = { views, flows: flowsWith() };
  const handed = { ...around, open, unfolded: handedIn(cancelled), now: clock.now() };
  assert.equal((await unorderedBids(rowless, handed)).bids[0]?.cancelled?.orders, 1);
  // A note that came late stands at the service: the flow waits for a person by itself.
  const told = { kind: 'credit-note', requestCode, of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell(requestCode, { ...told, note: { ...note, noteNumber: 'N-late' }, errors: [] });
  await eventually(async () => (await state('c-701'))?.lateNote != null);
  assert.deepEqual(await found(), []);
});

test('an event of nobody waits for a person once its alarm is raised, and is closed by a command', async (context) => {
  const { start, reaches, noteFor, tell, state } = await takingHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  const told = { kind: 'credit-note', requestCode: 'q-lost', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-lost', { ...told, note: await noteFor('c-700', { noteNumber: 'N-9' }), errors: [] });
  await eventually(async () => (await state('event:q-lost'))?.phase === 'unclaimed');
  const event = (await state('event:q-lost'))!;
  const alarmAt = event.startedAt + settings.noteTimeoutMs;
  const open = plainVault.open as never;
  assert.deepEqual(waitsFor(event, settings, null, alarmAt - 1), []);
  assert.deepEqual(waitsFor(event, settings, null, alarmAt), ['cancel']);
  assert.equal(waitsForPerson({ ...event, phase: 'closed' }, settings, null, alarmAt), false);
  assert.equal(waitsForPerson({ ...event, phase: 'claimed', owner: 'c-1' }, settings, null, alarmAt), false);
  const english = nextText(createFormat('en'), [event], { open, settings, now: alarmAt });
  assert.match(english, /^event:q-lost: /);
  assert.match(english, /^ {2}told under a code that no flow knows: contract, note N-9$/m);
  assert.match(english.replaceAll(/\s+/g, ' '), /Then it has to be confirmed in its flow \(confirm\), or closed/);
  assert.match(english, /^ {4}lance events close event:q-lost --by NAME --reason TEXT$/m);
  const portuguese = nextText(createFormat('pt'), [event], { open, settings, now: alarmAt });
  assert.match(portuguese, /^ {2}informado sob um código que nenhum fluxo conhece: contrato, CCB N-9$/m);
  assert.match(portuguese, /^ {2}encerrar, se não for de nenhum fluxo:$/m);
  for (const line of [...english.split('\n'), ...portuguese.split('\n')]) assert.ok(line.length <= 80, line);
});
