/** Figures as people read them: `3,32 % a.m.`, `R$ 1.234,56`, São Paulo's wall clock with its distance from UTC, for logs are UTC. */
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
  /** The same to the second, for what is over within minutes. */
  second: (at: number) => string;
  /** What a process says of itself has times as its log has them, in UTC: on a screen all of them are of one clock. */
  localTimes: (text: string) => string;
  /** A day that the service wrote as YYYY-MM-DD, and what follows it. */
  day: (text: string) => string;
};

const isoTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

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
  const time = (at: number, grain: 'minute' | 'second' | 'thousandth') => {
    const local = formatWallClock(at);
    const [day = '', wall = ''] = local.split('T');
    const thousandths = String(((at % 1_000) + 1_000) % 1_000).padStart(3, '0');
    const clock = {
      minute: wall.slice(0, 'hh:mm'.length),
      second: wall,
      thousandth: `${wall}${point}${thousandths}`,
    }[grain];
    const hours = Math.round((Date.parse(`${local}Z`) - at) / 3_600_000);
    const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}`;
    return `${language === 'pt' ? day.split('-').reverse().join('/') : day} ${clock} ${zone}`;
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
    time: (at) => (at === null ? texts.none : time(at, 'thousandth')),
    minute: (at) => time(at, 'minute'),
    second: (at) => time(at, 'second'),
    localTimes: (text) => text.replace(isoTime, (found) => time(Date.parse(found), 'thousandth')),
    day: (text) => (language === 'pt' ? text.replace(/^(\d{4})-(\d\d)-(\d\d)/, '$3/$2/$1') : text),
  };
}
