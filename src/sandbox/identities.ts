/** Made-up people and companies whose numbers pass the checks: CPF, and CNPJ with digits or, since July 2026, letters. */
import type { Chance } from '../domain/clock.ts';
import { integerIn, oneOf } from './chance.ts';

/** Check digit by weights 2, 3, … `highest`, counted from the right and starting over. */
function checkDigit(values: readonly number[], highest: number): number {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) {
    sum += values[values.length - 1 - index]! * (2 + (index % (highest - 1)));
  }
  const rest = sum % 11;
  return rest < 2 ? 0 : 11 - rest;
}

/** CPF of 11 digits; leading zeros happen. */
export function madeUpCpf(chance: Chance): string {
  const digits = Array.from({ length: 9 }, () => integerIn(chance, 0, 9));
  // Nine equal digits pass the sum and are refused by every check.
  if (digits.every((digit) => digit === digits[0])) digits[8] = (digits[8]! + 1) % 10;
  digits.push(checkDigit(digits, 10));
  digits.push(checkDigit(digits, 12));
  return digits.join('');
}

/** 11 digits whose check digits hold. */
export function isCpf(text: unknown): text is string {
  if (typeof text !== 'string' || !/^\d{11}$/.test(text) || /^(\d)\1*$/.test(text)) return false;
  const digits = [...text].map(Number);
  return (
    checkDigit(digits.slice(0, 9), 10) === digits[9] &&
    // The first check digit counts for the second.
    checkDigit(digits.slice(0, 10), 12) === digits[10]
  );
}

const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ';

/** CNPJ of 14 characters. Letters count by their character code less 48, as digits do. */
export function madeUpCnpj(chance: Chance, alphanumeric: boolean): string {
  let text = String(integerIn(chance, 1, 9));
  for (let index = 1; index < 8; index += 1) {
    text += alphanumeric && chance() < 0.5 ? oneOf(chance, [...letters]) : String(integerIn(chance, 0, 9));
  }
  text += '0001';
  const values = [...text].map((character) => character.charCodeAt(0) - 48);
  values.push(checkDigit(values, 9));
  values.push(checkDigit(values, 9));
  return text + values.slice(12).join('');
}

const firstNames = [
  'Ana',
  'Bruno',
  'Carla',
  'Davi',
  'Elisa',
  'Fábio',
  'Gabriela',
  'Hugo',
  'Iara',
  'João',
  'Lívia',
  'Mateus',
];
const lastNames = [
  'Almeida',
  'Barbosa',
  'Cardoso',
  'Dias',
  'Esteves',
  'Ferreira',
  'Gomes',
  'Lima',
  'Moraes',
  'Nunes',
  'Rocha',
];
const trades = [
  'Comercial',
  'Serviços',
  'Construções',
  'Alimentos',
  'Logística',
  'Têxtil',
  'Agropecuária',
  'Engenharia',
];

export function madeUpName(chance: Chance): string {
  return `${oneOf(chance, firstNames)} ${oneOf(chance, lastNames)} ${oneOf(chance, lastNames)}`;
}

export function madeUpCompany(chance: Chance): string {
  return `${oneOf(chance, lastNames)} & ${oneOf(chance, lastNames)} ${oneOf(chance, trades)} Ltda`;
}
