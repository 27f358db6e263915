import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runTrial, Stage, type FleetReader } from '../fleet/index.ts';
import { prepareRequest } from './search/prepared-request.ts';
import { naiveBest } from './naive-fixture.ts';
import { Dice, randomChange, randomFleet, randomRequest, type Variety } from './random-fixture.ts';
import type { ScheduleRequest } from './request.ts';
import { choice, claim, newFleet, request, settings } from './scheduler-fixture.ts';
import { findBest } from './search/search.ts';

function expectSame(fleet: FleetReader, requested: ScheduleRequest): void {
  const found = findBest(prepareRequest(fleet, requested));
  const best = found === undefined ? undefined : { host: found.host, pools: found.pools, score: found.score };
  expect({ requested, best }).toEqual({ requested, best: naiveBest(fleet, requested) });
}

/** How many requests are repeated: cached results must still be valid. */
const STANDING = 3;

/** Changes on a stage, on a trial upon it, kept and undone; after each of them the two schedulers agree. */
function expectAgreement(seed: number, hosts: number, variety: Variety): void {
  const dice = new Dice(seed);
  const fleet = newFleet();
  randomFleet(dice, fleet, hosts, variety);
  const standing = Array.from({ length: STANDING }, () => randomRequest(dice, hosts));
  const next = (): ScheduleRequest => (dice.chance(50) ? dice.of(standing) : randomRequest(dice, hosts));
  for (let round = 0; round < 4; round += 1) {
    const stage = new Stage(fleet);
    for (let step = 0; step < 6; step += 1) {
      stage.add([randomChange(dice, stage, hosts)]);
      expectSame(stage, next());
      runTrial(stage, (trial) => {
        trial.add([randomChange(dice, trial, hosts)]);
        expectSame(trial, next());
      });
      expectSame(stage, next());
    }
    if (dice.chance(50)) stage.promote();
    else stage.rollback();
    expectSame(fleet, next());
  }
}

/** The same request for one NIC again and again, while hosts join and leave and addresses are allocated and released. */
function expectAgreementOnOneNetwork(seed: number, hosts: number): void {
  const dice = new Dice(seed);
  const fleet = newFleet();
  randomFleet(dice, fleet, hosts);
  // Hosts are about equally good: the stock decides.
  const stock = dice.of([3, -3]);
  fleet.apply(fleet.revision + 1, [settings({ memory: 0.01, vcpus: 0, disk: 0, spread: 0, failures: 0, stock })]);
  const segments = ['s0', 's1', 's2', 's3'];
  const requested = request({ nics: [{ network: 'n', choices: segments.map((name) => choice(name)) }] });
  const stage = new Stage(fleet);
  for (let step = 0; step < 40; step += 1) {
    const addresses = [{ pool: `segment:${dice.of(segments)}`, version: 4 as const, count: 1 }];
    const taken = claim(`n${dice.below(20)}`, 'elsewhere', { addresses: dice.chance(75) ? addresses : [] });
    stage.add([dice.chance(60) ? taken : randomChange(dice, stage, hosts)]);
    expectSame(stage, requested);
  }
}

// Whole fleets for each run: far below the limit on a quiet machine.
describe(
  'never: the search answers otherwise than a naive scheduler, in host, pools or score',
  { timeout: 60_000 },
  () => {
    it('in small fleets of all sorts', () => {
      const property = fc.property(fc.nat(), fc.integer({ min: 1, max: 40 }), (seed, hosts) =>
        expectAgreement(seed, hosts, 'varied'),
      );
      fc.assert(property, { numRuns: 60 });
    });

    it('in fleets of several blocks and bays of like hosts', () => {
      const property = fc.property(fc.nat(), fc.integer({ min: 400, max: 1100 }), (seed, hosts) =>
        expectAgreement(seed, hosts, 'alike'),
      );
      fc.assert(property, { numRuns: 5 });
    });

    it('in fleets whose hosts have so little in common that they share a bay group', () => {
      const property = fc.property(fc.nat(), (seed) => expectAgreement(seed, 700, 'unlike'));
      fc.assert(property, { numRuns: 3 });
    });

    it('in fleets where the same is asked for on one network again and again', () => {
      const property = fc.property(fc.nat(), fc.integer({ min: 1, max: 60 }), expectAgreementOnOneNetwork);
      fc.assert(property, { numRuns: 60 });
    });
  },
);
