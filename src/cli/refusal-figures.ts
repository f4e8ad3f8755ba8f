/** Figures, days and times in what a flow refuses, as people read them. Programs read them in cents, hundredths and UTC. */
import type { Format } from './format.ts';

type Figures = Pick<Format, 'language' | 'money' | 'number' | 'time' | 'day'> & {
  /** Names of the figures of a loan. */
  words: Readonly<Record<string, string>>;
};

/** What is still to be typed into a file is said as it is typed there too. */
const asksFor = /^(?:send|envie)\b/;

/** `field`: of the order or step that is refused, which says what a bare number counts. */
export function withFigures(
  text: string,
  field: string,
  { language, money, number, time, day, words }: Figures,
): string {
  const percent = (hundredths: string) => `${number(Number(hundredths) / 100, 2)} %`;
  const reais = (cents: string) => money(Number(cents));
  const bare = (count: string) => (field.endsWith('Cents') ? reais(count) : percent(count));
  const isTyped = asksFor.test(text);
  const isAmount = /Cents$/.test(field) || /Hundredths$/.test(field);
  let shown = text;
  const replace = (pattern: RegExp, to: (before: string, figure: string) => string) => {
    shown = shown.replaceAll(pattern, (_, before: string, figure: string) => to(before, figure));
  };
  if (isAmount)
    replace(
      /((?:bid|period|loan) was |(?:lance|período|encerrado|empréstimo) foi de |and this is |e isto é |send more than |envie mais que )(\d+)(?=[:,]| \()/g,
      (before, count) => before + bare(count),
    );
  replace(
    /(and the bid allows |e o lance permite |and the order allows |e o pedido permite |its loan to |e o empréstimo |that of the bid was |a do lance foi de )(\d+)/g,
    (before, cents) => before + reais(cents),
  );
  replace(/()(\d+)(?= (?:of the|dos) \d+ (?:cents|centavos))/g, (_, cents) => reais(cents));
  replace(
    /(the rate of the note, |a taxa da CCB, |one it may have, |que ela pode ter, )(\d+)(?![.,]?\d)/g,
    (before, rate) => before + percent(rate),
  );
  replace(
    /(rate of the bid, |taxa do lance, |rate of the original contract, |taxa do contrato original, |original contract is at |contrato original é de |was made here at |foi feito aqui a )(\d+)(?! \(\d+[.,])/g,
    (before, rate) => `${before}${percent(rate)} (${rate})`,
  );
  replace(
    /()(\d+)(?= (?:hundredths of a percent|centésimos de ponto percentual))/g,
    (_, rate) => `${percent(rate)}, ${rate}`,
  );
  shown = shown.replaceAll(/(\d+) (cents|centavos)\b(?! \(R\$|\)| are\b| são\b)/g, (whole, cents: string) =>
    isTyped ? `${reais(cents)} (${whole})` : reais(cents),
  );
  shown = shown.replaceAll(/\((\w+(?:, \w+)*)\)/g, (whole, list: string) => {
    const named = list.split(', ');
    return named.every((name) => Object.hasOwn(words, name))
      ? `(${named.map((name) => words[name]).join(', ')})`
      : whole;
  });
  shown = shown.replaceAll(/(?<!such as |como )\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (written) =>
    Number.isNaN(Date.parse(written)) ? written : time(Date.parse(written)),
  );
  if (language === 'en') return shown;
  return shown.replaceAll(/(?<!como )(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g, (written) => day(written));
}
