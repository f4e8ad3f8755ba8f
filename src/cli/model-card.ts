/** `lance model card`: data, weights, calibration, limits and last change of the price. */

import { eachBid } from '../bidding/bid-search.ts';
import { lastChanges, type OperatorChange } from '../bidding/ports.ts';
import type { BiddingSettings } from '../config/sections.ts';
import { type ModelCard, readModelCard } from '../impact/model-card.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { contentOf } from './bid-report.ts';
import { writeHtml } from './html-file.ts';
import { modelCardPage } from './model-card-page.ts';
import { modelCardText } from './model-card-text.ts';
import { checkPlace } from './named-file.ts';
import { createProgress } from './terminal.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

/** `matches`: the newest decision was made with the present settings; null: there is none, or it has no trace. */
export type ShownCard = ModelCard & {
  at: number;
  settings: { hash: string; matches: boolean | null; halfLifeMs: number } & Pick<
    PricingSettings['winCurve'],
    'priorWeight' | 'shrinkage' | 'smoothing'
  > &
    Pick<PricingSettings, 'minAmountShare' | 'marginBufferCents' | 'maxInstallments'> &
    Pick<BiddingSettings, 'windowMs'>;
  rules: {
    /** Of the newest decision. */
    hash: string | null;
    /** The last set that was announced to be followed. */
    activated: { hash: string; at: number; by: string | null } | null;
  };
  /** The last change by hand of pause and caps. */
  operator: OperatorChange | null;
};

/** A shorter run shows no progress bar. */
const quietMs = 1_000;
/** A request has about five records, so the log's length estimates the number of rows. */
const recordsEach = 5;

/** What the newest decision was made with. */
async function lastTrace({ log, views }: DeskReader, decision: ModelCard['newestDecision']) {
  if (decision === null) return null;
  const { requestId } = decision;
  const row = (await views.read([requestId])).get(requestId);
  const records = await log.readKey('auctions', requestId, row?.state.places);
  const traces = records.flatMap(({ record }) =>
    record.kind === 'claimed' || record.kind === 'passed' ? (record.trace ?? []) : [],
  );
  return traces.at(-1) ?? null;
}

/** A decision also stores the contacts, which do not affect the price. Both texts have sorted keys. */
function isOfModel(stored: string, model: string): boolean {
  const { bidding, economics, pricing } = JSON.parse(stored) as Record<string, unknown>;
  return JSON.stringify({ bidding, economics, pricing }) === model;
}

async function readCard(world: CommandWorld, quiet: boolean): Promise<ShownCard> {
  const { terminal, format, clock } = world;
  const { bidding, pricing, settings } = world.model();
  const { priorWeight, shrinkage, smoothing } = pricing.winCurve;
  const { minAmountShare, marginBufferCents, maxInstallments } = pricing;
  return await withReader(world, async (reader) => {
    const { views, log, control, ruleBook } = reader;
    const at = clock.now();
    let records = 0;
    for (const end of (await log.ends('auctions')).values()) records += end;
    const expected = Math.ceil(records / recordsEach);
    const progress = createProgress(terminal, format.texts.card.progress);
    const startedMs = clock.monotonicMs();
    let shown = false;
    const card = await readModelCard(eachBid(views, {}), {
      statistics: views.statistics,
      at,
      halfLifeMs: bidding.halfLifeMs,
      winCurve: pricing.winCurve,
      onRow: (read) => {
        if (quiet || read % 500 > 0 || clock.monotonicMs() - startedMs < quietMs) return;
        shown = true;
        progress.show(read, Math.max(read, expected), '');
      },
    });
    if (shown) progress.end();
    const trace = await lastTrace(reader, card.newestDecision);
    const activated = (await ruleBook.read()).findLast((entry) => entry.kind === 'activated') ?? null;
    const operator =
      lastChanges((await control.read()).changes).toSorted((left, right) => right.at - left.at)[0] ?? null;
    return {
      ...card,
      at,
      settings: {
        hash: settings.hash,
        matches: trace === null ? null : isOfModel(await contentOf(world, log, trace.settingsHash), settings.content),
        ...{ halfLifeMs: bidding.halfLifeMs, priorWeight, shrinkage, smoothing },
        ...{ minAmountShare, marginBufferCents, maxInstallments, windowMs: bidding.windowMs },
      },
      rules: {
        hash: trace?.ruleSetHash ?? null,
        activated: activated === null ? null : { hash: activated.hash, at: activated.at, by: activated.by },
      },
      operator,
    };
  });
}

export async function showModelCard(
  world: CommandWorld,
  { html, json }: { html: string | null; json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  if (html !== null) checkPlace(world, html);
  const card = await readCard(world, json);
  if (html !== null) writeHtml(world, html, modelCardPage(format, card));
  terminal.write(json ? JSON.stringify(card) : modelCardText(format, card));
  if (html !== null) terminal.say(format.texts.page.written(html));
}
