/** Gathers all that is known of one request: ledger, history, the decision made again, hindsight. Nobody's name or CPF. */
import { listedBid } from '../bidding/bid-list.ts';
import { namesOf, shownReasons } from '../bidding/decide.ts';
import {
  differencesOf,
  explainPrice,
  type Hindsight,
  hindsightOf,
  type Replay,
  replayDecision,
} from '../bidding/explain.ts';
import { hindrancesIn } from '../bidding/hindrances.ts';
import { type NearestBid, nearestBids } from '../bidding/nearest-bids.ts';
import { listHashOf } from '../bidding/settlement.ts';
import type { Reservation } from '../domain/cap-book.ts';
import type { FlowPhase } from '../domain/flow-states.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { DecisionTrace, Reason } from '../domain/offer.ts';
import type { Answered, AuctionRecord, Claimed, Contemplated, Ended, Passed, StoredInput } from '../domain/records.ts';
import type { Phase, RequestState } from '../domain/states.ts';
import type { Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { toldAs } from '../operating/worker-reasons.ts';
import { contractId } from '../origination/orders.ts';
import { isShownEndorsed } from '../origination/steps.ts';
import type { Explanation } from '../pricing/choose.ts';
import {
  accountRules,
  type ConditionAccount,
  type FactChange,
  type RuleAccount,
  type SeenFact,
} from '../rules/account.ts';
import type { Facts } from '../rules/facts.ts';
import type { WorkerText } from '../rules/rule-file.ts';
import { type Contact, encodeBid } from '../wire/bid.ts';
import { withoutCpfs } from '../wire/hidden-cpf.ts';
import { asOwnersKnow } from './desk-control.ts';
import { workerReasonsEn } from './reason-texts-en.ts';
import { workerReasonsPt } from './reason-texts-pt.ts';
import { createScrubber, type Scrubber } from './scrub.ts';
import { wholeRequests, wholeWith } from './whole-request.ts';
import type { CommandWorld, DeskReader } from './world.ts';

const ownTexts = { pt: workerReasonsPt, en: workerReasonsEn };

/** What pseudonyms and free text are shown as. */
const hidden = '…';

export type Decision = (Claimed | Passed) & { trace: DecisionTrace };

export type BidReport = {
  state: RequestState;
  reservation: Reservation;
  history: readonly AuctionRecord[];
  /** Why it passed; without the key of the desk, full caps are not named. */
  reasons: readonly Reason[];
  /** What the worker is told of it; null: no pass or refusal, or nobody wrote it. */
  workerTold: WorkerText | null;
  /** What fixed the end of the request's decision; null when neither rules nor price were asked. */
  decision: Decision | null;
  replay: Replay | null;
  /** The rules looked at sealed facts, and the key is not at hand: the decision cannot be made again. */
  rulesSealed: boolean;
  differences: readonly string[];
  price: Explanation | null;
  /** Every condition of the rule set with the value it saw; empty when no rule was asked. */
  accounts: readonly RuleAccount[];
  hindsight: Hindsight | null;
  nearest: readonly NearestBid[];
  answers: readonly Answered[];
  ended: Ended | null;
  /** Another list that came after it, and is kept beside it. */
  endedAgain: Ended | null;
  /** Results folded by now under the decision's most special segment. */
  learnt: number;
  /** What the service said against the winner that counts. */
  winnerErrors: readonly string[];
  /** The contract that was ordered for it; null: none was. */
  contract: { flowId: string; phase: FlowPhase; shownDone: boolean } | null;
  scrubber: Scrubber;
  /** Codes of the service as they may be shown: without the key of the desk, a CPF in one is blotted out. */
  shownCodes: <T>(said: T) => T;
};

/** What was asked for, what the rules made of it, and what happened: how a page tells why. */
export type BidAccount = Pick<
  BidReport,
  'state' | 'history' | 'decision' | 'replay' | 'rulesSealed' | 'accounts' | 'shownCodes'
>;

type FormatWorld = Pick<CommandWorld, 'format'>;
type InputLog = Pick<DeskReader['log'], 'readKey'>;

const wonPhases: readonly Phase[] = ['won', 'contemplated', 'proposed', 'winner-failed'];

export function isWon(state: RequestState): boolean {
  return wonPhases.includes(state.phase) || state.auction?.position === 1;
}

function laterListIn(history: readonly AuctionRecord[], { auction }: RequestState): Ended | null {
  const again = auction?.again;
  const lists = again === undefined ? [] : history.filter((record) => record.kind === 'ended');
  return lists.find(({ at, bids }) => at === again?.toldAt && listHashOf(bids) === again.listHash) ?? null;
}

export async function contentOf(world: FormatWorld, log: InputLog, hash: string): Promise<string> {
  const stored = (await log.readKey('inputs', hash)).map(({ record }) => record as StoredInput);
  const input = stored.find((record) => record.hash === hash);
  if (input === undefined) throw new Fault('record-undecodable', world.format.texts.show.inputMissing(hash));
  return input.content;
}

/** The decision made again from its stored inputs. Throws `record-undecodable` when one of them is not in the log. */
export async function replayOf(
  world: FormatWorld,
  log: InputLog,
  state: RequestState,
  { trace }: Decision,
): Promise<Replay> {
  const settings = await contentOf(world, log, trace.settingsHash);
  const contents = {
    ruleSet: await contentOf(world, log, trace.ruleSetHash),
    settings,
    curve: trace.curveHash === null ? null : await contentOf(world, log, trace.curveHash),
    shapes: trace.tailoring === undefined ? null : await contentOf(world, log, trace.tailoring.shapesHash),
  };
  const { contacts } = JSON.parse(settings) as { contacts: readonly Contact[] };
  return replayDecision({
    request: state.request!,
    trace,
    contents,
    encodeBid: (requestId, offer) => encodeBid({ requestId, offer, contacts }),
  });
}

/** The claim that counts, else the pass that was decided. */
function decisionOf(state: RequestState, history: readonly AuctionRecord[]): Decision | null {
  const claimed = history.find((record) => record.kind === 'claimed' && record.claimId === state.claim?.claimId);
  const passed = history.find((record) => record.kind === 'passed' && record.trace !== null);
  const decision = claimed ?? (state.pass === null ? undefined : passed);
  return decision === undefined || state.request === null ? null : (decision as Decision);
}

/** The worker's identity as the log keeps it; null for a request that never came in. */
function sealedOf(history: readonly AuctionRecord[]): string | null {
  return history.find((record) => record.kind === 'requested')?.sealed ?? null;
}

/** Throws `not-found`, and `views-behind` for a request that is in the log but not in the views yet. */
export async function readBidReport(
  world: CommandWorld,
  reader: DeskReader,
  requestId: RequestId,
  pseudonymKey: string | null,
): Promise<BidReport> {
  const { show } = world.format.texts;
  const row = (await asOwnersKnow(reader).read([requestId])).get(requestId);
  const history = (await reader.log.readKey('auctions', requestId, row?.state.places)).map(({ record }) => record);
  if (row === undefined) {
    if (history.length === 0) throw new Fault('not-found', show.notFound(requestId));
    throw new Fault('views-behind', show.notFolded(requestId));
  }
  const { state, reservation } = row;
  const decision = decisionOf(state, history);
  const sealed = sealedOf(history);
  const request = state.request === null ? null : wholeRequests(world, pseudonymKey)(state.request, sealed);
  const { replay, rulesSealed, accounts } = await madeAgain(world, reader.log, { ...state, request }, decision);
  const scrubber = createScrubber(world, requestId, sealed, pseudonymKey);
  const price = replay === null || decision === null ? null : explainPrice(replay, decision.trace);
  const special = state.segmentKeys.at(-1);
  const learnt = special === undefined ? 0 : await learntOf(reader, special);
  const { code } = listedBid(state);
  const { claim, auction } = state;
  const contract = (await reader.flows.read([contractId(requestId)])).get(contractId(requestId));
  const judged = price !== null && claim !== null && !claim.unread && auction !== null && auction.position !== null;
  return {
    state,
    workerTold: code === null ? null : toldAs(code, replay?.policy.ruleSet.codes ?? [], ownTexts),
    reasons: pseudonymKey === null ? shownReasons(state.pass?.reasons ?? []) : (state.pass?.reasons ?? []),
    reservation,
    history,
    decision,
    replay,
    rulesSealed,
    differences: replay === null || decision === null ? [] : differencesOf(replay, decision),
    price,
    accounts,
    hindsight: judged ? hindsightOf(price, auction, claim.offer.rateHundredths, isWon(state)) : null,
    nearest: replay === null || decision?.kind !== 'passed' ? [] : nearestBids(replay, decision.trace),
    answers: history.filter((record) => record.kind === 'answered'),
    ended: history.find((record) => record.kind === 'ended') ?? null,
    endedAgain: laterListIn(history, state),
    learnt,
    winnerErrors: winnerErrorsOf(state, history, scrubber),
    contract:
      contract === undefined
        ? null
        : { flowId: contract.flowId, phase: contract.phase, shownDone: isShownEndorsed(contract) },
    scrubber,
    shownCodes: pseudonymKey === null ? withoutCpfs : (said) => said,
  };
}

/** Of a rule set that is compiled while bids wait: some tens of milliseconds. */
const mostRuleCharacters = 150_000;

/**
 * For a page of the process itself. `vault` null: who looks sees no facts that are sealed. CPFs in codes of the service are blotted out.
 * Null: no request has this id. Where an input of the decision is not in the log, or its rules are too many to be read beside the
 * bidding, the account is without what they made of it.
 */
export async function readBidAccount(
  world: FormatWorld,
  { views, log, vault }: { views: Pick<DeskReader['views'], 'read'>; log: InputLog; vault: Vault | null },
  requestId: RequestId,
): Promise<BidAccount | null> {
  const state = (await views.read([requestId])).get(requestId)?.state;
  if (state === undefined) return null;
  const history = (await log.readKey('auctions', requestId, state.places)).map(({ record }) => record);
  const decision = decisionOf(state, history);
  const request = state.request === null ? null : wholeWith(vault)(state.request, sealedOf(history));
  try {
    const rules = decision === null ? '' : await contentOf(world, log, decision.trace.ruleSetHash);
    const made =
      rules.length > mostRuleCharacters ? nothingMade : await madeAgain(world, log, { ...state, request }, decision);
    return { state, history, decision, ...made, shownCodes: withoutCpfs };
  } catch (fault) {
    if (!(fault instanceof Fault && fault.code === 'record-undecodable')) throw fault;
    return { state, history, decision, ...nothingMade, shownCodes: withoutCpfs };
  }
}

const nothingMade = { replay: null, rulesSealed: false, accounts: [] };

async function madeAgain(
  world: FormatWorld,
  log: InputLog,
  state: RequestState,
  decision: Decision | null,
): Promise<Pick<BidReport, 'replay' | 'rulesSealed' | 'accounts'>> {
  const made = decision === null ? null : await replayOrSealed(world, log, state, decision);
  const replay = made === 'sealed' ? null : made;
  const accounts = replay === null || decision === null ? [] : accountsOf(replay, decision.trace.decidedAt);
  return { replay, rulesSealed: made === 'sealed', accounts };
}

async function learntOf({ askedBids, views }: DeskReader, key: string): Promise<number> {
  return (await askedBids?.learnt(key)) ?? (await views.statistics([key])).get(key)?.count ?? 0;
}

function winnerErrorsOf(
  { winner }: RequestState,
  history: readonly AuctionRecord[],
  scrubber: Scrubber,
): readonly string[] {
  if (winner === null || winner.errors.length === 0) return [];
  const event = history.findLast(
    (record) =>
      (record.kind === 'contemplated' || record.kind === 'proposed') &&
      record.requestCode === winner.requestCode &&
      record.errors.length > 0,
  );
  return scrubber.errors((event as Contemplated | undefined) ?? winner);
}

async function replayOrSealed(...asked: Parameters<typeof replayOf>): Promise<Replay | 'sealed'> {
  try {
    return await replayOf(...asked);
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return 'sealed';
    throw fault;
  }
}

function accountsOf({ policy, assessment, draft }: Replay, at: EpochMs): RuleAccount[] {
  const { facts } = assessment;
  const asleep = namesOf(assessment.snoozed);
  return accountRules(policy.ruleSet, facts, draft.offerFacts, at, asleep).map((account) =>
    withoutPersonal(account, facts),
  );
}

/** What the rules saw of a request, without its pseudonyms and its free text: also where a value is made of them. */
export function withoutPersonal(account: RuleAccount, facts: Facts): RuleAccount {
  const seenOf = <S extends SeenFact>(part: S): S =>
    part.seen === null || !isHidden(part.fact, facts) ? part : { ...part, seen: hidden };
  const allOf = <P extends { from?: readonly SeenFact[] }>(part: P): P =>
    part.from === undefined ? part : { ...part, from: part.from.map(seenOf) };
  const masked = (condition: ConditionAccount): ConditionAccount => {
    if (condition.kind !== 'comparison') return { ...condition, parts: condition.parts.map(masked) };
    const { fact, valueFact, seen } = condition;
    const shown = allOf(condition);
    if (!isHidden(fact, facts) && (valueFact === null || !isHidden(valueFact, facts))) return shown;
    return { ...shown, value: hidden, seen: seen === null ? null : hidden };
  };
  const values = account.values?.map((value) => allOf(seenOf(value)));
  return { ...account, condition: masked(account.condition), ...(values === undefined ? {} : { values }) };
}

/** What would have let a request through, without what is personal of it. */
export function changeWithoutPersonal(change: FactChange, facts: Facts): FactChange {
  return change.from === null || !isHidden(change.fact, facts) ? change : { ...change, from: hidden };
}

/** Pseudonyms, and free text of a request, which might be a name. */
function isHidden(name: string, facts: Facts): boolean {
  if (name === 'worker.key') return true;
  if (name === 'employer.key' || name === 'employer.rootKey') return facts['employer.idType'] !== 'cnpj';
  return name.startsWith('extra.') && typeof facts[name] === 'string';
}

/** What every request has at one time says nothing of this one. */
const calendarFacts: ReadonlySet<string> = new Set(['desk.always', 'desk.weekday', 'desk.hour']);

/** Facts that may be shown: no pseudonyms, and no free text of a request, which might be a name. */
export function shownFacts(facts: Facts): [name: string, value: string | number | boolean | null][] {
  const shown: [string, string | number | boolean | null][] = [];
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || calendarFacts.has(name)) continue;
    const hides = isHidden(name, facts);
    if (hides && !name.startsWith('extra.')) continue;
    shown.push([name, hides ? null : typeof value === 'object' ? value.join(', ') : value]);
  }
  return shown;
}

/** `--json`: everything of the report that is not prose, in the words of the domain. */
export function reportJson(report: BidReport): object {
  const { state, decision, replay, price, ended } = report;
  const { requestId, batchId, phase, claim, pass, answer, auction, winner, resolution, exposure } = state;
  const verdict = replay?.assessment.verdict ?? null;
  const rules = new Map(replay?.policy.ruleSet.rules.map((rule) => [rule.name, rule]));
  const offer =
    decision?.kind === 'claimed' ? decision.offer : replay?.draft.kind === 'offer' ? replay.draft.offer : null;
  return {
    requestId,
    batchId,
    state: phase,
    code: phase === 'passed' ? (pass?.code ?? null) : null,
    reasons: report.reasons,
    workerTold: report.workerTold,
    exposure,
    frozen: state.frozen ?? null,
    reservation: report.reservation,
    facts: replay === null ? null : Object.fromEntries(shownFacts(replay.assessment.facts)),
    contradicted: decision?.trace.contradicted ?? [],
    worseEconomics: decision?.trace.worseEconomics ?? [],
    conditions: report.accounts,
    rules: decision?.trace.rulesFired.map((name) => rules.get(name) ?? { name }) ?? [],
    limits: verdict?.limits ?? null,
    limitRules: verdict?.limitRules ?? null,
    economics: verdict?.economics ?? null,
    strategy: verdict?.strategy ?? null,
    segmentKeys: decision?.trace.segmentKeys ?? [],
    offer,
    costStack: price?.stack?.rows ?? null,
    rates: price?.rates ?? [],
    caps: decision?.trace.caps ?? [],
    usage: decision?.trace.usage ?? {},
    inputs:
      decision === null
        ? null
        : {
            ruleSet: decision.trace.ruleSetHash,
            settings: decision.trace.settingsHash,
            winCurve: decision.trace.curveHash,
          },
    claim: claim === null || claim.unread ? null : { claimId: claim.claimId, at: claim.at, body: claim.body },
    claimUnread: claim?.unread ? { mostAmountCents: claim.offer.amountCents || null } : null,
    answer:
      answer === null ? null : { outcome: report.shownCodes(answer.outcome), attempts: answer.attempts, at: answer.at },
    auction:
      auction === null
        ? null
        : {
            endedAt: auction.endedAt,
            position: auction.position,
            bidCount: auction.bidCount,
            bids: report.shownCodes(ended?.bids ?? []),
            again:
              auction.again === undefined
                ? null
                : {
                    toldAt: auction.again.toldAt,
                    position: auction.again.position,
                    bidCount: auction.again.bidCount,
                    bids: report.shownCodes(report.endedAgain?.bids ?? []),
                  },
          },
    hindsight: report.hindsight,
    nearestBids: report.nearest.map((near) => ({
      ...near,
      fact: typeof near.fact === 'string' ? near.fact : near.fact.catalogue,
    })),
    winner: winner === null ? null : { ...report.shownCodes(winner), errors: report.winnerErrors },
    unclaimed: report.shownCodes(state.unclaimed ?? null),
    review: decision?.trace.review ?? state.review ?? null,
    contract: report.contract,
    resolution,
    hindrances: hindrancesIn(report.history),
    history: report.history.map(({ kind, at }) => ({ kind, at })),
    rulesSealed: report.rulesSealed,
    replay: replay === null ? null : { same: report.differences.length === 0, differences: report.differences },
  };
}
