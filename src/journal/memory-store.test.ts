import { storeContract } from './contract/store-contract.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';

storeContract('memory', async () => {
  let nowMs = 1_000_000;
  const disk = new MemoryDisk({ journalId: 'journal-1', nowMs: () => nowMs });
  return {
    store: new MemoryStore(disk),
    another: async () => new MemoryStore(disk),
    pass: async (ms) => {
      nowMs += ms;
    },
    shortTtlMs: 10_000,
    sessions: 'end-with-store',
    close: async () => {},
  };
});
