/** Names and CPFs in every form that people write them in, put into every place of a body; and how to find them again in bytes. */

/** Made up; its check digits hold. */
export const plantedCpf = '91582575436';
const name = 'Zulmira Plantada';

/** Each in a form of its own, told apart by a mark, so that what is found says what it was. */
const cpfForms = [
  plantedCpf,
  '915.825.754-36',
  '915 825 754 36',
  '915.825.754/36',
  '９１５８２５７５４３６',
  `000${plantedCpf}`,
  `CPF:${plantedCpf}.`,
  '915-825-754-36',
];
const nameForms = [name, name.toUpperCase(), 'zulmira_plantada', 'Plantada, Zulmira', 'ZULMIRA'];
const forms = [...cpfForms, ...nameForms];

const keys = ['titular', 'observacao', 'rua', 'texto', 'campo', 'valor', 'responsavel', 'x'];

/** An object that says each form under each key, as a key, in a list and deeper. */
export function plantedFields(): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [index, form] of forms.entries()) {
    fields[`${keys[index % keys.length]}${index}`] = form;
    fields[form] = `under a key ${index}`;
  }
  fields.rua = `Rua ${name}, 7`;
  fields.lista = forms;
  fields.dentro = { titular: name, mais: { [plantedCpf]: name, numero: Number(plantedCpf) } };
  return fields;
}

export const plantedText = forms.join(' | ');

/** What must not be found: decimal digits in any writing, and the name. */
export function plantedIn(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  const found = ['zulmira', 'plantada'].filter((part) => plain.includes(part));
  const digits = /9\D{0,2}1\D{0,2}5\D{0,2}8\D{0,2}2\D{0,2}5\D{0,2}7\D{0,2}5\D{0,2}4\D{0,2}3\D{0,2}6/;
  const match = digits.exec(plain);
  return match === null ? found : [...found, `CPF: …${plain.slice(Math.max(0, match.index - 60), match.index + 30)}…`];
}
