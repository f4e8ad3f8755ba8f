/**
 * Records that this process has written, kept until it reads them back: what has the very bytes of one that was just put
 * together need not be taken apart again. Whatever else stands in the log, a repeat of the same bytes included, is decoded.
 */

export type OwnRecords = {
  keep: (bytes: Buffer, record: object) => void;
  /** The record that was kept under these bytes, once; null where there is none. */
  take: (bytes: Buffer) => object | null;
};

/** Kind, request and time stand first: enough to tell nearly all records apart. The whole is compared all the same. */
const nameBytes = 64;

/** Keeps records of `limitBytes` altogether, the latest ones: what others read back, or nobody, has to go. */
export function createOwnRecords(limitBytes: number): OwnRecords {
  const kept = new Map<string, { bytes: Buffer; record: object }>();
  let size = 0;

  function nameOf(bytes: Buffer): string {
    return bytes.toString('latin1', 0, nameBytes);
  }

  function remove(name: string): { bytes: Buffer; record: object } | null {
    const own = kept.get(name);
    if (own === undefined) return null;
    kept.delete(name);
    size -= own.bytes.length;
    return own;
  }

  return {
    keep: (bytes, record) => {
      const name = nameOf(bytes);
      remove(name);
      kept.set(name, { bytes, record });
      size += bytes.length;
      for (const oldest of kept.keys()) {
        if (size <= limitBytes) return;
        remove(oldest);
      }
    },
    take: (bytes) => {
      const name = nameOf(bytes);
      if (kept.get(name)?.bytes.equals(bytes) !== true) return null;
      return remove(name)!.record;
    },
  };
}
