/** Auctions of the sandbox's population as lines of `audit export`: what impact is measured and tested on. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { requestsWebhook } from '../src/sandbox/messages.ts';
import { requestAt, type WorkerRequest } from '../src/sandbox/population.ts';
import { modelRivals, type Rivals } from '../src/sandbox/rivals.ts';
import { defaultWorld, worldOn } from '../src/sandbox/world.ts';
import { encodePublishedBids } from '../src/wire/events.ts';
import { type JsonObject, parseJson } from '../src/wire/json.ts';

const windowMs = 30_000;
const validityMs = 86_400_000;

export type AuditStream = {
  count: number;
  seed: string;
  startsAt: number;
  batchRequests: number;
  /** From one batch to the next. */
  everyMs: number;
};

function bidsOn(rivals: Rivals, request: WorkerRequest, startsAt: number) {
  const { index, segment, regime, amountCents, installments, requestId } = request;
  const bids = rivals.bidsOn(index, segment, regime).sort((left, right) => left.rateHundredths - right.rateHundredths);
  return bids.map(({ lender, rateHundredths, arrivesAt }, place) => ({
    bidId: `${requestId}-${lender}`,
    rateHundredths: Math.ceil(rateHundredths),
    offGrid: !Number.isInteger(rateHundredths),
    amountCents,
    installments,
    position: place + 1,
    placedAt: startsAt + Math.round(arrivesAt * windowMs),
  }));
}

/** The same stream gives the same lines. Every request says its margin. */
export function* auditLines({ count, seed, startsAt, batchRequests, everyMs }: AuditStream): Generator<string> {
  const world = worldOn({ ...defaultWorld, marginOmittedShare: 0 }, startsAt);
  const rivals = modelRivals(world, seed);
  for (let first = 0; first < count; first += batchRequests) {
    const at = startsAt + (first / batchRequests) * everyMs;
    const size = Math.min(batchRequests, count - first);
    const requests = Array.from({ length: size }, (_, index) => requestAt(world, seed, first + index, count));
    const batchId = `lot-${first / batchRequests}`;
    const endsAt = at + windowMs;
    const body = parseJson(
      requestsWebhook({ batchId, startsAt: at, endsAt, expiresAt: at + validityMs, requests }),
    ) as unknown as { value: { Payload: { Solicitacoes: JsonObject[] } } };
    for (const [place, element] of body.value.Payload.Solicitacoes.entries()) {
      const request = requests[place]!;
      yield `${JSON.stringify({
        request: { ...element, CodigoLote: batchId },
        margin: request.worker.marginCents / 100,
        lances: encodePublishedBids(bidsOn(rivals, request, at)),
        receivedAt: at,
      })}\n`;
    }
  }
}

export async function writeAuditFile(path: string, stream: AuditStream): Promise<void> {
  await pipeline(Readable.from(auditLines(stream)), createWriteStream(path));
}
