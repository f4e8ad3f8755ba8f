/** The log on Kafka is held to the port. */
import { describeOnStack } from '../stack/suite.ts';
import { testEventLog } from './event-log.ts';
import { kafkaLogOn } from './kafka-log.ts';

await describeOnStack('the log on Kafka', (stack) => testEventLog(kafkaLogOn(stack)));
