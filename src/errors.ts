/** Operational faults: what can go wrong in the world without anybody having made a mistake. One class, one table. */

const table = {
  'log-unavailable': { retryable: true, exitCode: 74 },
  'views-unavailable': { retryable: true, exitCode: 74 },
  /** The process that owns the rows could not be asked for them. */
  'owner-unasked': { retryable: true, exitCode: 74 },
  /** An order of an operator holds, and the log does not keep it yet. */
  'order-unkept': { retryable: true, exitCode: 74 },
  /** The disk takes nothing, and the memory holds no more of what it should have taken. */
  'disk-full': { retryable: true, exitCode: 74 },
  'views-behind': { retryable: true, exitCode: 74 },
  'sealed-unreadable': { retryable: false, exitCode: 78 },
  'pseudonym-key-changed': { retryable: false, exitCode: 78 },
  'data-directory-in-use': { retryable: false, exitCode: 73 },
  'data-directory-unusable': { retryable: false, exitCode: 73 },
  /** It holds less than is known to have been stored, or something else. */
  'store-set-back': { retryable: false, exitCode: 65 },
  /** A later version of the program wrote it. */
  'store-newer': { retryable: false, exitCode: 73 },
  'store-damaged': { retryable: false, exitCode: 65 },
  'anchor-unusable': { retryable: false, exitCode: 73 },
  'address-in-use': { retryable: false, exitCode: 73 },
  'address-unusable': { retryable: false, exitCode: 78 },
  'configuration-invalid': { retryable: false, exitCode: 78 },
  'rules-refused': { retryable: false, exitCode: 78 },
  'rules-unchecked': { retryable: true, exitCode: 75 },
  'record-undecodable': { retryable: false, exitCode: 65 },
  'records-missing': { retryable: false, exitCode: 65 },
  'log-stalled': { retryable: false, exitCode: 75 },
  'service-unreachable': { retryable: true, exitCode: 69 },
  /** The running desk that a command was to order. */
  'desk-unreachable': { retryable: true, exitCode: 69 },
  'desk-moved': { retryable: false, exitCode: 78 },
  'export-unreadable': { retryable: false, exitCode: 65 },
  'not-acknowledged': { retryable: true, exitCode: 75 },
  'not-found': { retryable: false, exitCode: 66 },
  /** The running desk does not know the token, or its role may not do that. */
  'token-refused': { retryable: false, exitCode: 77 },
  'not-allowed': { retryable: false, exitCode: 65 },
  'option-missing': { retryable: false, exitCode: 1 },
} as const;

export type FaultCode = keyof typeof table;

/** `message` is written for a person and never holds a CPF, a name or a payload. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly retryable: boolean;
  readonly exitCode: number;

  constructor(code: FaultCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'Fault';
    this.code = code;
    this.retryable = table[code].retryable;
    this.exitCode = table[code].exitCode;
  }
}
