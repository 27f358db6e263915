import { it } from 'vitest';
import { onTrial, Stage, valueOf, type FleetReader } from '../fleet/index.ts';
import { askOf } from './ask.ts';
import { naiveBest } from './naive-fixture.ts';
import { Dice, randomChange, randomFleet, randomRequest } from './random-fixture.ts';
import { newFleet } from './scheduler-fixture.ts';
import { findBest } from './search.ts';
import { HOST } from '../hosts/index.ts';
import { CLAIM } from '../network/index.ts';
import { SCHEDULER } from './settings.ts';
function same(fleet: FleetReader, dice: Dice, hosts: number) {
  const asked = randomRequest(dice, hosts);
  const f = findBest(askOf(fleet, asked));
  const n = naiveBest(fleet, asked);
  if (JSON.stringify([f?.host, f?.pools, f?.score]) !== JSON.stringify([n?.host, n?.pools, n?.score])) {
    console.log(JSON.stringify(asked), JSON.stringify(f), JSON.stringify(n));
    if (hosts < 6) {
      for (const h of fleet.all(HOST)) console.log(JSON.stringify(h));
      for (const c of fleet.all(CLAIM)) console.log(JSON.stringify(c));
    }
    console.log(JSON.stringify(valueOf(fleet, SCHEDULER)));
    throw new Error('x');
  }
}
it('dbg', () => {
  const [seed, hosts] = JSON.parse(process.env['CASE']!);
  const dice = new Dice(seed);
  const fleet = newFleet();
  randomFleet(dice, fleet, hosts);
  for (let round = 0; round < 4; round += 1) {
    const stage = new Stage(fleet);
    for (let step = 0; step < 6; step += 1) {
      stage.add([randomChange(dice, stage, hosts)]);
      same(stage, dice, hosts);
      onTrial(stage, (trial) => {
        trial.add([randomChange(dice, trial, hosts)]);
        same(trial, dice, hosts);
      });
      same(stage, dice, hosts);
    }
    if (dice.chance(50)) stage.keep();
    else stage.drop();
    same(fleet, dice, hosts);
  }
});
