/** The description of the API at the address that the README names, as a real browser shows it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { type Daemon, openStage, type Played, startDaemon } from '../cli/desk.ts';
import { describeInBrowser, domAt } from '../impact/browser.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const address = /http:\/\/127\.0\.0\.1:8080(\/\S*docs\/?)(?=[`\s])/.exec(readme)?.[1] ?? '';

describeInBrowser('the description of the API', () => {
  let played: Played | null = null;
  let daemon: Daemon | null = null;
  let origin = '';
  let operations: string[] = [];

  before(async () => {
    played = await openStage(11);
    const digest = createHash('sha256').update('a-long-secret').digest('hex');
    daemon = await startDaemon({ ...played.environment, LANCE_API_TOKENS: `ana:operator:${digest}` });
    origin = new URL(daemon.url).origin;
    const document = (await (await fetch(`${origin}/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
  });

  after(async () => {
    await daemon?.stop();
    await played?.close();
  });

  /** What the page shows of each operation: its method and its path, in the panel that can be opened. */
  function shownIn(dom: string): string[] {
    return [...dom.matchAll(/<span class="opblock-summary-method">(\w+)<\/span>.*?data-path="([^"]+)"/gs)].map(
      ([, method, path]) => `${method!.toLowerCase()} ${path}`,
    );
  }

  for (const [name, host, words] of [
    ['an address', '127.0.0.1', []],
    ['a host name, in plain HTTP', 'lance.test', ['--host-resolver-rules=MAP lance.test 127.0.0.1']],
  ] as const) {
    for (const end of ['', '/']) {
      test(`shows every operation under ${name}${end === '' ? '' : ', with a slash'} (defect line 4)`, () => {
        assert.equal(address, '/v1/docs', 'the README names the page');
        const dom = domAt(`${origin.replace('127.0.0.1', host)}${address}${end}`, ...words);
        assert.ok(operations.length > 10, 'the description names operations');
        assert.deepEqual(shownIn(dom).sort(), [...operations].sort());
      });
    }
  }

  test('whatever the page refers to is there (defect line 4)', async () => {
    for (const end of ['', '/']) {
      const page = `${origin}${address}${end}`;
      const text = await (await fetch(page)).text();
      const references = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(
        ([, reference]) => new URL(reference!, page),
      );
      assert.ok(references.length >= 6, text);
      for (const reference of references) {
        assert.equal(reference.origin, origin);
        assert.equal((await fetch(reference)).status, 200, reference.href);
      }
    }
  });

  test('its policy allows no address but its own, and asks for no other protocol (defect line 4)', async () => {
    const answer = await fetch(`${origin}${address}`);
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'self'/);
    assert.doesNotMatch(policy, /upgrade-insecure-requests|https:|validator/);
  });
});
