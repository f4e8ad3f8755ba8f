/** A running process, asked over HTTP for its status: at the address of the settings, or at `LANCE_URL`. */
import { type DaemonStatus, statusSchema } from '../http/api/status.ts';

/** `token`: for the operator API, which is asked then. `named`: by LANCE_URL, so it may be on another machine. */
export type DaemonPlace = { url: string; token: string | null; named: boolean };

export type StatusAnswer =
  | { kind: 'answered'; status: DaemonStatus }
  /** Somebody answered, and it is no status. `detail`: why, as it says. */
  | { kind: 'refused'; httpStatus: number; detail?: string }
  | { kind: 'silent'; reason: string };

const timeoutMs = 3_000;

export async function askStatus({ url, token }: DaemonPlace): Promise<StatusAnswer> {
  try {
    const answer = await fetch(new URL(token === null ? 'status' : 'v1/status', url), {
      ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await answer.text();
    const body = jsonIn(text);
    const read = answer.status === 200 ? statusSchema.safeParse(body) : null;
    if (read?.success === true) return { kind: 'answered', status: read.data };
    const { detail } = (body ?? {}) as { detail?: unknown };
    return { kind: 'refused', httpStatus: answer.status, ...(typeof detail === 'string' ? { detail } : {}) };
  } catch (fault) {
    return { kind: 'silent', reason: reasonOf(fault, timeoutMs) };
  }
}

/** Whether its event loop turns: it says so before it has opened its store. */
export async function askAlive({ url }: DaemonPlace): Promise<boolean> {
  try {
    const answer = await fetch(new URL('livez', url), { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `fetch` hides the cause in its error. */
export function reasonOf(fault: unknown, timeoutMs: number): string {
  const cause = fault instanceof Error ? (fault.cause ?? fault) : fault;
  if (!(cause instanceof Error)) return 'unknown';
  if (cause.name === 'TimeoutError') return `${timeoutMs} ms`;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
