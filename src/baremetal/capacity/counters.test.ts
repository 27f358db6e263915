// The figures must agree with the documents and with each other, after every change, in whatever order changes come and are taken back.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALARM, alarmId } from '../../alarms/index.ts';
import { idOf, LongTrial, put, remove, Stage, type Change, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { BUCKETS, INVENTORY_UNREACHABLE, NODE, NODE_STATES, type Bucket, type Node } from '../model.ts';
import { countStages } from '../matching/choose.ts';
import { nodeIndexOf } from '../matching/node-index.ts';
import { NO_REQUIREMENTS } from '../matching/requirements.ts';
import { newFleet, node, putNode, putSite, USED } from '../nodes-fixture.ts';
import { describeCapacity, manageableCapacity } from './capacity.ts';
import { NODE_COUNTERS, totalOf, type BucketCounts, type NodeFilter } from './counters.ts';

const SITES = ['north', 'south', null];
const CLASSES = ['large', 'small', null];
const MANAGERS = ['m1', 'm2'];

/** As the rules say it: free is what was seen available and has neither an instance nor a claim under way. */
function naiveBucket({ state, power, maintenance, instance, claimedFor }: Node): Bucket | undefined {
  if (state === 'removed') return undefined;
  if (state === 'clean-failed' || state === 'unavailable') return 'unavailable';
  if (state !== 'available') return state;
  const isOffered = maintenance === undefined && power !== 'unknown' && instance === undefined;
  if (claimedFor !== undefined) return isOffered ? 'reserved' : 'unavailable';
  return isOffered ? 'free' : 'unavailable';
}

/** Counted on the documents. */
function countNaively(fleet: FleetReader, { site, resourceClass }: NodeFilter, manager?: string): BucketCounts {
  const counts = Object.fromEntries(BUCKETS.map((bucket) => [bucket, 0])) as Record<string, number>;
  for (const { doc } of fleet.all(NODE)) {
    const bucket = naiveBucket(doc);
    if (bucket === undefined || (manager !== undefined && doc.manager !== manager)) continue;
    if (site !== undefined && (doc.site ?? null) !== site) continue;
    if (resourceClass !== undefined && (doc.resourceClass ?? null) !== resourceClass) continue;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts as unknown as BucketCounts;
}

const anyNode: fc.Arbitrary<Node> = fc
  .record({
    state: fc.constantFrom(...NODE_STATES),
    power: fc.constantFrom('on' as const, 'off' as const, 'unknown' as const),
    site: fc.constantFrom('north', 'south', undefined),
    resourceClass: fc.constantFrom('large', 'small', undefined),
    manager: fc.constantFrom(...MANAGERS),
    inMaintenance: fc.boolean(),
    isClaimed: fc.boolean(),
  })
  .map(({ state, power, site, resourceClass, manager, inMaintenance, isClaimed }) => {
    const isUsed = !['available', 'unavailable', 'removed', 'clean-failed'].includes(state);
    return node({
      ...{ state, power },
      ...(site !== undefined && { site }),
      ...(resourceClass !== undefined && { resourceClass }),
      ...(isUsed && { ...USED, manager }),
      ...(isClaimed && state === 'available' && { claimedFor: 'i2' }),
      ...(inMaintenance && { maintenance: { reason: 'x', by: 'x', atMs: 0 } }),
    });
  });

const anyId = fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5').map((id) => idOf(NODE, id));
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(anyId, anyNode).map(([id, doc]) => put(NODE, id, doc)) },
  { weight: 1, arbitrary: anyId.map((id) => remove(NODE, id)) },
);

function expectAgreement(fleet: FleetReader): void {
  const counters = fleet.projection(NODE_COUNTERS);
  for (const site of [...SITES, undefined])
    for (const resourceClass of [...CLASSES, undefined])
      expect(counters.count({ site, resourceClass })).toEqual(countNaively(fleet, { site, resourceClass }));
  for (const manager of MANAGERS) expect(counters.countManaged(manager)).toEqual(countNaively(fleet, {}, manager));
  expect(counters.removed).toBe([...fleet.all(NODE)].filter(({ doc }) => doc.state === 'removed').length);
}

/** Rows, buckets and the fleet. */
function expectRowsToAddUp(fleet: Fleet): void {
  const { total, buckets, sites, resourceClasses } = describeCapacity(fleet, {});
  expect(totalOf(buckets)).toBe(total);
  for (const rows of [sites, resourceClasses]) {
    expect(rows.reduce((sum, row) => sum + row.total, 0)).toBe(total);
    for (const bucket of BUCKETS) expect(rows.reduce((sum, row) => sum + row.buckets[bucket], 0)).toBe(buckets[bucket]);
  }
  const rows = MANAGERS.map((manager) => manageableCapacity(fleet, manager));
  for (const row of rows) expect([row.total, row.free]).toEqual([total, buckets.free]);
  // No manager acts on a node whose inventory is only claiming for it.
  const claiming = [...fleet.all(NODE)].filter(
    ({ doc }) => naiveBucket(doc) === 'reserved' && doc.manager === undefined,
  );
  const used = buckets.reserved + buckets.deploying + buckets.active + buckets.cleaning - claiming.length;
  expect(rows.reduce((sum, { usedHere }) => sum + usedHere, 0)).toBe(used);
}

/** What requests are offered, and what a report counts, is what the figures call free. */
function expectIndexToAgree(fleet: FleetReader): void {
  const { free } = describeCapacity(fleet, {}).buckets;
  expect([...nodeIndexOf(fleet).shapes].reduce((sum, shape) => sum + shape.free.size, 0)).toBe(free);
  const stages = countStages(fleet, { instance: 'i9', requirements: NO_REQUIREMENTS });
  expect(stages.find(({ stage }) => stage === 'state')?.left ?? 0).toBe(free);
}

describe('counters', () => {
  test('never: rows, buckets and the fleet disagree, after any changes', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 30 }), (changes) => {
        const fleet = newFleet();
        for (const change of changes) {
          fleet.apply(fleet.revision + 1, [change]);
          expectAgreement(fleet);
          expectRowsToAddUp(fleet);
          expectIndexToAgree(fleet);
        }
      }),
    );
  });

  test('never: figures show what is only staged, or miss what is durable', () => {
    fc.assert(
      fc.property(fc.array(anyChange), fc.array(anyChange), fc.boolean(), (durable, staged, isWritten) => {
        const fleet = newFleet();
        for (const change of durable) fleet.apply(fleet.revision + 1, [change]);
        const stage = new Stage(fleet);
        for (const change of staged) {
          stage.add([change]);
          expectAgreement(fleet);
        }
        if (isWritten) stage.promote();
        else stage.rollback();
        expectAgreement(fleet);
        expectRowsToAddUp(fleet);
        expectIndexToAgree(fleet);
      }),
    );
  });

  test('never: a trial of decisions finds other free nodes than its documents have', () => {
    fc.assert(
      fc.property(fc.array(anyChange), fc.array(anyChange), (durable, planned) => {
        const fleet = newFleet();
        for (const change of durable) fleet.apply(fleet.revision + 1, [change]);
        const trial = new LongTrial(fleet, [NODE.name]);
        for (const change of planned) trial.add([change]);
        const stages = countStages(trial, {
          instance: 'i9',
          requirements: NO_REQUIREMENTS,
        });
        expect(stages.find(({ stage }) => stage === 'state')?.left ?? 0).toBe(countNaively(trial, {}).free);
        expectAgreement(fleet);
        expectIndexToAgree(fleet);
      }),
    );
  });
});

describe('capacity', () => {
  test('baremetal-28: every-manager-shows-the-whole-inventory, and-the-fleet-is-not-their-sum', () => {
    const fleet = newFleet();
    const changes = Array.from({ length: 30 }, (_, at) => putNode(`n${at}`));
    fleet.apply(1, changes);
    const used: Partial<Node> = { state: 'active', epoch: 1, dirty: true };
    fleet.apply(2, [
      putNode('n1', { ...used, instance: 'i1', manager: 'm1', managerEpoch: 1 }),
      putNode('n2', { ...used, instance: 'i2', manager: 'm1', managerEpoch: 1 }),
      putNode('n3', { ...used, instance: 'i3', manager: 'm2', managerEpoch: 1 }),
    ]);
    expect(['m1', 'm2', 'm3'].map((name) => manageableCapacity(fleet, name))).toEqual([
      { total: 30, usedHere: 2, free: 27 },
      { total: 30, usedHere: 1, free: 27 },
      { total: 30, usedHere: 0, free: 27 },
    ]);
    expect(describeCapacity(fleet, {}).total).toBe(30);
  });

  test('baremetal-30: a-node-that-is-being-cleaned-is-not-free', () => {
    const fleet = newFleet(putNode('n1', { state: 'cleaning', ...USED, epoch: 1, dirty: true }), putNode('n2'));
    expect(describeCapacity(fleet, {}).buckets).toEqual({
      ...{ free: 1, reserved: 0, deploying: 0, active: 0, cleaning: 1, unavailable: 0 },
    });
  });

  test('a-node-with-a-claim-under-way-is-reserved, and-unavailable-once-it-is-in-maintenance', () => {
    const maintenance = { reason: 'fan', by: 'ann', atMs: 0 };
    const fleet = newFleet(putNode('n1', { claimedFor: 'i1', epoch: 1 }), putNode('n2'));
    const figures = () => describeCapacity(fleet, {}).buckets;
    expect(figures()).toMatchObject({ free: 1, reserved: 1, unavailable: 0 });
    expect(manageableCapacity(fleet, 'm1')).toEqual({ total: 2, usedHere: 0, free: 1 });
    fleet.apply(2, [putNode('n1', { claimedFor: 'i1', epoch: 1, maintenance })]);
    expect(figures()).toMatchObject({ free: 1, reserved: 0, unavailable: 1 });
  });

  test('a-site-and-a-class-have-figures-of-their-own', () => {
    const fleet = newFleet(
      putSite('north'),
      putNode('n1', { site: 'north', resourceClass: 'large' }),
      putNode('n2', { site: 'north', power: 'unknown' }),
      putNode('n3', { resourceClass: 'large' }),
    );
    expect(describeCapacity(fleet, { site: 'north' })).toMatchObject({
      total: 2,
      buckets: { free: 1, unavailable: 1 },
      sites: [{ site: 'north', total: 2 }],
      resourceClasses: [{ total: 1 }, { resourceClass: 'large', total: 1 }],
    });
    expect(describeCapacity(fleet, { resourceClass: 'large' })).toMatchObject({
      total: 2,
      sites: [{ total: 1 }, { site: 'north', total: 1 }],
      resourceClasses: [{ resourceClass: 'large', total: 2 }],
    });
    expect(manageableCapacity(fleet, 'm1', 'north')).toEqual({ total: 2, usedHere: 0, free: 1 });
  });

  test('baremetal-25: figures-are-marked-while-an-inventory-cannot-be-reached, and-nothing-is-taken-away', () => {
    const reason = { code: INVENTORY_UNREACHABLE, inventory: 'ironic' };
    const alarm = { severity: 'warning' as const, reason, sinceMs: 5 };
    const fleet = newFleet(putNode('n1'), put(ALARM, alarmId(INVENTORY_UNREACHABLE, 'ironic'), alarm));
    expect(describeCapacity(fleet, {})).toMatchObject({ total: 1, stale: { inventories: ['ironic'], sinceMs: 5 } });
    fleet.apply(2, [remove(ALARM, alarmId(INVENTORY_UNREACHABLE, 'ironic'))]);
    expect(describeCapacity(fleet, {})).not.toHaveProperty('stale');
  });

  test('a-class-too-many-is-requested-by-name', () => {
    const fleet = newFleet();
    fleet.apply(
      1,
      Array.from({ length: 1002 }, (_, at) => putNode(`n${at}`, { resourceClass: `class-${at}` })),
    );
    const { resourceClasses, resourceClassesLeftOut, total } = describeCapacity(fleet, {});
    expect([resourceClasses.length, resourceClassesLeftOut, total]).toEqual([1000, 2, 1002]);
    expect(describeCapacity(fleet, { resourceClass: 'class-999' }).resourceClasses).toMatchObject([{ total: 1 }]);
  });
});
