/** `lance rules try RULE --last N`: what one rule would hit among the latest decisions of the desk. */
import { marginOf } from '../bidding/decide.ts';
import { joiningOf } from '../bidding/explain.ts';
import type { LedgerRow } from '../bidding/ports.ts';
import { cursorOf } from '../bidding/ports.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { DecisionTrace } from '../domain/offer.ts';
import type { RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { askedInVain } from '../impact/recorded-cases.ts';
import { accountRules, type ConditionAccount, type RuleAccount } from '../rules/account.ts';
import { comesWithLink } from '../rules/facts.ts';
import { factsOf, offerFactsOf } from '../rules/facts-of.ts';
import { suggestion } from '../rules/place.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { requireRules } from './rules-files.ts';
import { createProgress, tableText } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

const pageRows = 200;
const shownRows = 20;

/** `linkNotOnRecord`: unknown for want of facts of the link, which nobody had asked for. */
type Truth = RuleAccount['truth'] | 'linkNotOnRecord';
type Tried = { requestId: string; state: string; code: string | null; truth: Truth };

/** Requests that came last, the latest first. */
export async function* latest(views: DeskReader['views'], count: number): AsyncGenerator<LedgerRow> {
  let before: string | null = null;
  for (let left = count; left > 0; ) {
    const page: LedgerRow[] = await views.query({ phase: null, limit: Math.min(pageRows, left), before });
    yield* page;
    left -= page.length;
    if (page.length < pageRows) return;
    before = cursorOf(page.at(-1)!.state);
  }
}

type Known = { trace: DecisionTrace | null; sealed: string | null; inVain: boolean };

async function knownOf(log: DeskReader['log'], { requestId, places }: RequestState): Promise<Known> {
  const records = (await log.readKey('auctions', requestId, places)).map(({ record }) => record);
  const decisions = records.filter((record) => record.kind === 'claimed' || record.kind === 'passed');
  const decision = decisions.find(({ trace }) => trace !== null) ?? decisions[0] ?? null;
  return {
    trace: decision?.trace ?? null,
    sealed: records.find((record) => record.kind === 'requested')?.sealed ?? null,
    inVain: askedInVain(records, decision),
  };
}

type RequestFacts = {
  facts: ReturnType<typeof factsOf>;
  offerFacts: ReturnType<typeof offerFactsOf> | null;
  at: EpochMs;
  /** The link is not on record, and nobody had asked for it. */
  linkUnknown: boolean;
};

/** What the rules saw when the request was decided. Null: it never came to rules. */
async function factsAtDecision(
  log: DeskReader['log'],
  state: RequestState,
  whole: ReturnType<typeof wholeRequests>,
): Promise<RequestFacts | null> {
  const { claim } = state;
  if (state.request === null) return null;
  const { trace, sealed, inVain } = await knownOf(log, state);
  const request = whole(state.request, sealed);
  const link = trace?.link ?? null;
  const marginCents = marginOf(request, link);
  const at = trace?.decidedAt ?? request.receivedAt;
  const told = trace === null ? {} : { joining: joiningOf(trace), ...(trace.ledger && { ledger: trace.ledger }) };
  const facts = factsOf({ request, link, marginCents, ...told, at });
  // What the loan was worth is not in the claim: rules on it are undecided here.
  const offerFacts = claim && offerFactsOf({ offer: claim.offer, expectedProfitCents: Number.NaN, marginCents });
  return { facts, offerFacts, at, linkUnknown: link === null && !inVain };
}

/** The same of one request, by its id. Throws `not-found`. */
export async function factsOfRequest(world: CommandWorld, requestId: string): Promise<RequestFacts> {
  const { show } = world.format.texts;
  return withReader(world, async ({ log, views }, { pseudonymKey }) => {
    const state = (await views.read([requestId])).get(requestId)?.state;
    const found = state && (await factsAtDecision(log, state, wholeRequests(world, pseudonymKey)));
    if (!found) throw new Fault('not-found', show.notFound(requestId));
    return found;
  });
}

/** The rule alone, on what was known when the request was decided. Null: it never came to rules. */
async function tryOn(
  ruleSet: RuleSet,
  log: DeskReader['log'],
  { state }: LedgerRow,
  whole: ReturnType<typeof wholeRequests>,
): Promise<Tried | null> {
  const known = await factsAtDecision(log, state, whole);
  const [account] = known === null ? [] : accountRules(ruleSet, known.facts, known.offerFacts, known.at);
  if (account === undefined) return null;
  const { truth: told, condition } = account;
  const truth = known?.linkUnknown === true && told === 'unknown' && lacksLink(condition) ? 'linkNotOnRecord' : told;
  return { requestId: state.requestId, state: state.phase, code: state.pass?.code ?? null, truth };
}

/** Whether a fact that the link may bring is among those that leave it open. */
function lacksLink(account: ConditionAccount): boolean {
  if (account.truth !== 'unknown') return false;
  if (account.kind !== 'comparison') return account.parts.some(lacksLink);
  const { fact, seen, valueFact, from = [] } = account;
  const missing = [
    ...(seen === null ? [fact] : []),
    ...from.flatMap((part) => (part.seen === null ? [part.fact] : [])),
  ];
  return [...missing, ...(valueFact === null ? [] : [valueFact])].some(comesWithLink);
}

export async function tryRule(
  world: CommandWorld,
  directory: string,
  name: string,
  options: { last: number; json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  const { rules, states } = format.texts;
  const whole = requireRules(world, directory);
  const found = whole.rules.filter((rule) => rule.name === name);
  if (found.length === 0) {
    const hint = suggestion(
      name,
      whole.rules.map((rule) => rule.name),
    );
    if (hint.startsWith('Did you mean')) throw new Fault('not-found', rules.noRule(name, hint));
    const names = whole.rules.map((rule) => rule.name);
    const listed = names.map((each) => `"${each}"`).join(', ');
    throw new Fault('not-found', rules.isNoRule(name, listed, names[0] ?? ''));
  }
  const ruleSet = { ...whole, rules: found };
  await withReader(world, async ({ log, views }, { pseudonymKey }) => {
    const whole = wholeRequests(world, pseudonymKey);
    const progress = createProgress(terminal, rules.trying);
    const tried: Tried[] = [];
    let seen = 0;
    for await (const row of latest(views, options.last)) {
      seen += 1;
      const result = await tryOn(ruleSet, log, row, whole);
      if (result !== null) tried.push(result);
      if (!options.json && seen % pageRows === 0) progress.show(seen, options.last, '');
    }
    if (!options.json && seen >= pageRows) progress.end();
    const hits = tried.filter(({ truth }) => truth !== 'false');
    const count = (truth: Tried['truth']) => tried.filter((one) => one.truth === truth).length;
    const counts = {
      tried: tried.length,
      true: count('true'),
      unknown: count('unknown'),
      false: count('false'),
      linkNotOnRecord: count('linkNotOnRecord'),
    };
    if (options.json) {
      terminal.write(JSON.stringify({ rule: name, ...counts, hits }));
      return;
    }
    const { linkNotOnRecord } = counts;
    terminal.write(rules.tried(name, counts.tried - linkNotOnRecord, counts.true, counts.unknown, counts.false));
    if (linkNotOnRecord > 0) terminal.write(rules.triedWithoutLink(linkNotOnRecord));
    if (hits.length === 0) return;
    const rowsOf = hits.slice(0, shownRows).map(({ requestId, state, code, truth }) => {
      return [requestId, states[state as keyof typeof states], code ?? '', rules.truths[truth]];
    });
    terminal.write(tableText(rules.triedHeader, rowsOf));
    if (hits.length > shownRows) terminal.write(rules.more(hits.length - shownRows));
  });
}
