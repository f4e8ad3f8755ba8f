/** The catalogue in English. */

import { unaskedTexts } from '../queries/owners.ts';
import { backtestEn } from './backtest-texts-en.ts';
import { biddingEn } from './bidding-texts-en.ts';
import { demoEn } from './demo-texts-en.ts';
import { deskReasonEn } from './desk-reason-texts.ts';
import { doctorEn } from './doctor-texts-en.ts';
import { economicsEn } from './economics-texts-en.ts';
import { flowsEn } from './flows-texts-en.ts';
import { impactEn } from './impact-texts-en.ts';
import { learnEn } from './learn-texts-en.ts';
import { lettersEn } from './letters-texts-en.ts';
import { mappingEn } from './mapping-texts-en.ts';
import { modelCardEn } from './model-card-texts-en.ts';
import { moveEn } from './move-texts-en.ts';
import { pageEn } from './page-texts-en.ts';
import { performanceEn } from './performance-texts-en.ts';
import { counted } from './plural.ts';
import { quoteEn } from './quote-texts-en.ts';
import { codesEn } from './reason-texts-en.ts';
import { reviewEn } from './review-texts-en.ts';
import { rulesEn } from './rules-texts-en.ts';
import { statusEn } from './status-texts-en.ts';
import type { Texts } from './texts.ts';
import { tokensEn } from './tokens-texts-en.ts';
import { workerEn } from './worker-texts-en.ts';

const processes = counted('en', 'process', 'processes');

export const en: Texts = {
  help: {
    about: 'The automated bidding desk for payroll-credit auctions (Crédito do Trabalhador).',
    titles: { 'Usage:': 'Usage:', 'Options:': 'Options:', 'Commands:': 'Commands:', 'Arguments:': 'Arguments:' },
    example: 'Example',
    helpOption: 'show this help',
    helpCommand: 'show the help of a command',
    versionOption: 'show the version',
    lang: 'language of the texts: pt or en (also by LANCE_LANG)',
    json: 'write JSON, the same in every language',
    by: 'who orders it',
    orderer: 'who orders it; with LANCE_URL and LANCE_TOKEN the owner of the token',
    reader: 'who reads the personal data, as it is recorded; the user of this machine where left out',
    capBy: 'who orders it; the user of this machine where left out',
    reason: 'why; it is recorded',
    run: 'run the desk as a daemon',
    daemonOptions: {
      learning: 'freeze the statistics',
      requests: 'how many requests to put to auction',
      seed: 'seed of the sandbox',
      exit: 'end when the stream has ended',
      json: 'end with one JSON object on standard output',
      rivals: 'rivals from a file of recorded auctions',
      market: 'how rivals behave',
    },
    demo: 'sandbox, desk and embedded store in one command, then a summary',
    bids: 'requests and bids: list, explain, end by hand',
    list: 'list requests, the latest first',
    limit: 'how many at most',
    state: 'only those in this state',
    code: 'only those with this code of a pass or of a rejection',
    batch: 'only those of this batch',
    cpf: 'only those of the worker with this CPF; - reads it from standard input, so that no history of the shell has it',
    cpfAwaited: 'Type the CPF of the worker and Enter.',
    noCpf:
      '--cpf was given no CPF: write its 11 digits, with or without points and dash; its check digits must hold, and not all 11 may be the same.',
    segment: 'only those decided in this segment or in one below it (bids show names it)',
    since: 'decided, or else received, then or later: a day (2026-11-23) or a minute (2026-11-23T14:30), Brasília time',
    until: 'decided, or else received, then or earlier; a day counts whole',
    time: 'Write a day (2026-11-23) or a minute (2026-11-23T14:30).',
    show: 'explain the whole decision on one request',
    requestId: 'numeroSolicitacao',
    resolve: 'end by hand a request that nothing else ends',
    retry: 'read the records of what was frozen again, and go on if they can be processed now',
    thawCancel: 'end what was frozen: the record that could not be processed is left out',
    as: 'how it ends',
    pause: 'stop bidding; returns only when every process obeys',
    resume: 'bid again',
    cap: 'a daily cap set by hand; without an option, shows the cap and its use today',
    capName: 'name of the cap (letters, digits, hyphens)',
    reaisADay: 'reais that may be promised a day',
    remove: 'take the cap away',
    controls: 'orders by hand and rule sets: what was ordered',
    controlShow: 'the pause and the caps by hand that hold, raises that wait for another person, and who obeys',
    controlHistory:
      'pauses, resumes, caps by hand, rule sets, and personal data exported or searched for: who, when and why',
    controlLimit: 'how many orders, at most',
    doctor: 'examine configuration, directory, rules, log and service, and name the remedy',
    learn: 'judge what the desk learns on a file of recorded auctions',
    auctionsFile: 'NDJSON file: {"id", "segment", "rates"} a line, rates in hundredths of a percent a month',
    shifts: 'also: rivals that change, rates shifted by these hundredths over equal parts of the file: 0,-50,40',
    draws: 'how many samples to draw',
    auctionsADay: 'give the file a clock: so many auctions a day',
    halfLife: 'with --auctions-a-day: weight of results halves in this time: 14d',
    delay: 'with --auctions-a-day: results come so much later: 76h',
    learnAcceptance:
      'count what workers take: midpoint in % a month and slope of the acceptance, as in the economics: 4.2,1.5',
    needsClock: 'add --auctions-a-day N: --half-life and --delay need a clock',
    duration: 'write hours or days: 76h, 14d',
    midpointAndSlope: 'write the midpoint and the slope: 4.2,1.5',
    audit: 'the chained log',
    verify: 'check the hash chain of the log and name the first break',
    export: 'carry the desk into a file, to move it to the other backend',
    import: 'take a desk in from a file, into an empty place',
    file: 'NDJSON file; compressed when its name ends in .gz',
    hash: 'the hash that lance export printed: a file with another one is refused',
    place: 'write topic and partition, such as lance.auctions/1',
    unsigned: 'take a file that an earlier version wrote, which signed none',
    undo: 'take an export back: the desk lives here again',
    fileOrUndo: 'write the name of the file, or --undo and no file',
    sandbox: 'a simulated service, as a server of its own',
    port: 'port; 0 takes a free one',
    host: 'address to listen on; 0.0.0.0 for all, inside a container',
    target: 'where webhooks go: the whole address with its token',
    requests: 'how many requests to put to auction',
    seed: 'seed',
    rivals: 'rivals from a file of recorded auctions',
    market: 'how rivals behave',
    record: 'write all that happens to this NDJSON file',
    settings: 'settings of the sandbox, as JSON',
    exit: 'with --target: end when the stream has ended',
    number: 'write a whole number of at least 1',
    oneOf: 'write one of:',
    shiftList: 'write two or more whole numbers: 0,-50,40',
    portNumber: 'write a whole number from 0 to 65535',
    hostName: 'write an address or a name, such as 127.0.0.1',
    text: 'write 1 to 200 characters on one line',
    name: 'write letters, digits, hyphens or dots, at most 60',
    reais: 'write an amount such as 250000 or 250000.50',
  },
  fault: (message: string) => message,
  deskReason: deskReasonEn,
  codesNeedWords: false,
  units: { perMonth: 'a month', perYear: 'a year', months: 'months', years: 'years' },
  yes: 'yes',
  no: 'no',
  none: '–',
  list: {
    header: ['request', 'batch', 'state', 'code', '% a month', 'amount', 'terms', 'pos.', 'decided at'],
    empty: 'No requests.',
    codes: (codes, areNear) =>
      `None of the latest has this code; ${areNear ? 'the nearest' : 'the codes'} that occur: ${codes.join(', ')}.`,
    more: (limit) => `… the latest ${limit}; use --limit to see more.`,
    unasked: (partition, why, instance) =>
      `Requests of partition ${partition} are missing: ${why}${instance === null ? '' : ` (${instance})`}. Ask again.`,
    cpfNotAsked:
      'A desk is not asked by CPF over LANCE_URL. Name its store and LANCE_PSEUDONYM_KEY, and leave LANCE_URL out.',
    unaskedWhy: unaskedTexts,
  },
  states: {
    'early-ended': 'ended before it came',
    requested: 'to be decided',
    claimed: 'bid under way',
    passed: 'no bid',
    accepted: 'bid accepted',
    'accepted-presumed': 'accepted, presumed',
    'accepted-outside': 'accepted outside the auction',
    rejected: 'rejected by the service',
    'foreign-bid': "somebody else's bid in our name",
    unknown: 'no answer',
    won: 'won',
    lost: 'lost',
    ambiguous: 'position ambiguous',
    'not-landed': 'did not land',
    'result-missing': 'no result',
    contemplated: 'won, contemplated',
    proposed: 'won, proposal',
    'winner-failed': 'won, but failed',
    cancelled: 'cancelled',
    expired: 'expired',
  },
  codes: codesEn,
  limits: {
    minRateHundredths: 'least rate',
    maxRateHundredths: 'highest rate',
    minAmountCents: 'least amount',
    maxAmountCents: 'highest amount',
    minInstallments: 'fewest instalments',
    maxInstallments: 'most instalments',
    minInstallmentCents: 'least instalment',
    maxInstallmentCents: 'highest instalment',
    maxCetAnnualHundredths: 'highest CET',
    maxMarginShare: 'share of the margin',
    minSpreadHundredths: 'least spread',
    minProfitCents: 'least profit',
    maxTermChange: 'installments more or fewer',
  },
  stack: {
    interest: 'interest of the contract',
    funding: 'cost of money over time',
    'early-end': 'interest that ended links do not pay',
    'early-settlement': 'interest that early settlement takes away',
    'expected-loss': 'expected loss',
    'recovery-delay': 'delay of what is recovered',
    'spread-tax': 'taxes on the spread',
    capital: 'cost of capital',
    selection: 'adverse selection of winning at this rate',
    commission: 'commission',
    'contract-cost': 'cost of the contract',
    'not-won': 'chance of not winning the auction',
    'not-taken': 'chance that the worker does not accept',
    budget: 'cost of the budget',
    'bid-cost': 'cost of the bid',
    valueIfReleased: 'value if released',
    expected: 'expected value of the bid',
  },
  facts: {
    margin: 'margin',
    amount: 'amount asked for',
    installments: 'instalments',
    tenure: 'months of tenure',
    age: 'age',
    eligible: 'worker eligible',
    exposed: 'not politically exposed',
    alerts: 'no alert',
    guarantee: 'without the FGTS guarantee',
    review: 'the review answered “bid” in time',
  },
  events: {
    pass: 'pass',
    limit: 'limit',
    economics: 'economics',
    segment: 'segment',
    strategy: 'strategy',
    cap: 'cap',
    experiment: 'experiment',
    review: 'review',
  },
  show: {
    title: (id) => `Request ${id}`,
    toldOnly:
      'As the desk tells it. Facts, rules, price, rivals, records and replay: bids show with the store, without LANCE_URL.',
    decided: 'decided at',
    workerTold: (text) => `The worker is told: ${text}`,
    batch: 'batch',
    state: 'state',
    contract: 'contract',
    contractNext: (requestId) =>
      `Next: once the worker has taken the proposal in the work-card app, order the contract: lance contracts example ${requestId}, then start. No event tells that it was taken, and before it the service refuses the order.`,
    exposure: 'exposure',
    exposures: {
      none: 'none',
      held: 'held',
      committed: 'committed',
      released: 'released',
      refused: 'refused: no room under a cap',
    },
    result: 'Result',
    pass: (code, words) => `No bid (${code}): ${words}.`,
    position: (position, of) => `position ${position} of ${of}`,
    bestRival: 'best rival',
    noRival: 'nobody else bid',
    offGrid: '(between this rate and the one a hundredth below)',
    gap: 'gap',
    gapAbove: (points) => `our rate was ${points} above`,
    gapBelow: (points) => `our rate was ${points} below`,
    gapTie: 'a tie on the rate',
    left: 'left on the table',
    leftWords: (money, rate) => `${money} of expected value: ${rate} would have won too`,
    leftNothing: 'nothing: no admissible rate that would have won too earns more',
    missed: 'missed',
    missedWords: (money, rate) => `${money} of expected value: ${rate} would have won`,
    missedNothing: 'nothing: no admissible rate would have won at a profit',
    unclaimed: (what, others) =>
      `${what} told under a code that ${others} has too: say whose with bids resolve --as contemplated`,
    resolution: (as, by, reason) => `ended as ${as} by ${by}: ${reason}`,
    nearest: 'What was missing (changing one fact)',
    nearestTo: (fact, from, to, rate) => `${fact}: from ${from} to ${to} → a bid at ${rate}`,
    nearestOnly: (fact, rate) => `${fact} → a bid at ${rate}`,
    nearestNone: 'No change of a single fact, among those tried, would have brought a bid.',
    byPrior: 'The win curve had not been looked up: rates are by the initial curve.',
    asked: 'What was asked',
    received: 'received at',
    closes: 'auction closes at',
    amount: 'amount',
    installments: 'instalments',
    margin: 'margin used',
    link: 'link detail',
    linkAt: (at) => `received at ${at}`,
    linkNone: 'not asked for',
    linkAskedAt: (at) => `asked for at ${at}`,
    linkUnanswered: (at, seconds) => `no answer that could be used until ${at}, ${seconds} s`,
    requestUnread: 'The request says in a form that cannot be read (so they are missing):',
    linkContradicted: 'The link detail says and denies (so they are missing):',
    linkUnread: 'The link detail says in a form that cannot be read (so they are missing):',
    linkDiffers: 'Request and link detail differ on (the worse counts, else none):',
    worseWord: 'Of these the word of request or link gave the worse value:',
    wordOf: { request: 'word of the request', link: 'word of the link detail' },
    repeats: 'received again',
    repeatsWords: (equal, different) => `${equal} times equal, ${different} times different (ignored)`,
    factsTitle: 'Facts that the rules saw',
    hiddenText: '(text not shown)',
    rules: 'Rules that fired',
    ruleSet: 'rule set',
    limitsTitle: 'Limits',
    limitBy: (rule) => `by "${rule}"`,
    economicsTitle: 'Economics changed by rules',
    statistics: 'What the statistics said',
    segment: 'segment',
    curve: 'win curve',
    median: 'rate that wins half the time',
    noRivalShare: 'auctions without a rival',
    learnt: 'results learnt by now',
    aroundHeader: ['rate', 'win', 'accept', 'amount', 'instalment', 'CET', 'value if released', 'expected value', ''],
    chosen: '◄ chosen',
    forbidden: {
      margin: 'does not fit the margin',
      installment: 'instalment too small',
      cet: 'CET above the limit',
      spread: 'spread below the least',
      profit: 'profit below the least',
      range: 'outside the rate limits',
    },
    offer: 'The offer',
    rate: 'rate',
    installment: 'instalment',
    total: 'total to pay',
    financed: 'financed',
    iof: 'IOF (financed)',
    cet: 'CET',
    breakEven: 'break-even rate',
    winProbability: 'chance to win',
    acceptance: 'chance of acceptance',
    validUntil: 'bid valid until',
    stackTitle: 'Where the value comes from',
    curveTitle: 'Expected value by rate',
    capsTitle: 'Exposure caps',
    capUsage: ({ key, amount, limit, count, countLimit }) =>
      `${key}: ${amount}${limit === null ? '' : ` of ${limit}`} before this bid${countLimit === null ? '' : `; ${count} of ${countLimit} bids`}`,
    sending: 'Sending',
    claim: 'claim',
    claimUnread: (amount) =>
      `The record of the claim cannot be read: a bid may have been sent, and its offer is not known. ${amount === null ? 'What it promised is not known either.' : `It promised at most ${amount}, the amount asked for, which counts as promised.`}`,
    claimWords: (id, at) => `${id}, ${at}`,
    lateClaims: 'later claims ignored',
    attempts: 'attempts',
    delivered: (count) => `${count} delivered to the service`,
    unknown: (requestId, why) =>
      `Whether the service has the bid is not known${why === null ? '' : `: ${why}`}. The end of the auction normally tells, and until then the amount counts under the caps; if it does not come, ask the service and settle it: lance bids resolve ${requestId} --as … --by NAME --reason TEXT.`,
    earlier: 'an earlier one may have landed',
    firstByte: 'first byte',
    bytes: 'bytes sent',
    bytesUnsent: 'bytes claimed, not sent',
    bytesLost: 'the bytes are not in the log: its record is lost, or never was there',
    answer: 'answer',
    httpStatus: (status) => `HTTP ${status}`,
    noAnswer: 'none',
    replaySealed:
      'not made again: the rules look at facts that are sealed; set LANCE_PSEUDONYM_KEY to the key of the desk',
    withheld: 'body not shown: without LANCE_PSEUDONYM_KEY it is not known which name to take out of it',
    unreadable: 'body not shown: LANCE_PSEUDONYM_KEY is not the key that the desk ran with',
    published: 'Published bids',
    publishedHeader: ['position', 'rate', 'amount', 'terms', 'time', ''],
    publishedAgain: (at) =>
      `The service published another list at ${at}. The first one counts. If by the other one our bid may have won, its money is held until a person (lance bids resolve) or the winner event decides.`,
    ours: '◄ ours',
    maybeOurs: '◄ ours, perhaps',
    oursDiffers: '◄ ours, not as sent',
    history: 'History',
    attemptInVain: (kind, cause, count, until) =>
      `${kind === 'query' ? 'query of the link' : 'attempt'} in vain: ${cause}${count === 1 ? '' : ` (${count} times, until ${until})`}`,
    waitedFor: (seconds, words, cause) =>
      cause === 'link'
        ? `waited ${seconds} s for the detail of the link`
        : `waited ${seconds} s, bidding was closed: ${words ?? cause} (${cause})`,
    replay: 'Replay',
    replaySame: 'The decision, made again from its stored inputs, gives the same bytes.',
    replaySamePass: 'The decision, made again from its stored inputs, gives the same pass.',
    replayDiffers: (fields) =>
      `ATTENTION: the decision made again differs from the record in ${fields}. This must never happen: keep the data directory and tell the maintainers.`,
    replayNone: 'Nothing to replay: no decision of rules and price is on record.',
    inputs: (ruleSet, settings, curve) => `rules ${ruleSet}, settings ${settings}, curve ${curve}`,
    notFound: (id) => `There is no request ${id} in this directory; see lance bids list.`,
    notFolded: (id) => `Request ${id} is in the log, but the desk has not read it yet; run lance run or try again.`,
    inputMissing: (hash) => `The stored input ${hash} is not in the log; the decision cannot be made again.`,
  },
  kinds: {
    requested: 'requested',
    claimed: 'claimed',
    passed: 'passed',
    answered: 'answered',
    ended: 'auction ended',
    contemplated: 'contemplated',
    proposed: 'proposal included',
    resolved: 'resolved',
    'review-asked': 'review asked for',
    'review-answered': 'review answered',
    'source-asked': 'source asked',
    'source-answered': 'source answered',
    'worker-read': 'worker shown',
    frozen: 'frozen',
    unfrozen: 'released from the freeze',
    unreadable: 'record that cannot be processed',
  },
  resolve: {
    done: (id, state) => `Request ${id}: recorded. Now: ${state}.`,
    stored: (id) => `Request ${id}: recorded. No process is running; it holds when the desk is back.`,
    refused: (id, state, allowed) =>
      `Request ${id} is "${state}" and cannot be ended like this. ${allowed === '' ? 'In this state there is nothing to end by hand.' : `Possible: ${allowed}.`}`,
    underContract: (id, flowId, phase) =>
      `The contract of request ${id} is under way (${flowId}, "${phase}"): what the bid promised counts until that is cancelled. Nothing was changed.`,
    late: (id) => `Recorded for ${id}, but the desk did not read it within 2 s; see lance bids show ${id}.`,
    overtaken: (id, state) => `Another record came first: request ${id} is now "${state}"; nothing was changed.`,
  },
  freeze: {
    mark: 'frozen',
    done: {
      retry: (id) => `${id}: its records were read again, and it goes on.`,
      cancel: (id) => `${id}: goes on without the record that could not be processed; nothing more is sent for it.`,
    },
    still: (id, problem, command) =>
      `${id} is still frozen: ${problem}. Update the program and retry, or end it with lance ${command} cancel ${id}.`,
    notFrozen: (id) => `${id} is not frozen; there is nothing to retry or to cancel.`,
    cancelStep: (id, command) => `To cancel the flow: lance ${command} step ${id} cancel`,
    stored: (id) => `${id}: recorded. No process is running; it holds when the desk is back.`,
    late: (id, command) =>
      `Recorded for ${id}, but the desk did not read it within 10 s; see lance ${command} show ${id}.`,
  },
  control: {
    paused: (revision, count) => `Paused (revision ${revision}), obeyed by ${processes(count)}.`,
    pausedBefore: 'It was paused already: lance status names each pause, and one lance resume ends all of them.',
    resumed: (revision, count) => `Bidding again (revision ${revision}), by ${processes(count)}.`,
    resumedClosed: (revision) => `The desk is not paused any more (revision ${revision}).`,
    notPausedClosed: (revision) => `It was not paused (revision ${revision}).`,
    stillClosed: (words, cause, remedy) => `No bid goes out all the same: ${words} (${cause}). ${remedy}`,
    storedPause: (revision) => `Pause stored (revision ${revision}). No process is running; it holds from the start.`,
    pauseNotStored: (why) =>
      `${why} The desk is not paused. A desk sends no bid while it cannot store its claim or read its controls, but goes on as soon as it can: put the store right (space, Redis) and say pause again, or stop the processes (SIGTERM).`,
    pauseUnsure: (why) =>
      `${why} It is not known whether the desk is paused; count on it not being so. A desk sends no bid while it cannot read its controls, but goes on as soon as it can: put Redis right and say pause again, or stop the processes (SIGTERM).`,
    pauseUnkept: (why) =>
      `${why} The desk is paused: Redis has the order, and every process that reads it obeys. Kafka does not keep it yet: do not empty or restore Redis until the brokers answer again. A running desk then writes it there by itself.`,
    unseen: (revision, why) =>
      `${why} Stored as revision ${revision}, but it is not known whether the processes obey: see /readyz?verbose of each, or say it again.`,
    changeNotStored: (why) => `${why} Nothing was changed: put the store right (space, Redis) and say it again.`,
    changeUnsure: (why) =>
      `${why} It is not known whether it was changed: put Redis right, see \`lance doctor\`, and say it again if needed.`,
    changeUnkept: (why) =>
      `${why} It holds: Redis has the order, and every process that reads it obeys. Kafka does not keep it yet: do not empty or restore Redis until the brokers answer again. A running desk then writes it there by itself.`,
    notPaused: (revision, count) =>
      `It was not paused; bidding goes on (revision ${revision}), by ${processes(count)}.`,
    storedNotPaused: (revision) => `It was not paused (revision ${revision}). No process is running.`,
    restored: (until, revision, count) =>
      `The desk is not paused any more (revision ${revision}), obeyed by ${processes(count)}, but bids for nothing that was received before ${until}: after the restore it is not known what was bid for.`,
    storedRestored: (until, revision) =>
      `Resumption stored (revision ${revision}). No process is running; nothing that was received before ${until} is bid for: after the restore it is not known what was bid for.`,
    storedResume: (revision) => `Resumption stored (revision ${revision}). No process is running.`,
    cap: (name, limit, revision, count) =>
      `Cap ${name}: ${limit} a day (revision ${revision}), obeyed by ${processes(count)}. It counts bids decided while a cap of this name is set; what was promised without one is not in it.`,
    capRemoved: (name, revision, count) => `Cap ${name} removed (revision ${revision}), by ${processes(count)}.`,
    capOneMore: (name) =>
      `Cap ${name} is not changed: to raise it another person has to order the same within a day, with their token.`,
    capIdentity:
      'Two have to stand for a cap that is raised, and a typed name does not say who it is: use LANCE_URL and LANCE_TOKEN.',
    capSameName: (name, known) =>
      `Nothing was changed, and no cap ${name} was set: there is a cap ${known} already, and the two names differ in case or marks only. To change that one: lance cap ${known} --reais-a-day N.`,
    capNone: (name, nearest) =>
      `There is no cap ${name} set by hand. ${nearest === undefined ? '' : `Did you mean ${nearest}? `}The use of a cap of the rules is shown for each decision: lance bids show ID.`,
    ruleCapUsage: (name, used, count) =>
      `${name} is a cap of the rules, not one set by hand: ${used} in ${count} bids promised today. Its limit stands in the rules; a cap by hand of this name would count anew.`,
    capCounts: (name, used) =>
      `${used} promised today counts under it already: a cap ${name} was set when it was promised.`,
    capUsage: (name, used, limit) =>
      `Cap ${name}: ${used} of ${limit} promised today while a cap of this name was set.`,
    late: (revision, obeyedBy, late) =>
      `Stored as revision ${revision}. Confirmed by ${obeyedBy || 'no process'}; not confirmed within 6 s by ${late}. Find each of these by the name in its log line "started": one that has ended needs nothing, one that hangs is to be ended (SIGKILL).`,
    held: (revision) =>
      `Stored as revision ${revision}. A process holds the data directory and gives no sign: it is starting, or hangs. It bids nothing before it has read this order. One that hangs is to be ended (SIGKILL) and started again; see its log.`,
    silent: (name, at) => `${name} (nothing was heard of it since ${at}: it may be gone)`,
  },
  remote: {
    silent: (url, reason) =>
      `No desk answers at ${url} (${reason}), so nothing is known to have been done. See LANCE_URL and the network to it; without LANCE_URL the command works beside the store.`,
    refused: (url, status, detail) =>
      `${url} answered ${status}: ${detail.startsWith('Send Authorization: Bearer') ? statusEn.unknownToken : detail}${status === 401 ? ' On the machine of the desk, without LANCE_URL, lance pause and the other commands work beside the store, without a token.' : ''}`,
    foreign: (url, status) => `${url} answered ${status}, and not as a desk of this version does: see LANCE_URL.`,
    otherIdentity: (token, by) =>
      `The token in LANCE_TOKEN is of ${token}, not of ${by}: leave --by out, or show the token of ${by}.`,
    readHere: (store, url) =>
      `Read here, in ${store}, and not from the desk at ${url}: no desk tells this over LANCE_URL. On another machine than the desk's it is of another store.`,
    startOwnerNamed: (name: string) =>
      `${name} is the name of the session that the token of a start opens: name who it is with --by NAME.`,
    unclearName:
      'The name in --by has characters that cannot be seen, or letters of two scripts that look alike: type it anew, without copying it.',
    nobodyNamed: 'Name who orders it with --by NAME, or order it with a token: LANCE_URL and LANCE_TOKEN.',
  },
  tokens: tokensEn,
  controlShow: {
    pause: 'pause',
    notPaused: 'none: bidding is not paused',
    pausedBy: (by, at, reason) => `by ${by} since ${at}: ${reason}`,
    cap: 'cap',
    capOf: (name, limit, who) =>
      `${name}: ${limit} a day${who === null ? '' : `, by ${who.by} at ${who.at}${who.reason === null ? '' : `: ${who.reason}`}`}`,
    waits: 'waits',
    raise: (name, wanted, by, until) => {
      const what = { to: `at ${wanted.limit} a day`, away: 'taken away', untold: 'raised' }[wanted.kind];
      const order = {
        to: `lance cap ${name} --reais-a-day ${wanted.reais}`,
        away: `lance cap ${name} --remove`,
        untold: '',
      }[wanted.kind];
      const how = order === '' ? 'lance controls show tells to what' : order;
      return `${by ?? 'somebody'} wants cap ${name} ${what}; until ${until} another person has to order the same with their token: ${how}`;
    },
    process: 'process',
    processOf: (name, obeys, at) => `${name} ${obeys ? 'obeys' : 'has NOT confirmed the last order'} (heard at ${at})`,
    noProcess: 'none shows that it lives',
  },
  controlHistory: {
    folder: '(folder of rules)',
    none: 'Nothing has been ordered yet.',
    more: (limit) => `… the latest ${limit} orders; use --limit to see more.`,
    what: {
      paused: 'pause',
      resumed: 'resume',
      capSet: (name, limit) => `cap ${name}: ${limit} a day`,
      capRemoved: (name) => `cap ${name} removed`,
      snoozed: (rule, until) => `rule "${rule}" asleep until ${until}`,
      woken: (rule) => `rule "${rule}" awake again`,
      rules: (hash) => `rules ${hash}`,
      rulesFrom: (hash, from) => `rules ${hash}, from ${from} on`,
    },
    read: {
      'requests-exported': 'personal data read: requests exported',
      'desk-exported': 'personal data taken along: the desk was exported',
      'worker-searched': 'personal data read: search by CPF (in the console said once a day; each search is a record)',
      'margins-queried': 'personal data read: margins by CPF (said once a day; each query is a record)',
    },
    requests: (count) => `requests: ${count}`,
  },
  impact: impactEn,
  learn: learnEn,
  backtest: backtestEn,
  card: modelCardEn,
  page: pageEn,
  economics: economicsEn,
  performance: performanceEn,
  views: {
    help: {
      views: 'what was folded from the log: states, exposure, statistics',
      verify: 'fold all of it once more from the log, and compare it row by row with what is stored',
      rebuild:
        'while the desk is stopped: all of it is folded anew from the log, on the embedded store at the next start',
    },
    none: 'No state file is in the data directory of this machine: run this where a desk has run, with its LANCE_DATA_DIR.',
    unused: (partition, reason) => `auctions-${partition} was not compared, for no desk goes on with it: ${reason}.`,
    older: (partition, first) =>
      `The log of auctions-${partition} begins at ${first}: rows of records before it, and what was learnt, were not compared.`,
    rebuilt: (partitions, records) =>
      `The views were made again: ${records} records folded, ${partitions} partitions. Start the desk.`,
    folding: 'log',
    logEnds: (position, end) =>
      `The log ends at ${position}, and the views are folded up to ${end}. See lance audit verify.`,
    beingMade: 'The views are being made again just now; run this again when lance doctor says that they are current.',
    same: (applied, rows) =>
      `The views are what the log gives: ${applied} records folded once more, ${rows} rows compared.`,
    differ: (table, changed, missing, extra) =>
      `${table}: ${changed} rows differ, ${missing} are missing, ${extra} are too many.`,
    what: { changed: 'differs', missing: 'is missing', extra: 'is one too many' },
    value: (name, stored, folded) => `${name} is ${stored} and should be ${folded}`,
    remedy:
      'Remedy: lance pause, stop the desk, lance views rebuild, start it. Look first with lance audit verify whether the log itself was changed.',
    givenUp: 'At the next start the views are made again from the log; until then no bids go out, and nothing is lost.',
  },
  audit: {
    progress: 'chain',
    none: 'The log of this backend keeps no hash chain; its servers hold it.',
    intact: (entries, head, all, anchors, anchoredAt) =>
      `The chain is intact: ${entries} records, head ${head}. With the other tables: ${all} records. ${anchoredAt === null ? 'No anchor was compared.' : `${counted('en', 'anchor fits', 'anchors fit')(anchors)}, the last one of ${anchoredAt}.`}`,
    broken: (table, offset, what, until) =>
      `The chain is broken at record ${offset} of ${table}${until === null ? '' : ` (or a later one up to ${until})`}: ${what}.`,
    remedy: (text) => `Remedy: ${text}.`,
    remedies: {
      edited:
        'stop the desk, keep a copy of what is there, and put back a copy from before the change; then lance audit accept-restore, for that copy is behind the anchor',
      setBack:
        'stop the desk and put back what is missing: lance.sqlite-wal after a crash, or a newer copy of the whole directory. Where there is none, lance audit accept-restore takes what is there',
      topicSetBack:
        'stop every desk and put the topics back; where that cannot be, lance audit accept-restore takes what is there',
      controls:
        'see with lance doctor whether bidding is paused and which caps hold, and say again what should hold with lance pause, resume or cap',
      anchors:
        'if the data directory was moved, move the files of its anchor too: they stand beside the old one (OLD.anchor, OLD.anchor.mark and so on) and take the new name; else put a copy of the anchors back. Where there is none, stop the desk, leave the other files of the anchor where they are, for they say what was bid for, and run lance audit accept-restore',
    },
    tampering: {
      changed: 'it was changed',
      deleted: 'it was deleted',
      inserted: 'it was put in later',
      reordered: 'it stands in the place of another one: records were reordered',
      rewritten: 'records were changed and the chain was written anew: an anchor differs',
      truncated: 'it was there and is missing, with all after it: the end was cut off',
      'front-cut':
        'the first records were deleted, and are younger than the log keeps them; those that are left were not changed by that',
    },
    anchorBroken: (place, line) =>
      `The anchors ${place} were edited${line === 0 ? ' (the mark beside them)' : ` at ${line} (line of the file, or place on the topic)`}: that line is not signed with the key of the log, or one before it is missing. The chains themselves are consistent.`,
    anchorMissing: (place) =>
      `The log was anchored, or is of a version that anchors every log, and ${place}, a part of its anchor, is missing or not whole: nobody can say whether it was written anew. The chains themselves are consistent.`,
    unverified: (text) => `Not verified: ${text}`,
    notVerified: {
      noKey: 'signatures of the anchors; set LANCE_AUDIT_KEY or LANCE_PSEUDONYM_KEY.',
      otherKey: (count) =>
        `${count} anchors signed with another key; set the LANCE_AUDIT_KEY (without one the LANCE_PSEUDONYM_KEY) of the desk.`,
      noAnchor: (place) =>
        `whether the end was cut off or a whole chain was written anew: there is no anchor ${place} (LANCE_AUDIT_ANCHOR).`,
      noAnchorOnTopic: (place) =>
        `whether topics are shorter than they were or hold something else: there is no anchor on the topic ${place}; a desk that runs writes one every few minutes.`,
      beforeChain: (table, until) =>
        `${table} one by one before record ${until}: they are from before its chain began, and were checked as a whole.`,
      beforeKey: (entries, at) =>
        `whether the ${entries} records from before ${at} were written anew until then: they are of a version that signed nothing, or their signed heads were not there when a restore was accepted. What came later is signed.`,
      lostPart: (count, at) => `${count} anchors of a part that was lost; the restore of ${at} was accepted.`,
      margins: (rows) =>
        `margins in the cache (${rows}): this desk did not write them, so somebody edited them or an earlier version wrote them. They are left out and asked for anew.`,
      expired: (table, until) => `${table} before record ${until}: the log keeps them no longer.`,
    },
    restored: (at, by, reason) => `Restore accepted on ${at} by ${by}: ${reason}`,
    imported: (at, source, hash) => `Imported on ${at} from ${source}, SHA-256 of the file's records ${hash}`,
    nothingToAccept:
      'Nothing to accept: the log is as long as its anchors say. Whether its records were edited, lance audit verify says. Nothing was written, and bidding is as it was. If the anchors were put back together with a backup, move them away and run this again.',
    pauseReason: (reason) => `restore accepted: ${reason}`,
    accepted: ({ claimed, withOffer }, promised, until) =>
      `Accepted, and recorded. ${claimed} requests that were bid for in the lost part are not bid for again. Each counts as unknown until the end of its auction, an event or a person says how its bid ended; ${withOffer} of them count under the caps with the ${promised} that was offered${withOffer === claimed ? '' : ', the others with what was asked for, where the log still says it'}.${until === null ? '' : ` Which others there were is not known: nothing is bid for that was received before ${until}, and what may have been promised for those counts under no cap.`} Bidding is paused: compare with the service (lance bids list --state unknown; lance bids resolve), set caps (lance cap), then lance resume.`,
    lostRecords: ({ auctions, callbacks, flows, deadLetters }) =>
      `Lost, as far as the anchor tells: ${auctions} records of requests and their bids, ${callbacks} events of the service, ${flows} records of contracts and other flows, ${deadLetters} dead letters.`,
    recordsUnknown:
      'How many records of requests, bids, events and flows were lost cannot be told: nothing is left of the anchor to compare with.',
    lostOrders: {
      token_book: (count) => `${count} about tokens: a token revoked since then works again (lance tokens list)`,
      rule_book: (count) => `${count} about rule sets and their approval (lance rules history; lance rules approval)`,
      control_changes: (count) => `${count} about pauses, caps and rules (lance controls history; lance cap)`,
    },
    ordersUnknown:
      'Which orders of people were lost cannot be told. Look before lance resume: lance tokens list (a token revoked since then works again), lance rules history, lance rules approval, lance controls history, lance cap.',
    ordersAgain: (orders) =>
      `People's orders that were lost, to be given again before lance resume:\n${orders.map((text) => `  ${text}`).join('\n')}`,
    passOverReason: (reason) => `batch passed over: ${reason}`,
    onBrokersOnly: 'A log in a file has no batches: lance audit verify says what is wrong with it.',
    passedOver: (place, [first, last], until) =>
      `The batch of ${place} at the offsets ${first} to ${last} is passed over from the next start on. It may have held records of the desk: nothing is bid for that is received before ${until}, and the desk is paused. Compare bids and open contracts with the service before lance resume.`,
    help: {
      passOver: 'leave out for good a batch that cannot be unpacked, as the alarm partition-closed names it (Kafka)',
      passOverPlace: 'topic and partition, such as lance.auctions/1',
      passOverOffset: 'an offset of the batch',
      accept: 'take a log that was set back (a restored backup) as it is, and never bid again for what was lost',
      emptied: 'the records are lost for good, and the desk begins with none',
    },
  },
  move: moveEn,
  sandbox: {
    up: (url) => `Sandbox at ${url}`,
    point: 'Point the desk at it, in another terminal:',
    stream: 'and, after Ctrl-C here, send it requests:',
    needs: 'The desk has to run with:',
    operator: (secret) => `Calls of /v1 then carry the header "authorization: Bearer ${secret}".`,
    known: 'Made-up people behind the first requests (a withdrawal can be ordered for each of them):',
    people: ['Request', 'CPF', 'Name', 'Registration', 'Employer (1 CNPJ, 2 CPF)', 'Born', 'FGTS balance', 'NSU'],
    takers: 'Won, and taken by the worker: a contract can be ordered for',
    orderValues: 'Values that this service takes for what lance contracts example leaves open:',
    noTakers:
      'No bid was won and taken by its worker: send more requests, or look at the bids of the desk. A sandbox that is started again sends the same requests, which the desk knows already: --seed 2 sends others.',
    stays: (url) => `The service stays up at ${url} for the flows after the win.`,
    stop: 'Ctrl-C ends it.',
    waiting: (target) => `Waiting for ${target} …`,
    unreachable: (target) => `Nobody answers at ${target}; start lance run there or mend --target.`,
    badTarget: 'write a whole address, such as http://127.0.0.1:8080/webhooks/TOKEN',
    badSettings: (where) => `--settings is not valid JSON. ${where}`.trimEnd(),
    window: (seconds) => `Auctions last ${seconds} s; the desk's bidding.windowMs should be the same.`,
    finalisation: (settings) =>
      `Withdrawals are finalised, and their states understood, with this in a file that LANCE_CONFIG names:\n  ${settings}`,
    summary: {
      requests: 'requests',
      bids: 'bids that arrived',
      ended: 'auctions ended',
      ours: 'with a bid of ours',
      won: 'won',
      taken: 'taken by workers',
      asked: 'questions to the source',
      webhooks: 'webhooks delivered',
      givenUp: 'given up',
    },
  },
  bidding: biddingEn,
  status: statusEn,
  demo: demoEn,
  doctor: doctorEn,
  quote: quoteEn,
  rules: rulesEn,
  flows: flowsEn,
  worker: workerEn,
  letters: lettersEn,
  review: reviewEn,
  mapping: mappingEn,
  parsing: { error: (text) => text, beside: (text) => text, usage: (text) => text },
  badLanguage: (value) => `LANCE_LANG is "${value}": write pt or en.`,
};
