/**
 * `node test/durability/fsync.ts`: runs the daemon under strace, posts webhooks one after another and several at once,
 * and shows that each 2xx was written after the sync of its own commit. Needs strace. Exits 1 when one was not.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { startDesk, steadyPort } from '../crash/desk-process.ts';
import { proveWebhooks, readCalls, type Webhook, walSyncs } from './trace.ts';

const oneByOne = 60;
const rounds = 10;
const atOnce = 8;
const webhookToken = 'webhook-token-of-the-fsync-proof';

function straceCommand(traceFile: string): readonly string[] {
  const calls = 'read,write,writev,sendto,sendmsg,pwrite64,fsync,fdatasync';
  // -I2: a signal to strace ends the daemon too. -s: a whole page of the log in one text.
  return ['strace', '-f', '-tt', '-yy', '-I2', '-s', '4300', '-o', traceFile, '-e', `trace=${calls}`, process.execPath];
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

type Posted = { single: Webhook[]; grouped: Webhook[] };

async function postAll(port: number): Promise<Posted> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: atOnce });
  const single: Webhook[] = [];
  const grouped: Webhook[] = [];
  for (let number = 0; number < oneByOne; number += 1) single.push(await post(pool, number));
  for (let round = 0; round < rounds; round += 1) {
    const numbers = Array.from({ length: atOnce }, (_, place) => oneByOne + round * atOnce + place);
    grouped.push(...(await Promise.all(numbers.map((number) => post(pool, number)))));
  }
  await pool.close();
  return { single, grouped };
}

async function record(directory: string, traceFile: string): Promise<Posted> {
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
    return await postAll(port);
  } finally {
    desk.signal('SIGTERM');
    await desk.exited;
    closeSync(output);
  }
}

const directory = mkdtempSync(join(tmpdir(), 'lance-fsync-'));
try {
  const traceFile = join(directory, 'trace');
  const { single, grouped } = await record(directory, traceFile);
  const calls = readCalls(readFileSync(traceFile, 'latin1').split('\n'));
  const proofs = proveWebhooks(calls, [...single, ...grouped]);
  const failed = proofs.filter((proof) => proof.kind === 'not-proven');
  for (const { requestId, text } of failed) console.log(`${requestId}: ${text}`);
  const syncs = walSyncs(calls);
  console.log(
    `${calls.length} calls traced, ${syncs.length} syncs of the write-ahead log (${syncs[0]?.name ?? 'none'})`,
  );
  console.log(`${single.length} webhooks one after another, ${grouped.length} in groups of ${atOnce}`);
  console.log(`${proofs.length - failed.length} of ${proofs.length} answers of 2xx follow the sync of their commit`);
  process.exitCode = failed.length === 0 && proofs.length > 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
