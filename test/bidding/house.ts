/** The whole desk for a test: shipped rules and configuration, real store, client and vault, and the sandbox over loopback. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import outcomesFile from '../../config/outcomes.json' with { type: 'json' };
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { type EmbeddedStore, openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createEnrichment } from '../../src/adapters/enrichment/sources.ts';
import { createIdentityProvider } from '../../src/adapters/oidc/identity-provider.ts';
import { createService } from '../../src/adapters/service/service.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { Policy } from '../../src/bidding/decide.ts';
import type { RuleWatch } from '../../src/bidding/ports.ts';
import type { BiddingSettings } from '../../src/config/sections.ts';
import { type Config, readConfig, readEconomics } from '../../src/config.ts';
import type { Vault } from '../../src/domain/vault.ts';
import { type Engine, startEngine } from '../../src/engine.ts';
import { bodyReader } from '../../src/http/door.ts';
import { createJournal } from '../../src/http/journal.ts';
import { policyOf } from '../../src/policy.ts';
import { faultText } from '../../src/rules/place.ts';
import { openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import type { Rivals } from '../../src/sandbox/rivals.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readOutcomeTable } from '../../src/wire/outcomes.ts';

const rulesDir = new URL('../../rules/', import.meta.url).pathname;

/** The shipped configuration with what a partner has to add. */
export function configOf(parts: {
  baseUrl: string;
  dataDir: string;
  accessToken: string;
  bidding?: Partial<BiddingSettings>;
  /** Other sections. */
  more?: object;
}): Config {
  const environment = {
    LANCE_CONFIG: 'changes',
    LANCE_DATA_DIR: parts.dataDir,
    LANCE_HTTP_PORT: '0',
    LANCE_WEBHOOK_TOKENS: 'token-of-the-webhooks',
    LANCE_BASE_URL: parts.baseUrl,
    LANCE_FGTS_URL: parts.baseUrl,
    LANCE_PROPOSAL_URL: parts.baseUrl,
    LANCE_ACCESS_TOKEN: parts.accessToken,
    LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    LANCE_PSEUDONYM_KEY: 'a key for tests, as long as it has to be: 0123456789',
    LANCE_RULES_DIR: rulesDir,
  };
  const readFile = (path: string) =>
    path === 'changes' ? JSON.stringify({ bidding: parts.bidding ?? {}, ...parts.more }) : readFileSync(path, 'utf8');
  const result = readConfig(environment, readFile);
  if (result.kind === 'refused') throw new Error(result.faults.join('\n'));
  return result.config;
}

export function shippedPolicy(config: Config): Policy {
  return policyOf(config, readRuleFiles(rulesDir));
}

/** A folder that stays as it is. */
function watchOf(files: readonly RuleFile[], leastCoverage = 100): RuleWatch {
  const verdict = judgeRules(files, leastCoverage);
  if (verdict.kind !== 'good') throw new Error(reasonsAgainst(verdict).join('\n'));
  const { hash, source } = verdict.ruleSet;
  return {
    start: (onReport) => onReport({ kind: 'good', hash, source }, true),
    check: async (other) => {
      const opened = openRuleSet(other);
      if (opened.kind === 'refused') return { kind: 'refused', text: opened.faults.map(faultText).join('\n') };
      return { kind: 'good', hash: opened.ruleSet.hash, source: other };
    },
    judge: async (others) => {
      const judged = judgeRules(others, leastCoverage);
      if (judged.kind === 'good') {
        const { ruleSet, report } = judged;
        const { results, coverage, uncovered } = report;
        const tested = { count: results.length, coverage, uncovered };
        return { kind: 'good', hash: ruleSet.hash, source: ruleSet.source, tested };
      }
      const text = reasonsAgainst(judged).join('\n');
      return { kind: 'refused', text, ...(judged.kind === 'refused' ? {} : { compiles: true }) };
    },
    stop: async () => undefined,
  };
}

export type House = {
  sandbox: Sandbox;
  engine: Engine;
  store: EmbeddedStore;
  config: Config;
  policy: Policy;
  vault: Vault;
  close: () => Promise<void>;
};

export async function openHouse(options: {
  seed: number;
  sandbox: object;
  bidding: Partial<BiddingSettings>;
  /** Other sections of the settings, from the address of the sandbox where they need it. */
  more?: object | ((sandboxUrl: string) => object);
  rivals?: Rivals;
  /** Of the service, where it is not the sandbox's own address. */
  baseUrl?: (sandboxUrl: string) => string;
  /** Hears each line of the journal. */
  onLine?: (line: string) => void;
  /** Else the shipped rules, which stay as they are. */
  ruleWatch?: RuleWatch;
  /** Beside the shipped rules, whose tests are left out then: they know nothing of these. */
  moreRules?: readonly RuleFile[];
}): Promise<House> {
  const shipped = readRuleFiles(rulesDir);
  const untested = shipped.filter(({ path }) => !path.endsWith('.test.json'));
  const { moreRules, ruleWatch = moreRules ? watchOf([...untested, ...moreRules], 0) : watchOf(shipped) } = options;
  const clock = createSteadySystemClock();
  const directory = mkdtempSync(join(tmpdir(), 'lance-desk-test-'));
  const settings = sandboxSettings(options.sandbox);
  const rivals = options.rivals === undefined ? {} : { rivals: options.rivals };
  const sandbox = createSandbox({ settings, seed: options.seed, clock, ...rivals });
  const { url } = await sandbox.listen(0);
  const { accessToken } = settings.tokens;
  const { bidding } = options;
  const more = typeof options.more === 'function' ? options.more(url) : options.more;
  const config = configOf({
    baseUrl: options.baseUrl?.(url) ?? url,
    dataDir: directory,
    accessToken,
    bidding,
    ...(more && { more }),
  });
  const policy = shippedPolicy(config);
  const mapping = readRequestMapping(mappingFile);
  const outcomes = readOutcomeTable(outcomesFile);
  if (mapping.kind === 'refused' || outcomes.kind === 'refused') throw new Error('the shipped tables are refused');
  const onFault = (fault: Error): never => {
    throw fault;
  };
  const store = await openEmbeddedStore({ directory, onFault });
  const service = createService(config.service, { outcomes: outcomes.table, clock, observe: () => undefined });
  const close = async () => {
    await service.close();
    await store.close();
    await sandbox.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const vault = createVault(config.pseudonymKey);
  const engine = await startEngine({
    config,
    instance: randomUUID(),
    enrichment: createEnrichment(config.enrichment, store.queryBudget),
    soleOwner: true,
    store,
    service,
    serviceAnsweredAt: () => null,
    serviceAnsweredStatus: () => null,
    vault,
    clock,
    chance: Math.random,
    mapping: mapping.mapping,
    readBody: bodyReader({ vault, mapping: mapping.mapping, limits: config.http, terms: config.bidding }),
    identityProvider: config.oidc === null ? null : createIdentityProvider(config.oidc, () => performance.now()),
    ruleWatch,
    readEconomics: (source) => readEconomics(source, (path) => readFileSync(path, 'utf8')),
    version: '0.0.0',
    learning: true,
    journal:
      options.onLine === undefined
        ? createJournal('silent', process.stderr)
        : createJournal('info', { write: options.onLine }),
    onStep: () => undefined,
    onMoved: onFault,
  }).catch(async (fault: unknown) => {
    await close();
    throw fault;
  });
  sandbox.connect(`${engine.url}/webhooks/token-of-the-webhooks`);
  return {
    sandbox,
    engine,
    store,
    config,
    policy,
    vault,
    close: async () => {
      await engine.stop();
      await close();
    },
  };
}
