/**
 * Where the money of a flow goes, for those who work on flows: the accounts and Pix keys that were ordered, sent and taken, in that
 * order. The last account that the service took counts. Documents are shown by their middle.
 */
import type { FlowState, PaymentOperation } from '../domain/flow-states.ts';
import type { AmountCents, Day, EpochMs } from '../domain/glossary.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type JsonObject, scalarsIn } from '../wire/json.ts';
import { accountFieldOf } from '../wire/proposals.ts';
import type { ProposalRecord } from '../wire/withdrawals.ts';
import { isPayment } from './fold-steps.ts';
import type { ContractOrder, StepRequests, WithdrawalOrder } from './preparation.ts';
import { type OpenSealed, opened } from './shown-flows.ts';

/** Names are those of the orders and steps. */
type PayeeShown = {
  readonly [N in
    | 'bankNumber'
    | 'bankCode'
    | 'accountType'
    | 'branch'
    | 'branchDigit'
    | 'account'
    | 'accountDigit'
    | 'holderName'
    | 'holderDocument'
    | 'pixKey'
    | 'emv'
    | 'paymentLine'
    | 'portability']?: string;
};

export type PaymentShown = {
  of: 'contract' | PaymentOperation;
  /** When its bytes were made, or earlier versions heard of it; null: they are not. */
  at: EpochMs | null;
  /** `unclear`: it is being sent, or nobody knows what became of it. */
  status: 'ordered' | 'unclear' | 'taken';
  to: PayeeShown;
  /** Of a split; null: the rest of the loan, or the service decides. */
  amountCents: AmountCents | null;
  /** Of a split; null: the service decides. */
  paidOn: Day | null;
  /** Of another account: fields that the contract does not name. */
  others: Readonly<Record<string, string>>;
};

/** Null: whoever looks does not work on flows. Empty: nothing has been ordered yet that is paid, or it does not open. */
export function shownPayments(state: FlowState, open: OpenSealed): readonly PaymentShown[] | null {
  if (open === null) return null;
  if (state.flow === 'contract') return ofContract(state, open);
  if (state.flow !== 'withdrawal') return [];
  const place = sealedPlaces.flowStep(state.flowId);
  const read = (of: PaymentOperation, sealed: string, when: Pick<PaymentShown, 'at' | 'status'>) => {
    const request = opened(open, place, sealed);
    return request === null ? [] : paymentsIn(of, request as never, when);
  };
  const taken = takenOf(state).flatMap(({ operation, at, sealed }) => read(operation, sealed, { at, status: 'taken' }));
  const { operation } = state;
  const status = operation?.status === 'asked' ? 'ordered' : 'unclear';
  const isWaiting = ['asked', 'intended', 'unclear'].includes(operation?.status ?? '');
  if (operation === null || !isWaiting || !isPayment(operation.operation) || operation.sealedRequest === null) {
    return taken;
  }
  const at = operation.intent?.at ?? null;
  return [...taken, ...read(operation.operation, operation.sealedRequest, { at, status })];
}

/** The entries of its inclusion and of all steps that were split, as far as they open and are still kept. */
export function splitsTaken(state: FlowState, open: NonNullable<OpenSealed>): readonly Split[] {
  return takenOf(state).flatMap(({ operation, sealed }) => {
    if (operation === 'account-update') return [];
    const request = opened(open, sealedPlaces.flowStep(state.flowId), sealed) as Pick<StepRequests['splits'], 'splits'>;
    return request?.splits ?? [];
  });
}

/**
 * What a proposal pays by entries that nobody ordered here and that name another payee than the worker. Null: it names no entries, or
 * it was made elsewhere, where nobody here knows what was ordered.
 */
export function foreignSplits(
  state: FlowState,
  { entries }: Pick<ProposalRecord, 'entries'>,
  open: NonNullable<OpenSealed>,
): AmountCents | null {
  if (state.flow !== 'withdrawal' || state.simulatedKey === null || entries === null || state.sealed === null)
    return null;
  const order = opened(open, sealedPlaces.flowOrder(state.flowId), state.sealed) as WithdrawalOrder | null;
  if (order === null) return null;
  const ordered = [...splitsTaken(state, open)];
  let foreignCents = 0;
  for (const entry of entries) {
    const own = ordered.findIndex((split) => isEntryOf(entry, split));
    if (own !== -1) ordered.splice(own, 1);
    else if (!isPaidTo(entry, order.cpf, accountOf(state, open))) foreignCents += entry.amountCents ?? 0;
  }
  return foreignCents;
}

type Entry = NonNullable<ProposalRecord['entries']>[number];

/** What both name is the same. */
function isEntryOf(entry: Entry, split: Split): boolean {
  const both = [
    [entry.amountCents, split.amountCents],
    [entry.fieldId, split.fieldId],
    [entry.document, split.document],
    [entry.paymentLine, split.paymentLine],
    [entry.bankCode, split.bankCode],
    [entry.bankNumber, split.bankNumber],
    [entry.branch, split.branch],
    [entry.account, split.account],
  ];
  const plain = (value: unknown) => String(value ?? '').replaceAll(/[\s./-]/g, '');
  return both.every(([told, ordered]) => plain(told) === '' || plain(ordered) === '' || plain(told) === plain(ordered));
}

/** Some services list the payment to the worker among the entries. */
function isPaidTo(entry: Entry, cpf: string, account: string | null): boolean {
  const document = (entry.document ?? '').replaceAll(/\D/g, '');
  if (document !== '') return document.padStart(cpf.length, '0') === cpf;
  return account !== null && entry.account === account;
}

/** Of the inclusion. */
function accountOf(state: FlowState, open: NonNullable<OpenSealed>): string | null {
  const inclusion = takenOf(state).find(({ operation }) => operation === 'inclusion');
  if (inclusion === undefined) return null;
  const request = opened(open, sealedPlaces.flowStep(state.flowId), inclusion.sealed) as
    | StepRequests['inclusion']
    | null;
  return request?.account?.account ?? null;
}

/** Earlier versions kept the request of the inclusion alone. */
function takenOf({ payments, results }: FlowState): NonNullable<FlowState['payments']> {
  const { inclusion } = results;
  const isKept = payments?.some(({ operation }) => operation === 'inclusion');
  if (isKept || inclusion?.sealedRequest === undefined || inclusion.refused) return payments ?? [];
  return [{ operation: 'inclusion', at: inclusion.at, sealed: inclusion.sealedRequest }, ...(payments ?? [])];
}

function ofContract(state: FlowState, open: NonNullable<OpenSealed>): readonly PaymentShown[] {
  if (state.sealed === null) return [];
  const order = opened(open, sealedPlaces.flowOrder(state.flowId), state.sealed) as ContractOrder | null;
  const account = order?.contract?.account ?? null;
  if (account === null) return [];
  const { generatedAt, operation } = state;
  const isSent = operation?.operation === 'contract' && ['intended', 'unclear'].includes(operation.status);
  const status = generatedAt !== null ? 'taken' : isSent ? 'unclear' : 'ordered';
  const at = generatedAt ?? (isSent ? (operation.intent?.at ?? null) : null);
  return [{ of: 'contract', at, status, to: payee({ ...account }), amountCents: null, paidOn: null, others: {} }];
}

type Split = NonNullable<StepRequests['splits']['splits']>[number];

function paymentsIn(
  of: PaymentOperation,
  request: Partial<StepRequests['inclusion'] & StepRequests['splits'] & StepRequests['account-update']>,
  when: Pick<PaymentShown, 'at' | 'status'>,
): readonly PaymentShown[] {
  const base = { of, ...when, amountCents: null, paidOn: null, others: {} };
  if (of === 'account-update') return [{ ...base, ...accountIn(request.extra ?? {}) }];
  const { account, pix, splits } = request;
  const main = { ...account, holderDocument: account?.holderCpf, pixKey: pix?.key };
  const hasMain = account != null || pix != null;
  return [
    ...(hasMain ? [{ ...base, to: payee(main) }] : []),
    ...(splits ?? []).map((split: Split) => ({
      ...base,
      of: 'splits' as const,
      amountCents: split.amountCents ?? null,
      paidOn: split.paidOn ?? null,
      to: payee({
        ...split,
        holderName: split.payeeName,
        holderDocument: split.document,
        pixKey: split.pixKey?.key,
        emv: split.emv?.code,
        portability: split.portability?.number,
      }),
    })),
  ];
}

const names = [
  ...(['bankNumber', 'bankCode', 'accountType', 'branch', 'branchDigit', 'account', 'accountDigit'] as const),
  ...(['holderName', 'holderDocument', 'pixKey', 'emv', 'paymentLine', 'portability'] as const),
] satisfies readonly (keyof PayeeShown)[];

function payee(given: Readonly<Record<string, unknown>>): PayeeShown {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      return value === null || value === undefined || value === '' ? [] : [[name, shown(name, String(value))]];
    }),
  );
}

function shown(name: keyof PayeeShown, value: string): string {
  return name === 'holderDocument' || name === 'pixKey' || name === 'holderName' ? byItsMiddle(value) : value;
}

/** Enough to tell one holder from another, as the worker of a flow is shown. */
function byItsMiddle(text: string): string {
  const digits = text.replaceAll(/[ .-]/g, '');
  return /^\d{11}$/.test(digits) ? `***.${digits.slice(3, 6)}.${digits.slice(6, 9)}-**` : withoutCpf(text);
}

/** More, and longer, is nobody's account. */
const mayBeAccount = { longest: 200, most: 100 };

/** What the fields of another account say, as far as the contract has names for them. */
function accountIn(fields: JsonObject): Pick<PaymentShown, 'to' | 'others'> {
  const scalars = scalarsIn(fields, mayBeAccount).map(({ path, text }) => ({ path, text, name: accountFieldOf(path) }));
  const known = scalars.flatMap(({ name, text }) => (name === null ? [] : [[name, text] as const]));
  const others = scalars.flatMap(({ name, path, text }) => (name === null ? [[path, byItsMiddle(text)] as const] : []));
  return { to: payee(Object.fromEntries(known)), others: Object.fromEntries(others) };
}
