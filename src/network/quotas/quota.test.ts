import { describe, expect, test } from 'vitest';
import { Fleet, runTrial, put, Registry, type Change, type Kind } from '../../fleet/index.ts';
import { deleteQuota, setQuota } from './decide.ts';
import { commitAccepted, network, port, WHO } from '../network-fixture.ts';
import { networkModel } from '../fleet-model.ts';
import { portQuotaProblem, QUOTA, quotaProblem, usageOf, type QuotaId } from './quota.ts';

/** Stands in for the instances module: only the fields that a quota counts. */
const INSTANCE: Kind<'instance'> = { name: 'instance', check: () => undefined };
const instance = (id: string, vcpus: number, project = 'default'): Change =>
  put(INSTANCE, id as never, { project, amounts: { vcpus, memoryMiB: vcpus * 1024 } });

const RESERVATION: Kind<'reservation'> = { name: 'reservation', check: () => undefined };
const reservation = (id: string, facts: object): Change =>
  put(RESERVATION, id as never, { project: 'blue', state: 'active', request: { vcpus: 8, memory_mb: null }, ...facts });

function world(): Fleet {
  const fleet = new Fleet(new Registry([networkModel, { kinds: [INSTANCE, RESERVATION] }]));
  fleet.apply(1, [network('n'), port('p1', 'n'), port('p2', 'n'), instance('i1', 2), instance('i2', 4, 'blue')]);
  return fleet;
}

describe('quotas', () => {
  test('the usage of a project is counted as it changes', () => {
    const fleet = world();
    expect(usageOf(fleet, 'default')).toEqual({ instances: 1, vcpus: 2, memoryMiB: 2048, ports: 2 });
    expect(usageOf(fleet, 'blue')).toEqual({ instances: 1, vcpus: 4, memoryMiB: 4096, ports: 0 });
    const changes = [
      instance('i1', 8),
      port('p1', 'n', { project: 'blue' }),
      { kind: 'instance', id: 'i2', doc: null },
    ];
    runTrial(fleet, (trial) => {
      trial.add(changes);
      expect(usageOf(trial, 'default')).toEqual({ instances: 1, vcpus: 8, memoryMiB: 8192, ports: 1 });
      expect(usageOf(trial, 'blue')).toEqual({ instances: 0, vcpus: 0, memoryMiB: 0, ports: 1 });
    });
    expect(usageOf(fleet, 'blue')).toEqual({ instances: 1, vcpus: 4, memoryMiB: 4096, ports: 0 });
    expect(usageOf(fleet, 'red').ports).toBe(0);
  });

  test.each([
    ['made by hand counts as an instance', {}, 2],
    ['that is being released counts', { state: 'releasing' }, 2],
    ['of a build does not: its instance does', { request: { build: 'op-1.i2', vcpus: 8 } }, 1],
    ['that failed does not', { state: 'error' }, 1],
    ['of no project is nobody’s', { project: undefined }, 1],
  ])('a reservation %s', (_name, facts, instances) => {
    const fleet = world();
    fleet.apply(2, [reservation('r1', facts)]);
    expect(usageOf(fleet, 'blue')).toMatchObject({ instances, vcpus: instances === 2 ? 12 : 4 });
    fleet.apply(3, [reservation('r1', { state: 'error' })]);
    expect(usageOf(fleet, 'blue')).toMatchObject({ instances: 1, vcpus: 4, memoryMiB: 4096 });
  });

  test('without a quota, and for resources that it does not name, there is no limit', () => {
    const fleet = world();
    expect(quotaProblem(fleet, 'default', { instances: 10 ** 6, ports: 10 ** 6 })).toBeUndefined();
    commitAccepted(fleet, setQuota({ project: 'default', limits: { ports: 3 }, ...WHO }));
    expect(quotaProblem(fleet, 'default', { instances: 10 ** 6 })).toBeUndefined();
  });

  test.each([
    ['instances', { instances: 2 }, 1, 2],
    ['vcpus', { vcpus: 3 }, 1, 2],
    ['memoryMiB', { memoryMiB: 2049 }, 1, 2],
    ['ports', { ports: 3 }, 1, 2],
  ] as const)('%s up to the limit and no further', (what, limits, fits, exceeds) => {
    const fleet = world();
    commitAccepted(fleet, setQuota({ project: 'default', limits, ...WHO }));
    expect(quotaProblem(fleet, 'default', { [what]: fits })).toBeUndefined();
    expect(quotaProblem(fleet, 'default', { [what]: exceeds })).toMatchObject({
      kind: 'conflict',
      code: 'quota-exceeded',
      facts: { project: 'default', what, limit: Object.values(limits)[0], requested: exceeds },
    });
  });

  test('usage above a lowered quota stays, and refuses nothing else', () => {
    const fleet = world();
    commitAccepted(fleet, setQuota({ project: 'default', limits: { ports: 0, instances: 5 }, ...WHO }));
    expect(quotaProblem(fleet, 'default', { instances: 1, ports: 0 })).toBeUndefined();
    expect(portQuotaProblem(fleet, 'default', 1)).toMatchObject({ code: 'quota-exceeded' });
  });

  test('a quota is set as a whole and deleted', () => {
    const fleet = world();
    commitAccepted(fleet, setQuota({ project: 'blue', limits: { ports: 1, vcpus: 9 }, ...WHO }));
    commitAccepted(fleet, setQuota({ project: 'blue', limits: { instances: 2 }, ...WHO }));
    expect(fleet.get(QUOTA, 'blue' as QuotaId)?.doc).toEqual({
      project: 'blue',
      instances: 2,
      changedBy: 'ann',
      changedAtMs: 7,
    });
    commitAccepted(fleet, deleteQuota(fleet, { id: 'blue' }));
    expect(fleet.count(QUOTA)).toBe(0);
    expect(deleteQuota(fleet, { id: 'blue' })).toMatchObject({ refusal: { kind: 'not-found', code: 'unknown-quota' } });
  });
});
