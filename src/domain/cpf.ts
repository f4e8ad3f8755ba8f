/** Which eleven digits are a CPF: the one rule for what is read, sent, typed, and hidden. */
import { cpf as cpfRules } from 'cpf-cnpj-validator';

/** The validator refuses it beside the CPFs of one digit, as made up. Its check digits hold, and it may be somebody's. */
const countedUp = '12345678909';

/** Eleven digits, or those with their points and dash, whose check digits hold; not one digit eleven times. */
export function isCpf(text: string): boolean {
  return cpfRules.isValid(text, true) || text.replaceAll(/[.-]/g, '') === countedUp;
}
