/** Takes the worker's name and CPF out of texts that the service wrote, before anybody sees them. */
import type { RequestId } from '../domain/glossary.ts';
import type { Answered, Contemplated, Proposed } from '../domain/records.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
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
  let parts: string[];
  try {
    parts = personalParts(vault.open(sealedPlaces.request(requestId), sealed));
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return saying(unreadable);
    throw fault;
  }
  function scrubbed(text: string): string {
    let shown = text
      .slice(0, maxLength)
      .replace(/(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)/g, (digits) => (digits === requestId ? digits : '***'));
    for (const part of parts) shown = shown.replaceAll(new RegExp(RegExp.escape(part), 'giu'), '***');
    return text.length > maxLength ? `${shown} …` : shown;
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

function personalParts(sealedText: string): string[] {
  const { identity } = JSON.parse(sealedText) as { identity?: { cpf?: string | null; name?: string | null } };
  const name = identity?.name ?? '';
  const parts = [name, ...name.split(/\s+/), identity?.cpf ?? ''];
  return parts.filter((part) => part.length >= shortestPart);
}
