/** What a folded record means to those who watch: counted, alarmed, timed. */
import type { EpochMs } from '../domain/glossary.ts';
import type { Fold } from './ledger.ts';
import type { DeskObserver } from './observer.ts';
import { alarmsOf } from './react.ts';

/** Once for each record, by the process that folded it. */
export function tellFold({ row, before, record }: Fold, now: EpochMs, observer: DeskObserver): void {
  if (record === null) return;
  const { state } = row;
  const { requestId } = state;
  const code = record.kind === 'passed' ? record.code : null;
  observer({ kind: 'folded', record: record.kind, requestId, from: before?.phase ?? null, to: state.phase, code });
  if (state.lateClaims > (before?.lateClaims ?? 0)) observer({ kind: 'late-claim', requestId });
  for (const alarm of alarmsOf(before, state)) observer({ kind: 'alarm', code: alarm, requestId });
  if (record.kind === 'requested') observer({ kind: 'step', step: 'requested-read-back' });
  if (record.kind === 'ended') observer({ kind: 'step', step: 'ended-folded' });
  if (record.kind === 'claimed' && state.claim?.claimId === record.claimId) {
    observer({ kind: 'duration', stage: 'decided-to-claimed', durationMs: now - record.trace.decidedAt });
    observer({ kind: 'step', step: 'claim-read-back' });
  }
}
