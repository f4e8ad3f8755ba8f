/**
 * One flow, two processes and the service, without clocks or sockets: what happens and when is the test's to choose. The
 * processes run the pure functions as the desk does; the service says what it has executed. Each record is also folded by a third
 * one with other settings, which comes to the same state.
 */
import assert from 'node:assert/strict';
import type { ExpectedLoan, FlowFoldTerms, FlowRecord, FlowResult } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { prepareOperation } from '../../src/origination/preparation.ts';
import { type FlowCommand, maySend, react } from '../../src/origination/react.ts';
import { plainVault, pricing, settings, startAt } from './orders.ts';

/** Settings of a process that did not write the records. */
export const otherTerms: FlowFoldTerms = { stepsKept: 1, keyedAttempts: 1, retryMs: 77, retryMaxMs: 78 };

/** As a desk with the settings of `orders.ts` writes it. */
export function withTerms(record: FlowRecord): FlowRecord {
  const { stepsKept, keyedAttempts, retryMs, retryMaxMs } = settings;
  if (record.kind === 'asked') return { ...record, stepsKept };
  if (record.kind !== 'intended') return record;
  const forgets = record.operation === 'endorsement' ? { forgetsCode: true as const } : {};
  return { ...record, ...forgets, retry: { keyedAttempts, retryMs, retryMaxMs } };
}

type Execution = { operation: string; intentId: string; key: string | null; body: string; at: number };
/** `dies`: taken, and the process dies before it hears; `late`: taken, and the answer is not in the log yet. */
export type Fate = 'taken' | 'dies' | 'late' | 'lost' | 'lost-before' | 'refused' | 'not-sent' | 'turned-away';

/** `alone`: intents that it wrote, and nobody else can have sent. */
type Process = { name: string; tried: Set<string>; alone: Set<string>; lives: number; planned: Planned[] };
/** `from`: where the flow stood when the process made up its mind. */
type Planned = { command: FlowCommand; from: FlowState };

export type FlowWorld = ReturnType<typeof createFlowWorld>;

export function createFlowWorld(start: FlowRecord) {
  const log: FlowRecord[] = [];
  const executed: Execution[] = [];
  const events: FlowRecord[] = [];
  const late: FlowRecord[] = [];
  const writes = new Map<string, number>();
  const processes: Process[] = ['a', 'b'].map((name) => ({
    ...{ name, tried: new Set(), alone: new Set(), lives: 1, planned: [] },
  }));
  const world = { now: startAt, marginAt: null as number | null, codes: 0, intents: 0 };
  let state: FlowState | null = null;

  const append = (given: FlowRecord) => {
    const record = withTerms(given);
    log.push(record);
    const before = state;
    state = evolve(before, record, settings);
    assert.deepEqual(evolve(before, record, otherTerms), state);
  };
  append(start);

  const crash = (process: Process) => {
    process.lives += 1;
    process.tried.clear();
    process.alone.clear();
    process.planned = [];
  };
  const margin = () => (world.marginAt === null ? null : { receivedAt: world.marginAt, availableMarginCents: 100_000 });
  const named = ({ name, lives }: Process) => `${name}${lives}`;

  const execute = (process: Process, fate: Fate) => {
    const { intent, operation } = state!.operation!;
    process.tried.add(intent!.intentId);
    // The flow is this process's now.
    for (const other of processes) if (other !== process) other.alone.clear();
    const othersMayHaveSent = !process.alone.has(intent!.intentId);
    const answer = (result: FlowResult, sealedAnswer: string | null = null): FlowRecord => ({
      ...{ kind: 'answered', flowId: state!.flowId, at: world.now, intentId: intent!.intentId, operation },
      ...{ instance: named(process), result, earlierAttemptPossible: othersMayHaveSent, othersMayHaveSent },
      ...{ firstByteAt: world.now, status: 200, sealedAnswer },
    });
    if (fate === 'not-sent') return answer({ kind: 'not-sent', reason: 'unreachable', retryAt: null });
    if (fate === 'turned-away') {
      const sent = intent!.idempotencyKey === null ? { attempts: 1 } : {};
      return { ...answer({ kind: 'not-sent', reason: 'throttled', retryAt: null }), ...sent } as FlowRecord;
    }
    writes.set(intent!.intentId, (writes.get(intent!.intentId) ?? 0) + 1);
    if (fate === 'lost-before') return answer({ kind: 'unknown', reason: 'connection-lost' });
    const key = intent!.idempotencyKey;
    const known = key !== null && executed.some((one) => one.key === key);
    if (fate === 'refused' && !known) return answer({ kind: 'rejected', code: 'no', errors: [] });
    world.codes += 1;
    const requestCode = `code-${world.codes}`;
    if (!known) {
      const body = plainVault.open(null, intent!.sealedBody);
      executed.push({ operation, intentId: intent!.intentId, key, body, at: world.now });
      if (operation === 'contract' || operation === 'renegotiation') events.push(noteOf(operation, requestCode));
    }
    if (fate === 'lost') return answer({ kind: 'unknown', reason: 'headers-timeout' });
    const sealedAnswer =
      operation === 'simulation' ? '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}' : null;
    const situation = operation === 'proposal' ? 1 : null;
    return answer({ kind: 'accepted', requestCode, proposalCode: 'prop-1', situation }, sealedAnswer);
  };

  const noteOf = (of: 'contract' | 'renegotiation', requestCode: string): FlowRecord => {
    const flowId = state!.flowId;
    const note = noteAsOrdered(state!.expected);
    return { kind: 'told', flowId, at: world.now, requestCode, of, note, errors: [], sealed: '' };
  };

  /** Does one planned command as the desk would: what it prepares is of the state it planned from, the rest against the state as it is. */
  const perform = (process: Process, { command, from }: Planned, fate: Fate): void => {
    const flowId = state!.flowId;
    switch (command.kind) {
      case 'prepare': {
        const { operation, slot } = command;
        const facts = {
          now: world.now,
          margin: margin(),
          ...plainVault,
          bodyKey: plainVault.pseudonym,
          pricing,
          settings,
          addresses: null,
          bid: null,
        };
        const { preparation, expected } = prepareOperation(from, operation, slot, facts);
        if (preparation.kind === 'withheld') {
          append({ kind: 'withheld', flowId, at: world.now, operation, slot, breaches: preparation.breaches });
          return;
        }
        const { body, path, idempotencyKey } = preparation.prepared;
        world.intents += 1;
        const intentId = `${named(process)}:${world.intents}`;
        const sealedBody = plainVault.seal(null, body);
        process.alone.add(intentId);
        append({
          ...{ kind: 'intended', flowId, at: world.now, intentId, instance: named(process), operation, slot },
          ...{ idempotencyKey, path, sealedBody, expected },
        });
        return;
      }
      case 'send': {
        // Asked again where the first byte is written.
        const intentId = state!.operation?.intent?.intentId ?? '';
        const around = { now: world.now, instance: named(process), tried: (id: string) => process.tried.has(id) };
        if (!maySend(state!, intentId, around, settings)) return;
        const answer = execute(process, fate);
        if (fate === 'dies') crash(process);
        else if (fate === 'late') late.push(answer);
        else append(answer);
        return;
      }
      case 'ask-margin':
        append({ kind: 'margin-asked', flowId, at: world.now, refusal: null });
        world.marginAt = world.now;
        return;
      case 'append':
        append(command.record);
        return;
      case 'look-up-proposal':
        append({
          ...{ kind: 'proposed', flowId, at: world.now, proposalCode: 'pc', proposalNumber: '1' },
          ...{ validUntil: null, errors: [] },
        });
        return;
      case 'look-up-event':
      case 'give-event-up':
      case 'look-up-flow':
      case 'wait':
      case 'alarm':
        return;
      default:
        command satisfies never;
    }
  };

  const plan = (process: Process) => {
    const around = {
      now: world.now,
      instance: named(process),
      margin: margin(),
      tried: (id: string) => process.tried.has(id),
    };
    const from = state!;
    const commands = react(from, around, settings).filter(({ kind }) => kind !== 'wait' && kind !== 'alarm');
    process.planned = commands.map((command) => ({ command, from }));
  };

  return {
    world,
    executed,
    events,
    writes,
    log,
    state: () => state!,
    append,
    /** Reads where the flow stands and makes up its mind. */
    plan: (index: number) => plan(processes[index]!),
    /** Does the next thing that it made up its mind to do, however long ago. */
    act: (index: number, fate: Fate) => {
      const process = processes[index]!;
      const planned = process.planned.shift();
      if (planned !== undefined) perform(process, planned, fate);
    },
    pass: (ms: number) => {
      world.now += ms;
    },
    crash: (index: number) => crash(processes[index]!),
    /** Answers that were on their way into the log. */
    arrive: () => {
      for (const answer of late.splice(0)) append(answer);
    },
    /** Whether the intent that nobody is sure of was executed, as the service's own portal would say. */
    wasDone: () =>
      executed.some(({ intentId, key }) => {
        const intent = state!.operation!.intent!;
        return intentId === intent.intentId || (key !== null && key === intent.idempotencyKey);
      }),
    codeOf: () => {
      const index = executed.findIndex(({ intentId }) => intentId === state!.operation!.intent!.intentId);
      const notes = executed
        .slice(0, index + 1)
        .filter(({ operation }) => operation === 'contract' || operation === 'renegotiation');
      const event = events[notes.length - 1];
      return event?.kind === 'told' ? event.requestCode : null;
    },
    /** Runs everything that is due, without a fault, until nothing moves. */
    settle: () => {
      for (let round = 0; round < 200; round += 1) {
        const before = log.length;
        const process = processes[0]!;
        plan(process);
        while (process.planned.length > 0) perform(process, process.planned.shift()!, 'taken');
        if (log.length === before) {
          const { operation } = state!;
          const retryAt = operation?.retryAt ?? null;
          if (retryAt === null || operation?.status === 'unclear' || world.now >= retryAt) return;
          world.now = retryAt;
        }
      }
      assert.fail('the flow never comes to rest');
    },
  };
}

/** With the figures that are reckoned here, where any are. */
function noteAsOrdered(expected: ExpectedLoan | null): CreditNote {
  const { loanCents, iofCents, installmentCents, insuranceCents, rateHundredths } = expected ?? {};
  return {
    ...sampleNote,
    loanCents: loanCents ?? sampleNote.loanCents,
    iofCents: iofCents ?? sampleNote.iofCents,
    installmentCents: installmentCents ?? sampleNote.installmentCents,
    insuranceCents: insuranceCents ?? sampleNote.insuranceCents,
    rateMonthlyPercent: rateHundredths === undefined ? sampleNote.rateMonthlyPercent : rateHundredths / 100,
  };
}

export const sampleNote: CreditNote = {
  noteNumber: '77',
  proposalCode: 'other',
  loanCents: 600_000,
  iofCents: 30_000,
  insuranceCents: 0,
  installmentCents: 45_000,
  rateMonthlyPercent: 2.5,
  rateAnnualPercent: null,
  cetMonthlyPercent: null,
  cetAnnualPercent: null,
};
