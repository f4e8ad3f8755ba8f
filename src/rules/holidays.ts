/**
 * `holidays.json` of a rule set: days that are holidays for the desk, which rules see as the fact `desk.holiday`. The file says for
 * which days it was written; outside of them nobody knows, so that a calendar that has run out does not let through what it should not.
 */
import type { Day } from '../domain/glossary.ts';
import type { DerivedFact } from './derived.ts';
import { listFact } from './facts.ts';
import type { Json } from './json.ts';
import { isObject, type Place, readObject, readText, refuse, shown, within } from './place.ts';

export const holidayFact = 'desk.holiday';
const dayFact = 'desk.date';
const maxHolidays = 2_000;

type Holidays = { from: Day; until: Day; days: ReadonlySet<Day> };

function isDay(text: Json): text is Day {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function readDay(place: Place, value: Json): Day | null {
  if (isDay(value)) return value;
  return refuse(place, `This is ${shown(value)}; write a day that a calendar has, like "2026-12-31".`);
}

/** `{"from": "2026-01-01", "until": "2027-12-31", "holidays": {"2026-11-20": "Consciência Negra"}}`; both days are included. */
export function readHolidays(place: Place, value: Json): Holidays | null {
  const keys = { required: ['from', 'until', 'holidays'], optional: ['$schema', 'owner'] };
  const object = readObject(place, value, 'holidays.json', keys);
  if (object === null) return null;
  const before = place.faults.length;
  const from = readDay(within(place, 'from'), object.from!);
  const until = readDay(within(place, 'until'), object.until!);
  if ('owner' in object) readText(within(place, 'owner'), object.owner!, 'The owner', 80);
  const at = within(place, 'holidays');
  const declared = object.holidays!;
  if (!isObject(declared) || Object.keys(declared).length > maxHolidays) {
    return refuse(
      at,
      `"holidays" is ${shown(declared)}; write an object {"2026-12-25": "Natal"} of at most ${maxHolidays} days.`,
    );
  }
  if (from === null || until === null) return null;
  if (from > until)
    refuse(within(place, 'until'), `The days end on ${until}, before they begin on ${from}; swap them.`);
  const days = new Set<Day>();
  for (const [day, name] of Object.entries(declared)) {
    const here = within(at, day);
    readText(here, name, 'The name of a holiday', 80);
    if (!isDay(day)) refuse(here, `${shown(day)} is no day that a calendar has; write one like "2026-12-25".`);
    else if (day < from || day > until)
      refuse(here, `${day} is outside of ${from} … ${until}; move "from" or "until".`);
    else days.add(day);
  }
  return place.faults.length > before ? null : { from, until, days };
}

/** Days compare as text. */
export function holidayAsFact({ from, until, days }: Holidays): DerivedFact {
  return {
    definition: { ...listFact(holidayFact, dayFact), present: `from ${from} to ${until}, as holidays.json says` },
    value: (facts) => {
      const day = facts[dayFact];
      return typeof day === 'string' && from <= day && day <= until ? days.has(day) : undefined;
    },
    uses: [dayFact],
    needed: [dayFact],
    lacking: (facts) => [facts[dayFact] === undefined ? dayFact : holidayFact],
    isTotal: false,
    comesFirst: true,
  };
}
