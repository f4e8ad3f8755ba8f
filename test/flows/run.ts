/**
 * `npm run flows -- --count 1000 [--kills 0] [--backend kafka] [--seed 1] [--calm] [--json]`: so many contracts of won bids and
 * as many withdrawal-backed loans through the real daemon and the played service, with lost answers, webhooks that come late,
 * twice and out of order, tokens that run out, and kills. The last line is the summary. Exits 1 when one flow has not ended as
 * it has to, or the service has executed one operation twice.
 */
import { oneOf, readOptions, wholeNumber } from '../command-line.ts';
import { startStack } from '../stack/stack.ts';
import { type FlowsRun, runFlows } from './flows-run.ts';

const usage =
  'usage: npm run flows -- [--count 1000] [--kills 0] [--backend embedded|kafka] [--seed 1] [--calm] [--json]';
const { values } = readOptions(usage, {
  options: {
    count: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'embedded' },
    calm: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const count = wholeNumber(usage, '--count', values.count, 1);
const kills = wholeNumber(usage, '--kills', values.kills, 0);
const backend = oneOf(usage, '--backend', values.backend, ['embedded', 'kafka']);

const onStage = (text: string) => void process.stderr.write(`${text}\n`);
const common = { count, kills, seed: values.seed, faults: !values.calm, onStage };
const shown = 10;

async function onServers(): Promise<FlowsRun> {
  const stack = await startStack({ tell: onStage });
  if (stack.kind === 'missing') throw new Error(stack.sentence);
  try {
    return await runFlows({ ...common, place: { ...stack, prefix: 'flows.' } });
  } finally {
    await stack.stop();
  }
}

const run = backend === 'kafka' ? await onServers() : await runFlows({ ...common, place: null });
for (const text of run.wrong.slice(0, shown)) console.log(text);
if (values.json) console.log(JSON.stringify(run));
else {
  const operations = Object.entries(run.operations).map(([name, times]) => `${name} ${times}`);
  const faults = Object.entries(run.faults).filter(([, times]) => times > 0);
  console.log(`executed: ${operations.join(', ')}`);
  console.log(`faults: ${faults.map(([name, times]) => `${name} ${times}`).join(', ')}`);
  console.log(
    `notes that differ from our arithmetic (cents, hundredths of a percent): ${JSON.stringify(run.differing)}`,
  );
  console.log(
    `${run.contracts} contracts, ${run.endorsed} endorsed; ${run.withdrawals} withdrawals, ${run.finalised} finalised; ` +
      `${run.executedTwice} operations executed twice; ${run.wrong.length} wrong; ${run.kills} kills; ` +
      `${run.resolvedByPerson} unclear ones settled by a person; ` +
      `${run.unclaimedEvents} events unclaimed; ${Math.round(run.durationMs / 1_000)} s`,
  );
}
process.exitCode = run.wrong.length === 0 && run.executedTwice === 0 ? 0 : 1;
