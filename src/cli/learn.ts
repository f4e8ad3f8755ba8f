/** `lance learn FILE`: the judge's measures of what the desk learns, on recorded auctions. */
import type { TrialAcceptance } from '../domain/offer.ts';
import type { Interval } from '../impact/bootstrap.ts';
import { type FileClock, type LearnReport, measureLearnt } from '../impact/learn.ts';
import { measureRegimes, type RegimeReport } from '../impact/regimes.ts';
import { readAuctionsFile } from './auctions-file.ts';
import { createProgress, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

export async function learnFile(
  world: CommandWorld,
  file: string,
  options: {
    draws: number;
    seed: number;
    shifts: readonly number[] | null;
    clock: FileClock | null;
    acceptance: TrialAcceptance | null;
    json: boolean;
  },
): Promise<void> {
  const { terminal, format } = world;
  const { winCurve } = world.pricing();
  const auctions = await readAuctionsFile(world, file, options.json);
  const { draws, seed, shifts, clock, acceptance } = options;
  const progress = createProgress(terminal, format.texts.learn.progress);
  const show = options.json ? () => undefined : (done: number, of: number) => progress.show(done, of, '');
  const report = measureLearnt(
    auctions,
    { winCurve, draws, seed, clock, ...(acceptance !== null && { acceptance }) },
    show,
  );
  const regimes = shifts === null ? null : measureRegimes(auctions, shifts, { winCurve, seed }, show);
  if (!options.json) progress.end();
  if (options.json) terminal.write(JSON.stringify(regimes === null ? report : { ...report, regimes }));
  else
    terminal.write(
      [reportText(world, report), ...(regimes === null ? [] : ['', regimesText(world, regimes)])].join('\n'),
    );
}

function regimesText({ format }: CommandWorld, { shiftsHundredths, orders, breakEven }: RegimeReport): string {
  const { learn } = format.texts;
  const rows = Object.entries(breakEven).map(([name, { live, histogramLive }]) => [
    name,
    format.number(live, 4),
    format.number(histogramLive, 4),
  ]);
  return `${learn.shifted(shiftsHundredths, orders)}\n\n${tableText(learn.regimesHeader, rows, { right: [1, 2] })}`;
}

function reportText({ format }: CommandWorld, report: LearnReport): string {
  const { learn } = format.texts;
  const share = (value: number, { low, high }: Interval) =>
    `${format.number(value, 4)} (${format.number(low, 4)} … ${format.number(high, 4)})`;
  const rows = Object.entries(report.breakEven);
  const samples = rows.flatMap(([name, { learning }]) =>
    Object.entries(learning).map(([size, shares]) => [
      name,
      size,
      ...(['mean', 'p05', 'histogramMean', 'histogramP05'] as const).map((key) =>
        share(shares[key], shares.interval[key]),
      ),
    ]),
  );
  const lives = rows.map(([name, lived]) => [
    name,
    ...(['live', 'histogramLive', 'liveWithSegments', 'fixedMarkup'] as const).map((key) =>
      share(lived[key], lived.interval[key]),
    ),
  ]);
  return [
    learn.about(report.auctions),
    '',
    tableText(learn.header, samples, { right: [1, 2, 3, 4, 5] }),
    '',
    tableText(learn.liveHeader, lives, { right: [1, 2, 3, 4] }),
  ].join('\n');
}
