// A delete at any moment of a build leaves nothing behind: no port, no claim, no address, no copy on a machine.
import { describe, expect, test } from 'vitest';
import { PORT } from '../../../src/network/index.ts';
import { disturbAtEachPoint, expectNothingLeft, pointsOf, BUILD_VARIANTS } from '../disturbance-fixture.ts';

describe.each(BUILD_VARIANTS)('a delete during a build ($name)', (way) => {
  test.each(pointsOf(way))('%s', async (point) => {
    const points = await disturbAtEachPoint(way, {
      point,
      disturb: (world, name) => void world.remove(name),
      verify: async ({ world, name, isDisturbed }) => {
        if (!isDisturbed) await world.remove(name);
        await world.settle();
        expectNothingLeft(world, name);
        const held = world.all(PORT).flatMap(({ doc }) => doc.addresses).length;
        const free = world.free('segment:seg0') + world.free('segment:seg2');
        expect(free + held).toBe(2 * 253);
      },
    });
    if (point === 'after a commit') expect(points).toBeGreaterThan(2);
  });
});
