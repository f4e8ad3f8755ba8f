/** The log on Kafka is held to the port. */
import { describe } from 'node:test';
import { describeOnStack } from '../stack/suite.ts';
import { testEventLog } from './event-log.ts';
import { kafkaLogOn } from './kafka-log.ts';

// Each test has topics of its own, and mostly waits.
await describeOnStack('the log on Kafka', (stack) => {
  describe('held to the port', { concurrency: 3 }, () => testEventLog(kafkaLogOn(stack)));
});
