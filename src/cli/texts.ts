/** What the command line says to people, in one catalogue: Brazilian Portuguese by default, English when asked for. */
import { en } from './texts-en.ts';
import { pt } from './texts-pt.ts';

export const languages = ['pt', 'en'] as const;
export type Language = (typeof languages)[number];

/** Figures of one finding; those that it has are in its text. */
export type DoctorFigures = Readonly<Record<string, string | number>>;

export type CapFigures = {
  key: string;
  amount: string;
  limit: string | null;
  count: number;
  countLimit: number | null;
};

export type Widened<T> = T extends string
  ? string
  : T extends (...given: infer G) => unknown
    ? (...given: G) => T extends (...given: never) => infer R ? Widened<R> : never
    : T extends readonly (infer I)[]
      ? readonly Widened<I>[]
      : { [K in keyof T]: Widened<T[K]> };

export type Texts = Widened<typeof pt>;

const catalogue: Record<Language, Texts> = { pt, en };

export function textsIn(language: Language): Texts {
  return catalogue[language];
}

type Variables = Readonly<Record<string, string | undefined>>;

function languageAsked(words: readonly string[], environment: Variables): string | undefined {
  const place = words.findIndex((word) => word === '--lang' || word.startsWith('--lang='));
  const asked = place < 0 ? undefined : (words[place]!.split('=')[1] ?? words[place + 1]);
  return asked ?? environment.LANCE_LANG;
}

/** `--lang` before LANCE_LANG before Portuguese. Words that are no language are refused elsewhere, in Portuguese. */
export function languageOf(words: readonly string[], environment: Variables): Language {
  return readLanguage(languageAsked(words, environment) ?? 'pt') ?? 'pt';
}

/** The same; but where neither names one, that of the terminal's locale before Portuguese: for the few words among a journal in English. */
export function terminalLanguageOf(words: readonly string[], environment: Variables): Language {
  const { LC_ALL, LC_MESSAGES, LANG } = environment;
  const locale = [LC_ALL, LC_MESSAGES, LANG].find((each) => each !== undefined && each !== '');
  return namesLanguage(words, environment) ? languageOf(words, environment) : (readLanguage(locale ?? 'pt') ?? 'pt');
}

export function namesLanguage(words: readonly string[], environment: Variables): boolean {
  return languageAsked(words, environment) !== undefined;
}

/** `pt`, `pt-BR`, `en`, `en_US.UTF-8` …; null for another one. */
export function readLanguage(text: string): Language | null {
  const short = text.toLowerCase().slice(0, 2);
  return /^[a-z]{2}([-_.].*)?$/i.test(text) ? (languages.find((language) => language === short) ?? null) : null;
}
