// A delete at any moment of a build leaves nothing behind: no port, no claim, no address, no copy on a machine.
import { describe, expect, test } from 'vitest';
import { PORT } from '../../network/index.ts';
import { atEach, expectNothingLeft, pointsOf, WAYS } from './disturbance-fixture.ts';

describe.each(WAYS)('a delete during a build ($name)', (way) => {
  test.each(pointsOf(way))('%s', async (point) => {
    const points = await atEach(way, {
      point,
      disturb: (world, name) => void world.remove(name),
      judge: async ({ world, name, disturbed }) => {
        if (!disturbed) await world.remove(name);
        await world.rest();
        expectNothingLeft(world, name);
        const held = world.all(PORT).flatMap(({ doc }) => doc.addresses).length;
        const free = world.free('segment:seg0') + world.free('segment:seg2');
        expect(free + held).toBe(2 * 253);
      },
    });
    if (point === 'after a commit') expect(points).toBeGreaterThan(2);
  });
});
