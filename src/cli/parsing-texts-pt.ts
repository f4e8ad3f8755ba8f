/** The parser of the command line writes English; its sentences in Portuguese. What is not known stays as it is. */

const sentences: readonly (readonly [english: RegExp, portuguese: string])[] = [
  [/^error: /, 'erro: '],
  [/missing required argument '(.*)'/, "falta o argumento '$1'"],
  [/required option '(.*)' not specified/, "falta a opção obrigatória '$1'"],
  [/option '(.*)' argument missing/, "falta o valor da opção '$1'"],
  [/option '(.*)' argument '(.*)' is invalid\./, "o valor '$2' da opção '$1' não serve:"],
  [/command-argument value '(.*)' is invalid for argument '(.*)'\./, "o valor '$1' do argumento '$2' não serve:"],
  [/Allowed choices are (.*)\.$/m, 'escreva um destes: $1.'],
  [/option '(.*)' cannot be used with option '(.*)'/, "a opção '$1' não pode ser usada com '$2'"],
  [/unknown option '(.*)'/, "opção desconhecida '$1'"],
  [/unknown command '(.*)'/, "comando desconhecido '$1'"],
  [
    /too many arguments(?: for '(.*)')?\. Expected (\d+) arguments? but got (\d+): /,
    'argumentos demais ($3 em vez de $2): ',
  ],
  [/\(Did you mean one of (.*)\?\)/, '(seria um destes: $1?)'],
  [/\(Did you mean (.*)\?\)/, '(seria $1?)'],
];

export const parsingPt = {
  error: (text: string) => sentences.reduce((said, [english, portuguese]) => said.replace(english, portuguese), text),
  /** What the help says beside an option: its choices and its default. */
  beside: (text: string) =>
    text.replace(/\((?:choices|default): .*\)$/, (found) =>
      found.replace('choices: ', 'opções: ').replace('default: ', 'padrão: '),
    ),
  usage: (text: string) => text.replace('[options]', '[opções]').replace('[command]', '[comando]'),
};
