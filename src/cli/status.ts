/** `lance status`: why no bids flow, if they do not, and the essentials of a running process, as it says itself. */
import { type Pause, toldPause } from '../bidding/ports.ts';
import { type Rollback, rollbackIn } from '../bidding/rule-book.ts';
import { type DaemonStatus, isTurnedAway } from '../http/api/status.ts';
import { type WaitingRaise, waitingRaises } from '../operating/controls.ts';
import { living } from '../operating/living.ts';
import { causeText, detailText, remedyOf } from './bidding-remedy.ts';
import { raiseText } from './cap-raise-text.ts';
import { askStatus, type DaemonPlace, type StatusAnswer } from './daemon.ts';
import { fullCapsText, withUse } from './full-caps.ts';
import { backText, economicsText, folderText, serviceText } from './status-text.ts';
import { labelledText } from './terminal.ts';
import { type CommandWorld, isStoreHeld, withReader } from './world.ts';

/** As `EX_UNAVAILABLE`: nobody answers. */
const nobodyCode = 69;
/** As `EX_NOPERM`: somebody does, and does not take the token. */
const refusedCode = 77;
const screenWidth = 80;
const hashLength = 12;
/** After so long without an answer a service that is down is no cause any more (`bidding-status.ts`). */
const unheardMs = 60_000;

/** Resolves to the exit code: 69 when no process answers, 77 when one does not take the token. */
export async function showStatus(world: CommandWorld, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const place = world.daemon();
  const answer: StatusAnswer =
    place === null ? { kind: 'silent', reason: 'LANCE_HTTP_PORT=0' } : await askStatus(place);
  if (answer.kind === 'answered') {
    const found = await withPerson(world, place!, answer.status);
    terminal.write(json ? JSON.stringify(found) : statusText(world, place!.url, found));
    return 0;
  }
  const failureCode = isTokenRefused(answer) ? refusedCode : nobodyCode;
  const known = place?.named === true ? null : await knownOfStore(world);
  if (json) {
    const pause = known?.pause ?? null;
    const url = place?.url ?? null;
    terminal.write(JSON.stringify({ ...answer, url, alive: known?.alive ?? null, held: known?.held ?? null, pause }));
    return failureCode;
  }
  const { status } = format.texts;
  const lines = [whyText(world, place, answer)];
  if (known !== null) {
    // On Kafka others may live beside it.
    const isOfOthers = world.place().store.backend !== 'embedded';
    const hangs = known.held && (known.alive === 0 || isOfOthers) && answer.kind === 'silent';
    if (hangs) lines.push(status.hangs);
    if (!hangs || known.alive > 0)
      lines.push(known.lastAt === null ? status.noneAlive : status.someAlive(known.alive, format.time(known.lastAt)));
    if (known.pause !== null)
      lines.push(status.pausedBy(known.pause.by, format.time(known.pause.at), known.pause.reason));
  }
  terminal.write(lines.map((line) => wrapped(line, screenWidth)).join('\n'));
  return failureCode;
}

function isTokenRefused(answer: StatusAnswer): boolean {
  return answer.kind === 'refused' && (answer.httpStatus === 401 || answer.httpStatus === 403);
}

function whyText({ format }: CommandWorld, place: DaemonPlace | null, answer: StatusAnswer): string {
  const { status, remote } = format.texts;
  if (place === null) return status.noPort;
  if (answer.kind === 'silent') return status.silent(place.url, answer.reason, place.named);
  const code = answer.kind === 'refused' ? answer.httpStatus : 200;
  if (isTokenRefused(answer)) {
    const detail = answer.kind === 'refused' ? answer.detail : undefined;
    return detail === undefined ? status.tokenRefused(place.url, code) : remote.refused(place.url, code, detail);
  }
  return code === 503 ? status.starting(place.url) : status.noStatus(place.url, code);
}

/** A process tells who ordered what, and why, only to those with a token; whoever has its store may read it there. */
async function withPerson(world: CommandWorld, { named }: DaemonPlace, found: DaemonStatus): Promise<DaemonStatus> {
  const { bidding, rollback, caps, capRaises = [] } = found;
  const isPaused = bidding?.cause === 'paused' && bidding.by === null;
  if (named || !(isPaused || rollback != null || capRaises.length > 0 || caps != null)) return found;
  const known = await knownOfStore(world, caps);
  if (known === null) return found;
  const { pause } = known;
  // Of another rollback than the process follows, the store's says nothing.
  const back = rollback != null && known.rollback?.at === rollback.at ? known.rollback : rollback;
  const told = {
    ...(caps == null ? {} : { caps: known.caps }),
    ...(capRaises.length === 0 ? {} : { capRaises: known.raises.map((raise) => ({ ...raise })) }),
  };
  const withNames = { ...found, ...told, ...(back === undefined ? {} : { rollback: back }) };
  return isPaused && pause !== null
    ? { ...withNames, bidding: { ...bidding, by: pause.by, detail: pause.reason } }
    : withNames;
}

/** `lastAt`: when the last of those that live showed it. `held`: a process holds the store. */
type KnownOfStore = {
  alive: number;
  lastAt: number | null;
  held: boolean;
  pause: Pause | null;
  rollback: Rollback | null;
  raises: readonly WaitingRaise[];
  caps: DaemonStatus['caps'];
};

/** What the store says; null where it cannot be read. `caps`: as the process tells of them; what is used under one is added. */
async function knownOfStore(world: CommandWorld, caps?: DaemonStatus['caps']): Promise<KnownOfStore | null> {
  try {
    return await withReader(world, async (reader) => {
      const { control, ruleBook } = reader;
      const signs = (await living(control, world.clock)).map(({ at }) => at);
      const lastAt = signs.length === 0 ? null : Math.max(...signs);
      return {
        alive: signs.length,
        lastAt,
        held: isStoreHeld(world),
        pause: toldPause(await control.read()),
        rollback: rollbackIn(await ruleBook.read()),
        raises: await waitingRaises({ ruleBook, clock: world.clock }),
        caps: caps == null ? caps : await withUse(reader, caps),
      };
    });
  } catch {
    // That nobody answers is the news; what is wrong with the store is for the doctor.
    return null;
  }
}

function statusText({ format }: CommandWorld, url: string, found: DaemonStatus): string {
  const { status, bidding: texts } = format.texts;
  const { labels } = status;
  const { bidding, requests, partitions } = found;
  const cause = bidding?.cause ?? null;
  const detail = bidding?.detail ?? null;
  const rows: (readonly [label: string, text: string | null])[] = [
    [
      labels.bidding,
      bidding === null
        ? status.doorOnly
        : cause === null
          ? openText(found)
          : status.closed(causeText(texts, cause, detail), cause),
    ],
    [labels.since, bidding === null ? null : format.minute(bidding.since)],
    [labels.until, bidding?.until == null ? null : format.minute(bidding.until)],
    [labels.by, bidding?.by ?? (cause === 'paused' ? status.personNotTold : null)],
    // Why somebody paused is in that person's own words.
    [labels.detail, cause === 'paused' ? detail : detail && detailText(format.texts, detail)],
    [labels.remedy, cause === null ? null : remedyOf(texts, cause, detail)],
    [labels.process, status.process(found.version, status.roles(found.roles), format.minute(found.startedAt), url)],
    [labels.ready, found.ready ? status.isReady : status.notReady],
    [labels.webhooks, found.webhooksRefused == null ? null : format.texts.fault(found.webhooksRefused)],
    [labels.rules, found.ruleSet?.slice(0, hashLength) ?? format.texts.none],
    [labels.back, backText(format, found)],
    [labels.folder, folderText(format, found)],
    [labels.economics, economicsText(format, found)],
    [
      labels.partitions,
      [
        status.partitionsOwned(partitions.owned),
        ...partitions.closed.map((text) => status.partitionClosed(format.texts.fault(text))),
      ].join('; '),
    ],
    [
      labels.requests,
      requests === null ? null : requests.known === false ? status.requestsUnknown : status.requests(requests),
    ],
    [labels.queue, requests === null ? null : status.queue(requests)],
    [labels.paused, found.pausedAt == null ? null : format.time(found.pausedAt)],
    [labels.lastSent, requests === null || found.lastSentAt === undefined ? null : exactText(found.lastSentAt)],
    [labels.lastBid, requests === null ? null : lastText(found.lastBidAt)],
    [labels.lastWin, requests === null ? null : lastText(found.lastWinAt)],
    [labels.service, requests === null ? null : serviceText(format, found)],
    [labels.refusals, found.unknownRefusals == null ? null : status.unknownRefusals(found.unknownRefusals)],
    [labels.linkQueries, found.linkQueryRefusals == null ? null : status.linkQueryRefusals(found.linkQueryRefusals)],
    [labels.answers, found.slowAnswers == null ? null : status.slowAnswers(found.slowAnswers)],
    ...(found.failingSources ?? []).map((failing): readonly [string, string] => [
      labels.sources,
      status.failingSource(failing),
    ]),
    [labels.caps, found.caps == null ? null : fullCapsText(format, found.caps)],
    ...(found.capRaises ?? []).map((raise): readonly [string, string] => [labels.waits, raiseText(format, raise)]),
  ];
  const width = screenWidth - Math.max(...Object.values(labels).map((label) => label.length)) - 2;
  return labelledText(
    rows.map(([label, text]) => [label, text === null ? null : wrapped(format.localTimes(text), width)]),
  );

  /** Open is what nothing speaks against. */
  function openText({ at, startedAt, lastBidAt, lastAnswerAt, lastAnswerStatus }: DaemonStatus): string {
    if (lastAnswerAt === null) return status.openUnanswered(format.minute(startedAt));
    if (lastAnswerStatus != null && isTurnedAway(lastAnswerStatus)) return status.openTurnedAway(lastAnswerStatus);
    const since = lastBidAt ?? startedAt;
    return at - since < unheardMs ? status.open : status.openUnheard(format.minute(since));
  }

  /** To the millisecond, to be set against the pause. */
  function exactText(at: number | null): string {
    return at === null ? status.notSinceStart : format.time(at);
  }

  function lastText(at: number | null): string {
    return at === null ? status.notSinceStart : format.minute(at);
  }
}

/** Lines of at most so many characters, broken at blanks; a longer word is broken where it has to be. */
function wrapped(text: string, width: number): string {
  const lines = [''];
  const words = text.split(/\s+/).flatMap((word) => word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []);
  for (const word of words) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}
