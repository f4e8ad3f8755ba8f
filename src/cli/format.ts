/** Figures as people read them: `3,32 % a.m.`, `R$ 1.234,56`, São Paulo's wall clock. */
import { formatWallClock } from '../wire/local-time.ts';
import { type Language, type Texts, textsIn } from './texts.ts';

export type Format = {
  language: Language;
  texts: Texts;
  money: (cents: number) => string;
  /** The same without cents, for wide tables. */
  reais: (cents: number) => string;
  /** Hundredths of a percent a month. */
  rate: (hundredths: number) => string;
  annualRate: (hundredths: number) => string;
  /** A difference of rates. */
  points: (hundredths: number) => string;
  /** 0 … 1 as a percentage. */
  share: (share: number) => string;
  number: (value: number, digits?: number) => string;
  time: (at: number | null) => string;
  /** The same to the minute, for tables. */
  minute: (at: number) => string;
};

export function createFormat(language: Language): Format {
  const texts = textsIn(language);
  const [point, group] = language === 'pt' ? [',', '.'] : ['.', ','];
  const number = (value: number, digits = 0) => {
    const [whole = '', part] = Math.abs(value).toFixed(digits).split('.');
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
    const sign = value < 0 && Number(value.toFixed(digits)) !== 0 ? '-' : '';
    return `${sign}${grouped}${part === undefined ? '' : point + part}`;
  };
  const percent = (hundredths: number) => `${number(hundredths / 100, 2)} %`;
  const time = (at: number) => {
    const [day = '', wall = ''] = formatWallClock(at).split('T');
    const thousandths = String(((at % 1_000) + 1_000) % 1_000).padStart(3, '0');
    return `${language === 'pt' ? day.split('-').reverse().join('/') : day} ${wall}${point}${thousandths}`;
  };
  return {
    language,
    texts,
    money: (cents) => (cents < 0 ? `-R$ ${number(-cents / 100, 2)}` : `R$ ${number(cents / 100, 2)}`),
    reais: (cents) => (cents <= -50 ? `-R$ ${number(-cents / 100)}` : `R$ ${number(cents / 100)}`),
    rate: (hundredths) => `${percent(hundredths)} ${texts.units.perMonth}`,
    annualRate: (hundredths) => `${percent(hundredths)} ${texts.units.perYear}`,
    points: (hundredths) => `${number(hundredths / 100, 2)} p.p.`,
    share: (share) => `${number(share * 100, 1)} %`,
    number,
    time: (at) => (at === null ? texts.none : time(at)),
    minute: (at) => time(at).slice(0, -':00.000'.length),
  };
}
