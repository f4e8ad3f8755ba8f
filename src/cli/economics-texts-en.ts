/** What `lance economics show | approve` says, in English. */
import type { Texts } from './texts.ts';

export const economicsEn: Texts['economics'] = {
  help: {
    show: 'which economics of the settings decide, which ones wait for two persons, and what they change',
    approve: 'stand for economics of the settings that wait; with two persons they decide from a restart on',
    hash: 'the beginning of the hash that economics show says',
  },
  noneUsed: 'No process has said yet which economics it decides by.',
  used: (hash) => `The economics ${hash} decide (sections economics and pricing of the settings).`,
  needed: 'Two persons have to stand for others (lance rules approval on --of economics).',
  notNeeded: 'Nobody has to approve others: they decide from the next start on.',
  waits: (hash, at, people) =>
    `${hash}, in the settings of a process since ${at}, wait for two persons${people === '' ? '' : ` (so far: ${people})`}: lance economics approve ${hash}, each with a token of their own`,
  approved: (hash, people) => `${hash} are approved (${people}): they decide once each process was restarted`,
  header: ['setting', 'decides', 'waits'],
  done: (hash) => `The economics ${hash} are approved: they decide once each process was restarted with them.`,
  oneMore: (hash) => `Recorded; another person has to approve ${hash} too, with a token of their own.`,
  unknown: (word) =>
    `No economics that wait begin with ${word}: see lance economics show. A process that has them in its settings has to have started once.`,
  ambiguous: (word, count) => `${count} begin with ${word}: write more of it.`,
  samePerson: (people) =>
    `${people} stood for them already: another person has to approve them, with a token of their own.`,
};
