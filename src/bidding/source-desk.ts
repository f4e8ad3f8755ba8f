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
import type { Enrichment } from './ports.ts';
import { mostAttempts, sourceStateOf } from './sources.ts';
import { problemOf } from './unprocessable.ts';

export type SourceDesk = {
  /** Asks, unless it is being asked. `until`: the last moment at which an answer still leaves time for a bid. */
  ask: (state: RequestState, source: Source, facts: Facts, ruleSetHash: string, until: EpochMs) => void;
  /** Nobody waits for it here any more. */
  forget: (requestId: RequestId) => void;
  /** Waits for no answer any more. */
  close: () => void;
};

type Answer = { failure: SourceFailure | null; found: Readonly<Record<string, number | string>> };

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
  /** By request, the declarations that are being asked. */
  const asking = new Map<RequestId, Set<string>>();
  const waiting = new Set<() => void>();

  function cpfOf({ requestId, sealed }: RequestState, { endpoint, send }: Source): string | null {
    if (!send.includes(cpfField) || sealed === null || !enrichment!.maySendCpf(endpoint)) return null;
    const opened: { identity: { cpf: string | null } } = JSON.parse(
      vault.open(sealedPlaces.request(requestId), sealed),
    );
    return opened.identity.cpf;
  }

  async function answerOf(state: RequestState, source: Source, facts: Facts, timeoutMs: number): Promise<Answer> {
    const { endpoint } = source;
    let question: string;
    try {
      question = questionOf(source, facts, cpfOf(state, source));
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return failed(source, 'unreadable');
    }
    const reply = await enrichment!.ask(endpoint, question, timeoutMs);
    if (reply.kind === 'failed') return failed(source, reply.reason);
    const found = readReply(source, reply.text);
    return found === null ? failed(source, 'unreadable') : { failure: null, found };
  }

  function failed({ otherwise }: Source, failure: SourceFailure): Answer {
    return { failure, found: otherwise };
  }

  /** Why it is not asked at all; null: it may be, and was counted. */
  async function hindrance(source: Source, attempts: number, restMs: number): Promise<SourceFailure | null> {
    if (enrichment === null || !enrichment.isConfigured(source.endpoint)) return 'not-configured';
    if (attempts >= mostAttempts) return 'interrupted';
    if (restMs <= 0) return 'no-time';
    // While nobody knows how often it was asked, it is not.
    const taken = await enrichment.take(dayOf(clock.now()), source.maxAskedPerDay, source.name).catch(() => false);
    return taken ? null : 'over-budget';
  }

  async function run(
    state: RequestState,
    source: Source,
    facts: Facts,
    ruleSetHash: string,
    until: EpochMs,
  ): Promise<void> {
    const { requestId } = state;
    const { name, hash } = source;
    const attempts = sourceStateOf(state, source)?.attempts ?? 0;
    const why = await hindrance(source, attempts, until - clock.now());
    if (why === null) {
      const at = clock.now();
      const asked = { source: name, hash, attempt: attempts + 1, ruleSetHash };
      if (!(await keep({ kind: 'source-asked', requestId, at, ...asked }))) return;
    }
    if (options.stopping() || !isAsking(requestId, hash)) return;
    const timeoutMs = Math.min(source.timeoutMs, until - clock.now());
    const answer =
      why !== null
        ? failed(source, why)
        : timeoutMs <= 0
          ? failed(source, 'no-time')
          : await orGiveUp(answerOf(state, source, facts, timeoutMs));
    // Somebody else goes on with it, or it has ended: an answer would count for nothing, or for somebody else's question.
    if (answer === null || options.stopping() || !isAsking(requestId, hash)) return;
    observer({ kind: 'source', source: name, failure: answer.failure, at: clock.now() });
    await keep({ kind: 'source-answered', requestId, at: clock.now(), source: name, hash, ...answer });
  }

  /** Null: the process stops, and does not wait for somebody else's time limit. */
  function orGiveUp(answer: Promise<Answer>): Promise<Answer | null> {
    return new Promise((resolve, reject) => {
      const giveUp = () => resolve(null);
      waiting.add(giveUp);
      answer.then(resolve, reject).finally(() => waiting.delete(giveUp));
    });
  }

  function isAsking(requestId: RequestId, hash: string): boolean {
    return asking.get(requestId)?.has(hash) ?? false;
  }

  return {
    ask: (state, source, facts, ruleSetHash, until) => {
      const { requestId } = state;
      if (isAsking(requestId, source.hash)) return;
      asking.set(requestId, (asking.get(requestId) ?? new Set()).add(source.hash));
      spawn(run(state, source, facts, ruleSetHash, until));
    },
    forget: (requestId) => {
      asking.delete(requestId);
    },
    close: () => {
      for (const giveUp of waiting) giveUp();
    },
  };
}
