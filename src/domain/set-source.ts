/**
 * The canonical text of a rule set, `[{"path":…,"value":…},…]`, taken apart into its files and put together again. Taking it apart
 * makes no value of what the files hold, so that a list of many thousand entries costs a look at its characters.
 */
/** `text`: the canonical JSON of what the file holds. */
export type SetFile = { path: string; text: string };

export function joinFiles(files: readonly SetFile[]): string {
  return `[${files.map(({ path, text }) => `{"path":${JSON.stringify(path)},"value":${text}}`).join(',')}]`;
}

/** The quote that ends the string which begins at `start`; the length of the text where none does. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at === -1) return text.length;
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}

/** Where the object or list ends that begins at `start`: behind its last character. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '"') at = endOfString(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

const head = '{"path":';
const middle = ',"value":';

function readPath(text: string): string | null {
  try {
    const path = JSON.parse(text) as unknown;
    return typeof path === 'string' ? path : null;
  } catch {
    return null;
  }
}

/** Null: not written by this program as the source of a set. */
export function splitFiles(source: string): readonly SetFile[] | null {
  const files: SetFile[] = [];
  for (let at = 1; source.startsWith(head, at); ) {
    const end = endOfValue(source, at);
    const pathAt = at + head.length;
    const pathEnd = endOfString(source, pathAt) + 1;
    const path = readPath(source.slice(pathAt, pathEnd));
    if (path === null) return null;
    files.push({ path, text: source.slice(pathEnd + middle.length, end - 1) });
    at = end + 1;
  }
  return joinFiles(files) === source ? files : null;
}
