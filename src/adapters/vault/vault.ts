/** Pseudonyms and sealed text, from one secret. Losing the secret loses the identities; changing it does too. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { Vault } from '../../domain/vault.ts';
import { Fault } from '../../errors.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Drawn at once: the call costs more than the bytes. */
const noncesAtOnce = 128;

function randomNonces(): () => Uint8Array {
  let drawn = Buffer.alloc(0);
  let used = 0;
  return () => {
    if (used === drawn.length) {
      drawn = randomBytes(noncesAtOnce * nonceBytes);
      used = 0;
    }
    used += nonceBytes;
    return drawn.subarray(used - nonceBytes, used);
  };
}

/**
 * `nonce` gives 12 bytes that never repeat under one secret (NIST SP 800-38D); a simulation passes its own.
 * Sealed form: base64url of nonce ‖ ciphertext ‖ tag.
 */
export function createVault(secret: string, nonce: () => Uint8Array = randomNonces()): Vault {
  // Key objects: a key given as bytes is checked and copied anew at each call, which costs three times the HMAC.
  const derive = (purpose: string) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'lance', purpose, 32)));
  const sealKey = derive('seal');
  const pseudonymKey = derive('pseudonym');

  return {
    pseudonym: (text) => createHmac('sha256', pseudonymKey).update(text).digest('base64url'),
    seal: (text) => {
      const iv = nonce();
      const sealer = createCipheriv(cipher, sealKey, iv);
      return Buffer.concat([iv, sealer.update(text, 'utf8'), sealer.final(), sealer.getAuthTag()]).toString(
        'base64url',
      );
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      try {
        const opener = createDecipheriv(cipher, sealKey, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
        opener.setAuthTag(bytes.subarray(bytes.length - tagBytes));
        const text = opener.update(bytes.subarray(nonceBytes, bytes.length - tagBytes), undefined, 'utf8');
        return text + opener.final('utf8');
      } catch (cause) {
        throw new Fault(
          'sealed-unreadable',
          'A sealed value does not open: it was sealed with another LANCE_PSEUDONYM_KEY, or was damaged. Run with the key that sealed it.',
          cause,
        );
      }
    },
  };
}
