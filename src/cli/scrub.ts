/** Takes the worker's name and CPF out of texts that the service wrote, before anybody sees them. */
import type { RequestId } from '../domain/glossary.ts';
import type { Answered, Contemplated, Proposed } from '../domain/records.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { withoutCpf, withoutKnownCpf } from '../wire/hidden-cpf.ts';
import { parseJson } from '../wire/json.ts';
import { errorsOf } from '../wire/service-errors.ts';
import type { CommandWorld } from './world.ts';

export type Scrubber = {
  /** Text of the service without personal data; a sentence instead of it when that cannot be told. */
  text: (text: string) => string;
  /** The same of the service's answer to the bid. */
  answer: (response: Response) => string;
  /** What the service said against a winner; of what is sealed, without the key, the codes alone. */
  errors: (event: WinnerEvent) => readonly string[];
};

type WinnerEvent = Pick<Contemplated | Proposed, 'requestCode' | 'errors' | 'sealed'>;
type Response = NonNullable<Answered['response']>;

const shortestPart = 3;
const maxLength = 600;

/** The sealed identity says what to look for; without its key, nothing the service wrote is shown. */
export function createScrubber(
  world: CommandWorld,
  requestId: RequestId,
  sealed: string | null,
  pseudonymKey: string | null,
): Scrubber {
  const { withheld, unreadable } = world.format.texts.show;
  const saying = (sentence: string): Scrubber => ({
    text: () => sentence,
    answer: () => sentence,
    errors: ({ errors, sealed: body }) => (body === undefined ? errors.map(() => sentence) : errors),
  });
  if (pseudonymKey === null || sealed === null) return saying(withheld);
  const vault = world.createVault(pseudonymKey);
  let person: Person;
  try {
    person = personIn(vault.open(sealedPlaces.request(requestId), sealed));
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return saying(unreadable);
    throw fault;
  }
  const blotted = (text: string) => withoutPerson(text, person);
  // How a request is asked for: it stays, also where it looks like a CPF.
  const isHidden = blotted(requestId) !== requestId;
  const ownId = new RegExp(`(?<!\\p{N})${RegExp.escape(requestId)}(?!\\p{N})`, 'gu');
  /** First blotted out and then cut: a part of a name or of a CPF would not be known for one. */
  function scrubbed(text: string): string {
    const plain = unescaped(text).normalize('NFC');
    const shown = isHidden ? plain.split(ownId).map(blotted).join(requestId) : blotted(plain);
    return shown.length > maxLength ? `${shown.slice(0, maxLength)} …` : shown;
  }
  return {
    text: scrubbed,
    answer: ({ body, sealedBody }) =>
      scrubbed(sealedBody ? vault.open(sealedPlaces.bidAnswer(requestId), sealedBody) : (body ?? '')),
    errors: ({ requestCode, errors, sealed: body }) => {
      if (body === undefined) return errors.map(scrubbed);
      const read = parseJson(vault.open(sealedPlaces.callback(requestCode), body));
      return (read.kind === 'parsed' ? errorsOf(read.value) : [])
        .map(({ code, text }) => [code, text].filter((part) => part !== null).join(': '))
        .map(scrubbed);
    },
  };
}

/** `names`: the name as a whole first, then its parts. */
type Person = { cpf: string; names: readonly RegExp[] };

function personIn(sealedText: string): Person {
  const { identity } = JSON.parse(sealedText) as { identity?: { cpf?: string | null; name?: string | null } };
  const words = (identity?.name ?? '').split(/\s+/);
  const names = [words, ...words.map((word) => [word])]
    .map((group) => group.map(withoutMarks).filter((word) => word !== ''))
    .filter((group) => group.join(' ').length >= shortestPart)
    .map((group) => new RegExp(group.map(inAnyAccents).join('\\s+'), 'giu'));
  return { cpf: identity?.cpf ?? '', names };
}

function withoutMarks(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '');
}

function inAnyAccents(word: string): string {
  return Array.from(word, (letter) => `${RegExp.escape(letter)}\\p{M}*`).join('');
}

function withoutPerson(text: string, { cpf, names }: Person): string {
  let shown = withoutCpf(withoutKnownCpf(text, cpf)).normalize('NFD');
  for (const name of names) shown = shown.replaceAll(name, '***');
  return shown.normalize('NFC');
}

/** With the letters and digits that JSON may write as `\uXXXX`, also JSON inside of JSON. */
function unescaped(text: string): string {
  return text.replaceAll(/\\+u([0-9a-f]{4})/gi, (whole, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return /[\p{L}\p{M}\p{N}]/u.test(character) ? character : whole;
  });
}
