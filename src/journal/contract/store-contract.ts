// The one contract of the store port. Every implementation passes all of it: memory, SQLite, PostgreSQL.
import { describe } from 'vitest';
import { chainContract } from './chain.ts';
import { leaseContract } from './leases.ts';
import { readingContract } from './reading.ts';
import type { MakeWorld } from './world.ts';
import { writingContract } from './writing.ts';

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
