/** One bid in a list: what people and programs look at first. */
import type { AmountCents, EpochMs, RateHundredths } from '../domain/glossary.ts';
import type { Phase, RequestState } from '../domain/states.ts';

/** A line of `lance bids list --json`, and a bid of the operator API. */
export type ListedBid = {
  requestId: string;
  batchId: string | null;
  state: Phase;
  /** Why there was no bid, or why the service turned it away. */
  code: string | null;
  rateHundredths: RateHundredths | null;
  amountCents: AmountCents | null;
  installments: number | null;
  position: number | null;
  decidedAt: EpochMs | null;
  /** What may be done about it next; null: nothing, or nothing yet. No event tells that the worker has taken a proposal. */
  next: 'contract-once-the-worker-has-taken-it' | null;
  /** What could not be processed of it; absent: it is not frozen. */
  frozen?: string | undefined;
};

export function listedBid(state: RequestState): ListedBid {
  const { requestId, batchId, phase, answer, auction, decidedAt } = state;
  const claim = state.claim?.unread ? null : state.claim;
  const rejection = phase === 'rejected' && answer?.outcome.kind === 'rejected' ? answer.outcome.code : null;
  return {
    requestId,
    batchId,
    state: phase,
    code: phase === 'passed' ? (state.pass?.code ?? null) : rejection,
    rateHundredths: claim?.offer.rateHundredths ?? null,
    amountCents: claim?.offer.amountCents ?? null,
    installments: claim?.offer.installments ?? null,
    position: auction?.position ?? null,
    decidedAt,
    next: phase === 'contemplated' || phase === 'proposed' ? 'contract-once-the-worker-has-taken-it' : null,
    ...(state.frozen === undefined ? {} : { frozen: state.frozen.problem }),
  };
}
