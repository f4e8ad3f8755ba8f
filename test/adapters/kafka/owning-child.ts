/**
 * Child process of the ownership tests: says, every few milliseconds, which partitions it may act for. Once it has all of them the
 * machine's clock, as this process sees it, steps by the milliseconds of the second argument.
 */
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import type { KafkaSettings } from '../../../src/adapters/kafka/settings.ts';

const settings = JSON.parse(process.argv[2]!) as KafkaSettings;
const stepMs = Number(process.argv[3] ?? 0);
const sayMs = 20;
const machineNow = Date.now;
let stepped = false;

const opened = await openKafkaLog({
  settings,
  seal: (_place, text) => text,
  onClosed: (fault) => process.stderr.write(`${fault.message}\n`),
  onStalled: (fault) => process.stderr.write(`${fault.message}\n`),
});
const consumer = await opened.log.consume({
  topic: 'auctions',
  scope: 'owned',
  from: async () => 0,
  onLost: () => undefined,
  maxEntries: 10,
  handler: async () => undefined,
  onFault: (fault) => process.stderr.write(`${fault}\n`),
});
setInterval(() => {
  const owned = Array.from({ length: settings.partitions }, (_, partition) => partition).filter(consumer.owns);
  process.stdout.write(`${machineNow()} ${owned.join(',')}\n`);
  if (stepped || owned.length < settings.partitions) return;
  stepped = true;
  Date.now = () => machineNow() + stepMs;
}, sayMs);
