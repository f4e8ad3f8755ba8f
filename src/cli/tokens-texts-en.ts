/** What the `tokens` commands say, in English. */
import type { Texts } from './texts.ts';

export const tokensEn: Texts['tokens'] = {
  help: {
    tokens: 'tokens of the API: create, list, revoke',
    create: 'creates a token, which is shown this once',
    list: 'whose each token and each session is, until when it is valid, who created it',
    revoke: 'revokes a token or ends a session: within 5 seconds no process lets it in',
    owner: 'who will have it: one name for each person, in all their tokens, for four eyes compare it',
    ownerForm: 'write letters, digits, . _ @ and -, at most 60, and not local',
    role: 'what it may do',
    days: 'for how many days it is valid',
    daysRange: (most) => `write a whole number from 1 to ${most}`,
    id: 'the id that lance tokens list shows',
  },
  header: ['token', 'owner', 'role', 'created at', 'by', 'valid until', 'revoked'],
  none: 'No token has been created.',
  notHere: 'Tokens of LANCE_API_TOKENS are not in this list: they are taken back there, by a restart.',
  created: (id, owner, role, until) =>
    `Token ${id} of ${owner} (${role}), valid until ${until}. Keep it now: it is not shown again.`,
  session: 'session',
  expired: 'expired',
  revokedBy: (by, at) => `${at}, by ${by}`,
  revoked: (id, owner) => `Token ${id} of ${owner} revoked: within 5 seconds no process lets it in.`,
  revokedBefore: (id, owner) => `Token ${id} of ${owner} had been revoked before.`,
  unknown: (id) =>
    `No token has the id ${id}: lance tokens list shows those that were created. One of LANCE_API_TOKENS is taken out of that variable, and a restart takes it back.`,
};
