/** Losses of the cap book on a real broker: every process reads the same ones in the same order, and none twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import type { CapBookLost } from '../../../src/state/cap-book.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { describeOnStack } from '../../stack/suite.ts';

await describeOnStack('controls of the cap book on Kafka', (stack) => {
  test('what was told is read in one order by all, and what is no such record is passed over', async () => {
    const settings = settingsOn(stack, `${stack.prefix}controls.`);
    const open = () =>
      openKafkaLog({
        ...{ settings, seal: (_place, text) => text },
        ...{ onClosed: assert.fail, onStalled: assert.fail },
      });
    const [one, other] = [await open(), await open()];
    const loss = (epoch: number, server: string): CapBookLost => ({ kind: 'cap-book-lost', epoch, server });
    assert.deepEqual(await one.capControls.read(), []);
    await Promise.all([one.capControls.append(loss(1, 'a')), other.capControls.append(loss(1, 'b'))]);
    const first = await one.capControls.read();
    assert.deepEqual(first.map(({ server }) => server).sort(), ['a', 'b']);
    assert.deepEqual(await other.capControls.read(), first);

    // Other records of the topic, and one that nobody wrote who knows the protocol.
    await one.controlCopies.add('{}');
    const producer = new Kafka({ brokers: [...settings.brokers], logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    const values = ['no JSON', 'null', '{"kind":"cap-book-lost","epoch":"2","server":"x"}'];
    const messages = values.map((value, index) => ({ partition: 0, key: `cap-book/${index}`, value }));
    await producer.send({ topic: `${settings.topicPrefix}house`, messages });
    await producer.disconnect();
    await other.capControls.append(loss(2, 'c'));
    assert.deepEqual(await one.capControls.read(), [loss(2, 'c')]);
    assert.deepEqual(await one.capControls.read(), [], 'nothing is read twice');

    const late = await open();
    assert.deepEqual(await late.capControls.read(), [...first, loss(2, 'c')]);
    const waiting = late.capControls.read();
    await one.capControls.append(loss(3, 'd'));
    const news = await waiting;
    assert.deepEqual(news.length > 0 ? news : await late.capControls.read(), [loss(3, 'd')]);
    await Promise.all([one, other, late].map(({ close }) => close()));
  });
});
