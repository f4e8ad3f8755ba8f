/** The API from outside: a call is made again with the same key until a desk answers it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { apiToken } from './world.ts';

export type Flow = {
  flowId: string;
  phase: string;
  shownDone: boolean;
  operation: { operation: string; status: string } | null;
  requestCode: string | null;
  proposalCode: string | null;
  note: { noteNumber: string; proposalCode: string } | null;
  differences: { field: string; ours: number; theirs: number }[];
  errors: string[];
  breaches: { rule: string; field: string }[];
  steps: { stepId: string; step: string; outcome: string }[];
  nextSteps: string[];
};

export type Answer = { status: number; body: unknown };

export type ApiClient = {
  get: (path: string) => Promise<Answer>;
  /** `key`: the idempotency key. */
  post: (path: string, key: string, body: object) => Promise<Answer>;
};

const pauseMs = 60;
const patienceMs = 90_000;

export function createClient(urlOf: () => string, onRepeat: () => void): ApiClient {
  async function call(path: string, init: RequestInit): Promise<Answer> {
    for (const until = Date.now() + patienceMs; ; ) {
      try {
        const answer = await fetch(`${urlOf()}/v1${path}`, { ...init, signal: AbortSignal.timeout(8_000) });
        const text = await answer.text();
        if (answer.status !== 503) return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
      } catch (fault) {
        if (Date.now() > until) throw fault;
      }
      if (Date.now() > until) throw new Error(`${path} was never answered`);
      onRepeat();
      await sleep(pauseMs);
    }
  }
  const headers = { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' };
  return {
    get: (path) => call(path, { headers }),
    post: (path, key, body) =>
      call(path, { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body: JSON.stringify(body) }),
  };
}
