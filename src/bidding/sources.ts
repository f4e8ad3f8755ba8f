/**
 * What the log says of external sources that were asked of a request: the question before the network, the answer before the decision.
 * The first answer of a source and declaration counts. Pure.
 */
import type { SourceLook } from '../domain/offer.ts';
import type { SourceAnswered, SourceAsked } from '../domain/records.ts';
import type { RequestState, SourceState } from '../domain/states.ts';
import { maxSources, type Source } from '../rules/sources.ts';

/** Whoever asked may not have lived to write the answer: then it is asked once more, and no more. */
export const mostAttempts = 2;

/** Of one request: of the latest two sets that ask as much as a set may. */
const maxKept = 2 * maxSources;

type Named = Pick<Source, 'name' | 'hash'>;

export function sourceStateOf({ sources }: RequestState, { name, hash }: Named): SourceState | null {
  return sources?.find((each) => each.source === name && each.hash === hash) ?? null;
}

/** What the sources of the set have answered, or not, as the log says. */
export function looksOfSources(state: RequestState, sources: readonly Named[]): readonly SourceLook[] {
  return sources.flatMap((source) => {
    const answer = sourceStateOf(state, source)?.answer ?? null;
    return answer === null ? [] : [{ source: source.name, hash: source.hash, ...answer }];
  });
}

function kept(state: RequestState, own: SourceState): RequestState {
  const others = (state.sources ?? []).filter(({ source, hash }) => source !== own.source || hash !== own.hash);
  return { ...state, sources: [...others.slice(1 - maxKept), own] };
}

export function withSourceAsked(state: RequestState, { source, hash, attempt }: SourceAsked): RequestState {
  if (state.phase !== 'requested' || state.request === null) return state;
  const known = sourceStateOf(state, { name: source, hash });
  if (known !== null && known.answer !== null) return state;
  return kept(state, { source, hash, attempts: Math.max(known?.attempts ?? 0, attempt), answer: null });
}

/** An answer without a question counts for nothing; only a failure may come without one. */
export function withSourceAnswered(state: RequestState, record: SourceAnswered): RequestState {
  const { source, hash, failure, found } = record;
  if (state.phase !== 'requested' || state.request === null) return state;
  const known = sourceStateOf(state, { name: source, hash });
  if (known === null ? failure === null : known.answer !== null) return state;
  return kept(state, { source, hash, attempts: known?.attempts ?? 0, answer: { failure, found } });
}
