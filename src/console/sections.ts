/** Sections of a report of the command line as parts of a page: the same words, in the order in which they are told. */
import type { Sections } from '../cli/page.ts';
import { type Html, html, outside } from './html.ts';

type Part = { kind: 'field'; label: string; value: string } | { kind: 'line' | 'wrapped'; text: string };

export function createSections(): { page: Sections; made: () => Html } {
  const sections: { title: string; parts: Part[] }[] = [];
  const add = (part: Part) => void sections.at(-1)?.parts.push(part);
  return {
    page: {
      section: (title) => void sections.push({ title, parts: [] }),
      field: (label, value) => add({ kind: 'field', label, value }),
      line: (text) => add({ kind: 'line', text }),
      wrapped: (text) => add({ kind: 'wrapped', text }),
    },
    made: () =>
      html`${sections.map(({ title, parts }) => html`<section><h2>${title}</h2>${groupsOf(parts)}</section>`)}`,
  };
}

/** What stands together: fields in one list, lines under each other as they are indented. */
function groupsOf(parts: readonly Part[]): Html[] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]!.kind === part.kind) last.push(part);
    else groups.push([part]);
  }
  return groups.map((group) => {
    const inner = group.map((part) =>
      part.kind === 'field'
        ? html`<dt>${outside(part.label)}</dt><dd>${outside(part.value)}</dd>`
        : part.kind === 'line'
          ? html`${outside(part.text)}\n`
          : html`<p class="help">${outside(part.text)}</p>`,
    );
    const [{ kind }] = group as [Part];
    if (kind === 'field') return html`<dl class="facts">${inner}</dl>`;
    return kind === 'line' ? html`<pre class="lines">${inner}</pre>` : html`${inner}`;
  });
}
