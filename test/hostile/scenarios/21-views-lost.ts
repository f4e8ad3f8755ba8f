/** Rows of the views are deleted, or their position is moved, while the desk stands; then the service repeats its webhooks. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { until } from '../clock-world.ts';
import { type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const requests = 6;
const requestIds = (from: number) => Array.from({ length: requests }, (_, index) => from + index);

/** A service that takes every bid. */
async function startService() {
  const bodies = new Map<string, string[]>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    if (request.method === 'POST' && request.url?.includes('lance')) {
      const id = String((JSON.parse(body) as { numeroSolicitacao: number }).numeroSolicitacao);
      bodies.set(id, [...(bodies.get(id) ?? []), body]);
      const Conteudo = { CodigoLanceLeilao: `BID-${id}`, Mensagem: 'ok' };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ Conteudo, Erros: [] }));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bidFor = (ids: readonly number[]) => ids.filter((id) => bodies.has(String(id))).length;
  const repeated = () => [...bodies].filter(([, sent]) => sent.length > 1).map(([id]) => id);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, bidFor, repeated, close };
}

/** Nobody's, with check digits that fit. */
function cpfOf(id: number): string {
  const base = String(100_000_000 + id);
  const digit = (digits: string) => {
    const sum = [...digits].reduce((total, each, index) => total + Number(each) * (digits.length + 1 - index), 0);
    return ((sum * 10) % 11) % 10;
  };
  const first = `${base}${digit(base)}`;
  return `${first}${digit(first)}`;
}

function element(numeroSolicitacao: number): Record<string, unknown> {
  return {
    ...{ numeroSolicitacao, cpf: cpfOf(numeroSolicitacao), matricula: `M${numeroSolicitacao}`, valorLiberado: 10_000 },
    ...{ inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' }, numeroInscricaoEmpregador: '11222333000181' },
    ...{ nroParcelas: 36, nomeTrabalhador: 'PESSOA DE TESTE', dataNascimento: '01011985', margemDisponivel: 2_000 },
    ...{ elegivelEmprestimo: true, pessoaExpostaPoliticamente: { codigo: 0 }, dataAdmissao: '01012015' },
    ...{ garantia: { temGarantias: false }, alertas: [], nsuAutorizacaoDigital: numeroSolicitacao, cnae: '6201500' },
    ...{ dataInicioAtividadeEmpregador: '01012000', codigoCategoriaTrabalhador: 101 },
  };
}

async function tell(daemon: Daemon, ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    const body = JSON.stringify({ Payload: { CodigoLote: 'L', Solicitacoes: [element(id)] } });
    const answer = await fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body });
    assert.equal(answer.status, 200, await answer.text());
  }
}

export const scenario: Scenario = {
  line: 21,
  name: 'rows of the views deleted, their position moved',
  run: async (directory) => {
    const service = await startService();
    const environment = { LANCE_BASE_URL: service.url };
    const database = join(directory, 'data', 'lance.sqlite');
    const start = async () => {
      const daemon = await startDaemon({ directory, environment });
      assert.notEqual(await daemon.ready, null, daemon.output());
      return daemon;
    };
    const alter = (sql: string) => {
      const opened = new DatabaseSync(database);
      opened.exec(sql);
      opened.close();
    };
    try {
      const first = requestIds(900_000);
      let daemon = await start();
      await tell(daemon, first);
      await until('each is bid for', () => service.bidFor(first) === requests);
      let slowestMs = 0;
      const cases = [
        'DELETE FROM ledger',
        'DELETE FROM ledger WHERE rowid IN (SELECT rowid FROM ledger LIMIT 1)',
        'DELETE FROM exposure',
        'UPDATE applied SET next = next + 1000000',
        'UPDATE applied SET next = -5',
      ];
      for (const [index, sql] of cases.entries()) {
        await daemon.stop();
        alter(sql);
        const fresh = requestIds(910_000 + index * 100);
        const startedAt = performance.now();
        daemon = await start();
        slowestMs = Math.max(slowestMs, Math.round(performance.now() - startedAt));
        assert.equal(daemon.output().split('"code":"views-unfit"').length - 1, index + 1, `${sql}: no alarm`);
        await tell(daemon, first);
        await tell(daemon, fresh);
        await until(`${sql}: new requests are bid for`, () => service.bidFor(fresh) === requests);
        assert.deepEqual(service.repeated(), [], `${sql}: bid for twice`);
      }
      await daemon.stop();
      return { cases: cases.length, slowestMs };
    } finally {
      service.close();
    }
  },
};
