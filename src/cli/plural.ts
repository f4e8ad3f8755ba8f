/** A count with its noun. Of Portuguese the rules of Portugal: in Brazil, too, people write `0 falhas`. */
const rules = { pt: new Intl.PluralRules('pt-PT'), en: new Intl.PluralRules('en') };

export function counted(language: keyof typeof rules, one: string, other: string): (count: number) => string {
  return (count) => `${count} ${rules[language].select(count) === 'one' ? one : other}`;
}
