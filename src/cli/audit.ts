/** `lance audit verify`: walks the hash chain of the log. */
import { Fault } from '../errors.ts';
import { createProgress } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

/** Resolves to the exit code: 1 when the chain is broken. */
export async function verifyLog(world: CommandWorld, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { texts } = format;
  return withReader(world, async (reader) => {
    const end = (await reader.log.ends('auctions')).get(0) ?? 0;
    const progress = createProgress(terminal, texts.audit.progress);
    // A running daemon appends on.
    if (reader.verifyChain === null) throw new Fault('not-allowed', texts.audit.none);
    const verdict = await reader.verifyChain((verified) => {
      if (!json) progress.show(verified, Math.max(end, verified), '');
    });
    if (!json) progress.end();
    if (json) terminal.write(JSON.stringify(verdict));
    else if (verdict.kind === 'intact') terminal.write(texts.audit.intact(verdict.entries, verdict.head));
    else terminal.write(texts.audit.broken(verdict.offset));
    return verdict.kind === 'intact' ? 0 : 1;
  });
}
