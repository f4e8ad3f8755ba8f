/** Text from outside made harmless for a terminal. */

/**
 * Controls, marks without a form of their own such as those that turn the direction of writing, halves of characters, and the
 * ends of lines that only some programs know. The usual end of a line stays one.
 */
const unprintable = /[^\P{C}\n]|[\u2028\u2029]/gu;

/** Each of them written as `\uXXXX`, which JSON reads back as the same character: there they stand inside of strings only. */
export function printable(text: string): string {
  return text.replace(unprintable, (found) =>
    Array.from({ length: found.length }, (_, index) => {
      const code = found.charCodeAt(index).toString(16).padStart(4, '0');
      return `\\u${code}`;
    }).join(''),
  );
}
