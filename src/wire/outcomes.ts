/**
 * What the service's answer to a bid means. The contract shows one of six shapes; the others are told by an editable
 * table (`config/outcomes.json`). What the table does not know is `rejected(unclassified)`, or open where it names a code or is a conflict; kept whole
 * and alerted.
 */

import { z } from 'zod';
import { type AnswerDoubt, type BidOutcome, refusedInDoubt } from '../domain/offer.ts';
import { canonicalCode } from '../domain/request-codes.ts';
import { withoutAccents } from './accents.ts';
import { fieldOf } from './casing.ts';
import { withoutBareCpf } from './hidden-cpf.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts';
import { namesNothing, readCode, shownId } from './plain-ids.ts';
import { reportsError } from './service-errors.ts';

const outcomeNames = [
  'accepted-outside',
  'duplicate',
  'request-not-found',
  'request-expired',
  'validity-too-long',
  'unclassified',
] as const;
type OutcomeName = (typeof outcomeNames)[number];

const rowSchema = z.strictObject({
  outcome: z.enum(outcomeNames),
  /** Statuses such as 409, or classes such as "4xx"; absent means any that is not 5xx. */
  statuses: z
    .array(z.union([z.int().min(200).max(499), z.enum(['2xx', '4xx'])]))
    .min(1)
    .optional(),
  codes: z.array(z.string().min(1)).optional(),
  texts: z.array(z.string().min(3)).optional(),
});

const tableSchema = z.strictObject({
  $comment: z.string().optional(),
  /** Keys, in any case, whose values are codes or messages of the service. Nothing else of an answer is searched. */
  messageKeys: z.array(z.string().min(1)).min(1),
  /** Messages that are the same for every worker. Absent: none is known. */
  harmlessTexts: z.array(z.string().min(1).max(200)).max(100).optional(),
  rows: z
    .array(rowSchema)
    .refine(
      (rows) => rows.every((row) => row.statuses !== undefined || row.codes !== undefined || row.texts !== undefined),
      'a row needs statuses, codes or texts',
    ),
});

type Row = {
  outcome: OutcomeName;
  statuses: readonly (number | string)[] | null;
  codes: readonly string[];
  texts: readonly string[];
};
export type OutcomeTable = {
  messageKeys: ReadonlySet<string>;
  /** As they are written: another case is another text. */
  harmlessTexts: ReadonlySet<string>;
  rows: readonly Row[];
};

/** Reads the table's file; every problem at once. */
export function readOutcomeTable(
  content: unknown,
): { kind: 'read'; table: OutcomeTable } | { kind: 'refused'; problems: readonly string[] } {
  const result = tableSchema.safeParse(content);
  if (!result.success) {
    return {
      kind: 'refused',
      problems: result.error.issues.map((issue) => `/${issue.path.join('/')}: ${issue.message}`),
    };
  }
  const rows = result.data.rows.map((row) => ({
    outcome: row.outcome,
    statuses: row.statuses ?? null,
    codes: (row.codes ?? []).map(fold),
    texts: (row.texts ?? []).map(fold),
  }));
  const { messageKeys, harmlessTexts = [] } = result.data;
  return {
    kind: 'read',
    table: { messageKeys: new Set(messageKeys.map(fold)), harmlessTexts: new Set(harmlessTexts), rows },
  };
}

const accented = /[^\0-\x7f]/;

/** Case and accents do not matter: services change them between versions. Most keys and texts have no accent to take off. */
function fold(text: string): string {
  if (!accented.test(text)) return text.toLowerCase();
  return withoutAccents(text).toLowerCase();
}

const foldedTexts = new Map<string, string>();
const maxFoldedTexts = 500;
/** Longer ones are not kept: a text may be as long as the answer. */
const longestKept = 100;

/** The same keys come with every answer, and most often the same message. */
function folded(text: string): string {
  if (text.length > longestKept) return fold(text);
  const known = foldedTexts.get(text);
  if (known !== undefined) return known;
  const made = fold(text);
  if (foldedTexts.size >= maxFoldedTexts) foldedTexts.clear();
  foldedTexts.set(text, made);
  return made;
}

type AnswerOutcome =
  | Exclude<BidOutcome, { kind: 'unknown' }>
  | { kind: 'unknown'; reason: AnswerDoubt | typeof refusedInDoubt };

/**
 * What an answer means, and every code that it gives: the service tells of the bid under any of them later. `isHarmless`: it
 * says nothing of any person, so it may be stored as it came.
 */
export type ReadBidAnswer = { outcome: AnswerOutcome; codes: readonly string[]; isHarmless: boolean };

const codeKeys: ReadonlySet<string> = new Set(['codigorequisicao', 'codigolanceleilao']);
const bidKeys: ReadonlySet<string> = new Set(['codigolanceleilao']);
/** Of one answer; the contract gives two. */
const mostCodes = 8;

/**
 * What stands where the codes of the call and of the bid do, wherever an answer holds them: of a refusal the contract shows no shape.
 * They are equal within an auction and differ outside of it (contract, incluir-lance and Events 2), and an answer of any meaning may
 * be followed by events under the code of its call.
 */
function codeFields(value: JsonValue, keys = codeKeys): readonly JsonValue[] {
  const found: JsonValue[] = [];
  // What stands further up comes first: of many codes the last are left out.
  for (let level: readonly JsonValue[] = [value]; level.length > 0; ) {
    const below: JsonValue[] = [];
    for (const each of level) {
      if (Array.isArray(each)) for (const item of each) below.push(item);
      else if (isJsonObject(each)) {
        for (const [key, inner] of Object.entries(each)) (keys.has(key.toLowerCase()) ? found : below).push(inner);
      }
    }
    level = below;
  }
  return found;
}

/** Of a harmless answer, which is the one of the contract and by far the most frequent, both places are known. */
function fieldsOfSuccess(value: JsonValue): readonly JsonValue[] {
  const { CodigoRequisicao: call, Conteudo: content } = value as JsonObject;
  const bid = isJsonObject(content ?? null) ? (content as JsonObject).CodigoLanceLeilao : undefined;
  return [call, bid].filter((field) => field !== undefined);
}

function codesIn(fields: readonly JsonValue[]): readonly string[] {
  const told = fields.map(readCode);
  return [...new Set(told.flatMap((reading) => (reading.kind === 'value' ? reading.value : [])))].slice(0, mostCodes);
}

/** A code that cannot be read is one, too. */
function namesCode(value: JsonValue, keys = codeKeys): boolean {
  return codeFields(value, keys).some((code) => !namesNothing(code));
}

/**
 * What one answer means. 401 and 429 are the client's business before this is asked. `unknown` means that the bid may have
 * landed: a failure of the server, a redirect, a time-out it reports, a success that cannot be read, a success that gives the code of
 * the bid beside a refusal, or a refusal in words that nobody knows that is a conflict or stands beside the code of a bid or of a
 * call that was taken in.
 */
export function readBidAnswer(table: OutcomeTable, status: number, bodyText: string): ReadBidAnswer {
  const known = readByForm(table, status, bodyText);
  if (known !== null) return known;
  const parsed = parseJson(bodyText);
  const value = parsed.kind === 'parsed' ? parsed.value : null;
  const isPlain = isHarmless(table, bodyText, value);
  const outcome = outcomeOf(table, status, bodyText, value);
  if (isPlain && outcome.kind === 'accepted') learnForm(table, status, bodyText, value as JsonObject);
  return {
    outcome,
    codes: codesIn(isPlain ? fieldsOfSuccess(value) : codeFields(value)),
    isHarmless: isPlain,
  };
}

/**
 * How a harmless success is written around its two codes. The next one of the same status differs in the codes alone, so it needs no
 * parsing: most answers to bids are like this.
 */
type SuccessForm = { status: number; parts: readonly [string, string, string]; bidIsFirst: boolean };

const successForms = new WeakMap<OutcomeTable, SuccessForm[]>();
/** Services write the answer in one way, or in few. */
const mostForms = 4;
const uuidLength = 36;

function learnForm(table: OutcomeTable, status: number, bodyText: string, value: JsonObject): void {
  const forms = successForms.get(table) ?? [];
  // Codes that the table reads as messages decide about the outcome.
  if (forms.length === mostForms || [...codeKeys].some((key) => table.messageKeys.has(key))) return;
  const parts = bodyText.split(anyUuid);
  if (parts.length !== 3) return;
  const [call, bid] = fieldsOfSuccess(value);
  const codes = bodyText.match(anyUuid)!;
  const bidIsFirst = Object.keys(value).indexOf('Conteudo') < Object.keys(value).indexOf('CodigoRequisicao');
  if (codes[bidIsFirst ? 1 : 0] !== call || codes[bidIsFirst ? 0 : 1] !== bid) return;
  forms.push({ status, parts: parts as [string, string, string], bidIsFirst });
  successForms.set(table, forms);
}

function readByForm(table: OutcomeTable, status: number, bodyText: string): ReadBidAnswer | null {
  for (const { status: ofForm, parts, bidIsFirst } of successForms.get(table) ?? []) {
    const [before, between, after] = parts;
    const second = before.length + uuidLength + between.length;
    if (status !== ofForm || bodyText.length !== second + uuidLength + after.length) continue;
    if (!bodyText.startsWith(before) || !bodyText.startsWith(between, second - between.length)) continue;
    if (!bodyText.endsWith(after)) continue;
    const codes = [bodyText.substr(before.length, uuidLength), bodyText.substr(second, uuidLength)];
    const [one, other] = codes as [string, string];
    if (!isUuid(one) || (other !== one && !isUuid(other))) continue;
    const bidId = bidIdIn(bidIsFirst ? one : other);
    if (bidId === null) continue;
    if (bidIsFirst) codes.reverse();
    return { outcome: { kind: 'accepted', bidId }, codes: codesIn(codes), isHarmless: true };
  }
  return null;
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const anyUuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
/** Of the successful answer (contract, incluir-lance): what may stand under each key for the answer to be harmless. */
const harmlessKeys: Readonly<Record<string, (value: JsonValue, table: OutcomeTable) => boolean>> = {
  CodigoRequisicao: isUuid,
  Origem: (value) => value === '/contrato/oferta-leilao/incluir-lance',
  Conteudo: (value, table) => isJsonObject(value) && isHarmlessObject(value, table, harmlessContent),
  HasError: (value) => typeof value === 'boolean',
  Erros: (value) => value === null || (Array.isArray(value) && value.length === 0),
};
const harmlessContent: typeof harmlessKeys = {
  CodigoLanceLeilao: isUuid,
  Mensagem: (value, { harmlessTexts }) => typeof value === 'string' && harmlessTexts.has(value),
};
/** No harmless answer is longer. */
const longestHarmless = 1_000;

function isUuid(value: JsonValue): boolean {
  return typeof value === 'string' && uuid.test(value) && withoutBareCpf(value) === value;
}

function isHarmlessObject(object: JsonObject, table: OutcomeTable, keys: typeof harmlessKeys): boolean {
  for (const key of Object.keys(object)) {
    if (!Object.hasOwn(keys, key) || !keys[key]!(object[key]!, table)) return false;
  }
  return true;
}

function isHarmless(table: OutcomeTable, bodyText: string, value: JsonValue): boolean {
  if (bodyText.length > longestHarmless || !isJsonObject(value)) return false;
  // Written again it is the same: nothing is hidden in a key that stands twice.
  return isHarmlessObject(value, table, harmlessKeys) && JSON.stringify(value) === bodyText;
}

function outcomeOf(table: OutcomeTable, status: number, bodyText: string, value: JsonValue): AnswerOutcome {
  if (status >= 500) return { kind: 'unknown', reason: `status-${status}` };
  if (status < 200 || (status >= 300 && status < 400) || status === 408 || status === 425) {
    return { kind: 'unknown', reason: `status-${status}` };
  }
  const said: string[] = [];
  if (value === null) said.push(fold(bodyText.slice(0, 4_000)));
  else collect(value, table.messageKeys, false, said);
  const row = table.rows.find((candidate) => matches(candidate, status, said));
  const bidId = bidIdOf(value);
  if (status < 300) {
    if (value === null) return { kind: 'unknown', reason: 'unreadable-success' };
    if (row?.outcome === 'accepted-outside') return { kind: 'accepted-outside', bidId };
    const failed = reportsError(value);
    // It may have landed or not: the same bytes again tell.
    if (failed === null) return { kind: 'unknown', reason: 'unreadable-success' };
    if (!failed) {
      if (bidId !== null && row === undefined) return { kind: 'accepted', bidId };
      if (row === undefined) return { kind: 'unknown', reason: 'unreadable-success' };
    }
  }
  if (status < 300 && row !== undefined && namesCode(value, bidKeys)) return besideBid(row.outcome);
  return rejection(row?.outcome ?? 'unclassified', status === conflict || namesCode(value));
}

/** A success by its status that gives the code of the bid, beside words of a refusal, says both. */
function besideBid(outcome: OutcomeName): AnswerOutcome {
  return outcome === 'duplicate' ? { kind: 'duplicate' } : { kind: 'unknown', reason: refusedInDoubt };
}

const conflict = 409;

/**
 * Words that the table knows count as the table says, whatever stands beside them in an answer that is no success: a service may give
 * each of its answers a code, and late refusals would keep the room of a day. `mayStand`: beside words that nobody knows there is a sign that a bid stands.
 */
function rejection(outcome: OutcomeName, mayStand: boolean): AnswerOutcome {
  if (outcome === 'duplicate') return { kind: 'duplicate' };
  const code = outcome === 'accepted-outside' ? 'unclassified' : outcome;
  return code === 'unclassified' && mayStand ? { kind: 'unknown', reason: refusedInDoubt } : { kind: 'rejected', code };
}

function matches(row: Row, status: number, said: readonly string[]): boolean {
  const statusFits =
    row.statuses?.some((wanted) => wanted === status || wanted === `${Math.floor(status / 100)}xx`) ?? true;
  if (!statusFits) return false;
  if (row.codes.length === 0 && row.texts.length === 0) return true;
  return said.some((text) => row.codes.includes(text) || row.texts.some((wanted) => text.includes(wanted)));
}

/** All codes and messages of an answer: texts and numbers at or below the message keys. */
function collect(value: JsonValue, keys: ReadonlySet<string>, inside: boolean, said: string[]): void {
  if (typeof value === 'string' || typeof value === 'number') {
    if (inside) said.push(folded(String(value)));
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, keys, inside, said);
  } else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) collect(inner, keys, inside || keys.has(folded(key)), said);
  }
}

function bidIdOf(value: JsonValue): string | null {
  const content = isJsonObject(value) ? fieldOf(value, 'Conteudo') : undefined;
  const bidId = isJsonObject(content) ? fieldOf(content, 'CodigoLanceLeilao') : undefined;
  return typeof bidId === 'string' ? bidIdIn(bidId) : null;
}

function bidIdIn(code: string): string | null {
  const bidId = code.trim();
  return bidId === '' ? null : shownId(canonicalCode(bidId));
}
