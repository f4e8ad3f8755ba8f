/** Front and desk of flows in one process, with a real log and store: what the ledger, the links and the service say is the test's. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createAuthorisations, noting } from '../../src/bidding/authorisations.ts';
import { claimLogId } from '../../src/bidding/log-id.ts';
import type { LinkQuery, QueryAnswer } from '../../src/bidding/ports.ts';
import type { FlowSettings } from '../../src/config/sections.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import type { LinkDetail } from '../../src/domain/request.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { createFlowDesk } from '../../src/origination/desk.ts';
import { createFlowFront } from '../../src/origination/front.ts';
import type { ContractAsked } from '../../src/origination/orders.ts';
import type { Addresses } from '../../src/origination/ports.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import type { AnswerOf, OperationName, OperationResult, Prepared } from '../../src/wire/operations.ts';
import { offer } from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { contractOrder, goodTerms, link, plainVault, pricing, settings } from './orders.ts';

const allSet: Addresses = { fgts: true, proposal: true };

export const orderOf = (requestId: string): ContractAsked => {
  const { amountCents, installments, rateHundredths } = offer;
  const { contract } = contractOrder({ ...goodTerms, amountCents, installments, rateHundredths });
  const { cpf, registration, employerId, employerIdType } = link.identity;
  return {
    contract: { ...contract, requestId },
    acceptedByWorker: true,
    link: { cpf, registration, employerId, employerIdType, authorisationNumber: link.authorisationNumber },
  };
};

/** `front`: null where whoever asks does not know which addresses are set. `kept`: a directory that is there before and after. */
export async function startFlowHouse(
  context: TestContext,
  addresses: { desk: Addresses; front: Addresses | null } = { desk: allSet, front: allSet },
  change: Partial<FlowSettings> = {},
  kept: string | null = null,
) {
  const directory = kept ?? mkdtempSync(join(tmpdir(), 'lance-flows-'));
  const clock = createSystemClock();
  const store = await openEmbeddedStore({ directory, onFault: (fault) => assert.fail(fault.message) });
  const won = new Map<string, RequestState>();
  const details = new Map<string, LinkDetail>();
  const sent: Prepared[] = [];
  const queries: LinkQuery[] = [];
  const alarms: string[] = [];
  const world = {
    answerTo: (_prepared: Prepared, _maxAttempts: number): OperationResult<AnswerOf<OperationName>> =>
      ({ kind: 'not-sent', reason: 'unreachable', retryAt: null }) as const,
    answerToQuery: (): QueryAnswer => ({ kind: 'failed', reason: 'unreachable' }),
    beforeMargins: async (): Promise<void> => {},
    /** Before the desk appends records of these kinds. */
    beforeAppend: async (_kinds: readonly string[]): Promise<void> => {},
    isOpen: true,
  };
  const views = {
    read: async (requestIds: readonly string[]) =>
      new Map(
        requestIds.flatMap((requestId) => {
          const state = won.get(requestId);
          return state === undefined
            ? []
            : [[requestId, { state, reservation: 'none' as const, hadRoom: true }] as const];
        }),
      ),
  };
  const margins = {
    read: async (linkKeys: readonly string[]) => {
      await world.beforeMargins();
      return new Map(
        linkKeys.flatMap((linkKey) => {
          const detail = details.get(linkKey);
          return detail === undefined ? [] : [[linkKey, detail] as const];
        }),
      );
    },
  };
  const vault = plainVault as never;
  const authorisations = createAuthorisations({ always: false });
  const askLink = async (query: LinkQuery) => {
    queries.push(query);
    return world.answerToQuery();
  };
  const parts = {
    flows: store.flows,
    views,
    margins,
    vault,
    clock,
    pricing,
  };
  const heldAppend: typeof store.log.append = async (entries) => {
    await world.beforeAppend(entries.map(({ record }) => ('kind' in record ? record.kind : '')));
    await store.log.append(entries);
  };
  const own = { ...settings, pollMs: 20, marginRetryMs: 20, retryMs: 20, retryMaxMs: 20, ...change };
  const desk = createFlowDesk({
    ...parts,
    ...{
      instance: 'a',
      log: { ...store.log, append: heldAppend },
      settings: own,
      addresses: addresses.desk,
      isOpen: () => world.isOpen,
    },
    authorisations,
    service: {
      perform: async (prepared: Prepared, _mayWrite: () => boolean, maxAttempts: number) => {
        sent.push(prepared);
        return world.answerTo(prepared, maxAttempts);
      },
      ...noting({ listLinks: askLink, askLinkDetail: askLink }, authorisations, (cpf) => workerKeyOf(vault, cpf)),
    } as never,
    observer: (event) => {
      if (event.kind === 'alarm') alarms.push(event.code);
    },
  });
  await desk.start();
  context.after(async () => {
    await desk.stop();
    await store.close();
    if (kept === null) rmSync(directory, { recursive: true });
  });
  const append = async (...entries: Parameters<typeof store.log.append>[0]) => void (await store.log.append(entries));
  const front = createFlowFront({
    ...{ ...parts, settings: own, addresses: addresses.front, log: store.log, unfolded: null },
    logId: () => claimLogId(store.log, randomUUID()),
    append: (entries) => append(...entries),
  });
  const state = async (flowId: string) => (await store.flows.read([flowId])).get(flowId);
  return {
    ...{
      world,
      won,
      details,
      sent,
      queries,
      alarms,
      clock,
      desk,
      front,
      append,
      state,
      flows: store.flows,
      log: store.log,
      control: store.control,
      views,
    },
    history: async (flowId: string) =>
      (await store.log.readKey('flows', flowId)).map(({ record }) => record as FlowRecord),
    tell: (key: string, record: CallbackRecord) => append({ topic: 'callbacks', key, record }),
    reaches: (flowId: string, phase: string) => eventually(async () => (await state(flowId))?.phase === phase, 5_000),
  };
}
