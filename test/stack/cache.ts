/** The servers' jars: fetched once by Maven into the user's cache, outside the project. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const versions = { kafka: '4.3.1', registry: '3.0.9' } as const;

const logBinding = { artifact: 'log4j-slf4j-impl', version: '2.25.5' };
const downloadLimitMs = 600_000;

/** `kafka` is a directory of jars, `registry` one jar. `sentence` says what is missing. */
export type Jars = { kind: 'found'; kafka: string; registry: string } | { kind: 'missing'; sentence: string };

export async function findJars(tell: (text: string) => void): Promise<Jars> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lance-stack');
  const kafka = join(cache, `kafka-${versions.kafka}`);
  const registry = join(cache, `registry-${versions.registry}`);
  const wanted = [
    { directory: kafka, name: `Kafka ${versions.kafka}`, fill: fillKafka },
    { directory: registry, name: `the schema registry ${versions.registry}`, fill: fillRegistry },
  ];
  for (const { directory, name, fill } of wanted) {
    if (await exists(directory)) continue;
    tell(`fetching ${name} once`);
    try {
      await fillAtomically(cache, directory, fill);
    } catch (cause) {
      return { kind: 'missing', sentence: `${name} is not in ${cache} and ${whyNot(cause)}` };
    }
  }
  const jar = (await readdir(registry)).find((name) => name.endsWith('-runner.jar'));
  if (jar === undefined) return { kind: 'missing', sentence: `${registry} holds no runner jar: remove it` };
  return { kind: 'found', kafka, registry: join(registry, jar) };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The directory appears whole or not at all; of two that fill it at once, the first one stays. */
async function fillAtomically(cache: string, directory: string, fill: (into: string) => Promise<void>): Promise<void> {
  await mkdir(cache, { recursive: true });
  const filling = await mkdtemp(`${directory}.`);
  try {
    await fill(filling);
    await rename(filling, directory).catch(async (cause: unknown) => {
      if (!(await exists(directory))) throw cause;
    });
  } finally {
    await rm(filling, { recursive: true, force: true });
  }
}

function whyNot(cause: unknown): string {
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return 'Maven (mvn) is not installed to fetch it';
  const written = String((cause as { stdout?: unknown }).stdout ?? '');
  const line = written.split('\n').find((text) => text.includes('[ERROR]')) ?? String(cause);
  return `Maven could not fetch it: ${line.replace('[ERROR]', '').trim().slice(0, 200)}`;
}

async function maven(args: readonly string[], directory: string): Promise<void> {
  await run('mvn', ['-q', '-B', '-ntp', ...args], { cwd: directory, timeout: downloadLimitMs });
}

async function fillKafka(into: string): Promise<void> {
  const pom = await mkdtemp(`${into}-pom.`);
  try {
    await writeFile(join(pom, 'pom.xml'), kafkaPom());
    await maven(['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${into}`], pom);
  } finally {
    await rm(pom, { recursive: true, force: true });
  }
}

/** The tools' API is left out: no part of the broker needs it. */
function kafkaPom(): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lance</groupId>
  <artifactId>stack</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${versions.kafka}</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>${logBinding.artifact}</artifactId>
      <version>${logBinding.version}</version>
    </dependency>
  </dependencies>
</project>
`;
}

async function fillRegistry(into: string): Promise<void> {
  const artifact = `io.apicurio:apicurio-registry-app:${versions.registry}:tar.gz:all`;
  await maven(['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${into}`], into);
  const archive = (await readdir(into)).find((name) => name.endsWith('.tar.gz'));
  if (archive === undefined) throw new Error('Maven brought no archive of the registry');
  await run('tar', ['xzf', archive], { cwd: into });
  await rm(join(into, archive));
}
