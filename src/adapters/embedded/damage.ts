/** A file that SQLite cannot read any more is told from one that is only busy or full: nobody goes on with it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Fault } from '../../errors.ts';
import { isUnreadable, sqliteCode, sqliteNotADatabase } from '../../state/sqlite.ts';
import type { StoreFault } from './writer-messages.ts';

const sqliteError = 1;

/** An error as SQLite throws it, or a fault of ours, from what another thread told of one. */
export function storeError({ message, errcode, code }: StoreFault): Error {
  if (code !== null) return new Fault(code, message);
  return errcode === null ? new Error(message) : Object.assign(new Error(message), { errcode });
}

/** The fault to end with where `cause` says that the file is damaged; else null. */
export function damageIn(path: string, cause: unknown): Fault | null {
  if (!(cause instanceof Error)) return null;
  if (cause instanceof Fault && cause.code === 'store-damaged') return cause;
  const code = sqliteCode(cause);
  const lacksTable = code === sqliteError && /^no such table/.test(cause.message);
  if (!isUnreadable(cause) && !lacksTable) {
    return cause.cause === undefined ? null : damageIn(path, cause.cause);
  }
  return new Fault(
    code === sqliteNotADatabase ? 'data-directory-unusable' : 'store-damaged',
    `The file ${path} is damaged (${cause.message}). Keep a copy of the directory, put back a backup of all its files, and accept it with: lance audit accept-restore --by NAME --reason TEXT.`,
    cause,
  );
}

/** Tells `onDamage` of every statement that finds the file damaged, whatever its caller makes of the fault. */
export function watchDamage(database: DatabaseSync, path: string, onDamage: (fault: Fault) => void): DatabaseSync {
  const prepare = database.prepare.bind(database);
  const watched = <A extends unknown[], R>(run: (...args: A) => R) => {
    return (...args: A): R => {
      try {
        return run(...args);
      } catch (fault) {
        return raise(fault);
      }
    };
  };
  const raise = (fault: unknown): never => {
    const damage = damageIn(path, fault);
    if (damage === null) throw fault;
    onDamage(damage);
    throw damage;
  };
  /** Pages are read while the rows are taken, not when the statement is run. */
  const watchedRows = (iterate: StatementSync['iterate']): StatementSync['iterate'] =>
    function* (...args: Parameters<StatementSync['iterate']>) {
      try {
        yield* iterate(...args);
      } catch (fault) {
        raise(fault);
      }
    } as StatementSync['iterate'];
  database.prepare = watched((sql: string): StatementSync => {
    const statement = prepare(sql);
    return Object.assign(statement, {
      all: watched(statement.all.bind(statement)),
      get: watched(statement.get.bind(statement)),
      run: watched(statement.run.bind(statement)),
      iterate: watchedRows(statement.iterate.bind(statement)),
    });
  }) as DatabaseSync['prepare'];
  return database;
}
