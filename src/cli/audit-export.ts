/** `lance audit export FILE`: the latest requests with margin and published bids, one JSON object a line. Recorded first. */
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { RequestId } from '../domain/glossary.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { RecordedCase, RecordedEnd } from '../impact/recorded-cases.ts';
import { encodeAuditLine } from '../wire/audit-line.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { noteOffline } from './offline-reading.ts';
import { readLoggedCases } from './recorded-cases.ts';
import { createProgress } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, withReader } from './world.ts';

/** The element of the webhook as it was received, every digit kept. */
function rawOf(vault: Vault, requestId: RequestId, { sealed }: RecordedEnd): JsonValue {
  const parsed = parseJson(vault.open(sealedPlaces.request(requestId), sealed));
  return parsed.kind === 'parsed' && isJsonObject(parsed.value) ? ((parsed.value as JsonObject).raw ?? null) : null;
}

function lineOf(recorded: RecordedCase & { end: RecordedEnd }, vault: Vault): string {
  const { request, link, linkAskedInVain, auction, decidedAt, control, acceptance, sources, review, end } = recorded;
  const line = {
    request,
    link,
    ...(linkAskedInVain === true ? { linkAskedInVain } : {}),
    bids: auction === null ? null : end.bids,
    ownBidId: end.ownBidId,
    startedAt: auction?.startedAt ?? null,
    endedAt: auction?.endedAt ?? null,
    knownAt: auction?.knownAt ?? null,
    decidedAt,
    control,
    acceptance,
    ...(sources === undefined ? {} : { sources }),
    ...(review === undefined ? {} : { review }),
  };
  return encodeAuditLine(line, rawOf(vault, request.requestId, end), request.availableMarginCents);
}

export async function exportAudit(
  world: CommandWorld,
  file: string,
  { last, by, json }: { last: number; by?: string; json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  const { impact, move } = format.texts;
  if (existsSync(file)) throw new Fault('not-allowed', impact.fileThere(file));
  await withReader(world, async ({ log, ruleBook }, { pseudonymKey }) => {
    if (pseudonymKey === null) throw new Fault('configuration-invalid', impact.keyMissing);
    const vault = world.createVault(pseudonymKey);
    const progress = createProgress(terminal, impact.reading);
    const show = (read: number) => {
      if (!json && terminal.interactive) progress.show(read, read, '');
    };
    const cases = await readLoggedCases(log, last, show, wholeRequests(world, pseudonymKey));
    if (!json && terminal.interactive) progress.end();
    const requests = cases.length;
    if (requests > 0)
      await noteOffline(world, { ruleBook }, by, { what: 'requests-exported', file: resolve(file), requests });
    const lines = cases.map((recorded) => `${lineOf(recorded, vault)}\n`);
    try {
      // Identities are in it.
      writeFileSync(file, lines.join(''), { mode: 0o600, flag: 'wx' });
    } catch (cause) {
      throw new Fault('not-allowed', move.unwritable(file, (cause as NodeJS.ErrnoException).code ?? ''), cause);
    }
    if (json) terminal.write(JSON.stringify({ file, requests: lines.length }));
    else terminal.write(impact.exported(file, format.number(lines.length)));
  });
}
