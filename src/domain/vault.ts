/** How identities are kept: pseudonyms as keys, sealed text for what must be read again. */

/** Synchronous on purpose: a few microseconds each, at the door and before a link query. */
export type Vault = {
  /** HMAC-SHA256 with the pseudonym key, base64url. The same text always gives the same pseudonym. */
  pseudonym: (text: string) => string;
  /** AES-256-GCM with a key derived from the pseudonym key, base64url. */
  seal: (text: string) => string;
  /** Throws the operational fault `sealed-unreadable` when the key is another one. */
  open: (sealed: string) => string;
};
