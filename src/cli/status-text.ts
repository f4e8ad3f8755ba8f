/** What a process says of its service, its rules and its economics, in the language of whoever reads it. */
import { type DaemonStatus, isTurnedAway, refusesToken } from '../http/api/status.ts';
import { ageOf } from './age.ts';
import type { Format } from './format.ts';

/** A service that was asked so often and answered nothing is taken for one that is away. */
const missedAnswers = 3;
const hashLength = 12;
const longestRefusal = 240;

export function economicsText({ texts: { status } }: Format, { economics }: DaemonStatus): string | null {
  if (economics == null) return null;
  const { hash, used, approved } = economics;
  return status.economicsAwaited(hash.slice(0, hashLength), used.slice(0, hashLength), approved);
}

/** Of many problems the first: `rules check` names all. */
export function folderText(
  format: Format,
  { rulesFolder: { refusal, heldBack, notFollowed } }: DaemonStatus,
): string | null {
  const { status } = format.texts;
  if (heldBack != null) return status.folderHeldBack(heldBack.hash.slice(0, hashLength), heldBack);
  if (refusal !== null)
    return status.folderRefused(refusalLine(format, refusal.split('\n')[0]!).slice(0, longestRefusal));
  return notFollowed === null ? null : status.folderNotFollowed(notFollowed.slice(0, hashLength));
}

/** A line of what a process says of refused rules: `file:line /place: what is wrong`. */
export function refusalLine(format: Format, line: string): string {
  const { texts } = format;
  const shortfall = shortfallLine(format, line);
  if (shortfall !== null) return shortfall;
  const [, where = '', what = ''] = /^(\S+(?: \/\S*)?: )(.*)$/.exec(line) ?? ['', '', line];
  return where + texts.rules.fault(what);
}

/** What the tests of a set lack, as `reasonsAgainst` says it in English; null: the line says something else. */
function shortfallLine({ texts: { rules }, share }: Format, line: string): string | null {
  const [, percent] = /^The tests show ([\d.]+) % of the rules, which is not enough\.$/.exec(line) ?? [];
  if (percent !== undefined) return rules.tooLittle(share(Number(percent) / 100));
  const [, rule, condition, missing] = /^"(.*?)"(?:, (.*))?: never ([\w, ]+) in the tests$/.exec(line) ?? [];
  if (rule !== undefined && missing !== undefined) {
    const truths: Readonly<Record<string, string>> = rules.truths;
    const said = missing.split(', ').map((truth) => (Object.hasOwn(truths, truth) ? truths[truth]! : truth));
    return rules.uncovered(rule, condition ?? null, said.join(', '));
  }
  const [, test, field, expected, actual] = /^(\S+ ".*"): (\S+): expected (.*), got (.*)$/.exec(line) ?? [];
  return test === undefined ? null : `${test}: ${rules.testFailed(field!, expected!, actual!)}`;
}

export function backText(format: Format, { at, rollback, ruleSet }: DaemonStatus): string | null {
  const { status } = format.texts;
  if (rollback == null) return null;
  const { hash, from, by, reviewBy, reviewedBy } = rollback;
  const isReviewed = reviewedBy !== null || rollback.reviewedAt != null;
  // Ordered a moment ago, the set is not followed yet.
  const isLive = ruleSet === hash;
  const shown = { hash: hash.slice(0, hashLength), from: from.slice(0, hashLength), by, isLive };
  return status.goneBack(
    shown,
    isReviewed
      ? { kind: 'reviewed', by: reviewedBy }
      : { kind: at > reviewBy ? 'overdue' : 'due', until: format.minute(reviewBy) },
  );
}

/** Of an earlier version nobody knows. */
export function serviceText(
  format: Format,
  { bidding, at, startedAt, serviceAskedMs, ...last }: DaemonStatus,
): string | null {
  const { status } = format.texts;
  const { lastAnswerAt, lastAnswerStatus } = last;
  if (lastAnswerAt === undefined) return null;
  const silentMs = at - (lastAnswerAt ?? startedAt);
  const isSilent = serviceAskedMs != null && silentMs >= missedAnswers * serviceAskedMs;
  const text =
    lastAnswerAt === null ? status.unanswered : status.answered(ageOf(silentMs), format.minute(lastAnswerAt));
  if (isSilent) return status.serviceSilent(text);
  const isRefused = lastAnswerStatus != null && isTurnedAway(lastAnswerStatus);
  const isOfToken =
    bidding?.cause === 'service-unauthorised' && lastAnswerStatus != null && refusesToken(lastAnswerStatus);
  const refused = isOfToken ? status.tokenTurnedAway : status.turnedAway;
  return isRefused ? `${text}, ${refused(lastAnswerStatus)}` : text;
}
