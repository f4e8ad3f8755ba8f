/** Why no bids flow, and what an operator does about each cause. `lance run` writes these to its log, whatever the language. */
import type { Texts } from './texts.ts';

export const biddingEn: Texts['bidding'] = {
  causes: {
    stopping: 'the process is stopping',
    'clock-step': "this machine's clock has jumped",
    'clock-skew': "this machine's clock and the service's do not agree",
    'log-changed': 'the log is not what was written',
    'control-stale': 'the controls cannot be read',
    paused: 'paused',
    'rule-set-missing': 'there is no rule set to follow',
    'views-incomplete': 'what is used under the caps is incomplete',
    'partitions-not-live': 'no partition is caught up',
    'log-refused': 'the log takes no records',
    'service-unauthorised': 'the service refuses the token',
    'service-unreachable': 'the service does not answer',
    'service-throttled': 'the service answers 429',
    restored: 'after a restore, what is received before a time is not bid for',
  },
  remedies: {
    stopping: 'the process is about to end',
    'clock-step':
      "set this machine's clock by a time server (chronyc tracking, timedatectl); bidding goes on by itself once the service's time agrees with it",
    'clock-skew':
      "compare this machine's clock with a time server (chronyc tracking, timedatectl); where it is right, the service's is wrong: ask the service",
    'log-changed':
      'somebody changed the log, or its disk did: look with lance audit verify and put back a copy from before; lance resume --by NAME --reason TEXT bids by what stands there, until the next start',
    'control-stale':
      'see to the server that the reason names, or to the disk of the data directory; the desk opens by itself once they can be read in time',
    paused: 'lance resume --by NAME --reason TEXT goes on',
    'rule-set-missing':
      'see rules in /readyz?verbose; a first set that awaits approval begins once two persons, each with a token of their own, have run lance rules approve HASH; where a set was followed before, lance rules rollback --by NAME goes back to it',
    'views-incomplete': 'what is used under the caps is being counted again; it ends by itself',
    'partitions-not-live': 'catching up ends by itself; a closed partition names its record',
    'log-refused': 'free space on the disk, or put back the files that the reason names',
    'service-unauthorised':
      'set a new LANCE_ACCESS_TOKEN and restart; where the token comes from LANCE_TOKEN_COMMAND, mend that program; once the service takes this one again, the desk opens by itself',
    'service-unreachable':
      'look at its status page and at the network from here to LANCE_BASE_URL; the desk asks it every 10 s, and opens by itself once it answers',
    'service-throttled':
      'fewer are sent at once already (limit now), and the desk opens by itself with the first answer that is no 429, or 60 s after the last one; ask the service to take more; bidding.sendLimit (file of LANCE_CONFIG, from a restart on) helps only below 4',
    restored:
      'which requests were bid for in the part of the log that was lost is not known, so nothing received before that time is bid for; it ends by itself',
  },
  /** In the place of those of `service-unreachable` where somebody answers. */
  answersOtherwise: {
    cause: 'the service answers, but not as the contract says',
    remedy:
      'the detail says what came (a status, a redirection, a page, an unreadable success): look at its status page, at what stands between here and it, such as a proxy, and at the path in LANCE_BASE_URL; the desk asks it again and again, and opens by itself once it answers bids as it should',
  },
  /** In the place of that of `log-changed` where records were taken away: no resumption and no restart brings them back. */
  recordsGoneRemedy:
    'the next start is refused (65): stop the desk, see what is missing with lance audit verify and put back the records or a newer copy of the directory; where there is none, lance audit accept-restore --by NAME --reason TEXT takes what is there, and pauses; then start it',
  /** In the place of that of `log-refused` where the log is on brokers. */
  brokersRemedy: 'see to the brokers and the schema registry',
  /** In the place of those of `log-refused` where the settings of a topic were altered. */
  topicsUnsafe: {
    cause: 'records that are stored could be lost: somebody altered a topic',
    remedy: 'set each topic as the detail says; the desk looks every 15 s, and opens by itself once all are safe',
  },
};
