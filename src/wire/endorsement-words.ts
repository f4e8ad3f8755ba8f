/**
 * What an endorsement is answered, and what is told of it later. The contract shows no answer of its own: it is then the
 * acknowledgement of its siblings, with an error list that is empty on success (contract, Errors 3). All else may be a refusal.
 */
import type { EventShown } from '../domain/flow-records.ts';
import { withoutAccents } from './accents.ts';
import { fieldOf } from './casing.ts';
import { isJsonObject, type JsonObject, type JsonValue, scalarsIn } from './json.ts';
import { readCode } from './plain-ids.ts';
import { reportsError } from './service-errors.ts';

const acknowledgementKeys = new Set(['codigorequisicao', 'origem', 'conteudo', 'erros', 'errors']);
const contentKeys = new Set(['mensagem']);

/** Words of those who take something, and of those who do not; without accents and in small letters. */
const takes =
  /\b(?:ok|sucesso|recebid[oa]|enviad[oa]|encaminhad[oa]|averbad[oa]|registrad[oa]|aceit[oa]|incluid[oa]|solicitad[oa]|processad[oa])\b/;
const denies =
  /\b(?:nao|nunca|sem sucesso|erros?|falha\w*|falhou|recus\w*|reprov\w*|rejei\w*|negad[oa]|indefer\w*|invalid\w*|cancel\w*|impossi\w*|imped\w*|bloque\w*|expir\w*|vencid[oa]|devolv\w*|estorn\w*|desaverb\w*|desfeit\w*|desfaz\w*|suspen\w*|insuficien\w*|diverg\w*|inconsist\w*|incorret\w*|incomplet\w*|exced\w*|indispon\w*|inativ\w*|insucesso|unauthor\w*|forbidden|denied|reject\w*|refus\w*|fail\w*|errors?)\b/;

function plainWords(text: string): string {
  const words = withoutAccents(text).toLowerCase().replaceAll(/[_-]+/g, ' ');
  return words.replaceAll(/\bsem (?:nenhum )?erros?\b/g, ' ');
}

/** Whether it says that the endorsement was taken, and cannot mean anything else. */
export function acknowledgesEndorsement(value: JsonValue): boolean {
  if (!isJsonObject(value) || !hasOnly(value, acknowledgementKeys)) return false;
  const content = fieldOf(value, 'Conteudo') ?? null;
  if (content !== null && !(isJsonObject(content) && hasOnly(content, contentKeys))) return false;
  const lists = ['Erros', 'errors'].map((name) => fieldOf(value, name) ?? null).filter((list) => list !== null);
  if (lists.some((list) => !Array.isArray(list) || list.length > 0)) return false;
  const code = readCode(fieldOf(value, 'CodigoRequisicao'));
  const message = (content === null ? null : fieldOf(content, 'Mensagem')) ?? null;
  // Without a code nothing says what the words are about.
  if (code.kind === 'missing') return lists.length > 0 && message === null;
  if (code.kind === 'wrong') return false;
  if (message === null) return true;
  const words = typeof message === 'string' ? plainWords(message) : '';
  return takes.test(words) && !denies.test(words);
}

/** Each in one spelling. */
function hasOnly(object: JsonObject, known: ReadonlySet<string>): boolean {
  const keys = Object.keys(object).map((key) => key.toLowerCase());
  return new Set(keys).size === keys.length && keys.every((key) => known.has(key));
}

/** Words of an event that tells of an end, beside those of who takes something; and of one that tells of none yet. */
const ends =
  /\b(?:aprovad[oa]|concluid[oa]|confirmad[oa]|efetivad[oa]|efetuad[oa]|realizad[oa]|success\w*|accepted|approved|endorsed)\b/;
const isStillOpen =
  /\b(?:aguard\w*|penden\w*|analise|andamento|processamento|parcial\w*|sera|seja|sendo|pending|processing)\b/;

/**
 * What is told of an endorsement without an error and without a no: a success is a word or a flag that is known for one, or the empty
 * error list of the contract (Errors 3) with no other words. All else may be anything.
 */
export function endorsementShown(value: JsonValue): EventShown {
  if (!isJsonObject(value) || reportsError(value) === null) return 'nothing';
  const payload = fieldOf(value, 'Payload') ?? null;
  const inPayload = isJsonObject(payload) ? payload : {};
  if (reportsError(inPayload) === null) return 'nothing';
  const said = scalarsIn({ payload }, mayBeWords).filter(({ path }) => !namesPerson.test(path.split('.').at(-1)!));
  const words = said.filter(({ text }) => isWords(text)).map(({ text }) => plainWords(text));
  if (words.some((text) => isStillOpen.test(text))) return 'nothing';
  if (reportsDone(payload) || words.some((text) => takes.test(text) || ends.test(text))) return 'success';
  const hasList = [value, inPayload].some((each) =>
    ['Erros', 'errors'].some((name) => Array.isArray(fieldOf(each, name) ?? null)),
  );
  return hasList && words.length === 0 && !saysMore(payload) ? 'success' : 'nothing';
}

/** A flag that nobody knows, or a status that is a number (contract, States: values not shown). */
function saysMore(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(saysMore);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(
    ([key, each]) => each === true || (/status|situa|result/i.test(key) && each !== null) || saysMore(each),
  );
}

/** Codes, days and figures are none. */
function isWords(text: string): boolean {
  const isCode = /\d/.test(text) && !/\s/.test(text.trim());
  return /\p{L}/u.test(text) && !isCode;
}

function reportsDone(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(reportsDone);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, each]) => (doneFlags.test(key) && isYes(each)) || reportsDone(each));
}

function isYes(value: JsonValue): boolean {
  if (value === true) return true;
  const [said] = scalarsIn([value], { longest: 10, most: 1 });
  return said !== undefined && /^(?:true|1|s|sim|yes)$/.test(plainWords(said.text));
}

const mayBeWords = { longest: 2_000, most: 1_000 };

/** Whether what is told of an endorsement says no in any of its words, though it may report no error. */
export function deniesEndorsement(value: JsonValue): boolean {
  const payload = isJsonObject(value) ? (fieldOf(value, 'Payload') ?? null) : null;
  if (payload === null) return false;
  const said = scalarsIn(payload, mayBeWords).filter(({ path }) => !namesPerson.test(path.split('.').at(-1)!));
  return reportsFailure(payload) || said.some(({ text }) => denies.test(plainWords(text)));
}

const namesPerson = /nome|name$/i;

/** Flags that are false where something was not done. */
const doneFlags = /^(?:sucesso|success|ok|averbad[oa]|aceit[oa]|aprovad[oa])$/i;

function reportsFailure(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(reportsFailure);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, each]) => (doneFlags.test(key) && isNo(each)) || reportsFailure(each));
}

function isNo(value: JsonValue): boolean {
  if (value === false) return true;
  const [said] = scalarsIn([value], { longest: 10, most: 1 });
  return said !== undefined && /^(?:false|0|n|nao|no)$/.test(plainWords(said.text));
}

const figureOrWord =
  /^(?:valor|vlr|taxa|cet|iof|parcela|numeroparcelas|percent|indice|sucesso|status|situa|mensagem|message|msg|erro|resultado)/i;

/** Fields of a callback by which a person judges a note or an endorsement; the others may say who the worker is. */
export function isFigureOrWord(key: string): boolean {
  return figureOrWord.test(key) && !namesPerson.test(key);
}
