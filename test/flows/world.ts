/** The world of a run of flows: the played service with its faults, and how the desk is set. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { proposalSituations } from '../../src/sandbox/played-proposal.ts';
import type { Rivals } from '../../src/sandbox/rivals.ts';
import { type SandboxSettings, sandboxSettings } from '../../src/sandbox/settings.ts';
import type { SharedPlace } from '../crash/scenario.ts';
import { stackEnvironment } from '../stack/stack.ts';

const windowMs = 1_500;
export const apiToken = 'token-of-the-operator-of-this-run';
export const webhookToken = 'token-of-the-webhooks-of-this-run';

/** Answers that are lost before and after the deed, webhooks twice, late, out of order, tokens that run out. */
export function flowsSandbox(faults: boolean): SandboxSettings {
  const lossy = {
    delayMinMs: 5,
    delayMaxMs: 40,
    throttled: 0.01,
    errorBefore: 0.015,
    errorAfter: 0.015,
    dropAfter: 0.02,
    halfOpen: 0.005,
    garbage: 0.01,
    unauthorised: 0.01,
  };
  return sandboxSettings({
    world: { marginOmittedShare: 0, authorisationOmittedShare: 0 },
    auction: { windowMs, expiryMs: 60_000, contemplationDelayMs: 5, proposalDelayMs: 10 },
    contracts: { acceptAll: true, callbackMinMs: 5, callbackMaxMs: 60 },
    links: { callbackMinMs: 5, callbackMaxMs: 40 },
    tokens: faults ? { lifetimeMs: 4_000 } : {},
    faults: faults
      ? {
          queries: { ...lossy, halfOpen: 0 },
          operations: lossy,
          webhooks: { duplicate: 0.1, reorder: 0.1, late: 0.1, lateMs: 600, missing: 0.03, redeliverMissingMs: 1_500 },
        }
      : {},
    deliveries: { connections: 16, timeoutMs: 2_000, retryFirstMs: 50, retryMaxMs: 500, giveUpAfterMs: 120_000 },
    pace: { batchRequests: 25, batchIntervalMs: 400, overlapping: true },
  });
}

/** Nobody else bids: every bid wins. */
export const noRivals: Rivals = {
  bidsOn: () => [],
  bestRival: () => ({ best: new Float64Array(499), exact: new Float64Array(499), medianHundredths: 332 }),
};

const shared = { partitions: 4, sessionTimeoutMs: 6_000 };

/** Writes the settings under `directory`; gives the environment of a desk there. */
export function flowsEnvironment(options: {
  directory: string;
  /** Of the process, where there are several. */
  name?: string;
  port: number;
  serviceUrl: string;
  accessToken: string;
  place: SharedPlace | null;
}): Record<string, string> {
  const { directory, name = 'data', place, serviceUrl } = options;
  const configFile = join(directory, 'flows.json');
  const names = place === null ? {} : { topicPrefix: place.prefix, groupId: `${place.prefix}desk`, replication: 1 };
  const settings = {
    ...(place === null ? {} : { kafka: { ...shared, ...names }, redis: { keyPrefix: `{${place.prefix}}:` } }),
    service: { operationTimeoutMs: 1_500, idempotentRetryMs: 50, tokenRetryMs: 300, operationConnections: 32 },
    bidding: {
      windowMs,
      skewAllowanceMs: 200,
      marginWaitMs: 700,
      resultTimeoutMs: 10_000,
      contemplationTimeoutMs: 20_000,
    },
    flows: {
      pollMs: 200,
      marginRetryMs: 1_000,
      retryMs: 100,
      retryMaxMs: 2_000,
      noteTimeoutMs: 60_000,
      finalisationEnabled: true,
      situations: [
        { code: proposalSituations.approved, state: 'approved' },
        { code: proposalSituations.finalized, state: 'finalized' },
        { code: proposalSituations['pending-payment'], state: 'pending-payment' },
        { code: proposalSituations.released, state: 'released' },
      ],
    },
    api: {
      tokens: [{ name: 'run', role: 'admin', sha256: createHash('sha256').update(apiToken).digest('hex') }],
    },
  };
  writeFileSync(configFile, JSON.stringify(settings));
  const renewal = `fetch('${serviceUrl}/sandbox/token').then(async (answer) => console.log((await answer.json()).token))`;
  return {
    LANCE_CONFIG: configFile,
    LANCE_DATA_DIR: join(directory, name),
    LANCE_RULES_DIR: fileURLToPath(new URL('../../rules', import.meta.url)),
    LANCE_HTTP_PORT: String(options.port),
    LANCE_WEBHOOK_TOKENS: webhookToken,
    LANCE_BASE_URL: serviceUrl,
    LANCE_FGTS_URL: serviceUrl,
    LANCE_PROPOSAL_URL: serviceUrl,
    LANCE_ACCESS_TOKEN: options.accessToken,
    LANCE_TOKEN_COMMAND: `"${process.execPath}" -e "${renewal}"`,
    LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    LANCE_PSEUDONYM_KEY: 'a key of the flows run and of nothing else',
    ...(place === null ? {} : stackEnvironment(place)),
  };
}
