/** The same as `economics-approval.test.ts` with the log on a real broker, where proposals and approvals are records of a topic. */
import { test } from 'node:test';
import { describeOnStack } from '../stack/suite.ts';
import { openStage } from './desk.ts';
import { needTwoForEconomics } from './economics-desk.ts';
import { environmentOnKafka } from './kafka-desk.ts';

await describeOnStack('approved economics on Kafka', (stack) => {
  test('economics of the settings need two identities where a record asks for it (issue 21, line 7)', {
    timeout: 280_000,
  }, async () => {
    const played = await openStage(2_124);
    try {
      await needTwoForEconomics(played, environmentOnKafka(played, stack));
    } finally {
      await played.close();
    }
  });
});
