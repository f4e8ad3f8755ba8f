/**
 * Codes that correlate the service's events with our calls (contract, Events). Most are GUIDs, which mean the same in capitals and in
 * small letters, so they are kept in small letters. Older records hold them as they came.
 */

const guid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A GUID in small letters; any other code as it is. */
export function canonicalCode(code: string): string {
  return guid.test(code) ? code.toLowerCase() : code;
}

export function isSameCode(one: string, other: string): boolean {
  return one === other || canonicalCode(one) === canonicalCode(other);
}

/** How a code may stand in what was stored before codes were kept in small letters; the code itself is the first. */
export function spellingsOf(code: string): readonly string[] {
  return guid.test(code) ? [...new Set([code, code.toLowerCase(), code.toUpperCase()])] : [code];
}
