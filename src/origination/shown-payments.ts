/**
 * Where the money of a flow goes, for those who work on flows: the accounts and Pix keys that were ordered, sent and taken, in that
 * order. The last account that the service took counts. Documents are shown by their middle, accounts and keys by their end, names by
 * their initials: enough to tell one from another. The whole of it is read on record.
 */
import type { FlowState, PaymentOperation } from '../domain/flow-states.ts';
import type { AmountCents, Day, EpochMs } from '../domain/glossary.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type JsonObject, scalarsIn } from '../wire/json.ts';
import { accountFieldOf } from '../wire/proposals.ts';
import { entryCents, type ProposalEntry, type ProposalRecord } from '../wire/withdrawals.ts';
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
  return wholePayments(state, open).map(({ to, others, ...payment }) => ({
    ...payment,
    to: Object.fromEntries(Object.entries(to).map(([name, value]) => [name, shown(name as keyof PayeeShown, value)])),
    others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, byItsMiddle(value)])),
  }));
}

/** As it was ordered, for a reading that is on record. */
export function wholePayments(state: FlowState, open: NonNullable<OpenSealed>): readonly PaymentShown[] {
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

/** `isWhole`: every entry that is counted says what it comes to. */
export type ForeignSplits = { cents: AmountCents; isWhole: boolean };

/**
 * What a proposal pays by entries that nobody ordered here and that name another payee than the worker, each whatever its sign: one
 * payment does not undo another. Null: it names no entries, or it was made elsewhere, where nobody here knows what was ordered.
 */
export function foreignSplits(
  state: FlowState,
  { entries }: Pick<ProposalRecord, 'entries'>,
  open: NonNullable<OpenSealed>,
): ForeignSplits | null {
  if (state.flow !== 'withdrawal' || state.simulatedKey === null || entries === null || state.sealed === null)
    return null;
  const order = opened(open, sealedPlaces.flowOrder(state.flowId), state.sealed) as WithdrawalOrder | null;
  if (order === null) return null;
  const ordered = [...splitsTaken(state, open)];
  const accounts = accountsOf(state, open);
  const foreign = { cents: 0, isWhole: true };
  for (const entry of entries) {
    const own = ordered.findIndex((split) => isEntryOf(entry, split));
    const cents = entryCents(entry);
    if (own !== -1) ordered.splice(own, 1);
    else if (isPaidTo(entry, order.cpf, accounts)) continue;
    else if (cents === null) foreign.isWhole = false;
    else foreign.cents += cents;
  }
  return foreign;
}

/** What both name is the same, and they name something. An amount that cannot be read is no ordered one, nor is one below zero. */
function isEntryOf(entry: ProposalEntry, split: Split): boolean {
  const { amountCents, slipCents } = entry;
  const cents = entryCents(entry);
  if (cents === null && Object.keys(entry.extra).some((key) => /^vlr/i.test(key))) return false;
  if ((amountCents ?? 0) < 0 || (slipCents ?? 0) < 0) return false;
  const key = split.pixKey?.key ?? null;
  const both = [
    [cents, split.amountCents],
    [entry.fieldId, split.fieldId],
    [entry.document, split.document ?? (key !== null && /^\d{11}(?:\d{3})?$/.test(key) ? key : null)],
    [entry.paymentLine, split.paymentLine],
    [entry.bankCode, split.bankCode],
    [entry.bankNumber, split.bankNumber],
    [entry.branch, split.branch],
    [entry.account, split.account],
  ];
  const plain = (value: unknown) => String(value ?? '').replaceAll(/[\s./-]/g, '');
  const named = both.filter(([told, ordered]) => plain(told) !== '' && plain(ordered) !== '');
  return named.length > 0 && named.every(([told, ordered]) => plain(told) === plain(ordered));
}

/** Some services list the payment to the worker among the entries. A slip pays whoever drew it, whatever document stands beside it. */
function isPaidTo(entry: ProposalEntry, cpf: string, accounts: readonly string[]): boolean {
  if ((entry.paymentLine ?? '').trim() !== '' || (entry.slipCents ?? 0) !== 0) return false;
  const document = (entry.document ?? '').replaceAll(/\D/g, '');
  if (document !== '' && document.padStart(cpf.length, '0') !== cpf) return false;
  const account = plainAccount(entry.account, null);
  const whole = plainAccount(entry.account, entry.accountDigit);
  const isKnown = accounts.includes(account) || accounts.includes(whole);
  if (document === '') return account !== '' && isKnown;
  return account === '' || accounts.length === 0 || isKnown;
}

/** Banks write the zeros in front, and the check digit beside the account or at its end. */
function plainAccount(account: string | null | undefined, digit: string | null | undefined): string {
  return `${account ?? ''}${digit ?? ''}`
    .replaceAll(/[\s.-]/g, '')
    .replace(/^0+(?=.)/, '')
    .toLowerCase();
}

/** The accounts of the worker that were ordered and taken, each without and with its check digit. */
function accountsOf(state: FlowState, open: NonNullable<OpenSealed>): readonly string[] {
  return wholePayments(state, open)
    .filter(({ of, status }) => status === 'taken' && of !== 'splits')
    .flatMap(({ to }) => [plainAccount(to.account, null), plainAccount(to.account, to.accountDigit)])
    .filter((account) => account !== '');
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
      return value === null || value === undefined || value === '' ? [] : [[name, String(value)]];
    }),
  );
}

function shown(name: keyof PayeeShown, value: string): string {
  switch (name) {
    case 'holderDocument':
      return byItsMiddle(value);
    case 'holderName':
      return value.trim().replaceAll(/(\S)\S*/gu, '$1.');
    case 'pixKey':
      return /^\D*(?:\d\D*){11}$/.test(value) && !value.startsWith('+') ? byItsMiddle(value) : byItsEnd(value);
    case 'account':
    case 'emv':
    case 'paymentLine':
      return byItsEnd(value);
    default:
      return value;
  }
}

const shownEnd = 3;

function byItsEnd(text: string): string {
  return text.length > shownEnd ? `…${text.slice(-shownEnd)}` : '…';
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
  const others = scalars.flatMap(({ name, path, text }) => (name === null ? [[path, text] as const] : []));
  return { to: payee(Object.fromEntries(known)), others: Object.fromEntries(others) };
}
