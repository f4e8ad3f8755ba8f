/**
 * What is wrong with rule files is written in English, for programs and the log read it too; its sentences in Portuguese, by the English
 * ones. `{name}` stands for what the sentence names: `{what}`, `{shown}`, `{unit}`, `{hint}`, `{remedy}` and `{kind}` are said in
 * Portuguese as well, all others stay as they are.
 */
import { jsonFaultPt } from './fault-texts-pt.ts';

/** What a sentence is about, and what it asks to be written instead. */
export const ruleFaultWords: Readonly<Record<string, string>> = {
  'A bin': 'Uma faixa (bin)',
  'A cap': 'Um teto (cap)',
  'A characteristic': 'Uma característica',
  'A column': 'Uma coluna',
  'A computed fact': 'Um fato calculado',
  'A condition': 'Uma condição',
  'A day': 'Um dia',
  'A dimension': 'Uma dimensão',
  'A fact': 'Um fato',
  'A fact as value': 'Um fato como valor',
  'A limit': 'Um limite (limit)',
  'A list': 'Uma lista',
  'A named condition': 'Uma condição com nome',
  'A pass': 'Uma recusa (pass)',
  'A range': 'Um intervalo',
  'A review': 'Uma revisão (review)',
  'A row': 'Uma linha',
  'A rule': 'Uma regra',
  'A rule file': 'Um arquivo de regras',
  'A scorecard': 'Um scorecard',
  'A segment': 'Um segmento (segment)',
  'A strategy': 'Uma estratégia (strategy)',
  'A table': 'Uma tabela',
  'A test': 'Um teste',
  'A test file': 'Um arquivo de testes',
  'A source': 'Uma fonte',
  'A value table': 'Uma tabela de valores',
  'A window': 'Uma janela',
  'An economics change': 'Uma mudança de economics',
  'An economics event': 'Um evento economics',
  'An event': 'Um evento',
  'An experiment': 'Um experimento (experiment)',
  'The code': 'O código',
  'The description': 'A descrição',
  'The economics': 'Os valores de economics',
  'The event': 'O evento',
  'The fact': 'O fato',
  'The inputs': 'As entradas',
  'The endpoint': 'O endpoint',
  'What holds otherwise': 'O que vale sem resposta',
  'The key': 'A chave',
  'The limits': 'Os limites',
  'The meaning': 'O significado',
  'The name': 'O nome',
  'The name of a band': 'O nome de uma classe (band)',
  'The name of a holiday': 'O nome de um feriado',
  'The name of the condition': 'O nome da condição',
  'The outputs': 'As saídas',
  'The owner': 'O responsável (owner)',
  'The reason': 'O motivo',
  'The text in English': 'O texto em inglês',
  'The text in Portuguese': 'O texto em português',
  'What a worker is told': 'O que se diz ao trabalhador',
  'What is expected': 'O que se espera',
  'unknown ("unknown" makes the score unknown)': 'unknown ("unknown" torna o score indefinido)',
  'a fact that is a number': 'um fato que é um número',
  '"daysBetween" or "monthsBetween"': '"daysBetween" ou "monthsBetween"',
  '"window": "day" and maxAmountReais': '"window": "day" e maxAmountReais',
  'a list of texts': 'uma lista de textos',
  'true or false': 'true ou false',
  'a number': 'um número',
  'a text': 'um texto',
  'a list': 'uma lista',
  'an object': 'um objeto',
  'a null': 'null',
  'a boolean': 'um valor lógico',
  'a whole number': 'um número inteiro',
  'another value': 'outro valor',
  'its key': 'a chave dela',
  'the file is empty': 'o arquivo está vazio',
  'higher wins': 'o maior vence',
  'of the conditions': 'das condições',
  'write 1 to 10 ascending numbers, like [12, 36]': 'escreva de 1 a 10 números crescentes, como [12, 36]',
  'write the pseudonym of 43 characters, never a CPF; "lance rules import" makes it':
    'escreva o pseudônimo de 43 caracteres, nunca um CPF; "lance rules import" o faz',
  'write a CNPJ (14 characters, no dots), its first 8 for all branches, or a pseudonym of 43':
    'escreva um CNPJ (14 caracteres, sem pontos), os 8 primeiros para todas as filiais, ou um pseudônimo de 43',
  'write a CNAE division (2 digits), group (3), class (5) or subclass (7) in quotes, like "4711302"':
    'escreva uma divisão (2 dígitos), grupo (3), classe (5) ou subclasse (7) da CNAE entre aspas, como "4711302"',
  'write the fact of the catalogue that holds the value, or compute one in facts.json':
    'escreva o fato do catálogo que tem o valor, ou calcule um em facts.json',
  // Units of facts, where nobody has to write them
  'R$ a month': 'R$ por mês',
  'R$, value of the loan if it is released': 'R$, valor do empréstimo se for liberado',
  points: 'pontos',
  months: 'meses',
  years: 'anos',
  minutes: 'minutos',
  hours: 'horas',
  days: 'dias',
  bids: 'lances',
  auctions: 'leilões',
  loans: 'empréstimos',
  alerts: 'alertas',
  code: 'código',
  number: 'número',
  'eSocial category': 'categoria do eSocial',
  'hour of the day in São Paulo': 'hora do dia em São Paulo',
  '1 = Monday … 7 = Sunday': '1 = segunda … 7 = domingo',
  'mean place of our bids, 1 = best': 'posição média dos nossos lances, 1 = melhor',
  'share of our auctions, the latest weighing most': 'parte dos nossos leilões, os últimos pesam mais',
  'share of the available margin': 'parte da margem disponível',
  '% a month': '% ao mês',
  '% a year': '% ao ano',
  '% a month above break-even': '% ao mês acima do ponto de equilíbrio',
  '% of the amount': '% do valor',
  '% of interest less funding': '% dos juros menos a captação',
  '% a year of what is outstanding': '% ao ano do saldo devedor',
  'share of the margin, 0.9 is 90 %': 'parte da margem, 0.9 é 90 %',
  'share of the workers, 0.1 is 10 %': 'parte dos trabalhadores, 0.1 é 10 %',
  'share, 0.6 is 60 %': 'parte, 0.6 é 60 %',
  'share of links a month, 0.02 is 2 %': 'parte dos vínculos por mês, 0.02 é 2 %',
  'share of running loans a month, 0.02 is 2 %': 'parte dos empréstimos em curso por mês, 0.02 é 2 %',
  'installments more or fewer than asked': 'parcelas a mais ou a menos que o pedido',
};

/** Whole sentences; of two that fit a text the one with more words of its own counts. */
export const ruleFaultSentences: Readonly<Record<string, string>> = {
  // Whatever is read
  '{what} is {shown}; write an object here.': '{what} é {shown}; escreva aqui um objeto.',
  'The params are {shown}; write an object here.': 'Os params são {shown}; escreva aqui um objeto.',
  '{what} has no key {shown}. {hint}': '{what} não tem a chave {shown}. {hint}',
  '{what} lacks {keys}; add it.': '{what} precisa de {keys}; acrescente.',
  '{what} lacks {keys}; add them.': '{what} precisa de {keys}; acrescente.',
  '{what} is {shown}; write a text here.': '{what} é {shown}; escreva aqui um texto.',
  'The operator is longer than 200 characters; shorten it.': 'O operador tem mais de 200 caracteres; encurte.',
  'The file is longer than {most} characters; split it.': 'O arquivo tem mais de {most} caracteres; divida.',
  'This text is longer than {most} characters; shorten it.': 'Este texto tem mais de {most} caracteres; encurte.',
  '{what} is longer than {most} characters; shorten it.': '{what} tem mais de {most} caracteres; encurte.',
  '{what} is {shown}; write the number {number}, without quotes.':
    '{what} é {shown}; escreva o número {number}, sem aspas.',
  '{what} is {shown}; write a number ({unit}).': '{what} é {shown}; escreva um número ({unit}).',
  '{what} is {value}; write a whole number ({unit}).': '{what} é {value}; escreva um número inteiro ({unit}).',
  '{what} is {value}; write at most {decimals} decimals ({unit}).{hint}':
    '{what} é {value}; escreva no máximo {decimals} casas decimais ({unit}).{hint}',
  '{what} is {value}, outside {min} … {max} ({unit}).{hint}': '{what} é {value}, fora de {min} … {max} ({unit}).{hint}',

  // Computed facts
  'There is no unit {shown}. {hint}': 'Não há a unidade {shown}. {hint}',
  'The unit of "{name}" is known; remove "unit", which is for facts of "extra".':
    'A unidade de "{name}" é conhecida; retire "unit", que é para fatos de "extra".',
  'There is no fact {shown}. See rules/schema/facts.md.': 'Não há o fato {shown}. Veja rules/schema/facts.md.',
  '"{name}" is no number ({type}); write {remedy}.': '"{name}" não é um número ({type}); escreva {remedy}.',
  '"{name}" is a label ({unit}), which nobody adds; compare it in a condition.':
    '"{name}" é um rótulo ({unit}), que não se soma; compare em uma condição.',
  '{shown} is no day; write one like "2026-12-31", or {"fact": "desk.date"}.':
    '{shown} não é um dia; escreva um como "2026-12-31", ou {"fact": "desk.date"}.',
  '{shown} is no fact that is a day; see rules/schema/facts.md for those.':
    '{shown} não é um fato que é um dia; veja em rules/schema/facts.md quais são.',
  '"{key}" is {shown}; write a list of {least} to {most} parts.':
    '"{key}" é {shown}; escreva uma lista de {least} a {most} partes.',
  '"{key}" is {shown}; write a list of {count} parts.': '"{key}" é {shown}; escreva uma lista de {count} partes.',
  'One part is in {wanted}, another in {wanted2}; bring them to one unit, by "mul" or "div".':
    'Uma parte está em {wanted}, outra em {wanted2}; leve-as a uma só unidade, com "mul" ou "div".',
  'This divides by zero; write another number.': 'Isto divide por zero; escreva outro número.',
  '"count" wants the list itself, like {"count": {"fact": "extra.loans"}}.':
    '"count" pede a própria lista, como {"count": {"fact": "extra.loans"}}.',
  '"count" wants a fact that is a list, like {"count": {"fact": "alerts.codes"}}.':
    '"count" pede um fato que é uma lista, como {"count": {"fact": "alerts.codes"}}.',
  'Write "add" for parts; a sum is over a list, like {example}.':
    'Escreva "add" para partes; uma soma (sum) é sobre uma lista, como {example}.',
  '{shown} names no values of a list; write one like {example}.':
    '{shown} não indica valores de uma lista; escreva um como {example}.',
  'This is {shown}; write a number, {"fact": …} or an operation like {"div": [ … ]}.':
    'Isto é {shown}; escreva um número, {"fact": …} ou uma operação como {"div": [ … ]}.',
  'There is no operation {shown}. {hint}': 'Não há a operação {shown}. {hint}',
  '"facts" is {shown}; write an object {"name": {"value": { … }}} of at most {most} facts.':
    '"facts" é {shown}; escreva um objeto {"name": {"value": { … }}} de no máximo {most} fatos.',
  'The name {shown} is none of a fact; write it like "debtShare".':
    'O nome {shown} não é de um fato; escreva-o como "debtShare".',
  'There is no computed fact {shown}. {hint}': 'Não há o fato calculado {shown}. {hint}',
  '"{name}" is made of itself; write out what it means.':
    '"{name}" é feito de si mesmo; escreva por extenso o que significa.',
  'Nested deeper than {most} levels; write it flatter.': 'Mais de {most} níveis de profundidade; escreva com menos.',
  'More than {most} operations; write it shorter.': 'Mais de {most} operações; escreva com menos.',
  'It looks at no fact, so it is a number; write the number where it is used.':
    'Não olha para nenhum fato, então é um número; escreva o número onde é usado.',

  // Conditions
  '{what} is compared with {shown}; write true or false, without quotes.':
    '{what} é comparado com {shown}; escreva true ou false, sem aspas.',
  '{what} is compared with {shown}; write a text in quotes.':
    '{what} é comparado com {shown}; escreva um texto entre aspas.',
  '"{name}" is compared with {shown}; write a number, a text, true or false.':
    '"{name}" é comparado com {shown}; escreva um número, um texto, true ou false.',
  '{what} is compared with {shown}; write 1 to {digits} digits.':
    '{what} é comparado com {shown}; escreva de 1 a {digits} dígitos.',
  '{what} is compared with {shown}; write {digits} digits, or use "startsWith".':
    '{what} é comparado com {shown}; escreva {digits} dígitos, ou use "startsWith".',
  '{what} is compared with {shown}; this operator wants a list, like [{value}].':
    '{what} é comparado com {shown}; este operador pede uma lista, como [{value}].',
  '"{fact}" is never like this key. {hint}': '"{fact}" nunca é como esta chave. {hint}',
  '"{name}" is never a list; use "equal" or "in".': '"{name}" nunca é uma lista; use "equal" ou "in".',
  '{what} is never {shown}. {hint}': '{what} nunca é {shown}. {hint}',
  'This list is empty; name at least one value or remove the condition.':
    'Esta lista está vazia; indique ao menos um valor ou retire a condição.',
  'This list has more than {most} values; shorten it or make it a file in lists/.':
    'Esta lista tem mais de {most} valores; encurte-a ou faça dela um arquivo em lists/.',
  'The operator is {shown}; write its name in quotes.': 'O operador é {shown}; escreva o nome dele entre aspas.',
  'The operator {shown} has more than {most} decorators; write it simpler.':
    'O operador {shown} tem mais de {most} decoradores; escreva de modo mais simples.',
  'There is no operator {shown}. {hint}': 'Não há o operador {shown}. {hint}',
  'There is no decorator {shown} of operators. {hint}': 'Não há o decorador {shown} de operadores. {hint}',
  '"{name}" is a single value and has no path; remove "path".': '"{name}" é um valor só e não tem path; retire "path".',
  'The path {shown} is not plain; write keys joined by dots, like "$.score.value", without filters or brackets.':
    'O caminho {shown} não é simples; escreva chaves unidas por pontos, como "$.score.value", sem filtros nem colchetes.',
  'There is no fact {shown} of a known unit. {hint}': 'Não há o fato {shown} com unidade conhecida. {hint}',
  '{shown} has no known unit; give it one in facts.json.':
    '{shown} não tem unidade conhecida; dê uma a ele em facts.json.',
  'There is no fact {shown} of a known type. See rules/schema/facts.md.':
    'Não há o fato {shown} com tipo conhecido. Veja rules/schema/facts.md.',
  'There is no fact {shown} of a request. {hint}': 'Não há o fato {shown} em uma solicitação. {hint}',
  'There is no fact {shown}. {hint}': 'Não há o fato {shown}. {hint}',
  '"{name}" exists only after pricing; give the rule "stage": "offer".':
    '"{name}" só existe depois do preço; dê à regra "stage": "offer".',
  '"{name}" looks at "{late}", which exists only after pricing; give the rule "stage": "offer".':
    '"{name}" olha para "{late}", que só existe depois do preço; dê à regra "stage": "offer".',
  '"{name}" exists only after pricing; a limit needs a fact of the request.':
    '"{name}" só existe depois do preço; um limite precisa de um fato da solicitação.',
  '"{name}" exists only after pricing; choose a fact of the request.':
    '"{name}" só existe depois do preço; escolha um fato da solicitação.',
  '"{name}" exists only after pricing; a scorecard sees facts of the request.':
    '"{name}" só existe depois do preço; um scorecard vê fatos da solicitação.',
  '"{operator}" does not compare {types}; name a fact of a type that fits.':
    '"{operator}" não compara {types}; indique um fato de um tipo que sirva.',
  '"{operator}" does not compare {shown}; {hint}': '"{operator}" não compara {shown}; {hint}',
  '"{operator}" does not fit "{name}" ({type}); {hint}': '"{operator}" não serve para "{name}" ({type}); {hint}',
  '"{name}" is compared with itself; name another fact or a value.':
    '"{name}" é comparado consigo mesmo; indique outro fato ou um valor.',
  'Nobody knows the types of "{left}" and "{right}"; compare one with a fact of the catalogue.':
    'Não se conhecem os tipos de "{left}" e "{right}"; compare um deles com um fato do catálogo.',
  '"{left}" is in {wanted}, "{right}" in {wanted2}; name a fact of the same unit.':
    '"{left}" está em {wanted}, "{right}" em {wanted2}; indique um fato da mesma unidade.',
  'Facts are values here and take no parameters; {remedy}.': 'Fatos são valores aqui e não têm parâmetros; {remedy}.',
  '"{name}" can never be like this (it lies within {min} … {max}); write another value.':
    '"{name}" nunca pode ser assim (fica entre {min} … {max}); escreva outro valor.',
  '"{name}" can never be like this; write another value.': '"{name}" nunca pode ser assim; escreva outro valor.',
  '"{kind}" is {shown}; write a list of conditions.': '"{kind}" é {shown}; escreva uma lista de condições.',
  '"{kind}" is empty, which says nothing; add a condition, or use the fact "desk.always".':
    '"{kind}" está vazio, o que não diz nada; acrescente uma condição, ou use o fato "desk.always".',
  'More than {most} comparisons; write it shorter.': 'Mais de {most} comparações; escreva com menos.',
  'These conditions contradict each other, so this can never hold; mend or remove one of them.':
    'Estas condições se contradizem, então isto nunca vale; corrija ou retire uma delas.',
  '"of" is {shown}; write a list of two conditions or more.':
    '"of" é {shown}; escreva uma lista de duas condições ou mais.',
  '{count} of {all} can be chosen in more than {most} ways, which nobody can test; name groups of them in conditions.json and count those.':
    '{count} de {all} podem ser escolhidas de mais de {most} modos, o que ninguém consegue testar; dê nome a grupos delas em conditions.json e conte esses.',
  'No {count} of these can hold together, so this never does; mend or remove some of them.':
    'Nenhum grupo de {count} destas pode valer ao mesmo tempo, então isto nunca vale; corrija ou retire algumas.',
  'A condition is {shown}; write an object with "fact" or "all".':
    'Uma condição é {shown}; escreva um objeto com "fact" ou "all".',
  'A condition has both "{one}" and "{other}"; put one inside the other.':
    'Uma condição tem "{one}" e "{other}" ao mesmo tempo; ponha uma dentro da outra.',
  '"not" is a list; write one condition, perhaps with "any" inside.':
    '"not" é uma lista; escreva uma só condição, talvez com "any" dentro.',
  'What stands here always holds, so its "not" never does; mend or remove it.':
    'O que está aqui sempre vale, então o seu "not" nunca vale; corrija ou retire.',
  'The outermost condition is a single comparison; write {"all": [ … ]} around it.':
    'A condição mais externa é uma só comparação; ponha {"all": [ … ]} em volta.',

  // Conflicts
  'Too many rules decide {field} with priority {priority}; give them different priorities.':
    'Regras demais decidem {field} com a prioridade {priority}; dê a elas prioridades diferentes.',
  '"{one}" and "{other}" both decide {field} with priority {priority} and may hold at once; give one of them another priority.':
    '"{one}" e "{other}" decidem {field} com a prioridade {priority} e podem valer ao mesmo tempo; dê outra prioridade a uma delas.',
  'The name "{name}" is taken by the rule at {where}; choose another.':
    'O nome "{name}" já é da regra em {where}; escolha outro.',
  'The cap "{name}" has another stage, window or keyFacts in "{rule}"; make them equal or choose another name.':
    'O teto "{name}" tem outro stage, window ou keyFacts em "{rule}"; deixe-os iguais ou escolha outro nome.',
  'This table is too large to be checked; split it.': 'Esta tabela é grande demais para ser verificada; divida.',
  '"{one}" and "{other}" may hold at once; make their cells exclude each other.':
    '"{one}" e "{other}" podem valer ao mesmo tempo; faça as células se excluírem.',
  '"{one}" changes nothing: whenever it holds, "{other}" does. Remove it or mend one of them.':
    '"{one}" não muda nada: sempre que vale, "{other}" também vale. Retire-a ou corrija uma das duas.',

  // Events
  '{what} changes nothing. {hint}': '{what} não muda nada. {hint}',
  '"{name}" is in {wanted}, {param} in {wanted2}; name a fact of that unit.{hint}':
    '"{name}" está em {wanted}, {param} em {wanted2}; indique um fato dessa unidade.{hint}',
  '"{operation}" stands in facts.json; write {fact} there, and {"fact": "computed.NAME"} here.':
    '"{operation}" fica em facts.json; escreva lá {fact}, e aqui {"fact": "computed.NAME"}.',
  '{low} {least} is above {high} {most}; swap them.': '{low} {least} está acima de {high} {most}; troque os dois.',
  'The code {shown} is not declared in codes.json. {hint}': 'O código {shown} não está declarado em codes.json. {hint}',
  'The cuts are {shown}; {remedy}.': 'Os cortes (cuts) são {shown}; {remedy}.',
  'This cut is {shown}; {remedy}.': 'Este corte é {shown}; {remedy}.',
  'A dimension is {shown}; write the name of a fact.': 'Uma dimensão é {shown}; escreva o nome de um fato.',
  '"{name}" is not a number; write only its name.': '"{name}" não é um número; escreva só o nome.',
  '"{name}" has too many values; write {"fact": "{same}", "cuts": [ … ]}.':
    '"{name}" tem valores demais; escreva {"fact": "{same}", "cuts": [ … ]}.',
  '"{name}" has too many values for a dimension; choose a fact with few.':
    '"{name}" tem valores demais para uma dimensão; escolha um fato com poucos.',
  'The dimensions are {shown}; write a list of 1 to 4, the most telling first.':
    'As dimensões são {shown}; escreva uma lista de 1 a 4, a mais importante primeiro.',
  '"{name}" is named twice; remove one.': '"{name}" aparece duas vezes; retire uma.',
  'A strategy has {count} keys; write exactly one of {keys}.':
    'Uma estratégia tem {count} chaves; escreva exatamente uma destas: {keys}.',
  '"optimise" is {shown}; write true.': '"optimise" é {shown}; escreva true.',
  'The window is {shown}; write "day" or {"hours": 24}.': 'A janela é {shown}; escreva "day" ou {"hours": 24}.',
  'keyFacts is {shown}; write a list of up to 4 facts, [] for the whole desk.':
    'keyFacts é {shown}; escreva uma lista de até 4 fatos, [] para a mesa inteira.',
  'This is {shown}; write the name of a fact.': 'Isto é {shown}; escreva o nome de um fato.',
  '"{name}" is a list; a key needs a fact with one value.':
    '"{name}" é uma lista; uma chave precisa de um fato com um só valor.',
  'The cap\'s name is {shown}; write a to z without accents, digits and hyphens, a letter first, at most 60 characters, like "employer-day".{hint}':
    'O nome do teto é {shown}; escreva letras de a a z sem acento, dígitos e hifens, começando por uma letra, com no máximo 60 caracteres, como "employer-day".{hint}',
  'A cap without maxAmountReais and maxCount limits nothing; add one.':
    'Um teto sem maxAmountReais e sem maxCount não limita nada; acrescente um.',
  'paced is {shown}; write true or false.': 'paced é {shown}; escreva true ou false.',
  "Only a day's amount can be paced; write {remedy}, or leave paced out.":
    'Só o valor de um dia pode ser dosado (paced); escreva {remedy}, ou omita paced.',
  'The {key} is {shown}; write a to z without accents, digits and hyphens, a letter first, at most 60 characters, like "rate-up".{hint}':
    'O campo {key} é {shown}; escreva letras de a a z sem acento, dígitos e hifens, começando por uma letra, com no máximo 60 caracteres, como "rate-up".{hint}',
  'The queue is {shown}; write a to z without accents, digits and hyphens, a letter first, at most 40 characters, like "large-amounts".{hint}':
    'A fila é {shown}; escreva letras de a a z sem acento, dígitos e hifens, começando por uma letra, com no máximo 40 caracteres, como "large-amounts".{hint}',
  'A rule that asks a person needs a name: the answer is kept under it. Add "name" to the rule.':
    'Uma regra que pergunta a uma pessoa precisa de nome: a resposta fica guardada sob ele. Acrescente "name" à regra.',
  '"otherwise" is {shown}; write "pass" or "bid": what holds where nobody answers in time.':
    '"otherwise" é {shown}; escreva "pass" ou "bid": o que vale se ninguém responder a tempo.',
  'The queue is {shown}; write the name that a rule gives it.':
    'A fila é {shown}; escreva o nome que uma regra lhe dá.',
  '"otherwise" is {shown}; write "pass" or "bid".': '"otherwise" é {shown}; escreva "pass" ou "bid".',
  'An experiment with {count} changes; write exactly one of {changes}.':
    'Um experimento com {count} mudanças; escreva exatamente uma destas: {changes}.',
  'There is no event {shown}. {hint} What other programs call otherwise is named in events.json.':
    'Não há o evento {shown}. {hint} O que outros programas chamam de outro modo recebe nome em events.json.',
  'There is no event {shown}. {hint}': 'Não há o evento {shown}. {hint}',
  '"{type}" comes too late after pricing; an offer rule is "pass" or "cap".':
    '"{type}" vem tarde demais depois do preço; uma regra de oferta é "pass" ou "cap".',

  // Holidays
  'This is {shown}; write a day that a calendar has, like "2026-12-31".':
    'Isto é {shown}; escreva um dia que exista no calendário, como "2026-12-31".',
  '"holidays" is {shown}; write an object {"2026-12-25": "Natal"} of at most {most} days.':
    '"holidays" é {shown}; escreva um objeto {"2026-12-25": "Natal"} de no máximo {most} dias.',
  'The days end on {until}, before they begin on {from}; swap them.':
    'Os dias terminam em {until}, antes de começarem em {from}; troque os dois.',
  '{shown} is no day that a calendar has; write one like "2026-12-25".':
    '{shown} não é um dia que exista no calendário; escreva um como "2026-12-25".',
  '{day} is outside of {from} … {until}; move "from" or "until".':
    '{day} está fora de {from} … {until}; mude "from" ou "until".',

  // Lists
  'A list over {shown} is not possible. {hint}': 'Uma lista de {shown} não é possível. {hint}',
  '"values" is {shown}; write a list of texts.': '"values" é {shown}; escreva uma lista de textos.',
  'More than {most} values; split the list.': 'Mais de {most} valores; divida a lista.',
  'This is {shown}; write a text.': 'Isto é {shown}; escreva um texto.',
  'This value is in the list already; remove it.': 'Este valor já está na lista; retire-o.',

  // Files of rules and codes
  '"worker" is {shown}; write an object {"code": {"pt": "…", "en": "…"}}.':
    '"worker" é {shown}; escreva um objeto {"code": {"pt": "…", "en": "…"}}.',
  'The code {shown} is not declared under "codes". {hint}': 'O código {shown} não está declarado em "codes". {hint}',
  '"codes" is {shown}; write an object {"code": "what it means"}.':
    '"codes" é {shown}; escreva um objeto {"code": "o que significa"}.',
  '{count} codes are declared; keep to {most}, reasons say the rest.':
    '{count} códigos declarados; fique em {most}, os motivos dizem o resto.',
  'The code {shown} is not lower-case words; write it like "tenure-short".':
    'O código {shown} não são palavras em minúsculas; escreva-o como "tenure-short".',
  'The code "{code}" is given by the desk itself; choose another.':
    'O código "{code}" é da própria mesa; escolha outro.',
  'The stage is {shown}; write "request" or "offer".': 'O stage é {shown}; escreva "request" ou "offer".',
  '"onMissing" is {shown}; write "ignore" or remove it.': '"onMissing" é {shown}; escreva "ignore" ou retire.',
  '"onMissing" belongs to "pass" rules only: an undecidable limit or cap applies, others do not fire. Remove it.':
    '"onMissing" só cabe em regras "pass": um limite ou teto indefinido se aplica, as outras não disparam. Retire.',
  '"{key}" is {shown}, which no calendar has; write a day like "2026-12-31".':
    '"{key}" é {shown}, que não existe no calendário; escreva um dia como "2026-12-31".',
  '"{key}" is {shown}; write a day like "2026-12-31".': '"{key}" é {shown}; escreva um dia como "2026-12-31".',
  'The rule ends on {until}, before it begins on {from}; swap the days.':
    'A regra termina em {until}, antes de começar em {from}; troque os dias.',
  'This is {shown}; write the name of a param.': 'Isto é {shown}; escreva o nome de um param.',
  '"events" is {shown}; write an object {"name": {"type": "pass"}}.':
    '"events" é {shown}; escreva um objeto {"name": {"type": "pass"}}.',
  '"{name}" is an event already; choose another name.': '"{name}" já é um evento; escolha outro nome.',
  '"rules" is {shown}; write a list of rules.': '"rules" é {shown}; escreva uma lista de regras.',

  // The set
  '{count} files; keep a rule set to {most}.': '{count} arquivos; um conjunto de regras tem no máximo {most}.',
  'This is no .json file; keep only rules in this folder.': 'Isto não é um arquivo .json; deixe só regras nesta pasta.',
  'This path is given twice.': 'Este caminho foi dado duas vezes.',
  'Longer than {most} characters together; remove some.': 'Mais de {most} caracteres ao todo; retire alguns.',
  'A list is named in lower-case words; call the file like "lists/blocked-workers.json".':
    'O nome de uma lista são palavras em minúsculas; chame o arquivo como "lists/blocked-workers.json".',
  'The rows are {shown} instead of a text.': 'As linhas são {shown} em vez de um texto.',
  'Nothing declares these rows; write key and columns in {file}.':
    'Nada declara estas linhas; escreva key e columns em {file}.',
  'No rule looks at the value table "{name}" (facts {facts}); remove it or use it.':
    'Nenhuma regra olha para a tabela de valores "{name}" (fatos {facts}); retire-a ou use-a.',
  'No rule looks at the source "{name}" (facts {facts}); remove it or use it.':
    'Nenhuma regra olha para a fonte "{name}" (fatos {facts}); retire-a ou use-a.',
  'The configuration has no endpoint {shown}: nobody asks the source, and "otherwise" holds. Set {setting} in the file that LANCE_CONFIG names.{hint}':
    'A configuração não tem o endpoint {shown}: ninguém consulta a fonte, e vale "otherwise". Ponha {setting} no arquivo que LANCE_CONFIG nomeia.{hint}',
  '"{fact}" is not sent, for "{key}" is not true; set it in the file that LANCE_CONFIG names, or do not send it.':
    '"{fact}" não é enviado, pois "{key}" não é true; ponha-o no arquivo que LANCE_CONFIG nomeia, ou não o envie.',
  '"{rule}" asks for "{fact}", which none of the latest {count} requests has brought: it was undecided for each of them.{hint}':
    '"{rule}" pede "{fact}", que nenhuma das últimas {count} solicitações trouxe: ficou indefinida em cada uma delas.{hint}',
  '{shown} is not sent; name it under "send" as well, or remove it.':
    '{shown} não é enviado; nomeie-o também em "send", ou retire-o.',
  '"{fact}" says whom the question is about, so it cannot be optional; remove it.':
    '"{fact}" diz de quem é a pergunta, por isso não pode ser opcional; retire-o.',
  'Only a number has a range; remove it.': 'Só um número tem limites; retire-o.',
  'min is {min}, above max, {max}; write a lower one.': 'min é {min}, acima de max, {max}; escreva um menor.',
  'This number is a CPF.': 'Este número é um CPF.',
  'There is no {shown} in a field.': 'Não há {shown} em um campo.',
  'A set asks {count} sources; {most} are the most. Let one of them answer more.':
    'Um conjunto consulta {count} fontes; são no máximo {most}. Faça uma delas responder mais.',
  '"{what}" is {shown}; write a list of at most {most} names of facts.':
    '"{what}" é {shown}; escreva uma lista de no máximo {most} nomes de fatos.',
  '"{name}" is personal; name it under "personal" as well, or do not send it.':
    '"{name}" é um dado pessoal; indique-o também em "personal", ou não o envie.',
  '"reply" is {shown}; write an object {example} of 1 to {most} fields.':
    '"reply" é {shown}; escreva um objeto {example} de 1 a {most} campos.',
  '{shown} is no name of a field; write one like "latePayments".':
    '{shown} não é nome de campo; escreva um como "latePayments".',
  'A text of a source has a closed set of values; write them as "values": ["A", "B"].':
    'Um texto de uma fonte tem um conjunto fechado de valores; escreva-os como "values": ["A", "B"].',
  'A source is named like a fact; call the file like "bureau.source.json".':
    'O nome de uma fonte é como o de um fato; chame o arquivo como "bureau.source.json".',
  'More than {most} rules; join some with lists ("in") or tables.':
    'Mais de {most} regras; junte algumas com listas ("in") ou tabelas.',
  'No rule refers to the condition "{name}"; remove it or use it.':
    'Nenhuma regra se refere à condição "{name}"; retire-a ou use-a.',
  'No rule looks at the list "{name}" (fact {fact}); remove it or use it.':
    'Nenhuma regra olha para a lista "{name}" (fato {fact}); retire-a ou use-a.',
  '"{salt}" draws workers at {where} as well; choose another name.':
    '"{salt}" também sorteia trabalhadores em {where}; escolha outro nome.',
  '"{rule}" makes segments of "{fact}", which is told by the segment itself; make them of other facts.':
    '"{rule}" faz segmentos de "{fact}", que depende do próprio segmento; use outros fatos.',
  '"{rule}" asks for "{fact}", which can never come: {hint}': '"{rule}" pede "{fact}", que nunca pode vir: {hint}',
  'This file is missing; declare the pass codes in it: {"codes": { … }}.':
    'Falta este arquivo; declare nele os códigos de recusa: {"codes": { … }}.',
  'There is no rule at all; add one.': 'Não há nenhuma regra; acrescente uma.',
  'The stored rule set holds {shown} instead of a file.': 'O conjunto guardado tem {shown} em vez de um arquivo.',
  'The stored rule set is not a list of files.': 'O conjunto guardado não é uma lista de arquivos.',
  '"{rule}" is {own} in the test "{test}", and {other} in json-rules-engine: write its conditions otherwise.':
    '"{rule}" é {own} no teste "{test}", e {other} no json-rules-engine: escreva as condições de outro modo.',

  // Scorecards
  '"{key}" is {shown}; write a number.': '"{key}" é {shown}; escreva um número.',
  'The first bin is open below; remove "from".': 'A primeira faixa é aberta embaixo; retire "from".',
  'This bin begins at {from}, the one before ends below {last}; write "from": {next}.':
    'Esta faixa começa em {from}, a anterior termina abaixo de {last}; escreva "from": {next}.',
  'The last bin is open above; remove "below".': 'A última faixa é aberta em cima; retire "below".',
  'This bin has no end above its beginning; write "below" with the number that the next one begins at.':
    'Esta faixa não tem fim acima do começo; escreva "below" com o número em que a próxima começa.',
  'The bin for all others is the last one; move it to the end.':
    'A faixa de todos os outros é a última; mova-a para o fim.',
  'A bin of "{name}" names its values; write "in": [ … ], or "else": true in the last one.':
    'Uma faixa de "{name}" indica os valores; escreva "in": [ … ], ou "else": true na última.',
  'This is {shown}; write a text in quotes.': 'Isto é {shown}; escreva um texto entre aspas.',
  'This is {shown}; write a {type}.': 'Isto é {shown}; escreva um valor do tipo {type}.',
  '{shown} stands in two bins; remove one.': '{shown} está em duas faixas; retire uma.',
  'These bins leave values of "{name}" out; add a last one with "else": true.':
    'Estas faixas deixam valores de "{name}" de fora; acrescente uma última com "else": true.',
  '"{name}" is a list; count it in facts.json and score that.':
    '"{name}" é uma lista; conte-a em facts.json e pontue a contagem.',
  '"bins" is {shown}; write a list of 1 to {most} bins.': '"bins" é {shown}; escreva uma lista de 1 a {most} faixas.',
  '"bands" is {shown}; write a list of 2 bands or more.': '"bands" é {shown}; escreva uma lista de 2 classes ou mais.',
  'The band {shown} is there already; choose another name.': 'A classe {shown} já existe; escolha outro nome.',
  'A scorecard is named like a fact; call the file like "risk.score.json".':
    'O nome de um scorecard é como o de um fato; chame o arquivo como "risk.score.json".',
  '"characteristics" is {shown}; write a list of 1 to {most}.':
    '"characteristics" é {shown}; escreva uma lista de 1 a {most}.',
  '"{fact}" is scored twice; remove one, or compute one fact of both.':
    '"{fact}" é pontuado duas vezes; retire um, ou calcule um só fato dos dois.',

  // Shares
  'A rule for a share of the workers draws them by its name; give the rule a "name".':
    'Uma regra para uma parte dos trabalhadores os sorteia pelo nome dela; dê à regra um "name".',
  'An experiment has a share of its own; write it in its params, and remove this one.':
    'Um experimento tem a sua própria parte; escreva-a nos params dele e retire esta.',
  'maxTermChange lets more be offered, and a share may only limit; put it in a rule without a share.':
    'maxTermChange permite oferecer mais, e uma parte só pode limitar; ponha-o em uma regra sem parte.',

  // Tables
  'This range has no bounds; write {"from": 12, "below": 36}, or null for any value.':
    'Este intervalo não tem limites; escreva {"from": 12, "below": 36}, ou null para qualquer valor.',
  '{what} are {shown}; write a list of {least} to {most} names.':
    '{what} são {shown}; escreva uma lista de {least} a {most} nomes.',
  '{what} name one column twice; remove one.': '{what} indicam uma coluna duas vezes; retire uma.',
  '"{key}" is {shown}; write a list of {count} cells, null for any.':
    '"{key}" é {shown}; escreva uma lista de {count} células, null para qualquer valor.',
  'There is no {shown} here. {hint}': 'Não há {shown} aqui. {hint}',
  'The event is {shown}; write one of {types}.': 'O evento é {shown}; escreva um destes: {types}.',
  '"rows" is {shown}; write a list of 1 to {most} rows.': '"rows" é {shown}; escreva uma lista de 1 a {most} linhas.',

  // Tests
  '"{name}" is {shown}; write a number, a text, true, false, or null to take it away.':
    '"{name}" é {shown}; escreva um número, um texto, true, false, ou null para retirá-lo.',
  '"{name}" is {shown}; write {remedy}, or null to take it away.':
    '"{name}" é {shown}; escreva {remedy}, ou null para retirá-lo.',
  '"{name}" is {shown}; write its {digits} digits in quotes.':
    '"{name}" é {shown}; escreva os {digits} dígitos entre aspas.',
  'The facts are {shown}; write an object {"worker.ageYears": 30}.':
    'Os fatos são {shown}; escreva um objeto {"worker.ageYears": 30}.',
  '"{name}" is made by the desk, of {facts}; write those facts instead.':
    '"{name}" é feito pela mesa, de {facts}; escreva esses fatos.',
  'This is {shown}; write a list of names of rules.': 'Isto é {shown}; escreva uma lista de nomes de regras.',
  'This file is missing, and {path} tests rules that no file has; put {tested} back, or remove {path2} as well.':
    'Este arquivo falta, e {path} testa regras que nenhum arquivo tem; reponha {tested}, ou retire também {path2}.',
  'There is no rule {shown}. {hint}': 'Não há a regra {shown}. {hint}',
  'Nothing is expected, so nothing is tested; write one of {expectations}.':
    'Nada se espera, então nada é testado; escreva um destes: {expectations}.',
  'This is {shown}; write an object {"computed.debtRatio": 0.3}.':
    'Isto é {shown}; escreva um objeto {"computed.debtRatio": 0.3}.',
  '{shown} is no fact that this set makes; what a request says is not expected. {hint}':
    '{shown} não é um fato que este conjunto faz; o que uma solicitação diz não se espera. {hint}',
  '"at" is {shown}; write a time like "2026-11-20T09:00:00-03:00".':
    '"at" é {shown}; escreva um momento como "2026-11-20T09:00:00-03:00".',
  'The base {shown} is not declared in bases.json. {hint}': 'A base {shown} não está declarada em bases.json. {hint}',
  '"bases" is {shown}; write an object {"ordinary": { facts }} of at most {most}.':
    '"bases" é {shown}; escreva um objeto {"ordinary": { fatos }} de no máximo {most}.',
  '"tests" is {shown}; write a list of at most {most} tests.':
    '"tests" é {shown}; escreva uma lista de no máximo {most} testes.',

  // Value tables
  'This key is no whole number; write digits alone.': 'Esta chave não é um número inteiro; escreva só dígitos.',
  'This key is no {fact}; write its {digits} digits, zeros included.':
    'Esta chave não é {fact}; escreva os {digits} dígitos, com os zeros.',
  'A key is a text of 1 to {most} characters without quotes, commas, line breaks and blanks around it; write it so.':
    'Uma chave é um texto de 1 a {most} caracteres sem aspas, vírgulas, quebras de linha nem espaços em volta; escreva assim.',
  '"{name}" cannot be looked up; name a fact of the request that is a text or a whole number. Ranges are for NAME.table.json.':
    '"{name}" não pode ser consultado; indique um fato da solicitação que seja um texto ou um número inteiro. Intervalos são para NAME.table.json.',
  'A text or a day has no unit; remove "unit".': 'Um texto ou um dia não tem unidade; retire "unit".',
  'Only a text has a closed set of values; remove "values".':
    'Só um texto tem um conjunto fechado de valores; retire "values".',
  'The unit of a number is {shown}. {hint}': 'A unidade de um número é {shown}. {hint}',
  '"values" is {shown}; write a list of 1 to 500 texts.': '"values" é {shown}; escreva uma lista de 1 a 500 textos.',
  'The type is {shown}; write "number" (whole cents are "R$"), "text" or "day".':
    'O tipo é {shown}; escreva "number" (centavos inteiros são "R$"), "text" ou "day".',
  '"columns" is {shown}; write an object {example} of 1 to {most} columns.':
    '"columns" é {shown}; escreva um objeto {example} de 1 a {most} colunas.',
  '{shown} is no name of a column; write one like "latePayments" (the first column is "key").':
    '{shown} não é nome de coluna; escreva um como "latePayments" (a primeira coluna é "key").',
  'This text is empty; what is not known is null, or an empty cell.':
    'Este texto está vazio; o que não se sabe é null, ou uma célula vazia.',
  'This text holds a line break or another character that nobody sees; remove it.':
    'Este texto tem uma quebra de linha ou outro caractere que não se vê; retire-o.',
  'This text begins or ends with a blank; remove it.': 'Este texto começa ou termina com um espaço; retire-o.',
  '"{name}" is {shown}; write a text in quotes.': '"{name}" é {shown}; escreva um texto entre aspas.',
  '"rows" is {shown}; write a list [{"key": "…", "{column}": … }].':
    '"rows" é {shown}; escreva uma lista [{"key": "…", "{column}": … }].',
  'This key is no text; write it in quotes.': 'Esta chave não é um texto; escreva-a entre aspas.',
  'This key has a row already; keep one of the two.': 'Esta chave já tem uma linha; deixe uma das duas.',
  'Column {number} is called {shown}, which the .json beside does not declare. {hint}':
    'A coluna {number} se chama {shown}, que o .json ao lado não declara. {hint}',
  'Column {number} is called "{name}" as well; remove one.': 'A coluna {number} também se chama "{name}"; retire uma.',
  'The column "{name}" is missing; name it in the first line.': 'Falta a coluna "{name}"; indique-a na primeira linha.',
  '{count} cells where the first line names {columns} columns; write as many.':
    '{count} células onde a primeira linha indica {columns} colunas; escreva tantas quantas.',
  'The same key as on line {line}; keep one of the two rows.': 'A mesma chave da linha {line}; deixe uma das duas.',
  'The file is empty; begin with a line that names the columns.':
    'O arquivo está vazio; comece com uma linha que indica as colunas.',
  'A value table is named like a fact; call the file like "bureau.values.json".':
    'O nome de uma tabela de valores é como o de um fato; chame o arquivo como "bureau.values.json".',
  '"refresh" is {shown}; write true or remove it.': '"refresh" é {shown}; escreva true ou retire.',
  'Only rows in a file of their own can be refreshed; move them to {file} beside.':
    'Só linhas em um arquivo próprio podem ser renovadas; mova-as para {file}, ao lado.',
  'The rows stand in {file} as well; keep one of the two.': 'As linhas também estão em {file}; deixe um dos dois.',
  'A value table has no rows; write them here under "rows", or beside it in {file}.':
    'Uma tabela de valores não tem linhas; escreva-as aqui em "rows", ou ao lado em {file}.',
  'a quote is opened here and never closed; close it.': 'aspas são abertas aqui e nunca fechadas; feche-as.',
  '"{cell}" can be read in two ways; write {one} or {other}, without signs for thousands.':
    '"{cell}" pode ser lido de dois modos; escreva {one} ou {other}, sem separador de milhar.',
  '"{cell}" cannot be read; write {plain} without signs for thousands.':
    '"{cell}" não pode ser lido; escreva {plain}, sem separador de milhar.',

  // lance rules import
  'a quote is opened here and never closed': 'aspas são abertas aqui e nunca fechadas',
  'this is no .xlsx workbook': 'isto não é uma pasta de trabalho .xlsx',
  'the workbook has {count} sheets ({names}); name one with --sheet':
    'a pasta de trabalho tem {count} planilhas ({names}); indique uma com --sheet',
  'there is no sheet "{sheet}"; there are: {names}': 'não há planilha "{sheet}"; há: {names}',
  'the row is hidden; show it or remove it': 'a linha está oculta; mostre-a ou retire-a',
  'column {number} is hidden; show it or remove it': 'a coluna {number} está oculta; mostre-a ou retire-a',
  'the cell holds an error; mend it': 'a célula tem um erro; corrija-o',
  'the formula has no value; save the file in the spreadsheet program':
    'a fórmula não tem valor; salve o arquivo no programa de planilhas',
  'the cell is formatted as percent; write 1.99 for 1.99 %, and 0.9 for a share of 90 %, as a number':
    'a célula está formatada como porcentagem; escreva 1,99 para 1,99 %, e 0,9 para uma parte de 90 %, como número',
  'the cell holds a time of day; write the day alone': 'a célula tem uma hora do dia; escreva só o dia',
  'the cell is one of several merged ones; split them and fill each':
    'a célula é uma de várias mescladas; separe-as e preencha cada uma',
  '"{cell}" can be read in two ways; write {one} or {other}, without signs for thousands':
    '"{cell}" pode ser lido de dois modos; escreva {one} ou {other}, sem separador de milhar',
  '"{cell}" cannot be read; write {plain} without signs for thousands':
    '"{cell}" não pode ser lido; escreva {plain}, sem separador de milhar',
  'the file is empty; begin with a line that names the columns':
    'o arquivo está vazio; comece com uma linha que dá nome às colunas',
  'the file is empty': 'o arquivo está vazio',
  'column {index} is called "{name}"; write "when <fact>" or "set <parameter>"':
    'a coluna {index} se chama "{name}"; escreva "when <fato>" ou "set <parâmetro>"',
  '{cells} cells where the first line names {columns} columns':
    '{cells} células onde a primeira linha dá nome a {columns} colunas',
  'the same as line {line}': 'igual à linha {line}',

  // Named conditions
  '"conditions" is {shown}; write an object {"name": {"all": [ … ]}}.':
    '"conditions" é {shown}; escreva um objeto {"name": {"all": [ … ]}}.',
  '{count} conditions are named; keep to {most}.': '{count} condições com nome; fique em {most}.',
  'The name {shown} is not lower-case words; write it like "young-worker".':
    'O nome {shown} não são palavras em minúsculas; escreva-o como "young-worker".',
  'The condition "{name}" refers to itself; write out what it means.':
    'A condição "{name}" se refere a si mesma; escreva por extenso o que significa.',
  'The condition {shown} is not declared in conditions.json. {hint}':
    'A condição {shown} não está declarada em conditions.json. {hint}',
};

/** What to write instead, at the end of a sentence. */
export const ruleFaultHints: Readonly<Record<string, string>> = {
  'Did you mean "{word}"?': 'Seria "{word}"?',
  'Did you mean {value}?': 'Seria {value}?',
  'Write one of: {words}.': 'Escreva um destes: {words}.',
  'Declare it there.': 'Declare-o lá.',
  'If the column is in {wanted}, write "unit": "{same}" for it in {file}.':
    'Se a coluna está em {wanted}, escreva para ela "unit": "{same}" em {file}.',
  'In facts.json R$ a month times months is R$; a column of a value table is in the unit that its file gives it.':
    'Em facts.json, R$ a month vezes months dá R$; a coluna de uma tabela de valores tem a unidade que o arquivo dela indica.',
  'Make one in facts.json, by "mul" or "div".': 'Faça um em facts.json, com "mul" ou "div".',
  'Write its days in holidays.json.': 'Escreva os dias dele em holidays.json.',
  'See the catalogue of facts; unmapped keys of the request are "extra.<key>", scores "score.<name>".':
    'Veja o catálogo de fatos; chaves da solicitação sem mapeamento são "extra.<key>", scores "score.<name>".',
  'use {operators}, or "someFact:" and "everyFact:" before others.':
    'use {operators}, ou "someFact:" e "everyFact:" antes de outros.',
  'use {operators}.': 'use {operators}.',
  'the mapping knows no score of this name, it maps no score; add it under "scores" (LANCE_MAPPING).{hint}':
    'o mapeamento não conhece score com este nome, nem nenhum outro; acrescente-o em "scores" (LANCE_MAPPING).{hint}',
  'the mapping knows no score of this name, its scores are {names}; add it under "scores" (LANCE_MAPPING).{hint}':
    'o mapeamento não conhece score com este nome, os que tem são {names}; acrescente-o em "scores" (LANCE_MAPPING).{hint}',
  '"{word}" is the name of personal data, which no rule sees; if it is none, take its word out of "personal" in the mapping (LANCE_MAPPING).':
    '"{word}" é nome de dado pessoal, que nenhuma regra vê; se não for, retire a palavra de "personal" no mapeamento (LANCE_MAPPING).',
  'the mapping reads that key as {scores}; write that.': 'o mapeamento lê essa chave como {scores}; escreva assim.',
  'the mapping reads that key as a fact of the catalogue; write that fact: rules/schema/facts.md lists them.':
    'o mapeamento lê essa chave como um fato do catálogo; escreva esse fato: estão em rules/schema/facts.md.',
};

type Sentence = { english: RegExp; names: readonly string[]; portuguese: string };

const placeholder = /\{([a-z]+\d?)\}/g;

function sentencesOf(table: Readonly<Record<string, string>>): readonly Sentence[] {
  const own = (text: string) => text.replaceAll(placeholder, '').length;
  const entries = Object.entries(table).sort(([left], [right]) => own(right) - own(left));
  return entries.map(([text, portuguese]) => {
    const parts = text.split(placeholder).map((part, index) => (index % 2 === 1 ? '(.*?)' : RegExp.escape(part)));
    const names = [...text.matchAll(placeholder)].map(([, name]) => name!);
    return { english: new RegExp(`^${parts.join('')}$`, 's'), names, portuguese };
  });
}

const sentences = sentencesOf(ruleFaultSentences);
const hints = sentencesOf(ruleFaultHints);

function wordPt(word: string): string {
  const kind = /^A condition with "(.*)"$/.exec(word)?.[1];
  return kind === undefined ? (ruleFaultWords[word] ?? word) : `Uma condição com "${kind}"`;
}

function hintPt(text: string): string {
  const hint = text.trimStart();
  return text.slice(0, text.length - hint.length) + (filled(hints, hint) ?? hint);
}

const inPortuguese: Readonly<Record<string, (text: string) => string>> = {
  what: wordPt,
  shown: wordPt,
  unit: wordPt,
  remedy: wordPt,
  hint: hintPt,
};

/** Null: no sentence of the list fits. */
function filled(list: readonly Sentence[], text: string): string | null {
  for (const { english, names, portuguese } of list) {
    const found = english.exec(text);
    if (found === null) continue;
    return portuguese.replaceAll(placeholder, (_, name: string) => {
      const said = found[names.indexOf(name) + 1]!;
      return (inPortuguese[name.replace(/\d$/, '')] ?? String)(said);
    });
  }
  return null;
}

/** One fault of rule files; what is not known stays as it is. */
export function ruleFaultPt(text: string): string {
  const [, column, rest] = /^Column (\d+(?: \("key"\))?): (.*)$/s.exec(text) ?? [];
  if (rest !== undefined) return `Coluna ${column}: ${ruleFaultPt(rest)}`;
  const [, cell, wrong] = /^column (\d+): (.*)$/s.exec(text) ?? [];
  if (wrong !== undefined) return `coluna ${cell}: ${ruleFaultPt(wrong)}`;
  // Its remedy may begin as that of another sentence does.
  const [, fact, remedy] = /^This is no (\S+); (.*)\.$/.exec(text) ?? [];
  if (remedy !== undefined) return `Isto não é ${fact}; ${wordPt(remedy)}.`;
  const quoted = /^("[^"]*"): (This text .*)$/.exec(text);
  if (quoted !== null) return `${quoted[1]}: ${ruleFaultPt(quoted[2]!)}`;
  return filled(sentences, text) ?? jsonFaultPt(text);
}
