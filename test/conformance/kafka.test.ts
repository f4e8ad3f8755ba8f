/** What is kept on Kafka is held to the ports: the log and the rule book. */
import { describe } from 'node:test';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import type { KafkaSettings } from '../../src/adapters/kafka/settings.ts';
import { describeOnStack } from '../stack/suite.ts';
import { testEventLog } from './event-log.ts';
import { kafkaLogOn } from './kafka-log.ts';
import { testRuleBook } from './rule-book.ts';
import { testTokenBook } from './token-book.ts';

// Each test has topics of its own, and mostly waits.
await describeOnStack('the log on Kafka', (stack) => {
  const kind = kafkaLogOn(stack);
  describe('held to the port', { concurrency: 3 }, () => {
    testEventLog(kind);
    testRuleBook({
      ...kind,
      open: async (place) => {
        const opened = await kind.open(place);
        const reader = openKafkaReader({ settings: JSON.parse(place) as KafkaSettings });
        const close = async () => {
          await reader.close();
          await opened.close();
        };
        return { ruleBook: opened.ruleBook, beside: reader.ruleBook, close };
      },
    });
    testTokenBook({
      ...kind,
      open: async (place) => {
        const opened = await kind.open(place);
        const reader = openKafkaReader({ settings: JSON.parse(place) as KafkaSettings });
        const close = async () => {
          await reader.close();
          await opened.close();
        };
        return { tokenBook: opened.tokenBook, beside: reader.tokenBook, close };
      },
    });
  });
});
