/** `lance performance import CSV`: actual losses of released loans beside those that the decisions expected. */
import { askedOf } from '../bidding/explain.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import { bestRivalOf } from '../impact/desk-replay.ts';
import {
  gapOf,
  type Loan,
  type Observation,
  type PerformanceRow,
  readPerformance,
  reportPerformance,
} from '../impact/performance.ts';
import { recordedCaseOf } from '../impact/recorded-cases.ts';
import type { BadLine } from '../rules/csv.ts';
import { type Decision, replayOf } from './bid-report.ts';
import type { Format } from './format.ts';
import { readNamed } from './named-file.ts';
import { segmentText } from './rules-impact-text.ts';
import { createProgress, tableText } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

type Found = { kind: 'loan'; loan: Loan } | { kind: 'bad'; text: string };

/** The bid with what its decision believed, made again from its stored inputs. */
async function loanOf(
  world: CommandWorld,
  log: DeskReader['log'],
  requestId: RequestId,
  observations: readonly Observation[],
  whole: ReturnType<typeof wholeRequests>,
): Promise<Found> {
  const { performance } = world.format.texts;
  const records = (await log.readKey('auctions', requestId)).map(({ record }) => record);
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
  return { kind: 'loan', loan: { requestId, decidedAt, offer, asked, segmentKeys, gapHundredths, observations } };
}

/** Resolves to the exit code: 65 when a line is bad; the others are reported all the same. */
export async function importPerformance(world: CommandWorld, file: string, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { performance, rules } = format.texts;
  const { observations, bad } = readPerformance(readNamed(world, file, performance.help.csv));
  const byRequest = Map.groupBy(observations, ({ requestId }) => requestId);
  const faults: BadLine[] = [...bad];
  const loans: Loan[] = [];
  await withReader(world, async ({ log }, { pseudonymKey }) => {
    const whole = wholeRequests(world, pseudonymKey);
    const progress = createProgress(terminal, performance.progress);
    let done = 0;
    for (const [requestId, own] of byRequest) {
      const found = await loanOf(world, log, requestId, own, whole);
      if (found.kind === 'loan') loans.push(found.loan);
      else faults.push(...own.map(({ line }) => ({ line, text: found.text })));
      done += 1;
      if (!json && terminal.interactive) progress.show(done, byRequest.size, '');
    }
    if (!json) progress.end();
  });
  faults.sort((left, right) => left.line - right.line);
  for (const { line, text } of faults) terminal.say(rules.badLine(file, line, text));
  const report = reportPerformance(loans);
  if (json) terminal.write(JSON.stringify({ ...report, bad: faults }));
  else if (loans.length === 0) terminal.say(performance.noLoan);
  else {
    const { vintages, segments, gaps, total } = report;
    const named = (rows: readonly PerformanceRow[], nameOf: (key: string) => string) =>
      rows.map((row) => rowText(row, nameOf(row.key), format));
    const parts = [
      tableText(
        [performance.vintage, ...performance.columns],
        named([total, ...vintages], (key) => (key === 'all' ? format.texts.impact.all : key)),
        right,
      ),
      tableText(
        [performance.gap, ...performance.columns],
        named(gaps, (key) => gapText(key, format)),
        right,
      ),
      tableText(
        [performance.segment, ...performance.columns],
        named(segments, (key) => segmentText(key, format)),
        right,
      ),
      performance.about,
    ];
    terminal.write(parts.join('\n\n'));
  }
  return faults.length === 0 ? 0 : 65;
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
