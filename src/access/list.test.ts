import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import type { Index } from '../fleet/index.ts';
import { scansFleet, type Listing } from './list.ts';
import type { Caller } from './role.ts';

interface Doc {
  readonly name: string;
}

const INDEX = { name: 'by' } as unknown as Index<string, Doc>;
const indexed = { schema: Type.String(), of: () => [], index: INDEX };
const plain = { schema: Type.String(), of: () => [] };
const LISTING = { filters: { site: indexed, state: indexed, trait: plain }, sorts: {} } as unknown as Listing<'x', Doc>;
const WITHOUT_SITE = { ...LISTING, filters: { state: indexed } } as unknown as Listing<'x', Doc>;
const NAMED = { ...LISTING, nameIsId: true } as unknown as Listing<'x', Doc>;

const ANYBODY: Caller = { name: 'a', role: 'viewer' };
const BOUND: Caller = { ...ANYBODY, site: 's' };

describe('whether a page may mean looking through the whole kind', () => {
  test.each([
    ['a plain page', LISTING, { query: {}, caller: ANYBODY }, false],
    ['one filter with an index', LISTING, { query: { state: 'x' }, caller: ANYBODY }, false],
    ['one without', LISTING, { query: { trait: 'x' }, caller: ANYBODY }, true],
    [
      'one with and one without: what the index finds may all be sifted out',
      LISTING,
      { query: { state: 'x', trait: 'y' }, caller: ANYBODY },
      true,
    ],
    ['two with', LISTING, { query: { state: 'x', site: 'y' }, caller: ANYBODY }, true],
    ['a sort', LISTING, { query: { sort: 'zone' }, caller: ANYBODY }, true],
    ['a sort by a name that is the id', NAMED, { query: { sort: 'name' }, caller: ANYBODY }, false],
    ['a site-bound caller, found by site', LISTING, { query: {}, caller: BOUND }, false],
    ['a site-bound caller with a filter', LISTING, { query: { state: 'x' }, caller: BOUND }, true],
    ['a site-bound caller, not found by site', WITHOUT_SITE, { query: {}, caller: BOUND }, true],
  ])('%s', (_, listing, call, scans) => {
    expect(scansFleet(listing, call)).toBe(scans);
  });
});
