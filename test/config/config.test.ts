import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Environment,
  economicsOf,
  readConfig,
  readEconomics,
  readPlace,
  secretsOf,
  withEconomics,
} from '../../src/config.ts';

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
  const usual = faultsOf({ ...complete, LANCE_PORT: '8080', LANCE_HOST: '127.0.0.1' }, {}).join('\n');
  assert.match(usual, /LANCE_PORT is not a setting: did you mean LANCE_HTTP_PORT\?/);
  assert.match(usual, /LANCE_HOST is not a setting: did you mean LANCE_HTTP_HOST\?/);
  assert.match(all, /bidding\.retryFirstMs is above bidding\.retryMaxMs/);
  assert.match(all, /economics\.separationMonthly is 3\.5: .*did you mean 0\.035\?/);
  assert.match(all, /^biding is not a section of the settings: did you mean bidding\?$/m);
});

test('what cannot be compared with a limit is a fault like any other', () => {
  const webhookTokens = { length: { valueOf: 1, toString: 1 } };
  const { LANCE_WEBHOOK_TOKENS: _, ...environment } = complete as Record<string, string>;
  assert.deepEqual(faultsOf(environment, { http: { webhookTokens } }), [
    'LANCE_WEBHOOK_TOKENS (http.webhookTokens) is an object: a list is needed',
  ]);
});

test('a port with a fraction is a number, only none that fits; a hash may be in capitals (stranger, issue 15)', () => {
  const result = readConfig({ ...complete, LANCE_HTTP_PORT: '80.5' }, readingOf());
  assert.ok(result.kind === 'refused');
  assert.deepEqual(result.faults, ['LANCE_HTTP_PORT (http.port) is 80.5: a whole number from 0 to 65535 is needed']);
  const hash = 'AB'.repeat(32);
  assert.equal(configOf({ ...complete, LANCE_API_TOKENS: `ana:operator:${hash}` }).api.tokens[0]!.name, 'ana');
  const twice = readConfig(
    { ...complete, LANCE_API_TOKENS: `ana:operator:${hash},bia:viewer:${hash.toLowerCase()}` },
    readingOf(),
  );
  assert.ok(twice.kind === 'refused' && /has the same sha256 as/.test(twice.faults.join()));
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
  assert.equal(store.stateDir, complete.LANCE_DATA_DIR);
  const { LANCE_DATA_DIR: _, ...nowhere }: Environment = { ...kafka, ...places, LANCE_KAFKA_BROKERS: 'one:9092' };
  assertOneFault(faultsOf(nowhere), /^LANCE_DATA_DIR .*is missing: name a directory of this machine/);
  const door = configOf({ ...nowhere, LANCE_ROLES: 'door' }).store;
  assert(door.backend === 'kafka');
  assert.equal(door.stateDir, null, 'who takes up no partition needs none');
  assert.equal(readPlace(nowhere, readingOf()).kind, 'place', 'nor does a command');
  assert.equal(configOf({ ...nowhere, LANCE_DATA_DIR: 'here', LANCE_KAFKA_VIEWS: 'files' }).store.backend, 'kafka');
  const inRedis = { ...nowhere, LANCE_DATA_DIR: 'here', LANCE_KAFKA_VIEWS: 'redis' };
  assertOneFault(faultsOf(inRedis), /^LANCE_KAFKA_VIEWS .*is redis: .*nothing of them is lost; leave the setting out/);
  assertOneFault(faultsOf({ ...complete, LANCE_BACKEND: 'postgres' }), /is not one of embedded, kafka/);
});

test('a process has one role only where several share the work', () => {
  assertOneFault(faultsOf({ ...complete, LANCE_ROLES: 'door' }), /LANCE_ROLES \(roles\) names one role/);
  assertOneFault(faultsOf({ ...complete, LANCE_ROLES: 'porter' }), /is not one of door, desk$/);
  assertOneFault(faultsOf({ ...complete, LANCE_ROLES: 'dor' }), /is not one of door, desk; did you mean door\?$/);
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
  assertOneFault(
    faultsOf(complete, '{"__proto__": {"polluted": true}}'),
    /the key "__proto__" is not allowed; remove it/,
  );
  assertOneFault(
    faultsOf(complete, '{"http": {"__proto__": {"port": 1}}}'),
    /the key "__proto__" is not allowed; remove it/,
  );
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

test('a network of all addresses may be trusted (defect line 7)', () => {
  for (const all of ['0.0.0.0/0', '::/0', '10.1.2.3/0'])
    assert.deepEqual(configOf({ ...complete, LANCE_TRUSTED_PROXIES: all }).http.trustedProxies, [all]);
});

test('one token under two names, and one name for two tokens, are refused without telling either (defect line 7)', () => {
  const [one, other] = ['a'.repeat(64), 'b'.repeat(64)];
  const faultsOfTokens = (tokens: string) => faultsOf({ ...complete, LANCE_API_TOKENS: tokens });
  assert.deepEqual(faultsOfTokens(`ana:viewer:${one},bia:admin:${other}`), []);
  const twoNames = faultsOfTokens(`eva:admin:${other},ana:viewer:${one},bia:admin:${one}`);
  assertOneFault(
    twoNames,
    /LANCE_API_TOKENS \(api\.tokens\[2\]\) has the same sha256 as api\.tokens\[1\]: .*make a token for each/,
  );
  const oneName = faultsOfTokens(`ana:viewer:${one},ana:admin:${other}`);
  assertOneFault(oneName, /LANCE_API_TOKENS \(api\.tokens\[1\]\) has the same name as api\.tokens\[0\]: .*ana-2/);
  assertOneFault(
    faultsOfTokens(`ana:viewer:${one},Local:admin:${other}`),
    /LANCE_API_TOKENS \(api\.tokens\[1\]\) has the name of the session that the token of a start opens/,
  );
  assert.doesNotMatch([...twoNames, ...oneName].join(), /aaaa|bbbb/);
});

test('a key that stands twice in the file is refused with its place, and a byte order mark is read over (defect line 19)', () => {
  const twice = '{\n  "http": { "port": 1 },\n  "bidding": { "windowMs": 1 },\n  "http": { "port": 2 }\n}';
  assertOneFault(
    faultsOf(complete, twice),
    /LANCE_CONFIG: the file file\.json .*Line 4, column 9: this key is written twice.*\(http\)/,
  );
  const inside = '{"service":{"accessToken":"top-secret-1","accessToken":"top-secret-2"}}';
  assertOneFault(faultsOf(complete, inside), /this key is written twice.*\(service\.accessToken\)/);
  assert.doesNotMatch(faultsOf(complete, inside).join(), /top-secret/);
  assert.equal(configOf(complete, '\ufeff{"http":{"port":7001}}').http.port, 7_001);
  const secret = readConfig(
    { ...complete, LANCE_PSEUDONYM_KEY: '', LANCE_PSEUDONYM_KEY_FILE: 'file.json' },
    readingOf(`\ufeff${'s'.repeat(40)}\n`),
  );
  assert(secret.kind === 'config' && secret.config.pseudonymKey === 's'.repeat(40));
});

/** Reads the real defaults and these files. */
function refusedWith(environment: Environment, files: Readonly<Record<string, string | Error>>): readonly string[] {
  const result = readConfig(environment, (path) => {
    const content = files[path] ?? readFileSync(path, 'utf8');
    if (content instanceof Error) throw content;
    return content;
  });
  return result.kind === 'refused' ? result.faults : [];
}

const loggingIn: Environment = {
  LANCE_OIDC_ISSUER: 'https://login.example/desk',
  LANCE_OIDC_CLIENT_ID: 'lance',
  LANCE_OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
  LANCE_OIDC_REDIRECT_BASE: 'https://mesa.example/',
  LANCE_OIDC_ROLES: 'desk-admins:admin, urn:desk:operators:operator',
};

test('log-in is set as a whole, and travels with TLS or stays on the machine', () => {
  assert.equal(configOf(complete).oidc, null);
  const { oidc } = configOf({ ...complete, ...loggingIn });
  assert.deepEqual(
    [oidc?.redirectBase, oidc?.redirectUri],
    ['https://mesa.example', 'https://mesa.example/v1/login/callback'],
  );
  assert.deepEqual(oidc?.roles, [
    { value: 'desk-admins', role: 'admin' },
    { value: 'urn:desk:operators', role: 'operator' },
  ]);
  const faults: [change: Environment, pattern: RegExp][] = [
    [{ LANCE_OIDC_ISSUER: '' }, /LANCE_OIDC_ISSUER \(oidc\.issuer\) is missing: name the OpenID provider/],
    [{ LANCE_OIDC_CLIENT_ID: '' }, /LANCE_OIDC_CLIENT_ID \(oidc\.clientId\) is missing: name this desk/],
    [
      { LANCE_OIDC_REDIRECT_BASE: '' },
      /LANCE_OIDC_REDIRECT_BASE \(oidc\.redirectBase\) is missing: set where browsers/,
    ],
    [{ LANCE_OIDC_ROLES: '' }, /LANCE_OIDC_ROLES \(oidc\.roles\) is missing: say which group/],
    [{ LANCE_OIDC_ROLES: 'desk-admins' }, /oidc\.roles\[0\]\.role\) is not one of viewer, risk, operator, admin/],
    [{ LANCE_OIDC_ROLES: 'desk-admins:root' }, /oidc\.roles\[0\]\.role\) is not one of viewer, risk, operator, admin/],
    [{ LANCE_OIDC_ISSUER: 'http://login.example' }, /LANCE_OIDC_ISSUER .*is not encrypted: write https/],
    [{ LANCE_OIDC_REDIRECT_BASE: 'http://10.0.0.7:8080' }, /LANCE_OIDC_REDIRECT_BASE .*is not encrypted: write https/],
    [
      { LANCE_OIDC_REDIRECT_BASE: 'https://mesa.example/v1' },
      /LANCE_OIDC_REDIRECT_BASE .*carries a path: write scheme/,
    ],
    [{ LANCE_OIDC_REDIRECT_BASE: 'mesa.example' }, /is not an address: write it with its scheme/],
  ];
  for (const [change, pattern] of faults) assertOneFault(faultsOf({ ...complete, ...loggingIn, ...change }), pattern);
  const local = { LANCE_OIDC_ISSUER: 'http://127.0.0.1:9000', LANCE_OIDC_REDIRECT_BASE: 'http://localhost:8080' };
  assert.deepEqual(faultsOf({ ...complete, ...loggingIn, ...local }), []);
  assertOneFault(faultsOf({ ...complete, ...loggingIn }, { oidc: { scopes: ['email'] } }), /oidc\.scopes lacks openid/);
});

const secretVariables = [
  'LANCE_REDIS_URL',
  'LANCE_PSEUDONYM_KEY',
  'LANCE_AUDIT_KEY',
  'LANCE_WEBHOOK_TOKENS',
  'LANCE_API_TOKENS',
  'LANCE_OIDC_CLIENT_SECRET',
  'LANCE_ACCESS_TOKEN',
];

test('every secret can come from a file, and one line end after it is not part of it', () => {
  const given: Environment = {
    ...complete,
    LANCE_AUDIT_KEY: 'a'.repeat(40),
    LANCE_API_TOKENS: `ana:operator:${'0'.repeat(64)}`,
    ...loggingIn,
    LANCE_REDIS_URL: 'rediss://:password@redis:6380/0',
    LANCE_BACKEND: 'kafka',
    LANCE_KAFKA_BROKERS: 'one:9092',
    LANCE_SCHEMA_REGISTRY_URL: 'http://registry:8081',
  };
  const byVariables = configOf(given);
  const files = new Map(
    secretVariables.map((name, index) => [`/run/${name}`, `${given[name]}${['\n', '\r\n', ''][index % 3]}`]),
  );
  const environment = Object.fromEntries(
    Object.entries(given).map(([name, value]) =>
      secretVariables.includes(name) ? [`${name}_FILE`, `/run/${name}`] : [name, value],
    ),
  );
  const byFiles = readConfig(environment, (path) => files.get(path) ?? readFileSync(path, 'utf8'));
  assert.deepEqual(byFiles, { kind: 'config', config: byVariables });
  assert.deepEqual(secretsOf(environment), {
    files: secretVariables.map((name) => ({ name: `${name}_FILE`, path: `/run/${name}` })),
    variables: [],
  });
  assert.deepEqual(secretsOf(given), { files: [], variables: secretVariables });
});

test('a secret that is given twice, or whose file cannot be used, is one fault with its remedy', () => {
  for (const name of secretVariables) {
    const { [name]: _, ...others } = complete;
    const both = { ...others, [name]: 'v'.repeat(40), [`${name}_FILE`]: '/run/secret' };
    assertOneFault(
      refusedWith(both, { '/run/secret': 'v'.repeat(40) }),
      new RegExp(`^${name} and ${name}_FILE are both set: .*one of them`),
    );
    const environment = { ...others, [`${name}_FILE`]: '/run/secret' };
    const cases: [string | Error, RegExp][] = [
      [
        Object.assign(new Error('hidden'), { code: 'ENOENT' }),
        /the file \/run\/secret cannot be read \(ENOENT\): name a file that holds the secret/,
      ],
      [Object.assign(new Error('hidden'), { code: 'not a regular file' }), /cannot be read \(not a regular file\)/],
      ['', /the file \/run\/secret is empty: write the secret into it/],
      ['\n', /the file \/run\/secret is empty/],
      ['\ufffd\u0001'.repeat(40), /holds bytes that are no text: write the secret as text/],
    ];
    for (const [content, pattern] of cases) {
      const faults = refusedWith(environment, { '/run/secret': content });
      assertOneFault(faults, pattern);
      assert.match(faults[0] ?? '', new RegExp(`^${name}_FILE: `));
    }
  }
});

test('a secret in a file is judged like one in a variable, under the name of the file, and never repeated', () => {
  const { LANCE_PSEUDONYM_KEY: _, ...others } = complete;
  const faults = refusedWith({ ...others, LANCE_PSEUDONYM_KEY_FILE: '/run/key' }, { '/run/key': 'too-short\n' });
  assertOneFault(faults, /^LANCE_PSEUDONYM_KEY_FILE \(pseudonymKey\) has 9 characters: at least 32 needed/);
  assert.doesNotMatch(faults.join(), /too-short/);
  assertOneFault(
    faultsOf({ ...complete, LANCE_BASE_URL_FILE: '/run/url' }),
    /LANCE_BASE_URL_FILE is not a setting: did you mean/,
  );
});

test('a command reads only the files of the secrets that it needs', () => {
  const asked: string[] = [];
  const environment = {
    LANCE_DATA_DIR: '/data',
    LANCE_ACCESS_TOKEN_FILE: '/gone',
    LANCE_PSEUDONYM_KEY_FILE: '/run/key',
  };
  const result = readPlace(environment, (path) => {
    asked.push(path);
    return path === '/run/key' ? `${'k'.repeat(32)}\n` : readFileSync(path, 'utf8');
  });
  assert(result.kind === 'place', JSON.stringify(result));
  assert.equal(result.place.pseudonymKey, 'k'.repeat(32));
  assert.ok(!asked.includes('/gone'));
});

test('economics that were kept are read as this version reads settings, and make the configuration that decides', () => {
  const readFile = readingOf();
  const config = configOf(complete);
  const own = economicsOf(config);
  assert.deepEqual(readEconomics(own.source, readFile), own, 'what was written is what is read');
  const { economics, ...others } = JSON.parse(own.source);
  const { bidCostCents, ...earlier } = economics;
  const kept = (of: object) => readEconomics(JSON.stringify({ ...others, economics: of }), readFile);
  assert.equal(
    kept(earlier)?.hash,
    own.hash,
    `one that an earlier version did not know has its default, ${bidCostCents}`,
  );
  assert.equal(kept({ ...economics, ofAnotherVersion: 1 }), null);
  assert.equal(kept({ ...economics, fundingAnnualPercent: 1_000 }), null);
  assert.equal(readEconomics('[', readFile), null);
  const changed = kept({ ...economics, fundingAnnualPercent: 9 })!;
  const deciding = withEconomics(config, changed);
  assert.equal(deciding.economics.fundingAnnualPercent, 9);
  assert.notEqual(deciding.settings.hash, config.settings.hash);
  assert.deepEqual(withEconomics(deciding, own).settings, config.settings);
});
