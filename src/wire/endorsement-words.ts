/**
 * What an endorsement is answered, and what is told of it later. The contract shows no answer of its own: it is then the
 * acknowledgement of its siblings, with an error list that is empty on success (contract, Errors 3). All else may be a refusal.
 */
import type { EventShown } from '../domain/flow-records.ts';
import { withoutAccents } from './accents.ts';
import { fieldOf } from './casing.ts';
import { isJsonObject, type JsonObject, type JsonValue, numberText, parseJson } from './json.ts';
import { namesNothing, readCode } from './plain-ids.ts';
import { reportsErrorWithin } from './service-errors.ts';

const acknowledgementKeys = new Set(['codigorequisicao', 'origem', 'conteudo', 'erros', 'errors']);
const contentKeys = new Set(['mensagem']);

/** Words of those who take something, and of those who do not; without accents and in small letters. */
const takes =
  /\b(?:ok|sucesso|recebid[oa]|enviad[oa]|encaminhad[oa]|averbad[oa]|registrad[oa]|aceit[oa]|incluid[oa]|solicitad[oa]|processad[oa])\b/;
/** What takes an endorsement back denies it too. */
const denies =
  /\b(?:nao|nunca|jamais|sem (?:sucesso|exito|margem|saldo|vinculo)|falso|false|erros?|falha\w*|falhou|recus\w*|reprov\w*|rejei\w*|negad[oa]|indefer\w*|invalid\w*|impossi\w*|imped\w*|bloque\w*|expir\w*|vencid[oa]|devolv\w*|suspen\w*|insuficien\w*|diverg\w*|inconsist\w*|incorret\w*|incomplet\w*|exced\w*|indispon\w*|inativ\w*|insucesso|cancel\w*|estorn\w*|desaverb\w*|desfeit\w*|desfaz\w*|exclu\w*|remov\w*|remoc\w*|revert\w*|revers\w*|revog\w*|anulad[oa]|anulacao|not|never|cannot|unable|unsuccess\w*|unauthor\w*|forbidden|denied|reject\w*|refus\w*|fail\w*|errors?|delet\w*)\b/;
/** `Averbado: N`. */
const deniesByLabel = /\b(?:averbad[oa]|sucesso|success|ok|aprovad[oa]|aceit[oa]|endorsed)\s*[:=]\s*(?:n|no|0)\b/;
/** Said of nothing that is wrong. */
const saysNoneWrong =
  /\b(?:(?:sem|nao (?:ha|houve|existem?))(?: (?:nenhum|nenhuma|qualquer|quaisquer))? (?:erros?|pendencias?|falhas?|ressalvas?|restric(?:ao|oes)|divergencias?|inconsistencias?)|(?:without|no)(?: any)? errors?)\b/g;

function plainWords(text: string): string {
  const words = withoutAccents(text.replaceAll(/\p{Cf}/gu, '')).toLowerCase();
  // What stands between two words by itself parts the sentence; within a word it does not.
  const parted = words
    .replaceAll(/\s[-–—]+\s|[\r\n]+/g, '; ')
    .replaceAll(/[_-]/g, ' ')
    .replaceAll(/\s+/g, ' ');
  return parted.replaceAll(saysNoneWrong, ' ');
}

/** Whether it says that the endorsement was taken, and cannot mean anything else. */
export function acknowledgesEndorsement(value: JsonValue): boolean {
  if (!isJsonObject(value) || !hasOnly(value, acknowledgementKeys)) return false;
  const content = fieldOf(value, 'Conteudo') ?? null;
  if (content !== null && !(isJsonObject(content) && hasOnly(content, contentKeys))) return false;
  const lists = ['Erros', 'errors'].map((name) => fieldOf(value, name) ?? null).filter((list) => list !== null);
  if (lists.some((list) => !Array.isArray(list) || list.length > 0)) return false;
  const code = fieldOf(value, 'CodigoRequisicao');
  const message = (content === null ? null : fieldOf(content, 'Mensagem')) ?? null;
  // Without a code nothing says what the words are about.
  if (namesNothing(code)) return lists.length > 0 && message === null;
  if (readCode(code).kind !== 'value') return false;
  if (message === null) return true;
  const words = typeof message === 'string' ? plainWords(message) : '';
  return takes.test(words) && !denies.test(words);
}

/** Each in one spelling. */
function hasOnly(object: JsonObject, known: ReadonlySet<string>): boolean {
  const keys = Object.keys(object).map((key) => key.toLowerCase());
  return new Set(keys).size === keys.length && keys.every((key) => known.has(key));
}

/** What is told of an endorsement: `nothing` may be anything, and a person looks at it. */
export type EndorsementTold = EventShown | 'denied';

/**
 * Of the whole body, wherever it says something. A no or an error anywhere denies. A success is a word or a flag that is known for one,
 * or the empty error list of the contract (Errors 3) with no other words. All else may be anything.
 */
export function endorsementTold(value: JsonValue): EndorsementTold {
  if (!isJsonObject(value)) return 'nothing';
  const reported = reportsErrorWithin(value);
  const said = saidIn(value);
  if (reported === true || said.has('no')) return 'denied';
  if (reported === null || said.has('unreadable') || said.has('open')) return 'nothing';
  if (said.has('endorsed')) return 'success';
  // A success that does not say of what may be one of the way there.
  if (said.has('on the way') || said.has('unknown message')) return 'nothing';
  if (said.has('done')) return 'success';
  const payload = fieldOf(value, 'Payload') ?? null;
  const hasList = [value, isJsonObject(payload) ? payload : {}].some((each) =>
    ['Erros', 'errors'].some((name) => Array.isArray(fieldOf(each, name) ?? null)),
  );
  return hasList && said.size === 0 ? 'success' : 'nothing';
}

/** What its words say, errors aside: that it is endorsed, that something is done, or neither. */
export function saidBesideErrors(value: JsonValue): 'endorsed' | 'done' | null {
  if (!isJsonObject(value)) return null;
  const left = withoutErrors(value);
  if (endorsementTold(left) !== 'success') return null;
  return saidIn(left).has('endorsed') ? 'endorsed' : 'done';
}

/** Without the lists and the flag of the contract, in the body itself and in what it wraps. */
function withoutErrors(value: JsonObject): JsonObject {
  const left = Object.entries(value).filter(([key]) => !/^(?:erros|errors|haserror)$/i.test(key));
  return Object.fromEntries(
    left.map(([key, inner]) => [
      key,
      isJsonObject(inner) && /^(?:payload|conteudo)$/i.test(key) ? withoutErrors(inner) : inner,
    ]),
  );
}

/** `endorsed`: said of the endorsement itself; `done`: of what it does not say. */
type Said =
  | 'no'
  | 'open'
  | 'endorsed'
  | 'done'
  | 'on the way'
  | 'unknown message'
  | 'unknown'
  | 'unreadable'
  | 'nothing';

const namesPerson = /nome|name$/i;
/** An event, a state or a reason has a name that is none of a person. */
const namesNoPerson = /event|situa|status|result|motiv|etapa|fase|err/i;
/** Of its own in the contract are the flag and the lists (`reportsErrorWithin`). */
const namesError = /^(?!(?:haserror|erros|errors)$).*erro/i;
const noError = /^[ 0.,-]*(?:nenhum|nenhuma|none|null|ok|sucesso|success)?[ .]*$/;
/** `MotivoCancelamento` has a text only where something was cancelled. */
const namesReason = /motiv|reason|justific/i;
const namesCondition = /^(?:is)?_?(?:valid|elegiv|eligib|apt[oa]|ativ[oa]|active)/i;
const namesCode = /^(?:codigo_?requisicao|endpoint)$/i;
const namesDay = /^(?:data|dt|dh|hora)/i;
const namesState = /status|situa|result/i;
const namesMessage =
  /mensag|messag|^msg|status|situa|result|descri|motiv|retorno|ocorr|observ|detalh|reason|texto?$|event|etapa|fase|^payload$/i;

/** Flags that are false where something was not done. */
const doneFlags = /^(?:sucesso|success|ok|averbad[oa]|aceit[oa]|aprovad[oa])$/i;
const endorsedFlags = /^averbad[oa]$/i;

const longestText = 2_000;
const longestFlag = 10;
const mostScalars = 1_000;
const longestName = 200;
/** JSON within a text is looked into so deep. */
const deepestText = 4;
/** A longer one is a hash or a copy. */
const longestCode = 64;

/** All that the fields of a body say; as long as it takes to read. */
function saidIn(value: JsonObject): ReadonlySet<Said> {
  const said = new Set<Said>();
  let scalars = 0;
  /** `isAside`: it stands within something that is another one's, or earlier. */
  const visit = (inner: JsonValue, key: string, depth: number, isAside: boolean): void => {
    if (inner === null || namesCode.test(key) || (namesPerson.test(key) && !namesNoPerson.test(key))) return;
    if (Array.isArray(inner) || isJsonObject(inner)) {
      if (namesState.test(key)) said.add('unknown');
      if (namesError.test(key) && Object.keys(inner).length > 0) said.add('open');
      const isWithin = isAside || isOpen.test(wordsOfName(key));
      for (const [name, each] of Object.entries(inner)) {
        if (!Array.isArray(inner) && name.length > longestName) said.add('unreadable');
        else visit(each, Array.isArray(inner) ? key : name, depth, isWithin);
      }
      return;
    }
    scalars += 1;
    if (scalars > mostScalars) said.add('unreadable');
    else if (typeof inner === 'boolean') add(saidByFlag(key, inner), isAside);
    else read((typeof inner === 'string' ? inner : numberText(inner)).trim(), key, depth, isAside);
  };
  const add = (each: Said, isAside: boolean) => {
    said.add(isAside && (each === 'endorsed' || each === 'done') ? 'unknown' : each);
  };
  const read = (text: string, key: string, depth: number, isAside: boolean): void => {
    if (text === '') return;
    if (text.length > longestText) {
      said.add('unreadable');
    } else if (/^[[{"]/.test(text)) {
      const within = depth < deepestText ? parseJson(text) : null;
      const reported = within?.kind === 'parsed' ? reportsErrorWithin(within.value) : null;
      if (reported !== false) said.add(reported === null ? 'unreadable' : 'no');
      if (within?.kind === 'parsed') visit(within.value, key, depth + 1, isAside);
    } else {
      add(saidByField(key, text), isAside);
    }
  };
  visit(value, '', 0, false);
  said.delete('nothing');
  return said;
}

function saidByField(key: string, text: string): Said {
  const flag = flagIn(text);
  const name = wordsOfName(key);
  const isReason = namesReason.test(key) && (denies.test(name) || isOpen.test(name));
  if (namesError.test(key) || isReason) {
    if (flag === false || noError.test(plainWords(text))) return 'nothing';
    return denies.test(name) || namesError.test(key) ? 'no' : 'open';
  }
  const isNo = denies.test(name);
  // A figure is one where the name of the field says what it would mean.
  const isFlag = doneFlags.test(key) || isNo || isOpen.test(name) || endorsed.test(name) || !/\d/.test(text);
  if (flag !== null && isFlag) return saidByFlag(key, flag, true);
  // `dataCancelamento` has a day only where something was cancelled, or may be.
  if (isNo && !noError.test(plainWords(text))) return saidByText(text, true) === 'no' ? 'no' : 'open';
  const said = saidByText(text, !namesDay.test(key) && (namesMessage.test(key) || doneFlags.test(key)));
  // Such as `situacaoAnterior`.
  return (said === 'endorsed' || said === 'done') && isOpen.test(name) ? 'unknown' : said;
}

function wordsOfName(key: string): string {
  return plainWords(key.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' '));
}

/** Null: it is none. */
function flagIn(text: string): boolean | null {
  if (text.length > longestFlag) return null;
  const plain = plainWords(text);
  if (/^(?:true|1|s|sim|yes)$/.test(plain)) return true;
  return /^(?:false|0|n|nao|no)$/.test(plain) ? false : null;
}

/** The name of a flag is what it says: `contratoCancelado`. A no in words denies, unless it is said of a denial. */
function saidByFlag(key: string, isSet: boolean, inWords = false): Said {
  if (doneFlags.test(key)) return !isSet ? 'no' : endorsedFlags.test(key) ? 'endorsed' : 'done';
  const name = wordsOfName(key);
  if (denies.test(name)) return isSet ? 'no' : 'nothing';
  if (isOpen.test(name) || ofProcess.test(name)) return isSet ? 'open' : 'nothing';
  if (!isSet) return inWords || namesCondition.test(key) || endorsed.test(name) || done.test(name) ? 'no' : 'nothing';
  if (onTheWay.test(name)) return 'on the way';
  return namesMessage.test(key) ? 'unknown message' : 'unknown';
}

function saidByText(text: string, isMessage: boolean): Said {
  if (!isMessage && /^(?:https?:\/)?\/\S*$/i.test(text)) return 'nothing';
  // Codes, days and figures are no words, but a code may have some.
  if (!/\p{L}/u.test(text) || (!isMessage && /\d/.test(text) && !/\s/.test(text))) {
    if (isMessage) return 'unknown message';
    const words = text.length > longestCode ? '' : plainWords(text).replaceAll(/\d+/g, ' ');
    if (denies.test(words)) return 'no';
    return isOpen.test(words.replaceAll(/\b\w{1,4}\b/g, '')) ? 'open' : 'nothing';
  }
  const said = saidByWords(text);
  return said === 'unknown' && isMessage ? 'unknown message' : said;
}

// --- Sentences ------------------------------------------------------------------------------------------------------

const endorsed = /\b(?:averbad[oa]|endorsed)\b/;
const done =
  /\b(?:ok|sucesso|exito|aprovad[oa]|concluid[oa]|finalizad[oa]|confirmad[oa]|efetivad[oa]|efetuad[oa]|realizad[oa]|success\w*|approved|completed|concluded|confirmed)\b/;
/** Of the endorsement or the contract it is an end; of anything else one on the way to it. */
const doneOfEndorsement = /\b(?:aceit[oa]|incluid[oa]|registrad[oa]|accepted|registered)\b/;
const ofEndorsement = /\b(?:averbacao|endorsement)\b/;
const ofContract = /\b(?:averbacao|endorsement|contrato|contract|ccb)\b/;

/** Whatever else the clause says, it speaks of no end, of a condition, or of another contract. */
const isOpen =
  /\b(?:aguard\w*|penden\w*|em (?:analise|andamento|processamento|fila|breve)|parcial\w*|sera|serao|seja|ser|seria|ira|irao|vai|vao|pode|podera|deve|devera|ainda|quase|previst[oa]s?|falta\w*|agend\w*|program\w*|tentativas?|a (?:confirmar|validar|verificar|conferir|analisar)|verifi\w*|conf(?:ira|erir)|corri[gj]\w*|regulari\w*|reenvi\w*|refa[zc]\w*|(?:zero|0+) (?:contratos?|averbacao|averbacoes)|retentativa|reprocess\w*|reti[dv]\w*|retencao|se|caso|quando|apos|enquanto|mediante|condicion\w*|sujeit[oa]|mas|porem|contudo|entretanto|todavia|embora|exceto|salvo|outr[oa]s?|anterior\w*|antig\w*|nenhuma?|negativ[oa]s?|terceir[oa]s?|duplic\w*|baixa\w*|liquidad[oa]|liquidacao|quitad[oa]|quitacao|encerrad[oa]|encerramento|rescin\w*|rescis\w*|distrat\w*|desist\w*|cessad[oa]|cessacao|interromp\w*|interrup\w*|extint[oa]|extincao|retirad[oa]|nul[oa]|ressalva\w*|restri\w*|indevid\w*|engano|equivoc\w*|contest\w*|fraud\w*|menor|inferior|diferente|testes?|homolog\w*|simul\w*|\w+[aei]ndo|pending|processing|in (?:progress|process)|await\w*|waiting|queued|scheduled|partial\w*|will|to be|being|should|may|must|if|when|until|after|but|however|other|another|retry\w*|revok\w*)\b/;
/** What goes on until an end of it is said. */
const ofProcess = /\b(?:analise|andamento|processamento)\b/;
/** What is taken, sent or checked is not endorsed yet. */
const onTheWay =
  /\b(?:recebid[oa]|recebimento|enviad[oa]|envio|encaminhad[oa]|encaminhamento|solicitad[oa]|solicitacao|pedido|requisicao|protocol\w*|transmitid[oa]|submetid[oa]|registrad[oa]|registro|cadastrad[oa]|cadastro|processad[oa]|iniciad[oa]|gerad[oa]|geracao|criad[oa]|incluid[oa]|aceit[oa]|validad[oa]|validacao|assinad[oa]|assinatura|biometria|consulta|simulacao|analise|processamento|received|sent|submitted|requested|request|registered|accepted|processed|created|signed|validated)\b/;
/** What comes after an endorsement may still be to come. */
const ofWhatFollows =
  /\b(?:desconto|descontad[oa]|pagamento|repasse|credito|parcelas?|deposito|folha|payment|deduction)\b/;
const ofWhatPrecedes = /averb|contrat|ccb|endors|analis|confirm|aprov|valid|convenio|emprega|margem/;
/** Where, by whom and under which number something is done; and a name before a colon. */
const circumstances =
  /\b(?:(?:pel[oa]|por|n[oa]|em|d[oa]|ao) (?:convenio|empregador|banco|dataprev|sistema|leilao|folha(?: de pagamento)?)|d[oa] trabalhadora?|de credito(?: bancario| consignado)?|numero (?=\d)|(?:no )?(?:dia|data) (?=\d)|by the (?:employer|bank))\b|^ ?(?:status|situacao|resultado|mensagem|retorno) ?$/g;
/** Words that change nothing of what is said of the contract. */
const harmless = new Set(
  `a o as os um uma de do da dos das em na no ao e com para pelo pela por seu sua este esta esse essa foi sido tem contrato contratos ccb
  cedula averbacao operacao processo transacao emprestimo consignado consignacao nº n nr nro num the this of contract loan endorsement
  operation transaction has been was is were by on at in with`.split(/\s+/),
);
/** What is not written in letters of its language, or asks. */
const isGarbled = /\?|\uFFFD|Ã[\u0080-\u00BF]|&#?\w{1,10};|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}%[0-9a-f]{2}/i;
const clauseEnd = /[.,;:!=()[\]|/>]+|\be (?=(?:[oa] )?(?:contrato|averbacao|ccb|operacao|emprestimo)\b)/;

/** A completed word governs its own clause, and only where it speaks of the endorsement or of nothing else. */
function saidByWords(text: string): Said {
  // `PENDENTE01` says pending.
  const plain = plainWords(text).replaceAll(/(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu, ' ');
  if (denies.test(plain) || deniesByLabel.test(plain)) return 'no';
  if (isGarbled.test(text)) return 'open';
  const clauses = new Set(
    plain
      .split(clauseEnd)
      .filter((clause) => /\p{L}/u.test(clause))
      .map(saidByClause),
  );
  if (clauses.has('open')) return 'open';
  if (clauses.has('endorsed')) return 'endorsed';
  if (clauses.has('on the way')) return 'on the way';
  return clauses.has('unknown') || !clauses.has('done') ? 'unknown' : 'done';
}

function saidByClause(clause: string): Said {
  if (isOpen.test(clause)) return ofWhatFollows.test(clause) && !ofWhatPrecedes.test(clause) ? 'nothing' : 'open';
  const isDone = done.test(clause);
  const isProcess = ofProcess.test(clause);
  if (isProcess && !isDone) return 'open';
  const said = endorsed.exec(clause);
  if (said !== null) return isHarmless(clause.slice(0, said.index)) ? 'endorsed' : 'unknown';
  // The process that ended well is the one that the event is about; an analysis is another.
  const ended = /\bprocessamento\b.*\b(?:sucesso|exito)\b/.test(clause) ? clause.replace('processamento', '') : clause;
  if (ended !== clause && isHarmless(ended)) return 'done';
  const isDoneOfIt = doneOfEndorsement.test(clause) && ofContract.test(clause);
  if (isDoneOfIt && !isDone && isHarmless(clause)) return ofEndorsement.test(clause) ? 'endorsed' : 'unknown';
  if (onTheWay.test(clause) && !(isDoneOfIt && ofEndorsement.test(clause) && isHarmless(clause))) return 'on the way';
  // A contract that is finished may be one that is over.
  if (
    /\b(?:finalizad[oa]|concluid[oa])\b/.test(clause) &&
    !ofEndorsement.test(clause) &&
    /\b(?:contrato|ccb)\b/.test(clause)
  ) {
    return /\b(?:sucesso|exito)\b/.test(clause) && isHarmless(clause) ? 'done' : 'unknown';
  }
  if (isDone && isHarmless(clause)) return ofEndorsement.test(clause) ? 'endorsed' : 'done';
  return isHarmless(clause) ? 'nothing' : 'unknown';
}

function isHarmless(words: string): boolean {
  return (words.replaceAll(circumstances, ' ').match(/[\p{L}\p{N}]+/gu) ?? []).every(
    (word) => harmless.has(word) || /\d/.test(word) || done.test(word) || doneOfEndorsement.test(word),
  );
}

const figureOrWord =
  /^(?:valor|vlr|taxa|cet|iof|parcela|numeroparcelas|percent|indice|sucesso|status|situa|mensagem|message|msg|erro|resultado)/i;

/** Fields of a callback by which a person judges a note or an endorsement; the others may say who the worker is. */
export function isFigureOrWord(key: string): boolean {
  return figureOrWord.test(key) && !namesPerson.test(key);
}
