/** What docker-compose.yml, Dockerfile and .env.example say, as far as it can be judged without a Docker engine. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { shippedSettings } from '../../bench/shipped-redis.ts';
import { readConfig } from '../../src/config.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { lance } from '../cli/desk.ts';
import { versions } from '../stack/cache.ts';
import { brokerSettings, registrySettings } from '../stack/servers.ts';
import {
  type ComposeService,
  compose,
  composeText,
  envExample,
  projectFile as file,
  interpolate,
  textOf,
  yamlOf,
} from './compose-file.ts';

const services = Object.entries(compose.services);
const desks = services.filter(([name]) => name.startsWith('lance-'));

/** The keys of the compose specification that are used; one that is misspelt is refused by Docker, or means nothing. */
const topKeys = ['name', 'services', 'configs', 'volumes', 'x-service', 'x-desk'];
const serviceKeys = [
  ...['image', 'build', 'user', 'command', 'environment', 'depends_on', 'healthcheck', 'volumes', 'ports', 'deploy'],
  ...['restart', 'init', 'cap_drop', 'security_opt', 'logging', 'read_only', 'tmpfs', 'profiles', 'stop_grace_period'],
  'configs',
];

/** The environment as Docker would have it, with something plain for what .env holds. */
const given: Readonly<Record<string, string>> = {
  ...Object.fromEntries(envExample),
  LANCE_PSEUDONYM_KEY: 'k'.repeat(40),
  LANCE_WEBHOOK_TOKENS: 'token-of-the-compose-file',
  LANCE_BASE_URL: 'http://sandbox:9090',
  LANCE_ACCESS_TOKEN: 'bearer',
  LANCE_CONTACT_URL: 'https://parceiro.example/credito',
  GRAFANA_PASSWORD: 'password',
};
const filled = (text: string) => interpolate(text, given);

test('every service is pinned, bounded, watched and without privileges', () => {
  assert.deepEqual(
    Object.keys(compose).filter((key) => !topKeys.includes(key)),
    [],
  );
  for (const [name, service] of services) {
    assert.deepEqual(
      Object.keys(service).filter((key) => !serviceKeys.includes(key)),
      [],
      name,
    );
    assert.match(service.image, /^[a-z/-]+:v?\d+\.\d+\.\d+(-\w+)?$/, `${name}: an image of one version`);
    assert.match(service.user, /^[1-9]\d*:\d+$/, `${name}: not root`);
    assert.match(filled(service.deploy.resources.limits.memory), /^\d+[mg]$/, name);
    const { test: check, ...times } = service.healthcheck;
    assert.equal((check as string[])[0], 'CMD', `${name}: a health check without a shell`);
    assert.deepEqual(Object.keys(times), ['interval', 'timeout', 'retries', 'start_period'], name);
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, `${name}: loopback only`);
  }
});

test('what services refer to exists', () => {
  const used = new Set<string>();
  for (const [name, service] of services) {
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      assert.ok(compose.services[other], `${name} waits for ${other}`);
      assert.equal(condition, 'service_healthy');
    }
    for (const [from] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
      if (from!.startsWith('./')) assert.ok(existsSync(file(from!)), from);
      else used.add(from!);
    }
  }
  assert.deepEqual([...used].sort(), Object.keys(compose.volumes).sort());
  const sources = services.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
  assert.deepEqual(sources.sort(), Object.keys(compose.configs).sort());
  const ports = services.flatMap(([, service]) => service.ports ?? []);
  assert.equal(new Set(ports.map((port) => port.split(':')[1])).size, ports.length, 'no port is published twice');
});

test('.env.example names what the compose file asks for, and nothing else', () => {
  const asked = new Set([...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!));
  const offered = [...textOf('.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name!);
  assert.deepEqual(offered.toSorted(), [...asked].sort());
});

test('Redis has room for what it holds and for the child that writes its file anew', () => {
  const { deploy } = compose.services.redis!;
  const settings = shippedSettings();
  const megabytesOf = (text: string) => Number(/^(\d+)mb?$/.exec(filled(text))![1]);
  const mostMb = megabytesOf(settings.get('maxmemory')!);
  const limitMb = megabytesOf(deploy.resources.limits.memory);
  const [claimsMb, marginsMb, statisticsMb] = [22, 80, 97];
  assert.ok(mostMb >= 1.1 * (claimsMb + marginsMb + statisticsMb), `${mostMb} MB`);
  assert.ok(limitMb >= 1.5 * mostMb, `${limitMb} MB for ${mostMb} MB`);
  assert.equal(settings.get('maxmemory-policy'), 'noeviction');
});

test('Redis keeps one file', () => {
  const settings = shippedSettings();
  assert.equal(settings.get('save'), '', 'nothing is dumped beside it');
  assert.equal(settings.get('appendonly'), 'yes');
  assert.equal(settings.get('appendfsync'), 'everysec');
});

test('two desks are set to what the configuration knows', () => {
  assert.equal(desks.length, 2);
  for (const [, desk] of desks) {
    const environment = Object.fromEntries(
      Object.entries(desk.environment!).map(([name, value]) => [name, filled(value)]),
    );
    assert.equal(environment.LANCE_BACKEND, 'kafka');
    const read = readConfig(environment, (path) => readFileSync(path, 'utf8'));
    assert.equal(read.kind, 'config', JSON.stringify(read));
    const { kafka, registry, redis } = compose.services;
    assert.ok(kafka!.environment!.KAFKA_ADVERTISED_LISTENERS!.endsWith(`//${environment.LANCE_KAFKA_BROKERS}`));
    assert.equal(environment.LANCE_REDIS_URL, 'redis://redis:6379');
    const { host, pathname } = new URL(environment.LANCE_SCHEMA_REGISTRY_URL!);
    assert.equal(host, `registry:${registry!.environment!.QUARKUS_HTTP_PORT}`);
    assert.ok((registry!.healthcheck.test as string[]).at(-1)!.includes(pathname));
    assert.ok(redis);
  }
  const [first, second] = desks.map(([, desk]) => desk.volumes);
  assert.notDeepEqual(first, second, 'each has a directory of its own');
});

test('broker and registry are the ones that the tests start, set the same way', () => {
  const { kafka, registry } = compose.services;
  assert.equal(kafka!.image.split(':')[1], versions.kafka);
  assert.equal(registry!.image.split(':')[1], versions.registry);
  const expect = (service: ComposeService, prefix: string, settings: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(settings)) {
      const variable = `${prefix}${name.toUpperCase().replaceAll(/[.-]/g, '_')}`;
      assert.equal(service.environment![variable], value, variable);
    }
  };
  expect(kafka!, 'KAFKA_', brokerSettings);
  expect(registry!, '', registrySettings);
  assert.equal(
    registry!.environment!.APICURIO_KAFKASQL_BOOTSTRAP_SERVERS,
    desks[0]![1].environment!.LANCE_KAFKA_BROKERS,
  );
});

test('the sandbox understands its command', async () => {
  const [command, ...options] = compose.services.sandbox!.command!.map(filled);
  const { stdout } = await lance({ LANCE_LANG: 'en' }, command!, '--help');
  for (const option of options) {
    const [name, value] = option.split('=');
    assert.ok(stdout.includes(` ${name} ${value === undefined ? '' : '<'}`), option);
  }
  const settings = options.find((option) => option.startsWith('--settings='))!;
  assert.equal(sandboxSettings(JSON.parse(settings.slice('--settings='.length))).tokens.accessToken, 'bearer');
  const target = options.find((option) => option.startsWith('--target='))!;
  assert.equal(target, `--target=http://${desks[0]![0]}:8080/webhooks/${given.LANCE_WEBHOOK_TOKENS}`);
});

test('Prometheus scrapes the desks, and Grafana asks that Prometheus', () => {
  const scrape = yamlOf(textOf('config/prometheus/prometheus.yml'));
  assert.deepEqual(
    scrape.scrape_configs[0].static_configs[0].targets,
    desks.map(([name, desk]) => `${name}:${desk.environment!.LANCE_HTTP_PORT}`),
  );
  const [manager] = scrape.alerting.alertmanagers[0].static_configs[0].targets;
  assert.equal(manager, `alertmanager:${compose.services.alertmanager!.ports![0]!.split(':').at(-1)}`);
  const { datasources } = yamlOf(textOf('config/grafana/provisioning/datasources/prometheus.yml'));
  assert.ok(compose.services[new URL(datasources[0].url).hostname]);
  const dashboard = JSON.parse(textOf('config/grafana/dashboards/desk.json'));
  for (const panel of dashboard.panels) assert.equal(panel.datasource.uid, datasources[0].uid, panel.title);
  const { providers } = yamlOf(textOf('config/grafana/provisioning/dashboards/desk.yml'));
  const mounted = compose.services.grafana!.volumes!.map((volume) => volume.split(':')[1]);
  assert.ok(mounted.includes(providers[0].options.path));
});

test('the image is of one Node, holds what is needed, and runs without privileges', () => {
  const lines = textOf('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const { devDependencies } = JSON.parse(textOf('package.json'));
  const bases = lines.filter(([word]) => word === 'FROM').map(([, image]) => image!);
  for (const base of bases) assert.equal(base.split('-')[0], `node:${devDependencies.node}`);
  const ignored = textOf('.dockerignore').split('\n');
  for (const [, ...words] of lines.filter(([word, option]) => word === 'COPY' && !option!.startsWith('--'))) {
    for (const path of words.slice(0, -1)) {
      assert.ok(existsSync(file(path)), path);
      assert.ok(ignored.includes(`!${path}`), `${path} is left out by .dockerignore`);
    }
  }
  const order = lines.map(([word]) => word);
  assert.equal(lines[order.indexOf('USER')]?.[1], 'node');
  assert.ok(order.indexOf('USER') < order.indexOf('ENTRYPOINT'));
  assert.ok(order.includes('HEALTHCHECK'));
  const variables = lines.flatMap(([word, ...words]) => (word === 'ENV' ? words : []));
  const named = Object.fromEntries(variables.map((text) => text.split('=') as [string, string]));
  const read = readConfig({ ...given, ...named, LANCE_BACKEND: 'embedded' }, (path) => readFileSync(path, 'utf8'));
  assert.equal(read.kind, 'config', JSON.stringify(read));
});
