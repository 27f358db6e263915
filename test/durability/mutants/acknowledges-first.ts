// A planted bug: it acknowledges a group and writes it afterwards. The tests of durability must find it.
import type { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '../../../src/journal/sqlite/schema.ts';
import { SqliteStore } from '../../../src/journal/sqlite/store.ts';
import type { CommitGroup, Store, WriteAnswer } from '../../../src/journal/store.ts';

class AcknowledgesFirst extends SqliteStore {
  #promised: number;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(database: DatabaseSync) {
    super(database, Date.now);
    this.#promised = Number(database.prepare('SELECT revision FROM head').get()?.['revision']);
  }

  override async write(group: CommitGroup): Promise<WriteAnswer> {
    await this.#writing;
    this.#promised += group.batches.length;
    this.#writing = new Promise((resolve) => {
      setImmediate(() => resolve(super.write(group)));
    });
    return { kind: 'written', revision: this.#promised };
  }

  override async close(): Promise<void> {
    await this.#writing;
    await super.close();
  }
}

export async function openAcknowledgesFirst(path: string): Promise<Store> {
  return new AcknowledgesFirst(openDatabase(path, () => 'journal-that-acknowledges-first'));
}
