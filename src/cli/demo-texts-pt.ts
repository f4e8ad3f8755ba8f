/** What `demo` says, in Brazilian Portuguese; the shape is the catalogue's. */

export const demoPt = {
  progress: (open: number, queued: number, sending: number) =>
    `abertas ${open}, na fila ${queued}, enviando ${sending}`,
  labels: {
    requests: 'Solicitações',
    bids: 'Lances',
    ends: 'Ganhos, perdidos',
    passed: 'Sem lance',
    latency: 'Latência',
    surplus: 'Excedente',
    ruleSet: 'Regras',
    auditor: 'Auditor',
  },
  ends: (won: number, lost: number, unsettled: number) => `${won}, ${lost}; em aberto ${unsettled}`,
  latency: (p50: string, p99: string) => `p50 ${p50} ms, p99 ${p99} ms do webhook ao primeiro byte`,
  share: (surplus: string, share: string) => `${surplus}: ${share} do que ganharia quem conhecesse as distribuições`,
  violations: (count: number) => (count === 0 ? 'nenhuma violação' : count === 1 ? '1 violação' : `${count} violações`),
  console: (url: string, token: string, minutes: number) =>
    `Console: ${url}\nToken inicial (vale uma vez, por ${minutes} minutos): ${token}\n`,
  stays: (url: string) => `${url} continua; Ctrl-C encerra.`,
};
