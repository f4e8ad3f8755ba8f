/** The webhooks that end a generation: the credit note, or why there is none (contract, CCB and renegotiation webhooks). */
import type { CreditNote } from '../domain/records.ts';
import { canonicalCode } from '../domain/request-codes.ts';
import { type Decoded, fieldOf } from './casing.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { isId, readCode } from './plain-ids.ts';
import { errorsOf, type ServiceError } from './service-errors.ts';
import { ccbEndpoint, ccbEvent, renegotiatedEvent, renegotiationPath } from './worker-credit.ts';

/** `note` null: the operation failed, and `errors` say why. Both: the service says that it was done and that it failed. */
export type CreditNoteEvent = {
  requestCode: string;
  of: 'contract' | 'renegotiation';
  note: CreditNote | null;
  errors: readonly ServiceError[];
};

export function decodeCreditNote(value: JsonValue, of: CreditNoteEvent['of']): Decoded<CreditNoteEvent> {
  const errors = errorsOf(value);
  const noted = decodeNote(value, of, errors);
  if (errors.length === 0 || noted.kind === 'decoded') return noted;
  const code = requestCodeOf(value);
  if (code === null) return withoutCode();
  return { kind: 'decoded', value: { requestCode: code, of, note: null, errors } };
}

function decodeNote(
  value: JsonValue,
  of: CreditNoteEvent['of'],
  errors: readonly ServiceError[],
): Decoded<CreditNoteEvent> {
  const decoded = (of === 'contract' ? ccbEvent : renegotiatedEvent).decode(value);
  if (decoded.kind === 'refused') return decoded;
  const { requestCode, note } = decoded.value;
  const { extra: _kept, ...own } = note;
  const codes = { CodigoRequisicao: requestCode, NumeroCCB: own.noteNumber, CodigoProposta: own.proposalCode };
  for (const [field, code] of Object.entries(codes)) {
    if (code === null || isId(code)) continue;
    return { kind: 'refused', faults: [{ pointer: `/${field}`, problem: 'does not look like an identifier' }] };
  }
  return { kind: 'decoded', value: { requestCode: canonicalCode(requestCode), of, note: own, errors } };
}

export function encodeCreditNote(event: { requestCode: string; of: CreditNoteEvent['of']; note: CreditNote }): string {
  const { requestCode, of, note } = event;
  const [message, endpoint] =
    of === 'contract' ? ([ccbEvent, ccbEndpoint] as const) : ([renegotiatedEvent, renegotiationPath] as const);
  return JSON.stringify(message.encode({ requestCode, endpoint, note }));
}

/** An event about an operation whose fields the contract does not show: its code, and whether it reports errors. */
export type OperationEvent = { requestCode: string; endpoint: string | null; errors: readonly ServiceError[] };

export function decodeOperationEvent(value: JsonValue): Decoded<OperationEvent> {
  const requestCode = requestCodeOf(value);
  if (requestCode === null) return withoutCode();
  const endpoint = isJsonObject(value) ? fieldOf(value, 'Endpoint') : undefined;
  const told = typeof endpoint === 'string' ? endpoint : null;
  return { kind: 'decoded', value: { requestCode, endpoint: told, errors: errorsOf(value) } };
}

/** The code of an event of which nothing else may be readable; null: that is not either. */
export function requestCodeOf(value: JsonValue): string | null {
  const reading = readCode(isJsonObject(value) ? fieldOf(value, 'CodigoRequisicao') : undefined);
  return reading.kind === 'value' ? reading.value : null;
}

function withoutCode(): { kind: 'refused'; faults: readonly { pointer: string; problem: string }[] } {
  return { kind: 'refused', faults: [{ pointer: '/CodigoRequisicao', problem: 'is missing; send it' }] };
}
