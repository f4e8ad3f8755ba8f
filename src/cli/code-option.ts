/** An option whose values are codes: a word that is none is refused with each code and what it means to people. */
import { InvalidArgumentError, Option } from 'commander';
import type { Texts } from './texts.ts';

type Meaning = { codes: readonly string[]; meanings: Readonly<Record<string, string>>; texts: Texts };

export function codeOption(usage: string, about: string, { codes, meanings, texts }: Meaning): Option {
  const named = codes.map((code) => (texts.codesNeedWords ? `${code} (${meanings[code]})` : code));
  return new Option(usage, about).choices(codes).argParser((given: string) => {
    if (codes.includes(given)) return given;
    throw new InvalidArgumentError(`${texts.help.oneOf} ${named.join(', ')}.`);
  });
}
