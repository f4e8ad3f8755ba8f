/** Text in HTML and XML. */

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Also in an attribute between quotes. */
export function escapeMarkup(text: string): string {
  return text.replaceAll(/[&<>"']/g, (found) => escapes[found]!);
}
