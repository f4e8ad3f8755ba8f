/** Sends the claims that were read back, each by one job at a time, and says when it is over. */
import type { RequestId } from '../domain/glossary.ts';
import type { Answered, Passed } from '../domain/records.ts';
import { deadlineOf } from './evolve.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import type { LedgerRow } from './ports.ts';
import { type SendWorld, sendClaim } from './send-claim.ts';

export type BidSender = {
  /** The record that ends the claim; null when it is being sent already, or is over elsewhere. */
  send: (row: LedgerRow) => Promise<Answered | Passed | null>;
  isSending: (requestId: RequestId) => boolean;
  count: () => number;
  /** The request is closed: nothing is remembered of it. */
  forget: (requestId: RequestId) => void;
  /** Somebody else goes on with it: no further attempt, and nothing said of those that were made; they are presumed. */
  abandon: (requestId: RequestId) => void;
};

export function createBidSender(
  world: Omit<SendWorld, 'gateOpen' | 'over' | 'inFlight'> & {
    instance: string;
    gate: Gate;
    ledger: Ledger;
    isLive: () => boolean;
    /** This process may act for the request now. */
    owns: (requestId: RequestId) => boolean;
  },
): BidSender {
  const { gate, ledger, observer } = world;
  const sending = new Set<RequestId>();
  /** Claims that this process has begun to send: taken up again, an earlier attempt may have landed. */
  const attempted = new Set<RequestId>();
  const abandoned = new Set<RequestId>();

  async function send(row: LedgerRow): Promise<Answered | Passed | null> {
    const { claim, requestId, request } = row.state;
    if (claim === null || sending.has(requestId)) return null;
    sending.add(requestId);
    observer({ kind: 'step', step: 'reserved' });
    const job = {
      requestId,
      claim,
      deadlineAt: deadlineOf(row.state, world.settings),
      receivedAt: request?.receivedAt ?? claim.at,
      inherited: claim.instance !== world.instance || attempted.has(requestId),
    };
    attempted.add(requestId);
    // Nothing is written while it is not known that the claim still stands.
    const stands = () => ledger.get(requestId)?.state.phase === 'claimed';
    const record = await sendClaim(
      {
        ...world,
        stopping: () => world.stopping() || abandoned.has(requestId),
        gateOpen: () => gate.isOpen() && stands() && !abandoned.has(requestId) && world.owns(requestId),
        over: () => world.isLive() && !stands(),
        inFlight: () => sending.size,
      },
      job,
    );
    sending.delete(requestId);
    abandoned.delete(requestId);
    if (record !== null) observer({ kind: 'step', step: 'answer-received' });
    return record;
  }

  return {
    send,
    isSending: (requestId) => sending.has(requestId),
    count: () => sending.size,
    forget: (requestId) => {
      attempted.delete(requestId);
    },
    abandon: (requestId) => {
      if (sending.has(requestId)) abandoned.add(requestId);
    },
  };
}
