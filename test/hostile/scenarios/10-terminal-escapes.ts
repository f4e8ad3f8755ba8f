/** Webhooks full of what a terminal obeys; then every command that shows something of them. */
import assert from 'node:assert/strict';
import { lanceCommand, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

/** ESC with CSI and OSC, their forms of eight bits, the direction of writing turned, back to the start of the line, BEL, DEL. */
const escapes = '\x1b[2J\x1b]0;owned\x07\x9b31m\x9d0;owned\x9c\u202egnp\u2066\u2028\r8\x7f';
/** Everything that is neither a printable character nor the end of a line. */
const obeyed = /[^\P{C}\n]|[\u2028\u2029]/u;
const alertCode = `ALERTA ${escapes}`;
const requestId = '700100200';

const request = {
  CodigoLote: `LOTE ${escapes}`,
  Solicitacoes: [
    {
      numeroSolicitacao: Number(requestId),
      cpf: '91582575436',
      matricula: `EMP ${escapes}`,
      inscricaoEmpregador: { codigo: 1, descricao: escapes },
      numeroInscricaoEmpregador: 12_345_678_000_195,
      valorLiberado: 4500.5,
      nroParcelas: 24,
      nomeTrabalhador: `Fulana ${escapes}`,
      dataNascimento: '01021990',
      margemDisponivel: 612.35,
      elegivelEmprestimo: true,
      pessoaExpostaPoliticamente: { codigo: 0, descricao: escapes },
      dataAdmissao: '15032021',
      alertas: [{ codigo: alertCode, descricao: escapes }],
      [`chave ${escapes}`]: escapes,
      setor: escapes,
    },
  ],
};
/** An event of an operation that no flow knows, with a request code and an endpoint of its sender's choice. */
const event = {
  CodigoRequisicao: `codigo ${escapes}`,
  Endpoint: `/contrato/oferta-leilao/averbar-contrato`,
  Payload: { situacao: escapes, [escapes]: escapes },
  Erros: [{ codigo: escapes, mensagem: escapes }],
};
const unknown = { [`desconhecido ${escapes}`]: [{ cpf: escapes }] };

type Reading = { words: readonly string[]; codes: readonly number[]; json: boolean };

export const scenario: Scenario = {
  line: 10,
  name: 'terminal escapes in webhooks, shown by every command',
  run: async (directory) => {
    const daemon = await startDaemon({ directory });
    assert.notEqual(await daemon.ready, null, daemon.output());
    for (const body of [request, event, unknown]) {
      const answer = await fetch(`${daemon.url}/webhooks/${webhookToken}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.ok(answer.ok, `${answer.status} ${await answer.text()}`);
    }
    const listed: Reading[] = [
      ['bids', 'list'],
      ['bids', 'show', requestId],
      ['letters', 'list'],
      ['events', 'list'],
    ]
      .flatMap((words) => [words, [...words, '--json']])
      .map((words) => ({ words, codes: [0], json: words.includes('--json') }));
    // Nobody listens at the service's address, which doctor says with an exit code of its own.
    const judged: Reading[] = [
      { words: ['doctor'], codes: [0, 1], json: false },
      { words: ['doctor', '--json'], codes: [0, 1], json: true },
      { words: ['audit', 'verify'], codes: [0], json: false },
      { words: ['audit', 'verify', '--json'], codes: [0], json: true },
    ];
    let characters = 0;
    const said = new Map<string, string>();
    const waiting = [...listed, ...judged];
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { words, codes, json } = next;
        const name = words.join(' ');
        const { code, said: text } = await lanceCommand(daemon.environment, words);
        assert.ok(codes.includes(code), `${name} ended with ${code}: ${JSON.stringify(text)}`);
        assert.equal(obeyed.exec(text)?.[0].codePointAt(0)?.toString(16), undefined, `${name} prints a control`);
        if (json) for (const line of text.split('\n').filter((each) => each !== '')) JSON.parse(line);
        said.set(name, text);
        characters += text.length;
      }
    };
    await Promise.all([lane(), lane()]);
    assert.match(said.get('bids list') ?? '', new RegExp(requestId));
    // What was sent is still told, as text.
    const shown = ['bids show 700100200', 'events list', 'letters list', 'bids show 700100200 --json'];
    const told = shown.filter((name) => said.get(name)?.includes('\\u001b'));
    assert.ok(told.length > 0, `nothing of what was sent is told: ${JSON.stringify([...said])}`);
    assert.doesNotMatch(daemon.output(), obeyed, 'the log of the desk');
    assert.equal((await daemon.stop()).code, 0);
    return { commands: said.size, characters };
  },
};
