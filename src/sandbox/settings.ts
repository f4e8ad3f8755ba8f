/** All settings of the sandbox with their defaults, and how overrides are read: unknown keys and wrong kinds are refused at once. */
import { Fault } from '../errors.ts';
import { type AuctionSettings, defaultAuction } from './auction-house.ts';
import { type BureauSettings, defaultBureau } from './bureau.ts';
import { type ContractSettings, defaultContracts } from './contracts.ts';
import { type FaultSettings, noFaults } from './faults.ts';
import { defaultLinks, type LinkSettings } from './links.ts';
import { defaultWithdrawals, type WithdrawalSettings } from './played-proposal.ts';
import { type DeliverySettings, defaultDeliveries } from './sender.ts';
import { defaultTokens, type TokenSettings, tokenForms } from './tokens.ts';
import { defaultWorld, type WorldSettings } from './world.ts';

export type PaceSettings = {
  batchRequests: number;
  /** Between the openings of two batches. */
  batchIntervalMs: number;
  /** False: a batch opens only when the one before has ended and its result was delivered; the interval counts from there. */
  overlapping: boolean;
};

export type SandboxSettings = {
  world: WorldSettings;
  auction: AuctionSettings;
  links: LinkSettings;
  contracts: ContractSettings;
  withdrawals: WithdrawalSettings;
  faults: FaultSettings;
  deliveries: DeliverySettings;
  tokens: TokenSettings;
  bureau: BureauSettings;
  pace: PaceSettings;
};

const defaultSandbox: SandboxSettings = {
  world: defaultWorld,
  auction: defaultAuction,
  links: defaultLinks,
  contracts: defaultContracts,
  withdrawals: defaultWithdrawals,
  faults: noFaults,
  deliveries: defaultDeliveries,
  tokens: defaultTokens,
  bureau: defaultBureau,
  pace: { batchRequests: 20, batchIntervalMs: 1_000, overlapping: true },
};

type Tree = { [key: string]: unknown };

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return value === null ? 'null' : typeof value;
}

/** `value` laid over `model`, whose kinds it must have. A null in the model stands for a number that may be left out. */
function overlay(model: unknown, value: unknown, path: string, problems: string[]): unknown {
  if (isTree(model)) {
    if (!isTree(value)) {
      problems.push(`${path} is ${kindOf(value)}; write an object`);
      return model;
    }
    const merged: Tree = { ...model };
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(model, key)) merged[key] = overlay(model[key], value[key], `${path}.${key}`, problems);
      else problems.push(`${path}.${key} is not a setting; known are ${Object.keys(model).join(', ')}`);
    }
    return merged;
  }
  if (Array.isArray(model)) {
    if (Array.isArray(value) && value.length > 0) {
      return value.map((item, index) => overlay(model[0], item, `${path}[${index}]`, problems));
    }
    problems.push(`${path} is ${kindOf(value)}; write a list of at least one`);
    return model;
  }
  if (value === null && model === null) return value;
  const wanted = model === null ? 'number' : typeof model;
  const fits = typeof value === wanted && (typeof value !== 'number' || Number.isFinite(value));
  if (!fits) problems.push(`${path} is ${kindOf(value)}; write a ${wanted}`);
  return fits ? value : model;
}

/** Shares are between 0 and 1, times and counts not negative; only mark-ups may fall below zero. */
function checkNumbers(value: unknown, path: string, problems: string[]): void {
  if (typeof value === 'number') {
    if (value < 0 && !path.endsWith('markupHundredths')) problems.push(`${path} is below 0`);
    if (value > 1 && /(Share|participation)$/.test(path) && !path.includes('regimes'))
      problems.push(`${path} is above 1`);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkNumbers(item, `${path}[${index}]`, problems);
  } else if (isTree(value)) {
    for (const key of Object.keys(value)) checkNumbers(value[key], `${path}.${key}`, problems);
  }
}

/** Overrides, of any depth, over the defaults. Throws `configuration-invalid` naming every problem. */
export function sandboxSettings(overrides: unknown): SandboxSettings {
  const problems: string[] = [];
  const settings = overlay(defaultSandbox, overrides ?? {}, 'sandbox', problems) as SandboxSettings;
  checkNumbers(settings, 'sandbox', problems);
  if (settings.pace.batchRequests < 1) problems.push('sandbox.pace.batchRequests is below 1');
  if (!tokenForms.includes(settings.tokens.withdrawalForm)) {
    problems.push(`sandbox.tokens.withdrawalForm is none of ${tokenForms.join(', ')}`);
  }
  if (problems.length > 0) throw new Fault('configuration-invalid', problems.join('\n'));
  return Object.freeze(settings);
}
