/**
 * The transition tables of the flows: what each thing that can happen does to a flow. Literals, used by `evolve` and by the
 * list of steps that a person may ask for, held by a property test. A pair that is not here changes nothing and is counted.
 */
import type { FlowKind, FlowOperation, FlowStep } from '../domain/flow-records.ts';
import type { FlowPhase, FlowState } from '../domain/flow-states.ts';

/** Of a contract and a renegotiation: what a record means for them. */
type LoanTrigger =
  | 'proposed'
  | 'winner-failed'
  | 'margin-refused'
  | 'intended'
  | 'withheld'
  | 'accepted'
  | 'rejected'
  | 'unclear'
  | 'not-sent'
  | 'noted'
  | 'note-failed'
  | 'told-done'
  | 'told-failed'
  | 'told-denied'
  | 'turned'
  | 'amend'
  | 'sign'
  | 'cancel'
  | 'confirm'
  | 'deny'
  | 'regenerate'
  | 'accept';
/**
 * An operation that a person asked for was accepted: all of those of a withdrawal, and the query of a proposal where a credit
 * note is awaited or differs. It may be asked for exactly where it is named.
 */
export type FlowTrigger = LoanTrigger | FlowOperation | 'link-told' | 'claimed-by' | 'given-up';

/** Our codes of refusals that say so: what the service writes is sealed. */
export const alreadyEndorsed = 'already-endorsed';
export const alreadyFinalised = 'already-finalised';

/** Why it is not known: the refusal says that such a thing is there already, made by whomever. */
export const saidToExist = 'said-to-exist';

/** Why an endorsement is unclear, or was refused: the words of an event say no, or nothing that is known; a person says that it was not done. */
export const toldNo = 'told-no';
/** A no under the code of its contract: it does not say which endorsement it is about. */
export const toldNoOfContract = 'told-no-of-contract';
/** A success that was shown is contradicted, or one callback says both. */
export const toldBoth = 'told-both';
export const toldNothing = 'told-nothing';
export const deniedByPerson = 'denied';

type Row = Partial<Record<FlowTrigger, FlowPhase>>;

/** Generation of a contract, or of a renegotiation: the same up to the credit note, which comes into `noted`. */
function generation(noted: FlowPhase): Partial<Record<FlowPhase, Row>> {
  return {
    preparing: {
      intended: 'generating',
      withheld: 'withheld',
      'margin-refused': 'withheld',
      /** It was turned away, and may be done. */
      unclear: 'unclear',
      /** It was denied, and is answered before it is sent once more. */
      accepted: 'awaiting-note',
      amend: 'preparing',
      cancel: 'cancelled',
    },
    withheld: { amend: 'preparing', cancel: 'cancelled' },
    generating: {
      accepted: 'awaiting-note',
      rejected: 'refused',
      unclear: 'unclear',
      'not-sent': 'preparing',
      noted,
      'note-failed': 'refused',
    },
    unclear: {
      accepted: 'awaiting-note',
      rejected: 'refused',
      noted,
      'note-failed': 'refused',
      confirm: 'awaiting-note',
      deny: 'preparing',
    },
    'awaiting-note': {
      /** See `mayCorrect`. */
      confirm: 'awaiting-note',
      noted,
      'note-failed': 'refused',
      proposal: 'awaiting-note',
      regenerate: 'preparing',
      cancel: 'cancelled',
    },
    refused: {
      /** See `mayCorrect`. */
      confirm: 'awaiting-note',
      amend: 'preparing',
      cancel: 'cancelled',
      accepted: 'awaiting-note',
      noted,
    },
    /** Only a note that came after the end: see `lateNote`. */
    cancelled: { accept: noted },
  };
}

const endorsement: Partial<Record<FlowPhase, Row>> = {
  'awaiting-signature': {
    confirm: 'awaiting-note',
    sign: 'signed',
    turned: 'preparing',
    proposal: 'awaiting-signature',
    regenerate: 'preparing',
    accept: 'awaiting-signature',
    cancel: 'cancelled',
  },
  signed: {
    intended: 'endorsing',
    withheld: 'awaiting-signature',
    unclear: 'endorsement-unclear',
    /** As of a generation that is being prepared. */
    accepted: 'endorsed',
    turned: 'preparing',
    cancel: 'cancelled',
  },
  endorsing: {
    accepted: 'endorsed',
    rejected: 'endorsement-refused',
    unclear: 'endorsement-unclear',
    'not-sent': 'signed',
    'told-done': 'endorsed',
    'told-failed': 'endorsement-refused',
    'told-denied': 'endorsement-unclear',
  },
  'endorsement-unclear': {
    accepted: 'endorsed',
    rejected: 'endorsement-refused',
    'told-done': 'endorsed',
    'told-failed': 'endorsement-refused',
    'told-denied': 'endorsement-unclear',
    confirm: 'endorsed',
    /** See `isToldNo`. */
    deny: 'signed',
  },
  'endorsement-refused': {
    sign: 'signed',
    turned: 'preparing',
    regenerate: 'preparing',
    cancel: 'cancelled',
    accepted: 'endorsed',
    'told-done': 'endorsed',
    /** See `mayBeEndorsed`. */
    confirm: 'endorsed',
  },
  endorsed: {
    'told-done': 'endorsed',
    'told-failed': 'endorsement-refused',
    'told-denied': 'endorsement-unclear',
    deny: 'endorsement-refused',
  },
};

/** Queries, and what may be done with an included proposal wherever it stands; `accept`: as it is said to be. */
function included(phase: FlowPhase): Row {
  return { proposal: phase, installments: phase, 'account-update': phase, accept: phase };
}

export const transitions: Readonly<Record<FlowKind, Partial<Record<FlowPhase, Row>>>> = {
  contract: {
    'waiting-proposal': {
      proposed: 'preparing',
      'winner-failed': 'failed',
      amend: 'waiting-proposal',
      cancel: 'cancelled',
    },
    ...generation('awaiting-signature'),
    ...endorsement,
    /** Once another event or a person has contradicted the error. */
    failed: { proposed: 'preparing', amend: 'waiting-proposal' },
  },
  renegotiation: { ...generation('renegotiated'), renegotiated: { accept: 'renegotiated', proposal: 'renegotiated' } },
  withdrawal: {
    started: { simulation: 'simulated', cancel: 'cancelled' },
    simulated: { simulation: 'simulated', inclusion: 'included', cancel: 'cancelled' },
    /** `cancel`: see `mayGiveUp`. */
    included: { ...included('included'), splits: 'included', signers: 'signed', cancel: 'cancelled' },
    signed: { ...included('signed'), splits: 'signed', signers: 'signed', finalisation: 'finalised' },
    finalised: included('finalised'),
    cancelled: {},
  },
  lookup: {
    preparing: {
      accepted: 'awaiting-answer',
      'margin-refused': 'refused',
      'link-told': 'answered',
      cancel: 'cancelled',
    },
    'awaiting-answer': { 'margin-refused': 'refused', 'link-told': 'answered', cancel: 'cancelled' },
    answered: {},
    refused: { 'link-told': 'answered', cancel: 'cancelled' },
    cancelled: {},
  },
  /** `cancel`: a person knows that it is no flow's. Should one turn out to wait for it, it is given to it all the same. */
  event: {
    unclaimed: { 'claimed-by': 'claimed', cancel: 'closed' },
    claimed: { 'given-up': 'unclaimed' },
    closed: { 'claimed-by': 'claimed' },
  },
};

/** Where nothing is awaited any more, of the service or of us. */
export function isFinished(phase: FlowPhase): boolean {
  return (
    phase === 'endorsed' ||
    phase === 'renegotiated' ||
    phase === 'finalised' ||
    phase === 'answered' ||
    phase === 'cancelled' ||
    phase === 'claimed' ||
    phase === 'closed'
  );
}

/** Operations that only ask: doing them again changes nothing at the service. */
export function readsOnly(operation: FlowOperation): boolean {
  return operation === 'simulation' || operation === 'proposal' || operation === 'installments';
}

/** A query beside the flow's own way: whatever becomes of it, the flow stands where it stood. */
export function isAside({ flow, operation }: Pick<FlowState, 'flow' | 'operation'>): boolean {
  return flow !== 'withdrawal' && operation !== null && readsOnly(operation.operation);
}

export function isOperation(step: FlowStep): step is FlowStep & FlowOperation {
  switch (step) {
    case 'simulation':
    case 'inclusion':
    case 'proposal':
    case 'installments':
    case 'splits':
    case 'signers':
    case 'finalisation':
    case 'account-update':
      return true;
    case 'amend':
    case 'sign':
    case 'cancel':
    case 'confirm':
    case 'deny':
    case 'regenerate':
    case 'accept':
      return false;
    default:
      return step satisfies never;
  }
}
