/** From an intent read back to the answer as a record: sends the intent's bytes, and nothing else. */
import type { Clock } from '../domain/clock.ts';
import type { FlowAnswered, FlowResult, LoanFigure, ProposalSaid } from '../domain/flow-records.ts';
import type { FlowOperationState, FlowState } from '../domain/flow-states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { withoutAccents } from '../wire/accents.ts';
import { saidBesideErrors } from '../wire/endorsement-words.ts';
import { parseJson } from '../wire/json.ts';
import {
  type AnswerOf,
  type OperationName,
  type OperationResult,
  type Prepared,
  refusedWithCode,
} from '../wire/operations.ts';
import { shownCode, shownError } from '../wire/plain-ids.ts';
import type { ServiceError } from '../wire/service-errors.ts';
import { isToldOfAsked, type ProposalRecord, simulationProblemOfAsked, unusableIn } from '../wire/withdrawals.ts';
import { attemptsOf, type Contradiction } from './fold-answers.ts';
import type { LoanService } from './ports.ts';
import { type ForeignSplits, foreignSplits } from './shown-payments.ts';
import { alreadyEndorsed, alreadyFinalised, readsOnly } from './transitions.ts';

/** What is sent of an intent, and what binds it. */
type Intent = Pick<NonNullable<FlowOperationState['intent']>, 'intentId' | 'path' | 'idempotencyKey' | 'sealedBody'>;

export function isSameIntent(one: Intent, other: Intent): boolean {
  const isSame = one.intentId === other.intentId && one.path === other.path && one.sealedBody === other.sealedBody;
  return isSame && one.idempotencyKey === other.idempotencyKey;
}

type FlowSender = {
  /** `body`: the intent's bytes, opened. Null: it is being sent already. */
  send: (state: FlowState, body: string, mayWrite: () => boolean) => Promise<FlowAnswered | null>;
  /** This process appends an intent: until the partition goes, nobody else can send it. */
  wrote: (intent: Intent) => void;
  /** These are the bytes of an intent that this process wrote, and nobody else can have sent. */
  isOwn: (intent: Intent) => boolean;
  /** Partitions have gone, and may come back: others may have sent whatever has a key. */
  partitionsGone: () => void;
  /** This process has sent the intent, or is at it. */
  tried: (intentId: string) => boolean;
  forget: (intentId: string) => void;
  count: () => number;
};

export function createFlowSender(parts: {
  instance: string;
  service: LoanService;
  vault: Vault;
  clock: Clock;
  /** How often one operation with a key may be written in all. */
  keyedAttempts: number;
  onAnswer: () => void;
}): FlowSender {
  const { instance, service, vault, clock } = parts;
  const sending = new Set<string>();
  const tried = new Set<string>();
  /** Intents written here that nobody else can have sent. */
  const ownAlone = new Map<string, Intent>();

  async function send(state: FlowState, body: string, mayWrite: () => boolean): Promise<FlowAnswered | null> {
    const { operation, slot, intent, unknowns } = state.operation!;
    const { intentId, path, idempotencyKey } = intent!;
    if (sending.has(intentId)) return null;
    sending.add(intentId);
    const before = tried.has(intentId) || unknowns > 0;
    tried.add(intentId);
    const prepared: Prepared = {
      ...{ operation, operationId: `${state.flowId}:${slot}`, path, idempotencyKey },
      body,
    };
    const result = await service.perform(
      prepared,
      mayWrite,
      Math.max(1, parts.keyedAttempts - attemptsOf(state.operation!)),
    );
    sending.delete(intentId);
    parts.onAnswer();
    const heard = result.kind === 'not-sent' ? null : result;
    const othersMayHaveSent = !ownAlone.has(intentId);
    return {
      ...{ kind: 'answered', flowId: state.flowId, at: clock.now(), intentId, operation, instance },
      result: resultOf(prepared, result, (answer) => foreignSplits(state, answer, vault.open)),
      earlierAttemptPossible: before || othersMayHaveSent,
      othersMayHaveSent,
      firstByteAt: heard?.firstByteAt ?? null,
      ...(result.attempts === undefined ? {} : { attempts: result.attempts }),
      status: heard?.response?.status ?? null,
      sealedAnswer:
        heard === null || heard.response === null
          ? null
          : vault.seal(sealedPlaces.flowAnswer(state.flowId), heard.response.body),
    };
  }

  return {
    send,
    wrote: ({ intentId, path, idempotencyKey, sealedBody }) =>
      ownAlone.set(intentId, { intentId, path, idempotencyKey, sealedBody }),
    isOwn: (intent) => {
      const written = ownAlone.get(intent.intentId);
      return written !== undefined && isSameIntent(written, intent);
    },
    partitionsGone: () => ownAlone.clear(),
    tried: (intentId) => tried.has(intentId),
    forget: (intentId) => {
      tried.delete(intentId);
      ownAlone.delete(intentId);
    },
    count: () => sending.size,
  };
}

/** The contract shows no codes of refusals; the words are Portuguese whatever the code is. */
const saysEndorsed = /\bj[aá][ _-]?averbad[oa]\b|_ja_?averbad[oa]/i;
const saysFinalised =
  /\bj[aá][ _-]?(?:(?:foi|est[aá]|se encontra|encontra-se)[ _-])?finalizad[oa]\b|_ja_?(?:foi_?|esta_?)?finalizad[oa]/i;
const doneAlready: { readonly [O in OperationName]?: { words: RegExp; code: string } } = {
  endorsement: { words: saysEndorsed, code: alreadyEndorsed },
  finalisation: { words: saysFinalised, code: alreadyFinalised },
};

/**
 * Said of what lends: another one could be a second loan. Without accents and in small letters. That something exists already may be
 * said of anything; the other words only of what lends, right beside them: workers, accounts and margins are registered too.
 */
const lent =
  '(?:(?:contrato|proposta|emprestimo|ccb)s?|(?:operac|solicitac|averbac|renegociac|requisic|inclus)(?:ao|oes))';
const isThere =
  'ja[ _-]?(?:(?:foi|foram|esta|estao|se encontra|se encontram)[ _-])?(?:cadastrad|incluid|registrad)[ao]s?';
const saysThere: readonly RegExp[] = [
  /(?:\b|_)ja[ _-]?exist(?:e|em|entes?)(?![a-z])|\balready exists?\b/,
  new RegExp(`${lent}[ _-]?(?:em[ _-])?duplic(?:ad[ao]s?|idade)`),
  new RegExp(`\\bduplicidade[ _-]d[aeo]s?[ _-]${lent}(?![a-z])`),
  // With a number between them at most.
  new RegExp(`(?:\\b|_)${lent}[ _-](?:(?:n[oº°.]* ?)?\\d+[ ,]*)?${isThere}(?![a-z])`),
  new RegExp(`(?:\\b|_)${isThere}[ _-](?:(?:a|o|as|os|uma?|ess[ae]|est[ae]) )?${lent}(?![a-z])`),
  new RegExp(`^\\W*${isThere}\\W*$`),
  new RegExp(`(?:\\b|_)${lent}[ _-]existentes?(?![a-z])(?!,? (?:nao|sem)\\b)`),
];
const lends: ReadonlySet<OperationName> = new Set(['contract', 'renegotiation', 'endorsement', 'inclusion']);

/** A conflict says so whatever its words are. */
function isSaidToExist(operation: OperationName, status: number | null, words: readonly (string | null)[]): boolean {
  if (readsOnly(operation)) return false;
  if (status === conflict) return true;
  if (!lends.has(operation)) return false;
  const plain = words.map((text) => withoutAccents(text ?? '').toLowerCase());
  return plain.some((text) => saysThere.some((pattern) => pattern.test(text)));
}

const conflict = 409;

function resultOf(
  prepared: Prepared,
  result: OperationResult<AnswerOf<OperationName>>,
  foreignOf: (answer: ProposalRecord) => ForeignSplits | null,
): FlowResult {
  switch (result.kind) {
    case 'accepted': {
      const problem = contradictionIn(prepared, result.answer);
      if (problem !== null) return { kind: 'rejected', code: problem, errors: [] };
      const nothing = { requestCode: null, proposalCode: null, situation: null };
      return { kind: 'accepted', ...nothing, ...factsOf(prepared, result, foreignOf), ...saidDone(prepared, result) };
    }
    case 'rejected': {
      const words = [result.code, ...result.errors.flatMap(({ code, text }) => [code, text])];
      const done = doneAlready[prepared.operation];
      const isDone = done !== undefined && words.some((text) => done.words.test(text ?? ''));
      const code = isDone ? done.code : shownCode(result.code);
      const isThere = !isDone && isSaidToExist(prepared.operation, result.response.status, words);
      return { kind: 'rejected', code, errors: result.errors.map(lineOf), ...(isThere ? { saysExists: true } : {}) };
    }
    case 'unknown': {
      const said = saidDone(prepared, result);
      // With a key it was asked again, and the conflict may be with an attempt of its own.
      const isConflict = result.reason === `status-${conflict}` && prepared.idempotencyKey === null;
      if (isConflict && !said.saysDone) return { kind: 'rejected', code: result.reason, errors: [], saysExists: true };
      return {
        kind: 'unknown',
        reason: result.reason,
        ...finalIn(prepared, result),
        ...codeBeside(prepared, result.code),
        ...said,
      };
    }
    case 'not-sent':
      return { kind: 'not-sent', reason: result.reason, retryAt: result.retryAt };
    default:
      return result satisfies never;
  }
}

/** What stands beside the refusal may have been made: with the same key, too, another one could be. */
function finalIn(
  { idempotencyKey }: Prepared,
  { reason }: Extract<OperationResult<never>, { kind: 'unknown' }>,
): { isFinal?: true } {
  return reason === refusedWithCode && idempotencyKey !== null ? { isFinal: true } : {};
}

function codeBeside(
  { operation }: Prepared,
  code: string | undefined,
): { requestCode?: string; proposalCode?: string } {
  if (code === undefined) return {};
  return operation === 'inclusion' ? { proposalCode: code } : { requestCode: code };
}

/** A success of the operation itself, not of its receipt. */
function saidDone({ operation }: Prepared, { response }: { response: { body: string } | null }): { saysDone?: true } {
  const parsed = operation === 'endorsement' && response !== null ? parseJson(response.body) : null;
  const isSaid = parsed?.kind === 'parsed' && saidBesideErrors(parsed.value) === 'endorsed';
  return isSaid ? { saysDone: true } : {};
}

/** An answer to a query that cannot be of what was asked is none. */
function contradictionIn({ operation, body }: Prepared, answer: AnswerOf<OperationName>): Contradiction | null {
  if (operation === 'simulation') return simulationProblemOfAsked(body, answer as AnswerOf<'simulation'>);
  const isOther = operation === 'proposal' && !isToldOfAsked(body, answer as ProposalRecord);
  return isOther ? 'proposal-of-flow' : null;
}

/** What the flow goes on with, of an answer that is kept whole beside it. */
function factsOf(
  { operation }: Prepared,
  { answer, response }: Extract<OperationResult<AnswerOf<OperationName>>, { kind: 'accepted' }>,
  foreignOf: (answer: ProposalRecord) => ForeignSplits | null,
) {
  switch (operation) {
    case 'contract':
    case 'renegotiation':
    case 'endorsement':
      return { requestCode: (answer as AnswerOf<'endorsement'>).requestCode };
    case 'inclusion':
      return { proposalCode: (answer as AnswerOf<'inclusion'>).proposalCode };
    case 'proposal':
      return proposalFacts(answer as AnswerOf<'proposal'>, response.body, foreignOf(answer as AnswerOf<'proposal'>));
    case 'simulation':
    case 'installments':
    case 'splits':
    case 'signers':
    case 'finalisation':
    case 'account-update':
      return {};
    default:
      return operation satisfies never;
  }
}

/** The figures of a proposal, each as the service's answer names it. */
const figureFields = {
  creditCents: 'totalCreditCents',
  rateHundredths: 'interestMonthlyPercent',
  installments: 'installments',
  insuranceCents: 'insuranceCents',
  financedCents: 'financedCents',
  feeCents: 'feeCents',
  iofCents: 'iofCents',
  otherCostsCents: 'otherCostsCents',
  otherServicesCents: 'otherServicesCents',
  totalDebtCents: 'totalDebtCents',
  cetAnnualHundredths: 'cetAnnualPercent',
  cetMonthlyHundredths: 'cetMonthlyPercent',
  rateAnnualHundredths: 'interestAnnualPercent',
} as const satisfies { readonly [F in LoanFigure]?: keyof ProposalRecord };

function proposalFacts(
  answer: ProposalRecord,
  body: string,
  foreign: ForeignSplits | null,
): { situation: number | null; said: ProposalSaid } {
  const { cancellationReason, rejectionReason, cancellations } = answer;
  const { unread, empty } = unusableIn(answer, body);
  const named = Object.entries(figureFields) as [LoanFigure, (typeof figureFields)[keyof typeof figureFields]][];
  const inUnit = (figure: LoanFigure, value: number | null) =>
    value !== null && figure.endsWith('Hundredths') ? Math.round(value * 100) : value;
  const figures = Object.fromEntries([
    ...named.map(([figure, field]) => [figure, inUnit(figure, answer[field])] as const),
    ['foreignSplitCents', foreign?.cents ?? null] as const,
  ]);
  const figuresOf = (fields: readonly string[]) =>
    named.filter(([, field]) => fields.includes(field)).map(([figure]) => figure);
  const isForeignUnread = unread.includes('entries') || foreign?.isWhole === false;
  const isCancelled = (cancellations ?? []).length > 0 || unread.includes('cancellations');
  const isNamed = (reason: string | null) => reason !== null && reason.trim() !== '';
  return {
    situation: answer.situation ?? null,
    said: {
      figures: Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== null)),
      unread: [...figuresOf(unread), ...(isForeignUnread ? (['foreignSplitCents'] as const) : [])],
      empty: figuresOf(empty),
      ending:
        isCancelled || isNamed(cancellationReason) ? 'cancellation' : isNamed(rejectionReason) ? 'rejection' : null,
    },
  };
}

/** Its code alone; what the service wrote is in the sealed answer. */
function lineOf({ code }: ServiceError): string {
  return shownError(code ?? '');
}
