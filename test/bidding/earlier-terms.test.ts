/** The terms of early records that a log states: what no process could have stated there is as if nothing had been. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readEarlierTerms } from '../../src/bidding/earlier-terms.ts';
import type { EventLog } from '../../src/bidding/ports.ts';
import type { FoldTerms } from '../../src/domain/records.ts';

type Bounds = { minimum: number; maximum: number };
const shipped = JSON.parse(readFileSync(new URL('../../config/settings.schema.json', import.meta.url), 'utf8')) as {
  properties: { bidding: { properties: Record<keyof FoldTerms, Bounds> } };
};
const names = ['windowMs', 'graceMs', 'resultTimeoutMs', 'contemplationTimeoutMs', 'halfLifeMs'] as const;

function readBack(content: string) {
  const log = {
    readKey: async () => [{ record: { kind: 'fold-terms', hash: 'fold-terms', content } }],
  } as unknown as Pick<EventLog, 'readKey'>;
  return readEarlierTerms(log);
}

test('the terms that a log states are those that the configuration takes', async () => {
  const { properties } = shipped.properties.bidding;
  const least = Object.fromEntries(names.map((name) => [name, properties[name].minimum]));
  const most = Object.fromEntries(names.map((name) => [name, properties[name].maximum]));
  for (const terms of [least, most]) assert.deepEqual(await readBack(JSON.stringify(terms)), terms);
  for (const name of names) {
    const { minimum, maximum } = properties[name];
    for (const said of [`${minimum - 1}`, `${maximum + 1}`, `${minimum}.5`, '1e999', '1e-300', '"1000"', 'null']) {
      const text = JSON.stringify({ ...least, [name]: 0 }).replace(`"${name}":0`, `"${name}":${said}`);
      assert.equal(await readBack(text), null, text);
    }
  }
});
