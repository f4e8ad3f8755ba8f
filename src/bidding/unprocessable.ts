/**
 * The boundary between a record that cannot be processed and a defect of ours or a fault of the world. What is computed from one
 * stored record runs inside; input and output, and assertions on our own state, stay outside.
 */
import { AssertionError } from 'node:assert';
import { Fault } from '../errors.ts';

/**
 * Why nothing could be made of the record, in words that quote nothing of it. Throws the fault again where it is not about the
 * record: an assertion, or an operational fault other than a seal that does not open.
 */
export function problemOf(fault: unknown): string {
  if (fault instanceof AssertionError) throw fault;
  if (fault instanceof Fault) {
    if (fault.code === 'sealed-unreadable') return fault.message;
    throw fault;
  }
  // Messages of the engine may quote the value that they are about.
  return fault instanceof Error ? fault.name : 'something was thrown';
}
