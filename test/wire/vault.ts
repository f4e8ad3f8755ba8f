/** A vault for tests: real pseudonyms and real sealing, with a secret of its own. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { Vault } from '../../src/domain/vault.ts';

export function createTestVault(): Vault {
  const key = createSecretKey(Buffer.alloc(32, 7));
  return {
    pseudonym: (text) => createHmac('sha256', key).update(text).digest('base64url'),
    seal: (text) => {
      const nonce = randomBytes(12);
      const sealer = createCipheriv('aes-256-gcm', key, nonce);
      return Buffer.concat([nonce, sealer.update(text, 'utf8'), sealer.final(), sealer.getAuthTag()]).toString(
        'base64url',
      );
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      const opener = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
      opener.setAuthTag(bytes.subarray(-16));
      return opener.update(bytes.subarray(12, -16), undefined, 'utf8') + opener.final('utf8');
    },
  };
}
