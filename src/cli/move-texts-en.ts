/** What is said when a desk moves house, in English. */
import type { Texts } from './texts.ts';

export const moveEn: Texts['move'] = {
  exporting: 'export',
  checking: 'check',
  importing: 'import',
  exported: (file, count, hash, when) =>
    `The desk is in ${file}: ${count} records, exported on ${when}, hash ${hash}.\nThe place it was in is marked as moved; lance run refuses to start there.\nNext: lance import ${file} --hash ${hash} where it shall live, lance run there, and lance resume.\nShould it stay after all: lance export --undo.`,
  imported: (count, from, to, { when, hash, isCompared }) =>
    `${count} records taken in from ${from} to ${to}. The file was exported on ${when} and has the hash ${hash}. The desk is still paused.\n${isCompared ? '' : 'Compare time and hash with what the last lance export printed before lance resume: an older file of the same desk is taken in as well.\n'}Next: lance run, which makes the views from the log, and lance resume.`,
  undone: (file) => `The desk lives here again. ${file} must not be imported anywhere; delete it.`,
  unreadableGone: 'The mark that could not be read is gone: the desk lives here. It must not run anywhere else.',
  notMoved: 'The desk was never moved from here: there is nothing to undo.',
  movedAlready: (file) => `The desk was moved to ${file}, or is being moved; lance export --undo takes that back.`,
  halfArrived: (file) =>
    `An import of ${file} into this place did not end: the part that is here cannot be used. Import the file again; where that is refused, empty the place or import into another one.`,
  notPaused: 'The desk is not paused. Pause it (lance pause), stop every process, then export.',
  living: (names) => `A process runs on this place (${names}). Stop every lance run first, the doors too.`,
  behind: (count) =>
    `The views are ${count} records behind the log. Start lance run once, paused, wait for /readyz to name nothing but the pause, and stop it.`,
  claimOpen: (id) =>
    `The bid for request ${id} may have been sent and has no answer. Start lance run once, paused, until its deadline has passed: it ends it as unknown.`,
  unknownOpen: (id, seconds) =>
    `Whether the bid for request ${id} arrived is unknown, and it may still arrive for ${seconds} s. Try again after that.`,
  frozen: (command, id) =>
    `A record of ${id} cannot be read, and its bytes do not move with the desk. Start lance run once, paused, end it (lance ${command} retry ${id}, or lance ${command} cancel ${id}, with --by and --reason), and export again.`,
  changed: (topic) => `Something was appended to ${topic} meanwhile: a process runs on this place. Nothing was moved.`,
  nothing: 'There is no desk here: not one record.',
  fileThere: (file) => `${file} is there already. Name a file that is not.`,
  unwritable: (file, why) => `${file} cannot be written: ${why}. Nothing was moved.`,
  unreadable: (file, why) => `${file} cannot be imported: ${why}.`,
  otherHash: (file, hash, when) =>
    `${file} has another hash: ${hash}, exported on ${when}. Take the file whose hash the last lance export printed.`,
  unsigned: (file) =>
    `${file} is not signed, so nobody can say whether it is what the export wrote. Every export signs with LANCE_PSEUDONYM_KEY: export again with it set. Only a file that an earlier version wrote has no signature; take such a one with --unsigned.`,
  unchecked: (file) => `${file} is signed with the key of its desk. Set LANCE_PSEUDONYM_KEY to it and import again.`,
  full: {
    embedded: (what) =>
      `The place is not empty (${what}). Import into an empty one: set LANCE_DATA_DIR to a new directory.`,
    kafka: (what) =>
      `The place is not empty (${what}). Import into an empty one: set kafka.topicPrefix, kafka.groupId and redis.keyPrefix to new names.`,
  },
  brokenOff: {
    embedded: (file, at) =>
      `An import of ${file} into this place, begun on ${at}, goes on or broke off, and the part that is here cannot be used. Import into an empty place: set LANCE_DATA_DIR to a new directory.`,
    kafka: (file, at) =>
      `An import of ${file} into this place, begun on ${at}, goes on or broke off, and the part that is here cannot be used. Where it broke off, import into an empty place: set kafka.topicPrefix, kafka.groupId and redis.keyPrefix to new names. No desk starts on the part that is here.`,
  },
  missing: (topic, arrived, wanted) => `${topic} has ${arrived} records after the import, the file has ${wanted}.`,
};
