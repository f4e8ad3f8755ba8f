/** What is said of and in the pages that commands write, in Brazilian Portuguese. */

export const pagePt = {
  language: 'pt-BR',
  unwritable: (file: string, why: string) =>
    `${file} não pode ser gravado (${why}); informe o caminho de um arquivo em um diretório que exista.`,
  written: (file: string) => `Página: ${file}`,
  withoutScript: 'Os gráficos precisam de JavaScript; tabelas e textos estão completos sem ele.',
};
