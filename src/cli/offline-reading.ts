/** Who reads personal data beside the store. It is recorded before anything is shown or written: what cannot be recorded is not read. */
import { userInfo } from 'node:os';
import { notePersonalRead, type PersonalRead } from '../operating/personal-reads.ts';
import type { CommandWorld, DeskReader } from './world.ts';

/** The user of this machine, for whom nobody was named. */
export function machineUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** `by`: the name that was typed; undefined: none was. Rejects with `log-unavailable`. */
export async function noteOffline(
  { clock }: Pick<CommandWorld, 'clock'>,
  { ruleBook }: Pick<DeskReader, 'ruleBook'>,
  by: string | undefined,
  read: PersonalRead,
): Promise<void> {
  await notePersonalRead({ ruleBook, clock }, { by: by ?? machineUser(), via: 'offline' }, read);
}
