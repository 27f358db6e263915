// Plans on forks of the scheduler's index: they answer as the naive scheduler does, and do not affect the original.
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { LongTrial, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import { CLAIM } from '../../network/index.ts';
import { prepareRequest } from '../search/prepared-request.ts';
import { naiveBest } from '../naive-fixture.ts';
import { Dice, randomChange, randomFleet, randomRequest } from '../random-fixture.ts';
import type { ScheduleRequest } from '../request.ts';
import { claim, host, newFleet, request } from '../scheduler-fixture.ts';
import { schedule } from '../schedule.ts';
import { findBest } from '../search/search.ts';

function expectSame(fleet: FleetReader, requested: ScheduleRequest): void {
  const found = findBest(prepareRequest(fleet, requested));
  const best = found === undefined ? undefined : { host: found.host, pools: found.pools, score: found.score };
  expect({ requested, best }).toEqual({ requested, best: naiveBest(fleet, requested) });
}

/** What plans add: claims, and hosts that leave. */
function randomPlanChange(dice: Dice, trial: FleetReader, hosts: number): Change {
  if (dice.chance(20)) {
    const { id, doc } = dice.of([...trial.all(HOST)]);
    return put(HOST, id, { ...doc, state: doc.state === 'removed' ? 'removed' : 'draining' });
  }
  for (;;) {
    const change = randomChange(dice, trial, hosts);
    if (change.kind === CLAIM.name) return change;
  }
}

function expectAgreement(seed: number, hosts: number): void {
  const dice = new Dice(seed);
  const fleet = newFleet();
  randomFleet(dice, fleet, hosts, 'varied');
  const trial = new LongTrial(fleet, [HOST.name, CLAIM.name]);
  for (let step = 0; step < 12; step += 1) {
    trial.add([randomPlanChange(dice, trial, hosts)]);
    expectSame(trial, randomRequest(dice, hosts));
    expectSame(fleet, randomRequest(dice, hosts));
  }
  // The fleet changes further, and its own index is unaffected by the fork.
  for (let step = 0; step < 6; step += 1) {
    fleet.apply(fleet.revision + 1, [randomChange(dice, fleet, hosts)]);
    expectSame(fleet, randomRequest(dice, hosts));
  }
}

describe('a fork of the scheduler', () => {
  it('never: a fork, or its original, answers otherwise than a naive scheduler', () => {
    fc.assert(fc.property(fc.nat(), fc.integer({ min: 1, max: 40 }), expectAgreement), { numRuns: 60 });
  });

  test('claims-of-others-are-not-in-it, new hosts make it outdated', () => {
    const fleet = newFleet(host('h1', { memoryMiB: 1024 }));
    const trial = new LongTrial(fleet, [HOST.name, CLAIM.name]);
    const requested = request({ amounts: { vcpus: 1, memoryMiB: 1024, diskGiB: 0 } });
    expect(schedule(trial, requested).kind).toBe('chosen');
    fleet.apply(fleet.revision + 1, [claim('other', 'h1', { memoryMiB: 1024 })]);
    expect(schedule(fleet, requested).kind).toBe('none');
    expect(schedule(trial, requested).kind).toBe('chosen');
    expect(trial.isOutdated).toBe(false);
    fleet.apply(fleet.revision + 1, [host('h2')]);
    expect(trial.isOutdated).toBe(true);
  });
});
