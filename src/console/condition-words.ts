/** Conditions of rules in the words of the page, as people read them; pure. What is not understood stands there as it is written. */
import { factNamed } from '../rules/facts.ts';
import type { Json } from '../rules/json.ts';
import { type Operator, operatorSigns } from '../rules/operators.ts';
import { isObject } from '../rules/place.ts';
import { type Html, html, outside } from './html.ts';
import type { Shown } from './pages.ts';

/** Rules have fewer; what somebody made up has no end. */
const mostDepth = 12;
const mostParts = 100;
const mostValues = 20;

type Words = Pick<Shown, 'texts' | 'format' | 'language'>;

const asWritten = (value: Json): Html => html`<code>${outside(JSON.stringify(value))}</code>`;

export function conditionWords(shown: Words, condition: Json, depth = 0): Html {
  const { conditions: words } = shown.texts;
  if (!isObject(condition) || depth > mostDepth) return asWritten(condition);
  const { all, any, not, of, atLeast } = condition;
  const list = (lead: string, parts: readonly Json[]) => group(shown, lead, parts, depth);
  if (Array.isArray(all)) return all.length === 1 ? conditionWords(shown, all[0]!, depth + 1) : list(words.all, all);
  if (Array.isArray(any)) return any.length === 1 ? conditionWords(shown, any[0]!, depth + 1) : list(words.any, any);
  if (Array.isArray(of) && atLeast !== undefined) return list(words.atLeast(String(atLeast)), of);
  if (not !== undefined) return list(words.not, [not]);
  if (typeof condition.condition === 'string') return html`${words.named} ${outside(condition.condition)}`;
  return comparisonWords(shown, condition);
}

function group(shown: Words, lead: string, parts: readonly Json[], depth: number): Html {
  const { conditions: words } = shown.texts;
  const left = parts.length - mostParts;
  return html`<span>${lead}</span><ul class="conditions">${parts.slice(0, mostParts).map((part) => html`<li>${conditionWords(shown, part, depth + 1)}</li>`)}${left > 0 && html`<li>${words.more(String(left))}</li>`}</ul>`;
}

function comparisonWords(shown: Words, condition: { [key: string]: Json }): Html {
  const { facts } = shown.texts;
  const { fact, operator, value, path } = condition;
  if (typeof fact !== 'string' || typeof operator !== 'string' || value === undefined || path !== undefined)
    return asWritten(condition);
  const said = operatorWords(shown, operator);
  if (said === null) return asWritten(condition);
  const { name, text } = said;
  if (typeof value === 'boolean' && (name === 'equal' || name === 'notEqual')) {
    const isTrue = value === (name === 'equal');
    if (fact === 'desk.always' && isTrue) return html`${facts['desk.always']}`;
    return html`${outside(factWords(shown, fact))}: ${isTrue ? shown.format.texts.yes : shown.format.texts.no}`;
  }
  return html`${outside(factWords(shown, fact))} ${text} ${valueWords(shown, fact, value)}`;
}

/** Null: it is put together of several, as `everyFact:in`. */
function operatorWords({ texts }: Words, written: string): { name: Operator; text: string } | null {
  const { operators } = texts.conditions;
  const name = Object.hasOwn(operatorSigns, written) ? operatorSigns[written]! : written;
  return Object.hasOwn(operators, name) ? { name: name as Operator, text: operators[name as Operator] } : null;
}

/** What a fact is called; of one that a set makes itself, its own name. */
export function factWords({ texts }: Pick<Words, 'texts'>, name: string): string {
  const { facts, conditions: words } = texts;
  const known: Readonly<Record<string, string>> = facts;
  if (Object.hasOwn(known, name)) return known[name]!;
  const [start, one = '', ...rest] = name.split('.');
  const more = rest.join('.');
  if (start === 'list') return `${words.list} ${one}`;
  if (start === 'score') return `${words.score} ${one}`;
  if (start === 'extra') return `${words.extra} ${[one, ...rest].join('.')}`;
  if (start === 'values') return words.values(more, one);
  if (start === 'source') return words.source(more, one);
  return name;
}

function valueWords(shown: Words, fact: string, value: Json): Html {
  if (isObject(value)) {
    const { fact: other } = value;
    return typeof other === 'string' ? html`${outside(factWords(shown, other))}` : asWritten(value);
  }
  if (!Array.isArray(value)) return html`${outside(scalarText(shown, fact, value))}`;
  const left = value.length - mostValues;
  const texts = value.slice(0, mostValues).map((each) => scalarText(shown, fact, each));
  return html`${outside(texts.join(', '))}${left > 0 && html` ${shown.texts.conditions.more(String(left))}`}`;
}

function scalarText({ texts, format, language }: Words, fact: string, value: Json): string {
  if (typeof value === 'boolean') return value ? format.texts.yes : format.texts.no;
  if (typeof value === 'string') {
    const named: Readonly<Record<string, string>> = texts.factValues;
    return factNamed(fact)?.values != null && Object.hasOwn(named, value) ? named[value]! : `“${value}”`;
  }
  if (typeof value !== 'number') return JSON.stringify(value);
  const unit = factNamed(fact)?.unit ?? '';
  if (/^R\$/.test(unit)) return format.money(Math.round(value * 100));
  if (unit.startsWith('share')) return format.share(value);
  // Codes are no amounts, so nothing stands between their digits.
  const options = { useGrouping: false, maximumFractionDigits: 6 };
  const text = new Intl.NumberFormat(language === 'pt' ? 'pt-BR' : 'en', options).format(value);
  return unit.startsWith('%') ? `${text} %` : text;
}

/** A condition as the report of the tests writes it: `worker.ageYears lessThan 21`. */
export function writtenConditionWords(shown: Words, written: string): Html {
  const { conditions: words } = shown.texts;
  if (written === 'any row, in a test that is not generated') return html`${words.anyRow}`;
  const known = /^(\S+) is known$/.exec(written);
  if (known !== null) return html`${outside(words.known(factWords(shown, known[1]!)))}`;
  const [, fact, operator, right] = /^(\S+) (\S+) (.+)$/s.exec(written) ?? [];
  const value = fact === undefined ? undefined : rightSide(right!);
  return value === undefined
    ? html`<code>${outside(written)}</code>`
    : conditionWords(shown, { fact: fact!, operator: operator!, value });
}

/** A fact stands there by its name, all else as JSON; undefined: it was cut. */
function rightSide(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return /^[a-z]+\.\S+$/.test(text) && !text.endsWith('…') ? { fact: text } : undefined;
  }
}
