/** What the main thread and the writer thread say to each other. */
import type { HouseMark, RuleBookEntry } from '../../bidding/ports.ts';
import type { Acknowledgement, ControlChange } from './control-rows.ts';
import type { FlowFlush } from './flow-rows.ts';
import type { EncodedEntries } from './log-rows.ts';
import type { MarginFlush } from './margin-rows.ts';
import type { ViewFlush } from './view-rows.ts';

export type WriterTask =
  | { kind: 'append'; entries: EncodedEntries }
  | { kind: 'views'; flush: ViewFlush }
  | { kind: 'flows'; flush: FlowFlush }
  | { kind: 'margins'; flush: MarginFlush }
  | { kind: 'direct-query'; day: string; limit: number }
  | { kind: 'control'; change: ControlChange }
  | { kind: 'acknowledge'; acknowledgement: Acknowledgement }
  | { kind: 'house'; mark: HouseMark | null }
  | { kind: 'rule-book'; entry: RuleBookEntry };

export type WriterRequest = { id: number; task: WriterTask } | { id: number; task: { kind: 'close' } };

/** What a task gives back: offsets for `append`, the milliseconds it took for `views`, the revision for `control`, where the view stood for `flows`, 1 or 0 for `direct-query`, null for the others. */
export type TaskResult = number[] | number | null;

export type WriterReply =
  | { kind: 'ready' }
  | { kind: 'unusable'; message: string }
  /** One transaction was committed, or none of its tasks has happened. */
  | { kind: 'committed'; results: { id: number; result: TaskResult }[] }
  | { kind: 'failed'; ids: number[]; message: string };
