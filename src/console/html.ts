/** HTML by templates: all that is put in is escaped, but for what a template made. */
import { escapeMarkup } from '../domain/markup.ts';
import { printable } from '../domain/printable.ts';

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | false | readonly Part[];

/** Marks that turn the direction of writing become visible. */
function escaped(text: string): string {
  return escapeMarkup(printable(text));
}

function textOf(part: Part): string {
  if (part === null || part === false) return '';
  if (part instanceof Html) return part.text;
  return Array.isArray(part) ? part.map(textOf).join('') : escaped(String(part));
}

/** Attributes stand between quotes. `null` and `false` are nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, index) => (index === 0 ? string : textOf(parts[index - 1]!) + string)).join(''));
}

const longest = 300;

/** Text that others wrote: cut where it is very long, and apart from the text around it. */
export function outside(text: string, most: number = longest): Html {
  const characters = [...text];
  const shown = characters.length > most ? `${characters.slice(0, most).join('')}…` : text;
  return html`<bdi>${shown}</bdi>`;
}
