/**
 * Requests that wait for what external sources say of them. The question is in the log before the first byte goes out, the answer before
 * it counts; what failed is an answer too. The network is asked nowhere else.
 */
import { type Clock, dayOf } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { SourceFailure } from '../domain/offer.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { Facts } from '../rules/facts.ts';
import { cpfField, questionOf, readReply, type Source } from '../rules/sources.ts';
import type { DeskObserver } from './observer.ts';
import type { Endpoint, Enrichment, SourceReply } from './ports.ts';
import { createSlots, type Slots } from './slots.ts';
import { mostAttempts, sourceStateOf } from './sources.ts';
import { problemOf } from './unprocessable.ts';

export type SourceDesk = {
  /**
   * Asks, unless it is being asked. `until`: the last moment at which an answer still leaves time for a bid; what has no answer by then
   * has failed. False: nothing will come of it.
   */
  ask: (state: RequestState, source: Source, facts: Facts, ruleSetHash: string, until: EpochMs) => boolean;
  /** Nobody waits for it here any more. */
  forget: (requestId: RequestId) => void;
  /** Waits for no answer any more. */
  close: () => void;
};

type Answer = { failure: SourceFailure | null; found: Readonly<Record<string, number | string>> };

/** `dropped`: somebody else goes on with the request, it has ended, or the process stops: an answer would count for nothing. */
type Question = {
  state: RequestState;
  source: Source;
  facts: Facts;
  ruleSetHash: string;
  until: EpochMs;
  dropped: AbortController;
};

/** The way to one endpoint: however slow it is, the others have ways of their own. */
type Way = { slots: Slots; waiting: number };

/** Questions that wait for a slot, by endpoint: each holds the facts of a request. */
const mostWaiting = 1_000;

export function createSourceDesk(options: {
  /** Null: the configuration names no source. */
  enrichment: Enrichment | null;
  vault: Vault;
  clock: Clock;
  observer: DeskObserver;
  /** False: it gave up. */
  keep: (record: AuctionRecord) => Promise<boolean>;
  spawn: (work: Promise<unknown>) => void;
  stopping: () => boolean;
}): SourceDesk {
  const { enrichment, vault, clock, observer, keep, spawn } = options;
  /** By request, and by the declaration that is asked. */
  const asking = new Map<RequestId, Map<string, Question>>();
  const ways = new Map<string, Way>();

  function wayTo(name: string, { mostAsked }: Endpoint): Way {
    const known = ways.get(name) ?? { slots: createSlots(clock, () => mostAsked), waiting: 0 };
    ways.set(name, known);
    return known;
  }

  function cpfOf({ requestId, sealed }: RequestState, { send }: Source, endpoint: Endpoint): string | null {
    if (!send.includes(cpfField) || sealed === null || !endpoint.maySendCpf) return null;
    const opened: { identity: { cpf: string | null } } = JSON.parse(
      vault.open(sealedPlaces.request(requestId), sealed),
    );
    return opened.identity.cpf;
  }

  /** What is sent, or why nothing can be: an answer to a question about nobody would count as one about this worker. */
  function textOf({ state, source, facts }: Question, endpoint: Endpoint): string | Answer {
    if (source.send.includes(cpfField) && !endpoint.maySendCpf) return failed(source, 'not-configured');
    try {
      return questionOf(source, facts, cpfOf(state, source, endpoint)) ?? failed(source, 'incomplete');
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return failed(source, 'unreadable');
    }
  }

  async function answerTo({ source, until, dropped }: Question, text: string, endpoint: Endpoint): Promise<Answer> {
    const timeoutMs = Math.min(source.timeoutMs, until - clock.now());
    if (timeoutMs <= 0) return failed(source, 'no-time');
    const reply = await inTime(timeoutMs, dropped.signal, (ended) => endpoint.ask(text, ended));
    if (reply.kind === 'failed') return failed(source, reply.reason);
    const found = readReply(source, reply.text);
    return found === null ? failed(source, 'unreadable') : { failure: null, found };
  }

  /** The time limit is for all of it, however slowly it drips. */
  async function inTime(
    timeoutMs: number,
    dropped: AbortSignal,
    ask: (ended: AbortSignal) => Promise<SourceReply>,
  ): Promise<SourceReply> {
    const late = new AbortController();
    const { promise, resolve } = Promise.withResolvers<SourceReply>();
    const timer = clock.after(timeoutMs, () => {
      resolve({ kind: 'failed', reason: 'time-out' });
      late.abort();
    });
    try {
      return await Promise.race([ask(AbortSignal.any([late.signal, dropped])), promise]);
    } finally {
      timer.cancel();
    }
  }

  function failed({ otherwise }: Source, failure: SourceFailure): Answer {
    return { failure, found: otherwise };
  }

  async function run(question: Question): Promise<void> {
    const { state, source } = question;
    const attempts = sourceStateOf(state, source)?.attempts ?? 0;
    const endpoint = enrichment?.endpoint(source.endpoint) ?? null;
    const answer =
      endpoint === null
        ? failed(source, 'not-configured')
        : attempts >= mostAttempts
          ? failed(source, 'interrupted')
          : await unlessDropped(question, inTurn(question, endpoint, attempts + 1));
    if (answer === null || question.dropped.signal.aborted) return;
    observer({ kind: 'source', source: source.name, failure: answer.failure, at: clock.now() });
    const { requestId } = state;
    await keep({
      ...{ kind: 'source-answered', requestId, at: clock.now(), source: source.name, hash: source.hash },
      ...answer,
    });
  }

  /** Asks once there is a slot: a hundred slow questions at once would be a hundred connections, and more memory with each. */
  async function inTurn(question: Question, endpoint: Endpoint, attempt: number): Promise<Answer | null> {
    const { source, until } = question;
    const way = wayTo(source.endpoint, endpoint);
    if (clock.now() >= until) return failed(source, 'no-time');
    if (way.waiting >= mostWaiting) return failed(source, 'queue-full');
    way.waiting += 1;
    const entered = await way.slots.wait(until);
    way.waiting -= 1;
    if (!entered) return failed(source, 'no-time');
    try {
      return await asked(question, endpoint, attempt);
    } finally {
      way.slots.leave();
    }
  }

  /** Null: it is not asked any more, or the log has not taken the question. */
  async function asked(question: Question, endpoint: Endpoint, attempt: number): Promise<Answer | null> {
    const { state, source, ruleSetHash, dropped } = question;
    if (dropped.signal.aborted) return null;
    const text = textOf(question, endpoint);
    if (typeof text !== 'string') return text;
    // While nobody knows how often it was asked, it is not.
    const today = dayOf(clock.now());
    const taken = await enrichment!.take(today, source.maxAskedPerDay, source.name).catch(() => false);
    if (!taken) return failed(source, 'over-budget');
    const of = { requestId: state.requestId, at: clock.now(), source: source.name, hash: source.hash };
    if (!(await keep({ kind: 'source-asked', ...of, attempt, ruleSetHash })) || dropped.signal.aborted) return null;
    return unlessDropped(question, answerTo(question, text, endpoint));
  }

  /** Null: it was dropped first. Nobody waits for somebody else's time limit then, and its slot is free. */
  function unlessDropped<T>({ dropped: { signal } }: Question, work: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const give = () => resolve(null);
      signal.addEventListener('abort', give);
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
    });
  }

  function drop(requestId: RequestId): void {
    for (const { dropped } of asking.get(requestId)?.values() ?? []) dropped.abort();
    asking.delete(requestId);
  }

  return {
    ask: (state, source, facts, ruleSetHash, until) => {
      const { requestId } = state;
      const own = asking.get(requestId) ?? new Map<string, Question>();
      // Two files may say the same: each is asked under its own name.
      const declared = `${source.name} ${source.hash}`;
      if (own.has(declared) || options.stopping()) return true;
      const question = { state, source, facts, ruleSetHash, until, dropped: new AbortController() };
      asking.set(requestId, own.set(declared, question));
      spawn(run(question));
      return true;
    },
    forget: drop,
    close: () => {
      for (const requestId of asking.keys()) drop(requestId);
    },
  };
}
