/** Other economics in the settings of a desk while two persons have to stand for them, with its store in a file. */
import { test } from 'node:test';
import { openStage } from './desk.ts';
import { needTwoForEconomics } from './economics-desk.ts';

test('economics of the settings need two identities where a record asks for it (issue 21, line 7)', async () => {
  const played = await openStage(2_123);
  try {
    await needTwoForEconomics(played, played.environment);
  } finally {
    await played.close();
  }
});
