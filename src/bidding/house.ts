/** Keeps a desk that was moved from running in two places. */
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { lookAgain, type RepeatedLook } from '../domain/repeated-look.ts';
import { Fault } from '../errors.ts';
import type { Control, House, HouseMark, UnreadableMark } from './ports.ts';

/** How often a running process looks whether the desk was moved from under it. */
const lookEveryMs = 5_000;
const showEveryMs = 500;

/** The mark is in the table or the topic `house`. */
export function unreadableHouse(): Fault {
  return new Fault(
    'store-damaged',
    'The mark in house that says whether the desk was moved cannot be read: it was edited or is damaged. If the desk was never moved from here and never half imported, lance export --undo takes the mark away; otherwise run it where it was imported, or put back a backup of the whole store, and accept it with: lance audit accept-restore --by NAME --reason TEXT.',
  );
}

/** Why no process may run where this mark is. */
export function away(mark: HouseMark | UnreadableMark): Fault {
  if (mark.kind === 'unreadable') return unreadableHouse();
  const { kind, file, at } = mark;
  const when = new Date(at).toISOString();
  switch (kind) {
    case 'moved':
      return new Fault(
        'desk-moved',
        `The desk that was here was moved to ${file} on ${when}: run it where that file was imported. If it never was and never will be, lance export --undo brings the desk back here.`,
      );
    case 'leaving':
      return new Fault(
        'desk-moved',
        `An export of this desk to ${file}, begun on ${when}, goes on or broke off. If it broke off, lance export --undo brings the desk back here; what it wrote is worth nothing then.`,
      );
    case 'arriving':
      return new Fault(
        'desk-moved',
        `An import of ${file} into this place, begun on ${when}, goes on or broke off. If it broke off, import the file again; where that is refused, into another, empty place. The part that is here cannot be used.`,
      );
    default:
      return kind satisfies never;
  }
}

/** Why no process may run here; null: nothing is against it. */
export async function refusalBy(house: Visitor['house']): Promise<Fault | null> {
  const mark = await house.read();
  return mark === null ? null : away(mark);
}

type Visitor = { house: Pick<House, 'read'>; control: Control; clock: Clock; instance: string };

/**
 * Rejects with `desk-moved` where the desk does not live here; the process shows itself first and looks then, as an export marks
 * first and looks for processes then: whichever comes second sees the other.
 */
export async function enterHouse(visitor: Visitor): Promise<void> {
  await show(visitor);
  const fault = await refusalBy(visitor.house);
  if (fault !== null) throw fault;
}

/** After accepted restores: a request received before this time is not bid for. */
export async function noBidReceivedBefore({ house }: { house: Pick<House, 'origins'> }): Promise<EpochMs> {
  const origins = await house.origins();
  return Math.max(0, ...origins.map((origin) => (origin.kind === 'restored' ? origin.noBidReceivedBefore : 0)));
}

async function show({ control, instance, clock }: Visitor): Promise<void> {
  const { revision } = await control.read();
  await control.acknowledge(instance, revision, clock.now());
}

/**
 * For a process that an export did not see, because it could not show itself just then. `shows`: nothing else in the process
 * shows that it lives.
 */
export function watchHouse(options: Visitor & { shows: boolean; onMoved: (fault: Fault) => void }): {
  /** Resolves when what is under way has ended. */
  stop: () => Promise<void>;
} {
  const { clock, house, onMoved } = options;
  let stopped = false;

  function every(periodMs: number, work: () => Promise<void>): RepeatedLook {
    const looking = lookAgain(clock, periodMs, async () => {
      try {
        await work();
      } catch (fault) {
        // No answer now; asked again the next time.
        if (!(fault instanceof Fault)) throw fault;
      }
      return true;
    });
    looking.startLater();
    return looking;
  }

  const looks = [
    every(lookEveryMs, async () => {
      const fault = await refusalBy(house);
      if (fault !== null && !stopped) onMoved(fault);
    }),
    ...(options.shows ? [every(showEveryMs, () => show(options))] : []),
  ];
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(looks.map((look) => look.stop()));
    },
  };
}
