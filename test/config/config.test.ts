import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Environment, readConfig, readPlace } from '../../src/config.ts';

const complete: Environment = {
  LANCE_DATA_DIR: '/data',
  LANCE_WEBHOOK_TOKENS: 'first-token-123456,second-token-12345',
  LANCE_BASE_URL: 'https://service.example/api/v1',
  LANCE_ACCESS_TOKEN: 'secret-access-token',
  LANCE_CONTACT_URL: 'https://lender.example/offer',
  LANCE_PSEUDONYM_KEY: 'k'.repeat(32),
};

/** Reads the real defaults; a file named `file.json` has the given content. */
function readingOf(file?: unknown): (path: string) => string {
  return (path) => {
    if (path !== 'file.json') return readFileSync(path, 'utf8');
    return typeof file === 'string' ? file : JSON.stringify(file);
  };
}

function faultsOf(environment: Environment, file?: unknown): readonly string[] {
  const withFile = file === undefined ? environment : { ...environment, LANCE_CONFIG: 'file.json' };
  const result = readConfig(withFile, readingOf(file));
  return result.kind === 'refused' ? result.faults : [];
}

function configOf(environment: Environment, file?: unknown) {
  const withFile = file === undefined ? environment : { ...environment, LANCE_CONFIG: 'file.json' };
  const result = readConfig(withFile, readingOf(file));
  assert.equal(result.kind, 'config', JSON.stringify(result));
  assert(result.kind === 'config');
  return result.config;
}

function assertOneFault(faults: readonly string[], pattern: RegExp): void {
  assert.equal(faults.length, 1, faults.join('\n'));
  assert.match(faults[0] ?? '', pattern);
}

test('a complete environment and the defaults make a config', () => {
  const config = configOf(complete);
  assert.deepEqual(config.store, { backend: 'embedded', dataDir: '/data' });
  assert.deepEqual(config.http.webhookTokens, ['first-token-123456', 'second-token-12345']);
  assert.equal(config.http.port, 8080);
  assert.equal(config.bidding.bidValidityMs, 2 * 86_400_000);
  assert.equal(config.service.accessToken, 'secret-access-token');
  assert.equal(config.service.tokenCommand, null);
  assert.deepEqual(config.contacts, [{ kind: 'url', value: 'https://lender.example/offer' }]);
  assert.match(config.rulesDir, /[\\/]rules$/);
});

test('copies and partitions of topics are set by the environment, and a mistake names the variable (defect line 1)', () => {
  const kafka = {
    ...complete,
    LANCE_BACKEND: 'kafka',
    LANCE_KAFKA_BROKERS: 'one:9092',
    LANCE_SCHEMA_REGISTRY_URL: 'http://registry:8081',
    LANCE_REDIS_URL: 'redis://redis:6379',
  };
  const { store } = configOf({ ...kafka, LANCE_KAFKA_REPLICATION: '1', LANCE_KAFKA_PARTITIONS: '24' });
  assert(store.backend === 'kafka');
  assert.equal(store.kafka.replication, 1);
  assert.equal(store.kafka.partitions, 24);
  assertOneFault(faultsOf({ ...kafka, LANCE_KAFKA_REPLICATION: '0' }), /^LANCE_KAFKA_REPLICATION .*from 1 to 9/);
  assertOneFault(faultsOf({ ...kafka, LANCE_KAFKA_PARTITIONS: 'many' }), /^LANCE_KAFKA_PARTITIONS .*whole number/);
});

test('the config is frozen all the way down', () => {
  const open: string[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Object.isFrozen(value)) open.push(path);
    for (const [key, inner] of Object.entries(value)) look(inner, `${path}.${key}`);
  };
  look(configOf({ ...complete, LANCE_TOKEN_COMMAND: 'print token' }), 'config');
  assert.deepEqual(open, []);
});

test('the defaults are found from any working directory', () => {
  const asked: string[] = [];
  readConfig(complete, (path) => {
    asked.push(path);
    return '{}';
  });
  assert.deepEqual(
    asked.map((path) => path.startsWith('/') || /^[A-Z]:/.test(path)),
    [true],
  );
});

test('everything that is missing is named at once', () => {
  const faults = faultsOf({});
  for (const name of [
    'LANCE_DATA_DIR',
    'LANCE_WEBHOOK_TOKENS',
    'LANCE_BASE_URL',
    'LANCE_ACCESS_TOKEN',
    'LANCE_CONTACT_URL',
    'LANCE_PSEUDONYM_KEY',
  ]) {
    const about = faults.filter((fault) => fault.includes(name) && fault.includes('is missing'));
    assert.ok(about.length > 0, `${name} in ${faults.join('\n')}`);
  }
});

test('faults of file, environment and combinations come together', () => {
  const faults = faultsOf(
    { ...complete, LANCE_HTTP_PORT: '80a', LANCE_BASE_URL: 'service.example/api', LANCE_DATADIR: 'x' },
    { bidding: { retryFirstMs: 5_000, retryMaxMs: 100 }, economics: { separationMonthly: 3.5 }, biding: {} },
  );
  assert.equal(faults.length, 6, faults.join('\n'));
  const all = faults.join('\n');
  assert.match(all, /LANCE_HTTP_PORT \(http\.port\) is a text: a whole number/);
  assert.match(all, /LANCE_BASE_URL \(service\.baseUrl\) is not an address.*https:\/\//);
  assert.match(all, /LANCE_DATADIR is not a setting: did you mean LANCE_DATA_DIR\?/);
  assert.match(all, /bidding\.retryFirstMs is above bidding\.retryMaxMs/);
  assert.match(all, /economics\.separationMonthly is 3\.5: .*did you mean 0\.035\?/);
  assert.match(all, /^biding is not a section of the settings: did you mean bidding\?$/m);
});

test('the environment wins over the file, the file over the defaults', () => {
  const config = configOf(
    { ...complete, LANCE_HTTP_PORT: '9000' },
    {
      $schema: 'x',
      http: { port: 7000, host: '0.0.0.0' },
      bidding: { windowMs: 20_000 },
    },
  );
  assert.equal(config.http.port, 9000);
  assert.equal(config.http.host, '0.0.0.0');
  assert.equal(config.bidding.windowMs, 20_000);
  assert.equal(config.bidding.queueLimit, 10_000);
});

test('numbers in a wrong unit are refused with what was probably meant', () => {
  const cases: [object, RegExp][] = [
    [{ economics: { acceptanceMidpointPercent: 332 } }, /did you mean 3\.32\?.*hundredths of a percent/],
    [{ economics: { fundingAnnualPercent: 0.1375 } }, /did you mean 13\.75\?.*a share/],
    [{ bidding: { windowMs: 30 } }, /did you mean 30000\?.*seconds/],
    [
      { bidding: { bidValidityMs: 604_800_000 } },
      /bidding\.bidValidityMs is 604800000: a whole number from 60000 to 604500000/,
    ],
    [{ economics: { contractCostCents: 15.25 } }, /did you mean 1525\?.*reais/],
    [{ bidding: { windowMs: '30000' } }, /without quotes/],
    [{ bidding: { askCached: 'yes' } }, /true or false is needed/],
    [
      {
        pricing: {
          winCurve: {
            prior: {
              quantiles: [
                { share: 0.5, rateHundredths: 3.32 },
                { share: 0.9, rateHundredths: 608 },
              ],
            },
          },
        },
      },
      /quantiles\[0\]\.rateHundredths is 3\.32.*did you mean 332\?/,
    ],
    [
      {
        pricing: {
          winCurve: {
            prior: {
              quantiles: [
                { share: 0.9, rateHundredths: 332 },
                { share: 0.5, rateHundredths: 608 },
              ],
            },
          },
        },
      },
      /must ascend/,
    ],
    [{ bidding: { sendLimit: 100 } }, /sendLimit is above service\.connections/],
    [{ pricing: { dayCount: 'actual360' } }, /is not one of actual365/],
    [{ pricing: { rounding: 'row' } }, /is not one of once, by-row/],
    [{ pricing: { iof: { daily: 0.01, dayCap: 3_660, additional: 0.0038 } } }, /pricing\.iof takes the whole loan/],
  ];
  for (const [file, pattern] of cases) assertOneFault(faultsOf(complete, file), pattern);
});

test('kafka asks for its brokers, its registry and Redis, each by name', () => {
  const kafka = { ...complete, LANCE_BACKEND: 'kafka' };
  const all = faultsOf(kafka).join('\n');
  for (const name of ['LANCE_KAFKA_BROKERS', 'LANCE_SCHEMA_REGISTRY_URL', 'LANCE_REDIS_URL']) {
    assert.match(all, new RegExp(`${name} \\([\\w.]+\\) is missing`));
  }
  const places = { LANCE_SCHEMA_REGISTRY_URL: 'http://registry:8081', LANCE_REDIS_URL: 'redis://redis:6379' };
  assertOneFault(faultsOf({ ...kafka, ...places, LANCE_KAFKA_BROKERS: 'broker' }), /is not a broker: write host:port/);
  const { store } = configOf({ ...kafka, ...places, LANCE_KAFKA_BROKERS: 'one:9092, two:9092' });
  assert(store.backend === 'kafka');
  assert.deepEqual(store.kafka.brokers, ['one:9092', 'two:9092']);
  assertOneFault(faultsOf({ ...complete, LANCE_BACKEND: 'postgres' }), /is not one of embedded, kafka/);
});

test('a process has one role only where several share the work', () => {
  assertOneFault(faultsOf({ ...complete, LANCE_ROLES: 'door' }), /LANCE_ROLES \(roles\) names one role/);
  assertOneFault(faultsOf({ ...complete, LANCE_ROLES: 'porter' }), /is not one of door, desk/);
});

test('the base address must be http or https and carry no credentials', () => {
  assertOneFault(faultsOf({ ...complete, LANCE_BASE_URL: 'ftp://service.example' }), /must begin with http/);
  const faults = faultsOf({ ...complete, LANCE_BASE_URL: 'https://me:hidden-word@service.example' });
  assertOneFault(faults, /carries credentials/);
  assert.doesNotMatch(faults.join(), /hidden-word/);
  assertOneFault(faultsOf({ ...complete, LANCE_BASE_URL: 'https://service.example/?a=1' }), /carries a query/);
});

test('all four contact types are checked', () => {
  const contacts = { whatsapp: '5511999998888?text=Ol%C3%A1', telephone: '1133334444', email: 'desk@lender.example' };
  assert.deepEqual(
    configOf(complete, { contacts }).contacts.map(({ kind }) => kind),
    ['url', 'whatsapp', 'telephone', 'email'],
  );
  assertOneFault(faultsOf(complete, { contacts: { ...contacts, whatsapp: '5511999998888' } }), /\(whatsapp\)/);
  assertOneFault(faultsOf(complete, { contacts: { ...contacts, telephone: 'call me' } }), /\(telephone\)/);
  assertOneFault(faultsOf(complete, { contacts: { ...contacts, email: 'desk' } }), /\(email\)/);
  assertOneFault(faultsOf({ ...complete, LANCE_CONTACT_URL: 'lender' }), /LANCE_CONTACT_URL.*\(url\)/);
});

test('no secret is ever repeated', () => {
  const secret = fc.stringMatching(/^[ -~]{6,40}$/).filter((text) => text.trim() !== '' && !/^\d+$/.test(text));
  fc.assert(
    fc.property(secret, (word) => {
      const marked = `Zq9${word}`;
      const faults = [
        ...faultsOf({
          LANCE_ACCESS_TOKEN: `${marked} \n`,
          LANCE_TOKEN_COMMAND: `"${marked}`,
          LANCE_PSEUDONYM_KEY: marked.slice(0, 31),
          LANCE_API_TOKENS: `ana:operator:${marked.slice(0, 10)}`,
          LANCE_WEBHOOK_TOKENS: marked.slice(0, 12),
        }),
        ...faultsOf(complete, `{"pseudonymKey": "${marked}`),
        ...faultsOf({ ...complete, LANCE_ACCESS_TOKEN: '' }, { service: { accessToken: [marked] } }),
      ];
      assert.ok(faults.length > 6);
      assert.ok(!faults.join('\n').includes(marked.slice(0, 6)), faults.join('\n'));
    }),
    { numRuns: 60 },
  );
});

test('a file that is absent, broken or no object is one clear fault', () => {
  const absent = readConfig({ ...complete, LANCE_CONFIG: '/nowhere/at/all.json' }, readingOf());
  assert(absent.kind === 'refused');
  assertOneFault(absent.faults, /LANCE_CONFIG: the file \/nowhere\/at\/all\.json cannot be read \(ENOENT\)/);
  assertOneFault(faultsOf(complete, '{'), /is not valid JSON: Line 1, column 2: write a "key" in double quotes here/);
  assertOneFault(
    faultsOf(complete, '{\n  "http": { "port": 80 \n  "host": "x" }\n}'),
    /Line 3, column 3: write a comma/,
  );
  assertOneFault(faultsOf(complete, '[1]'), /holds no JSON object/);
  assertOneFault(faultsOf(complete, '{"__proto__": {"polluted": true}}'), /^__proto__ is not a section/);
  assertOneFault(faultsOf(complete, '{"http": {"__proto__": {"port": 1}}}'), /http\.__proto__ is not a setting/);
});

test('a token command is split into words without a shell', () => {
  const config = configOf({ ...complete, LANCE_ACCESS_TOKEN: '', LANCE_TOKEN_COMMAND: `vault read "a b" --x='c d'` });
  assert.deepEqual(config.service.tokenCommand, ['vault', 'read', 'a b', '--x=c d']);
  assertOneFault(
    faultsOf({ ...complete, LANCE_TOKEN_COMMAND: 'print "open' }),
    /LANCE_TOKEN_COMMAND.*close every quote/,
  );
});

test('the settings hash follows what decisions depend on, and no secret', () => {
  const first = configOf(complete).settings;
  const sameWithOtherSecrets = configOf({ ...complete, LANCE_ACCESS_TOKEN: 'other', LANCE_HTTP_PORT: '1' }).settings;
  assert.deepEqual(sameWithOtherSecrets, first);
  assert.match(first.hash, /^[0-9a-f]{64}$/);
  assert.doesNotMatch(first.content, /secret-access-token|kkkk|first-token/);
  for (const file of [
    { bidding: { windowMs: 20_000 } },
    { economics: { selectionWin: 0.31 } },
    { pricing: { marginBufferCents: 2 } },
    { contacts: { telephone: '1133334444' } },
  ]) {
    assert.notEqual(configOf(complete, file).settings.hash, first.hash);
  }
  const reordered = { bidding: { sendLimit: 64, windowMs: 30_000 } };
  assert.equal(configOf(complete, reordered).settings.hash, first.hash);
});

test('stopping needs only to know where the data is', () => {
  const result = readPlace({ LANCE_DATA_DIR: '/data', LANCE_HTTP_PORT: 'broken', LANCE_TYPO: 'x' }, readingOf());
  assert(result.kind === 'place', JSON.stringify(result));
  assert.deepEqual(result.place.store, { backend: 'embedded', dataDir: '/data' });
  assert.equal(result.place.pseudonymKey, null);
  const refused = readPlace({}, readingOf());
  assert(refused.kind === 'refused');
  assertOneFault(refused.faults, /LANCE_DATA_DIR \(dataDir\) is missing/);
});

test('addresses of their own and trusted proxies come from the environment (defect line 7)', () => {
  const { http } = configOf({
    ...complete,
    LANCE_METRICS_PORT: '9100',
    LANCE_API_HOST: '10.0.0.1',
    LANCE_API_PORT: '9101',
    LANCE_TRUSTED_PROXIES: '10.0.0.7, 2001:db8::/32',
  });
  const { webhookPort, apiHost, apiPort, metricsHost, metricsPort, trustedProxies } = http;
  assert.deepEqual(
    { webhookPort, apiHost, apiPort, metricsHost, metricsPort, trustedProxies },
    {
      webhookPort: null,
      apiHost: '10.0.0.1',
      apiPort: 9_101,
      metricsHost: null,
      metricsPort: 9_100,
      trustedProxies: ['10.0.0.7', '2001:db8::/32'],
    },
  );
  for (const wrong of ['proxy', '10.0.0.0/33', '10.0.0.0/8/8', '2001:db8::/129']) {
    const faults = faultsOf({ ...complete, LANCE_TRUSTED_PROXIES: wrong });
    assertOneFault(faults, /LANCE_TRUSTED_PROXIES \(http\.trustedProxies\[0\]\) is not an address or a network/);
  }
});
