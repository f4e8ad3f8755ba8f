/**
 * Where the records of a row stand in their partition, so that they are read by position and not looked for. The ledgers keep it in
 * the row as they fold; `evolve` does not know it.
 */

/**
 * Offsets in log order. After 64 of them only the last one is kept, as `until`: further records stand between the last of
 * `offsets` and there.
 */
export type RecordPlaces = { offsets: readonly number[]; until?: number };

/** A row without places began under an earlier version: its records have to be looked for in the whole partition. */
type Placed = { places?: RecordPlaces };

/** A request has about five records. One with so many is somebody's loop, and must not make its row grow. */
const maxOffsets = 64;

/** With one record more. `before` null: it is the first one. A record that is folded twice stands there once. */
export function placesAfter(before: Placed | null, offset: number): RecordPlaces | undefined {
  if (before === null) return { offsets: [offset] };
  const { places } = before;
  if (places === undefined) return undefined;
  const last = places.until ?? places.offsets.at(-1);
  if (last !== undefined && offset <= last) return places;
  if (places.offsets.length < maxOffsets) return { offsets: [...places.offsets, offset] };
  return { ...places, until: offset };
}

/** Of the records of its key, those that the row was folded from; all of them where the row does not say. */
export function foldedInto<Entry extends { offset: number }>({ places }: Placed, entries: readonly Entry[]): Entry[] {
  const last = places === undefined ? Number.POSITIVE_INFINITY : (places.until ?? places.offsets.at(-1) ?? -1);
  return entries.filter(({ offset }) => offset <= last);
}

export function withPlace<State extends Placed>(state: State, before: Placed | null, offset: number): State {
  const places = placesAfter(before, offset);
  if (places === undefined) return state;
  return { ...state, places };
}

/** Of the records before `offset`, some of which stand in the batch that is being folded. Absent: nobody knows. */
export function placesBefore(
  row: Placed | null,
  batch: readonly { offset: number }[],
  offset: number,
): RecordPlaces | undefined {
  let known = row;
  for (const entry of batch) {
    if (entry.offset >= offset) break;
    const places = placesAfter(known, entry.offset);
    known = places === undefined ? {} : { places };
  }
  return known?.places;
}
