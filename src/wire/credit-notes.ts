/** The webhooks that end a generation: the credit note, or why there is none (contract, CCB and renegotiation webhooks). */
import type { CreditNote, NoteFigure } from '../domain/records.ts';
import { canonicalCode } from '../domain/request-codes.ts';
import { type Decoded, fieldOf } from './casing.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import { message, told } from './message.ts';
import { isId, readCode } from './plain-ids.ts';
import { errorsOf, type ServiceError } from './service-errors.ts';
import {
  ccbEndpoint,
  ccbEvent,
  ccbPayload,
  noteFigures,
  renegotiatedEvent,
  renegotiatedPayload,
  renegotiationPath,
} from './worker-credit.ts';

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
  const twice = saidTwice(decoded.value.extra, ['CodigoRequisicao', 'Payload']);
  if (twice !== null) return { kind: 'refused', faults: [{ pointer: `/${twice}`, problem: otherSpelling }] };
  const { extra, ...said } = note;
  const payload = of === 'contract' ? ccbPayload : renegotiatedPayload;
  const named = saidTwice(
    extra,
    payload.keys.filter((key) => !figureKeys.has(key)),
  );
  if (named !== null) return { kind: 'refused', faults: [{ pointer: `/Payload/${named}`, problem: otherSpelling }] };
  const unreadable = unreadableIn(said, extra);
  const own: CreditNote = { ...said, ...(unreadable.length === 0 ? {} : { unreadable }) };
  const codes = { CodigoRequisicao: requestCode, NumeroCCB: own.noteNumber, CodigoProposta: own.proposalCode };
  for (const [field, code] of Object.entries(codes)) {
    if (code === null || isId(code)) continue;
    return { kind: 'refused', faults: [{ pointer: `/${field}`, problem: 'does not look like an identifier' }] };
  }
  return { kind: 'decoded', value: { requestCode: canonicalCode(requestCode), of, note: own, errors } };
}

const otherSpelling = 'is said in two spellings, and nobody knows which of them is meant; send it once';

/** Which of the keys stands there in another spelling too; null: none. */
function saidTwice(extra: JsonObject, keys: readonly string[]): string | null {
  return keys.find((key) => isSaid(fieldOf(extra, key))) ?? null;
}

function isSaid(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

const figureKeys: ReadonlySet<string> = new Set(Object.values(noteFigures).map(({ key }) => key));

/** What is left over under the key of a figure cannot be read, or is another spelling: that is fine where it says the same. */
function unreadableIn(note: Omit<CreditNote, 'unreadable'>, extra: JsonObject): NoteFigure[] {
  const figures = Object.entries(noteFigures) as [NoteFigure, (typeof noteFigures)[NoteFigure]][];
  return figures.flatMap(([figure, { key, kind }]) => {
    const others = Object.keys(extra).filter((each) => each.toLowerCase() === key.toLowerCase() && isSaid(extra[each]));
    const isSame = (each: string) => {
      const read = message({ value: told('value', kind) }).decode({ value: extra[each]! });
      return read.kind === 'decoded' && read.value.value !== null && read.value.value === note[figure];
    };
    return others.every(isSame) ? [] : [figure];
  });
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
