/**
 * `--cpf`: whose requests or flows are listed. The CPF is looked for by its pseudonym. It is not checked where options are, for what is wrong
 * there is printed, and no text here quotes it.
 */
import { Fault } from '../errors.ts';
import { workerKeyOf } from '../wire/identity.ts';
import { typedCpf } from '../wire/values.ts';
import { noteOffline } from './offline-reading.ts';
import { type CommandWorld, type DeskReader, vaultOf } from './world.ts';

/**
 * The pseudonym of the worker; undefined: none was asked for. `-` reads the CPF from standard input. Who looks for it is recorded: `by`, or
 * the user of this machine. Rejects with `option-missing` where it is
 * none, `configuration-invalid` without the key, and `pseudonym-key-changed` under another one.
 */
export async function workerKeyIn(
  world: CommandWorld,
  reader: Pick<DeskReader, 'log' | 'ruleBook'>,
  { cpf: given, by }: { cpf?: string | undefined; by?: string | undefined },
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const vault = await vaultOf(world, reader);
  const { help } = world.format.texts;
  const written = given === '-' ? await world.readLine(help.cpfAwaited) : given;
  const cpf = typedCpf(written);
  if (cpf === null) throw new Fault('option-missing', help.noCpf);
  const workerKey = workerKeyOf(vault, cpf);
  await noteOffline(world, reader, by, { what: 'worker-searched', workerKey });
  return workerKey;
}
