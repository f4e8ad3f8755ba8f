/** What the main thread and the writer thread say to each other. */
import type { HouseMark } from '../../bidding/ports.ts';
import type { AuditKey, ChainHeads, OriginEntry } from '../../domain/audit.ts';
import type { LostClaim } from '../../domain/records.ts';
import type { TokenEntry } from '../../domain/roles.ts';
import { Fault, type FaultCode } from '../../errors.ts';
import type { FlowFlush } from '../../state/flow-rows.ts';
import type { ViewFlush } from '../../state/view-rows.ts';
import type { AnchorPlace } from './anchor.ts';
import type { Acknowledgement, ControlChange } from './control-rows.ts';
import type { EncodedEntries } from './log-rows.ts';
import type { MarginFlush } from './margin-rows.ts';

export type WriterTask =
  | { kind: 'append'; entries: EncodedEntries }
  | { kind: 'views'; flush: ViewFlush }
  | { kind: 'flows'; flush: FlowFlush }
  | { kind: 'margins'; flush: MarginFlush }
  /** `day`: with the name of a source behind it, where that is asked. */
  | { kind: 'direct-query'; day: string; limit: number }
  | { kind: 'control'; change: ControlChange }
  | { kind: 'acknowledge'; acknowledgement: Acknowledgement }
  | { kind: 'house'; mark: HouseMark | null }
  | { kind: 'rule-book'; text: string }
  | { kind: 'origin'; entry: OriginEntry }
  | { kind: 'token-book'; entry: TokenEntry };

export type WriterRequest = { id: number; task: WriterTask } | { id: number; task: { kind: 'close' } };

/** `errcode` as SQLite says it, `code` of a fault of ours; null: it has none. */
export type StoreFault = { message: string; errcode: number | null; code: FaultCode | null };

export function storeFaultOf(fault: unknown): StoreFault {
  if (!(fault instanceof Error)) return { message: String(fault), errcode: null, code: null };
  return {
    message: fault.message,
    errcode: 'errcode' in fault ? Number(fault.errcode) : null,
    code: fault instanceof Fault ? fault.code : null,
  };
}

/** What the writer thread is started with. `anchor` null: nothing is written outside of the store. */
export type WriterOptions = {
  path: string;
  anchor: (AnchorPlace & { restored: ChainHeads | null }) | null;
  /** What signs each transaction that adds to the log, where no anchor does; null: nothing does. */
  appendKey: AuditKey | null;
  /** Which file the lock is that this process holds. */
  lockIdentity: string | null;
};

type Run<K extends WriterTask['kind'], R> = (task: Extract<WriterTask, { kind: K }>) => R;

/** What is done for each task, and what that gives back. */
export type WriterRuns = {
  /** For each topic the offset of the task's first entry, -1 without entries. */
  append: Run<'append', number[]>;
  /** Milliseconds that storing took. */
  views: Run<'views', number>;
  /** Where the view stood. */
  flows: Run<'flows', number>;
  margins: Run<'margins', void>;
  /** One was left of the day's. */
  'direct-query': Run<'direct-query', boolean>;
  /** The revision. */
  control: Run<'control', number>;
  acknowledge: Run<'acknowledge', void>;
  house: Run<'house', void>;
  'rule-book': Run<'rule-book', void>;
  origin: Run<'origin', void>;
  'token-book': Run<'token-book', void>;
};

export type TaskResult<K extends WriterTask['kind'] = WriterTask['kind']> = ReturnType<WriterRuns[K]>;

export type WriterReply =
  /** The file is there with all its tables. What it holds is looked at next. */
  | { kind: 'opened' }
  /** `unfitViews`: what was wrong with views that were emptied, to be made again from the log. */
  | { kind: 'ready'; unfitViews: readonly string[] }
  | { kind: 'unusable'; what: 'store' | 'anchor'; fault: StoreFault }
  /** One transaction was committed, or none of its tasks has happened. */
  | { kind: 'committed'; results: { id: number; result: TaskResult }[] }
  | { kind: 'failed'; ids: number[]; fault: StoreFault }
  /** A page of the file cannot be read, whatever its reader makes of that. */
  | { kind: 'damaged'; code: FaultCode; message: string }
  /** A request has a claim that its view does not know: nothing of the transaction was committed. */
  | { kind: 'views-unfit'; ids: number[]; requestId: string }
  /** Somebody else has written to a file of the anchor: nothing is appended until `text` is null again. */
  | { kind: 'anchor-changed'; text: string | null }
  /** Somebody has altered what the file is made of: nothing is stored until `text` is null again. */
  | { kind: 'schema-altered'; text: string | null }
  /** These requests were to be claimed and were claimed before, as is known beside the log, which has lost that claim. */
  | { kind: 'claims-lost'; claims: (readonly [requestId: string, claim: LostClaim | null])[] }
  /** Something that the store held is not there any more; `lasting`: nothing that this process hears makes it good. */
  | { kind: 'log-changed'; text: string; lasting: boolean }
  /** The anchor could not be written; the store goes on. */
  | { kind: 'anchor-failed'; message: string };
