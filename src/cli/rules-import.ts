/** `lance rules import`: lists and decision tables from CSV. Every bad line is told, and nothing is written while there is one. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../errors.ts';
import { type BadLine, type Cells, type Imported, listFromCells, parseCsv, tableFromCells } from '../rules/csv.ts';
import type { Json, JsonObject } from '../rules/json.ts';
import { type ListKeyFact, listValueProblem } from '../rules/lists.ts';
import { compileRuleSet } from '../rules/rule-set.ts';
import { workerKeyOf } from '../wire/identity.ts';
import { readCpf } from '../wire/values.ts';
import { readNamed, writeBelow } from './named-file.ts';
import { faultLine } from './rules-files.ts';
import { isSpreadsheet, readSpreadsheet } from './spreadsheet.ts';
import type { CommandWorld } from './world.ts';

export type ImportOptions = {
  /** A CSV file, or an .xlsx workbook. */
  csv: string;
  /** Of the workbook; null: it has one. */
  sheet: string | null;
  description: string;
  owner?: string | undefined;
} & (
  | { kind: 'list'; name: string; fact: ListKeyFact }
  | {
      kind: 'table';
      name: string;
      title: string;
      event: string;
      priority?: number | undefined;
      stage?: string | undefined;
    }
);

type Read = (cell: string) => { kind: 'value'; value: string } | { kind: 'wrong'; text: string };

/** CPFs become pseudonyms here; the files of rules never hold one. */
function workerReader(world: CommandWorld): Read {
  const { pseudonymKey } = world.place();
  const vault = pseudonymKey === null ? null : world.createVault(pseudonymKey);
  return (cell) => {
    if (listValueProblem('worker.key', cell) === null) return { kind: 'value', value: cell };
    const cpf = readCpf(cell);
    if (cpf.kind !== 'value') return { kind: 'wrong', text: world.format.texts.rules.noCpf };
    if (vault === null) throw new Fault('configuration-invalid', world.format.texts.rules.noKey);
    return { kind: 'value', value: workerKeyOf(vault, cpf.value) };
  };
}

/** Punctuation is taken off, and zeros that a spreadsheet lost are put back. */
function codeReader(fact: ListKeyFact): Read {
  return (cell) => {
    let value = fact === 'employer.key' && cell.length === 43 ? cell : cell.replace(/[\s./-]/g, '').toUpperCase();
    const isNumber = /^\d+$/.test(value);
    if (fact === 'employer.key' && isNumber && value.length >= 12 && value.length < 14) value = value.padStart(14, '0');
    if (fact === 'employer.activityCode' && isNumber && value.length === 6) value = value.padStart(7, '0');
    const problem = listValueProblem(fact, value);
    return problem === null ? { kind: 'value', value } : { kind: 'wrong', text: problem };
  };
}

function importedOf(world: CommandWorld, options: ImportOptions, cells: Cells): Imported {
  if (options.kind === 'table') return tableFromCells(cells);
  return listFromCells(cells, options.fact === 'worker.key' ? workerReader(world) : codeReader(options.fact));
}

function contentOf(options: ImportOptions, columns: JsonObject): JsonObject {
  const { description, owner } = options;
  const own: Record<string, Json | undefined> =
    options.kind === 'list'
      ? { $schema: '../schema/list.schema.json', description, owner, fact: options.fact }
      : {
          $schema: './schema/table.schema.json',
          name: options.title,
          description,
          owner,
          event: options.event,
          priority: options.priority,
          stage: options.stage,
        };
  const content: JsonObject = Object.create(null);
  for (const [key, value] of Object.entries(own)) if (value !== undefined) content[key] = value;
  return Object.assign(content, columns);
}

/** What the loader has against the set with the new file in it, on the line of the CSV where it can be said. */
function faultsOf(
  world: CommandWorld,
  directory: string,
  path: string,
  text: string,
  lines: readonly number[],
): BadLine[] {
  const others = world.readRules(directory).filter((file) => file.path !== path);
  const compiled = compileRuleSet([...others, { path, text }]);
  if (compiled.kind === 'compiled') return [];
  return compiled.faults.map((fault) => {
    const index = fault.file === path ? /^\/(?:rows|values)\/(\d+)/.exec(fault.pointer)?.[1] : undefined;
    const line = index === undefined ? undefined : lines[Number(index)];
    if (line !== undefined) return { line, text: world.format.texts.rules.fault(fault.text) };
    return { line: 0, text: faultLine(world, { ...fault, line: null }) };
  });
}

/** Resolves to the exit code: 65 when a line is bad. */
export async function importRules(world: CommandWorld, directory: string, options: ImportOptions): Promise<number> {
  const { terminal, format } = world;
  const { rules } = format.texts;
  const path = options.kind === 'list' ? `lists/${options.name}.json` : `${options.name}.table.json`;
  const { csv, sheet } = options;
  const cells = isSpreadsheet(csv)
    ? await readSpreadsheet(world, csv, sheet, rules.help.csv)
    : parseCsv(readNamed(world, csv, rules.help.csv));
  const imported = importedOf(world, options, cells);
  const text = `${JSON.stringify(contentOf(options, imported.columns), null, 2)}\n`;
  const bad = imported.bad.map(({ line, text: problem }) => ({ line, text: rules.fault(problem) }));
  // Lines that cannot be read do not hide what the loader has against the others.
  const faults = faultsOf(world, directory, path, text, imported.lines);
  bad.push(...(bad.length === 0 ? faults : faults.filter(({ line }) => line > 0)));
  for (const { line, text: problem } of bad.sort((left, right) => left.line - right.line)) {
    terminal.say(line === 0 ? problem : rules.badLine(options.csv, line, problem));
  }
  if (bad.length > 0) {
    terminal.say(rules.importRefused(bad.length));
    return 65;
  }
  const target = join(directory, path);
  // Whole or not at all, for the desk may be looking.
  writeBelow(world, directory, `${target}.new`, text);
  renameSync(`${target}.new`, target);
  terminal.write(rules.imported(path, imported.lines.length));
  return 0;
}
