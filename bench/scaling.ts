/**
 * `node bench/scaling.ts` writes `docs/scaling.md` from `docs/scaling.json`, the output of `npm run -s bench -- pipeline --backend kafka --json`.
 * What a number of machines carries follows from what a request costs each part; the part that has the least room is the bound.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What of the bench the model uses. CPU in microseconds a request. */
export type Measured = {
  cores: number;
  load?: readonly number[];
  bidShare: number;
  ours: { requestsPerS: number; cpuUsPerRequest: number; serversCpuUsPerRequest: number };
  redisCpuUsPerRequest: number;
};

type Bound = 'processors' | 'desks' | 'Redis';
type Limit = { requestsPerS: number; bound: Bound };
/** `next`: what would be carried without the bound. */
export type Carried = Limit & { desks: number; next: Limit };

const machineCounts = [1, 3, 10, 30] as const;
/** Of what a processor could do: the rest is for bursts. */
const share = 0.6;
/** As shipped. */
const partitions = 12;
/** Copies of each record where there are as many machines. */
const replicas = 3;
/** A desk has three threads with work, of which one has the most. */
const shipped = { cores: 8, desksEach: 4 };

/** The brokers and Redis are on the same machines as the desks. */
export function carriedBy(measured: Measured, machines: number, ofPartitions: number, each = shipped): Carried {
  const { desk, broker, redis } = costsOf(measured);
  const desks = Math.min(machines * each.desksEach, ofPartitions);
  const copies = Math.min(replicas, machines);
  const perS = (coresFree: number, us: number): number => (share * coresFree * 1_000_000) / us;
  const bounds: readonly (readonly [Bound, number])[] = [
    ['processors', perS(machines * each.cores, desk + copies * broker + redis)],
    // One thread of a desk does most of its work: no more than one core counts.
    ['desks', perS(evenDesks(desks, ofPartitions), desk)],
    ['Redis', perS(1, redis)],
  ];
  const [[bound, requestsPerS], [nextBound, nextPerS]] = bounds.toSorted((one, other) => one[1] - other[1]) as [
    (typeof bounds)[number],
    (typeof bounds)[number],
  ];
  return {
    requestsPerS: Math.round(requestsPerS),
    bound,
    desks,
    next: { requestsPerS: Math.round(nextPerS), bound: nextBound },
  };
}

/** Partitions are whole: the desk that has the most of them is full first. */
function evenDesks(desks: number, ofPartitions: number): number {
  return ofPartitions / Math.ceil(ofPartitions / desks);
}

function costsOf({ ours, redisCpuUsPerRequest }: Measured) {
  const { cpuUsPerRequest: desk, serversCpuUsPerRequest: servers } = ours;
  return { desk, broker: Math.max(0, servers - redisCpuUsPerRequest), redis: redisCpuUsPerRequest };
}

function table(measured: Measured, ofPartitions: number): string {
  const rows = machineCounts.map((machines) => {
    const { requestsPerS, bound, desks, next } = carriedBy(measured, machines, ofPartitions);
    return `| ${machines} | ${desks} | ${requestsPerS} | ${bound} | ${next.requestsPerS} (${next.bound}) |`;
  });
  const head = '| machines | desks that have partitions | requests/s | bound | without it, requests/s |';
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

export function pageOf(measured: Measured): string {
  const { desk, broker, redis } = costsOf(measured);
  const many = 120;
  const loaded = measured.load === undefined ? 'not known' : measured.load.join(' before and ');
  return `# What a number of machines carries

Made by \`node bench/scaling.ts\` from \`docs/scaling.json\`, the output of \`npm run -s bench -- pipeline --backend kafka --json\`.
Do not edit this page: measure again. The load average of the machine while it was measured was ${loaded} after; on a machine
that others use too, costs come out too high.

## Costs of a request

From the webhook to the answer to the bid; ${Math.round(100 * measured.bidShare)} % of the requests were bid for.

| part | µs of CPU |
|---|---|
| desk, all threads | ${desk} |
| broker, each copy of the records | ${Math.round(broker)} |
| Redis | ${redis} |

## The model

Machines of ${shipped.cores} cores, each with ${shipped.desksEach} desk processes; brokers and Redis share them. Every part is used to ${100 * share} % of what it could
do. The least of three bounds holds:

- **Processors**: all cores, for the desk, ${replicas} copies at the brokers (fewer on fewer machines) and Redis.
- **Desks**: a desk counts as one core, for one thread does most of its work. A partition has one desk, so no more desks work
  than there are partitions, and where they do not divide evenly the desk with the most is full first.
- **Redis**: one core, for it runs one script at a time.

With the ${partitions} partitions of the shipped settings:

${table(measured, partitions)}

With ${many} partitions, set before the topics are made:

${table(measured, many)}

## What it does not say

- Measured with everything on one machine of ${measured.cores} cores, generator and sinks too: ${measured.ours.requestsPerS} requests/s at full use.
- Ends of auctions, learning and what follows a win are not in the costs; on the embedded backend they add about as much again as
  the bid (\`npm run bench -- pipeline\`, until \`settled\` against \`claimed\`).
- Every desk reads all callbacks. That costs each desk the same, however many there are, and is not in the model.
- Costs are those at the rate that was measured. At a higher one broker and Redis are asked in larger batches, so theirs fall; by how
  much was not measured.
- Networks and disks are taken to be fast enough; the bench runs on one machine, without copies between brokers.
`;
}

const at = (name: string): string => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));

export function readMeasured(): Measured {
  return JSON.parse(readFileSync(at('scaling.json'), 'utf8')) as Measured;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(at('scaling.md'), pageOf(readMeasured()));
}
