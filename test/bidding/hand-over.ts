/** Two desks on one log of one partition and on one set of views, in virtual time, without faults: who owns the partition is the test's to say. */
import { createDesk, type Desk } from '../../src/bidding/desk.ts';
import type { BidAnswer, ControlState, Enrichment } from '../../src/bidding/ports.ts';
import type { RequestId } from '../../src/domain/glossary.ts';
import type { AuctionRecord, Topic } from '../../src/domain/records.ts';
import type { LoanRequest } from '../../src/domain/request.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { Fault } from '../../src/errors.ts';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import { isBidOf } from '../../src/wire/bid.ts';
import { at, sampleRequest } from '../rules/sample-request.ts';
import { createEventLog, createLogStore, decode, type LogWorld } from '../simulation/event-log.ts';
import { type Faults, noFaults } from '../simulation/faults.ts';
import type { Group, Member } from '../simulation/group.ts';
import { createRuleVariants, encode, settings } from '../simulation/policy.ts';
import { seededChance } from '../simulation/seeded-chance.ts';
import { createControlStore } from '../simulation/small-ports.ts';
import { createViewStore, createViews, rowOf } from '../simulation/views.ts';
import { createVirtualTime, type Process } from '../simulation/virtual-time.ts';
import { createTestVault } from '../wire/vault.ts';
import { createFakeService } from './fake-service.ts';

type Name = 'a' | 'b';
const names: readonly Name[] = ['a', 'b'];

/** One partition, owned by whoever was given it last. */
function groupByHand(): Group & { unsettle: () => void; give: (name: Name) => void } {
  const members = new Map<string, Member & { holds: boolean }>();
  return {
    join: (joining) => {
      const member = { ...joining, holds: false };
      members.set(joining.process.id, member);
      return {
        holds: () => member.holds,
        leave: () => {
          member.holds = false;
        },
      };
    },
    move: () => {},
    unsettle: () => {
      for (const member of members.values()) {
        member.holds = false;
        member.onUnsettled();
      }
    },
    give: (name) => {
      for (const member of members.values()) {
        member.holds = false;
        member.onUnsettled();
      }
      for (const [id, member] of members) {
        member.holds = id === name;
        member.onAssigned(member.holds ? [0] : [], false);
      }
    },
  };
}

type Written = { by: Name; body: string; answer: (answer: BidAnswer) => void };

/** `moreRules`, `files`: beside those of the simulation. */
export async function createHandOver(
  moreRules: readonly object[] = [],
  files: readonly RuleFile[] = [],
  enrichmentOf: (name: Name) => Enrichment | null = () => null,
) {
  const time = createVirtualTime(at);
  const chance = seededChance(1);
  const faults: Faults = { counts: noFaults(), strikes: () => false, note: () => {}, end: () => {}, over: () => true };
  const remote = { chance, faults, time, crash: () => {} };
  const store = createLogStore(1, true);
  const groups = { auctions: groupByHand(), callbacks: groupByHand() };
  for (const [topic, group] of Object.entries(groups)) store.groups!.set(topic as Topic, group);
  const views = createViewStore();
  const variants = createRuleVariants(moreRules, files);
  const { policy, hash } = variants.all[0]!;
  const control = createControlStore(at, hash);
  const world = {
    /** No process hears of the controls. */
    controlCut: false,
    /** Called before anybody reads what was appended. */
    onAppended: (_by: Name, _record: AuctionRecord): void => {},
  };
  /** Bids whose first byte is out; answered by the test. */
  const written: Written[] = [];
  const desks = {} as Record<Name, Desk>;
  const logWorld: LogWorld = { ...remote, store, onDelivered: () => {}, onHandled: () => {} };

  function deskOf(name: Name): Desk {
    const process: Process = { id: name, alive: true, diedAt: 0, frozenAt: 0, frozenUntil: 0, skewMs: 0, stepMs: 0 };
    const log = createEventLog(logWorld, process);
    const service = createFakeService(
      (body) =>
        new Promise((resolve) => {
          written.push({ by: name, body, answer: resolve });
        }),
    );
    return createDesk({
      instance: name,
      soleOwner: false,
      log: {
        ...log,
        append: (entries) => {
          for (const { topic, record } of entries) if (topic === 'auctions') world.onAppended(name, record);
          return log.append(entries);
        },
      },
      views: createViews({ ...remote, store: views, onRead: () => {} }, process),
      margins: { read: async () => new Map(), write: async () => {} },
      control: {
        read: async (): Promise<ControlState> => {
          if (world.controlCut) throw new Fault('views-unavailable', 'no control');
          return control.state;
        },
        setPause: async () => 0,
        resume: async () => 0,
        setCap: async () => 0,
        snoozeRule: async () => 0,
        resumeRule: async () => 0,
        announceRules: async () => 0,
        acknowledge: async () => {},
        acknowledged: async () => [],
      },
      service,
      enrichment: enrichmentOf(name),
      authorisations: { mayAsk: () => true, taken: () => {} },
      vault: createTestVault(),
      clock: time.clockOf(process),
      chance: () => 0.5,
      settings,
      earlierTerms: settings,
      learning: true,
      policy: () => policy,
      encodeBid: encode,
      isBidOf,
      observer: () => {},
    });
  }

  const pass = (durationMs: number) => time.run(time.now() + durationMs);
  const give = (name: Name) => {
    for (const group of Object.values(groups)) group.give(name);
  };
  /** The group shares out anew: until `give` nobody may act. */
  const unsettle = () => {
    for (const group of Object.values(groups)) group.unsettle();
  };
  for (const name of names) desks[name] = deskOf(name);
  const started = Promise.all(names.map((name) => desks[name].start()));
  // Each waits for its first share, the callbacks for that of the auctions.
  for (let round = 0; round < 5; round += 1) {
    await pass(50);
    give('a');
  }
  await pass(2_000);
  await started;

  const requestId: RequestId = sampleRequest.requestId;
  return {
    world,
    control,
    written,
    give,
    unsettle,
    pass,
    requestId,
    now: time.now,
    policy,
    status: (name: Name) => desks[name].status(),
    stop: (name: Name) => desks[name].stop(),
    /** A record of somebody beside the desks. */
    append: async (record: AuctionRecord) => {
      const person = { id: 'person', alive: true, diedAt: 0, frozenAt: 0, frozenUntil: 0, skewMs: 0, stepMs: 0 };
      const entry = { topic: 'auctions', key: record.requestId, record } as const;
      await Promise.all([createEventLog(logWorld, person).append([entry]), pass(50)]);
    },
    /** New requests are in the log. */
    arrive: async (requestIds: readonly RequestId[] = [requestId], change: Partial<LoanRequest> = {}) => {
      const receivedAt = time.now();
      const entries = requestIds.map((id) => {
        const request = { ...sampleRequest, requestId: id, receivedAt, ...change };
        const record: AuctionRecord = {
          ...{ kind: 'requested', requestId: id, at: receivedAt, request, sealed: 'sealed', rawHash: `raw-${id}` },
        };
        return { topic: 'auctions', key: id, record } as const;
      });
      await Promise.all([
        createEventLog(logWorld, {
          ...{ id: 'door', alive: true, diedAt: 0, frozenAt: 0, frozenUntil: 0, skewMs: 0, stepMs: 0 },
        }).append(entries),
        pass(50),
      ]);
    },
    records: () => store.topics.auctions[0]!.map((stored, offset) => decode<'auctions'>(stored, 0, offset).record),
    inputs: () => store.topics.inputs[0]!.map((stored, offset) => decode<'inputs'>(stored, 0, offset).record),
    state: (): RequestState => rowOf(views.data, requestId)!.state,
    /** Lets time pass until it is so. */
    until: async (isSo: () => boolean, withinMs = 10_000) => {
      for (const end = time.now() + withinMs; !isSo(); ) {
        if (time.now() >= end) throw new Error(`not within ${withinMs} ms`);
        await pass(10);
      }
    },
  };
}
