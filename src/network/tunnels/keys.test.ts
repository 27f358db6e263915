import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Change } from '../../fleet/index.ts';
import { createNetwork, deleteNetwork } from '../networks/decide.ts';
import { createSegment } from '../networks/decide-segment.ts';
import { fleetWith, network } from '../network-fixture.ts';
import { allocateMissingTunnelKeys, allocateTunnelKey, tunnelKeyOf, releaseTunnelKey } from './keys.ts';

const REQUESTER = { by: 'test', nowMs: 0, admin: true };

function acceptedChanges(decision: { readonly kind: string; readonly changes?: readonly Change[] }): readonly Change[] {
  expect(decision.kind).toBe('accept');
  return decision.changes ?? [];
}

describe('tunnel keys', () => {
  test('come-with-a-network-and-go-with-it', () => {
    const fleet = fleetWith();
    fleet.apply(fleet.revision + 1, acceptedChanges(createNetwork(fleet, { name: 'blue', ...REQUESTER })));
    expect(tunnelKeyOf(fleet, { for: 'network', id: 'blue' })).toBeGreaterThanOrEqual(2 ** 16);
    fleet.apply(fleet.revision + 1, acceptedChanges(deleteNetwork(fleet, { id: 'blue' })));
    expect(tunnelKeyOf(fleet, { for: 'network', id: 'blue' })).toBeUndefined();
  });

  test('a-vxlan-segment-has-the-number-that-was-asked-for-while-nothing-else-has-it', () => {
    const fleet = fleetWith(network('blue'));
    const segment = (name: string, segmentationId: number): readonly Change[] =>
      acceptedChanges(
        createSegment(fleet, { name, network: 'blue', type: 'vxlan', segmentationId, by: 'test', nowMs: 0 }),
      );
    fleet.apply(fleet.revision + 1, segment('a', 500));
    expect(tunnelKeyOf(fleet, { for: 'segment', id: 'a' })).toBe(500);
    fleet.apply(fleet.revision + 1, [allocateTunnelKey(fleet, { for: 'router', id: 'edge' }, 501)]);
    fleet.apply(fleet.revision + 1, segment('b', 501));
    expect(tunnelKeyOf(fleet, { for: 'segment', id: 'b' })).not.toBe(501);
  });

  test('no-two-things-ever-have-the-same-number, and-all-fit-in-24-bits', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 24 - 1 }), { maxLength: 40 }), (wishes) => {
        const fleet = fleetWith();
        for (const [nth, wish] of wishes.entries()) {
          const near = 2 ** 24 - 1 - (wish % 4);
          fleet.apply(fleet.revision + 1, [allocateTunnelKey(fleet, { for: 'router', id: `r${nth}` }, near)]);
        }
        const numbers = wishes.map((_, nth) => tunnelKeyOf(fleet, { for: 'router', id: `r${nth}` }));
        expect(new Set(numbers).size).toBe(wishes.length);
        for (const number of numbers) expect(number).toBeLessThan(2 ** 24);
      }),
    );
  });

  test('what-was-made-without-one-gets-one, slice-by-slice', () => {
    const fleet = fleetWith(network('blue'), network('red'), network('green'));
    for (let slices = 0; slices < 3; slices += 1) {
      const changes = allocateMissingTunnelKeys(fleet, 2);
      expect(changes.length).toBe([2, 1, 0][slices]);
      fleet.apply(fleet.revision + 1, changes);
    }
    expect(releaseTunnelKey(fleet, { for: 'network', id: 'red' })).toHaveLength(1);
  });
});
