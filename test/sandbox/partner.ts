/** A partner's side for the sandbox's tests: takes webhooks in, sends calls, over real HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { runningClock } from './clocks.ts';

export type Received = { body: string; json: Payload; at: number };
/** Payloads are read by their paths in assertions. */
type Payload = ReturnType<typeof JSON.parse>;

export type Partner = Awaited<ReturnType<typeof startPartner>>;

export async function startPartner(
  overrides: unknown,
  more: { seed?: number; status?: (n: number) => number; recordFile?: string; rivals?: SandboxOptions['rivals'] } = {},
) {
  const received: Received[] = [];
  let arrivals = 0;
  let onWebhook: (message: Received) => void = () => {};
  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivals += 1;
      const status = more.status?.(arrivals) ?? 202;
      response.writeHead(status).end();
      if (status >= 300) return;
      const body = Buffer.concat(chunks).toString();
      const message = { body, json: JSON.parse(body), at: Date.now() };
      received.push(message);
      onWebhook(message);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const sandbox = createSandbox({
    settings: sandboxSettings(overrides),
    seed: more.seed ?? 7,
    clock: runningClock,
    ...(more.recordFile === undefined ? {} : { recordFile: more.recordFile }),
    ...(more.rivals === undefined ? {} : { rivals: more.rivals }),
  });
  const { url } = await sandbox.listen(0);
  sandbox.connect(`http://127.0.0.1:${(http.address() as AddressInfo).port}/webhooks/token`);
  const call = async (path: string, body: string, token = 'sandbox-token') => {
    const answer = await fetch(url + path, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    const text = await answer.text();
    return { status: answer.status, text, headers: answer.headers };
  };
  return {
    sandbox,
    url,
    received,
    call,
    react: (handler: (message: Received) => void) => {
      onWebhook = handler;
    },
    until: async (what: (message: Received) => boolean): Promise<Received> => {
      for (let round = 0; round < 500; round += 1) {
        const found = received.find(what);
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error('the webhook did not come within 5 s');
    },
    stop: async () => {
      await sandbox.stop();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Ids as text, every digit: `JSON.parse` would round the long ones. */
export function requestIdsIn(body: string): string[] {
  return [...body.matchAll(/"numeroSolicitacao":(\d+)/g)].map((match) => match[1]!);
}

export function bidBody(
  requestId: string,
  changes: Partial<{ rate: number; amount: number; validForMs: number }> = {},
) {
  return encodeBid({
    requestId,
    offer: {
      rateHundredths: changes.rate ?? 290,
      amountCents: changes.amount ?? 250_000,
      installments: 24,
      validUntil: Date.now() + (changes.validForMs ?? 86_400_000),
    },
    contacts: [{ kind: 'url', value: 'https://partner.example/offers' }],
  });
}
