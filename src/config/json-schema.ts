/**
 * The configuration file as a JSON Schema, for `$schema`: editors complete and check with it. The reader stays the judge;
 * formats that only code can check, and what several settings must fit in together, are not in it.
 */
import { z } from 'zod';
import { sections } from './sections.ts';

type Node = z.core.JSONSchema.BaseSchema;

/** A section may name only what differs from the defaults, so nothing in it is required; entries of lists have none. */
function withDefaults(node: Node, usual: unknown): void {
  if (node.type !== 'object') {
    if (usual !== undefined) node.default = usual as z.core.JSONSchema.JSONSchema;
    return;
  }
  delete node.required;
  for (const [name, setting] of Object.entries(node.properties ?? {})) {
    withDefaults(setting as Node, (usual as Record<string, unknown> | undefined)?.[name]);
  }
}

/** Text of the schema; `defaults`: the content of `config/default.json`. */
export function settingsSchema(defaults: object): string {
  const file = z
    .strictObject({ $schema: z.string().optional(), ...sections })
    .describe('Settings of Lance that differ from config/default.json. The file is named by LANCE_CONFIG.');
  const schema = z.toJSONSchema(file, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema }) => {
      // The settings are frozen once they are read; in the file they are written.
      delete jsonSchema.readOnly;
    },
  });
  withDefaults(schema, { ...defaults, $schema: undefined });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
