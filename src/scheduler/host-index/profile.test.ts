import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BAY_BLOCKS, BLOCK } from './bits.ts';
import { hostIndexOf, type HostIndex } from './host-index.ts';
import { FIGURES, type HostTable } from './host-table.ts';
import { Profile } from './profile.ts';
import { Dice } from '../random-fixture.ts';
import { NO_REQUIREMENTS, type ScoreRows, type RequiredResources } from './score-rows.ts';
import { claim, host, newFleet } from '../scheduler-fixture.ts';
import { SPREADING } from '../settings.ts';
import { UNWEIGHED, computeWeighing, type Weighing } from './weighing.ts';

const HOSTS = 150;

/** Hosts of one bay group, their ids in no order, with few different figures: many of them are equal. */
function someHosts(dice: Dice): HostIndex {
  const ids = Array.from({ length: HOSTS }, (_, nth) => `h${(nth * 37) % HOSTS}`);
  const sizes = { vcpus: 16, memoryMiB: 16, diskGiB: 16 };
  const taken = (): number => dice.of([0, 0, 1, 2, 3]);
  const claims = ids.flatMap((id) =>
    dice.chance(60) ? [claim(`i-${id}`, id, { vcpus: taken(), memoryMiB: taken(), diskGiB: taken() })] : [],
  );
  return hostIndexOf(newFleet(...ids.map((id) => host(id, sizes)), ...claims));
}

/** Any weighing, as the extremes of other hosts may make it. */
function anyWeighing(dice: Dice, balance: number): Weighing {
  const fine = dice.chance(20) ? 2 ** -30 : 1;
  const any = (): number => dice.of([0, 1, 1, 2, -1]) * fine;
  const weights = { memory: any(), vcpus: any(), disk: any(), spread: any(), failures: any(), balance };
  const low = Float64Array.from({ length: FIGURES }, () => dice.below(4));
  const high = low.map((value) => value + dice.of([0, 1, 7, 30, 1000]));
  return computeWeighing(UNWEIGHED, { ...SPREADING, ...weights }, { low, high });
}

interface Best {
  readonly score: number;
  readonly host: string;
}

/** The best of some slots, host by host. */
function bestIn(profile: Profile, table: HostTable, weighing: Weighing, [from, to]: readonly [number, number]): Best {
  let best: Best = { score: -Infinity, host: '' };
  for (let slot = from; slot < to; slot += 1) {
    if (!table.schedulable.has(slot) || !profile.fits(slot)) continue;
    const [score, id] = [profile.score(slot, weighing), table.ids[slot]!];
    if (score > best.score || (score === best.score && id < best.host)) best = { score, host: id };
  }
  return best;
}

function expectTrue(
  rows: ScoreRows,
  set: number,
  weighing: Weighing,
  best: Best & { readonly table: HostTable },
): void {
  const { table, ...wanted } = best;
  const bound = rows.bound(set, weighing);
  expect(bound).toBeGreaterThanOrEqual(best.score);
  expect(rows.boxBound(set, weighing, NO_REQUIREMENTS)).toBeGreaterThanOrEqual(best.score);
  if (best.score === -Infinity || !rows.isExact(set, weighing)) return;
  expect({ score: bound, host: table.ids[rows.leader(set)] }).toEqual(wanted);
}

describe('a row', () => {
  test('never: its bound is too low, or wrongly exact, however the weighing changes', () => {
    const property = fc.property(fc.nat(), (seed) => {
      const dice = new Dice(seed);
      const { table } = someHosts(dice);
      const wanted: RequiredResources = {
        ...NO_REQUIREMENTS,
        memoryMiB: dice.of([0, 14, 15, 16]),
        vcpus: 1,
        diskGiB: 0,
      };
      const profile = new Profile(table, wanted);
      const balance = dice.of([0, 0, 3]);
      for (let round = 0; round < 12; round += 1) {
        const weighing = anyWeighing(dice, balance);
        for (let block = 0; block < BAY_BLOCKS; block += 1) {
          if (round === 0 || dice.chance(15)) profile.refresh(block, weighing);
          const best = bestIn(profile, table, weighing, [block * BLOCK, (block + 1) * BLOCK]);
          expectTrue(profile.blocks, block, weighing, { ...best, table });
        }
        expect(profile.ensureRow(0, weighing)).toBe(true);
        const best = bestIn(profile, table, weighing, [0, BAY_BLOCKS * BLOCK]);
        expectTrue(profile.bays, 0, weighing, { ...best, table });
      }
    });
    fc.assert(property, { numRuns: 150 });
  });
});
