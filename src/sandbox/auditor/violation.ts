/** What the auditor finds, and what it is told beforehand. */
import type { RequestId } from '../../domain/glossary.ts';
import type { DecisionTrace, Usage } from '../../domain/offer.ts';
import { type Limits, noLimits } from '../../domain/policy.ts';
import type { LoanRequest } from '../../domain/request.ts';
import type { RequestState } from '../../domain/states.ts';
import type { EmittedRequest } from '../record.ts';
import type { SandboxSettings } from '../settings.ts';
import type { WorldSettings } from '../world.ts';
import type { Orders } from './orders.ts';

const violationCodes = [
  'two-payloads',
  'late-first-byte',
  'outside-limits',
  'request-without-end',
  'exposure',
  'acknowledged-lost',
  'statistic-folded-twice',
  'sent-without-claim',
  'wrong-end',
  'pass-without-reason',
  'two-ends',
  'over-cap',
  'cap-keys',
  'sent-while-paused',
  'sent-after-end',
  'unreviewed',
  'source-unheard',
] as const;
export type ViolationCode = (typeof violationCodes)[number];

export type Violation = { code: ViolationCode; requestId: RequestId | null; text: string };

/** Tells a violation; the text is for people and names no worker. */
export type Report = (code: ViolationCode, requestId: RequestId | null, text: string) => void;

/** The views as they stood at the end of the run, as plain data. */
export type ViewsRead = {
  /** Rows of the requests of `viewKeysOf(run)`; a row that is absent is a request that the views never saw. */
  ledger: readonly { state: RequestState; reservation: ExposureWord }[];
  /** Reservations not expired at `usageAt`, by cap key. An absent key holds nothing. */
  usage: ReadonlyMap<string, Usage>;
  usageAt: number;
  /** Results learnt, by statistics key. An absent key has learnt nothing. */
  statistics: ReadonlyMap<string, { count: number }>;
};
export type ExposureWord = 'none' | 'held' | 'committed' | 'released' | 'refused';

export type AuditSettings = {
  world: WorldSettings;
  /** Bids that the service took outside the auction are not late. */
  allowOutside: boolean;
  /**
   * What the risk team allows for a request, as the desk knew it and with what its decision notes (null: none was found); judged
   * on the bytes and kept by the clairvoyant too. CET, spread and profit are the desk's own figures: only the clairvoyant heeds
   * the least profit.
   */
  limitsOf: (request: EmittedRequest, requested: LoanRequest | null, trace: DecisionTrace | null) => Limits;
  /** Longest validity of a bid, counted from its arrival (contract, incluir-lance). */
  maxValidityMs: number;
  /** How far a link's margin may lie above that of the world, as a share. */
  marginDrift: number;
  /** Several processes may each write an end when all think they own a request; only the first counts. */
  owners: 'one' | 'many';
  /** Exposure is kept this long past validity. */
  graceMs: number;
  /** What people ordered during the run; null: nobody wrote it down, and it is not judged. */
  orders: Orders | null;
  /** An order, and the end of an auction, counts so long after it was taken at the latest. */
  controlMaxAgeMs: number;
  /** So long after their first byte was written bytes may arrive. */
  onTheWayMs: number;
  /** Statistics key for auctions whose request was never put into a segment. */
  rootSegment: string;
  /** How far clocks of one machine may differ between two stamps. */
  clockToleranceMs: number;
};

/** Settings of an audit in a sandbox's world; the guarantee's ceiling is the programme's, other limits are the caller's to add. */
export function auditSettings(sandbox: SandboxSettings, overrides: Partial<AuditSettings> = {}): AuditSettings {
  const { world, auction, links } = sandbox;
  return {
    world,
    allowOutside: false,
    limitsOf: ({ segment }) => ({
      ...noLimits,
      maxRateHundredths: segment.guaranteed ? world.guaranteedMaxHundredths : null,
    }),
    maxValidityMs: auction.maxValidityMs,
    marginDrift: links.marginDrift,
    owners: 'one',
    graceMs: 86_400_000,
    orders: null,
    controlMaxAgeMs: 2_000,
    onTheWayMs: 100,
    rootSegment: 'all',
    clockToleranceMs: 5,
    ...overrides,
  };
}
