/** Which identifiers name one employer: roots, whole CNPJs and numbers that have lost their leading zeros. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { companyRootOf, employerKeyOf, isSameEmployer, otherEmployerKeyOf } from '../../src/domain/employer.ts';

const cnpj = (employerId: string) => ({ employerId, employerIdType: 1 });
const cpf = (employerId: string) => ({ employerId, employerIdType: 2 });

test('a number that has lost its leading zeros is the employer that was sent, as a root and as a whole CNPJ', () => {
  for (const [sent, came] of [
    ['00000000000191', '191'],
    ['00000000000272', '272'],
    ['00.000.000/0001-91', '191'],
    ['00000001000191', '1000191'],
    ['00012345000199', '12345000199'],
    ['00000208000100', '208000100'],
    ['00012345', '12345'],
    ['00000191', '191'],
    ['191', '191'],
    ['00000000', '0'],
    ['00000000', '191'],
    ['00000000000191', '0'],
    ['00000000000191', '00000000'],
    ['12345678', '12345678000195'],
    ['12abc345', '12ABC345000100'],
  ] as const) {
    assert(isSameEmployer(cnpj(sent), cnpj(came)), `${sent} and ${came}`);
    assert(isSameEmployer(cnpj(came), cnpj(sent)), `${came} and ${sent}`);
  }
  assert(isSameEmployer(cpf('00000000191'), cpf('191')));
});

test('another number is another employer, and so are a root and a whole CNPJ that both show their zeros', () => {
  for (const [one, other] of [
    ['00000000000191', '00000191'],
    ['00000000000191', '12345'],
    ['00000000', '12345'],
    ['191', '272'],
    ['00012345', '123450'],
    ['00000001000191', '1000272'],
    ['12345678000195', '12345679'],
  ] as const) {
    assert(!isSameEmployer(cnpj(one), cnpj(other)), `${one} and ${other}`);
    assert(!isSameEmployer(cnpj(other), cnpj(one)), `${other} and ${one}`);
  }
  assert(!isSameEmployer(cpf('00000000191'), cnpj('191')));
});

test('the key of an identifier stays as earlier versions stored it; only a short number has another one', () => {
  for (const [employerId, key, other] of [
    ['00000000000191', 'cnpj:00000000', null],
    ['191', 'cnpj:00000191', 'cnpj:00000000'],
    ['00000191', 'cnpj:00000191', null],
    ['12345', 'cnpj:00012345', null],
    ['12345678', 'cnpj:12345678', null],
    ['12345678000195', 'cnpj:12345678', null],
    ['0', 'cnpj:00000000', null],
  ] as const) {
    assert.equal(employerKeyOf(cnpj(employerId)), key);
    assert.equal(otherEmployerKeyOf(cnpj(employerId)), other, employerId);
  }
  assert.deepEqual([employerKeyOf(cpf('191')), otherEmployerKeyOf(cpf('191'))], ['cpf:00000000191', null]);
});

test('a company has one root for all its branches, and none where its number is in doubt', () => {
  for (const [employerId, employerIdType, root] of [
    ['11222333000181', 1, '11222333'],
    ['11.222.333/0002-62', 1, '11222333'],
    ['11222333000262', null, '11222333'],
    ['11222333', 1, '11222333'],
    ['00000191', 1, '00000191'],
    ['12345', 1, '00012345'],
    ['12345000199', 1, '00012345'],
    ['12abc345000100', 1, '12ABC345'],
    // The root 191, or the whole number 00000000000191.
    ['191', 1, null],
    // A CPF, or a CNPJ without its leading zeros.
    ['52998224725', null, null],
    ['529.982.247-25', null, null],
    ['11222333', null, null],
    ['52998224725', 2, null],
    ['', 1, null],
    ['112223330001811', 1, null],
  ] as const)
    assert.equal(companyRootOf({ employerId, employerIdType }), root, employerId);
});
