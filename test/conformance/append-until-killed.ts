/** Child process of the durability test: appends numbered records and says which ones are durable, until it is killed. */

import type { LogKind } from './backend.ts';
import { auctionEntry } from './samples.ts';

const [moduleUrl, place] = process.argv.slice(2);
const { kind } = (await import(moduleUrl!)) as { kind: Pick<LogKind, 'open'> };
const backend = await kind.open(place!);
let last = 0;

async function appendOn(): Promise<void> {
  for (;;) {
    last += 1;
    const number = last;
    await backend.log.append([
      auctionEntry(`${number % 7}`, `a${number}`),
      auctionEntry(`${number % 7}`, `b${number}`),
    ]);
    process.stdout.write(`${number}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, appendOn));
