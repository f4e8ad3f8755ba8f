/** Prints failures as they come, then the files that took longest, and ends with the one line that CI reads. */
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

type Counted = { passed: number; failed: number; skipped: number };

const slowestFiles = 40;
const slowMs = 5_000;

function isSuite(event: { details: { type?: string | undefined } }): boolean {
  return event.details.type === 'suite';
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const counted: Counted = { passed: 0, failed: 0, skipped: 0 };
  const durations: { file: string; durationMs: number }[] = [];
  for await (const event of source) {
    if (event.type === 'test:complete' && event.data.nesting === 0 && event.data.name.endsWith('.test.ts')) {
      durations.push({ file: event.data.name, durationMs: event.data.details.duration_ms });
    }
    if (event.type === 'test:pass' && !isSuite(event.data)) {
      // A file is reported as a test of its own around those inside it.
      if (event.data.nesting === 0 && event.data.name.endsWith('.test.ts')) continue;
      if (event.data.skip === undefined) counted.passed += 1;
      else {
        counted.skipped += 1;
        yield `skipped: ${event.data.name}: ${String(event.data.skip)}\n`;
      }
    } else if (event.type === 'test:fail' && !isSuite(event.data)) {
      counted.failed += 1;
      const cause = event.data.details.error;
      yield `failed: ${event.data.file ?? ''} > ${event.data.name}\n${inspect(cause.cause ?? cause.message, { maxStringLength: 20_000 })}\n`;
    } else if (event.type === 'test:stderr') {
      yield event.data.message;
    } else if (event.type === 'test:diagnostic' && event.data.message.startsWith('figure: ')) {
      yield `${event.data.message}\n`;
    }
  }
  durations.sort((left, right) => right.durationMs - left.durationMs);
  for (const { file, durationMs } of durations.slice(0, slowestFiles)) {
    if (durationMs >= slowMs) yield `figure: ${file} took ${Math.round(durationMs / 1_000)} s\n`;
  }
  const skipped = counted.skipped > 0 ? `, ${counted.skipped} skipped` : '';
  yield `${counted.passed} passed, ${counted.failed} failed${skipped}\n`;
}
