/** What is said of and in the pages that commands write, in English. */
import type { Texts } from './texts.ts';

export const pageEn: Texts['page'] = {
  language: 'en',
  unwritable: (file, why) => `${file} cannot be written (${why}); give the path of a file in a directory that exists.`,
  written: (file) => `Page: ${file}`,
  withoutScript: 'The plots need JavaScript; tables and text are complete without it.',
};
