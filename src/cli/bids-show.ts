/** `lance bids show`: one request, in words or as one JSON object. */
import { readBidReport, reportJson } from './bid-report.ts';
import { reportText } from './bid-text.ts';
import { type CommandWorld, withReader } from './world.ts';

export async function showBid(world: CommandWorld, requestId: string, json: boolean): Promise<void> {
  await withReader(world, async (reader, { pseudonymKey }) => {
    const report = await readBidReport(world, reader, requestId, pseudonymKey);
    world.terminal.write(json ? JSON.stringify(reportJson(report)) : reportText(report, world.format));
  });
}
