/** The mapping file (`config/request-mapping.json`), checked and prepared for reading. Integrators edit it; code does not change. */
import { z } from 'zod';
import { nearestWord } from '../domain/nearest-word.ts';
import { checkUntrusted } from '../domain/untrusted-value.ts';
import { withoutAccents } from './accents.ts';

export const factNames = [
  'requestId',
  'batchId',
  'closesAt',
  'expiresAt',
  'requestedAmount',
  'requestedInstallments',
  'availableMargin',
  'eligible',
  'cpf',
  'name',
  'birthDate',
  'admissionDate',
  'registration',
  'employerId',
  'employerIdType',
  'politicallyExposed',
  'activityCode',
  'employerStartDate',
  'guarantee.present',
  'guarantee.fgtsBalance',
  'guarantee.terminationFine',
  'guarantee.severancePercent',
  'alerts',
  'authorisationNumber',
] as const;
export type FactName = (typeof factNames)[number];

/** Longer keys are not kept, nor shown: a key may be as long as the body. */
const longestKept = 100;

const names = z.array(z.string().min(1));
const schema = z.strictObject({
  $comment: z.string().optional(),
  /** Keys whose objects and lists hold requests. */
  containers: names,
  /** Facts that a wrapper gives to every request in its lists. */
  inherited: z.array(z.enum(factNames)),
  /** Aliases too common to be believed outside the request itself. */
  ownOnly: names,
  facts: z.strictObject(
    Object.fromEntries(factNames.map((fact) => [fact, names.min(1)])) as Record<FactName, z.ZodArray<z.ZodString>>,
  ),
  /** Scores by the name that rules know them under (`score.<name>`), with the keys they are read from. */
  scores: z.record(z.string().regex(/^[a-z][A-Za-z0-9]{0,39}$/), names.min(1)).optional(),
  alertCode: names.min(1),
  politicallyExposedCodes: z.strictObject({ exposed: z.array(z.int()), notExposed: z.array(z.int()) }),
  /** Words of key names that mark a value as personal: such keys never become `extra` facts. */
  personal: names,
});

/** One alias: `path` in lower case; `text` as the file writes it, for faults. */
export type Alias = { path: readonly string[]; text: string; ownOnly: boolean };

export type RequestMapping = {
  containers: ReadonlySet<string>;
  inherited: ReadonlySet<FactName>;
  facts: Readonly<Record<FactName, readonly Alias[]>>;
  scores: readonly (readonly [name: string, aliases: readonly Alias[]])[];
  /** Dotted lower-case paths that some fact is read from; they are not `extra`. */
  mapped: ReadonlySet<string>;
  alertCode: readonly (readonly string[])[];
  exposedCodes: ReadonlySet<number>;
  notExposedCodes: ReadonlySet<number>;
  personal: readonly string[];
  /** Answers of `isPersonalKey`, kept because the same keys come with every request. */
  personalKeys: Map<string, boolean>;
};

/** One thing to mend: where, as a JSON pointer, and what to write there. */
type MappingFault = { pointer: string; text: string };

export type MappingReading =
  | { kind: 'read'; mapping: RequestMapping }
  /** `problems`: the faults as lines. */
  | { kind: 'refused'; faults: readonly MappingFault[]; problems: readonly string[] };

/** Words that may stand at a place of the file. */
function knownAt(path: readonly PropertyKey[]): readonly string[] {
  const [first] = path;
  if (first === undefined) return Object.keys(schema.shape);
  if (first === 'politicallyExposedCodes') return Object.keys(schema.shape.politicallyExposedCodes.shape);
  return first === 'facts' || first === 'inherited' ? factNames : [];
}

function suggestion(word: string, known: readonly string[]): string {
  const nearest = nearestWord(word.slice(0, longestKept), known);
  if (nearest !== null) return `; did you mean "${nearest}"?`;
  return known.length > 0 ? `; write one of ${known.join(', ')}` : '';
}

function faultsOf(issue: z.core.$ZodIssue, content: unknown): MappingFault[] {
  const pointer = pointerOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = knownAt(issue.path);
    return issue.keys.map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      text: `"${key.slice(0, longestKept)}" is not known here${suggestion(key, known)}`,
    }));
  }
  let value = content;
  for (const part of issue.path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[part];
  if (issue.code === 'invalid_value' && typeof value === 'string') {
    const text = `"${value.slice(0, longestKept)}" is not known here${suggestion(value, knownAt(issue.path))}`;
    return [{ pointer, text }];
  }
  const missing = value === undefined ? 'is missing; ' : '';
  return [{ pointer, text: `${missing}${remedyOf(issue)}` }];
}

const kinds: Readonly<Record<string, string>> = {
  string: 'write a "text"',
  object: 'write an object { … }',
  array: 'write a list [ … ] of texts',
  int: 'write a whole number',
  number: 'write a whole number',
};

function remedyOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return kinds[issue.expected] ?? issue.message;
  if (issue.code === 'too_small') return issue.origin === 'array' ? 'write at least one key' : 'is empty; write a key';
  if (issue.code === 'invalid_key')
    return 'a score has a name of up to 40 letters and digits, with a small letter first';
  return issue.message;
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Reads the file's content; every problem at once. */
export function readRequestMapping(content: unknown): MappingReading {
  const result = checkUntrusted(content, (given) => schema.safeParse(given));
  if (!result.success) {
    const faults = result.error.issues.flatMap((issue) => faultsOf(issue, content));
    return { kind: 'refused', faults, problems: faults.map(({ pointer, text }) => `${pointer}: ${text}`) };
  }
  const file = result.data;
  const ownOnly = new Set(file.ownOnly.map((name) => name.toLowerCase()));
  const aliasOf = (text: string): Alias => ({
    path: text.toLowerCase().split('.'),
    text,
    ownOnly: ownOnly.has(text.toLowerCase()),
  });
  const facts = Object.fromEntries(factNames.map((fact) => [fact, file.facts[fact].map(aliasOf)])) as Record<
    FactName,
    Alias[]
  >;
  const scores = Object.entries(file.scores ?? {}).map(([name, keys]) => [name, keys.map(aliasOf)] as const);
  const aliases = [...Object.values(facts), ...scores.map(([, own]) => own)].flat();
  return {
    kind: 'read',
    mapping: {
      scores,
      containers: new Set(file.containers.map((name) => name.toLowerCase())),
      inherited: new Set(file.inherited),
      facts,
      mapped: new Set(aliases.map((alias) => alias.path.join('.'))),
      alertCode: file.alertCode.map((text) => text.toLowerCase().split('.')),
      exposedCodes: new Set(file.politicallyExposedCodes.exposed),
      notExposedCodes: new Set(file.politicallyExposedCodes.notExposed),
      personal: file.personal.map(bareKey),
      personalKeys: new Map(),
    },
  };
}

function bareKey(key: string): string {
  return withoutAccents(key)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** Of `valorParcela_Nova2`: valor, parcela, nova2. */
function wordsOf(key: string): readonly string[] {
  return withoutAccents(key)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** Beside those of the mapping: what the keys of webhooks are made of (contract, Events). */
const contractWords = (
  'acao admissao agencia arquivo auditoria averbacao banco base boleto ccb certificacao cet cliente codigo competencia conta conteudo contato contrato critica ' +
  'criticas data descricao desconto detalhe detalhes digital dt empregador encerrado endereco endpoint erro erros evento fim hash hora id inicio iof ' +
  'lance lances leilao lista lote margem matricula mensagem mensagens motivo nascimento nome nota notificacao numero oferta operacao origem parametro parametros ' +
  'parcela parcelas payload pessoa posicao prazo proposta propostas requisicao resposta resultado resultados retorno seguro situacao ' +
  'solicitacao solicitacoes status taxa tipo trabalhador validade valor valores versao vinculo vinculos'
).split(' ');

/**
 * Tells of a key whether it is made of words that the mapping and the contract use: any other may be somebody's name, however
 * much it looks like a key.
 */
export function knownKeys(mapping: RequestMapping): (key: string) => boolean {
  const { facts, scores, containers } = mapping;
  const aliases = [...Object.values(facts), ...scores.map(([, own]) => own)].flat();
  const names = [...aliases.flatMap(({ text }) => text.split('.')), ...mapping.alertCode.flat(), ...containers];
  const known = new Set([...contractWords, ...names.flatMap(wordsOf), ...names.map((name) => name.toLowerCase())]);
  return (key) => known.has(key.toLowerCase()) || wordsOf(key).every((word) => known.has(word));
}

const maxPersonalKeys = 2_000;

/** What personal words are written together with: `nomecompleto`, `numeroconta`, `firstname`. */
const companions = new Set(
  (
    'banco bancaria bancario cliente codigo comercial completa completo conjuge contato contrato corrente da das data date de digito do documento dos dt e empregado ' +
    'empregador endereco filho first full holder id last middle mother nascimento nome num numero number nr pai pessoa pessoal pessoais principal ' +
    'residencial secundario social sobre tipo titular trabalhador user'
  ).split(' '),
);

/** Longer ones are nobody's word: what has a mark anywhere in it counts. */
const longestWord = 40;

/** Marks and companions by their first letter. */
type Lexicon = ReadonlyMap<string, readonly { part: string; isMark: boolean }[]>;
const lexicons = new WeakMap<readonly string[], Lexicon>();

function lexiconOf(personal: readonly string[]): Lexicon {
  const known = lexicons.get(personal);
  if (known !== undefined) return known;
  const marks = new Set(personal.filter((mark) => mark !== ''));
  const parts = [...new Set([...marks, ...companions])].map((part) => ({ part, isMark: marks.has(part) }));
  const made = Map.groupBy(parts, ({ part }) => part[0]!);
  lexicons.set(personal, made);
  return made;
}

/**
 * Whether the word is a mark, or is put together of marks and companions alone: `numeroconta` is, `descontado` and `episodio` are
 * not, though `conta` and `pis` are in them. A plural and a number at the end count with their word.
 */
function isPersonalWord(word: string, personal: readonly string[]): boolean {
  const bare = word.replace(/\d+$/, '');
  if (bare.length > longestWord) return personal.some((mark) => mark.length > 2 && bare.includes(mark));
  const lexicon = lexiconOf(personal);
  // Up to each place: whether words end there, and whether a mark is among them.
  const ends: ({ marked: boolean } | undefined)[] = [{ marked: false }];
  for (let start = 0; start < bare.length; start += 1) {
    const before = ends[start];
    if (before === undefined) continue;
    for (const { part, isMark } of lexicon.get(bare[start]!) ?? []) {
      if (!bare.startsWith(part, start)) continue;
      const end = start + part.length;
      const marked = before.marked || isMark;
      ends[end] = { marked: ends[end]?.marked === true || marked };
      if (isMark && bare[end] === 's') ends[end + 1] = { marked: true };
    }
  }
  return ends[bare.length]?.marked === true;
}

/** Whether a key's name says that its value is about a person. */
export function isPersonalKey(mapping: RequestMapping, key: string): boolean {
  const known = mapping.personalKeys.get(key);
  if (known !== undefined) return known;
  const personal = bareKey(key).includes('cpf') || wordsOf(key).some((word) => isPersonalWord(word, mapping.personal));
  if (key.length > longestKept) return personal;
  if (mapping.personalKeys.size >= maxPersonalKeys) mapping.personalKeys.clear();
  mapping.personalKeys.set(key, personal);
  return personal;
}
