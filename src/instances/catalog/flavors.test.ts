import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, type Change } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createFlavor, deleteFlavor, traitsProblem, type CreateFlavor } from './flavors.ts';
import { createGroup, deleteGroup, editGroup, type CreateGroup } from './groups.ts';
import {
  FLAVOR,
  GROUP,
  INSTANCE,
  INSTANCES_BY_FLAVOR,
  INSTANCES_BY_GROUP,
  type Flavor,
  type Instance,
} from '../model.ts';

const who = { by: 'ann', nowMs: 7 };
const SMALL: CreateFlavor = { name: 'small', vcpus: 2, memoryMiB: 4096, diskGiB: 20, ...who };
const WEB: CreateGroup = { name: 'web', project: 'default', policy: 'anti-affinity', ...who };

const INSTANCE_OF_BOTH: Instance = {
  name: 'i',
  project: 'default',
  flavor: 'small',
  amounts: { vcpus: 2, memoryMiB: 4096, diskGiB: 20 },
  place: { group: 'web' },
  state: 'active',
  nics: [],
  path: { create: 'conductor', bind: 'conductor' },
  attempts: [],
  attemptsMax: 3,
  wasActive: true,
  createdBy: 'ann',
  createdAtMs: 7,
  changedBy: 'ann',
  changedAtMs: 7,
};

function fleetWith(...changes: Change[]): Fleet {
  const model = { kinds: [FLAVOR, GROUP, INSTANCE], indexes: [INSTANCES_BY_FLAVOR, INSTANCES_BY_GROUP] };
  const fleet = new Fleet(new Registry([model]));
  fleet.apply(1, changes);
  return fleet;
}

function changesOf(decision: Decision<unknown>): readonly Change[] {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  return decision.changes;
}

const inUse = (): Fleet =>
  fleetWith(
    ...changesOf(createFlavor(fleetWith(), SMALL)),
    ...changesOf(createGroup(fleetWith(), WEB)),
    put(INSTANCE, idOf(INSTANCE, 'i'), INSTANCE_OF_BOTH),
  );

describe('flavors and server groups', () => {
  test('are-created-as-requested, and valid', () => {
    const [flavor] = changesOf(
      createFlavor(fleetWith(), { ...SMALL, requiredTraits: ['nvme'], resources: { gpu: 1 } }),
    );
    expect(flavor?.doc).toEqual({
      name: 'small',
      vcpus: 2,
      memoryMiB: 4096,
      diskGiB: 20,
      resources: { gpu: 1 },
      requiredTraits: ['nvme'],
      forbiddenTraits: [],
      changedBy: 'ann',
      changedAtMs: 7,
    });
    expect(FLAVOR.check(flavor?.doc)).toBeUndefined();
    const [group] = changesOf(createGroup(fleetWith(), WEB));
    expect(GROUP.check(group?.doc)).toBeUndefined();
  });

  test.each<[string, number, Instance['place'], object | undefined]>([
    ['within bounds', 63, { requiredTraits: ['b0'] }, undefined],
    ['named by both', 64, { requiredTraits: ['a0'] }, undefined],
    ['too many together', 64, { requiredTraits: ['b0'] }, { code: 'too-many-traits', field: '/requiredTraits' }],
    ['wanted by one, unwanted by the other', 1, { forbiddenTraits: ['a0'] }, { code: 'trait-contradiction' }],
  ])('traits of a flavor and of a request: %s', (_name, count, place, refusal) => {
    const requiredTraits = Array.from({ length: count }, (_, at) => `a${at}`);
    const [made] = changesOf(createFlavor(fleetWith(), { ...SMALL, requiredTraits }));
    const problem = traitsProblem(made?.doc as Flavor, place);
    if (refusal === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatchObject(refusal);
  });

  test('a-limit-on-the-moves-of-a-group-is-set, changed and cleared, and the same again changes nothing', () => {
    const [made] = changesOf(createGroup(fleetWith(), { ...WEB, movesAtOnce: 2 }));
    expect(made?.doc).toMatchObject({ movesAtOnce: 2 });
    const fleet = fleetWith(made as Change);
    const limit = (movesAtOnce: number | null) => editGroup(fleet, { name: 'web', movesAtOnce, by: 'bob', nowMs: 8 });
    expect(changesOf(limit(2))).toEqual([]);
    expect(changesOf(limit(3))[0]?.doc).toMatchObject({ movesAtOnce: 3, policy: WEB.policy, changedBy: 'bob' });
    expect(changesOf(limit(null))[0]?.doc).not.toHaveProperty('movesAtOnce');
    expect(changesOf(editGroup(inUse(), { name: 'web', movesAtOnce: null, by: 'bob', nowMs: 8 }))).toEqual([]);
  });

  test('what-nothing-uses-goes', () => {
    const fleet = fleetWith(
      ...changesOf(createFlavor(fleetWith(), SMALL)),
      ...changesOf(createGroup(fleetWith(), WEB)),
    );
    expect(changesOf(deleteFlavor(fleet, 'small'))).toEqual([{ kind: 'flavor', id: 'small', doc: null }]);
    expect(changesOf(deleteGroup(fleet, 'web'))).toEqual([{ kind: 'group', id: 'web', doc: null }]);
  });

  test.each<[string, (fleet: Fleet) => Decision<unknown>, string]>([
    ['a second flavor of the same name', (fleet) => createFlavor(fleet, SMALL), 'flavor-exists'],
    [
      'a trait that is wanted and unwanted',
      (fleet) => createFlavor(fleet, { ...SMALL, name: 'odd', requiredTraits: ['a', 'b'], forbiddenTraits: ['b'] }),
      'trait-contradiction',
    ],
    ['deleting an unknown flavor', (fleet) => deleteFlavor(fleet, 'mars'), 'unknown-flavor'],
    ['deleting a flavor that instances have', (fleet) => deleteFlavor(fleet, 'small'), 'flavor-in-use'],
    ['a second group of the same name', (fleet) => createGroup(fleet, WEB), 'group-exists'],
    [
      'limiting an unknown group',
      (fleet) => editGroup(fleet, { name: 'mars', movesAtOnce: 1, by: 'ann', nowMs: 7 }),
      'unknown-group',
    ],
    ['deleting an unknown group', (fleet) => deleteGroup(fleet, 'mars'), 'unknown-group'],
    ['deleting a group that has instances', (fleet) => deleteGroup(fleet, 'web'), 'group-in-use'],
  ])('%s is refused', (_name, decide, code) => {
    expect(decide(inUse())).toMatchObject({ kind: 'refuse', refusal: { code } });
  });
});
