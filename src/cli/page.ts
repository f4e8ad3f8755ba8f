/** A page of text: sections with fields whose values stand in one column. */

import { outputWidth, tableText, wrapText } from './terminal.ts';

export type Page = {
  line: (text: string) => void;
  section: (title: string) => void;
  field: (label: string, value: string) => void;
  /** Indented prose, broken between words. */
  wrapped: (text: string) => void;
  /** Labels on the left, amounts right-aligned. */
  amounts: (rows: readonly (readonly [label: string, amount: string])[]) => void;
  table: (header: readonly string[], rows: readonly (readonly string[])[], right: readonly number[]) => void;
  /** Lines that are a picture together. */
  drawn: (lines: readonly string[]) => void;
  text: () => string;
};

/** What a page of the console takes as well. */
export type Sections = Pick<Page, 'line' | 'section' | 'field' | 'wrapped'>;

const proseWidth = 72;
const sectionWidth = 74;
const leastLabel = 22;

type Part = { kind: 'line' | 'drawn'; text: string } | { kind: 'field'; label: string; value: string };

const sectionIndent = '  ';
const leastText = 20;

function leading(text: string): string {
  return text.slice(0, text.length - text.trimStart().length);
}

export function createPage(): Page {
  const done: string[] = [];
  let parts: Part[] = [];
  let indent = '';

  const flush = () => {
    const width = Math.max(leastLabel, ...parts.map((part) => (part.kind === 'field' ? part.label.length : 0)));
    for (const part of parts) {
      const first = part.kind === 'field' ? `${indent}${part.label.padEnd(width)}  ` : `${indent}${leading(part.text)}`;
      const text = part.kind === 'field' ? part.value : part.text.trimStart();
      const further = ' '.repeat(part.kind === 'field' ? first.length : first.length + 2);
      const room = Math.max(leastText, outputWidth() - further.length);
      // A plot or a table has its own lines.
      const lines = part.kind === 'drawn' ? [text] : wrapText(text, room);
      for (const [at, each] of lines.entries()) done.push(`${at === 0 ? first : further}${each}`.trimEnd());
    }
    parts = [];
  };
  const line = (text: string) => void parts.push({ kind: 'line', text });
  const drawn = (lines: readonly string[]) => parts.push(...lines.map((text) => ({ kind: 'drawn', text }) as const));

  return {
    line,
    section: (title) => {
      flush();
      indent = '';
      done.push('', `── ${title} ${'─'.repeat(Math.max(2, sectionWidth - title.length))}`);
      indent = sectionIndent;
    },
    field: (label, value) => void parts.push({ kind: 'field', label, value }),
    wrapped: (text) => {
      for (const part of wrapText(text, proseWidth)) line(`    ${part}`);
    },
    amounts: (rows) => {
      const label = Math.max(...rows.map(([text]) => text.length));
      const amount = Math.max(...rows.map(([, text]) => text.length));
      for (const [left, right] of rows) line(`${left.padEnd(label)}  ${right.padStart(amount)}`);
    },
    table: (header, rows, right) =>
      drawn(tableText(header, rows, { right, width: outputWidth() - sectionIndent.length }).split('\n')),
    drawn,
    text: () => {
      flush();
      return done.join('\n');
    },
  };
}
