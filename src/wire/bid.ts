/** The one message that matters most: incluir-lance, its exact bytes, and what the service's answer means (contract, incluir-lance). */
import { z } from 'zod';
import type { AmountCents, EpochMs, RateHundredths, RequestId } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import { decodeBy, describeFaults, needed } from './casing.ts';
import { numberOfDigits, parseJson } from './json.ts';
import { formatWallClock } from './local-time.ts';
import { readAmount, readDigits, readInstant, readInteger, readRate, readTerm, readText } from './values.ts';

export const bidPath = '/contrato/oferta-leilao/incluir-lance';

/** Contract, Bid contact: 0 = URL (mandatory), 1 = WhatsApp, 2 = telephone, 3 = e-mail. */
const contactTypes = { url: 0, whatsapp: 1, telephone: 2, email: 3 } as const;
export type ContactKind = keyof typeof contactTypes;
export type Contact = { kind: ContactKind; value: string };

const contactFormats: Record<ContactKind, { fits: (value: string) => boolean; expected: string }> = {
  url: { fits: isAddress, expected: 'a complete address that begins with https:// or http://' },
  whatsapp: { fits: isWhatsapp, expected: 'a telephone number followed by ?text= and a URL-encoded text' },
  telephone: {
    fits: (value) => /^\+?[\d ()-]{8,20}$/.test(value),
    expected: 'a telephone number of 8 to 20 characters',
  },
  email: { fits: (value) => z.email().safeParse(value).success, expected: 'an e-mail address' },
};

function isAddress(value: string): boolean {
  return /^https?:\/\/\S+$/.test(value) && URL.canParse(value);
}

function isWhatsapp(value: string): boolean {
  const text = /^\+?\d{8,15}\?text=((?:[A-Za-z0-9\-._~!*'()+]|%[0-9A-Fa-f]{2})+)$/.exec(value)?.[1];
  if (text === undefined) return false;
  try {
    return decodeURIComponent(text).length > 0;
  } catch {
    return false;
  }
}

/** What is wrong with the configured contacts; empty when they can be sent. */
export function checkContacts(contacts: readonly Contact[]): readonly string[] {
  const problems = contacts.flatMap((contact, index) => {
    const format = contactFormats[contact.kind];
    return format.fits(contact.value) ? [] : [`contact ${index + 1} (${contact.kind}) is not ${format.expected}`];
  });
  const hasAddress = contacts.some((contact) => contact.kind === 'url');
  return hasAddress ? problems : [...problems, 'no contact of kind url; the service requires at least one'];
}

/** The exact bytes of a bid. The same input always gives the same bytes. */
export function encodeBid(bid: {
  requestId: RequestId;
  offer: Pick<Offer, 'rateHundredths' | 'amountCents' | 'installments' | 'validUntil'>;
  contacts: readonly Contact[];
}): string {
  return JSON.stringify({
    numeroSolicitacao: numberOfDigits(bid.requestId),
    dataHoraValidadeLance: formatWallClock(bid.offer.validUntil),
    contatos: bid.contacts.map(({ kind, value }) => ({ contato: value, tipo: contactTypes[kind] })),
    valorLiberado: bid.offer.amountCents / 100,
    numeroParcelas: bid.offer.installments,
    valorTaxaMensal: bid.offer.rateHundredths / 100,
  });
}

export type Bid = {
  requestId: RequestId;
  validUntil: EpochMs;
  contacts: readonly Contact[];
  amountCents: AmountCents;
  installments: number;
  rateHundredths: RateHundredths;
  /** The rate had digits below a hundredth of a percent; `rateHundredths` is rounded up. */
  offGrid: boolean;
};

const contactKinds = Object.keys(contactTypes) as ContactKind[];

const bidSchema = z.object({
  numeroSolicitacao: needed(readDigits),
  dataHoraValidadeLance: needed(readInstant),
  contatos: z.array(z.object({ contato: needed(readText), tipo: needed(readInteger) })),
  valorLiberado: needed(readAmount),
  numeroParcelas: needed(readTerm),
  valorTaxaMensal: needed(readRate),
});

/** Reads a bid as the service does: shape, contact formats, and the rate's open interval (0.01, 4.98). */
export function decodeBid(text: string): { kind: 'bid'; bid: Bid } | { kind: 'refused'; problems: readonly string[] } {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return { kind: 'refused', problems: [parsed.text] };
  const decoded = decodeBy(bidSchema, parsed.value);
  if (decoded.kind === 'refused') return { kind: 'refused', problems: [describeFaults(decoded.faults)] };
  const { value } = decoded;
  const contacts = value.contatos.map(({ contato, tipo }) => ({ kind: contactKinds[tipo], value: contato }));
  const known = contacts.filter((contact): contact is Contact => contact.kind !== undefined);
  const problems = [...checkContacts(known)];
  if (known.length < contacts.length) problems.push('/contatos has a tipo that is none of 0, 1, 2, 3');
  const { rateHundredths, offGrid } = value.valorTaxaMensal;
  if (rateHundredths < 2) problems.push('/valorTaxaMensal is not greater than 0.01');
  if (problems.length > 0) return { kind: 'refused', problems };
  return {
    kind: 'bid',
    bid: {
      requestId: value.numeroSolicitacao,
      validUntil: value.dataHoraValidadeLance,
      contacts: known,
      amountCents: value.valorLiberado,
      installments: value.numeroParcelas,
      rateHundredths,
      offGrid,
    },
  };
}

/** Whether these are the exact bytes of the offer for the request, with contacts that a lender may have. Throws nothing. */
export function isBidOf(requestId: RequestId, offer: Parameters<typeof encodeBid>[0]['offer'], body: string): boolean {
  const read = decodeBid(body);
  return read.kind === 'bid' && encodeBid({ requestId, offer, contacts: read.bid.contacts }) === body;
}

/** The documented success. `bidId` absent: inside an auction it equals the request code. */
export function encodeBidAccepted(answer: { requestCode: string; bidId?: string; message: string }): string {
  return JSON.stringify({
    CodigoRequisicao: answer.requestCode,
    Origem: bidPath,
    Conteudo: { CodigoLanceLeilao: answer.bidId ?? answer.requestCode, Mensagem: answer.message },
  });
}
