/** The cap book in memory is held to the suite of all cap books. */
import { createMemoryCapBook } from '../../src/state/memory-cap-book.ts';
import { testCapBook } from '../conformance/cap-book.ts';

let names = 0;
const newName = () => {
  names += 1;
  return String(names);
};

testCapBook({ name: 'memory', create: async () => createMemoryCapBook({ server: newName(), newName }) });
