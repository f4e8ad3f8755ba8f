/** Records as a process with certain settings writes them, and settings of another one. */
import type { AuctionRecord, FoldTerms } from '../../src/domain/records.ts';

export const otherTerms: FoldTerms = {
  windowMs: 77_000,
  resultTimeoutMs: 1_234_000,
  contemplationTimeoutMs: 4_321_000,
  graceMs: 5_000,
  halfLifeMs: 3_000,
};

export function withTerms(record: AuctionRecord, { windowMs, ...ofClaim }: FoldTerms): AuctionRecord {
  const { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs } = ofClaim;
  switch (record.kind) {
    case 'requested':
      return record.request.closesAt === null ? { ...record, windowMs } : record;
    case 'claimed':
      return { ...record, terms: { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs } };
    case 'ended':
      return { ...record, halfLifeMs };
    default:
      return record;
  }
}
