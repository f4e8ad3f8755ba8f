/** What the doctor says, in English. */
import type { ClosedCause } from '../bidding/bidding-status.ts';
import { takenAwayText } from '../bidding/held-back-text.ts';
import { causeText, remedyOf } from './bidding-remedy.ts';
import { biddingEn } from './bidding-texts-en.ts';
import { counted } from './plural.ts';
import { statusEn } from './status-texts-en.ts';
import type { DoctorFigures, Texts } from './texts.ts';

type Figure = string | number | undefined;

/** Who set a cap, when and why, as far as it is known. */
function capWord(by: Figure, since: Figure, text: Figure): string {
  const why = text === undefined ? '' : ` (${text})`;
  return by === undefined ? '' : `; set by ${by} on ${since}${why}`;
}

/** What the set in the folder would take from the one that decides; empty: nothing. */
function takenText({ caps, capNames, count, left, files }: DoctorFigures): string {
  if (count === undefined) return '';
  const named = (list: Figure) => (list === undefined ? [] : String(list).split(', '));
  const taken = { caps: Number(caps), capNames: named(capNames), rules: Number(count), left: Number(left) };
  return takenAwayText({ ...taken, files: named(files) });
}

function heldBack(figures: DoctorFigures): string {
  const { hash, path, folder } = figures;
  return `set ${hash} decides on; the set of ${path}, ${folder}, would take away ${takenText(figures)}`;
}

/** For a set in the folder that is not held back, and does not decide. */
function alsoTaken(figures: DoctorFigures): string {
  const taken = takenText(figures);
  return taken === '' ? '' : `; it would take away ${taken}`;
}

function lastRecorded(lastAt: string | number | undefined): string {
  return lastAt === undefined ? 'nothing was ever recorded' : `something was last recorded at ${lastAt}`;
}

export const doctorEn: Texts['doctor'] = {
  levels: { ok: 'ok', warn: 'warn', fail: 'fail' },
  checks: {
    node: 'Node',
    configuration: 'configuration',
    'data-directory': 'data directory',
    disk: 'disk',
    servers: 'servers',
    daemon: 'daemon',
    rules: 'rules',
    mapping: 'request mapping',
    outcomes: 'outcome table',
    chain: 'chain of the log',
    views: 'views',
    control: 'controls',
    caps: 'caps',
    bidding: 'bidding',
    key: 'pseudonym key',
    'audit-key': 'key of the anchors',
    'dead-letters': 'dead letters',
    token: "service's token",
    service: 'service',
    clock: 'clock',
    afar: 'from afar',
  },
  remedy: 'remedy',
  healthy: 'All is well.',
  ill: (fails, warns) => `${fails} failed, ${warns} to look at.`,
  findings: {
    'node-fits': ({ version }) => [`version ${version}`],
    'node-old': ({ version }) => [`version ${version}`, 'use Node 24.12 or later; npm ci brings one'],
    'configuration-read': () => ['read without faults'],
    'secrets-in-files': ({ text }) => [`secrets from files: ${text}`],
    'secret-file-wide': ({ name, path, text }) => [
      `${path} (${name}) has the mode ${text}: others of this machine may use it`,
      `chmod 600 ${path}; where a mount sets the mode, see who has accounts on the machine`,
    ],
    'secrets-in-environment': ({ text }) => [
      `secrets in the environment: ${text}; NAME_FILE takes each from a file instead`,
    ],
    'configuration-refused': ({ text }) => [String(text)],
    'directory-fits': ({ path }) => [String(path)],
    'directory-new': ({ path }) => [`${path} has no data yet`, 'lance run makes it'],
    'files-removed': ({ path, count }) => [
      `lance.sqlite was removed from ${path}, and process ${count} still has it open: bidding is closed, and only that process still has the data`,
      `do not end it, and do not accept a restore, before /proc/${count}/fd is saved: runbook LanceAlarm, store-files-lost`,
    ],
    'directory-without-desk': ({ path }) => [
      `${path} holds no data, and yet a desk answers on the port of this configuration`,
      'is LANCE_DATA_DIR mistyped? If not, the files were removed under the desk: do not end it before they are saved (runbook LanceAlarm, store-files-lost)',
    ],
    'topics-new': ({ path }) => [`${path}: the topics do not exist yet`, 'lance run creates them'],
    'directory-unwritable': ({ path }) => [
      `${path} is no directory that this user can write`,
      'mend LANCE_DATA_DIR or the permissions',
    ],
    'store-newer': ({ text }) => [String(text)],
    'store-unreadable': ({ text }) => [String(text), 'see whether the file was changed and go back to a copy'],
    'store-unread': () => [
      'the store cannot be opened while its disk is full; nothing says that it is damaged',
      'free space first, then look again; do not put a backup back for this',
    ],
    'server-reached': ({ name, host, durationMs }) => [`${name} at ${host} answers in ${durationMs} ms`],
    'server-silent': ({ name, host, text }) => [
      `${name} at ${host} does not answer (${text})`,
      'start it, or mend its address; nothing is lost meanwhile, and a desk that runs goes on by itself',
    ],
    'servers-unread': ({ text }) => [
      `the store could not be read: ${text}`,
      'see to the server that is named; nothing is lost meanwhile, and a desk that runs goes on by itself',
    ],
    'servers-refused': ({ text }) => [String(text), 'mend what is named'],
    'daemon-live': ({ count }) => [
      `running: ${count} process${count === 1 ? '' : 'es'} showed life in the last seconds`,
    ],
    'daemon-answers': ({ url, version }) => [`answers at ${url}, version ${version}`],
    'daemon-unreachable': ({ url, text }) => [
      `nobody answers at ${url} (${text})`,
      'see LANCE_URL; where the process runs there and hangs, see its journal and restart it',
    ],
    'daemon-refuses': ({ url, text }) => [
      `who answers at ${url} tells nothing of the desk (${text})`,
      'see LANCE_URL, and whether LANCE_TOKEN is still one of its tokens: lance tokens list',
    ],
    'webhooks-refused': ({ text }) => [`webhooks are refused: ${text}`, 'see runbook LanceWebhooksRefused'],
    'afar-refused': ({ text }) => [`could not be asked: ${text}`, 'use a token with a role that may see it'],
    'afar-untried': () => [
      "not tried from afar: configuration, directory or servers, disk, keys, chain, mapping, the service's token, clock",
      'on the machine of the desk, without LANCE_URL and LANCE_TOKEN: lance doctor',
    ],
    'daemon-none': ({ lastAt, kind }) => [
      `no desk is running here (lock free); ${lastRecorded(lastAt)}`,
      kind === 'refused'
        ? 'a start would be refused now: settle the failures below first'
        : 'where it should run: lance run',
    ],
    'daemon-unseen': ({ lastAt, kind }) => [
      `no desk is running here (no process shows that it lives); ${lastRecorded(lastAt)}`,
      kind === 'refused'
        ? 'a start would be refused now: settle the failures below first'
        : 'where one should run: lance run',
    ],
    'disk-full': ({ text }) => [
      String(text),
      'free space there; a desk that runs goes on by itself; one that has ended is to be started again',
    ],
    'disk-free': ({ megabytes }) => [`${megabytes} MB free`],
    'disk-low': ({ megabytes }) => [
      `only ${megabytes} MB free: when it is full, webhooks are refused and nothing is bid`,
      'free space on the disk of LANCE_DATA_DIR',
    ],
    'disk-elsewhere': () => ['the log is on the brokers: their disks are not seen from here'],
    'daemon-unwritten': () => [
      'a process has the directory and cannot write a sign of life: the disk is full',
      'free space; a restart does not help',
    ],
    'bidding-open': ({ since }) => [`open since ${since}`],
    'bidding-partition-closed': ({ since, text }) => [
      `open since ${since}, but not for every request: nothing of a closed partition is bid for: ${text}`,
      'this does not end by itself: see the runbook LanceAlarm, partition-closed',
    ],
    'bidding-refused': ({ since, count }) => [
      `open since ${since}, but the bids of the last ${count} requests were all refused in unknown words, and none was taken between`,
      'look at lance bids list --code unclassified and ask the service whether it still takes our bids; see the runbook LanceBidsRefused',
    ],
    'bidding-links-refused': ({ since, count }) => [
      `open since ${since}, but the queries of the last ${count} employment links were all refused in unknown words, and none was answered between`,
      'look at lance bids list --code link-refused and ask the service whether it still takes our queries; see the runbook LanceLinkQueriesRefused',
    ],
    'bidding-slow': ({ since, count, durationMs, windowMs }) => [
      `open since ${since}, but half of the last ${count} bids waited ${(Number(durationMs) / 1_000).toFixed(1)} s or longer for their answer, and an auction lasts ${Number(windowMs) / 1_000} s: requests may end without a bid for it`,
      'ask the service why it is slow; see the runbook LanceServiceSlow',
    ],
    'bidding-source-fails': ({ since, name, code, count, of }) => [
      `open since ${since}, but the source ${name} did not answer ${count} of the last ${of} questions, the last for ${code}: what the rules say otherwise holds`,
      'look at its address and token under enrichment, and ask whoever runs it; see the runbook LanceSourceFailing',
    ],
    'bidding-capped': ({ since, name, kind, used, limit, count, of, hours }) => [
      `open since ${since}, but a cap keeps them back: ${statusEn.capsFull({ name: String(name), byHand: kind === 'by-hand', used: used === undefined ? null : String(used), limit: limit === undefined ? null : String(limit) }, Number(count), Number(of))}`,
      statusEn.capRemedy({
        ...{ name: String(name), byHand: kind === 'by-hand' },
        windowHours: hours === undefined ? null : Number(hours),
      }),
    ],
    'bidding-closed': ({ cause, since, until, text, detail = text, count, of }) => [
      `closed since ${since}: ${causeText(biddingEn, cause as ClosedCause, text === undefined ? null : String(text))} (${cause})${count === undefined ? '' : `, limit now ${count} of ${of} bids at once`}${until === undefined ? '' : `, until ${until}`}${detail === undefined ? '' : `: ${detail}`}`,
      remedyOf(biddingEn, cause as ClosedCause, text === undefined ? null : String(text)),
    ],
    'bidding-token-taken': ({ since }) => [
      `closed since ${since}, for the service refused the token; it takes the one that is given here by now`,
      'where the process has this one, it tries it again within a minute and opens by itself; where it has another, restart it',
    ],
    'bidding-unasked': ({ url, text }) => [
      `there is a process, but nobody answers at ${url} (${text}): whether bids flow is not known`,
      'set LANCE_URL if it is at another address; else see /readyz?verbose and its log',
    ],
    'daemon-unsigned': () => [
      'a process has the directory and answers, but has stored no sign of life for seconds: its store takes nothing',
      'see its log for why, and the disk; free what it names, and put back files that are gone',
    ],
    'daemon-starting': () => [
      'a process has the directory and answers, but has given no sign of life yet: it is starting',
      'see /readyz?verbose; run the doctor again in a minute',
    ],
    'daemon-lock-lost': ({ path, count }) => [
      `process ${count} runs here, but ${path} was removed or replaced while it has it open: nothing is stored or bid, and webhooks are refused`,
      `put back the very same file, where it was only moved; else stop process ${count} (SIGTERM) and start it again`,
    ],
    'daemon-silent': () => [
      'the directory is taken, but its process gives no sign',
      'see its journal; restart it if it hangs',
    ],
    'rules-compiled': ({ count, hash, path }) => [`${count} rules in ${path}, set ${hash}`],
    'rules-followed': ({ hash }) => [`set ${hash} decides, the one in the folder`],
    'rules-other': ({ hash, folder }) => [
      `set ${hash} decides; the one in the folder, ${folder}, does not`,
      'see lance rules history; lance rules activate follows it, else put the folder right',
    ],
    'rules-kept': ({ hash, path }) => [`set ${hash} decides on; ${path} is refused`, 'mend the file that is named'],
    'rules-back': ({ hash, from, by, until, folder, ...figures }) => [
      `set ${hash} decides: ${by} went back to it from ${from}, and nobody else has looked at that${folder === undefined ? '' : `; the folder holds ${folder}, which does not decide${alsoTaken(figures)}`}`,
      `somebody else looks at it by ${until}: lance rules approve ${hash}, with a token of their own; then put the folder right, or lance rules activate what is to decide`,
    ],
    'rules-back-overdue': ({ hash, from, by, until, folder, ...figures }) => [
      `set ${hash} decides: ${by} went back to it from ${from}, and nobody else has looked at that, which was to be looked at by ${until}: the review is overdue${folder === undefined ? '' : `; the folder holds ${folder}, which does not decide${alsoTaken(figures)}`}`,
      `somebody else looks at it now: lance rules approve ${hash}, with a token of their own; then put the folder right, or lance rules activate what is to decide`,
    ],
    'rules-back-seen': ({ hash, from, by, folder, ...figures }) => [
      `set ${hash} decides: ${by} went back to it from ${from}${folder === undefined ? '' : `; the folder holds ${folder}, which does not decide${alsoTaken(figures)}`}`,
      'put the folder right and lance rules activate it: it does not go live by itself after a rollback',
    ],
    'rules-gone-back-from': ({ hash, path, folder, by, ...figures }) => [
      `set ${hash} decides; the set of ${path}, ${folder}, does not: ${by} went back from it${alsoTaken(figures)}`,
      `put the folder right; where it is to decide again: lance rules activate ${folder} --by NAME --reason TEXT`,
    ],
    'rules-left': ({ hash, path, folder, ...figures }) => [
      `set ${hash} decides; the set of ${path}, ${folder}, does not: another one was chosen after it${alsoTaken(figures)}`,
      `lance rules activate ${folder} --by NAME follows it; else put the folder right; see lance rules history`,
    ],
    'rules-unapproved': ({ hash, path, folder, ...figures }) => [
      `set ${hash} decides; the set of ${path}, ${folder}, does not: two persons have to stand for it${alsoTaken(figures)}`,
      `lance rules approve ${folder}, with the token of each person (LANCE_URL, LANCE_TOKEN)`,
    ],
    'economics-unapproved': ({ hash, used }) => [
      `economics ${used} decide; those of the settings, ${hash}, do not: two persons have to stand for them`,
      `see lance economics show; lance economics approve ${hash}, with the token of each person (LANCE_URL, LANCE_TOKEN)`,
    ],
    'economics-approved': ({ hash, used }) => [
      `economics ${used} decide; those of the settings, ${hash}, are approved`,
      'restart each process to decide by them',
    ],
    'rules-new': ({ hash, path, folder, ...figures }) => [
      `set ${hash} decides; the set of ${path}, ${folder}, does not: no desk has taken it from there yet${alsoTaken(figures)}`,
      'a desk that runs with this folder does; see LANCE_RULES_DIR',
    ],
    'rules-held-back': (figures) => [
      heldBack(figures),
      `where that is meant: lance rules activate ${figures.folder} --by NAME --reason TEXT; else put the files back`,
    ],
    'rules-held-back-new': (figures) => [
      heldBack(figures),
      `put the files back; where that is meant: lance rules propose ${figures.path} --by NAME, then lance rules activate ${figures.folder} --by NAME --reason TEXT`,
    ],
    'source-unconfigured': ({ text }) => [String(text)],
    'rules-refused': ({ text }) => [String(text), 'mend the file that is named; lance rules check says more'],
    'file-read': () => ['read without faults'],
    'file-refused': ({ text }) => [String(text), 'mend the file that is named'],
    'chain-none': () => ['not looked at here: lance audit verify reads the log on Kafka'],
    'chain-intact': ({ count }) => [`intact, ${count} records`],
    'chain-broken': ({ table, offset, text, remedy }) => [
      `broken at record ${offset} of ${table}: ${text}`,
      String(remedy),
    ],
    'anchor-missing': ({ path, remedy }) => [
      `the log was anchored, and ${path}, a part of its anchor, is missing or not whole`,
      String(remedy),
    ],
    'anchor-broken': ({ path, line, remedy }) => [`the anchors ${path} were edited (line ${line})`, String(remedy)],
    'margins-unfit': ({ count }) => [
      `margins in the cache that this desk did not write: ${count}; they are left out and asked for anew`,
      'find out who writes to lance.sqlite; after a return to an earlier version it is nobody',
    ],
    'start-refused': ({ text }) => [`the next start would be refused: ${text}`],
    'file-damaged': ({ text }) => [
      `lance.sqlite is damaged: ${text}`,
      'keep a copy, put back a backup of the whole directory, then lance audit accept-restore',
    ],
    'file-unchecked': ({ durationMs }) => [
      `the pages of lance.sqlite were not all looked at within ${durationMs} ms`,
      'let doctor run while the machine is idle',
    ],
    'views-current': ({ count }) => [`up to date, ${count} records`],
    'views-stopped': ({ count }) => [`${count} records behind the log: the next start of the desk folds them`],
    'views-behind': ({ count }) => [
      `the desk runs and does not catch up with the log: ${count} records behind`,
      'after a start or a take-over it ends by itself (lance status); else see its journal',
    ],
    'views-lacking': ({ text }) => [`${text}`, 'lance run folds the partition anew; until then nothing is bid'],
    'views-evictable': ({ text }) => [
      `maxmemory-policy is ${text}: Redis may take away any key, so nothing is bid`,
      'redis-cli CONFIG SET maxmemory-policy noeviction',
    ],
    'control-free': () => ['nobody has paused'],
    'control-paused': ({ by, text }) => [`paused by ${by}: ${text}`, 'lance resume --by NAME --reason TEXT opens it'],
    'control-changed': ({ kind, name, by, text }) => [
      `${{ paused: 'paused', resumed: 'resumed', 'cap-set': `cap ${name} set`, 'cap-removed': `cap ${name} removed`, 'rule-snoozed': `rule "${name}" put to sleep`, 'rule-resumed': `rule "${name}" woken` }[String(kind)]} by ${by}${text === undefined ? '' : `: ${text}`}`,
    ],
    'control-late': ({ count }) => [
      `${counted('en', 'process does', 'processes do')(Number(count))} not obey the last change yet`,
      'see their journal; restart them if they hang',
    ],
    'caps-none': () => ['none by hand is in force; none of the rules kept bids back today'],
    'caps-none-by-hand': () => ['none by hand is in force'],
    'cap-of-rules': ({ name, count, used, limit }) => [
      `${name} (of the rules) had no room for ${count} of the last requests of today${used === undefined ? '' : `; at the last of them ${used} of ${limit} were used`}`,
    ],
    'cap-held': ({ name, used, limit, by, since, text }) => [
      `${name} (by hand) is in force: ${used} of ${limit} used today${capWord(by, since, text)}`,
    ],
    'cap-binds': ({ name, used, limit, by, since, text, count }) => [
      `${name} (by hand) keeps bids back: ${used} of ${limit} used today; ${count} of the last requests did not fit under it${capWord(by, since, text)}`,
      `lance cap ${name} --reais-a-day N raises it, lance cap ${name} --remove takes it away; else it begins anew at midnight`,
    ],
    'dead-letters-none': () => ['none'],
    'dead-letters-some': ({ count }) => [
      Number(count) === 1 ? '1 webhook that nobody understood yet' : `${count} webhooks that nobody understood yet`,
      'lance letters list shows what could not be read: mend the mapping (LANCE_MAPPING) and read it again; close what nobody has to read with lance letters dismiss (runbook LanceDeadLetters)',
    ],
    'directory-wide': ({ path, text }) => [
      `${path} has the mode ${text}: others of this machine may look into it; the files themselves are the owner's alone`,
      `chmod 700 ${path}`,
    ],
    'key-fits': () => ['is the one that the data was written under'],
    'key-other': () => [
      'is not the one that the data was written under; the desk does not start',
      'set LANCE_PSEUDONYM_KEY to the key that this desk began with',
    ],
    'key-new': () => ['nothing is stored under a key yet'],
    'key-missing': () => [
      'none is given, so it was not compared with the data',
      'give the doctor the LANCE_PSEUDONYM_KEY of the desk',
    ],
    'audit-key-fits': () => ['signed the anchors that are there'],
    'audit-key-new': () => ['nothing is anchored yet'],
    'audit-key-other': () => [
      'is not the one that signed the anchors; the desk does not start',
      'set LANCE_AUDIT_KEY (without one LANCE_PSEUDONYM_KEY signs) to the key of before',
    ],
    'audit-key-missing': () => [
      'none is given, so it was not compared with the anchors',
      'give the doctor the LANCE_AUDIT_KEY or LANCE_PSEUDONYM_KEY of the desk',
    ],
    'token-taken': () => ['the service takes it: a query about nobody was read'],
    'token-refused': ({ name }) => [
      'the service refuses it (401)',
      name === 'LANCE_TOKEN_COMMAND'
        ? 'mend the program of LANCE_TOKEN_COMMAND: it printed a token that the service refuses; once one is taken, the desk opens by itself'
        : 'set a new LANCE_ACCESS_TOKEN and restart; once the service takes this one again, the desk opens by itself',
    ],
    'token-unrenewed': ({ text }) => [
      `there is none that works: ${text}`,
      'run the program of LANCE_TOKEN_COMMAND as the user of the desk; it gets PATH, HOME and LANCE_TOKEN_COMMAND_VARIABLES only',
    ],
    'token-unclear': ({ text }) => [
      `the service answered ${text}: that tells nothing of the token`,
      'see the path in LANCE_BASE_URL, and whether the token may ask for links',
    ],
    'token-untried': ({ text }) => [`could not be tried: ${text}`, 'see the service; then run the doctor again'],
    'token-given': () => ['given'],
    'token-both': () => ['LANCE_ACCESS_TOKEN counts until the first 401, then LANCE_TOKEN_COMMAND'],
    'token-unusable': ({ path }) => [
      `the program ${path} of LANCE_TOKEN_COMMAND is not there or cannot be executed`,
      'mend its path, or make it executable',
    ],
    'token-command': () => ['comes from LANCE_TOKEN_COMMAND'],
    'token-missing': () => ['missing', 'set LANCE_ACCESS_TOKEN or LANCE_TOKEN_COMMAND'],
    'service-reached': ({ host, durationMs }) => [`${host} answers in ${durationMs} ms`],
    'service-unreachable': ({ host, text }) => [
      `${host} does not answer (${text})`,
      'see LANCE_BASE_URL, network and DNS',
    ],
    'service-silent': ({ host, text }) => [
      `${host} takes connections and does not answer the query (${text})`,
      'see LANCE_BASE_URL, and what stands between here and the service; the desk opens by itself once it answers',
    ],
    'service-foreign': ({ host }) => [
      `${host} answers the query with a success that is not the service's: it is no JSON`,
      'see what stands between here and the service, such as a proxy that asks to log in or a maintenance page, and LANCE_BASE_URL; the desk opens by itself once the service answers',
    ],
    'service-elsewhere': ({ host, text }) => [
      `${host} answers, but nothing of the contract is there (${text})`,
      'mend the path in LANCE_BASE_URL, or its host',
    ],
    'withdrawals-off': ({ name }) => [`${name} is not set: withdrawals are refused; the rest works`],
    'service-unknown': () => ['LANCE_BASE_URL is of no use', 'set it to the address of the service'],
    'clock-sane': () => ['does not contradict the log'],
    'clock-behind': ({ durationMs }) => [
      `is ${durationMs} ms behind the last record`,
      biddingEn.remedies['clock-step'],
    ],
    'clock-agrees': () => ["agrees with the service's"],
    'clock-slow': ({ durationMs }) => [`is ${durationMs} ms behind the service's`, biddingEn.remedies['clock-skew']],
    'clock-fast': ({ durationMs }) => [`is ${durationMs} ms ahead of the service's`, biddingEn.remedies['clock-skew']],
    'clock-wrong': () => ['the year cannot be right', biddingEn.remedies['clock-step']],
  },
};
