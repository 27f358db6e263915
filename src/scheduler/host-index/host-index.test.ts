import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, remove, Stage, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import { CLAIM } from '../../network/index.ts';
import type { Bits } from './bits.ts';
import { BUILD_FAILURES } from '../build-failures.ts';
import { HostIndex, hostIndexOf } from './host-index.ts';
import { FIGURES } from './host-table.ts';
import { Dice, randomChange, randomFleet } from '../random-fixture.ts';
import { claim, commit, host, newFleet, request } from '../scheduler-fixture.ts';
import { schedule } from '../schedule.ts';

/** Everything in the index, by host: the slot of a host does not matter. */
function describeIndex(index: HostIndex): unknown {
  const { table } = index;
  const hosts = [...index.slots()].map((slot) => ({
    id: table.ids[slot]!,
    figures: [...table.figures.slice(slot * FIGURES, (slot + 1) * FIGURES)],
    standing: table.availabilities[slot],
    schedulable: table.schedulable.has(slot),
    reach: table.reaches[slot]!.networks,
    old: [3, 4, 5].map((version) => {
      const older: Bits[] = [];
      index.addOlderThan(version, older);
      return older.some((bits) => bits.has(slot));
    }),
    resources: ['gpus', 'pci:vf', 'bandwidth-kbps:p-s0', 'bandwidth-kbps:p-s1', 'bandwidth-kbps'].map((name) =>
      table.leftOf(name, slot),
    ),
    traits: ['ssd', 'gpu', 'old'].filter((name) => index.traits.get(name)?.has(slot)),
    aggregates: ['a', 'b'].filter((name) => index.aggregates.get(name)?.has(slot)),
    zones: ['z1', 'z2'].filter((name) => index.zones.get(name)?.has(slot)),
    sites: ['central', 'edge'].filter((name) => index.sites.get(name)?.has(slot)),
  }));
  const groups = ['g1', 'g2'].map((id) => {
    const tally = index.group(id);
    return [tally?.most, [...(tally?.hosts() ?? [])].sort().map((name) => [name, tally?.countOn(name)])];
  });
  return { size: index.size, hosts: hosts.sort((one, other) => (one.id < other.id ? -1 : 1)), groups };
}

function rebuildIndex(fleet: FleetReader, dice: Dice): HostIndex {
  const index = new HostIndex();
  const all = [HOST, CLAIM, BUILD_FAILURES].flatMap((kind) =>
    [...fleet.all(kind as typeof HOST)].map((after) => ({ kind: kind.name as string, before: undefined, after })),
  );
  const shuffled = all.map((one) => ({ one, key: dice.below(1_000_000) })).sort((a, b) => a.key - b.key);
  for (const { one } of shuffled) index.apply(one);
  return index;
}

function worldOf(seed: number): { readonly dice: Dice; readonly fleet: Fleet } {
  const dice = new Dice(seed);
  const fleet = newFleet();
  randomFleet(dice, fleet, 20);
  for (let step = 0; step < 30; step += 1) commit(fleet, randomChange(dice, fleet, 20));
  return { dice, fleet };
}

describe('the host index', () => {
  test('is-a-function-of-the-documents-in-whatever-order-they-come', () => {
    const property = fc.property(fc.nat(), (seed) => {
      const { dice, fleet } = worldOf(seed);
      expect(describeIndex(hostIndexOf(fleet))).toEqual(describeIndex(rebuildIndex(fleet, dice)));
    });
    fc.assert(property, { numRuns: 40 });
  });

  test('never: a dropped stage leaves a trace', () => {
    const property = fc.property(fc.nat(), (seed) => {
      const { dice, fleet } = worldOf(seed);
      const before = describeIndex(hostIndexOf(fleet));
      const stage = new Stage(fleet);
      for (let step = 0; step < 20; step += 1) {
        stage.add([randomChange(dice, stage, 20)]);
        if (dice.chance(30)) schedule(stage, request());
      }
      stage.rollback();
      expect(describeIndex(hostIndexOf(fleet))).toEqual(before);
    });
    fc.assert(property, { numRuns: 40 });
  });

  test('a-claim-may-come-before-its-host-and-stay-after-it', () => {
    const fleet = newFleet(claim('i', 'a', { memoryMiB: 16_000 }));
    commit(fleet, host('a'));
    const big = request({ amounts: { vcpus: 1, memoryMiB: 1000, diskGiB: 0 } });
    expect(schedule(fleet, big).kind).toBe('none');
    commit(fleet, remove(HOST, idOf(HOST, 'a')));
    commit(fleet, remove(CLAIM, idOf(CLAIM, 'i')));
    commit(fleet, host('a'));
    expect(schedule(fleet, big).kind).toBe('chosen');
  });

  test('a-claim-whose-addresses-became-held-changes-nothing', () => {
    const addresses = [{ pool: 'segment:s', version: 4 as const, count: 1 }];
    const fleet = newFleet(host('a'), claim('i', 'a', { addresses, resources: { gpus: 1 } }));
    const before = [...hostIndexOf(fleet).table.blockVersions];
    commit(fleet, claim('i', 'a', { addresses: [], resources: { gpus: 1 } }));
    expect([...hostIndexOf(fleet).table.blockVersions]).toEqual(before);
  });

  test('hosts-that-come-and-go-reuse-slots', () => {
    const fleet = newFleet();
    for (let round = 0; round < 50; round += 1) {
      commit(fleet, ...Array.from({ length: 20 }, (_, nth) => host(`h${nth}`, { zone: `z${(nth + round) % 7}` })));
      commit(fleet, ...Array.from({ length: 20 }, (_, nth) => remove(HOST, idOf(HOST, `h${nth}`))));
    }
    expect(hostIndexOf(fleet).table.bays).toBeLessThanOrEqual(16);
    expect(hostIndexOf(fleet).size).toBe(0);
  });

  test('a-host-whose-capacity-was-lowered-under-its-claims-takes-nothing', () => {
    const fleet = newFleet(host('a'), claim('i', 'a', { memoryMiB: 16_000 }), host('b', { memoryMiB: 2048 }));
    commit(fleet, host('a', { memoryMiB: 8000 }));
    expect(schedule(fleet, request())).toMatchObject({ host: 'b' });
    commit(fleet, remove(CLAIM, idOf(CLAIM, 'i')));
    expect(schedule(fleet, request())).toMatchObject({ host: 'a' });
  });
});
