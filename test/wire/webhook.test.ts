/** From bytes to log entries: keys that agree, letters that can be read again, nothing personal in clear, nothing that throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import type { Requested } from '../../src/domain/records.ts';
import { detailsByKey, type LoanRequest } from '../../src/domain/request.ts';
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook, type WebhookReading } from '../../src/wire/webhook.ts';
import { createTestVault } from './vault.ts';

const vault = createTestVault();
const receivedAt = Date.UTC(2026, 10, 21, 13, 30, 1);
const read = readRequestMapping(mappingFile);
assert.equal(read.kind, 'read');
const mapping = (read as { mapping: Parameters<typeof readWebhook>[1]['mapping'] }).mapping;

function reading(body: unknown): WebhookReading {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readWebhook(Buffer.from(text), { mapping, vault, receivedAt, now: receivedAt });
}

function entriesOf(body: unknown) {
  const result = reading(body);
  assert.equal(result.kind, 'entries', JSON.stringify(result));
  return (result as Extract<WebhookReading, { kind: 'entries' }>).entries;
}

function requestOf(body: unknown): LoanRequest {
  const [entry] = entriesOf(body);
  assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
  return wholeOf(entry.record);
}

/** As a decision sees it. */
function wholeOf({ requestId, request, sealed }: Requested): LoanRequest {
  assert.deepEqual(request.extra, {}, 'nobody knows what is in it, so it is not in clear');
  return joinRequest(request, vault.open(sealedPlaces.request(requestId), sealed), vault);
}

const link = { cpf: 1504901002, matricula: 'EMP-0042', inscricaoEmpregador: { codigo: 1 } };
const detailOf = (employer: unknown, matricula = 'EMP-0042') => ({
  CodigoRequisicao: 'c1',
  Endpoint: '/trabalhador/consultar-dados-vinculo',
  Payload: { ...link, matricula, numeroInscricaoEmpregador: employer, valorMargemDisponivel: 100 },
});

test('a margin below zero or with parts of a cent keeps its callback and its request, and is counted', () => {
  for (const [written, cents, adjusted] of [
    ['-35.20', 0, 'negative'],
    ['812.349', 81_234, 'rounded'],
    ['812.34', 81_234, null],
  ] as const) {
    const detail = JSON.stringify(detailOf('12345678')).replace('100}', `${written}}`);
    const result = reading(detail);
    assert(result.kind === 'entries' && result.deadLetters === 0, JSON.stringify(result));
    const [entry] = result.entries;
    assert(entry?.topic === 'callbacks' && entry.record.kind === 'link-detail');
    assert.equal(entry.record.detail.availableMarginCents, cents);
    assert.deepEqual(
      result.faults.map((fault) => [fault.pointer, fault.adjusted]),
      adjusted === null ? [] : [['/Payload/valorMargemDisponivel', adjusted]],
    );
    const asked = reading(`{"numeroSolicitacao":1,"CodigoLote":"l","margemDisponivel":${written}}`);
    assert(asked.kind === 'entries' && asked.entries[0]?.topic === 'auctions');
    assert(asked.entries[0].record.kind === 'requested');
    assert.equal(asked.entries[0].record.request.availableMarginCents, cents);
    assert.deepEqual(
      asked.faults.map((fault) => fault.adjusted),
      adjusted === null ? [] : [adjusted],
    );
  }
});

test('a request whose number is zero names none: it is a letter with its reason, and those beside it go on', () => {
  for (const zero of [0, '0', '000', -0]) {
    const entries = entriesOf([
      { numeroSolicitacao: zero, CodigoLote: 'l' },
      { numeroSolicitacao: 7, CodigoLote: 'l' },
    ]);
    const letters = entries.flatMap((entry) => (entry.topic === 'dead-letters' ? [entry.record] : []));
    assert.deepEqual(
      entries.flatMap((entry) => (entry.topic === 'auctions' ? [entry.key] : [])),
      ['7'],
    );
    assert.equal(letters.length, 1);
    assert.match(JSON.stringify(letters[0]), /is zero, which names no request; send a whole number from 1/);
  }
});

test('a link query that failed, and a list without links, stand under the code of the query', () => {
  const list = '/trabalhadores/listar-autorizados';
  const detail = '/trabalhador/consultar-dados-vinculo';
  const said = [{ Codigo: 'AUT-01', Mensagem: 'a autorização de Fulana expirou' }];
  const cases: [body: object, event: string, endpoint: string, errors: string[]][] = [
    [
      { codigoRequisicao: 'q-1', endpoint: list, payload: { vinculos: [] } },
      'link-list',
      '/trabalhador/listar-autorizados',
      ['no-links'],
    ],
    [
      { codigoRequisicao: 'q-1', endpoint: list, payload: { vinculos: [] }, erros: said },
      'link-list',
      '/trabalhador/listar-autorizados',
      ['AUT-01'],
    ],
    [
      { CodigoRequisicao: 'q-1', Endpoint: '/trabalhador/listar-autorizados', Payload: null, Erros: said },
      'link-list',
      '/trabalhador/listar-autorizados',
      ['AUT-01'],
    ],
    [{ CodigoRequisicao: 'q-1', Endpoint: detail, Payload: null, Erros: said }, 'link-detail', detail, ['AUT-01']],
    [{ CodigoRequisicao: 'q-1', Endpoint: detail, Payload: { Erros: ['x y'] } }, 'link-detail', detail, ['(sealed)']],
  ];
  for (const [body, event, endpoint, errors] of cases) {
    const result = reading(body);
    assert(result.kind === 'entries' && result.event === event, JSON.stringify(result));
    const [entry, ...others] = result.entries;
    assert(entry?.topic === 'callbacks' && entry.record.kind === 'operation-event' && others.length === 0);
    assert.deepEqual([entry.key, entry.record.requestCode, entry.record.endpoint], ['q-1', 'q-1', endpoint]);
    assert.deepEqual(entry.record.errors, errors);
    assert.equal(vault.open(sealedPlaces.callback('q-1'), entry.record.sealed), JSON.stringify(body));
    assert.doesNotMatch(JSON.stringify({ ...entry, record: { ...entry.record, sealed: '' } }), /Fulana/);
  }
  assert.equal(reading({ endpoint: list, payload: { vinculos: [] } }).kind, 'dead-letter');
});

test('a link detail that says a key twice is a letter, and whoever waits for it is told', () => {
  const body =
    '{"CodigoRequisicao":"q-1","Endpoint":"/trabalhador/consultar-dados-vinculo","Payload":{"elegivel":true,"elegivel":false}}';
  const result = reading(body);
  assert(result.kind === 'entries' && result.deadLetters === 1, JSON.stringify(result));
  const [letter, told] = result.entries;
  assert.equal(letter?.topic, 'dead-letters');
  assert(told?.topic === 'callbacks' && told.record.kind === 'operation-event' && told.record.unread);
});

const endOf = (requestId: string, lances: readonly unknown[]) => ({
  Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
  Payload: {
    CodigoLote: 'L1',
    DataHoraInicioLeilao: '2026-11-21T10:30:00',
    DataHoraFimLeilao: '2026-11-21T10:30:30',
    Solicitacoes: [{ NumeroSolicitacao: requestId, Lances: lances }],
  },
});
const lance = (id: string, change: object = {}) => ({
  ...{ CodigoLanceLeilao: id, TaxaDeJurosMensal: 2.5, ValorLiberado: 6500, NumeroParcelas: 24, Posicao: 1 },
  ...{ DataHoraInclusao: '2026-11-21T10:30:05', ...change },
});
const contemplatedOf = (code: string) => ({
  CodigoRequisicao: code,
  Endpoint: '/contrato/oferta-leilao/incluir-lance',
  Payload: { Conteudo: { Mensagem: 'ok' }, Erros: [] },
});

test('codes that are GUIDs mean the same in capitals, and are kept in small letters', () => {
  const code = '4092D844-5A1B-4C3D-9E8F-0A1B2C3D4E5F';
  const keysOf = (body: unknown) => {
    const result = reading(body);
    assert(result.kind === 'entries', JSON.stringify(result));
    return result.entries.map(({ key, record }) =>
      'kind' in record && record.kind === 'ended' ? record.bids.map(({ bidId }) => bidId) : key,
    );
  };
  assert.deepEqual(keysOf(endOf('1', [lance(code), lance('Other-Code')])), [[code.toLowerCase(), 'Other-Code']]);
  assert.deepEqual(keysOf(contemplatedOf(code)), [code.toLowerCase()]);
  const note = { NumeroCCB: '1', ValorEmprestimo: 10, ValorParcela: 1, ValorTaxaMensal: 1, CodigoProposta: code };
  const endpoint = '/oferta-leilao/gerar-contrato';
  assert.deepEqual(keysOf({ CodigoRequisicao: code, Endpoint: endpoint, Payload: note }), [code.toLowerCase()]);
});

test('a list of bids that is null is empty: nobody bid', () => {
  const result = reading(endOf('1', null as unknown as unknown[]));
  assert(result.kind === 'entries' && result.deadLetters === 0, JSON.stringify(result));
  const [entry] = result.entries;
  assert(entry?.topic === 'auctions' && entry.record.kind === 'ended');
  assert.deepEqual(entry.record.bids, []);
});

test('what is wrong about the bids of a request is said of the bid, and of a list that is none what it is', () => {
  const cases: [bids: unknown, pointer: string, problem: RegExp][] = [
    ['nobody', '/Payload/Solicitacoes/0/Lances', /expected array, received string/],
    [undefined, '/Payload/Solicitacoes/0/Lances', /expected array, received undefined/],
    [[lance('b', { Posicao: 'x' })], '/Payload/Solicitacoes/0/Lances/0/Posicao', /cannot be used/],
  ];
  for (const [bids, pointer, problem] of cases) {
    const result = reading(endOf('1', bids as unknown[]));
    const faults = result.kind === 'entries' ? result.faults : [];
    assert.deepEqual(
      faults.map((fault) => fault.pointer),
      [pointer],
      JSON.stringify(result),
    );
    assert.match(faults[0]!.problem, problem);
  }
});

test('events in a list or inside of an object of somebody are read as if they came alone', () => {
  const kindsOf = (body: unknown) => {
    const result = reading(body);
    assert(result.kind === 'entries' && result.deadLetters === 0, JSON.stringify(result));
    return result.entries.map(({ topic, key, record }) => `${topic} ${key} ${'kind' in record ? record.kind : ''}`);
  };
  const end = endOf('1', [lance('a')]);
  const request = { numeroSolicitacao: 7, CodigoLote: 'L2', margemDisponivel: 10 };
  assert.deepEqual(kindsOf([end]), ['auctions 1 ended']);
  assert.deepEqual(kindsOf([end, endOf('2', [])]), ['auctions 1 ended', 'auctions 2 ended']);
  assert.deepEqual(kindsOf({ id: 'x', data: end }), ['auctions 1 ended']);
  assert.deepEqual(kindsOf({ body: { event: [contemplatedOf('c')] } }), ['callbacks c contemplated']);
  assert.deepEqual(kindsOf([{ data: contemplatedOf('c') }]), ['callbacks c contemplated']);
  assert.deepEqual(kindsOf([end, request]), ['auctions 1 ended', 'auctions 7 requested']);
  assert.deepEqual(kindsOf([request]), ['auctions 7 requested']);
  const mixed = reading([end, { ...contemplatedOf('c'), CodigoRequisicao: null }]);
  assert(mixed.kind === 'entries' && mixed.deadLetters === 1);
  assert.deepEqual(
    mixed.entries.map(({ topic }) => topic),
    ['auctions', 'dead-letters'],
  );
});

test('records carry the settings that their fold needs: the window where no end is named, and the half-life', () => {
  const terms = { windowMs: 45_000, halfLifeMs: 86_400_000 };
  const request = { numeroSolicitacao: 7, CodigoLote: 'L2', margemDisponivel: 10 };
  const text = JSON.stringify([endOf('1', [lance('a')]), request]);
  const read = (own: Partial<Parameters<typeof readWebhook>[1]>) => {
    const result = readWebhook(text, { mapping, vault, receivedAt, now: receivedAt, ...own });
    assert(result.kind === 'entries');
    return result.entries.map(({ record }) => {
      assert('kind' in record);
      if (record.kind === 'requested') return { closesAt: record.request.closesAt, windowMs: record.windowMs };
      return { halfLifeMs: record.kind === 'ended' ? record.halfLifeMs : null };
    });
  };
  assert.deepEqual(read({ terms }), [{ halfLifeMs: 86_400_000 }, { closesAt: null, windowMs: 45_000 }]);
  // Where nothing is stored, nothing is said of it.
  assert.deepEqual(read({}), [{ halfLifeMs: undefined }, { closesAt: null, windowMs: undefined }]);
});

test('a bid of somebody that cannot be read is left out and counted; the other bids of the request count', () => {
  const result = reading(endOf('1', [lance('odd', { TaxaDeJurosMensal: '2,5' }), lance('ours', { Posicao: 2 }), 7]));
  assert(result.kind === 'entries' && result.deadLetters === 0, JSON.stringify(result));
  const [entry, ...others] = result.entries;
  assert(entry?.topic === 'auctions' && entry.record.kind === 'ended' && others.length === 0);
  assert.deepEqual(
    entry.record.bids.map(({ bidId, position }) => [bidId, position]),
    [['ours', 2]],
  );
  assert.deepEqual(
    result.faults.map(({ pointer }) => pointer),
    ['/Payload/Solicitacoes/0/Lances/0/TaxaDeJurosMensal', '/Payload/Solicitacoes/0/Lances/2'],
  );
});

test('an amount of a published bid finer than a cent is rounded, and its bid counts', () => {
  const bids = [4500.505, 1234.5600000000002, 0.001].map((amount, index) =>
    lance(`b${index}`, { ValorLiberado: amount }),
  );
  const result = reading(endOf('1', bids));
  assert(result.kind === 'entries' && result.deadLetters === 0 && result.faults.length === 0, JSON.stringify(result));
  const [entry] = result.entries;
  assert(entry?.topic === 'auctions' && entry.record.kind === 'ended');
  assert.deepEqual(
    entry.record.bids.map(({ amountCents }) => amountCents),
    [450_051, 123_456, 0],
  );
});

test('a request and the callbacks about it give the same keys, however the employer is written', () => {
  const forms = [1234567000195, '01234567000195', '01.234.567/0001-95', 1234567, '01234567'];
  const keys = forms.flatMap((employer) => {
    const request = requestOf({
      numeroSolicitacao: 1,
      ...link,
      cpf: '015.049.010-02',
      numeroInscricaoEmpregador: employer,
    });
    const [detail] = entriesOf(detailOf(employer, ' EMP-0042 '));
    const [list] = entriesOf({
      codigoRequisicao: 'c1',
      endpoint: '/trabalhadores/listar-autorizados',
      payload: { vinculos: [{ ...link, numeroInscricaoEmpregador: employer }] },
    });
    assert.ok(detail?.topic === 'callbacks' && detail.record.kind === 'link-detail');
    assert.ok(list?.topic === 'callbacks' && list.record.kind === 'link-list');
    assert.equal(request.workerKey, detail.key);
    assert.equal(request.workerKey, list.key);
    return [request.linkKey, detail.record.detail.linkKey, list.record.links[0]!.linkKey];
  });
  assert.deepEqual([...new Set(keys)].length, 1);
  const [other] = entriesOf(detailOf('98765432'));
  assert.ok(other?.topic === 'callbacks' && other.record.kind === 'link-detail');
  assert.notEqual(other.record.detail.linkKey, keys[0]);
});

test('a detail whose employer came without its zeros stands under the key of the whole CNPJ that was sent as well', () => {
  for (const [sent, came] of [
    ['00000000000191', 191],
    ['00000000000272', 272],
    ['00000000', 191],
  ] as const) {
    const request = requestOf([{ numeroSolicitacao: 1, ...link, numeroInscricaoEmpregador: sent }]);
    const [detail] = entriesOf(detailOf(came));
    assert.ok(detail?.topic === 'callbacks' && detail.record.kind === 'link-detail');
    const keys = detailsByKey(detail.record).map(({ linkKey }) => linkKey);
    assert.equal(keys.length, 2);
    assert.ok(keys.includes(request.linkKey!), `${sent} and ${came}`);
  }
  const [plain] = entriesOf(detailOf(12345));
  assert.ok(plain?.topic === 'callbacks' && plain.record.kind === 'link-detail');
  assert.equal(detailsByKey(plain.record).length, 1);
});

test('the sealed part opens to the identity and the raw element, and the same element has the same hash', () => {
  const element = { numeroSolicitacao: 1, ...link, nomeTrabalhador: 'Fulana', numeroInscricaoEmpregador: '12ABC345' };
  const [first, second] = [entriesOf([element])[0]!, entriesOf({ Payload: [element] })[0]!];
  assert.ok(first.topic === 'auctions' && first.record.kind === 'requested');
  assert.ok(second.topic === 'auctions' && second.record.kind === 'requested');
  assert.deepEqual(JSON.parse(vault.open(sealedPlaces.request('1'), first.record.sealed)), {
    identity: {
      cpf: '01504901002',
      name: 'Fulana',
      registration: 'EMP-0042',
      employerId: '12ABC345',
      employerIdType: 1,
    },
    raw: element,
  });
  assert.equal(first.record.rawHash, second.record.rawHash);
});

test('a dead letter read again gives the same request with its wrapper once it is mended', () => {
  const bad = { numeroSolicitacao: 7, DataHoraFimLeilao: 'logo', valorLiberado: 10 };
  const body = { CodigoLote: 'L', Payload: { Solicitacoes: [{ numeroSolicitacao: 6 }, bad], outro: 1 } };
  const letter = entriesOf(body).find((entry) => entry.topic === 'dead-letters');
  assert.ok(letter?.topic === 'dead-letters');
  assert.equal(letter.record.receivedAt, receivedAt);
  const payload = vault.open(sealedPlaces.letter(letter.key), letter.record.sealedPayload);
  assert.deepEqual(JSON.parse(payload), { CodigoLote: 'L', Payload: { Solicitacoes: [bad], outro: 1 } });
  const mended = requestOf(payload.replace('logo', '2026-11-21T10:31:00'));
  assert.equal(mended.batchId, 'L');
  assert.equal(mended.requestId, '7');
});

test('a wrapper gives its requests the batch and the deadline, not its id and not its person', () => {
  const request = requestOf({
    id: 999,
    cpf: 1504901002,
    valorLiberado: 5,
    CodigoLote: 'L',
    DataHoraFimLeilao: '2026-11-21T10:30:30',
    regiao: 'SUL',
    Solicitacoes: [{ numeroSolicitacao: 1 }],
  });
  assert.equal(request.requestId, '1');
  assert.equal(request.batchId, 'L');
  assert.equal(request.closesAt, Date.UTC(2026, 10, 21, 13, 30, 30));
  assert.equal(request.workerKey, null);
  assert.equal(request.requestedAmountCents, null);
  assert.deepEqual(request.extra, { regiao: 'SUL' });
  assert.equal(reading({ id: 999, evento: 'x', data: { valor: 1 } }).kind, 'dead-letter');
});

test('nothing personal becomes an extra fact, and there are at most 100', () => {
  const person = {
    nomeMae: 'Beltrana',
    Telefone1: '1190000',
    e_mail: 'a@b',
    cpfConjuge: '1',
    dadosPessoais: { NOME: 'x', 'data-nascimento': '1' },
  };
  const hidden = {
    protocolo: '915.825.754-36',
    codigo: 91582575436,
    aviso: 'CPF 91582575436 com restrição',
    contatoPrincipal: 'x@y.example',
  };
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`campo${index}`, index]));
  const request = requestOf({
    numeroSolicitacao: 1,
    ...person,
    ...hidden,
    cargo: 'Vendedor',
    __proto__: { x: 1 },
    ...many,
  });
  assert.equal(Object.keys(request.extra).length, 100);
  assert.equal(request.extra.cargo, 'Vendedor');
  assert.doesNotMatch(JSON.stringify(request), /Beltrana|1190000|9158|915\.8|@/);
});

test('a key is personal by its words, not by parts of them (issue 20, line 3)', () => {
  const harmless = {
    ...{ valorDescontado: 1, descontado: 2, episodio: 3, contagemFaltas: 4, agenciamento: 5, cargo: 6, mailing: 7 },
    ...{ documentacaoCompleta: 8, apisAtivas: 9, nomenclatura: 10, orgao: 11, pixelado: 12, TOTAL_DESCONTOS: 13 },
  };
  const personal = {
    ...{ conta: 1, contaCorrente: 1, numeroconta: 1, NUMEROCONTA2: 1, agencia: 1, pis: 1, nrPis: 1, chavePix: 1 },
    ...{ nomecompleto: 'x', nomeDaMae: 'x', firstname: 'x', full_name: 'x', emailPessoal: 'x', telefones: 'x' },
    ...{ 'dt-nascimento': 'x', RG: 1, numerorg: 1, xcpfx: 1, telefone2: 'x', contas: 1, documento: 'x', 'e-mail': 'x' },
  };
  const { extra } = requestOf({ numeroSolicitacao: 1, ...harmless, ...personal });
  assert.deepEqual(Object.keys(extra).sort(), Object.keys(harmless).sort());
});

test('planted CPFs and names are nowhere in clear', () => {
  const planted = {
    ...link,
    cpf: 91582575436,
    nomeTrabalhador: 'Fulana Plantada',
    nome: 'Fulana Plantada',
    nomeMae: 'Beltrana Plantada',
    numeroInscricaoEmpregador: 12345678,
  };
  const bodies = [
    {
      CodigoLote: 'L',
      Solicitacoes: [
        { numeroSolicitacao: 1, ...planted },
        { numeroSolicitacao: 2, ...planted, closes: 1, DataHoraFimLeilao: '91582575436' },
        planted,
        'Fulana Plantada 91582575436',
      ],
    },
    {
      codigoRequisicao: 'c',
      endpoint: '/trabalhador/listar-autorizados',
      payload: { vinculos: [planted, { ...planted, matricula: null }] },
    },
    { ...detailOf(12345678), Payload: { ...detailOf(12345678).Payload, ...planted } },
    {
      ...detailOf(12345678),
      Payload: { ...detailOf(12345678).Payload, ...planted, valorMargemDisponivel: 'Fulana Plantada' },
    },
    {
      CodigoRequisicao: 'c',
      Endpoint: '/contrato/oferta-leilao/incluir-lance',
      Payload: { Conteudo: { Mensagem: 'para 91582575436' }, Erros: ['915.825.754-36'] },
    },
    { aviso: 'Fulana Plantada', cpf: 91582575436 },
    { 'Fulana Plantada': 91582575436, numeroSolicitacao: 'Fulana Plantada' },
  ];
  for (const body of bodies) {
    const shown = JSON.stringify(reading(body));
    // Extra facts keep key names; a name as a key is nobody's shape, and only in a dead letter here.
    assert.doesNotMatch(shown, /91582575436|915\.825|Plantada/, JSON.stringify(body).slice(0, 60));
  }
});

test('no JSON whatsoever throws or invents a request', () => {
  const keys = fc.constantFrom(
    'Payload',
    'data',
    'Solicitacoes',
    'Endpoint',
    'conteudo',
    'vinculos',
    'Lances',
    'id',
    'numeroSolicitacao',
    'garantia',
    'alertas',
    'cpf',
    'valorLiberado',
    '__proto__',
    'x',
  );
  const ends = fc.constantFrom(
    '/trabalhador/listar-autorizados',
    '/trabalhador/consultar-dados-vinculo',
    '/contrato/oferta-leilao/incluir-lance',
    '/contrato/oferta-leilao/fim-lote-solicitacoes',
  );
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), ends),
    tree: fc.oneof(
      { depthSize: 'medium' },
      tie('leaf'),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(keys, tie('tree'), { maxKeys: 6 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (body) => {
      const text = JSON.stringify(body) ?? 'null';
      const result = reading(text);
      assert.notEqual(result.kind, 'malformed');
      if (result.kind === 'dead-letter') assert.doesNotMatch(result.reason, /defect of Lance/);
      if (result.kind !== 'entries') return;
      for (const entry of result.entries) {
        if (entry.topic !== 'auctions' || entry.record.kind !== 'requested') continue;
        assert.match(entry.record.requestId, /^\d+$/);
        const { requestedAmountCents: amount, requestedInstallments: term } = entry.record.request;
        assert.ok(amount === null || (Number.isSafeInteger(amount) && amount >= 0));
        assert.ok(term === null || (Number.isSafeInteger(term) && term >= 1));
      }
    }),
    { numRuns: 1_500 },
  );
});

test('a batch of 100 requests is read fast', (context) => {
  const one = {
    ...link,
    valorLiberado: 1234.56,
    nroParcelas: 24,
    dataHoraValidadeSolicitacao: '22112026100000',
    nomeTrabalhador: 'Fulana',
    dataNascimento: '01021990',
    margemDisponivel: 500.5,
    garantia: { temGarantias: true, valorSaldoDisponivelGarantiaFgts: 100 },
    alertas: [],
    numeroInscricaoEmpregador: 12345678000195,
  };
  const body = Buffer.from(
    JSON.stringify({
      CodigoLote: 'L',
      Solicitacoes: Array.from({ length: 100 }, (_, index) => ({ numeroSolicitacao: index + 1, ...one })),
    }),
  );
  const durations = Array.from({ length: 150 }, () => {
    const start = performance.now();
    readWebhook(body, { mapping, vault, receivedAt, now: receivedAt });
    return performance.now() - start;
  }).sort((left, right) => left - right);
  context.diagnostic(
    `figure: webhook of 100 requests read in ${durations[15]!.toFixed(2)} ms (p10), ${durations[75]!.toFixed(2)} ms (median)`,
  );
  assert.ok(durations[15]! < 12, 'four times what it should take: something is not linear');
});

test('how many values a list has is a fact, and stands before them: one that is cut short is known to be', () => {
  const extraOf = (fields: Record<string, unknown>) => requestOf({ numeroSolicitacao: 1, ...fields }).extra;
  assert.deepEqual(extraOf({ contratos: [{ saldo: 1 }, { saldo: 2.5 }], vazia: [] }), {
    'contratos.length': 2,
    'contratos.0.saldo': 1,
    'contratos.1.saldo': 2.5,
    'vazia.length': 0,
  });
  const long = extraOf({ contratos: Array.from({ length: 200 }, () => 1) });
  assert.deepEqual([Object.keys(long).length, long['contratos.length']], [100, 200]);
  assert.ok(!('contratos.99' in long));
});

test('only a list has a length: a key of that name in an object is no fact, and what stands in place of a list ends it', () => {
  const extraOf = (fields: object, wrapper: object = {}) =>
    requestOf({ CodigoLote: 'L', ...wrapper, Solicitacoes: [{ numeroSolicitacao: 1, ...fields }] }).extra;
  assert.deepEqual(extraOf({ veiculo: { length: 0, marca: 'x' } }), { 'veiculo.marca': 'x' });
  assert.deepEqual(extraOf({ veiculo: { length: '3', partes: { length: 2 } } }), {});
  assert.deepEqual(extraOf({ 'veiculo.length': 0, 'a.b.length': 1 }), {});
  assert.deepEqual(extraOf({ length: 4, veiculo: { length: [7] } }), {
    ...{ length: 4, 'veiculo.length.length': 1, 'veiculo.length.0': 7 },
  });
  const outer = { dividas: [10, 20] };
  assert.deepEqual(extraOf({}, outer), { 'dividas.length': 2, 'dividas.0': 10, 'dividas.1': 20 });
  assert.deepEqual(extraOf({ dividas: { 0: 99 } }, outer), { 'dividas.0': 99 });
  assert.deepEqual(extraOf({ dividas: null }, outer), { dividas: null });
  assert.deepEqual(extraOf({ dividas: 3 }, outer), { dividas: 3 });
});

test('scores are read where the mapping file names them, and are no extra facts then', () => {
  const withScores = readRequestMapping({ ...mappingFile, scores: { bureau: ['scoreBureau', 'analise.score'] } });
  assert.ok(withScores.kind === 'read');
  const scoresOf = (change: object) => {
    const body = JSON.stringify([{ numeroSolicitacao: 1, valorLiberado: 100, ...change }]);
    const reading = readWebhook(Buffer.from(body), { mapping: withScores.mapping, vault, receivedAt: 0, now: 0 });
    assert.ok(reading.kind === 'entries', JSON.stringify(reading));
    const [entry] = reading.entries;
    assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
    const { scores, extra } = wholeOf(entry.record);
    return { scores, extra };
  };
  assert.deepEqual(scoresOf({ scoreBureau: 640 }), { scores: { bureau: 640 }, extra: {} });
  assert.deepEqual(scoresOf({ analise: { score: '12.5' } }), { scores: { bureau: 12.5 }, extra: {} });
  assert.deepEqual(scoresOf({ scoreBureau: 'good' }), { scores: {}, extra: {} });
  assert.deepEqual(scoresOf({}), { scores: {}, extra: {} });
  assert.equal(readRequestMapping({ ...mappingFile, scores: { 'a b': ['x'] } }).kind, 'refused');
});

const keys = (count: number): string => Array.from({ length: count }, (_, index) => `"campo${index}":${index}`).join();

test('an object with more keys than anybody sends is a letter with a reason of its own, and is hardly read', () => {
  const body = `{"CodigoLote":"L","Solicitacoes":[{"numeroSolicitacao":1,"outro":{${keys(200_000)}}}]}`;
  const startedAt = process.cpuUsage();
  const result = reading(body);
  const { user, system } = process.cpuUsage(startedAt);
  assert.ok(result.kind === 'dead-letter', result.kind);
  assert.equal(
    result.reason,
    'an object in it has more than the 10000 keys allowed; send it without them, or in parts',
  );
  assert.ok(result.letter.topic === 'dead-letters');
  const { key, record } = result.letter;
  assert.equal(vault.open(sealedPlaces.letter(key), record.sealedPayload), body);
  assert.ok((user + system) / 1_000 < 500, `it took ${(user + system) / 1_000} ms`);
});

test('a request with more keys and list items than it may have is unusable; those beside it are read', () => {
  const many = { numeroSolicitacao: 2, a: [[{ b: Array(2_000).fill(1) }]] };
  const wide = JSON.parse(`{"numeroSolicitacao":3,"c":{${keys(2_000)}}}`);
  const full = JSON.parse(`{"numeroSolicitacao":4,${keys(1_999)}}`);
  const entries = entriesOf({ CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: 1 }, many, wide, full] });
  const ends = entries.flatMap(({ topic, key, record }) =>
    topic === 'auctions' && record.kind === 'passed' ? [[key, record.code, record.reasons[0]?.text]] : [],
  );
  const problem = 'holds more than the 2000 keys and list items that one request may have; send it without them';
  assert.deepEqual(ends, [
    ['2', 'request-unusable', `/Solicitacoes/1 ${problem}`],
    ['3', 'request-unusable', `/Solicitacoes/2 ${problem}`],
  ]);
  const read = entries.filter(({ topic, record }) => topic === 'auctions' && record.kind === 'requested');
  assert.deepEqual(
    read.map(({ key }) => key),
    ['1', '4'],
  );
  assert.equal(entries.filter(({ topic }) => topic === 'dead-letters').length, 2);
});

test('an unreadable copy does not end a request that can be read in the same batch; it is a letter all the same', () => {
  const bad = { numeroSolicitacao: 7, DataHoraFimLeilao: 'logo' };
  for (const Solicitacoes of [
    [bad, { numeroSolicitacao: 7 }],
    [{ numeroSolicitacao: '7' }, bad],
  ]) {
    const entries = entriesOf({ CodigoLote: 'L', Solicitacoes });
    const kinds = entries.map(({ topic, record }) => (topic === 'auctions' ? record.kind : topic)).sort();
    assert.deepEqual(kinds, ['dead-letters', 'requested']);
  }
  const [, alone] = entriesOf({ CodigoLote: 'L', Solicitacoes: [bad] });
  assert.ok(alone?.topic === 'auctions' && alone.record.kind === 'passed' && alone.record.unread);
});

test('an amount that may be a thousand times as much is no amount, and is named', () => {
  const result = reading({ numeroSolicitacao: 1, CodigoLote: 'l', valorLiberado: '15.640' });
  assert(result.kind === 'entries' && result.entries[0]?.topic === 'auctions');
  assert(result.entries[0].record.kind === 'requested');
  assert.equal(result.entries[0].record.request.requestedAmountCents, null);
  assert.deepEqual(
    result.faults.map(({ pointer }) => pointer),
    ['/valorLiberado'],
  );
});
