// A transaction on a SQLite connection. Nothing may await inside one: everything on the connection would be part of it.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

export class SqliteTransactions {
  readonly #database: DatabaseSync;
  readonly #begin: Readonly<Record<'read' | 'write', StatementSync>>;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    // The write lock is taken at the beginning: a transaction that read first could find it had read too early.
    this.#begin = { read: database.prepare('BEGIN'), write: database.prepare('BEGIN IMMEDIATE') };
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
  }

  run<T>(kind: 'read' | 'write', work: () => T): T {
    this.#begin[kind].run();
    try {
      const answer = work();
      this.#commit.run();
      return answer;
    } catch (error) {
      // SQLite has rolled back by itself after some errors, such as a full disk.
      if (this.#database.isTransaction) this.#rollback.run();
      throw error;
    }
  }
}
