/** What `learn` says, in Brazilian Portuguese; the shape is the catalogue's. */

export const learnPt = {
  reading: 'lendo',
  progress: 'aprendendo',
  unreadable: (file: string, why: string) =>
    `${file} não pode ser lido (${why}); informe o caminho de um arquivo NDJSON.`,
  badLine: (file: string, line: number, field: 'line' | 'rates' | 'segment') =>
    `${file}, linha ${line}: ${field === 'line' ? 'não é um objeto JSON' : `"${field}" não serve`}; escreva {"id": "…", "segment": {"nome": "valor"}, "rates": [números]}.`,
  tooFew: (count: number, least: number) => `O arquivo tem ${count} leilões; são necessários ao menos ${least}.`,
  header: ['equilíbrio', 'leilões', 'média', '5 %', 'histograma', '5 %'],
  liveHeader: ['equilíbrio', 'ao vivo', 'histograma', 'com segmentos', 'margem fixa'],
  regimesHeader: ['equilíbrio', 'ao vivo', 'histograma'],
  shifted: (shifts: readonly number[], orders: number) =>
    `O mesmo ao vivo, com as taxas deslocadas em ${shifts.join(', ')} centésimos em partes iguais do arquivo; média de ${orders} ordens.`,
  about: (count: number) =>
    `Parte do excedente que ganharia quem conhecesse a distribuição; ${count} leilões no arquivo. Entre parênteses: os 90 % centrais de sorteios ou lotes reamostrados.`,
};
