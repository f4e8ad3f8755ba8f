/** A page of text: sections with fields whose values stand in one column. */

export type Page = {
  line: (text: string) => void;
  section: (title: string) => void;
  field: (label: string, value: string) => void;
  /** Indented prose, broken between words. */
  wrapped: (text: string) => void;
  /** Labels on the left, amounts right-aligned. */
  amounts: (rows: readonly (readonly [label: string, amount: string])[]) => void;
  /** Text of several lines, indented as it is. */
  block: (text: string) => void;
  text: () => string;
};

const proseWidth = 96;
const leastLabel = 22;

type Part = { kind: 'line'; text: string } | { kind: 'field'; label: string; value: string };

export function createPage(): Page {
  const done: string[] = [];
  let parts: Part[] = [];
  let indent = '';

  const flush = () => {
    const width = Math.max(leastLabel, ...parts.map((part) => (part.kind === 'field' ? part.label.length : 0)));
    for (const part of parts) {
      const text = part.kind === 'line' ? part.text : `${part.label.padEnd(width)}  ${part.value}`;
      done.push(`${indent}${text}`.trimEnd());
    }
    parts = [];
  };
  const line = (text: string) => void parts.push({ kind: 'line', text });

  return {
    line,
    section: (title) => {
      flush();
      indent = '';
      done.push('', `── ${title} ${'─'.repeat(Math.max(2, 72 - title.length))}`);
      indent = '  ';
    },
    field: (label, value) => void parts.push({ kind: 'field', label, value }),
    wrapped: (text) => {
      let current = '';
      for (const word of text.split(/\s+/)) {
        if (current !== '' && current.length + word.length + 1 > proseWidth) {
          line(`    ${current}`);
          current = '';
        }
        current = current === '' ? word : `${current} ${word}`;
      }
      if (current !== '') line(`    ${current}`);
    },
    amounts: (rows) => {
      const label = Math.max(...rows.map(([text]) => text.length));
      const amount = Math.max(...rows.map(([, text]) => text.length));
      for (const [left, right] of rows) line(`${left.padEnd(label)}  ${right.padStart(amount)}`);
    },
    block: (text) => {
      for (const row of text.split('\n')) line(row);
    },
    text: () => {
      flush();
      return done.join('\n');
    },
  };
}
