/** Flows as each role may see them: for the routes of the API and for the pages of the console. */
import type { EventLog } from '../../bidding/ports.ts';
import type { Clock } from '../../domain/clock.ts';
import type { FlowKind, FlowStep } from '../../domain/flow-records.ts';
import type { FlowState } from '../../domain/flow-states.ts';
import { type ApiRole, seeingPersons } from '../../domain/roles.ts';
import type { Vault } from '../../domain/vault.ts';
import { eventsToShow } from '../../origination/events-of-nobody.ts';
import { latestFlows } from '../../origination/latest-flows.ts';
import { requestIndex } from '../../origination/ledger.ts';
import { type ShownBids, withLostBids } from '../../origination/lost-bids.ts';
import { type StepSettings, waitsFor, waitsForPerson } from '../../origination/next-steps.ts';
import { type FlowStore, flowCursor } from '../../origination/ports.ts';
import { type OpenSealed, openedOnce, shownRecord } from '../../origination/shown-flows.ts';
import { withoutCpfs } from '../../wire/hidden-cpf.ts';
import { waitsForAnybody } from './schemas.ts';

export type FlowReaderParts = {
  flows: Omit<FlowStore, 'apply'>;
  log: Pick<EventLog, 'readKey'>;
  views: ShownBids;
  vault: Vault;
  clock: Clock;
  flowSettings: StepSettings;
};

/** `waitsFor`: a step, or `waitsForAnybody`; left out: all flows. */
type FlowPageQuery = {
  flow: FlowKind;
  phase?: string | undefined;
  requestId?: string | undefined;
  waitsFor?: FlowStep | typeof waitsForAnybody | undefined;
  limit: number;
  before?: string | undefined;
};

/** Flows that one page looks at, for those that wait for a person. */
export const mostRead = 5_000;

export function createFlowReader({ flows: stored, log, views, vault, clock, flowSettings }: FlowReaderParts) {
  const flows = withLostBids(stored, views);

  /** Null for roles that see what names nobody. */
  const openFor = (role: ApiRole): OpenSealed => (seeingPersons.includes(role) ? vault.open : null);

  return {
    /** Each with what keeps it back because of its bid. */
    flows,
    openFor,
    find: async (flow: FlowKind, flowId: string): Promise<FlowState | null> => {
      const state = (await flows.read([flowId])).get(flowId);
      return state?.flow === flow ? state : null;
    },
    /** Latest first. `next`: cursor of the next page; null: there is none. */
    page: async (asked: FlowPageQuery): Promise<{ states: FlowState[]; next: string | null }> => {
      const { flow, phase = null, requestId, waitsFor: step, limit, before = null } = asked;
      const code = requestId === undefined ? null : requestIndex(requestId);
      const query = { flow, phase, code, limit, before };
      if (step === undefined) {
        const states = await flows.query(query);
        return { states, next: states.length < limit ? null : flowCursor(states.at(-1)!) };
      }
      const isShown = (state: FlowState) =>
        step === waitsForAnybody
          ? waitsForPerson(state, flowSettings, openedOnce(vault.open), clock.now())
          : waitsFor(state, flowSettings, openedOnce(vault.open), clock.now()).includes(step);
      return latestFlows(flows, query, isShown, mostRead);
    },
    /** Codes of events of nobody that may tell of the flow. */
    waitingEvents: async (state: FlowState, role: ApiRole): Promise<string[]> => {
      const codes = [...(await eventsToShow(flows, state))];
      return openFor(role) === null ? withoutCpfs(codes) : codes;
    },
    /** Its records in log order. */
    history: async ({ flowId, places }: FlowState, role: ApiRole): Promise<Record<string, unknown>[]> => {
      const entries = await log.readKey('flows', flowId, places);
      return entries.map(({ record }) => shownRecord(record, openFor(role)));
    },
  };
}
