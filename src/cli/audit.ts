/** `lance audit verify`: walks the hash chains of the log, and compares them with the heads anchored outside of it. */
import type { ChainVerdict, Unverified } from '../domain/audit.ts';
import { Fault } from '../errors.ts';
import { createProgress, proseText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

/** Nothing differs, but of the anchors too little could be compared to say that nothing was changed. */
const unverifiableCode = 2;
const unverifiable: ReadonlySet<Unverified['kind']> = new Set(['no-key', 'other-key', 'no-anchor', 'before-key']);

/** Resolves to the exit code: 1 when a chain is broken, 2 when nothing is and the anchors could not be compared. */
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
    const origins = await reader.house.origins();
    if (!json) progress.end();
    if (json) terminal.write(JSON.stringify({ ...verdict, origins }));
    else {
      terminal.write(proseText(verdictText(world, verdict)));
      if (verdict.kind !== 'intact') terminal.write(proseText(texts.audit.remedy(remedyOf(world, verdict))));
      for (const each of verdict.unverified)
        terminal.write(proseText(texts.audit.unverified(unverifiedText(world, each))));
      for (const origin of origins) {
        const at = format.time(origin.at);
        if (origin.kind === 'restored') terminal.write(proseText(texts.audit.restored(at, origin.by, origin.reason)));
        else terminal.write(proseText(texts.audit.imported(at, origin.source, origin.hash)));
      }
    }
    if (verdict.kind !== 'intact') return 1;
    return verdict.unverified.some(({ kind }) => unverifiable.has(kind)) ? unverifiableCode : 0;
  });
}

/** What helps against it. A part that is missing comes back with a newer copy, a changed one with an older. */
export function remedyOf(world: CommandWorld, verdict: Exclude<ChainVerdict, { kind: 'intact' }>): string {
  const { remedies } = world.format.texts.audit;
  if (verdict.kind !== 'broken') return remedies.anchors;
  if (verdict.table === 'control') return remedies.controls;
  if (verdict.what !== 'truncated' && verdict.what !== 'front-cut') return remedies.edited;
  return world.place().store.backend === 'kafka' ? remedies.topicSetBack : remedies.setBack;
}

function verdictText({ format }: CommandWorld, verdict: ChainVerdict): string {
  const { audit } = format.texts;
  switch (verdict.kind) {
    case 'intact': {
      const all = Object.values(verdict.tables).reduce((sum, { entries }) => sum + entries, 0);
      const anchors = verdict.anchoredAt === null ? null : format.time(verdict.anchoredAt);
      return audit.intact(verdict.entries, verdict.head, all, verdict.anchors, anchors);
    }
    case 'broken': {
      const { table, offset, what, until = null } = verdict;
      return audit.broken(table, offset, audit.tampering[what], until);
    }
    case 'anchor-broken':
      return audit.anchorBroken(verdict.place, verdict.line);
    case 'anchor-missing':
      return audit.anchorMissing(verdict.place);
    default:
      return verdict satisfies never;
  }
}

function unverifiedText({ format, place }: CommandWorld, each: Unverified): string {
  const { notVerified } = format.texts.audit;
  switch (each.kind) {
    case 'no-key':
      return notVerified.noKey;
    case 'other-key':
      return notVerified.otherKey(each.anchors);
    case 'no-anchor':
      return place().store.backend === 'kafka'
        ? notVerified.noAnchorOnTopic(each.place)
        : notVerified.noAnchor(each.place);
    case 'before-chain':
      return notVerified.beforeChain(each.table, each.until);
    case 'before-key':
      return notVerified.beforeKey(each.entries, format.time(each.at));
    case 'lost-part':
      return notVerified.lostPart(each.anchors, format.time(each.at));
    case 'margins':
      return notVerified.margins(each.rows);
    case 'expired':
      return notVerified.expired(each.table, each.until);
    default:
      return each satisfies never;
  }
}
