/** Judges a run of the demo: the auditor's verdict and the figures, from the sandbox's record, the log and the views. */

import { assess, type Policy } from '../bidding/decide.ts';
import { surroundingsOf } from '../bidding/explain.ts';
import type { EventLog, LogEntry, Views } from '../bidding/ports.ts';
import { readTopic } from '../bidding/read-topic.ts';
import type { Config } from '../config.ts';
import type { AuctionRecord } from '../domain/records.ts';
import { joinRequest } from '../domain/sealed-facts.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { evaluateRequest } from '../rules/evaluate.ts';
import { audit, viewKeysOf } from '../sandbox/auditor/audit.ts';
import { defaultClairvoyant } from '../sandbox/auditor/clairvoyant.ts';
import { type CapRule, readCapRules } from '../sandbox/auditor/orders.ts';
import { readRun } from '../sandbox/auditor/run.ts';
import { type RunSummary, summarise } from '../sandbox/auditor/run-summary.ts';
import { type AuditSettings, auditSettings, type Violation } from '../sandbox/auditor/violation.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Format } from './format.ts';

export type DemoReport = RunSummary & { ruleSet: string; violations: readonly Violation[] };

export async function judge(parts: {
  sandbox: Sandbox;
  store: { log: EventLog; views: Views };
  config: Config;
  policy: Policy;
  vault: Vault;
  now: number;
}): Promise<DemoReport> {
  const { sandbox, store, config, policy, now } = parts;
  const run = await readRun({
    record: sandbox.record,
    log: wholeRecords(store.log, parts.vault),
    callbacks: readTopic(store.log, 'callbacks'),
  });
  // The limits are the risk team's, so they are read from its rules; whether they were kept is judged without them.
  const limitsOf = limitsBy(policy);
  const settings = auditSettings(sandbox.settings, {
    graceMs: config.bidding.graceMs,
    limitsOf,
    orders: { ruleSets: [{ from: 0, caps: capsOf(policy) }], caps: [], pauses: [] },
  });
  const keys = viewKeysOf(run, settings);
  const rows = await store.views.read(keys.requestIds);
  const { violations } = audit(run, settings, {
    ledger: [...rows.values()],
    usage: await store.views.usage(keys.capKeys, now),
    usageAt: now,
    statistics: await store.views.statistics(keys.statisticKeys),
  });
  const figures = summarise(
    run,
    { world: sandbox.settings.world, rivals: sandbox.rivals },
    {
      ...defaultClairvoyant,
      minAmountShare: config.pricing.minAmountShare,
      marginBufferCents: config.pricing.marginBufferCents,
      limitsOf,
    },
  );
  return { ...figures, ruleSet: policy.ruleSet.hash, violations };
}

/** The log with the facts that are sealed beside its requests: rules may look at them. */
async function* wholeRecords(log: EventLog, vault: Vault): AsyncGenerator<LogEntry<AuctionRecord>> {
  for await (const entry of readTopic(log, 'auctions')) {
    const { record } = entry;
    if (record.kind !== 'requested' || record.request.sealedGroups === undefined) yield entry;
    else {
      const opened = vault.open(sealedPlaces.request(record.requestId), record.sealed);
      yield { ...entry, record: { ...record, request: joinRequest(record.request, opened, vault) } };
    }
  }
}

/** The cap rules of the set as it was read from its files; the auditor reads them with code of its own. */
function capsOf({ ruleSet }: Policy): readonly CapRule[] {
  const files = JSON.parse(ruleSet.source) as { path: string; value: unknown }[];
  return readCapRules(files.map(({ path, value }) => ({ path, text: JSON.stringify(value) }))).caps;
}

/** What the risk team's rules allow for a request, from the facts that it was decided by. */
export function limitsBy(policy: Policy): AuditSettings['limitsOf'] {
  return (_truth, requested, trace) => {
    if (requested === null) return evaluateRequest(policy.ruleSet, {}, 0).limits;
    const surroundings = trace === null ? { link: null, ledger: undefined } : surroundingsOf(trace);
    return assess(requested, surroundings, policy, trace?.decidedAt ?? requested.receivedAt).verdict.limits;
  };
}

/** The report for people; codes and the auditor's sentences are the same in every language. */
export function reportText(report: DemoReport, format: Format): string {
  const { surplus, latencyMs, violations } = report;
  const { demo, none } = format.texts;
  const { labels } = demo;
  const width = Math.max(...Object.values(labels).map(({ length }) => length)) + 2;
  const line = (label: keyof typeof labels, text: string) => `${labels[label].padEnd(width)}${text}`;
  const time = (ms: number | null) => (ms === null ? none : format.number(ms));
  const share = surplus.clairvoyant > 0 ? format.share(surplus.realised / surplus.clairvoyant) : none;
  const passes = Object.entries(report.passed)
    .sort(([, left], [, right]) => right - left)
    .map(([code, count]) => `  ${String(count).padStart(6)}  ${code}`);
  const outcomes = Object.entries(report.outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  return [
    line('requests', String(report.requests)),
    line('bids', `${report.bids} (${outcomes.join(', ')})`),
    line('ends', demo.ends(report.won, report.lost, report.unsettled)),
    line('passed', String(report.requests - report.bids)),
    ...passes,
    line('latency', demo.latency(time(latencyMs.p50), time(latencyMs.p99))),
    line('surplus', demo.share(format.money(surplus.realised), share)),
    line('ruleSet', report.ruleSet.slice(0, 12)),
    line('auditor', demo.violations(violations.length)),
    ...violations.map(({ code, requestId, text }) => `  ${code} ${requestId ?? ''} ${text}`),
  ].join('\n');
}
