/**
 * What the client costs over undici itself: CPU a bid, against bare `dispatch`, in turns, the server in another process. Both are
 * measured outside the test runner: its async hooks weigh on ours more, by how much differs from run to run.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { accepted } from './surroundings.ts';

const serverScript = `
  const body = process.argv[1];
  const server = require('node:http').createServer((request, response) => {
    request.on('data', () => {});
    request.on('end', () => response.end(body));
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

async function startServer(t: TestContext): Promise<string> {
  const child = spawn(process.execPath, ['-e', serverScript, '--', accepted], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${line.toString().trim()}`;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!;
}

/** Of pairs that were measured one after the other: what slows the machine down for longer than a pair falls on both. */
const mostRatio = 2.2;

test('a bid costs little more than bare dispatch', async (t) => {
  const baseUrl = await startServer(t);
  const script = fileURLToPath(new URL('throughput-measure.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, baseUrl]);
  const pairs = JSON.parse(stdout) as [bareUs: number, oursUs: number][];
  const ratio = median(pairs.map(([bareUs, oursUs]) => oursUs / bareUs));
  const [bareUs, oursUs] = [median(pairs.map(([us]) => us)), median(pairs.map(([, us]) => us))];
  const figure = `placeBid ${oursUs.toFixed(1)} µs CPU a bid, bare dispatch ${bareUs.toFixed(1)} µs, ratio ${ratio.toFixed(2)}`;
  t.diagnostic(`figure: ${figure}`);
  assert.ok(ratio < mostRatio, figure);
});
