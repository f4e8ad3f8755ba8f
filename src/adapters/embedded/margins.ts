/** The margin cache: what was read or written of late in memory, all of it on disk. */
import type { MarginCache, QueryBudget } from '../../bidding/ports.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import type { MarginMac } from '../../domain/margin-mac.ts';
import type { LinkDetail } from '../../domain/request.ts';
import { Fault } from '../../errors.ts';
import { createStoredIds } from '../../state/stored-ids.ts';
import type { MarginReader } from './margin-rows.ts';
import type { Writer } from './writer.ts';

/** The service's own validity of a link detail. */
const validityMs = 86_400_000;
const forgetEveryMs = 3_600_000;
/** 1 MiB of memory. With 200,000 links stored, two days of many queries, one of 180,000 that are not is looked for in vain. */
const filterBits = 23;

function unavailable(cause: unknown): Fault {
  return new Fault('views-unavailable', 'The margin cache cannot be read or stored.', cause);
}

/** `mac` null: there is no key, and what is stored has no code. */
export function createMargins(options: {
  reader: MarginReader;
  mac: MarginMac | null;
  writer: Writer;
  memoryRows: number;
}): MarginCache {
  const memory = new Map<string, { detail: LinkDetail; storing: number }>();
  /** Only this process writes what it reads here. */
  const storedKeys = createStoredIds(options.reader.linkKeys(), filterBits);
  let newestAt = 0;
  let forgottenAt = 0;

  const remember = (linkKey: string, detail: LinkDetail, storing: number) => {
    memory.delete(linkKey);
    memory.set(linkKey, { detail, storing });
    storedKeys.add(linkKey);
    for (const [oldest, { storing: busy }] of memory) {
      if (memory.size <= options.memoryRows) break;
      if (busy === 0) memory.delete(oldest);
    }
  };
  const latest = (linkKey: string): LinkDetail | null => {
    const known = memory.get(linkKey);
    if (known !== undefined) return known.detail;
    if (!storedKeys.mayHave(linkKey)) return null;
    const stored = options.reader.read(linkKey);
    if (stored !== null) remember(linkKey, stored, 0);
    return stored;
  };
  /** Removes from time to time what is too old for anybody, with a day's grace for late clocks. */
  const forgetBefore = (): EpochMs | null => {
    if (newestAt - forgottenAt < forgetEveryMs) return null;
    forgottenAt = newestAt;
    return newestAt - 2 * validityMs;
  };

  return {
    read: async (linkKeys, at) => {
      try {
        const found = new Map<string, LinkDetail>();
        for (const linkKey of linkKeys) {
          const detail = latest(linkKey);
          if (detail !== null && at - detail.receivedAt <= validityMs) found.set(linkKey, detail);
        }
        return found;
      } catch (cause) {
        throw unavailable(cause);
      }
    },
    write: async (details) => {
      const taken: LinkDetail[] = [];
      try {
        for (const detail of details) {
          const before = latest(detail.linkKey);
          if (before !== null && before.receivedAt > detail.receivedAt) continue;
          remember(detail.linkKey, detail, (memory.get(detail.linkKey)?.storing ?? 0) + 1);
          newestAt = Math.max(newestAt, detail.receivedAt);
          taken.push(detail);
        }
        if (taken.length === 0) return;
        const texts = taken.map((detail) => JSON.stringify(detail));
        const flush = {
          linkKeys: taken.map(({ linkKey }) => linkKey),
          receivedAts: taken.map(({ receivedAt }) => receivedAt),
          details: texts,
          macs: taken.map(({ linkKey, receivedAt }, i) => options.mac?.(linkKey, receivedAt, texts[i]!) ?? null),
          forgetBefore: forgetBefore(),
        };
        await options.writer.submit({ kind: 'margins', flush });
      } catch (cause) {
        throw unavailable(cause);
      } finally {
        for (const { linkKey } of taken) {
          const known = memory.get(linkKey);
          if (known !== undefined) known.storing -= 1;
        }
      }
    },
  };
}

export function createQueryBudget(writer: Writer): QueryBudget {
  return {
    take: async (day, limit, source) => {
      try {
        return await writer.submit({
          kind: 'direct-query',
          day: source === undefined ? day : `${day} ${source}`,
          limit,
        });
      } catch (cause) {
        throw new Fault('views-unavailable', 'The count of direct queries cannot be stored.', cause);
      }
    },
  };
}
