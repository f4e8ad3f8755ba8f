/** What `lance mapping` says, in English. */
import type { Texts } from './texts.ts';

export const mappingEn: Texts['mapping'] = {
  help: {
    mapping: 'where the facts of a request stand in the webhook',
    try: 'what a mapping makes of a sample: every fact found, and what was left unread; shows no values',
    file: 'JSON file with a sample of the webhook of new requests',
    own: 'mapping to try; without it, the one of LANCE_MAPPING or the one shipped',
  },
  unreadable: (path, why) =>
    why === 'ENOENT' ? `There is no file ${path}.` : `${path} is no file with JSON in it. ${why}`.trimEnd(),
  labels: { event: 'What it is', understood: 'Understood', elements: 'Elements', letter: 'Kept unread' },
  element: (pointer) => `Element at ${pointer}`,
  noRequest: '(nothing in it looks like a loan request)',
  factHeader: ['Fact', 'Read from', 'In', 'Kind', 'Result'],
  from: { element: 'the element', wrapper: 'what is around it' },
  read: 'read',
  unread: 'Left unread:',
  around: 'Around the elements, left unread:',
  unreadHeader: ['Key', 'Kind', 'Rules know it as'],
  sealedOnly: '– (in the sealed original only)',
  moreKeys: 'There are more keys.',
  moreElements: (count) => `${count} more elements are not shown.`,
};
