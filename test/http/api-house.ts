/** The operator API on the embedded store with a flow desk behind it and the played service in front. */
import { createHash } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import { openHouse } from '../bidding/house.ts';
import { flowsSandbox, noRivals } from '../flows/world.ts';

export const roles = ['viewer', 'risk', 'operator', 'admin'] as const;
export type Role = (typeof roles)[number];
const tokenOf = (role: Role) => `a-token-of-the-${role}`;

export type Reply = { status: number; headers: Headers; text: string; body: unknown };

/** `more`: other sections of the settings. `reviewed`: rules beside the shipped ones, and auctions that leave a person time. */
export async function startApi(
  context: TestContext,
  more: object = {},
  reviewed?: { rules: readonly RuleFile[]; windowMs: number },
) {
  const tokens = roles.map((role) => ({
    ...{ name: role, role, sha256: createHash('sha256').update(tokenOf(role)).digest('hex') },
  }));
  const played = flowsSandbox(false);
  // What the service tells of an endorsement the tests say themselves.
  const never = { endorsedMinMs: 3_600_000, endorsedMaxMs: 3_600_000 };
  const house = await openHouse({
    seed: 5,
    sandbox: {
      ...played,
      ...(reviewed && { auction: { ...played.auction, windowMs: reviewed.windowMs } }),
      contracts: { ...played.contracts, ...never },
    },
    rivals: noRivals,
    ...(reviewed === undefined ? {} : { moreRules: reviewed.rules }),
    bidding: { windowMs: reviewed?.windowMs ?? 1_500, skewAllowanceMs: 200, marginWaitMs: 700, directQueriesPerDay: 1 },
    more: { api: { tokens }, flows: { pollMs: 50, retryMs: 50, finalisationEnabled: true }, ...more },
  });
  context.after(() => house.close());
  const { url } = house.engine;
  const call = async (
    method: string,
    path: string,
    options: {
      role?: Role | null;
      token?: string;
      key?: string;
      body?: unknown;
      raw?: string | Buffer<ArrayBuffer>;
      type?: string;
      headers?: Record<string, string>;
    } = {},
  ): Promise<Reply> => {
    const { role = 'admin', key, body, raw, type = 'application/json' } = options;
    const token = options.token ?? (role === null ? null : tokenOf(role));
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(sent === undefined ? {} : { 'content-type': type }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...options.headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await answer.text();
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : null };
  };
  return { ...house, call };
}
