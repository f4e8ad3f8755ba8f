/** `lance performance import CSV`: actual losses of released loans beside those that the decisions expected, and what they teach. */
import { askedOf, type Replay } from '../bidding/explain.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { DecisionTrace } from '../domain/offer.ts';
import type { LoanRequest } from '../domain/request.ts';
import type { RequestState } from '../domain/states.ts';
import type { BookRow, Estimate } from '../impact/book-economics.ts';
import { bestRivalOf } from '../impact/desk-replay.ts';
import {
  type BadCell,
  gapOf,
  type Loan,
  type Observation,
  type PerformanceReport,
  type PerformanceRow,
  readPerformance,
  reportPerformance,
} from '../impact/performance.ts';
import { recordedCaseOf } from '../impact/recorded-cases.ts';
import { type Decision, replayOf } from './bid-report.ts';
import type { Format } from './format.ts';
import { readNamed } from './named-file.ts';
import { segmentText } from './rules-impact-text.ts';
import { createProgress, tableText } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

/** A loan with what its decision was made from. `linkUnknown`: the link is not on record, and nobody had asked for it. */
export type FoundLoan = {
  loan: Loan;
  request: LoanRequest;
  trace: DecisionTrace;
  replay: Replay;
  linkUnknown: boolean;
};
type Found = ({ kind: 'loan' } & FoundLoan) | { kind: 'bad'; text: string };

/** The bid with what its decision believed, made again from its stored inputs. */
async function loanOf(
  world: CommandWorld,
  { log, views }: DeskReader,
  requestId: RequestId,
  observations: readonly Observation[],
  whole: ReturnType<typeof wholeRequests>,
): Promise<Found> {
  const { performance } = world.format.texts;
  const row = (await views.read([requestId])).get(requestId);
  const records = (await log.readKey('auctions', requestId, row?.state.places)).map(({ record }) => record);
  const recorded = recordedCaseOf(records);
  const decision = recorded?.end.decision ?? null;
  if (recorded === null) return { kind: 'bad', text: performance.unknown };
  if (decision?.kind !== 'claimed') return { kind: 'bad', text: performance.noBid };
  const request = whole(recorded.request, recorded.end.sealed);
  const replay = await replayOf(world, log, { request } as RequestState, decision as Decision);
  const asked = askedOf(replay, decision.trace);
  if (asked === null) return { kind: 'bad', text: performance.noBid };
  const { offer, trace } = decision;
  const gapHundredths = gapOf(offer.rateHundredths, bestRivalOf(recorded));
  const { decidedAt, segmentKeys } = trace;
  const loan: Loan = { requestId, decidedAt, offer, asked, segmentKeys, gapHundredths, observations };
  const linkUnknown = recorded.link === null && recorded.linkAskedInVain !== true;
  return { kind: 'loan', loan, request, trace, replay, linkUnknown };
}

/** What a file says of the desk's loans, and what cannot be read of it, in the order of its lines. */
export type ReadBook = { report: PerformanceReport; loans: number; bad: readonly BadCell[] };

/** Also tells every bad line. `onLoan`: hears each with what its decision was made from, which is kept of none. */
export async function readLoans<T>(
  world: CommandWorld,
  file: string,
  quiet: boolean,
  onLoan: (found: FoundLoan) => T,
): Promise<{ loans: T[]; bad: readonly BadCell[] }> {
  const { terminal, format } = world;
  const { performance } = format.texts;
  const { observations, bad } = readPerformance(readNamed(world, file, performance.help.csv));
  const byRequest = Map.groupBy(observations, ({ requestId }) => requestId);
  const faults: BadCell[] = [...bad];
  const loans: T[] = [];
  await withReader(world, async (reader, { pseudonymKey }) => {
    const whole = wholeRequests(world, pseudonymKey);
    const progress = createProgress(terminal, performance.progress);
    let done = 0;
    for (const [requestId, own] of byRequest) {
      const found = await loanOf(world, reader, requestId, own, whole);
      if (found.kind === 'loan') loans.push(onLoan(found));
      else faults.push(...own.map(({ line }) => ({ line, column: 1, text: found.text })));
      done += 1;
      if (!quiet && terminal.interactive) progress.show(done, byRequest.size, '');
    }
    if (!quiet) progress.end();
  });
  faults.sort((left, right) => left.line - right.line || left.column - right.column);
  for (const { line, column, text } of faults) terminal.say(performance.badCell(file, line, column, text));
  return { loans, bad: faults };
}

export async function readBook(world: CommandWorld, file: string, quiet: boolean): Promise<ReadBook> {
  const { loans, bad } = await readLoans(world, file, quiet, ({ loan }) => loan);
  return { report: reportPerformance(loans), loans: loans.length, bad };
}

/** Resolves to the exit code: 65 when a line is bad; the others are reported all the same. */
export async function importPerformance(world: CommandWorld, file: string, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { performance } = format.texts;
  const { report, loans, bad } = await readBook(world, file, json);
  if (json) terminal.write(JSON.stringify({ ...report, bad }));
  else if (loans === 0) terminal.say(performance.noLoan);
  else {
    const { vintages, segments, gaps, total, economics } = report;
    const named = (rows: readonly PerformanceRow[], nameOf: (key: string) => string) =>
      rows.map((row) => rowText(row, nameOf(row.key), format));
    const parts = [
      tableText(
        [performance.vintage, ...performance.columns],
        named([total, ...vintages], (key) => (key === 'all' ? format.texts.impact.all : key)),
        { right },
      ),
      tableText(
        [performance.gap, ...performance.columns],
        named(gaps, (key) => gapText(key, format)),
        { right },
      ),
      tableText(
        [performance.segment, ...performance.columns],
        named(segments, (key) => segmentText(key, format)),
        { right },
      ),
      tableText(
        [performance.segment, ...performance.estimates],
        [economics.book, ...economics.segments].map((row) => estimatesText(row, format)),
        { right: [1, 2, 3, 4, 5] },
      ),
      performance.about,
    ];
    terminal.write(parts.join('\n\n'));
  }
  return bad.length === 0 ? 0 : 65;
}

function estimatesText(row: BookRow, format: Format): string[] {
  const shown = ({ mean, low, high }: Estimate) =>
    `${format.number(100 * mean, 2)} (${format.number(100 * low, 2)} … ${format.number(100 * high, 2)}) %`;
  const { separationMonthly, lossGivenSeparation, earlySettlementMonthly, neverStartedShare } = row;
  const estimates = [separationMonthly, lossGivenSeparation, earlySettlementMonthly, neverStartedShare];
  return [segmentText(row.key, format), format.number(row.loans), ...estimates.map(shown)];
}

const right = [1, 2, 3, 4, 5, 6, 7];

function gapText(key: string, { texts }: Format): string {
  return key === 'no-rival' ? texts.performance.noRival : `${key} ${texts.performance.hundredths}`;
}

function rowText(row: PerformanceRow, name: string, format: Format): string[] {
  const { loans, releasedCents, expectedEnded, actualEnded, expectedLossCents, actualLossCents } = row;
  const ratio =
    expectedLossCents > 0 ? format.number(actualLossCents / expectedLossCents, 2) : format.texts.impact.none;
  return [
    name,
    format.number(loans),
    format.money(releasedCents),
    format.number(expectedEnded, 1),
    format.number(actualEnded),
    format.money(expectedLossCents),
    format.money(actualLossCents),
    ratio,
  ];
}
