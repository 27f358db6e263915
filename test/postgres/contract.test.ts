import { setTimeout } from 'node:timers/promises';
import { beforeAll } from 'vitest';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { storeContract } from '../../src/journal/contract/store-contract.ts';
import type { Store } from '../../src/journal/store.ts';
import { freshDatabase, postgresSuite } from './suite.ts';

postgresSuite('postgres-contract', (postgres) => {
  let url: string;
  let schemas = 0;
  beforeAll(async () => {
    url = await freshDatabase(postgres.url);
  });

  storeContract('PostgreSQL', async () => {
    schemas += 1;
    const schema = `Journal "${schemas}"`;
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = await openPostgresStore({ connectionString: url, schema });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      another: open,
      pass: (ms) => setTimeout(ms),
      shortTtlMs: 1000, // a busy machine may take half of it between two calls
      sessions: 'end-with-store',
      close: async () => {
        await Promise.all(opened.map((store) => store.close()));
      },
    };
  });
});
