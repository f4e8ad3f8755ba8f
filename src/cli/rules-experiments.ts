/** `lance rules experiments`: the arms of each experiment beside each other, made from the decisions in the log. */
import { askedOf, type Replay } from '../bidding/explain.ts';
import type { DecisionTrace } from '../domain/offer.ts';
import type { RequestState } from '../domain/states.ts';
import { batchNameOf } from '../impact/bootstrap.ts';
import { bestRivalOf, winAgainst } from '../impact/desk-replay.ts';
import {
  type ExperimentReport,
  experimentFigures,
  figureOf,
  reportExperiments,
  type Trialled,
} from '../impact/experiments.ts';
import type { RecordedCase, RecordedEnd } from '../impact/recorded-cases.ts';
import { worthOf } from '../pricing/choose.ts';
import { type Decision, replayOf } from './bid-report.ts';
import type { Format } from './format.ts';
import { readLoggedCases } from './recorded-cases.ts';
import { createProgress, tableText } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

/** What the offer is worth by the economics that hold without a treatment: both arms are judged by one belief. */
function plainWorth(replay: Replay, trace: DecisionTrace): { acceptance: number; value: number; cost: number } | null {
  const { draft, assessment } = replay;
  if (draft.kind === 'pass') return null;
  const { verdict } = assessment;
  if (verdict.economics === verdict.untreated) {
    const { acceptance, valueIfReleasedCents, bidCostCents } = draft.worth;
    return { acceptance, value: valueIfReleasedCents, cost: bidCostCents };
  }
  const plain = { ...assessment, verdict: { ...verdict, economics: verdict.untreated } };
  const asked = askedOf({ ...replay, assessment: plain }, trace);
  if (asked === null) return null;
  const { acceptance, valueIfReleasedCents } = worthOf(asked, draft.offer);
  return { acceptance, value: valueIfReleasedCents, cost: asked.economics.bidCostCents };
}

async function trialledOf(
  world: CommandWorld,
  log: DeskReader['log'],
  recorded: RecordedCase & { end: RecordedEnd },
): Promise<Trialled[]> {
  const { decision, taken } = recorded.end;
  if (decision === null || decision.trace === null) return [];
  const { request } = recorded;
  const replay = await replayOf(world, log, { request } as RequestState, decision as Decision);
  const { experiments } = replay.assessment.verdict;
  if (experiments.length === 0) return [];
  const worth = decision.kind === 'claimed' ? plainWorth(replay, decision.trace) : null;
  const rival = bestRivalOf(recorded);
  const win = decision.kind === 'claimed' && rival !== null ? winAgainst(decision.offer.rateHundredths, rival) : null;
  const profitCents = worth === null || win === null ? 0 : win * worth.acceptance * worth.value - worth.cost;
  const batch = batchNameOf(request);
  const bid = decision.kind === 'claimed' ? { win, profitCents } : null;
  return experiments.map((assignment) => ({ ...assignment, batch, bid, taken }));
}

export async function runExperiments(
  world: CommandWorld,
  options: { last: number; draws: number; seed: number; json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  const { impact } = format.texts;
  const { last, json } = options;
  const trialled: Trialled[] = [];
  await withReader(world, async ({ log }, { pseudonymKey }) => {
    const progress = createProgress(terminal, impact.reading);
    const cases = await readLoggedCases(log, last, () => undefined, wholeRequests(world, pseudonymKey));
    for (const [place, recorded] of cases.entries()) {
      trialled.push(...(await trialledOf(world, log, recorded)));
      if (!json && terminal.interactive) progress.show(place + 1, cases.length, '');
    }
    if (!json) progress.end();
  });
  const reports = reportExperiments(trialled, options);
  if (json) terminal.write(JSON.stringify(reports));
  else
    terminal.write(
      reports.length === 0 ? impact.noExperiment : reports.map((one) => experimentText(one, format)).join('\n\n'),
    );
}

function experimentText(report: ExperimentReport, format: Format): string {
  const { impact } = format.texts;
  const { treated, control, difference } = report;
  const figure = (name: (typeof experimentFigures)[number], value: number | null) => {
    if (value === null) return impact.none;
    return name === 'profitPerRequestCents' ? format.money(value) : format.share(value);
  };
  const change = (name: (typeof experimentFigures)[number], value: number | null) => {
    if (value === null) return impact.none;
    const text = name === 'profitPerRequestCents' ? format.money(value) : format.points(value * 10_000);
    return `${value > 0 ? '+' : ''}${text}`;
  };
  const counts = (['requests', 'bids', 'wins', 'taken'] as const).map((name) => [
    impact.experimentMeasures[name],
    format.number(treated[name], name === 'wins' ? 1 : 0),
    format.number(control[name], name === 'wins' ? 1 : 0),
  ]);
  const rows = experimentFigures.map((name) => {
    const { value, low, high } = difference[name];
    return [
      impact.experimentMeasures[name],
      figure(name, figureOf(treated, name)),
      figure(name, figureOf(control, name)),
      change(name, value),
      `${change(name, low)} … ${change(name, high)}`,
    ];
  });
  const title = impact.experiment(report.name, report.layer);
  return [title, tableText(impact.experimentHeader, [...counts, ...rows], { right: [1, 2, 3, 4] })].join('\n');
}
