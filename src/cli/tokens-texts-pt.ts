/** What the `tokens` commands say, in Portuguese. */

export const tokensPt = {
  help: {
    tokens: 'tokens da API: criar, listar, revogar',
    create: 'cria um token, que é mostrado uma única vez',
    list: 'de quem é cada token e cada sessão, até quando vale, quem o criou',
    revoke: 'revoga um token ou encerra uma sessão: em 5 segundos nenhum processo o aceita',
    owner: 'de quem será: um só nome por pessoa, em todos os seus tokens, pois é ele que os quatro olhos comparam',
    ownerForm: 'escreva letras, dígitos, . _ @ e -, no máximo 60, e não local',
    role: 'o que pode fazer',
    days: 'por quantos dias vale',
    daysRange: (most: number) => `escreva um número inteiro de 1 a ${most}`,
    id: 'identificação que lance tokens list mostra',
  },
  header: ['token', 'dono', 'papel', 'criado em', 'por', 'vale até', 'revogado'],
  none: 'Nenhum token foi criado.',
  notHere: 'Os tokens de LANCE_API_TOKENS não estão nesta lista: são revogados ali, com um reinício.',
  created: (id: string, owner: string, role: string, until: string) =>
    `Token ${id} de ${owner} (${role}), vale até ${until}. Guarde-o agora: não será mostrado de novo.`,
  session: 'sessão',
  expired: 'expirado',
  revokedBy: (by: string, at: string) => `${at}, por ${by}`,
  revoked: (id: string, owner: string) => `Token ${id} de ${owner} revogado: em 5 segundos nenhum processo o aceita.`,
  revokedBefore: (id: string, owner: string) => `O token ${id} de ${owner} já estava revogado.`,
  unknown: (id: string) =>
    `Nenhum token tem a identificação ${id}: lance tokens list mostra os que foram criados. Um de LANCE_API_TOKENS sai daquela variável, e um reinício o revoga.`,
};
