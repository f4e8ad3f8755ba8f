/** O que diz `lance mapping`, em português. */

import { jsonFaultPt } from './fault-texts-pt.ts';

export const mappingPt = {
  help: {
    mapping: 'onde estão os fatos de uma solicitação no webhook',
    try: 'o que um mapeamento faz de uma amostra: cada fato achado e o que não foi lido; não mostra valores',
    file: 'arquivo JSON com uma amostra do webhook de novas solicitações',
    own: 'mapeamento a experimentar; sem ele, o de LANCE_MAPPING ou o que vem junto',
  },
  unreadable: (path: string, why: string) =>
    why === 'ENOENT' ? `Não há o arquivo ${path}.` : `${path} não é um arquivo com JSON. ${jsonFaultPt(why)}`.trimEnd(),
  labels: { event: 'O que é', understood: 'Entendido', elements: 'Elementos', letter: 'Guardado sem ler' },
  element: (pointer: string) => `Elemento em ${pointer}`,
  noRequest: '(nada nele parece uma solicitação de empréstimo)',
  factHeader: ['Fato', 'Lido de', 'Em', 'Tipo', 'Resultado'],
  from: { element: 'o elemento', wrapper: 'o que está em volta' },
  read: 'lido',
  unread: 'Não lido:',
  around: 'Em volta dos elementos, não lido:',
  unreadHeader: ['Chave', 'Tipo', 'As regras o conhecem como'],
  sealedOnly: '– (só no original selado)',
  moreKeys: 'Há mais chaves.',
  moreElements: (count: number) => `Mais ${count} elementos não são mostrados.`,
};
