/** docker-compose.yml as Docker Compose reads it: merged, and filled in from an environment. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export type ComposeService = {
  image: string;
  user: string;
  environment?: Record<string, string>;
  command?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck: Record<string, unknown>;
  volumes?: string[];
  configs?: { source: string; target: string }[];
  ports?: string[];
  deploy: { resources: { limits: { memory: string } } };
};

export const projectFile = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
export const textOf = (path: string): string => readFileSync(projectFile(path), 'utf8');
export const yamlOf = (text: string) => parse(text, { merge: true, strict: true, uniqueKeys: true });

export const composeText = textOf('docker-compose.yml');
export const compose = yamlOf(composeText) as {
  services: Record<string, ComposeService>;
  configs: Record<string, { content: string }>;
  volumes: Record<string, null>;
};

/** Variables that .env.example gives a value, and those that it leaves to be filled in. */
export const envExample: readonly (readonly [name: string, value: string])[] = [
  ...textOf('.env.example').matchAll(/^(\w+)=(.*)$/gm),
].map(([, name, value]) => [name!, value!]);

/** `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as Compose fills them in. */
export function interpolate(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_all, name: string, sign = '', rest = '') => {
    const value = environment[name] ?? '';
    if (value !== '') return value;
    if (sign === '?') throw new Error(`${name}: ${rest}`);
    return sign === '-' ? rest : '';
  });
}
