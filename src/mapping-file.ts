/**
 * The file that says where the facts of a loan request stand: the package's own, or that of `LANCE_MAPPING`. Refused like a file of
 * rules: with the file, the line, the place in it, and the word that was probably meant.
 */
import { linesOf, parseJson } from './rules/json.ts';
import { faultText } from './rules/place.ts';
import { type RequestMapping, readRequestMapping } from './wire/mapping-table.ts';

export const shippedMappingFile = 'config/request-mapping.json';

/** `file`: as it is named in faults. */
export function readMappingText(
  file: string,
  text: string,
): { kind: 'read'; mapping: RequestMapping } | { kind: 'refused'; faults: readonly string[] } {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return { kind: 'refused', faults: [faultText({ ...parsed, file })] };
  const reading = readRequestMapping(parsed.value);
  if (reading.kind === 'read') return reading;
  const lines = linesOf(
    text,
    reading.faults.map(({ pointer }) => pointer),
  );
  const faults = reading.faults.map((fault) => faultText({ ...fault, file, line: lines.get(fault.pointer) ?? null }));
  return { kind: 'refused', faults };
}
