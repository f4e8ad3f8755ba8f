/**
 * `lance audit pass-over`: a batch of a topic that no program can unpack is left out for good. It may hold records of the desk, so
 * nothing is bid for that was received before, and the desk is paused until a person has looked.
 */
import { Fault } from '../errors.ts';
import { refuseLiving } from './export.ts';
import type { CommandWorld } from './world.ts';

export async function passOver(
  world: CommandWorld,
  place: { topic: string; partition: number; offset: number },
  { by, reason, json }: { by: string; reason: string; json: boolean },
): Promise<void> {
  const { clock, format, terminal } = world;
  const { audit: texts } = format.texts;
  const { store: where, audit } = world.place();
  if (where.backend !== 'kafka') throw new Fault('not-allowed', texts.onBrokersOnly);
  const quietMs = Math.max(audit.restoreQuietMs, world.writing().bidding.windowMs);
  const store = await world.openWhole(where, { arriving: null });
  try {
    await refuseLiving(world, store);
    const at = clock.now();
    const noBidReceivedBefore = at + quietMs;
    // Before the order: where the command is killed in between, the partition stays closed.
    const close = async (): Promise<void> => {
      await store.control.setPause({ by, reason: texts.passOverReason(reason), at });
      await store.house.addOrigin({ kind: 'restored', at, by, reason, heads: {}, lost: null, noBidReceivedBefore });
    };
    const { first, last } = await store.passOver!(place, { at, by, reason }, close);
    if (json) terminal.write(JSON.stringify({ ...place, first, last, at, by, reason, noBidReceivedBefore }));
    else
      terminal.write(
        texts.passedOver(`${place.topic}/${place.partition}`, [first, last], format.time(noBidReceivedBefore)),
      );
  } finally {
    await store.close();
  }
}
