/** What `lance status` says, in English. */
import { takenAwayText } from '../bidding/held-back-text.ts';
import { counted } from './plural.ts';
import type { Texts } from './texts.ts';

export const statusEn: Texts['status'] = {
  about: 'why no bids flow, if they do not, and the essentials of the running process',
  labels: {
    bidding: 'bidding',
    since: 'since',
    until: 'until',
    by: 'by',
    detail: 'detail',
    remedy: 'remedy',
    process: 'process',
    ready: '/readyz',
    webhooks: 'webhooks',
    rules: 'rules',
    back: 'gone back',
    folder: 'folder',
    partitions: 'partitions',
    requests: 'requests',
    queue: 'queue',
    lastSent: 'last sent',
    paused: 'paused',
    lastBid: 'last bid',
    lastWin: 'last win',
    service: 'service',
    refusals: 'refusals',
    linkQueries: 'queries',
    answers: 'answers',
    sources: 'sources',
    caps: 'caps',
    waits: 'waits',
    economics: 'economics',
  },
  open: 'OPEN',
  openUnheard: (since) =>
    `OPEN as far as is known: no bid was taken since ${since}, and only a bid shows whether the service takes them`,
  openUnanswered: (startedAt) =>
    `OPEN as far as is known: nothing was answered by the service since the start at ${startedAt}`,
  openTurnedAway: (code) =>
    `OPEN, as far as is known: the service answered with HTTP ${code} last, and only a bid or a query shows whether it turns this desk away`,
  closed: (text, cause) => `CLOSED: ${text} (${cause})`,
  doorOnly: 'this process only takes webhooks',
  roles: (roles) =>
    roles.map((role) => (role === 'door' ? 'takes webhooks' : role === 'desk' ? 'bids' : role)).join(' and '),
  process: (version, roles, since, url) => `version ${version}, ${roles}, since ${since}, at ${url}`,
  isReady: 'ready',
  notReady: 'not ready: see /readyz?verbose',
  personNotTold: 'not told without a token: set LANCE_TOKEN',
  partitionsOwned: (numbers) =>
    numbers.length === 0
      ? 'this process answers for none'
      : `this process answers for ${numbers.length === 1 ? 'the one' : `${numbers.length}, those`} with number ${numbers.join(', ')}`,
  partitionClosed: (text) => `closed: ${text}`,
  folderRefused: (text) => `REFUSED, the set above decides on: ${text} (lance rules check names all; mend the file)`,
  folderHeldBack: (hash, taken) =>
    `REFUSED, the set above decides on: ${hash} would take away ${takenAwayText(taken)} (put the files back; where that is meant: lance rules activate ${hash} --by NAME --reason TEXT)`,
  goneBack: ({ hash, from, by, isLive }, review) =>
    `${isLive ? '' : `to ${hash}, which is followed in a moment, `}from ${from}${by === null ? '' : ` by ${by}`}; ${review.kind === 'reviewed' ? `${review.by ?? 'somebody else'} has looked at it` : `${review.kind === 'due' ? `somebody else has to look at it by ${review.until}` : `overdue: somebody else was to look at it by ${review.until}`}: lance rules approve ${hash}, with a token of their own`}; the folder waits for lance rules activate`,
  economicsAwaited: (hash, used, approved) =>
    approved
      ? `${hash} of the settings are approved: restart the process to decide by them; until then ${used} decide`
      : `${hash} of the settings wait for two persons, ${used} decide: lance economics show`,
  folderNotFollowed: (hash) =>
    `holds ${hash}, which is not followed: see lance rules history, and lance doctor for what to do`,
  requests: ({ open, parked, frozen }) => `${open} open, ${parked} waiting for a margin, ${frozen} frozen`,
  requestsUnknown: 'unknown: the store is away or still being read',
  queue: ({ queued, sending, sendLimit, sendLimitMost, unknown }) =>
    `${queued} waiting, ${sending} being sent${sending > sendLimit ? ', those counted that are written or wait to be tried again' : ''} (limit now ${sendLimit}${sendLimitMost === undefined ? '' : ` of ${sendLimitMost}`}), ${unknown} without a known answer${unknown === 0 ? '' : ' (lance bids list --state unknown)'}`,
  answered: (age, at) => `last answered ${statusEn.ago(age)} (${at})`,
  unknownRefusals: (count) =>
    `REFUSED: the bids of the last ${count} requests were all refused in unknown words, and none was taken between: ask the service whether it still takes our bids (runbook LanceBidsRefused)`,
  linkQueryRefusals: (count) =>
    `REFUSED: the queries of the last ${count} employment links were all refused in unknown words, and none was answered between: requests end as link-refused; ask the service whether it still takes our queries (runbook LanceLinkQueriesRefused)`,
  slowAnswers: ({ medianMs, of, windowMs }) =>
    `SLOW: half of the last ${of} bids waited ${(medianMs / 1_000).toFixed(1)} s or longer for their answer, and an auction lasts ${Math.round(windowMs / 1_000)} s: requests may end without a bid for it; ask the service (runbook LanceServiceSlow)`,
  failingSource: ({ source, failure, failed, of }) =>
    `FAILS: the source ${source} did not answer ${failed} of the last ${of} questions, the last for ${failure}: what the rules say otherwise holds (runbook LanceSourceFailing)`,
  capsFull: ({ name, byHand, used, limit }, ended, of) =>
    `${ended} of the last ${of} would-be bids ended by a cap, the last by ${name}${byHand ? ' (set by hand)' : ' (of the rules)'}${used === null ? '' : `: ${used} of ${limit} then`}`,
  capRemedy: ({ name, byHand, windowHours }) =>
    `${windowHours === null ? 'it begins anew at midnight' : `use falls as its window of ${windowHours} h moves on`}; before, ${byHand ? `lance cap ${name} --reais-a-day N raises it, lance cap ${name} --remove takes it away` : 'only a higher limit in the folder of the rules (LANCE_RULES_DIR), or lance rules rollback where this one came with the last set'} (runbook LanceBidsCapped)`,
  tokenTurnedAway: (code) => `with HTTP ${code}: it refuses the token of this desk`,
  turnedAway: (code) =>
    `with HTTP ${code}: it, or something in front of it, may turn this machine away; the next bid or query tells`,
  unanswered: 'has not answered since the process started',
  serviceSilent: (text) => `${text}, and is asked for its time every minute: see LANCE_BASE_URL and the network to it`,
  ago: ({ count, unit }) => `${count} ${unit === 'd' ? (count === 1 ? 'day' : 'days') : unit} ago`,
  notSinceStart: 'none since the process started',
  silent: (url, reason, named) =>
    `No process answers at ${url} (${reason}). ${named ? 'See LANCE_URL and the network to it.' : 'If it runs at another address, set LANCE_URL.'}`,
  noPort:
    'The port of the process is not known (LANCE_HTTP_PORT=0): set LANCE_URL to the address that the line started says.',
  unknownToken: 'set LANCE_TOKEN to a token that this desk knows (LANCE_API_TOKENS, or lance tokens create).',
  tokenRefused: (url, code) => `${url} answered ${code}: ${statusEn.unknownToken}`,
  starting: (url) => `The process at ${url} is still starting or waits for its store: see /readyz?verbose.`,
  noStatus: (url, code) =>
    `${url} answered ${code}, and that is no status of a desk: see LANCE_URL, LANCE_HTTP_PORT and LANCE_METRICS_PORT.`,
  noneAlive:
    'No process has shown in the store that it lives. Start one with lance run; lance doctor says whether it would start.',
  someAlive: (count, at) =>
    `In the store, ${counted('en', 'process', 'processes')(count)} showed within the last 5 s that ${count === 1 ? 'it lives' : 'they live'}, last at ${at}. One that was killed since may be gone: look again in some seconds.`,
  hangs:
    'A process holds the data directory and does not answer: it is starting, or hangs. See its log; one that hangs is to be ended (SIGKILL) and started again. It bids nothing before it has read its controls anew.',
  pausedBy: (by, at, reason) => `Paused by ${by} since ${at}: ${reason}`,
};
