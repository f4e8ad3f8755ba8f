/** What the commands of dead letters say, in English. */
import type { Texts } from './texts.ts';

export const lettersEn: Texts['letters'] = {
  help: {
    letters: 'webhooks that nobody understood: what they were, and reading them again',
    list: 'shows when each came, why it was not understood and, with the pseudonym key, its keys; never values',
    replay: 'reads dead letters again after the mapping was mended; each counts from when it came',
    partition: 'partition of the log; all of them unless it is given',
    from: 'first place in the log',
    count: 'how many at most',
  },
  header: ['Partition', 'Place', 'Came', 'Why', 'Where', 'Understood later', 'Keys', 'Facts not read'],
  empty: 'There is none.',
  more: (next, end) => `The log goes on to ${end}: --from ${next}.`,
  morePartitions: ({ partition, from }) =>
    `There is more: --partition ${partition} --from ${from}, then the partitions after it.`,
  replayed: ({ read, understood, stillNot, next, more }, isOver) =>
    `${read} read again: ${understood} understood now, ${stillNot} still not. ${isOver ? 'Nothing is left to read.' : `Read on with ${more === undefined ? '' : `--partition ${more.partition} `}--from ${next}.`}`,
  tooMany: (count, limit) => `--count ${count} is too many at once: ask for at most ${limit}.`,
};
