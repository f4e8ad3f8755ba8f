/**
 * Codes that correlate the service's events with our calls (contract, Events). Most are GUIDs, which mean the same in capitals and in
 * small letters, so they are kept in small letters. Older records hold them as they came.
 */

const guid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A GUID in small letters, without the braces that some write around it; any other code as it is. */
export function canonicalCode(code: string): string {
  const bare = code.startsWith('{') && code.endsWith('}') ? code.slice(1, -1) : code;
  return guid.test(bare) ? bare.toLowerCase() : code;
}

/** A GUID is written with its hyphens elsewhere or nowhere, in braces or as a URN, and is longer by no more than that. */
const longestGuid = 100;

/** The code as a GUID in small letters with its hyphens, if its 32 hexadecimal digits are all that it says; else null. */
export function guidOf(code: string): string | null {
  if (code.length > longestGuid) return null;
  if (guid.test(code)) return code.toLowerCase();
  const digits = code.replace(/^urn:uuid:/i, '').replaceAll(/[\s{}()._:-]/g, '');
  if (!/^[\da-f]{32}$/i.test(digits)) return null;
  return digits.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function isSameCode(one: string, other: string): boolean {
  if (one === other) return true;
  const known = guidOf(one);
  return known !== null && known === guidOf(other);
}

/** How a code may stand in what was stored: as it is, as a GUID in small letters, and as others wrote it; the code itself is the first. */
export function spellingsOf(code: string): readonly string[] {
  const known = guidOf(code);
  if (known === null) return [code];
  const bare = known.replaceAll('-', '');
  return [...new Set([code, known, known.toUpperCase(), bare, bare.toUpperCase()])];
}
