/**
 * Unpacks the batches of any compression that brokers take. No desk compresses, but a topic may be set to it, and a tool that copies
 * topics may. kafkajs reads gzip alone, however much it becomes.
 */
import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import { unpackLz4 } from './lz4.ts';
import { unpackSnappy } from './snappy.ts';
import { TooLong, Unpackable } from './unpacked.ts';

/** A batch cannot be unpacked; asked again, the broker gives the same. */
export class UnreadableBatch extends Error {
  /** It would become more than the limit. */
  readonly isTooLong: boolean;
  /** Its bytes are not those that its writer sent. */
  readonly isDamaged: boolean = false;
  /** Where it stands. */
  readonly offsets: { first: number; last: number } | null = null;
  /** SHA-256 of its bytes, which are those that its writer sent; null: they are not. */
  readonly sha256: string | null = null;
  /** Of its newest record, as its writer says. */
  readonly timestamp: number = 0;

  constructor(codec: string, cause: Error) {
    super(`${codec}: ${cause.message}`, { cause });
    this.isTooLong = cause instanceof TooLong || codeOf(cause) === 'ERR_BUFFER_TOO_LARGE';
  }
}

function codeOf(cause: unknown): unknown {
  return (cause as { code?: unknown }).code;
}

/** What a desk takes of one batch at most: eight times as much as a broker takes of it. More is made to fill the memory. */
export const unpackedLimitBytes = 64 * 1024 * 1024;

type Coding = {
  codec: 'gzip' | 'snappy' | 'lz4' | 'zstd';
  type: number;
  pack: (bytes: Buffer) => Promise<Buffer>;
  unpack: (bytes: Buffer) => Buffer | Promise<Buffer>;
};

const limit = { maxOutputLength: unpackedLimitBytes };
const [pack, unpack, packZstd, unpackZstd] = [gzip, gunzip, zstdCompress, zstdDecompress].map((work) =>
  promisify(work as (bytes: Buffer, options: object, done: (error: Error | null, result: Buffer) => void) => void),
) as [Work, Work, Work, Work];
type Work = (bytes: Buffer, options: object) => Promise<Buffer>;

const unwritten = async (): Promise<never> => {
  throw new Error('no desk writes this');
};

const { GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
const codings: readonly Coding[] = [
  { codec: 'gzip', type: GZIP, pack: (bytes) => pack(bytes, {}), unpack: (bytes) => unpack(bytes, limit) },
  { codec: 'snappy', type: Snappy, pack: unwritten, unpack: (bytes) => unpackSnappy(bytes, unpackedLimitBytes) },
  { codec: 'lz4', type: LZ4, pack: unwritten, unpack: (bytes) => unpackLz4(bytes, unpackedLimitBytes) },
  { codec: 'zstd', type: ZSTD, pack: (bytes) => packZstd(bytes, {}), unpack: (bytes) => unpackZstd(bytes, limit) },
];

function isOfBytes(cause: unknown): cause is Error {
  if (cause instanceof Unpackable) return true;
  const code = codeOf(cause);
  return cause instanceof Error && typeof code === 'string' && /^(?:Z_|ZSTD_|ERR_BUFFER_TOO_LARGE)/.test(code);
}

for (const { codec, type, pack: compress, unpack: decompress } of codings) {
  kafkajs.CompressionCodecs[type as keyof typeof kafkajs.CompressionCodecs] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => compress(buffer),
    decompress: async (bytes: Buffer) => {
      try {
        return await decompress(bytes);
      } catch (cause) {
        if (isOfBytes(cause)) throw new UnreadableBatch(codec, cause);
        throw cause;
      }
    },
  });
}
