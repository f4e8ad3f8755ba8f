/** Runs the daemon under strace, posts webhooks one after another and several at once, and asks of each 2xx whether the sync of its own commit came before it. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { startDesk, steadyPort } from '../crash/desk-process.ts';
import { proveWebhooks, readCalls, type Webhook, type WebhookProof, walSyncs } from './trace.ts';

const strace = 'strace';
const webhookToken = 'webhook-token-of-the-fsync-proof';

/** How many webhooks are posted: first one after another, then `rounds` groups of `atOnce`. */
export type FsyncLoad = { oneByOne: number; rounds: number; atOnce: number };

export type FsyncProof = { proofs: readonly WebhookProof[]; calls: number; syncs: number };

/** Null when strace is on the machine and may trace; else why not. */
export function straceMissing(): string | null {
  try {
    execFileSync(strace, ['-f', '-o', '/dev/null', 'true'], { stdio: 'pipe' });
    return null;
  } catch (fault) {
    return `strace cannot be run (${fault instanceof Error ? fault.message.split('\n')[0] : fault}); install the package strace`;
  }
}

function straceCommand(traceFile: string): readonly string[] {
  const calls = 'read,write,writev,sendto,sendmsg,pwrite64,fsync,fdatasync';
  // -I2: a signal to strace ends the daemon too. -s: a whole page of the log in one text.
  return [strace, '-f', '-tt', '-yy', '-I2', '-s', '16600', '-o', traceFile, '-e', `trace=${calls}`, process.execPath];
}

function requestIdOf(number: number): string {
  return `71${String(number).padStart(17, '0')}`;
}

async function post(pool: Pool, number: number): Promise<Webhook> {
  const requestId = requestIdOf(number);
  const body = `{"CodigoLote":"PROVA-${number}","Solicitacoes":[{"numeroSolicitacao":${requestId},"elegivelEmprestimo":false}]}`;
  const answer = await pool.request({
    path: `/webhooks/${webhookToken}`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`a webhook was answered with ${answer.statusCode}`);
  return { requestId };
}

async function postAll(port: number, { oneByOne, rounds, atOnce }: FsyncLoad): Promise<Webhook[]> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: atOnce });
  const posted: Webhook[] = [];
  for (let number = 0; number < oneByOne; number += 1) posted.push(await post(pool, number));
  for (let round = 0; round < rounds; round += 1) {
    const numbers = Array.from({ length: atOnce }, (_, place) => oneByOne + round * atOnce + place);
    posted.push(...(await Promise.all(numbers.map((number) => post(pool, number)))));
  }
  await pool.close();
  return posted;
}

async function record(directory: string, traceFile: string, load: FsyncLoad): Promise<Webhook[]> {
  const outputPath = join(directory, 'desk.log');
  const output = openSync(outputPath, 'a');
  const port = await steadyPort(Math.random);
  const desk = startDesk({
    environment: {
      LANCE_DATA_DIR: join(directory, 'data'),
      LANCE_HTTP_PORT: String(port),
      LANCE_WEBHOOK_TOKENS: webhookToken,
      // Nobody listens there: no worker is eligible, so nothing is bid.
      LANCE_BASE_URL: 'http://127.0.0.1:9',
      LANCE_ACCESS_TOKEN: 'not-used',
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
      LANCE_PSEUDONYM_KEY: 'a key of the fsync proof and of nothing else',
    },
    port,
    output,
    command: straceCommand(traceFile),
  });
  try {
    if ((await desk.ready) === null) {
      throw new Error(`the daemon did not start under strace; it wrote:\n${readFileSync(outputPath, 'utf8')}`);
    }
    return await postAll(port, load);
  } finally {
    desk.signal('SIGTERM');
    await desk.exited;
    closeSync(output);
  }
}

export async function proveFsync(load: FsyncLoad): Promise<FsyncProof> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-fsync-'));
  try {
    const traceFile = join(directory, 'trace');
    const posted = await record(directory, traceFile, load);
    const calls = readCalls(readFileSync(traceFile, 'latin1').split('\n'));
    return { proofs: proveWebhooks(calls, posted), calls: calls.length, syncs: walSyncs(calls).length };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
