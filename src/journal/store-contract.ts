// The one contract of the store port. Every implementation passes all of it: memory, SQLite, PostgreSQL.
import { describe } from 'vitest';
import { chainContract } from './store-contract-chain.ts';
import { leaseContract } from './store-contract-leases.ts';
import { readingContract } from './store-contract-reading.ts';
import type { MakeWorld } from './store-contract-world.ts';
import { writingContract } from './store-contract-writing.ts';

export function storeContract(name: string, make: MakeWorld): void {
  describe(`${name} store, writing`, () => {
    writingContract(make);
  });
  describe(`${name} store, reading`, () => {
    readingContract(make);
  });
  describe(`${name} store, hash chain`, () => {
    chainContract(make);
  });
  describe(`${name} store, leases`, () => {
    leaseContract(make);
  });
}
