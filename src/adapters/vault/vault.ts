/** Pseudonyms and sealed text, from one secret. Losing the secret loses the identities; changing it does too. */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { bytesPerCharacter, hmacOf, workingRoom } from '../../domain/hmac.ts';
import type { SealedPlace, Vault } from '../../domain/vault.ts';
import { Fault } from '../../errors.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const keyIdBytes = 6;
/** Stands between the id of the key and what was sealed; base64url has none. */
const afterKeyId = '.';
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

/** Authenticated and not stored. The key comes last: topic and field never hold a line break, so no two places read alike. */
function boundTo({ topic, key, field }: SealedPlace): Buffer {
  return Buffer.from(`${topic}\n${field}\n${key}`);
}

/**
 * `nonce` gives 12 bytes that never repeat under one secret (NIST SP 800-38D); a simulation passes its own.
 * Sealed form: the key's id, a dot, base64url of nonce ‖ ciphertext ‖ tag. What earlier versions sealed has neither id nor dot and
 * is bound to no place.
 */
export function createVault(secret: string, nonce: () => Uint8Array = randomNonces()): Vault {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'lance', purpose, 32));
  // A key object: a key given as bytes is checked and copied anew at each call.
  const sealKey = createSecretKey(derive('seal'));
  const room = workingRoom();
  const keyId = Buffer.from(hkdfSync('sha256', secret, 'lance', 'key-id', keyIdBytes)).toString('base64url');
  const prefix = keyId + afterKeyId;

  function opened(sealed: string, place: SealedPlace | null): string {
    const bytes = Buffer.from(sealed, 'base64url');
    try {
      const opener = createDecipheriv(cipher, sealKey, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      if (place !== null) opener.setAAD(boundTo(place));
      opener.setAuthTag(bytes.subarray(bytes.length - tagBytes));
      const text = opener.update(bytes.subarray(nonceBytes, bytes.length - tagBytes), undefined, 'utf8');
      return text + opener.final('utf8');
    } catch (cause) {
      throw unreadable(
        'it was sealed with another LANCE_PSEUDONYM_KEY, was moved from another record, or is damaged',
        cause,
      );
    }
  }

  return {
    pseudonym: hmacOf(derive('pseudonym')),
    seal: (place, text) => {
      const iv = nonce();
      const sealer = createCipheriv(cipher, sealKey, iv);
      sealer.setAAD(boundTo(place));
      const bytes = room(nonceBytes + text.length * bytesPerCharacter + tagBytes);
      const encrypted = sealer.update(bytes.subarray(0, bytes.write(text)));
      // A counter mode keeps nothing back for `final`, which only computes the tag.
      sealer.final();
      bytes.set(iv);
      bytes.set(encrypted, nonceBytes);
      bytes.set(sealer.getAuthTag(), nonceBytes + encrypted.length);
      return prefix + bytes.toString('base64url', 0, nonceBytes + encrypted.length + tagBytes);
    },
    open: (place, sealed) => {
      if (sealed.startsWith(prefix)) return opened(sealed.slice(prefix.length), place);
      if (sealed.includes(afterKeyId))
        throw unreadable('it was sealed with another LANCE_PSEUDONYM_KEY, or is damaged');
      return opened(sealed, null);
    },
  };
}

function unreadable(why: string, cause?: unknown): Fault {
  return new Fault(
    'sealed-unreadable',
    `A sealed value does not open: ${why}. Run with the key that sealed it; where that is the one, restore the record.`,
    cause,
  );
}
