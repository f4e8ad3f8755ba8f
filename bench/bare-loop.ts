/**
 * The pipeline without its business, to compare with: takes the same webhooks, appends as many records of the same size
 * to one SQLite file through the same kind of worker, keyed and chained alike, and sends as many bids. It decides nothing,
 * keeps no state and no view but which request a bid's code belongs to, and imports nothing of ours. The main thread serves HTTP,
 * the worker thread is the writer.
 */
import { Pool } from 'undici';
import { bidOf, createBidSender, serveWebhooks } from './bare-edges.ts';
import { startLog } from './bare-log.ts';

type Options = {
  path: string;
  baseUrl: string;
  /** Share of requests that a bid is sent for. */
  bidShare: number;
  sendLimit: number;
  /** Length of each record, so that the same bytes reach the disk. */
  sizes: Record<
    'requested' | 'claimed' | 'passed' | 'answered' | 'ended' | 'told' | 'contemplated' | 'proposed',
    number
  >;
};

function record(kind: string, requestId: string, content: unknown, size: number): string {
  return JSON.stringify({ kind, requestId, at: Date.now(), content }).padEnd(size);
}

async function serve(options: Options): Promise<void> {
  const { append } = await startLog(options.path);
  const pool = new Pool(options.baseUrl, { connections: options.sendLimit, pipelining: 1, allowH2: false });
  const send = createBidSender(pool);
  const { sizes } = options;
  const queue: string[] = [];
  const requestOf = new Map<string, string>();
  let busy = 0;
  let owed = 0;

  const place = async (requestId: string, body: string): Promise<void> => {
    const answer = await send(body);
    busy -= 1;
    pump();
    const { Conteudo } = JSON.parse(answer) as { Conteudo: { CodigoLanceLeilao: string } };
    requestOf.set(Conteudo.CodigoLanceLeilao, requestId);
    await append([requestId], [record('answered', requestId, answer, sizes.answered)]);
  };
  /** Claims for all free slots in one append, then the bids. */
  const claim = async (requestIds: readonly string[]): Promise<void> => {
    const bodies = requestIds.map(bidOf);
    await append(
      requestIds,
      requestIds.map((id, index) => record('claimed', id, bodies[index], sizes.claimed)),
    );
    for (const [index, requestId] of requestIds.entries()) void place(requestId, bodies[index]!);
  };
  const pump = (): void => {
    const requestIds = queue.splice(0, options.sendLimit - busy);
    busy += requestIds.length;
    if (requestIds.length > 0) void claim(requestIds);
  };
  const receive = async (ids: readonly string[], requests: readonly unknown[]): Promise<void> => {
    await append(
      ids,
      ids.map((id, index) => record('requested', id, requests[index], sizes.requested)),
    );
    const passed: string[] = [];
    for (const id of ids) {
      owed += options.bidShare;
      if (owed < 1) passed.push(id);
      else {
        owed -= 1;
        queue.push(id);
      }
    }
    if (passed.length > 0)
      void append(
        passed,
        passed.map((id) => record('passed', id, 'none', sizes.passed)),
      );
    pump();
  };
  const end = (ids: readonly string[], auctions: readonly unknown[]): Promise<void> =>
    append(
      ids,
      ids.map((id, index) => record('ended', id, auctions[index], sizes.ended)),
    );
  const tell = async (kind: 'contemplated' | 'proposed', code: string, event: unknown): Promise<void> => {
    await append([code], [record('told', code, event, sizes.told)]);
    const requestId = requestOf.get(code)!;
    void append([requestId], [record(kind, requestId, event, sizes[kind])]);
  };
  serveWebhooks({ receive, end, tell });
}

await serve(JSON.parse(process.argv[2]!) as Options);
