/** Who gets which partition: as even as can be, and everybody keeps what they have as far as that allows. */
import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';

type Member = { memberId: string; owned: readonly number[] };

/**
 * The broker lets a process into a group only with the protocol of those that are in it. Versions that kept the views in Redis say
 * `LanceSticky`: neither they nor this one get a partition while the other has some, for each has its own idea of what is promised.
 */
const protocolName = 'LanceSticky2';

/** Shares out partitions 0 … count − 1. The same members give the same answer, in whatever order they are listed. */
export function shareOut(count: number, members: readonly Member[]): ReadonlyMap<string, number[]> {
  const ordered = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const least = Math.floor(count / ordered.length);
  let larger = count % ordered.length;
  const shares = new Map<string, number[]>();
  const taken = new Set<number>();
  for (const { memberId, owned } of ordered) {
    const free = [...new Set(owned)].filter((each) => each < count && !taken.has(each)).sort((a, b) => a - b);
    const kept = free.slice(0, free.length > least && larger > 0 ? least + 1 : least);
    if (kept.length > least) larger -= 1;
    for (const each of kept) taken.add(each);
    shares.set(memberId, kept);
  }
  const rest = Array.from({ length: count }, (_, partition) => partition).filter((each) => !taken.has(each));
  for (const { memberId } of ordered) {
    const share = shares.get(memberId)!;
    while (share.length < least) share.push(rest.shift()!);
  }
  for (const { memberId } of ordered) {
    const share = shares.get(memberId)!;
    if (rest.length > 0 && share.length === least) share.push(rest.shift()!);
  }
  return shares;
}

export function createStickyAssigner(topic: string, owned: () => readonly number[]): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = AssignerProtocol;
  return ({ cluster }) => ({
    name: protocolName,
    version: 1,
    protocol: ({ topics }) => ({
      name: protocolName,
      metadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(JSON.stringify(owned())) }),
    }),
    assign: async ({ members }) => {
      const count = cluster.findTopicPartitionMetadata(topic).length;
      const known = members.map(({ memberId, memberMetadata }) => {
        const said = MemberMetadata.decode(memberMetadata)?.userData.toString() ?? '';
        return { memberId, owned: said === '' ? [] : (JSON.parse(said) as number[]) };
      });
      return [...shareOut(count, known)].map(([memberId, partitions]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version: 1,
          assignment: { [topic]: partitions },
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}
