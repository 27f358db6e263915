// What keeps a host from leaving, found without planning for tenants that cannot end with it.
import { expect, test } from 'vitest';
import { evacuatorOf, fleetOf } from '../preview/preview-fixture.ts';
import { isEmpty, findBlockingTenants } from './evidence.ts';

const ENDS = { kind: 'ends' } as const;
const AT = { host: 'c1', nowMs: 1 };

test('never: a host counts as empty because its first tenants end with it', () => {
  const services = evacuatorOf({
    name: 'services',
    kind: 'service',
    on: { c1: ['s1', 's2'] },
    evacuations: { s1: ENDS },
  });
  expect(isEmpty(fleetOf('c1', 'c2'), [services], AT)).toBe(false);
  expect(findBlockingTenants(fleetOf('c1', 'c2'), [services], { ...AT, enough: 1 })).toEqual([
    { kind: 'service', id: 's2' },
  ]);
});

test('tenants-that-end-with-the-host-do-not-keep-it, however many there are', () => {
  const ids = Array.from({ length: 250 }, (_, nth) => `s${nth}`);
  const evacuations = Object.fromEntries(ids.map((id) => [id, ENDS]));
  const services = evacuatorOf({ name: 'services', kind: 'service', on: { c1: ids }, evacuations });
  expect(isEmpty(fleetOf('c1', 'c2'), [services], AT)).toBe(true);
});

test('what-never-ends-with-its-host-is-not-planned-for', () => {
  const instances = evacuatorOf({ name: 'instances', kind: 'instance', on: { c1: ['a', 'b', 'c'] } });
  const unplanned = {
    ...instances,
    plan: () => {
      throw new Error('planned');
    },
  };
  expect(findBlockingTenants(fleetOf('c1'), [unplanned], { ...AT, enough: 2 }).map(({ id }) => id)).toEqual(['a', 'b']);
});
