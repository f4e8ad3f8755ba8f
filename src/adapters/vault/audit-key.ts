/** The key that signs the heads of the log's chains: one of its own, or derived from the pseudonym key. */
import { hkdfSync } from 'node:crypto';
import type { AuditKey } from '../../domain/audit.ts';

const idLength = 12;

export function createAuditKey(secret: string): AuditKey {
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', secret, 'lance', purpose, 32));
  return {
    id: Buffer.from(derive('audit-id')).toString('base64url').slice(0, idLength),
    secret: derive('audit'),
  };
}
