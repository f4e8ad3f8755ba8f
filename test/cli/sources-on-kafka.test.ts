/** External sources on Kafka: question and answer are records, and a process that starts later asks once more and bids with the answer. */
import { test } from 'node:test';
import { describeOnStack } from '../stack/suite.ts';
import { environmentOnKafka } from './kafka-desk.ts';
import { killedWhileAsked } from './source-stage.ts';

await describeOnStack('sources', (stack) => {
  test(
    'killed while a source is asked: asked once more, and the answer makes the bid',
    {
      timeout: 120_000,
    },
    (context) => killedWhileAsked(context, (stage) => environmentOnKafka(stage, stack)),
  );
});
