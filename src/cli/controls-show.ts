/** `lance controls show`: the pause and the caps that hold, what waits for another person, and which processes obey. */
import type { ControlStanding } from '../operating/controls.ts';
import { raiseText } from './cap-raise-text.ts';
import { withDesk } from './desk-control.ts';
import { labelledText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

export async function tellControlStanding(world: CommandWorld, json: boolean): Promise<void> {
  const standing = await withDesk(world, (desk) => desk.standing());
  world.terminal.write(json ? JSON.stringify(standing) : standingText(world, standing));
}

function standingText({ format }: CommandWorld, { pause, caps, raises, processes }: ControlStanding): string {
  const { controlShow: texts } = format.texts;
  const rows: (readonly [label: string, text: string])[] = [
    [texts.pause, pause === null ? texts.notPaused : texts.pausedBy(pause.by, format.minute(pause.at), pause.reason)],
    ...caps.map(({ name, limitCents, by, at, reason }): readonly [string, string] => {
      const who = by === null || at === null ? null : { by, at: format.minute(at), reason };
      return [texts.cap, texts.capOf(name, format.money(limitCents), who)];
    }),
    ...raises.map(({ name, limitCents, by, until }): readonly [string, string] => {
      return [texts.waits, raiseText(format, { name, limitCents, by, until })];
    }),
    ...processes.map(({ instance, obeys, at }): readonly [string, string] => [
      texts.process,
      texts.processOf(instance, obeys, format.minute(at)),
    ]),
  ];
  return labelledText(processes.length === 0 ? [...rows, [texts.process, texts.noProcess]] : rows);
}
