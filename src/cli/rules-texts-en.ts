/** What the `rules` commands say, in English. */

import { counted } from './plural.ts';
import type { Texts } from './texts.ts';

const processes = counted('en', 'process', 'processes');
const tests = counted('en', 'test', 'tests');
const lines = counted('en', 'line', 'lines');

export const rulesEn: Texts['rules'] = {
  fault: (text) => text,
  help: {
    rules: 'rules: check, test, try, explain, import, measure impact, activate',
    check: 'does with a folder of rules all that activation does, without activating it',
    test: 'runs the tests beside the rules and says what they do not show',
    try: 'shows what one rule would hit among the latest requests',
    hits: 'how often each rule of the set that decides shaped an outcome, as the decisions recorded it',
    backtest:
      'what each rule would have kept away of loans whose performance is known: what that would have saved, and what it would have cost',
    hitsSince:
      'decided then or later: a day (2026-11-23) or a minute (2026-11-23T14:30), Brasília time; else since the set is followed',
    hitsUntil: 'decided then or before; else until now',
    explain: 'each condition of each rule with the value it saw in these facts',
    diff: 'what one set says otherwise than another, value by value: before → after',
    checkout: 'writes the files of a kept set into a folder',
    set: "live, the beginning of a kept set's hash, or a folder",
    setElse: 'the same; else LANCE_RULES_DIR or the folder shipped',
    emptyDir: 'folder that is empty or not there yet',
    schema: 'writes the JSON Schemas and the catalogue of facts into schema/',
    import: 'makes a list or a decision table of a CSV; points out every bad line',
    new: 'writes a small rule, table or scorecard with its tests, to be edited; never over a file that is there',
    newKind: 'what it is: a refusal (pass), a limit, a decision table, a scorecard',
    newName: 'name of the files, in lower case and hyphens',
    reasons: 'what a worker is told for each reason for no offer, in Portuguese and English',
    dir: 'folder of the rules; else LANCE_RULES_DIR or the one shipped',
    coverage: 'least coverage, percent',
    junit: "writes the results as JUnit's XML into this file",
    percent: 'write a whole number from 0 to 100',
    rule: 'name of the rule',
    last: 'how many requests, at most',
    checkLast: 'tell extra. facts that none of so many recorded requests brought',
    run: 'only the tests whose name holds this',
    request: 'a request of the desk instead of the file: on what was known when it was decided',
    factsOrRequest: 'write the name of a file with facts, or --request ID',
    facts: 'JSON file with the facts: {"worker.ageYears": 30}',
    csv: 'CSV file, with commas or semicolons, or .xlsx',
    sheet: 'sheet of the .xlsx, where it has more than one',
    list: 'name of the list, in lower case and hyphens',
    fact: 'the fact that the list looks up',
    table: 'name of the table, in lower case and hyphens',
    event: "event of the table's rows",
    title: 'name of the table for people',
    priority: "priority of the table's rules",
    stage: 'before (request) or after (offer) pricing',
    description: 'what it is for',
    owner: 'who answers for it',
    hash: "beginning of the set's hash, at least 6 characters",
    snooze: 'puts a rule to sleep for a time: until then it has no say',
    resume: 'wakes a rule before its time',
    snoozes: 'the rules that are asleep: until when, by whom, why',
    until: 'a day (included) or a minute in Brasília, 2026-11-27 or 2026-11-27T18:00; at most 30 days ahead',
    activation: {
      propose: "checks the folder and keeps the set with its author's name",
      approve: "approves somebody else's set, which is followed then",
      activate: 'makes a kept set the one to follow',
      rollback: 'goes back to the set before, or to the one named',
      approval: 'two persons have to stand for a set: on, or off again, which two persons have to say',
      approvalWord: 'on or off',
      approvalOf: 'of what: sets of rules, caps by hand that are raised or removed, or the economics of the settings',
      reason: 'the same as --comment',
      comment: 'why, kept with it and shown by history; a CPF in it is blotted out',
      history: 'what became of each set: who, when, what it changed',
    },
  },
  truths: { true: 'true', false: 'false', unknown: 'unknown', linkNotOnRecord: 'link not on record' },
  groups: { all: 'all of', any: 'any of', atLeast: 'at least', not: 'not', named: 'condition' },
  atLeast: (count) => `at least ${count} of`,
  refused: (count) => `The rules are refused, ${count} ${count === 1 ? 'fault' : 'faults'}:`,
  warnings: (count) => `${count} ${count === 1 ? 'warning' : 'warnings'}:`,
  testFailed: (field, expected, actual) => `${field}: expected ${expected}, got ${actual}`,
  uncovered: (rule, condition, missing) =>
    `"${rule}"${condition === null ? '' : `, ${condition}`}: never ${missing} in the tests`,
  tested: (count, failed, coverage, least) =>
    `${tests(count)}, ${failed} failed; coverage ${coverage}, at least ${least} wanted.`,
  tooLittle: (share) => `The tests show ${share} of the rules, which is not enough.`,
  good: (count, hash) => `${count} rules in order, set ${hash}.`,
  bad: 'This set cannot be activated.',
  more: (count) => `… and ${count} more.`,
  saw: (value) => `(saw ${value})`,
  absent: 'nothing',
  notValid: '(outside of its validity)',
  snoozed: '(asleep)',
  conditions: 'Rules, condition by condition',
  noPass: 'No rule passes on these facts.',
  limitRefuses: (rule, limit, value) => `The limit of "${rule}" refuses this request: ${limit} ${value}.`,
  asksReview: (rule, queue, minutes, otherwise) =>
    `"${rule}" asks the queue ${queue} before a bid, for ${minutes} min at most; without an answer: ${otherwise}.`,
  nearest: (fact, from, to) => `enough would be ${fact}: from ${from} to ${to}`,
  nearestNone: 'No change of a single fact, among those tried, would be enough.',
  noRule: (name, hint) => `There is no rule "${name}". ${hint}`,
  isNoRule: (name, rules, first) =>
    `There is no rule "${name}". The rules are: ${rules}. Name one of them: lance rules try "${first}" --last 500.`,
  explainId: (id) => `There is no file ${id}; for a request with this id write --request ${id}.`,
  factsForBase: (facts, files) =>
    `Requests of tests are passed on because a fact is missing that a rule looks at now: put ${facts} with a value into the "base" of ${files}.`,
  noTest: (name, hint) => `No test has a name with "${name}". ${hint}`,
  trying: 'requests',
  tried: (name, count, hits, unknown, misses) =>
    `"${name}" on ${count} requests: true on ${hits}, unknown on ${unknown}, false on ${misses}.`,
  triedWithoutLink: (count) =>
    `On ${count} more it is not known: the rule looks at facts of the worker's link, which are not on record because nobody asked then. Live, the desk would have asked.`,
  triedHeader: ['request', 'state', 'code', 'the rule'],
  reading: 'records',
  hitsOf: (hash, since, until) => `Set ${hash}, decisions from ${since} to ${until}:`,
  hitsTotal: (decisions, bids, passes, byRules) =>
    `${decisions} decisions, ${bids} to bid, ${passes} to pass, ${byRules} of these by a rule.`,
  hitsByOthers: (count) => `${count} more by other sets, which are not counted.`,
  hitsHeader: ['rule', 'event', 'effect', 'decided', 'alone', 'missing', 'full', 'asleep'],
  backtestAll: 'all loans',
  backtestHeader: ['rule', 'event', 'loans', 'missing', 'released', 'ended', 'saved: losses', 'cost: earned', 'net'],
  backtestWithoutLink: (rules) =>
    `Facts of a link that nobody had asked for were missing; such loans are in no figure of these rules: ${rules}.`,
  backtestNote:
    'Each rule alone, on the loans of the file, until the last month known of each. Loans: those that it would have kept away, the undecided ones (missing) among them; of a limit, those outside of it, whole, although a smaller one might have been made. Saved: what was lost. Cost: interest paid less funding. Not looked at: limits of spread and profit. What the rules of the time refused is in no file, and nobody knows how it would have done.',
  hitsNote:
    'effect: decisions on which the rule had an effect; decided: passes whose first reason it is; alone: those with no other reason; missing: passes for which it lacked a fact; full: passes for want of room under its cap, or because nothing fitted within its limits; asleep: decisions without its say.',
  noCpf: 'neither a CPF whose check digits hold nor a pseudonym; write the 11 digits of the CPF',
  noKey: 'LANCE_PSEUDONYM_KEY is missing: without it no pseudonym of a CPF can be made.',
  badLine: (file, line, text) => `${file}:${line}: ${text}`,
  badName: (name) => `The name "${name}" does not do: use lower case, digits and hyphens, like "blocked-workers".`,
  sheetTooLong: (file, megabytes) => `${file} is larger than ${megabytes} MB; take out what is no part of the table.`,
  unreadable: (file, why, what) => `${file} cannot be read (${why}); give the path of: ${what}.`,
  importWhat: 'Give --list NAME with --fact FACT, or --table NAME with --event EVENT.',
  importRefused: (count) => `${count} ${count === 1 ? 'fault' : 'faults'}; nothing was written.`,
  imported: (path, count) => `${path}: ${lines(count)}.`,
  reasonMissing: '(not written)',
  reasonsMissing: (codes) =>
    `Nobody wrote what a worker is told for ${codes}: say it in codes.json under "worker", {"${codes.split(', ')[0]}": {"pt": "…", "en": "…"}}.`,
  draft: {
    exists: (path) => `${path} is there already: choose another name, or edit that file.`,
    codeMeaning: 'To be edited: what this reason for no bid means.',
    passDescription: 'To be edited: why such requests get no bid. Fewer than 6 instalments were asked for.',
    passReason: 'Fewer than 6 instalments were asked for.',
    limitDescription: 'To be edited: why less is offered. In the first year at most R$ 3 000 over 18 months.',
    tableDescription: 'To be edited: what hangs on what. Amount and term by the age of the employer, in months.',
    scoreDescription: 'To be edited: what the points tell. How likely the link lasts.',
    scoreRuleDescription: 'To be edited: what the band means. In band B at most R$ 3 000 over 18 months.',
    holds: (fact, value) => `${fact} ${value}: it holds`,
    doesNotHold: (fact, value) => `${fact} ${value}: it does not`,
    isUnknown: (fact) => `${fact} unknown: in case of doubt it holds`,
    inRow: (fact, value, row) => `${fact} ${value}: row ${row}`,
    inBand: (band, points) => `${points} points: band ${band}`,
    withoutPoints: (fact, points) => `${fact} unknown: ${points} points`,
    withoutScore: (fact) => `${fact} unknown: no score, and in case of doubt the limit holds`,
    next: {
      pass: (directory) =>
        `Now edit the condition and the reason, the meaning of the code in codes.json (under "worker" what a worker is told), and the tests; facts are in rules/schema/facts.md. It holds from 2099 on: remove "validFrom" when it is ready. Then: lance rules test ${directory}`,
      limit: (directory) =>
        `Now edit the condition, the limits and the tests; facts are in rules/schema/facts.md, limits in rules/README.md. It holds from 2099 on: remove "validFrom" when it is ready. Then: lance rules test ${directory}`,
      table: (directory) =>
        `Now edit inputs, outputs, rows and tests; every two rows have to exclude each other. It holds from 2099 on: remove "validFrom" when it is ready. Then: lance rules test ${directory}`,
      score: (directory) =>
        `Now edit the bins, their points and the bands, the rule that looks at the band, and the tests. It holds from 2099 on: remove "validFrom" when it is ready. Then: lance rules test ${directory}`,
    },
  },
  snooze: {
    header: ['rule', 'until', 'who', 'why'],
    none: 'No rule is asleep.',
    changed: '(changed since, so awake)',
    unknown: (rule, nearest) =>
      `The set that decides has no rule "${rule}".${nearest === null ? ' lance rules diff live shows its rules.' : ` Did you mean "${nearest}"?`}`,
    untilOutside: (latest) =>
      `A rule sleeps until a time to come, ${latest} at the latest. For longer propose a set without it.`,
    needsApproval:
      'Two persons have to stand for rules here, so none is put to sleep by one: propose a set without it.',
    asleep: (rule, until, revision, count) =>
      `Rule "${rule}" has no say until ${until}, unless it is changed (revision ${revision}), obeyed by ${processes(count)}. lance rules resume wakes it.`,
    awake: (rule, revision, count) =>
      `Rule "${rule}" has its say again (revision ${revision}), by ${processes(count)}.`,
    awakeAlready: (rule, asleep) => `Rule "${rule}" is not asleep. Asleep: ${asleep === '' ? 'none' : asleep}.`,
  },
  sets: {
    between: (before, after) => `From ${before} to ${after}:`,
    nothing: 'nothing',
    notEmpty: (directory) => `${directory} is not empty: name a folder that is, or one that is not there yet.`,
    written: (hash, count, directory) =>
      `Set ${hash}, ${count} files, is in ${directory}. The desk follows its own folder: LANCE_RULES_DIR.`,
  },
  activation: {
    header: ['when', 'set', 'what', 'who', 'changes'],
    kinds: {
      proposed: 'proposed',
      approved: 'approved',
      activated: 'announced',
      'approval-required': 'approval on',
      'approval-lift': 'wants approval off',
    },
    configuration: '(configuration)',
    approvalOn: 'Two persons have to stand for a set from now on.',
    approvalOff: 'Nobody has to approve a set.',
    approvalOneMore: (of) =>
      `Recorded; another person has to say the same with a token within a day: lance rules approval off${of === 'rules' ? '' : ` --of ${of}`}. "on" takes it back.`,
    capApprovalOn: 'Two persons have to stand for each cap by hand that is raised or removed from now on.',
    capApprovalOff: 'One person may raise or remove a cap by hand.',
    about: { caps: 'caps', economics: 'economics' },
    economicsOn: 'Two persons have to stand for other economics in the settings from now on.',
    economicsOff: 'A process decides by the economics of its settings; nobody has to approve them.',
    approvalConfigured:
      'Recorded; but the configuration still asks for approval: set rules.approval to false and restart.',
    changes: { added: 'new', removed: 'removed', changed: 'changed' },
    parts: {
      rule: 'rule',
      list: 'list',
      table: 'table',
      codes: 'codes',
      conditions: 'condition',
      events: 'event',
      bases: 'basis of tests',
      facts: 'computed fact',
      holidays: 'holidays',
      score: 'scorecard',
      source: 'source',
      values: 'value table',
      tests: 'tests',
    },
    noChange: 'no change',
    folder: '(folder)',
    noHistory: 'No rule set has been proposed yet.',
    unknown: (word) =>
      `No set in the store begins with "${word}". Write at least 6 characters; "lance rules history" shows them all.`,
    ambiguous: (word, count) => `${count} sets begin with "${word}": write more characters.`,
    followedAlready: (hash) => `The set ${hash} is followed already.`,
    announced: (hash, at, count) =>
      `The set ${hash} decides from ${at} on; ${counted('en', 'process knows', 'processes know')(count)}.`,
    proposed: (hash, changes, next) =>
      `Set ${hash} kept: ${changes}.\nNow: lance rules ${next} ${hash}${next === 'approve' ? ', with the token of another person (LANCE_URL, LANCE_TOKEN)' : ' --by NAME'}`,
    samePerson: (hash, names) => `${names} stand(s) for the set ${hash} already: another person has to approve it.`,
    oneMore: (hash) =>
      `Approval of the set ${hash} kept. Its author is not known, so one more person has to approve it.`,
    notApproved: (hash) =>
      `No second person has approved the set ${hash}: lance rules approve ${hash}, with the token of another person (LANCE_URL, LANCE_TOKEN)`,
    late: (hash, at, names) => `The set ${hash} decides from ${at} on, but ${names} do(es) not know of it yet.`,
    review: (hash, until) =>
      `It takes one person to go back. Somebody else has to look at it by ${until}: lance rules approve ${hash}, with a token of their own. Until another set is activated, the folder goes live only by lance rules activate.`,
    reviewed: (hash) => `Recorded: somebody else has looked at the rollback to ${hash}.`,
    rolledBack: 'gone back to',
    refreshes: (hash) => `refreshes ${hash}`,
    identityNeeded:
      'Who approves has to be known: set LANCE_URL and LANCE_TOKEN, each person with a token of their own (lance tokens create). A name that is typed never counts.',
    noneBefore: 'No other set was followed before: there is nothing to go back to.',
  },
};
