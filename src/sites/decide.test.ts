import { expect, test } from 'vitest';
import { Fleet, idOf, Registry } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { createSite, deleteSite, describeSite } from './decide.ts';
import { SITE, sitesModel } from './model.ts';

const who = { by: 'ann', nowMs: 7 };

function after(fleet: Fleet, decision: Decision<unknown>): Fleet {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  fleet.apply(fleet.revision + 1, decision.changes);
  return fleet;
}

function withSite(): Fleet {
  const fleet = new Fleet(new Registry([sitesModel]));
  return after(fleet, createSite(fleet, { name: 'edge-1', description: 'harbour', ...who }));
}

test('a-site-is-created-described-and-deleted', () => {
  const fleet = withSite();
  expect(fleet.get(SITE, idOf(SITE, 'edge-1'))?.doc).toEqual({
    name: 'edge-1',
    description: 'harbour',
    changedBy: 'ann',
    changedAtMs: 7,
  });
  after(fleet, describeSite(fleet, { name: 'edge-1', ...who }));
  expect(fleet.get(SITE, idOf(SITE, 'edge-1'))?.doc.description).toBeUndefined();
  after(fleet, deleteSite(fleet, { name: 'edge-1', uses: [{ what: 'hosts', count: () => 0 }] }));
  expect(fleet.count(SITE)).toBe(0);
});

test.each<[string, (fleet: Fleet) => Decision<unknown>, string]>([
  ['a second one of the same name', (fleet) => createSite(fleet, { name: 'edge-1', ...who }), 'site-exists'],
  ['describing one that is not there', (fleet) => describeSite(fleet, { name: 'mars', ...who }), 'unknown-site'],
  ['deleting one that is not there', (fleet) => deleteSite(fleet, { name: 'mars', uses: [] }), 'unknown-site'],
  [
    'deleting one that still holds hosts',
    (fleet) => deleteSite(fleet, { name: 'edge-1', uses: [{ what: 'hosts', count: () => 2 }] }),
    'site-in-use',
  ],
])('%s is refused', (_name, decide, code) => {
  expect(decide(withSite())).toMatchObject({ kind: 'refuse', refusal: { code } });
});
