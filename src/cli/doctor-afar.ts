/** The doctor with LANCE_URL and LANCE_TOKEN: what the running desk says of itself. What only its machine can be asked is named. */
import { Fault } from '../errors.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import { askStatus, type DaemonPlace } from './daemon.ts';
import type { RemoteDesk } from './desk-control.ts';
import { biddingFindings } from './doctor-bidding.ts';
import { type Finding, found, hashLength } from './doctor-finding.ts';
import { reachDesk } from './remote-desk.ts';
import type { CommandWorld } from './world.ts';

/** Of the oldest dead letters: a page of them is opened and parsed by the desk. */
const lettersLooked = 50;

const untried = found('afar', 'warn', 'afar-untried');

export async function examineAfar(world: CommandWorld, place: DaemonPlace): Promise<Finding[]> {
  const { url } = place;
  const answer = await askStatus(place);
  if (answer.kind === 'silent')
    return [found('daemon', 'fail', 'daemon-unreachable', { url, text: answer.reason }), untried];
  if (answer.kind === 'refused') {
    const text = [`HTTP ${answer.httpStatus}`, ...(answer.detail === undefined ? [] : [answer.detail])].join(': ');
    return [found('daemon', 'fail', 'daemon-refuses', { url, text }), untried];
  }
  const { status } = answer;
  const desk = await reachDesk(place, null, world.format.texts.remote);
  const told = async (check: Finding['check'], ask: () => Promise<Finding[]>): Promise<Finding[]> => {
    try {
      return await ask();
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return [found(check, 'warn', 'afar-refused', { text: fault.message })];
    }
  };
  return [
    found('daemon', 'ok', 'daemon-answers', { url, version: status.version }),
    ...webhooksOf(status),
    ...(await biddingFindings(world, status, null)),
    ...rulesOf(status),
    ...(await told('control', () => controlsOf(world, desk, status))),
    ...(await told('dead-letters', () => lettersOf(desk))),
    untried,
  ];
}

function webhooksOf({ webhooksRefused: text }: DaemonStatus): Finding[] {
  return text === null ? [] : [found('daemon', 'fail', 'webhooks-refused', { text })];
}

/** The live set against the folder, as the desk compares them. */
function rulesOf({ ruleSet, rulesFolder, rollback }: DaemonStatus): Finding[] {
  if (ruleSet === null) return [];
  const hash = ruleSet.slice(0, hashLength);
  const { refusal, notFollowed } = rulesFolder;
  const refused = refusal?.split('\n').map((text) => found('rules', 'warn', 'rules-refused', { text })) ?? [];
  if (rollback?.hash === ruleSet && (rollback.reviewedBy ?? rollback.reviewedAt ?? null) === null) {
    const { from, by, reviewBy } = rollback;
    const figures = { hash, from: from.slice(0, hashLength), by: by ?? '?', until: new Date(reviewBy).toISOString() };
    return [...refused, found('rules', 'warn', 'rules-back', figures)];
  }
  if (notFollowed !== null)
    return [...refused, found('rules', 'warn', 'rules-other', { hash, folder: notFollowed.slice(0, hashLength) })];
  return refused.length > 0 ? refused : [found('rules', 'ok', 'rules-followed', { hash })];
}

/** The pause, processes that do not obey, and each cap by hand with its use today. */
async function controlsOf(
  { format }: Pick<CommandWorld, 'format'>,
  desk: RemoteDesk,
  status: DaemonStatus,
): Promise<Finding[]> {
  const { pause, caps, processes } = await desk.standing();
  const late = processes.filter(({ obeys }) => !obeys).length;
  const findings = [
    ...(late > 0 ? [found('control', 'fail', 'control-late', { count: late })] : []),
    pause === null
      ? found('control', 'ok', 'control-free')
      : found('control', 'warn', 'control-paused', { by: pause.by, text: pause.reason }),
  ];
  for (const { name, limitCents, by, reason, at } of caps) {
    const usedCents = (await desk.capUse(name))?.usedCents ?? 0;
    const full = status.caps?.cap.byHand === true && status.caps.cap.name === name ? status.caps.ended : 0;
    const figures = {
      ...{ name, used: format.money(usedCents), limit: format.money(limitCents) },
      ...(by === null || at === null ? {} : { by, since: format.minute(at) }),
      ...(reason === null ? {} : { text: reason }),
    };
    findings.push(
      usedCents >= limitCents || full > 0
        ? found('caps', 'warn', 'cap-binds', { ...figures, count: full })
        : found('caps', 'ok', 'cap-held', figures),
    );
  }
  return caps.length > 0 ? findings : [...findings, found('caps', 'ok', 'caps-none-by-hand')];
}

async function lettersOf(desk: RemoteDesk): Promise<Finding[]> {
  const { letters } = await desk.letters({ partition: null, from: 0, count: lettersLooked });
  const count = letters.filter(({ replayedAt, dismissedAt }) => replayedAt === null && dismissedAt == null).length;
  return [
    count === 0
      ? found('dead-letters', 'ok', 'dead-letters-none')
      : found('dead-letters', 'warn', 'dead-letters-some', { count }),
  ];
}
