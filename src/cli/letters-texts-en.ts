/** What the commands of dead letters say, in English. */
import type { Texts } from './texts.ts';

export const lettersEn: Texts['letters'] = {
  help: {
    letters: 'webhooks that nobody understood: what they were, and reading them again',
    list: 'shows when each came, why it was not understood and, with the pseudonym key, its keys; never values',
    replay:
      'reads dead letters again after the mapping was mended; each counts from when it came; exits with 65 where none of them was understood',
    partition: 'partition of the log; all of them unless it is given',
    from: 'first place in the log',
    count: 'how many at most',
    all: 'also those that were dismissed',
    dismiss: 'closes a dead letter that nobody has to read again; it is kept, with who closed it and why',
    letter: 'partition and place, as lance letters list shows them: 0/12',
    letterForm: 'write partition and place, like 0/12',
  },
  header: ['Partition', 'Place', 'Came', 'Why', 'Where', 'Understood or dismissed', 'Keys', 'Facts not read'],
  empty: 'There is none.',
  hidden: (count) => (count === 1 ? '1 dismissed is not shown (--all).' : `${count} dismissed are not shown (--all).`),
  dismissedBy: (at, by, reason) => `dismissed ${at} (${by}: ${reason})`,
  dismissed: (letter) =>
    `Dead letter ${letter} dismissed: it is kept, and the doctor counts it no more (lance letters list --all).`,
  closedBefore: (letter, how, at) =>
    `The dead letter ${letter} was ${how === 'replayed' ? 'read again and understood' : 'dismissed'} already, at ${at}.`,
  unknown: (letter) => `No dead letter stands at ${letter}: see lance letters list.`,
  more: (next, end) => `The log goes on to ${end}: --from ${next}.`,
  morePartitions: ({ partition, from }) =>
    `There is more: --partition ${partition} --from ${from}, then the partitions after it.`,
  replayed: ({ read, understood, stillNot }, rest) =>
    read === 0
      ? '0 dead letters were read again: none waits here.'
      : [
          `${read} dead ${read === 1 ? 'letter was' : 'letters were'} read again.`,
          ...(understood === 0
            ? []
            : understood === 1
              ? ['1 is understood now: it is taken as a webhook of the time when it came.']
              : [`${understood} are understood now: they are taken as webhooks of the times when they came.`]),
          ...(stillNot === 0
            ? []
            : [
                `${stillNot} ${stillNot === 1 ? 'is still not understood, and stays a dead letter' : 'are still not understood, and stay dead letters'}: lance letters list says why. Mend the mapping (lance mapping try SAMPLE), restart the desk and replay ${stillNot === 1 ? 'it' : 'them'} again.`,
              ]),
          rest === null
            ? 'No other one is left to read.'
            : `There may be more: lance letters replay --partition ${rest.partition} --from ${rest.from}.`,
        ].join('\n'),
  tooMany: (count, limit) => `--count ${count} is too many at once: ask for at most ${limit}.`,
};
