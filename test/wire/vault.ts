/** The vault for tests, with a secret of its own. */
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { Vault } from '../../src/domain/vault.ts';

export function createTestVault(): Vault {
  return createVault('a secret of the tests and of nothing else');
}
