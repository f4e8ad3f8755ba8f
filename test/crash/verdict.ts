/** Judges a crash run: the auditor over the sandbox's record, the log and the views, and the hash chain. */
import { readFileSync } from 'node:fs';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { limitsBy } from '../../src/cli/judge.ts';
import { type Config, type Environment, readConfig } from '../../src/config.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import { policyOf } from '../../src/policy.ts';
import { audit, viewKeysOf } from '../../src/sandbox/auditor/audit.ts';
import type { Orders } from '../../src/sandbox/auditor/orders.ts';
import { type Run, readRun } from '../../src/sandbox/auditor/run.ts';
import { auditSettings, type Violation } from '../../src/sandbox/auditor/violation.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openStoreReader } from './store-reader.ts';

export type Verdict = {
  violations: readonly Violation[];
  requests: number;
  /** Requests whose bid was sent. */
  bids: number;
  /** Of the requests whose auction began while no pause and no cap by hand was in force. */
  withoutOrders: { requests: number; bids: number };
  passed: Readonly<Record<string, number>>;
  ends: Readonly<Record<string, number>>;
  laterClaims: number;
  records: number;
  /** Bids whose bytes were sent more than once. */
  repeatedBids: number;
  /** The hash chain over the log has a gap or a record that does not fit. */
  chainBroken: boolean;
};

export function configOf(environment: Environment): Config {
  const result = readConfig(environment, (path) => readFileSync(path, 'utf8'));
  if (result.kind === 'refused') throw new Error(`the desk's settings are refused: ${result.faults.join('; ')}`);
  return result.config;
}

/** All desks have to have ended: their views are read as they stored them. `directories`: see `openStoreReader`. */
export async function judgeRun(
  sandbox: Sandbox,
  environment: Environment,
  orders: Orders | null,
  directories: readonly string[] = [],
): Promise<Verdict> {
  const config = configOf(environment);
  const limitsOf = limitsBy(policyOf(config, readRuleFiles(config.rulesDir)));
  const reader = await openStoreReader(config, directories);
  try {
    const run = await readRun({
      record: sandbox.record,
      log: readTopic(reader.log, 'auctions'),
      callbacks: readTopic(reader.log, 'callbacks'),
    });
    const owners = config.store.backend === 'embedded' ? 'one' : 'many';
    const settings = auditSettings(sandbox.settings, {
      graceMs: config.bidding.graceMs,
      limitsOf,
      owners,
      orders,
      controlMaxAgeMs: config.bidding.controlMaxAgeMs,
      onTheWayMs: config.bidding.skewAllowanceMs,
    });
    const keys = viewKeysOf(run, settings);
    const usageAt = Date.now();
    const { violations, counts } = audit(run, settings, {
      ledger: [...(await reader.views.read(keys.requestIds)).values()],
      usage: await reader.views.usage(keys.capKeys, usageAt),
      usageAt,
      statistics: await reader.views.statistics(keys.statisticKeys),
    });
    const chainBroken = await reader.chainBroken();
    const { requests, ends, laterClaims, records } = counts;
    return { violations, requests, ends, laterClaims, records, ...bidsOf(run, orders), chainBroken };
  } finally {
    await reader.close();
  }
}

function bidsOf(run: Run, orders: Orders | null): Pick<Verdict, 'bids' | 'withoutOrders' | 'passed' | 'repeatedBids'> {
  const passed: Record<string, number> = {};
  const withoutOrders = { requests: 0, bids: 0 };
  let bids = 0;
  let repeatedBids = 0;
  for (const { truth, evidence, standing, calls } of run.cases.values()) {
    const isFree = truth !== null && !isKeptBack(orders, truth.startsAt);
    if (isFree) withoutOrders.requests += 1;
    const code = standing.end === 'passed' ? (evidence.unsent ?? evidence.pass)?.code : undefined;
    if (code !== undefined) passed[code] = (passed[code] ?? 0) + 1;
    else if (calls.length > 0) {
      bids += 1;
      if (isFree) withoutOrders.bids += 1;
    }
    if (calls.length > 1) repeatedBids += 1;
  }
  return { bids, withoutOrders, passed, repeatedBids };
}

/** Whether the run itself kept bids back then, by a pause or a cap by hand. */
function isKeptBack(orders: Orders | null, at: EpochMs): boolean {
  if (orders === null) return false;
  const isPaused = orders.pauses.some(({ from, until }) => from <= at && (until === null || at < until));
  const lastByName = new Map(orders.caps.filter((cap) => cap.at <= at).map((cap) => [cap.name, cap.limitCents]));
  return isPaused || [...lastByName.values()].some((limitCents) => limitCents !== null);
}
