/**
 * Who may act for which partition, as a consumer group shares them out: each partition has one owner at a time, as far as the
 * processes know. A process that is silent for a session is left out; it learns that late, as on Kafka.
 */
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { Remote } from './remote.ts';
import type { SeededChance } from './seeded-chance.ts';
import type { Process } from './virtual-time.ts';

export type Member = {
  process: Process;
  /** The group shares out anew: until `onAssigned` nothing is ours. */
  onUnsettled: () => void;
  /** `afresh`: others may have had any of it meanwhile. */
  onAssigned: (partitions: readonly number[], afresh: boolean) => void;
};

export type Membership = {
  /** Assigned by the latest assignment that this process has heard of, and not to be believed dead by the others. */
  holds: (partition: number) => boolean;
  leave: () => void;
};

export type Group = {
  join: (member: Member) => Membership;
  /** An operator, or a broker, has the partitions shared out anew. */
  move: (chance: SeededChance) => void;
};

const sessionMs = 2_000;
const watchMs = 250;
/** From the wake-up of a frozen process to the first answer of the group. */
const answerMs = 120;

type Joined = Member & {
  assigned: ReadonlySet<number>;
  settled: boolean;
  /** Left out after a silence: what it is given next it takes up afresh. */
  evicted: boolean;
  /** Evicted, awake again and joining again. */
  back: boolean;
  left: boolean;
};

export function createGroup(world: Remote, partitions: number): Group {
  const { time, chance } = world;
  let members: Joined[] = [];
  let owners: (Joined | null)[] = Array.from({ length: partitions }, () => null);
  let round = 0;
  let watching = false;

  function silentMs({ process, left }: Joined): number {
    if (left) return Number.POSITIVE_INFINITY;
    const now = time.now();
    if (!process.alive) return now - process.diedAt;
    return process.frozenUntil > now ? now - process.frozenAt : 0;
  }

  /** When the last sign of life that was answered was sent. */
  function aliveAt({ process }: Joined): EpochMs {
    const now = time.now();
    return now < process.frozenUntil + answerMs && process.frozenUntil > 0 ? process.frozenAt : now;
  }

  function watch(): void {
    const silent = members.filter((member) => silentMs(member) >= sessionMs);
    for (const member of silent) {
      member.evicted = true;
      member.back = false;
    }
    const back = members.filter((member) => member.evicted && !member.back && silentMs(member) === 0);
    for (const member of back) member.back = true;
    if (silent.some((member) => owners.includes(member)) || back.length > 0) share();
    members = members.filter(({ process, left }) => process.alive && !left);
    if (members.length > 0) time.after(watchMs, null, watch);
    else watching = false;
  }

  /** Everybody lets go first; then each is told what it has, as soon as all that are awake have let go. */
  function share(): void {
    round += 1;
    const mine = round;
    const present = members.filter((member) => !member.left && member.process.alive && silentMs(member) < sessionMs);
    const waitingFor = new Set(present);
    const assign = (): void => {
      if (mine !== round) return;
      round += 1;
      const assignment = round;
      const all = present.filter((member) => !member.left && !waitingFor.has(member));
      const most = Math.ceil(partitions / Math.max(1, all.length));
      const counts = new Map(all.map((member) => [member, 0]));
      const give = (member: Joined): Joined => {
        counts.set(member, counts.get(member)! + 1);
        return member;
      };
      owners = owners.map((owner) => (owner !== null && (counts.get(owner) ?? most) < most ? give(owner) : null));
      owners = owners.map((owner) => owner ?? chooseFrom(all, counts, give));
      for (const member of all) {
        const own = owners.flatMap((owner, partition) => (owner === member ? [partition] : []));
        time.after(chance.between(0, 40), member.process, () => {
          if (assignment !== round || member.left) return;
          const afresh = member.evicted;
          member.evicted = false;
          member.back = false;
          member.assigned = new Set(own);
          member.settled = true;
          member.onAssigned(own, afresh);
        });
      }
    };
    for (const member of present) {
      time.after(chance.between(0, 60), member.process, () => {
        if (mine !== round) return;
        member.settled = false;
        if (!member.left) member.onUnsettled();
        waitingFor.delete(member);
        if (waitingFor.size === 0) assign();
      });
    }
    // Whoever does not answer within a session is left out.
    time.after(sessionMs, null, () => {
      if (mine !== round) return;
      for (const member of waitingFor) {
        member.evicted = true;
        member.back = false;
      }
      assign();
    });
  }

  function chooseFrom(
    all: readonly Joined[],
    counts: ReadonlyMap<Joined, number>,
    give: (member: Joined) => Joined,
  ): Joined | null {
    const least = [...all].sort((one, other) => counts.get(one)! - counts.get(other)!)[0];
    return least === undefined ? null : give(least);
  }

  return {
    join: (member) => {
      const joined: Joined = {
        ...member,
        assigned: new Set(),
        settled: false,
        evicted: false,
        back: false,
        left: false,
      };
      members.push(joined);
      share();
      if (!watching) time.after(watchMs, null, watch);
      watching = true;
      return {
        holds: (partition) =>
          joined.settled &&
          !joined.left &&
          joined.assigned.has(partition) &&
          time.now() - aliveAt(joined) < sessionMs / 2,
        leave: () => {
          joined.left = true;
          if (members.includes(joined)) share();
        },
      };
    },
    move: (draw) => {
      owners = owners.map((owner) => (draw.happens(0.5) ? null : owner));
      // The one with the most keeps nothing for being first.
      members = draw.happens(0.5) ? members.toReversed() : members;
      share();
    },
  };
}
