/**
 * Runs docker-compose.yml without Docker: every service for which there is a local program is started with the command, the
 * environment and the order of the file. Only host names, ports and paths are translated.
 */
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { findJars } from '../stack/cache.ts';
import { createPart, type Part, type PartPlan } from '../stack/part.ts';
import { askRedis } from '../stack/servers.ts';
import { freePorts } from '../stack/stack.ts';
import { createWatchdog } from '../stack/watchdog.ts';
import { type ComposeService, compose, interpolate, projectFile, textOf } from './compose-file.ts';

const run = promisify(execFile);
const host = '127.0.0.1';

/** As Prometheus' own packages call it, and as Debian's does. */
const alertPrograms = ['alertmanager', 'prometheus-alertmanager'];
/** Null: it is not on this machine. */
export const alertProgram = alertPrograms.find((name) => spawnSync(name, ['--version']).error === undefined) ?? null;
const noAlertmanager =
  'alertmanager is not installed (Debian: prometheus-alertmanager); its file is filled in and read.';

/** Services that have no program on a test machine, and why. */
export const notStarted: Readonly<Record<string, string>> = {
  ...(alertProgram === null ? { alertmanager: noAlertmanager } : {}),
  grafana: 'There is no package of Grafana to start; compose.test.ts and test/monitoring read its files.',
};

/** Keys of services that need Docker, and what of them is therefore not rehearsed. */
export const needsDocker: Readonly<Record<string, string>> = {
  image: 'that the image exists and holds what the programs below stand for',
  build: 'that the Dockerfile builds',
  user: 'that the user may write to the volumes',
  read_only: 'that nothing writes outside of the volumes and /tmp',
  tmpfs: 'that /tmp is large enough',
  init: 'that zombies are reaped',
  cap_drop: 'that no capability is needed',
  security_opt: 'that no new privilege is needed',
  restart: 'that a service that ended is started again',
  logging: 'that logs are rotated',
  ports: 'that ports are published on the loopback',
  deploy: 'that the limits of memory are kept under load; what the short run takes is compared with them',
  stop_grace_period: 'that a stop is over in time',
  healthcheck: 'that the programs of the health commands are in the images; what they ask is asked here',
};

/** Keys that are carried out. */
export const rehearsed = ['command', 'environment', 'depends_on', 'volumes', 'configs', 'profiles'];

/** What an image runs, told from its documentation or its Dockerfile. */
type Image = {
  program: string;
  /** What the image puts before the command of the file. */
  entry: readonly string[];
  /** The command where the file names none. */
  command?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  /** What the container's own network and root directory would have said. */
  added?: { args?: readonly string[]; environment?: Readonly<Record<string, string>> };
  workingDirectory?: string;
  prepare?: (service: Prepared) => Promise<void>;
  isHealthy: (service: Prepared) => Promise<boolean>;
};

type Prepared = { name: string; directory: string; environment: Readonly<Record<string, string>>; health: string };

export type Rehearsal = {
  /** Where a port of a container is reached. */
  address: (service: string, containerPort: number) => string;
  isRunning: (service: string) => boolean;
  /** The most memory that a running service has had in use, in bytes; null where the system does not tell. */
  peakBytes: (service: string) => Promise<number | null>;
  /** What a service has written. */
  logOf: (service: string) => Promise<string>;
  stop: () => Promise<void>;
};

/** Names of the services that can be started here. */
export const startedServices = Object.keys(compose.services).filter((name) => !(name in notStarted));

const containerPort = /(?<![\w.-])([a-z][\w-]*):(\d{2,5})(?!\d)/g;

/** Every port that the file, the health commands and the configuration of Prometheus name. */
function portsNamed(texts: readonly string[]): [service: string, port: number][] {
  return texts.flatMap((text) =>
    [...text.matchAll(containerPort)]
      .filter(([, name]) => name! in compose.services)
      .map(([, name, port]): [string, number] => [name!, Number(port)]),
  );
}

/** Ports that a service listens on although no other service names them. */
function ownPorts(name: string, service: ComposeService): [service: string, port: number][] {
  const published = (service.ports ?? []).map((port) => Number(port.split(':').at(-1)));
  const asked = [...JSON.stringify(service.healthcheck.test).matchAll(/127\.0\.0\.1:(\d+)|connect\((\d+)/g)];
  return [...published, ...asked.map(([, url, socket]) => Number(url ?? socket))].map((port) => [name, port]);
}

/** Starts everything. Rejects, with nothing left running, where a service does not come up healthy. */
export async function rehearse(userEnvironment: Readonly<Record<string, string>>): Promise<Rehearsal> {
  const jars = await findJars(() => undefined);
  if (jars.kind === 'missing') throw new Error(jars.sentence);
  const directory = await mkdtemp(join(tmpdir(), 'lance-rehearsal-'));
  const watchdog = createWatchdog(directory);
  const parts = new Map<string, Part>();
  const changed = (): void =>
    watchdog.watch([...parts.values()].map((part) => part.pid()).filter((pid) => pid !== null));
  const stop = async (): Promise<void> => {
    await Promise.all([...parts.values()].map((part) => part.stop()));
    await watchdog.close();
  };

  const filled = (text: string): string => interpolate(text, userEnvironment);
  const services = startedServices.map((name) => [name, compose.services[name]!] as const);
  const texts = services.flatMap(([, { environment = {}, command = [] }]) => [
    ...Object.values(environment).map(filled),
    ...command.map(filled),
  ]);
  const named = [
    ...portsNamed([...texts, textOf('config/prometheus/prometheus.yml')]),
    ...services.flatMap(([name, service]) => ownPorts(name, service)),
  ];
  const keys = [...new Set(named.map(([name, port]) => `${name}:${port}`))];
  const free = await freePorts(keys.length);
  const ports = new Map(keys.map((key, place) => [key, free[place]!]));
  const portOf = (name: string, port: number | string): number => {
    const found = ports.get(`${name}:${port}`);
    if (found === undefined) throw new Error(`nobody names port ${port} of ${name}`);
    return found;
  };
  /** Host names and the ports that belong to them. */
  const translated = (text: string): string =>
    text.replace(containerPort, (all, name: string, port: string) =>
      name in compose.services ? `${host}:${portOf(name, port)}` : all,
    );

  /** Addresses that a service listens on itself. */
  const listening = (name: string, text: string): string =>
    text
      .replace(/:\/\/:(\d+)/g, (_all, port: string) => `://${host}:${portOf(name, port)}`)
      .replace(/^(--port=)(\d+)$/, (_all, option: string, port: string) => `${option}${portOf(name, port)}`)
      .replace('0.0.0.0', host);

  const images = imagesOf({ kafkaJars: jars.kafka, registryJar: jars.registry, portOf });

  async function prepare(name: string, service: ComposeService): Promise<PartPlan> {
    const image = images[name];
    if (image === undefined) throw new Error(`${name} is neither started nor listed`);
    const own = join(directory, name);
    await mkdir(own);
    const paths: [inside: string, outside: string][] = [];
    for (const volume of service.volumes ?? []) {
      const [from, inside] = volume.split(':') as [string, string];
      const outside = join(own, inside.replaceAll('/', '_'));
      if (from.startsWith('./')) {
        await cp(projectFile(from), outside, { recursive: true });
        if (name === 'prometheus') {
          const file = join(outside, 'prometheus.yml');
          await writeFile(file, translated(await readFile(file, 'utf8')));
        }
      } else await mkdir(outside);
      paths.push([inside, outside]);
    }
    for (const { source, target } of service.configs ?? []) {
      const outside = join(own, target.replaceAll('/', '_'));
      await writeFile(outside, filled(compose.configs[source]!.content));
      paths.push([target, outside]);
    }
    const local = (text: string): string => {
      const inside = listening(name, translated(filled(text)));
      return inside.replace(/(?<=^|=)\/[\w./-]+/g, (path) => {
        const [from, to] = paths.find(([mounted]) => path === mounted || path.startsWith(`${mounted}/`)) ?? ['', ''];
        return to + path.slice(from.length);
      });
    };
    const environment: Record<string, string> = { PATH: process.env.PATH ?? '', ...image.environment };
    for (const [variable, value] of Object.entries(service.environment ?? {})) {
      const isPort = /^(LANCE|QUARKUS)_HTTP_PORT$/.test(variable);
      environment[variable] = isPort ? String(portOf(name, value)) : local(value);
    }
    const health = JSON.stringify(service.healthcheck.test).replace(
      /127\.0\.0\.1:(\d+)/,
      (_all, port: string) => `${host}:${portOf(name, port)}`,
    );
    const prepared: Prepared = { name, directory: own, environment, health };
    await image.prepare?.(prepared);
    const command = (service.command ?? image.command ?? []).map(local);
    const heap = (environment.KAFKA_HEAP_OPTS ?? environment.JAVA_OPTS_APPEND ?? '').split(' ').filter(Boolean);
    return {
      name,
      program: image.program,
      args: [...heap, ...image.entry, ...command, ...(image.added?.args ?? []).map(local)],
      directory: own,
      workingDirectory: image.workingDirectory ?? own,
      environment: { ...environment, ...image.added?.environment },
      answers: () => image.isHealthy(prepared),
    };
  }

  const started = new Map<string, Promise<void>>();
  function start(name: string): Promise<void> {
    const under = started.get(name);
    if (under !== undefined) return under;
    const starting = (async () => {
      await Promise.all(Object.keys(compose.services[name]!.depends_on ?? {}).map(start));
      const part = createPart(await prepare(name, compose.services[name]!), changed);
      parts.set(name, part);
      await part.start();
    })();
    started.set(name, starting);
    return starting;
  }

  await Promise.all(services.map(([name]) => start(name))).catch(async (fault: unknown) => {
    // Nothing is started after the first failure.
    for (const name of startedServices) if (!started.has(name)) started.set(name, Promise.reject(fault));
    await stop();
    throw fault;
  });
  return {
    address: (name, port) => `${host}:${portOf(name, port)}`,
    isRunning: (name) => parts.get(name)?.pid() != null,
    peakBytes: async (name) => {
      const status = await readFile(`/proc/${parts.get(name)?.pid()}/status`, 'utf8').catch(() => '');
      const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
      return kilobytes === undefined ? null : Number(kilobytes) * 1_024;
    },
    logOf: (name) => readFile(join(directory, name, `${name}.log`), 'utf8'),
    stop,
  };
}

/** The Dockerfile's entry point, command and environment; paths in the image are those of the project. */
function ownImage(): Pick<Image, 'program' | 'entry' | 'command' | 'environment' | 'workingDirectory'> {
  const lines = textOf('Dockerfile').split('\n');
  const listed = (word: string): string[] => {
    const line = lines.findLast((text) => text.startsWith(`${word} [`));
    return JSON.parse(line!.slice(word.length));
  };
  const [, ...entry] = listed('ENTRYPOINT');
  const environment = lines
    .filter((line) => line.startsWith('ENV '))
    .flatMap((line) => line.slice('ENV '.length).split(' '))
    .map((text) => text.split('=') as [string, string]);
  return {
    program: process.execPath,
    entry,
    command: listed('CMD'),
    environment: Object.fromEntries(environment),
    workingDirectory: projectFile('.'),
  };
}

function imagesOf(places: {
  kafkaJars: string;
  registryJar: string;
  portOf: (service: string, port: number) => number;
}): Readonly<Record<string, Image>> {
  const { portOf } = places;
  const classpath = ['-cp', join(places.kafkaJars, '*')];
  const lance = { ...ownImage(), isHealthy: answersHttp };
  return {
    kafka: {
      program: 'java',
      entry: ['-Dlog4j2.configurationFile=final/log4j2.yaml', ...classpath, 'kafka.Kafka', 'final/server.properties'],
      environment: { CLUSTER_ID: '5L6g3nShT-eMCtK--X86sw' },
      // The program that the image itself runs first: it makes server.properties of KAFKA_A_B_C and formats the directory.
      prepare: async ({ directory, environment }) => {
        for (const name of ['default', 'mounted', 'final']) await mkdir(join(directory, name));
        await writeFile(join(directory, 'default', 'server.properties'), '');
        for (const name of ['log4j2.yaml', 'tools-log4j2.yaml'])
          await writeFile(join(directory, 'default', name), brokerLogging);
        await writeFile(join(directory, 'final', 'server.properties'), '');
        const places = ['--default-configs-dir', 'default', '--mounted-configs-dir', 'mounted'];
        const args = [...classpath, 'kafka.docker.KafkaDockerWrapper', 'setup', ...places];
        await run('java', [...args, '--final-configs-dir', 'final'], { cwd: directory, env: { ...environment } });
      },
      isHealthy: async ({ environment }) => {
        const brokers = [environment.KAFKA_ADVERTISED_LISTENERS!.replace(/^.*\/\//, '')];
        const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } }).admin();
        try {
          await admin.connect();
          return (await admin.describeCluster()).brokers.length > 0;
        } catch {
          return false;
        } finally {
          await admin.disconnect();
        }
      },
    },
    registry: {
      program: 'java',
      entry: ['-jar', places.registryJar],
      added: { environment: { QUARKUS_HTTP_HOST: host } },
      isHealthy: answersHttp,
    },
    redis: {
      // The command of the file names the program.
      program: 'env',
      entry: [],
      added: { args: ['--bind', host, '--port', String(portOf('redis', 6379)), '--dir', '/data'] },
      isHealthy: async () => (await askRedis(portOf('redis', 6379), 'PING').catch(() => '')) === '+PONG',
    },
    'lance-1': lance,
    'lance-2': lance,
    sandbox: { ...lance, isHealthy: () => listens(portOf('sandbox', 9090)) },
    prometheus: {
      program: 'prometheus',
      entry: [],
      added: { args: [`--web.listen-address=${host}:${portOf('prometheus', 9090)}`] },
      isHealthy: answersHttp,
    },
    alertmanager: {
      program: alertProgram ?? '',
      entry: [],
      added: { args: [`--web.listen-address=${host}:${portOf('alertmanager', 9093)}`] },
      isHealthy: answersHttp,
    },
  };
}

const brokerLogging = `Configuration:
  Appenders:
    Console:
      name: STDOUT
      PatternLayout:
        pattern: "%d %p %m (%c)%n"
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        - ref: STDOUT
`;

/** What the health command asks, without the program that asks it in the image. */
async function answersHttp({ health }: Prepared): Promise<boolean> {
  const [url] = /http:\/\/[^'"\\]+/.exec(health)!;
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
